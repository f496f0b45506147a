/* SPDX-License-Identifier: Apache-2.0 */
/* Merges tracks in order of time: a heap of tracks, each of which is opened when the merge comes to
 * its first event. */
#include "event_merge.h"

#include "base/heap.h"
#include "lib/db/trace_reader.h"

#include <stdlib.h>

struct source {
	struct sn_event_feed feed;
	struct sn_attributes attributes; /* of the current block, if any are wanted */
	size_t at;
	uint64_t position;
	uint64_t next_ns; /* time of its next event; of its first, until it is opened */
	uint32_t track;
	bool has_begun;
};

struct sn_event_merge {
	const struct sonde_trace *trace;
	struct sn_event_window window;
	struct sonde_event_cursor *own; /* the reader, if it is this merge's own; or NULL */
	struct source *sources;
	uint32_t *heap; /* of sources with events, by time */
	size_t source_count, heap_count;
	bool is_given; /* the first source's event has been returned */
};

SN_HEAP(sources, uint32_t, const struct sn_event_merge *,
	of->sources[*a].next_ns != of->sources[*b].next_ns
	    ? of->sources[*a].next_ns < of->sources[*b].next_ns
	    : *a < *b);

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
	sources_build(merge->heap, count, merge);
	return merge;
}

static void release_source(struct source *source)
{
	sn_event_feed_release(&source->feed);
	sn_attributes_release(&source->attributes);
}

void sn_event_merge_free(struct sn_event_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->source_count && merge->sources; i++)
		release_source(merge->sources + i);
	sonde_event_cursor_free(merge->own);
	free(merge->sources);
	free(merge->heap);
	free(merge);
}

/* Reads the next block. 1, 0 at the end, or a negative enum sn_err. */
static int refill(struct sn_event_merge *merge, struct source *source, struct sn_error *error)
{
	const struct sn_event_window *window = &merge->window;
	struct sonde_db_error why;
	if (!source->has_begun) {
		source->has_begun = true;
		sn_event_place_init(&source->feed.place, merge->trace, source->track,
				    window->from_ns, window->to_ns, window->flags);
		if (window->wish_count &&
		    sn_attributes_init(&source->attributes, merge->trace->db, merge->trace,
				       window->wishes, window->wish_count))
			return sn_fail_memory(error);
	}
	int result = sn_event_feed_next(&source->feed, window->reader, &why);
	source->at = 0;
	if (result < 0)
		return sn_fail(error, result, "%s", why.text);
	if (result)
		sn_attributes_read(&source->attributes, window->reader, source->feed.count);
	else
		release_source(source);
	return result;
}

/* Moves past the event that was returned, or to the first; a source at its end leaves the heap. */
static int advance(struct sn_event_merge *merge, struct source *source, struct sn_error *error)
{
	source->at += merge->is_given;
	source->position += merge->is_given;
	merge->is_given = false;
	int result = source->at < source->feed.count ? 1 : refill(merge, source, error);
	if (result > 0) {
		source->next_ns = source->feed.starts_ns[source->at];
		sources_sink(merge->heap, merge->heap_count, 0, merge);
	} else if (!result) {
		sources_pop(merge->heap, &merge->heap_count, merge);
	}
	return result;
}

int sn_event_merge_next(struct sn_event_merge *merge, struct sn_merged_event *event,
			struct sn_error *error)
{
	while (merge->heap_count) {
		struct source *source = merge->sources + merge->heap[0];
		const struct sn_event_feed *block = &source->feed;
		size_t at = source->at;
		if (merge->is_given || !source->has_begun) {
			int result = advance(merge, source, error);
			if (result < 0)
				return result;
			continue;
		}
		*event = (struct sn_merged_event){
		    .start_ns = block->starts_ns[at],
		    .end_ns = block->ends_ns[at],
		    .link = block->links ? block->links[at] : 0,
		    .context = block->contexts[at],
		    .track = source->track,
		    .position = source->position,
		    .attributes = &source->attributes,
		    .at = at,
		};
		merge->is_given = true;
		return 1;
	}
	return 0;
}
