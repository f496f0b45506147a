/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the raw bytes of tracepoints mean: from the texts that describe them, which perf puts into
 * the file (the kernel's events/SYSTEM/NAME/format).
 */
#pragma once

#include "perf_file.h"

#include "system/tracepoint.h"

struct sn_perf_tracepoint {
	char system[48];
	struct sn_tracepoint format; /* its id is attr.config of its events */
};

struct sn_perf_tracepoints {
	struct sn_perf_tracepoint *items;
	size_t count, capacity;
};

/* Those that the file describes; as many as can be read of a damaged list. 0 or SN_ERR_MEMORY. */
int sn_perf_tracepoints_read(struct sn_perf_tracepoints *tracepoints,
			     const struct sn_perf_file *file);
void sn_perf_tracepoints_release(struct sn_perf_tracepoints *tracepoints);
/* NULL where it is not described. */
const struct sn_perf_tracepoint *
sn_perf_tracepoint_find(const struct sn_perf_tracepoints *tracepoints, uint64_t id);
