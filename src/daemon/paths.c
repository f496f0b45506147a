/* SPDX-License-Identifier: Apache-2.0 */
/* See paths.h. */
#include "paths.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 8 << 20 };

struct key {
	uint32_t pair, address;
	struct sn_caller callers[SN_CALLERS_MOST];
};

void sn_paths_release(struct sn_paths *paths)
{
	sn_intern_release(&paths->keys);
	free(paths->counts);
	*paths = (struct sn_paths){0};
}

int sn_paths_add(struct sn_paths *paths, const struct sn_stack_sample *sample,
		 const struct sn_callers_path *path)
{
	struct key key;
	size_t callers_bytes = path->count * sizeof(*path->callers);
	key.pair = sample->number;
	key.address = sample->address;
	memcpy(key.callers, path->callers, callers_bytes);
	uint32_t number =
	    sn_intern_item(&paths->keys, &key, offsetof(struct key, callers) + callers_bytes,
			   &paths->counts, &paths->capacity, 0);
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	paths->counts[number]++;
	paths->samples++;
	return 0;
}

const struct sn_caller *sn_paths_at(const struct sn_paths *paths, uint32_t number, uint32_t *pair,
				    uint32_t *address, uint32_t *count)
{
	size_t bytes;
	const unsigned char *found = sn_intern_at(&paths->keys, number, &bytes);
	memcpy(pair, found + offsetof(struct key, pair), sizeof(*pair));
	memcpy(address, found + offsetof(struct key, address), sizeof(*address));
	*count = (uint32_t)((bytes - offsetof(struct key, callers)) / sizeof(struct sn_caller));
	return (const void *)(found + offsetof(struct key, callers));
}

bool sn_paths_are_full(const struct sn_paths *paths)
{
	return sn_intern_memory_bytes(&paths->keys) > BYTES_MOST;
}
