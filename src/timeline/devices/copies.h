/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of devices, with the bytes that they carry: walked over, and never held. */
#ifndef SN_TIMELINE_COPIES_H
#define SN_TIMELINE_COPIES_H

#include "base/error.h"
#include "timeline/processes.h"

struct sn_copy {
	uint64_t start_ns, end_ns;
	double bytes; /* NAN unknown */
	uint32_t context, profile;
};

typedef void sn_visit_copy(void *data, const struct sn_copy *copy);

/* Of one stream after the other, of each in order of start: of the process that the profile belongs
 * to, of all for SONDE_NONE. 0 or a negative enum sn_err. */
int sn_copies_walk(const struct sn_processes *processes, uint32_t profile, sn_visit_copy *visit,
		   void *data, struct sn_error *error);

#endif
