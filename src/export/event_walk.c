/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a profile in order; see event_walk.h. */
#include "event_walk.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX 4096u

struct source {
	struct sonde_event_cursor *cursor;
	const struct sonde_track *track;
	struct sonde_event_block block;
	size_t at;
	uint32_t first[BLOCK_MAX + 1]; /* of each event's attributes in `ordered` */
	struct sn_walk_attribute *read, *ordered;
	size_t read_capacity, ordered_capacity;
};

struct sn_event_walk {
	const struct sonde_trace *trace;
	struct source **sources;
	uint32_t *keys; /* by name */
	uint32_t *heap; /* of sources that have an event, the next one first */
	size_t source_count, heap_count;
	bool is_started, skips_attributes;
};

static void free_source(struct source *source)
{
	if (!source)
		return;
	sonde_event_cursor_free(source->cursor);
	free(source->read);
	free(source->ordered);
	free(source);
}

void sn_event_walk_free(struct sn_event_walk *walk)
{
	if (!walk)
		return;
	for (size_t i = 0; i < walk->source_count; i++)
		free_source(walk->sources[i]);
	free(walk->sources);
	free(walk->keys);
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
	source->cursor = sonde_event_cursor_new(walk->trace, track, 0, UINT64_MAX, 0);
	return source->cursor ? 0 : -1;
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

struct sn_event_walk *sn_event_walk_new(const struct sonde_db *db, const struct sonde_trace *trace,
					uint32_t profile)
{
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
	walk->keys = sn_trace_keys_by_name(db, trace);
	bool failed = !walk->sources || !walk->heap || !walk->keys;
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
	uint64_t a_start = a->block.starts_ns[a->at], b_start = b->block.starts_ns[b->at];
	if (a_start != b_start)
		return a_start < b_start;
	unsigned a_order = kind_order(a->track->kind), b_order = kind_order(b->track->kind);
	if (a_order != b_order)
		return a_order < b_order;
	uint64_t a_end = a->block.ends_ns[a->at], b_end = b->block.ends_ns[b->at];
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
static int order_attributes(struct source *source, size_t count)
{
	if (sn_vec_reserve(&source->ordered, &source->ordered_capacity, count) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i <= source->block.count; i++)
		source->first[i] = 0;
	for (size_t i = 0; i < count; i++)
		source->first[source->read[i].at + 1]++;
	for (size_t i = 0; i < source->block.count; i++)
		source->first[i + 1] += source->first[i];
	for (size_t i = 0; i < count; i++)
		source->ordered[source->first[source->read[i].at]++] = source->read[i];
	for (size_t i = source->block.count; i; i--)
		source->first[i] = source->first[i - 1];
	source->first[0] = 0;
	return 0;
}

static int read_attributes(const struct sn_event_walk *walk, struct source *source)
{
	size_t count = 0;
	for (uint32_t i = 0; i < sonde_trace_key_count(walk->trace); i++) {
		struct sonde_attribute_column column;
		uint32_t key = walk->keys[i];
		if (!sonde_event_cursor_attribute(source->cursor, key, &column))
			continue;
		if (sn_vec_reserve(&source->read, &source->read_capacity,
				   count + source->block.count) < 0)
			return SN_ERR_MEMORY;
		for (uint32_t at = 0; at < source->block.count; at++)
			if (!column.is_present || column.is_present[at])
				source->read[count++] =
				    (struct sn_walk_attribute){key, at, column.values[at]};
	}
	return order_attributes(source, count);
}

/* The next block: 1, 0 where there is none, or negative. */
static int refill(const struct sn_event_walk *walk, struct source *source, struct sn_error *error)
{
	struct sonde_db_error why;
	source->at = 0;
	int result = sonde_event_cursor_next(source->cursor, &source->block, &why);
	if (result < 0)
		return sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	bool is_wanted = !walk->skips_attributes || source->track->kind == SONDE_TRACK_INSTANTS;
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
	if (++source->at == source->block.count) {
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
	    .start_ns = source->block.starts_ns[at],
	    .end_ns = source->block.ends_ns[at],
	    .link = source->block.links ? source->block.links[at] : 0,
	    .context = source->block.contexts[at],
	    .metric = source->track->metric,
	    .kind = source->track->kind,
	    .attribute_count = source->first[at + 1] - source->first[at],
	    .attributes = source->ordered ? source->ordered + source->first[at] : NULL,
	};
	return 1;
}
