/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a profile in order; see event_walk.h. */
#include "event_walk.h"

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

struct sn_event_walk {
	const struct sonde_trace *trace;
	struct sonde_event_cursor *reader; /* of all sources */
	/* attributes of a block, by key and by name; and where of the former each key's are */
	struct sn_walk_attribute *read, *sorted;
	struct walk_column *columns;
	size_t read_capacity, sorted_capacity, column_capacity;
	struct source **sources;
	const uint32_t *places; /* of keys, by name */
	uint32_t *heap;		/* of sources that have an event, the next one first */
	size_t source_count, heap_count;
	bool is_started, skips_attributes;
};

static void free_source(struct source *source)
{
	if (!source)
		return;
	sn_event_feed_release(&source->feed);
	free(source->first);
	free(source->ordered);
	free(source);
}

void sn_event_walk_free(struct sn_event_walk *walk)
{
	if (!walk)
		return;
	for (size_t i = 0; i < walk->source_count; i++)
		free_source(walk->sources[i]);
	sonde_event_cursor_free(walk->reader);
	free(walk->read);
	free(walk->sorted);
	free(walk->columns);
	free(walk->sources);
	free(walk->heap);
	free(walk);
}

static int add_source(struct sn_event_walk *walk, uint32_t track)
{
	struct source *source = calloc(1, sizeof(*source));
	if (!source)
		return -1;
	walk->sources[walk->source_count++] = source;
	source->track = sonde_trace_track(walk->trace, track);
	sn_event_place_init(&source->feed.place, walk->trace, track, 0, UINT64_MAX, 0);
	return 0;
}

struct key_order {
	const char *name;
	uint32_t type, key;
};

static int compare_keys(const void *left, const void *right)
{
	const struct key_order *a = left, *b = right;
	int names = strcmp(a->name, b->name);
	return names ? names : (a->type > b->type) - (a->type < b->type);
}

uint32_t *sn_trace_keys_by_name(const struct sonde_db *db, const struct sonde_trace *trace)
{
	uint32_t count = sonde_trace_key_count(trace);
	struct key_order *order = malloc((count + 1ull) * sizeof(*order));
	uint32_t *keys = malloc((count + 1ull) * sizeof(*keys));
	if (!order || !keys) {
		free(order);
		free(keys);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_attribute_key *key = sonde_trace_key(trace, i);
		order[i] = (struct key_order){sonde_db_string(db, key->name), key->type, i};
	}
	qsort(order, count, sizeof(*order), compare_keys);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = order[i].key;
	free(order);
	return keys;
}

uint32_t *sn_trace_key_places(const struct sonde_db *db, const struct sonde_trace *trace)
{
	uint32_t count = sonde_trace_key_count(trace);
	uint32_t *places = malloc((count + 1ull) * sizeof(*places));
	uint32_t *keys = places ? sn_trace_keys_by_name(db, trace) : NULL;
	if (!keys) {
		free(places);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		places[keys[i]] = i;
	free(keys);
	return places;
}

struct sn_event_walk *sn_event_walk_new(const struct sn_trace_export *export, uint32_t profile)
{
	const struct sonde_trace *trace = export->trace;
	struct sn_event_walk *walk = calloc(1, sizeof(*walk));
	uint32_t first = sonde_trace_first_track(trace, profile), count = 0;
	if (!walk)
		return NULL;
	walk->trace = trace;
	while (first != SONDE_NONE && first + count < sonde_trace_track_count(trace) &&
	       sonde_trace_track(trace, first + count)->profile == profile)
		count++;
	walk->sources = calloc(count + 1ull, sizeof(struct source *));
	walk->heap = calloc(count + 1ull, sizeof(*walk->heap));
	walk->places = export->key_places;
	walk->reader = sn_event_reader_new(trace);
	bool failed = !walk->sources || !walk->heap || !walk->reader;
	for (uint32_t i = 0; i < count && !failed; i++)
		failed = add_source(walk, first + i) < 0;
	if (failed) {
		sn_event_walk_free(walk);
		return NULL;
	}
	return walk;
}

void sn_event_walk_skip_attributes(struct sn_event_walk *walk)
{
	walk->skips_attributes = true;
}

static unsigned kind_order(unsigned kind)
{
	return sonde_track_lasts(kind) ? 0 : kind == SONDE_TRACK_SAMPLES ? 9 : kind;
}

static bool goes_before(const struct sn_event_walk *walk, uint32_t left, uint32_t right)
{
	const struct source *a = walk->sources[left], *b = walk->sources[right];
	uint64_t a_start = a->feed.starts_ns[a->at], b_start = b->feed.starts_ns[b->at];
	if (a_start != b_start)
		return a_start < b_start;
	unsigned a_order = kind_order(a->track->kind), b_order = kind_order(b->track->kind);
	if (a_order != b_order)
		return a_order < b_order;
	uint64_t a_end = a->feed.ends_ns[a->at], b_end = b->feed.ends_ns[b->at];
	return a_end != b_end ? a_end > b_end : left < right;
}

static void sink(struct sn_event_walk *walk, size_t place)
{
	uint32_t *heap = walk->heap;
	for (;;) {
		size_t child = 2 * place + 1;
		if (child >= walk->heap_count)
			return;
		if (child + 1 < walk->heap_count && goes_before(walk, heap[child + 1], heap[child]))
			child++;
		if (!goes_before(walk, heap[child], heap[place]))
			return;
		uint32_t swapped = heap[place];
		heap[place] = heap[child];
		heap[child] = swapped;
		place = child;
	}
}

/* Attributes come by key; they are wanted by event. */
static int order_attributes(struct source *source, const struct sn_walk_attribute *read,
			    size_t count)
{
	if (sn_vec_reserve(&source->ordered, &source->ordered_capacity, count) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i <= source->feed.count; i++)
		source->first[i] = 0;
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

static int compare_columns(const void *left, const void *right)
{
	const struct walk_column *a = left, *b = right;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Columns come by key; they are wanted by name. */
static int order_columns(struct sn_event_walk *walk, size_t column_count, size_t count)
{
	if (sn_vec_reserve(&walk->sorted, &walk->sorted_capacity, count) < 0)
		return SN_ERR_MEMORY;
	qsort(walk->columns, column_count, sizeof(*walk->columns), compare_columns);
	size_t at = 0;
	for (size_t i = 0; i < column_count; i++) {
		const struct walk_column *one = walk->columns + i;
		memcpy(walk->sorted + at, walk->read + one->first,
		       one->count * sizeof(*walk->sorted));
		at += one->count;
	}
	return 0;
}

static int read_attributes(struct sn_event_walk *walk, struct source *source)
{
	size_t count = 0, column_count = 0, events = source->feed.count;
	struct sn_block_rest left = sn_event_attributes(walk->reader);
	struct sonde_attribute_column column;
	uint32_t key;
	while (sn_event_attribute_next(walk->reader, &left, &key, &column) > 0) {
		if (key >= sonde_trace_key_count(walk->trace))
			continue;
		if (sn_vec_reserve(&walk->read, &walk->read_capacity, count + events) < 0 ||
		    sn_vec_reserve(&walk->columns, &walk->column_capacity, column_count + 1) < 0)
			return SN_ERR_MEMORY;
		size_t first = count;
		for (uint32_t at = 0; at < events; at++)
			if (!column.is_present || column.is_present[at])
				walk->read[count++] =
				    (struct sn_walk_attribute){key, at, column.values[at]};
		walk->columns[column_count++] =
		    (struct walk_column){walk->places[key], first, count - first};
	}
	if (!count)
		return 0;
	return order_columns(walk, column_count, count)
		   ? SN_ERR_MEMORY
		   : order_attributes(source, walk->sorted, count);
}

/* No event of the block has attributes. */
static int set_first(struct source *source)
{
	size_t count = source->feed.count + 1;
	if (count > source->first_capacity) {
		free(source->first);
		source->first = malloc(count * sizeof(*source->first));
		source->first_capacity = source->first ? count : 0;
	}
	if (source->first)
		memset(source->first, 0, count * sizeof(*source->first));
	return source->first ? 0 : SN_ERR_MEMORY;
}

/* The next block: 1, 0 where there is none, or negative. */
static int refill(struct sn_event_walk *walk, struct source *source, struct sn_error *error)
{
	struct sonde_db_error why;
	source->at = 0;
	int result = sn_event_feed_next(&source->feed, walk->reader, &why);
	if (result <= 0)
		sn_event_feed_release(&source->feed);
	if (result < 0)
		return sn_fail(error, result, "%s", why.text);
	bool is_wanted = !walk->skips_attributes || source->track->kind == SONDE_TRACK_INSTANTS;
	if (result && set_first(source))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (result && is_wanted && read_attributes(walk, source))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return result;
}

static int start(struct sn_event_walk *walk, struct sn_error *error)
{
	walk->is_started = true;
	for (uint32_t i = 0; i < walk->source_count; i++) {
		int result = refill(walk, walk->sources[i], error);
		if (result < 0)
			return result;
		if (result)
			walk->heap[walk->heap_count++] = i;
	}
	for (size_t i = walk->heap_count; i--;)
		sink(walk, i);
	return 0;
}

/* Goes on behind the event given out last. */
static int advance(struct sn_event_walk *walk, struct sn_error *error)
{
	struct source *source = walk->sources[walk->heap[0]];
	if (++source->at == source->feed.count) {
		int result = refill(walk, source, error);
		if (result < 0)
			return result;
		if (!result)
			walk->heap[0] = walk->heap[--walk->heap_count];
	}
	sink(walk, 0);
	return 0;
}

int sn_event_walk_next(struct sn_event_walk *walk, struct sn_walk_event *event,
		       struct sn_error *error)
{
	int result =
	    walk->is_started ? walk->heap_count ? advance(walk, error) : 0 : start(walk, error);
	if (result < 0 || !walk->heap_count)
		return result;
	const struct source *source = walk->sources[walk->heap[0]];
	size_t at = source->at;
	*event = (struct sn_walk_event){
	    .start_ns = source->feed.starts_ns[at],
	    .end_ns = source->feed.ends_ns[at],
	    .link = source->feed.links ? source->feed.links[at] : 0,
	    .context = source->feed.contexts[at],
	    .metric = source->track->metric,
	    .kind = source->track->kind,
	    .attribute_count = source->first[at + 1] - source->first[at],
	    .attributes = source->ordered ? source->ordered + source->first[at] : NULL,
	};
	return 1;
}
