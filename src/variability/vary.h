/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an analysis of variability (variability.h), for the parts of it that read events and those that draw conclusions.
 *
 * Cells are numbered by kernel, configuration and place, so that those of one configuration are consecutive, whatever was read first.
 */
#pragma once

#include "source.h"

#include "base/peers/divide.h"

#include <pthread.h>
#include <stdatomic.h>

/* Logarithms as whole numbers of 1 / SN_LOG_UNIT, whose sums do not depend on their order. */
#define SN_LOG_UNIT 16777216.0

/* Launches of a cell that began in a step: their number, and sums of ln d less the cell's median, limited to SN_OUTLIER_SCALES scales of the
 * cell, and not limited. Added to by any thread, in any order: relaxed. */
struct sn_vary_step {
	_Atomic int64_t count, limited, plain;
};

struct sn_vary_cell {
	uint32_t kernel, place, configuration;
	uint64_t sizes[SN_CONFIGURATION_SIZES];
	uint64_t count;
	struct sn_value_counts durations; /* until those of its configuration are merged */
	struct sn_log_spread spread;
	double mean_ns;
	struct sn_vary_step *steps;
};

/* Launches of one kernel and configuration, at all places. */
struct sn_vary_configuration {
	uint32_t first_cell, cell_count, group;
	uint64_t count; /* launches */
	struct sn_value_counts durations;
	struct sn_log_spread spread;
	double mean_ns, log_mean;
};

/* A part of a track, for the survey: launches that begin from from_ns, and before to_ns of the database. */
struct sn_vary_part {
	struct sn_vary_source *source;
	uint32_t track;
	uint64_t from_ns, to_ns;
	uint64_t blocks;
};

/* A part of the time: whole bins, with so many events that a thread can hold them. */
struct sn_vary_slice {
	uint64_t from_ns, to_ns; /* from the begin of the range; to_ns is not of it */
	size_t first_bin, bin_count;
	uint64_t events; /* about how many, at least 1 */
};

struct sn_vary_row {
	uint64_t start_ns;  /* from the begin of the range */
	uint64_t value;	    /* its duration in ns, and then what a reading makes of it */
	uint32_t cell, bin; /* in its slice */
};

/* Copies of all streams. */
struct sn_vary_copies {
	uint64_t count; /* at most so many: one may count twice */
	uint64_t longest_ns, least_bytes, most_bytes;
};

enum { SN_VARY_CACHE = 1024 };

/* What a thread has still to add to a step. */
struct sn_vary_held {
	struct sn_vary_step *step; /* NULL: nothing */
	int64_t count, limited, plain;
};

/* Of each thread. */
struct sn_vary_worker {
	struct sn_vary_reader reader;
	struct sn_vary_row *rows;
	size_t row_count, row_capacity;
	uint64_t *values; /* of rows, grouped */
	size_t value_capacity;
	uint32_t *begins; /* of groups */
	size_t begin_capacity;
	struct {
		struct sn_vary_key key;
		uint32_t cell; /* + 1; 0: free */
	} cache[SN_VARY_CACHE];
	struct sn_vary_held held[SN_VARY_CACHE]; /* by the number of the cell */
	struct sn_parallel *picture;		 /* of its launches; NULL: not wanted */
	struct sn_window_room *room; /* window.h: kept from window to window; NULL: none yet */
	struct sn_error error;
};

struct sn_vary {
	const struct sn_variability_request *request;
	struct sn_variability *result;
	const struct sn_peers *peers;
	struct sn_vary_sources sources;
	struct sn_intern keys;		       /* of cells; read by all threads after the survey */
	struct sn_value_counts *key_durations; /* until cells have them */
	size_t key_capacity;
	uint32_t *cell_of_key;
	struct sn_vary_cell *cells;
	uint32_t cell_count;
	struct sn_vary_configuration *configurations;
	uint32_t configuration_count;
	struct sn_vary_step *steps; /* of all cells */
	unsigned step_count;
	uint64_t shortest_ns, longest_ns; /* launch */
	struct sn_vary_copies copies;	  /* if a picture is wanted */
	uint32_t *category_of_kernel;	  /* in the picture; in the result's arena */
	struct sn_vary_part *parts;
	size_t part_count, part_capacity;
	struct sn_vary_slice *slices;
	size_t slice_count, slice_capacity;
	struct sn_vary_worker *workers;
	unsigned threads;
	pthread_mutex_t
	    lock; /* of what the survey's threads share: keys, and the times of sources */
};

/*
 * Of all functions that follow, those that give an error are called by all ranks, which have agreed on it when they return.
 *
 * survey.c: cells with their durations, the range, bins and slices. 0 or a negative enum sn_err, as all that follow.
 */
int sn_vary_survey(struct sn_vary *vary, struct sn_error *error);
/* conclusions.c: groups of cells, before the slices are read. */
int sn_vary_make_groups(struct sn_vary *vary, struct sn_error *error);
/* slices.c: the rows of a slice; then bins, with their targets if they are ranked by these, and steps. */
int sn_vary_read_slice(struct sn_vary *vary, struct sn_vary_worker *worker,
		       const struct sn_vary_slice *slice);
int sn_vary_slices(struct sn_vary *vary, struct sn_error *error);
/* conclusions.c: results of groups, places, the order of bins. */
int sn_vary_conclude(struct sn_vary *vary, struct sn_error *error);
/* The bins that are first in either order, by time, from malloc. 0 or SN_ERR_MEMORY, of this rank. */
int sn_vary_choose_bins(const struct sn_vary *vary, struct sn_vary_slice **bins, size_t *count);
/* bin_kernels.c: result->top_bins. */
int sn_vary_bin_kernels(struct sn_vary *vary, struct sn_error *error);

/* launch_table.c: result->features. */
int sn_vary_features(struct sn_vary *vary, struct sn_launch_features *features,
		     struct sn_error *error);

/* ranks.c: runs the work on all items by the threads of all ranks, each of which has its share of the weight; the error is the one of the
 * lowest rank and worker. */
int sn_vary_run(const struct sn_vary *vary, const struct sn_peers_work *work,
		struct sn_error *error);
/* The cell of a launch. */
uint32_t sn_vary_find_cell(const struct sn_vary *vary, struct sn_vary_worker *worker,
			   const struct sn_vary_launch *launch);
static inline bool sn_vary_is_key(const struct sn_vary_key *a, const struct sn_vary_key *b)
{
	uint64_t difference = (a->kernel ^ b->kernel) | (a->place ^ b->place);
	for (unsigned i = 0; i < SN_CONFIGURATION_SIZES; i++)
		difference |= a->sizes[i] ^ b->sizes[i];
	return !difference;
}
static inline struct sn_vary_key sn_vary_key_of(const struct sn_vary_launch *launch)
{
	struct sn_vary_key key = {.kernel = launch->kernel, .place = launch->place};
	for (unsigned i = 0; i < SN_CONFIGURATION_SIZES; i++)
		key.sizes[i] = launch->sizes[i];
	return key;
}
/* A place in a table of the keys that came last. */
static inline uint32_t sn_vary_slot(const struct sn_vary_launch *launch)
{
	return launch->kernel * 31u + launch->place * 7u +
	       (uint32_t)launch->sizes[SN_LAUNCH_GRID_X] * 3u +
	       (uint32_t)launch->sizes[SN_LAUNCH_GRID_Y];
}
