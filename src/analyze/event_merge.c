/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of cursors; see event_merge.h. */
#include "event_merge.h"

#include <stdlib.h>

struct source {
	struct sonde_event_cursor *cursor;
	struct sonde_event_block block;
	size_t at;
	uint32_t track;
};

struct sn_event_merge {
	struct source *sources;
	uint32_t *heap; /* of sources that have an event, the next one first */
	size_t source_count, heap_count;
	size_t started; /* sources that were read from */
};

struct sn_event_merge *sn_event_merge_new(const struct sonde_trace *trace, const uint32_t *tracks,
					  size_t count, unsigned flags)
{
	struct sn_event_merge *merge = calloc(1, sizeof(*merge));
	if (!merge)
		return NULL;
	merge->sources = calloc(count + 1, sizeof(*merge->sources));
	merge->heap = calloc(count + 1, sizeof(*merge->heap));
	for (size_t i = 0; i < count && merge->sources && merge->heap; i++) {
		struct source *source = merge->sources + merge->source_count;
		source->track = tracks[i];
		source->cursor = sonde_event_cursor_new(trace, tracks[i], 0, UINT64_MAX, flags);
		merge->source_count += source->cursor != NULL;
	}
	if (merge->source_count < count) {
		sn_event_merge_free(merge);
		return NULL;
	}
	return merge;
}

void sn_event_merge_free(struct sn_event_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->source_count; i++)
		sonde_event_cursor_free(merge->sources[i].cursor);
	free(merge->sources);
	free(merge->heap);
	free(merge);
}

static bool goes_before(const struct sn_event_merge *merge, uint32_t left, uint32_t right)
{
	const struct source *a = merge->sources + left, *b = merge->sources + right;
	uint64_t a_start = a->block.starts_ns[a->at], b_start = b->block.starts_ns[b->at];
	return a_start != b_start ? a_start < b_start : left < right;
}

static void sink(struct sn_event_merge *merge, size_t place)
{
	uint32_t *heap = merge->heap;
	for (;;) {
		size_t child = 2 * place + 1;
		if (child >= merge->heap_count)
			return;
		if (child + 1 < merge->heap_count &&
		    goes_before(merge, heap[child + 1], heap[child]))
			child++;
		if (!goes_before(merge, heap[child], heap[place]))
			return;
		uint32_t swapped = heap[place];
		heap[place] = heap[child];
		heap[child] = swapped;
		place = child;
	}
}

static void rise(struct sn_event_merge *merge, size_t place)
{
	uint32_t *heap = merge->heap;
	while (place && goes_before(merge, heap[place], heap[(place - 1) / 2])) {
		uint32_t swapped = heap[place];
		heap[place] = heap[(place - 1) / 2];
		heap[(place - 1) / 2] = swapped;
		place = (place - 1) / 2;
	}
}

/* The next block of a source: 1, 0 where there is none, or negative. */
static int refill(struct source *source, struct sn_error *error)
{
	struct sonde_db_error why;
	source->at = 0;
	int result = sonde_event_cursor_next(source->cursor, &source->block, &why);
	if (result < 0)
		sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	return result;
}

static int start(struct sn_event_merge *merge, struct sn_error *error)
{
	while (merge->started < merge->source_count) {
		uint32_t number = (uint32_t)merge->started++;
		int result = refill(merge->sources + number, error);
		if (result < 0)
			return result;
		if (!result)
			continue;
		merge->heap[merge->heap_count++] = number;
		rise(merge, merge->heap_count - 1);
	}
	return 0;
}

int sn_event_merge_next(struct sn_event_merge *merge, struct sn_merged_event *event,
			struct sn_error *error)
{
	int result = start(merge, error);
	if (result < 0 || !merge->heap_count)
		return result;
	struct source *source = merge->sources + merge->heap[0];
	const struct sonde_event_block *block = &source->block;
	size_t at = source->at++;
	*event = (struct sn_merged_event){
	    .start_ns = block->starts_ns[at],
	    .end_ns = block->ends_ns[at],
	    .link = block->links ? block->links[at] : 0,
	    .context = block->contexts[at],
	    .track = source->track,
	};
	if (source->at == block->count) {
		result = refill(source, error);
		if (result < 0)
			return result;
		if (!result)
			merge->heap[0] = merge->heap[--merge->heap_count];
	}
	sink(merge, 0);
	return 1;
}
