/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All operations of all devices in memory, each with the call that launched it: what analyses that
 * look from one to the other need. 40 bytes for an operation, as many for a call that launched any;
 * what threads do beside that is never held, but walked over (host.h).
 */
#ifndef SN_ANALYZE_OPERATIONS_H
#define SN_ANALYZE_OPERATIONS_H

#include "device_time.h"

/* A call of a thread that started something on a device: of equal links the first. */
struct sn_launch {
	uint64_t link, start_ns, end_ns; /* end 0: no call with that link is recorded */
	uint32_t profile, context;
};

struct sn_operation {
	uint64_t start_ns, end_ns;
	uint32_t context, profile;
	uint32_t launch; /* position, SONDE_NONE: not recorded */
	uint8_t work;	 /* enum sn_device_work */
};

struct sn_device_operations {
	int32_t rank;
	uint32_t device, run;
	uint32_t profile;	    /* one of the device's streams */
	struct sn_operation *items; /* in order of start */
	size_t count, capacity;
};

/* Devices are those of sn_device_times with the same trace, in the same order. */
struct sn_operations {
	struct sn_device_operations *devices;
	size_t device_count;
	struct sn_launch *launches; /* by link */
	size_t launch_count;
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_operations(const struct sonde_db *db, const struct sonde_trace *trace, bool launched_only,
		  struct sn_operations *operations, struct sn_error *error);
void sn_operations_release(struct sn_operations *operations);

/* The launch with that link, or NULL: none, or it is not recorded. */
const struct sn_launch *sn_operations_launch(const struct sn_operations *operations, uint64_t link);
/* That of an operation. */
const struct sn_launch *sn_operation_launch(const struct sn_operations *operations,
					    const struct sn_operation *operation);

#endif
