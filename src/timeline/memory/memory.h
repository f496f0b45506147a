/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory over time, by device: from allocations and releases with addresses, as torch.profiler
 * records them with profile_memory, and the owners of memory at the peak. They are read twice, in
 * order of time: for the totals, and for the curve and the owners. Only live allocations are kept
 * in memory.
 */
#pragma once

#include "timeline/node.h"
#include "timeline/processes.h"
#include "sonde/trace.h"

#include "base/error.h"

enum { SN_MEMORY_STEPS = 240 };
/* At most this many devices are analysed, the first of the trace. */
enum { SN_MEMORY_DEVICES = 1024 };

struct sn_memory_device {
	uint32_t profile;  /* one of the process */
	uint32_t type, id; /* type 0: the host's memory */
	size_t event_count, allocation_count;
	double allocated_bytes; /* by all allocations together */
	int64_t peak_bytes, end_bytes, peak_reserved_bytes;
	uint64_t peak_ns;
	int64_t known_bytes; /* of the peak: allocated within the recording */
	double *owners;	     /* of those, bytes by node */
	uint32_t *owner_counts;
	uint64_t start_ns, end_ns;
	uint32_t first_track; /* of its first event, and the position there */
	uint64_t first_position;
	double allocated[SN_MEMORY_STEPS], reserved[SN_MEMORY_STEPS]; /* most in each step */
};

struct sn_memory {
	struct sn_memory_device *devices; /* in the order in which they are met, track by track */
	size_t device_count, device_capacity;
	size_t left_out; /* events of devices beyond SN_MEMORY_DEVICES */
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_memory(const struct sn_processes *processes, const struct sn_node_map *nodes,
	      struct sn_memory *memory, struct sn_error *error);
void sn_memory_release(struct sn_memory *memory);
