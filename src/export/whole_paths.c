/* SPDX-License-Identifier: Apache-2.0 */
/* See paths.h. */
#include "whole_paths.h"

static bool is_function(const struct sn_whole_paths *paths, uint32_t frame)
{
	return paths->functions->of_frame[frame] != SONDE_NONE;
}

static uint32_t find_lengths(struct sn_whole_paths *paths, uint32_t count)
{
	uint32_t longest = 0;
	for (uint32_t c = 0; c < count; c++) {
		const struct sonde_db_context *context = sonde_db_context(paths->db, c);
		uint32_t above = c > 0 ? paths->lengths[context->parent] : 0;
		paths->lengths[c] = above + is_function(paths, context->frame);
		longest = paths->lengths[c] > longest ? paths->lengths[c] : longest;
	}
	return longest;
}

/* How many values there are for each length. */
static void count_lengths(const struct sn_whole_paths *paths, uint32_t metric, uint64_t *counts)
{
	for (uint32_t p = 0; p < sonde_db_profile_count(paths->db); p++) {
		struct sonde_db_plane plane = sonde_db_profile_plane(paths->db, p, metric);
		for (size_t i = 0; i < plane.count; i++)
			counts[paths->lengths[plane.ids[i]]]++;
	}
}

int sn_whole_paths_init(struct sn_whole_paths *paths, const struct sonde_db *db,
			const struct sn_groups *functions, const uint32_t *metrics,
			uint32_t metric_count)
{
	uint32_t count = sonde_db_context_count(db);
	*paths = (struct sn_whole_paths){.db = db, .functions = functions};
	paths->lengths = sn_arena_array(&paths->arena, uint32_t, count + 1ull);
	if (!paths->lengths)
		return SN_ERR_MEMORY;
	uint32_t longest = find_lengths(paths, count);
	paths->path = sn_arena_array(&paths->arena, uint32_t, longest + 1ull);
	uint64_t *counts = sn_arena_array(&paths->arena, uint64_t, longest + 1ull);
	if (!paths->path || !counts)
		return SN_ERR_MEMORY;
	for (uint32_t m = 0; m < metric_count; m++)
		count_lengths(paths, metrics[m], counts);
	sn_stack_cut_init(&paths->cut, counts, longest + 1);
	return 0;
}

void sn_whole_paths_release(struct sn_whole_paths *paths)
{
	sn_arena_release(&paths->arena);
}

void sn_whole_paths_begin(struct sn_whole_paths *paths)
{
	paths->at = 0;
}

/* Contexts come in pre-order, so that the path to the next one is at hand when those between have
 * been passed. */
uint32_t sn_whole_paths_go(struct sn_whole_paths *paths, uint32_t context)
{
	for (; paths->at <= context; paths->at++) {
		uint32_t frame = sonde_db_context(paths->db, paths->at)->frame;
		if (is_function(paths, frame))
			paths->path[paths->lengths[paths->at] - 1] = frame;
	}
	return paths->lengths[context];
}

bool sn_whole_paths_next(const struct sn_whole_paths *paths, uint32_t length, uint32_t *depth,
			 uint32_t *frame)
{
	if (*depth == 0)
		return false;
	--*depth;
	bool is_cut = sn_stack_is_cut(&paths->cut, *depth, length);
	*frame = is_cut ? SONDE_NONE : paths->path[*depth];
	if (is_cut)
		*depth = paths->cut.limit / 2; /* the outermost one left out */
	return true;
}
