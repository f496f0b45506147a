/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths from the copies of the stack that `perf record --call-graph dwarf` keeps with each sample. */
#pragma once

#include "perf_sample.h"
#include "perf_space.h"

#include "binary/recorded/recorded_stack.h"

/*
 * The user's part of a sample's path, innermost first, into frames[max]; *count may be 0. `mask` is
 * its attribute's sample_regs_user. The sample's registers and stack are only read.
 */
enum sn_recorded_end sn_perf_unwind(struct sn_perf_space *space,
				    const struct sn_perf_sample *sample, uint64_t mask,
				    struct sn_perf_moment when, struct sn_recorded_frame *frames,
				    size_t max, size_t *count);
