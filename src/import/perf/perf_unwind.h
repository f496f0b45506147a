/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths from copies of the stack, which `perf record --call-graph dwarf` keeps with each
 * sample: by the call frame information of the files that were mapped, with the collector's own
 * decoder; by frame pointers where a file has none.
 */
#pragma once

#include "perf_sample.h"
#include "perf_space.h"

#include <stdbool.h>

struct sn_perf_frame {
	uint64_t address;
	bool is_return;
};

enum sn_perf_unwound {
	SN_PERF_WHOLE,	  /* up to the thread's first function */
	SN_PERF_CUT,	  /* the copy of the stack ends before, or a caller was not found */
	SN_PERF_TOO_DEEP, /* there are more than `max` */
};

/*
 * The user's part of a sample's path, innermost first, into frames[max]; *count may be 0. `mask` is
 * its attribute's sample_regs_user. The sample's registers and stack are only read.
 */
enum sn_perf_unwound sn_perf_unwind(struct sn_perf_space *space,
				    const struct sn_perf_sample *sample, uint64_t mask,
				    struct sn_perf_moment when, struct sn_perf_frame *frames,
				    size_t max, size_t *count);
