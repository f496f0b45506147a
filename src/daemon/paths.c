/* SPDX-License-Identifier: Apache-2.0 */
/* See paths.h. */
#include "paths.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 8 << 20 };

struct key {
	struct sn_path_place place;
	struct sn_caller callers[SN_CALLERS_MOST];
};

void sn_paths_release(struct sn_paths *paths)
{
	sn_intern_release(&paths->keys);
	sn_arena_release(&paths->texts);
	free(paths->counts);
	free(paths->images);
	*paths = (struct sn_paths){0};
}

/* Images that have come since. */
static int copy_images(struct sn_paths *paths, const struct sn_callers *callers)
{
	size_t count = sn_callers_image_count(callers);
	if (sn_vec_reserve(&paths->images, &paths->image_capacity, count) < 0)
		return SN_ERR_MEMORY;
	for (; paths->image_count < count; paths->image_count++) {
		struct sn_epoch_image image =
		    *sn_callers_image(callers, (uint32_t)paths->image_count);
		image.path = sn_arena_text(&paths->texts, image.path);
		if (!image.path)
			return SN_ERR_MEMORY;
		paths->images[paths->image_count] = image;
	}
	return 0;
}

void sn_paths_again(struct sn_paths *paths, uint32_t number, uint64_t count)
{
	paths->counts[number] += count;
	paths->samples += count;
}

uint32_t sn_paths_add(struct sn_paths *paths, const struct sn_stack_sample *sample,
		      const struct sn_callers *callers, const struct sn_callers_path *path,
		      uint64_t count)
{
	struct key key = {
	    .place = {sample->turn, sample->number, sample->address,
		      path->is_interpreter ? SN_EPOCH_FRAME_INTERPRETER : SN_EPOCH_FRAME_NATIVE}};
	size_t callers_bytes = path->count * sizeof(*path->callers);
	memcpy(key.callers, path->callers, callers_bytes);
	if (copy_images(paths, callers))
		return SN_INTERN_NONE;
	uint32_t number =
	    sn_intern_item(&paths->keys, &key, offsetof(struct key, callers) + callers_bytes,
			   &paths->counts, &paths->capacity, 0);
	if (number != SN_INTERN_NONE)
		sn_paths_again(paths, number, count);
	return number;
}

const struct sn_caller *sn_paths_at(const struct sn_paths *paths, uint32_t number,
				    struct sn_path_place *place, uint32_t *count)
{
	size_t bytes;
	const unsigned char *found = sn_intern_at(&paths->keys, number, &bytes);
	memcpy(place, found, sizeof(*place));
	*count = (uint32_t)((bytes - offsetof(struct key, callers)) / sizeof(struct sn_caller));
	return (const void *)(found + offsetof(struct key, callers));
}

bool sn_paths_are_full(const struct sn_paths *paths)
{
	return sn_intern_memory_bytes(&paths->keys) > BYTES_MOST;
}
