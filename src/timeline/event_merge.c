/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of feeds, each begun when its track does; see event_merge.h. */
#include "event_merge.h"

#include "lib/db/trace_reader.h"

#include <stdlib.h>

struct source {
	struct sn_event_feed feed;
	size_t at;
	uint64_t next_ns; /* of its next event; before it is begun, of its first */
	uint32_t track;
	bool has_begun;
};

struct sn_event_merge {
	const struct sonde_trace *trace;
	struct sn_event_window window;
	struct sonde_event_cursor *own; /* reader, or NULL */
	struct source *sources;
	uint32_t *heap; /* of sources that have an event, the next one first */
	size_t source_count, heap_count;
};

static bool goes_before(const struct sn_event_merge *merge, uint32_t left, uint32_t right)
{
	uint64_t a = merge->sources[left].next_ns, b = merge->sources[right].next_ns;
	return a != b ? a < b : left < right;
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

struct sn_event_merge *sn_event_merge_new(const struct sonde_trace *trace, const uint32_t *tracks,
					  size_t count, const struct sn_event_window *window)
{
	struct sn_event_merge *merge = calloc(1, sizeof(*merge));
	if (!merge)
		return NULL;
	*merge = (struct sn_event_merge){
	    .trace = trace,
	    .window = *window,
	    .sources = calloc(count + 1, sizeof(*merge->sources)),
	    .heap = calloc(count + 1, sizeof(*merge->heap)),
	    .source_count = count,
	    .heap_count = count,
	};
	if (!window->reader)
		merge->window.reader = merge->own = sn_event_reader_new(trace);
	if (!merge->sources || !merge->heap || !merge->window.reader) {
		sn_event_merge_free(merge);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		merge->heap[i] = (uint32_t)i;
		merge->sources[i].track = tracks[i];
		merge->sources[i].next_ns = sonde_trace_track(trace, tracks[i])->start_ns;
	}
	for (size_t i = count / 2; i--;)
		sink(merge, i);
	return merge;
}

void sn_event_merge_free(struct sn_event_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->source_count && merge->sources; i++)
		sn_event_feed_release(&merge->sources[i].feed);
	sonde_event_cursor_free(merge->own);
	free(merge->sources);
	free(merge->heap);
	free(merge);
}

/* The next block of the first source, which leaves the heap where there is none. */
static int refill(struct sn_event_merge *merge, struct sn_error *error)
{
	struct source *source = merge->sources + merge->heap[0];
	const struct sn_event_window *window = &merge->window;
	struct sonde_db_error why;
	if (!source->has_begun)
		sn_event_place_init(&source->feed.place, merge->trace, source->track,
				    window->from_ns, window->to_ns, window->flags);
	source->has_begun = true;
	int result = sn_event_feed_next(&source->feed, window->reader, &why);
	if (result < 0)
		return sn_fail(error, result, "%s", why.text);
	source->at = 0;
	if (result) {
		source->next_ns = source->feed.starts_ns[0];
		return 0;
	}
	sn_event_feed_release(&source->feed);
	merge->heap[0] = merge->heap[--merge->heap_count];
	return 0;
}

int sn_event_merge_next(struct sn_event_merge *merge, struct sn_merged_event *event,
			struct sn_error *error)
{
	struct source *source;
	for (;;) {
		if (!merge->heap_count)
			return 0;
		source = merge->sources + merge->heap[0];
		if (source->has_begun)
			break;
		int result = refill(merge, error);
		if (result < 0)
			return result;
		sink(merge, 0);
	}
	const struct sn_event_feed *block = &source->feed;
	size_t at = source->at++;
	*event = (struct sn_merged_event){
	    .start_ns = block->starts_ns[at],
	    .end_ns = block->ends_ns[at],
	    .link = block->links ? block->links[at] : 0,
	    .context = block->contexts[at],
	    .track = source->track,
	};
	if (source->at < block->count) {
		source->next_ns = block->starts_ns[source->at];
	} else {
		int result = refill(merge, error);
		if (result < 0)
			return result;
	}
	if (merge->heap_count > 1)
		sink(merge, 0);
	return 1;
}
