/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a device in order of start, streamed from the trace for each analysis. Memory
 * is a block for each lane of its streams.
 */
#pragma once

#include "base/error.h"
#include "sonde/trace.h"

enum sn_device_work {
	SN_WORK_COMPUTE, /* kernels, fills, and graphs that were recorded as a whole */
	SN_WORK_COMMUNICATION,
	SN_WORK_COPY,
	SN_WORK_KINDS,
	SN_WORK_NONE = SN_WORK_KINDS, /* an annotation of the stream */
};

/* What a context of a device's stream does. */
enum sn_device_work sn_device_work(const struct sonde_db *db, uint32_t context);

/* The same, found out once for each context; `launched_only`: operations without a recorded launch
 * do not count. */
struct sn_device_works {
	const struct sonde_db *db;
	bool launched_only;
	uint8_t *known; /* by context: enum sn_device_work + 1; 0 not known yet */
};
/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_device_works_init(struct sn_device_works *works, const struct sonde_db *db,
			 bool launched_only);
void sn_device_works_release(struct sn_device_works *works);

struct sn_operation {
	uint64_t start_ns, end_ns;
	uint64_t link; /* to the call that launched it (launches.h); 0: none */
	uint32_t context, profile;
	enum sn_device_work work;
	bool
	    is_continued; /* a further part of a container's own time, whose first part was another one */
};

struct sn_operations;

/* Reads the streams with these tracks, or one of them alone unless `profile` is SONDE_NONE. Trace
 * and works must outlive it. NULL without memory. */
struct sn_operations *sn_operations_new(const struct sonde_trace *trace,
					const struct sn_device_works *works, const uint32_t *tracks,
					size_t count, uint32_t profile);
void sn_operations_free(struct sn_operations *operations);
/* 1 and the next operation, 0 at the end, or a negative enum sn_err. */
int sn_operations_next(struct sn_operations *operations, struct sn_operation *operation,
		       struct sn_error *error);
