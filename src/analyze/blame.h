/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idleness blame (HPCToolkit, section 7.2): the time when a device had nothing to do is the fault
 * of what the host did meanwhile. At each such moment it is shared equally among the threads of the
 * device's process that were in some call, and charged to the innermost call of each. Threads that
 * wait for others are not at fault (sn_host_is_waiting in host.h).
 */
#ifndef SN_ANALYZE_BLAME_H
#define SN_ANALYZE_BLAME_H

#include "device_time.h"

struct sn_blame_share {
	uint32_t context;
	double time_ns;
};

struct sn_blame {
	struct sn_blame_share *shares; /* most first */
	size_t count;
	double blamed_ns;
	double nobody_ns; /* idle time when no thread was in any call */
};

/* Of one device. 0 or a negative enum sn_err; release in either case. */
int sn_blame(const struct sonde_db *db, const struct sonde_trace *trace,
	     const struct sn_device_time *time, struct sn_blame *blame, struct sn_error *error);
void sn_blame_release(struct sn_blame *blame);

#endif
