/* SPDX-License-Identifier: Apache-2.0 */
/* How often each call path was sampled since the last flush, and the images that they are in. */
#pragma once

#include "callers.h"

#include "base/arena.h"
#include "base/intern.h"

#include <stdbool.h>

struct sn_paths {
	struct sn_intern keys; /* where the sample was, and its callers */
	uint64_t *counts;
	struct sn_epoch_image *images; /* the callers', by their number there */
	size_t capacity, image_count, image_capacity;
	struct sn_arena texts;
	uint64_t samples; /* the sum of the counts */
};

/* All zeroes is empty. */
void sn_paths_release(struct sn_paths *paths);
/* All paths of one struct sn_paths are found by one `callers`, which forgot nothing meanwhile. `count`: how often it was so. The number of the path; SN_INTERN_NONE without memory: then it is not in. */
uint32_t sn_paths_add(struct sn_paths *paths, const struct sn_stack_sample *sample,
		      const struct sn_callers *callers, const struct sn_callers_path *path,
		      uint64_t count);
/* So many more of that path. */
void sn_paths_again(struct sn_paths *paths, uint32_t number, uint64_t count);

/* Where a path was sampled: the turn, the pair and the address in its image, as of a count (counts.h). */
struct sn_path_place {
	uint32_t turn, pair, address;
	uint32_t kind; /* enum sn_epoch_frame_kind */
};
/* Of the number of a path below keys.count: the callers, the innermost first, of which there are *count, maybe none. */
const struct sn_caller *sn_paths_at(const struct sn_paths *paths, uint32_t number,
				    struct sn_path_place *place, uint32_t *count);
/* Whether they should be flushed now, though it is not time yet. */
bool sn_paths_are_full(const struct sn_paths *paths);
