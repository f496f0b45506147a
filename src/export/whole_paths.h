/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call paths of a database one after the other, as functions, for formats that write each one whole. Loops and
 * lines belong to the function around them. Paths that stack.h cuts are walked as they are to be written.
 *
 *	sn_whole_paths_begin(&paths);
 *	for each context, in ascending order
 *		uint32_t length = sn_whole_paths_go(&paths, context);
 *		for (uint32_t depth = length; sn_whole_paths_next(&paths, length, &depth, &frame);)
 *			... frame, leaf first; SONDE_NONE stands for those that are left out
 */
#pragma once

#include "base/arena.h"
#include "frame/group.h"
#include "stack.h"

struct sn_whole_paths {
	const struct sonde_db *db;
	const struct sn_groups *functions; /* by SN_GROUP_FUNCTION; outlive the paths */
	struct sn_stack_cut cut;
	struct sn_arena arena;
	uint32_t *lengths; /* [context]: functions on its path */
	uint32_t *path;	   /* the frames on the path to the context before `at`, outermost first */
	uint32_t at;
};

/* Chooses where paths with values of these metrics are cut. 0 or SN_ERR_MEMORY; release in either case. */
int sn_whole_paths_init(struct sn_whole_paths *paths, const struct sonde_db *db,
			const struct sn_groups *functions, const uint32_t *metrics,
			uint32_t metric_count);
void sn_whole_paths_release(struct sn_whole_paths *paths);
void sn_whole_paths_begin(struct sn_whole_paths *paths);
/* The number of functions on the path to a context, which must not lie before the last one. */
uint32_t sn_whole_paths_go(struct sn_whole_paths *paths, uint32_t context);
/* False at the end. */
bool sn_whole_paths_next(const struct sn_whole_paths *paths, uint32_t length, uint32_t *depth,
			 uint32_t *frame);
