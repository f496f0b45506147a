/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations: events of contexts that are marked so (a profiler's steps, sonde_iteration), how long
 * each took, and which are unusual: further from the median than five times the median absolute
 * deviation (a robust measure, because the first iterations are often ten times as long) and than
 * five per cent of the median.
 */
#pragma once

#include "base/error.h"
#include "sonde/trace.h"
#include "timeline/attributes.h"

struct sn_iteration {
	uint64_t start_ns, end_ns;
	uint64_t number; /* the trace's own, else from 1 in its context and thread */
	uint32_t profile, context;
	bool is_numbered, is_unusual;
};

/* All zeroes: none. */
struct sn_iterations {
	struct sn_iteration *items; /* by context, profile, start */
	size_t count, capacity;
};

/* The attributes that number an iteration, of which it may have one. */
#define SN_ITERATION_NUMBERS                                                                       \
	{"iteration", SONDE_ATTRIBUTE_SIGNED},                                                     \
	{                                                                                          \
		"step_num", SONDE_ATTRIBUTE_SIGNED                                                 \
	}

/* Adds those of the block of a thread's track at which the cursor stands; then
 * sn_iterations_settle. `numbers` are SN_ITERATION_NUMBERS. 0 or SN_ERR_MEMORY. */
int sn_iterations_add(struct sn_iterations *iterations, const struct sonde_db *db, uint32_t profile,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block,
		      struct sn_attributes *numbers);
int sn_iterations_settle(struct sn_iterations *iterations);
void sn_iterations_release(struct sn_iterations *iterations);

/* One past the last iteration of the same context, or of the same context and thread. */
size_t sn_iterations_end_of_context(const struct sn_iterations *iterations, size_t first);
size_t sn_iterations_end_of_thread(const struct sn_iterations *iterations, size_t first);
/* The iterations of the context that has most: first .. end - 1. */
void sn_iterations_most(const struct sn_iterations *iterations, size_t *first, size_t *end);
double sn_iteration_length_ns(const struct sn_iteration *iteration);

/* The lengths of the iterations of one context: mean, population deviation, median, in ns. */
struct sn_iteration_sum {
	size_t count, unusual_count;
	double mean_ns, deviation_ns, median_ns, min_ns, max_ns;
};
void sn_iterations_sum(const struct sn_iteration *items, size_t count,
		       struct sn_iteration_sum *sum);
/* Sorts lengths; gives their median and how far from it a length is unusual. */
double sn_iterations_tolerance_ns(double *lengths_ns, size_t count, double *median_ns);
/* The first one whose length is closest to the median. */
size_t sn_iterations_usual(const struct sn_iteration *items, size_t count);
