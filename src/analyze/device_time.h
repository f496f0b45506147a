/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a device went: what it did, what ran beside what, and why it was idle.
 *
 * The device's streams are taken together. At every moment it computes, communicates with other
 * devices, copies, or several of these, or none. "Exposed" is what nothing better hides: time of
 * communication without computation; time of copying without either. While the device is idle, the
 * operation that ends the gap tells why: until the call that launched it began, nothing was queued
 * for the device (the host was late); from then on the launch was under way, or the operation
 * waited for something else than the device.
 */
#ifndef SN_ANALYZE_DEVICE_TIME_H
#define SN_ANALYZE_DEVICE_TIME_H

#include "base/error.h"
#include "sonde/trace.h"

enum sn_device_work {
	SN_WORK_COMPUTE, /* kernels and fills */
	SN_WORK_COMMUNICATION,
	SN_WORK_COPY,
	SN_WORK_KINDS,
	SN_WORK_NONE = SN_WORK_KINDS, /* an annotation of the stream */
};

/* Time when nothing ran on the device, and what came next. */
struct sn_device_gap {
	uint64_t start_ns, end_ns;
	uint64_t link;	      /* of the operation that ends it; 0 unknown */
	uint64_t launched_ns; /* when the call that launched that began; 0 unknown */
	uint32_t context;     /* of that operation */
};

struct sn_device_time {
	int32_t rank;
	uint32_t device, run;
	uint32_t profile; /* one of the device's streams */
	uint32_t stream_count;
	bool has_work;			    /* false only while it is measured */
	uint64_t start_ns, end_ns;	    /* first operation to last */
	uint64_t work_ns[SN_WORK_KINDS];    /* at least one such runs */
	uint64_t exposed_ns[SN_WORK_KINDS]; /* no lower-numbered kind runs beside it */
	uint64_t busy_ns, idle_ns;
	uint64_t operation_counts[SN_WORK_KINDS];
	/* idle_ns, split */
	uint64_t not_queued_ns, launch_ns, unexplained_ns;
	struct sn_device_gap *gaps; /* in order of time */
	size_t gap_count, gap_capacity;
};

struct sn_device_times {
	struct sn_device_time *devices; /* by run, rank, device */
	size_t count;
};

/* All devices of a trace; `launched_only`: without the operations whose launch is not recorded, as
 * some tools count. 0 or a negative enum sn_err; release in either case. */
int sn_device_times(const struct sonde_db *db, const struct sonde_trace *trace, bool launched_only,
		    struct sn_device_times *times, struct sn_error *error);
void sn_device_times_release(struct sn_device_times *times);

/* What a context of a device's stream does. */
enum sn_device_work sn_device_work(const struct sonde_db *db, uint32_t context);

#endif
