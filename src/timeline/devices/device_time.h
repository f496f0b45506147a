/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a device: its work, overlaps, and the reasons of idle time.
 *
 * The device's streams are taken together. At every moment it computes, communicates with other
 * devices, copies, or several of these, or none. "Exposed" is communication without computation,
 * and copying without either. The operation that ends an idle gap gives the reason: until the call
 * that launched it began, nothing was queued for the device (the host was late); from then on the
 * launch was in progress, or the operation waited for something other than the device.
 */
#pragma once

#include "launches.h"
#include "operations.h"
#include "timeline/intervals.h"

/* No interface takes longer from a call to the start of an operation on an idle device. An
 * operation that takes longer waits for something else. */
enum { SN_LAUNCH_MOST_NS = 1000000 };

/* Each has a queue of its own, which costs a pass over the device. */
enum { SN_DEVICE_STREAMS = 64 };

/* Each device costs a pass over all threads of its process. So at most this many of one process are
 * analysed, those with the most operations; real processes have fewer. */
enum { SN_PROCESS_DEVICES = 128 };

struct sn_device_time {
	int32_t rank;
	uint32_t device, run;
	uint32_t profile; /* one of the device's streams */
	uint32_t stream_count;
	const uint32_t *tracks; /* of the device, for sn_operations_new */
	size_t track_count;
	bool has_work;			    /* false only while it is measured */
	bool is_of_iterations;		    /* start_ns and end_ns are theirs */
	uint64_t start_ns, end_ns;	    /* first operation to last, unless of iterations */
	uint64_t first_ns;		    /* first operation */
	uint64_t work_ns[SN_WORK_KINDS];    /* at least one such runs */
	uint64_t exposed_ns[SN_WORK_KINDS]; /* no lower-numbered kind runs beside it */
	uint64_t busy_ns, idle_ns;
	uint64_t operation_counts[SN_WORK_KINDS];
	/* idle_ns, split */
	uint64_t not_queued_ns, launch_ns, unexplained_ns;
	size_t gap_count;
	/* usual time from the begin of the call to the start: the median over operations that were
	 * launched while the device was idle; else the least of all operations; 0: unknown, since
	 * all of them were queued */
	uint64_t launch_latency_ns;
	/* the first streams, by their first operations */
	uint32_t streams[SN_DEVICE_STREAMS];
	size_t listed_streams;
};

struct sn_device_times {
	struct sn_device_time *devices; /* by run, rank, device */
	size_t count;
	size_t left_out;  /* devices, beyond SN_PROCESS_DEVICES of a process */
	uint32_t *tracks; /* of all devices, one after the other */
	struct sn_device_works works;
	double *context_ns; /* time of all devices' operations by context, added up */
};

/* From the begin of a process's first iteration to the end of its last; end_ns is 0 without any. */
struct sn_device_spans {
	const struct sn_interval *items; /* by process */
	const uint32_t *of_profile;	 /* the process */
};

/* Whether the trace has streams of devices. */
bool sn_has_devices(const struct sonde_db *db, const struct sonde_trace *trace);
/* All devices of a trace; `launched_only`: without the operations whose launch is not recorded, as
 * some tools count. Where a process has a span in which its device does at least half of its work,
 * times are of that span, and of what was launched in it and runs longer; spans may be NULL.
 * `memory_bytes` as of sn_external_sort_init. 0 or a negative enum sn_err; release in either case. */
int sn_device_times(const struct sonde_db *db, const struct sonde_trace *trace, bool launched_only,
		    struct sn_launches *launches, const struct sn_device_spans *spans,
		    size_t memory_bytes, struct sn_device_times *times, struct sn_error *error);
/* The part of an operation that lies in the device's time; false: none does. */
bool sn_device_time_clip(const struct sn_device_time *time, struct sn_operation *operation);
void sn_device_times_release(struct sn_device_times *times);

/* The operations of a device; see sn_operations_new. */
struct sn_operations *sn_device_times_read(const struct sn_device_times *times,
					   const struct sonde_trace *trace, size_t device,
					   uint32_t profile);

/* Handles an operation. Returns 0, or a negative enum sn_err to end: SN_ERR_MEMORY, or another one
 * that has its text already. */
typedef int sn_visit_operation(void *data, const struct sn_operation *operation);
/* Visits them all in order of start. 0 or a negative enum sn_err. */
int sn_device_times_walk(const struct sn_device_times *times, const struct sonde_trace *trace,
			 size_t device, uint32_t profile, sn_visit_operation *visit, void *data,
			 struct sn_error *error);
