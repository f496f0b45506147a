/* SPDX-License-Identifier: Apache-2.0 */
/* Begins of events that wait for their ends: a stack of open begins for each key. */
#include "begin_end.h"

#include "base/error.h"
#include "base/vec.h"

#include <string.h>

#define NONE UINT32_MAX

void sn_begins_init(struct sn_begins *pairs)
{
	*pairs = (struct sn_begins){.unused = NONE};
}

void sn_begins_release(struct sn_begins *pairs)
{
	struct sn_begin pair;
	while (sn_begins_left(pairs, &pair))
		free((void *)pair.event.attributes);
	sn_intern_release(&pairs->keys);
	free(pairs->heads);
	free(pairs->items);
	sn_begins_init(pairs);
}

/* An unused item, or a new one; NONE without memory. */
static uint32_t place(struct sn_begins *pairs)
{
	uint32_t at = pairs->unused;
	if (at != NONE) {
		pairs->unused = pairs->items[at].below;
		return at;
	}
	if (pairs->count == NONE ||
	    sn_vec_reserve(&pairs->items, &pairs->capacity, pairs->count + 1) < 0)
		return NONE;
	return (uint32_t)pairs->count++;
}

int sn_begins_begin(struct sn_begins *pairs, const void *key, size_t key_bytes,
		    const struct sn_event *event)
{
	uint32_t before = pairs->keys.count;
	uint32_t number = sn_intern_add(&pairs->keys, key, key_bytes);
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&pairs->heads, &pairs->head_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before)
		pairs->heads[number] = NONE;
	size_t bytes = event->attribute_count * sizeof(*event->attributes);
	struct sn_attribute *attributes = malloc(bytes + 1);
	uint32_t at = attributes ? place(pairs) : NONE;
	if (at == NONE) {
		free(attributes);
		return SN_ERR_MEMORY;
	}
	if (bytes)
		memcpy(attributes, event->attributes, bytes);
	pairs->items[at] = (struct sn_begin){*event, pairs->heads[number]};
	pairs->items[at].event.attributes = attributes;
	pairs->heads[number] = at;
	return 0;
}

static void remove_begin(struct sn_begins *pairs, uint32_t at, struct sn_begin *pair)
{
	*pair = pairs->items[at];
	pairs->items[at].event.attributes = NULL;
	pairs->items[at].below = pairs->unused;
	pairs->unused = at;
}

bool sn_begins_end(struct sn_begins *pairs, const void *key, size_t key_bytes,
		   bool (*fits)(const void *context, const struct sn_begin *begin),
		   const void *context, struct sn_begin *pair)
{
	uint32_t number = sn_intern_find(&pairs->keys, key, key_bytes);
	uint32_t *link = number == SN_INTERN_NONE ? NULL : pairs->heads + number;
	for (unsigned i = 0; link && *link != NONE && i < SN_BEGINS_LOOK; i++) {
		uint32_t at = *link;
		if (!fits || fits(context, pairs->items + at)) {
			*link = pairs->items[at].below;
			remove_begin(pairs, at, pair);
			return true;
		}
		link = &pairs->items[at].below;
	}
	return false;
}

bool sn_begins_left(struct sn_begins *pairs, struct sn_begin *pair)
{
	/* called at the end only, so that the heads and the list of unused items need not stay
	 * valid */
	while (pairs->count) {
		struct sn_begin *last = pairs->items + --pairs->count;
		if (!last->event.attributes)
			continue;
		*pair = *last;
		return true;
	}
	return false;
}
