/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that a file records in two parts, begin and end. Those of one key nest: an end belongs to
 * the last begin.
 */
#pragma once

#include "base/intern.h"
#include "trace/event.h"

/* A begin that waits for its end. */
struct sn_begin {
	struct sn_event event; /* its attributes are the pair's own, to be freed with it */
	uint32_t below;	       /* the begin before it with the same key; UINT32_MAX: none */
};

struct sn_begins {
	struct sn_intern keys;
	uint32_t *heads; /* by key: the last begin */
	struct sn_begin *items;
	size_t head_capacity, count, capacity;
	uint32_t unused; /* a list of them */
};

void sn_begins_init(struct sn_begins *pairs);
void sn_begins_release(struct sn_begins *pairs);
/* Remembers a begin. 0 or SN_ERR_MEMORY. */
int sn_begins_begin(struct sn_begins *pairs, const void *key, size_t key_bytes,
		    const struct sn_event *event);
/* Finds and removes the begin of this end; false: there is none. It is the last begin of the key;
 * if begins and ends of one key need not nest, the last matching one among the last SN_BEGINS_LOOK.
 * The caller frees pair->event.attributes. */
#define SN_BEGINS_LOOK 64
bool sn_begins_end(struct sn_begins *pairs, const void *key, size_t key_bytes,
		   bool (*fits)(const void *context, const struct sn_begin *begin),
		   const void *context, struct sn_begin *pair);
/* Removes any begin that is left; false: none is. Only this function may be called after it. */
bool sn_begins_left(struct sn_begins *pairs, struct sn_begin *pair);
