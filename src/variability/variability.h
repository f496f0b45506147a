/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How kernels of traces vary: per kernel and launch configuration the distribution of its durations, outliers, changes and drift over time,
 * differences among places (devices of ranks); and in which parts of the time.
 *
 * The events are read twice, in parts that are divided among threads and ranks: durations of each kernel, configuration and place; then by slices of
 * the time bins, and what needs the medians. All sums are of whole numbers, so that the results are the same for any number of either. Memory is a slice of some 520,000
 * events for each thread, and some 4 MB where a picture is wanted, what is kept of each kernel, configuration and place (value_counts.h, series.h), and some 100 bytes a bin.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/parallel/parallel.h"
#include "launch_table.h"
#include "series.h"
#include "value_counts.h"

#include "sonde/trace.h"

#include <stdbool.h>

struct sn_peers;

enum sn_variability_by { SN_BY_KERNEL, SN_BY_CONFIGURATION, SN_BY_ALL };

/* Parts of a launch's configuration, as importers and the collector call them. */
enum sn_launch_size {
	SN_LAUNCH_GRID_X,
	SN_LAUNCH_GRID_Y,
	SN_LAUNCH_GRID_Z,
	SN_LAUNCH_BLOCK_X,
	SN_LAUNCH_BLOCK_Y,
	SN_LAUNCH_BLOCK_Z,
	SN_LAUNCH_SHARED, /* bytes for a block */
	SN_LAUNCH_REGISTERS, /* for a thread; follows from the kernel, so it is no part of what tells configurations apart */
	SN_LAUNCH_SIZES
};
enum { SN_CONFIGURATION_SIZES = SN_LAUNCH_SHARED + 1 };
#define SN_SIZE_UNKNOWN UINT64_MAX

struct sn_variability_input {
	const struct sonde_db *db;
	const struct sonde_trace *trace;
	const char *name;     /* of the file, where nothing else tells databases apart */
	const bool *contexts; /* those wanted; NULL: all */
};

struct sn_variability_request {
	const struct sn_variability_input *inputs;
	size_t input_count;
	enum sn_variability_by by;
	uint64_t
	    bin_ns; /* 0: a thousandth of the range or more, with 20 launches in a bin on average */
	size_t top; /* bins that are looked at closely */
	unsigned threads;
	/* The ranks that do it together, all with the same request: each reads a part of the events. All have the result, but the
	 * features and the kernels of bins, which only rank 0 has. NULL: this process alone */
	const struct sn_peers *peers;
	/* Bins are ranked by the variance of its values, if it is a target but the durations and what differs from their means; else by that
	 * of durations. */
	enum sn_feature target;
	/* Launches are in some order, but nobody knows when they were: nothing is told of time, so neither bins, changes and drifts nor differences of places. */
	bool is_timeless;
	/* Durations are so many times what is meant: whole numbers of a unit's parts. 0: 1, they are nanoseconds */
	double ticks;
	bool wants_features;
	bool wants_picture; /* of all launches */
	uint64_t
	    sample; /* launches of the whole time as rows of features, about so many; 0: all in the top bins of either order */
	uint64_t memory_bytes; /* for the durations that are kept; 0: 256 MiB */
};

/* Launches of a kernel with one configuration. */
struct sn_kernel_group {
	uint32_t kernel; /* SONDE_NONE: of all kernels */
	bool has_configuration, is_communication;
	uint64_t sizes[SN_CONFIGURATION_SIZES]; /* SN_SIZE_UNKNOWN: not recorded */
	struct sn_value_counts durations;
	/* Of the kernel's and configuration's own median and scale, also where groups are of several configurations. */
	struct sn_log_spread spread;
	struct sn_outliers outliers;
	double difference_ns; /* the paper's variation: mean of |d - mean of the configuration| */
	double
	    log_variance; /* mean of squares of (ln d - mean of ln d of the configuration); 0 of one value */
	struct sn_drift drift;
	struct sn_changes changes;
	bool drift_counts; /* significant with at most 5 % false ones among all groups */
	struct sn_place_difference *places; /* by place, those with launches of it; owned */
	size_t place_count;
};

/* Launches of one group at one place, beside those at all others. */
struct sn_place_difference {
	uint32_t place;
	uint64_t count;
	double mean_ns;
	struct sn_steps_estimate
	    difference; /* of ln d, to the mean of the others; is_known false where they share no time */
	bool counts;
};

/* A device of a process. */
struct sn_variability_place {
	uint32_t input, run, device;
	int32_t rank;
	uint64_t pid;
	const char *name;
	uint64_t count; /* launches */
	struct sn_steps_estimate
	    pace; /* of ln d in the same groups, to the other places; communication left out */
	bool pace_counts;
};

struct sn_variability_bin {
	uint64_t start_ns, count, least,
	    greatest;			      /* from the begin of the range; durations in ns */
	double mean, variance, q25, q50, q75; /* of the population */
	/* mean of |ln(d / median of its configuration at its place)| without the tenth of the launches in which it is greatest: how far
	 * off launches were, whichever kernels these are, and whatever a few of them did */
	double adjusted;
	size_t rank, adjusted_rank; /* from 1; 0: without launches */
	/* of the request's target over the launches that have one; if bins are ranked by it */
	uint64_t target_count;
	double target_mean, target_variance;
};

/* One kernel in a bin that is looked at closely. */
struct sn_bin_kernel {
	uint32_t kernel;
	uint64_t count;
	double mean, variance, q50; /* of durations */
	double share; /* of the bin's sum of squared differences from its mean: of its variance */
};
struct sn_bin_kernels {
	uint32_t bin;
	struct sn_bin_kernel *items; /* those with the largest share first; owned */
	size_t count;
};

/* All launches as parallel coordinates: start, kernel, and duration; where there are copies also the kind and bytes of the linked one, and the memory stall. */
struct sn_launch_picture {
	struct sn_parallel *parallel; /* NULL: not wanted */
	struct sn_parallel_names names[SN_PARALLEL_AXES];
};

struct sn_variability {
	struct sn_arena arena;
	const char **kernels; /* names, ascending */
	uint32_t kernel_count;
	struct sn_kernel_group *groups; /* by the total deviation of their launches, most first */
	size_t group_count;
	struct sn_variability_place *places;
	size_t place_count;
	/* Begin of the first launch and end of the last one. Where databases are of times that are no one run, each counts from its own
	 * first launch, and the range begins at 0. */
	uint64_t start_ns, end_ns;
	bool is_aligned, is_timeless;
	double
	    ticks; /* by which durations and all that is a difference of them are to be divided */
	uint64_t bin_ns, launch_count;
	struct sn_variability_bin *bins; /* by time; all of the range */
	size_t bin_count;
	uint32_t *by_variance, *by_adjusted; /* bins, those of most first */
	enum sn_feature ranked_by; /* of what the variance is; SN_FEATURE_DURATION or a target */
	struct sn_bin_kernels
	    *top_bins; /* by time: those of either order that are looked at closely */
	size_t top_bin_count;
	size_t used_bins;      /* with launches */
	double usual_adjusted; /* the median of bins with at least SN_BIN_LEAST launches */
	unsigned step_count;
	struct sn_launch_features features; /* if wanted; texts of it may be the result's */
	struct sn_launch_picture picture;   /* likewise */
	double error; /* largest relative error of a quantile; 0: all are exact */
};

/* Bins with fewer launches are not ranked by the adjusted measure before others. */
enum { SN_BIN_LEAST = 10, SN_BINS_MOST = 10000000 };

/* 0 or a negative enum sn_err, SN_ERR_MISSING where there is no kernel; release in either case. */
int sn_variability(const struct sn_variability_request *request, struct sn_variability *result,
		   struct sn_error *error);
/* Of a bin that is looked at closely; NULL: it is not. */
const struct sn_bin_kernels *sn_variability_bin_kernels(const struct sn_variability *result,
							uint32_t bin);
void sn_variability_release(struct sn_variability *result);
