/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most samples of a store are counts of places, without their callers; some come with their call path. A count goes to the paths that lead to its function in the
 * same profile, in the proportion of their samples, so that a function has the time that was counted, and its callers what their share of the paths says.
 */
#pragma once

#include "aggregate/unify/merge.h"
#include "aggregate/unify/resolve.h"

#include <stdbool.h>

/* Where samples with their callers were. */
struct sn_epochs_leaf {
	uint32_t profile, metric;
	uint32_t frame, parent; /* frame and node of the merge */
	bool is_parents; /* it is the parent's own work: CPython's loop below a frame of Python */
	double samples;
};

/* What leads to a function, and the samples that have it. */
struct sn_epochs_path {
	uint32_t function; /* its number here */
	uint32_t parent;
	bool is_parents;
	double samples;
};

struct sn_epochs_callers {
	const struct sn_merge *merge;
	const struct sn_resolved *resolved;
	struct sn_intern functions;
	struct sn_epochs_path *paths; /* by function */
	size_t count, capacity;
	size_t *firsts; /* of each function: its first path, and one behind the last function's */
};

/* `merge` and `resolved` must live as long. 0 or SN_ERR_MEMORY; release in either case. */
int sn_epochs_callers_init(struct sn_epochs_callers *callers, const struct sn_merge *merge,
			   const struct sn_resolved *resolved, const struct sn_epochs_leaf *leaves,
			   size_t count);
void sn_epochs_callers_release(struct sn_epochs_callers *callers);
/* The paths to the function of a frame (its number in the merge), of which there are *count. */
const struct sn_epochs_path *sn_epochs_callers_of(const struct sn_epochs_callers *callers,
						  uint32_t profile, uint32_t metric, uint32_t frame,
						  size_t *count);

/*
 * Shares samples out among paths, whole ones, as a count has no parts: each gets the whole part of its share, and what is left is drawn by systematic sampling, so that each
 * has the rest of its share as its probability. `turn` is another one for each count: where the drawing begins follows the multiples of the golden ratio, which
 * are spread evenly.
 */
struct sn_epochs_sharing {
	double each, rest, next;
	uint64_t left;
};
void sn_epochs_share(struct sn_epochs_sharing *sharing, const struct sn_epochs_path *paths,
		     size_t count, uint64_t samples, uint64_t turn);
/* What the next path gets; the last one all that is left. */
uint64_t sn_epochs_share_next(struct sn_epochs_sharing *sharing, const struct sn_epochs_path *path,
			      bool is_last);
