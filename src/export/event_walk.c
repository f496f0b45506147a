/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a profile in order; see event_walk.h. */
#include "event_walk.h"

#include "base/heap.h"
#include "base/progress/progress.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "lib/db/trace_reader.h"

#include <stdlib.h>
#include <string.h>

struct source {
	struct sn_event_feed feed;
	const struct sonde_track *track;
	size_t at;
	uint32_t *first; /* of each event's attributes in `ordered` */
	struct sn_walk_attribute *ordered;
	size_t first_capacity, ordered_capacity;
};

/* The attributes of one key in a block. */
struct walk_column {
	uint32_t place; /* of the key among all by name */
	size_t first, count;
};

struct walk {
	const struct sonde_trace *trace;
	struct sonde_event_cursor *reader; /* of all sources */
	/* attributes of a block, by key and by name; and where of the former each key's are */
	struct sn_walk_attribute *read, *sorted;
	struct walk_column *columns;
	size_t read_capacity, sorted_capacity, column_capacity;
	struct source *sources;
	const uint32_t *places; /* of keys, by name */
	uint32_t *heap;		/* of sources that have an event, the next one first */
	size_t source_count, heap_count;
	bool is_brief;
};

static void release(struct walk *walk)
{
	for (size_t i = 0; i < walk->source_count; i++) {
		sn_event_feed_release(&walk->sources[i].feed);
		free(walk->sources[i].first);
		free(walk->sources[i].ordered);
	}
	sonde_event_cursor_free(walk->reader);
	free(walk->read);
	free(walk->sorted);
	free(walk->columns);
	free(walk->sources);
	free(walk->heap);
}

static int prepare(struct walk *walk, uint32_t profile)
{
	const struct sonde_trace *trace = walk->trace;
	uint32_t first = sonde_trace_first_track(trace, profile), count = 0;
	while (first != SONDE_NONE && first + count < sonde_trace_track_count(trace) &&
	       sonde_trace_track(trace, first + count)->profile == profile)
		count++;
	walk->sources = calloc(count + 1ull, sizeof(*walk->sources));
	walk->heap = calloc(count + 1ull, sizeof(*walk->heap));
	walk->reader = sn_event_reader_new(trace);
	if (!walk->sources || !walk->heap || !walk->reader)
		return SN_ERR_MEMORY;
	walk->source_count = count;
	for (uint32_t i = 0; i < count; i++) {
		walk->sources[i].track = sonde_trace_track(trace, first + i);
		sn_event_place_init(&walk->sources[i].feed.place, trace, first + i, 0, UINT64_MAX,
				    0);
	}
	return 0;
}

static unsigned kind_order(unsigned kind)
{
	return sonde_track_lasts(kind) ? 0 : kind == SONDE_TRACK_SAMPLES ? 9 : kind;
}

static bool goes_before(const struct walk *walk, uint32_t left, uint32_t right)
{
	const struct source *a = walk->sources + left, *b = walk->sources + right;
	uint64_t a_start = a->feed.starts_ns[a->at], b_start = b->feed.starts_ns[b->at];
	if (a_start != b_start)
		return a_start < b_start;
	unsigned a_order = kind_order(a->track->kind), b_order = kind_order(b->track->kind);
	if (a_order != b_order)
		return a_order < b_order;
	uint64_t a_end = a->feed.ends_ns[a->at], b_end = b->feed.ends_ns[b->at];
	return a_end != b_end ? a_end > b_end : left < right;
}

SN_HEAP(sources, uint32_t, const struct walk *, goes_before(of, *a, *b));

/* Attributes come by key; they are wanted by event. */
static int order_attributes(struct source *source, const struct sn_walk_attribute *read,
			    size_t count)
{
	if (sn_vec_reserve(&source->ordered, &source->ordered_capacity, count) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		source->first[read[i].at + 1]++;
	for (size_t i = 0; i < source->feed.count; i++)
		source->first[i + 1] += source->first[i];
	for (size_t i = 0; i < count; i++)
		source->ordered[source->first[read[i].at]++] = read[i];
	for (size_t i = source->feed.count; i; i--)
		source->first[i] = source->first[i - 1];
	source->first[0] = 0;
	return 0;
}

SN_SORT_BY(sort_columns, struct walk_column, const void *, SN_ORDER(a->place, b->place));

/* Columns come by key; they are wanted by name. */
static int order_columns(struct walk *walk, size_t column_count, size_t count)
{
	if (sn_vec_reserve(&walk->sorted, &walk->sorted_capacity, count) < 0)
		return SN_ERR_MEMORY;
	sort_columns(walk->columns, column_count, NULL);
	size_t at = 0;
	for (size_t i = 0; i < column_count; i++) {
		const struct walk_column *one = walk->columns + i;
		memcpy(walk->sorted + at, walk->read + one->first,
		       one->count * sizeof(*walk->sorted));
		at += one->count;
	}
	return 0;
}

static int read_attributes(struct walk *walk, struct source *source)
{
	size_t count = 0, column_count = 0, events = source->feed.count;
	struct sn_block_rest left = sn_event_attributes(walk->reader);
	struct sonde_attribute_column column;
	uint32_t key;
	while (sn_event_attribute_next(walk->reader, &left, &key, &column) > 0) {
		if (key >= sonde_trace_key_count(walk->trace))
			continue;
		if (sn_vec_reserve(&walk->read, &walk->read_capacity, count + events) < 0)
			return SN_ERR_MEMORY;
		size_t first = count;
		for (uint32_t at = 0; at < events; at++)
			if (!column.is_present || column.is_present[at])
				walk->read[count++] =
				    (struct sn_walk_attribute){key, at, column.values[at]};
		if (sn_vec_push(&walk->columns, &walk->column_capacity, &column_count,
				(struct walk_column){walk->places[key], first, count - first}))
			return SN_ERR_MEMORY;
	}
	if (!count)
		return 0;
	return order_columns(walk, column_count, count)
		   ? SN_ERR_MEMORY
		   : order_attributes(source, walk->sorted, count);
}

/* No event of the block has attributes yet. */
static int set_first(struct source *source)
{
	size_t count = source->feed.count + 1;
	if (sn_vec_reserve(&source->first, &source->first_capacity, count) < 0)
		return SN_ERR_MEMORY;
	memset(source->first, 0, count * sizeof(*source->first));
	return 0;
}

/* The next block: 1, 0 where there is none, or negative. */
static int refill(struct walk *walk, struct source *source, struct sn_error *error)
{
	struct sonde_db_error why;
	source->at = 0;
	int result = sn_event_feed_next(&source->feed, walk->reader, &why);
	if (result <= 0)
		sn_event_feed_release(&source->feed);
	if (result < 0)
		return sn_fail(error, result, "%s", why.text);
	sn_progress_add(result > 0 ? source->feed.count : 0);
	bool is_wanted = !walk->is_brief || source->track->kind == SONDE_TRACK_INSTANTS;
	if (result && (set_first(source) || (is_wanted && read_attributes(walk, source))))
		return SN_ERR_MEMORY;
	return result;
}

/* All sources at their first event. */
static int start(struct walk *walk, struct sn_error *error)
{
	for (uint32_t i = 0; i < walk->source_count; i++) {
		int result = refill(walk, walk->sources + i, error);
		if (result < 0)
			return result;
		if (result)
			walk->heap[walk->heap_count++] = i;
	}
	sources_build(walk->heap, walk->heap_count, walk);
	return 0;
}

/* Goes on behind the first event. */
static int advance(struct walk *walk, struct sn_error *error)
{
	struct source *source = walk->sources + walk->heap[0];
	int result = ++source->at == source->feed.count ? refill(walk, source, error) : 1;
	if (result < 0)
		return result;
	if (result)
		sources_sink(walk->heap, walk->heap_count, 0, walk);
	else
		sources_pop(walk->heap, &walk->heap_count, walk);
	return 0;
}

static struct sn_walk_event first_event(const struct walk *walk)
{
	const struct source *source = walk->sources + walk->heap[0];
	size_t at = source->at;
	return (struct sn_walk_event){
	    .start_ns = source->feed.starts_ns[at],
	    .end_ns = source->feed.ends_ns[at],
	    .link = source->feed.links ? source->feed.links[at] : 0,
	    .context = source->feed.contexts[at],
	    .metric = source->track->metric,
	    .kind = source->track->kind,
	    .attribute_count = source->first[at + 1] - source->first[at],
	    .attributes = source->ordered ? source->ordered + source->first[at] : NULL,
	};
}

static int walk_profile(struct walk walk, uint32_t profile, sn_event_visit *visit, void *context,
			struct sn_error *error)
{
	int result = prepare(&walk, profile);
	if (!result)
		result = start(&walk, error);
	while (!result && walk.heap_count) {
		struct sn_walk_event event = first_event(&walk);
		result = visit(context, &event);
		if (!result)
			result = advance(&walk, error);
	}
	release(&walk);
	return sn_fail_code(error, result);
}

int sn_event_walk(struct sn_trace_export *export, uint32_t profile, sn_event_visit *visit,
		  void *context, struct sn_error *error)
{
	return walk_profile((struct walk){.trace = export->trace, .places = export->key_places},
			    profile, visit, context, error);
}

int sn_event_walk_brief(struct sn_trace_export *export, uint32_t profile, sn_event_visit *visit,
			void *context, struct sn_error *error)
{
	return walk_profile(
	    (struct walk){.trace = export->trace, .places = export->key_places, .is_brief = true},
	    profile, visit, context, error);
}
