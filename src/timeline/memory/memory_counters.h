/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks of counters of bytes, for memory without addresses of allocations. */
#pragma once

#include "timeline/answers.h"

/* The greatest value of a counter, its time and its context. */
struct sn_memory_peak {
	uint32_t profile, metric, context;
	uint64_t time_ns;
	double bytes;
};

struct sn_memory_peaks {
	struct sn_memory_peak *items; /* by track */
	size_t count, capacity;
};

/* 0 or a negative enum sn_err; free the items in either case. */
int sn_memory_peaks(const struct sn_answers *answers, struct sn_memory_peaks *peaks,
		    struct sn_error *error);
