/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of tracks, and those of one moment sorted; see memory_events.h. */
#include "memory_events.h"

#include "timeline/attributes.h"
#include "base/vec.h"
#include "lib/db/trace_reader.h"

enum wanted { BYTES, ADDRESS, TYPE, ID, ALLOCATED, RESERVED, WANTED };
static const struct sn_attribute_wish wishes[WANTED] = {
    {"bytes", SONDE_ATTRIBUTE_SIGNED},		 {"Addr", SONDE_ATTRIBUTE_SIGNED},
    {"Device Type", SONDE_ATTRIBUTE_SIGNED},	 {"Device Id", SONDE_ATTRIBUTE_SIGNED},
    {"Total Allocated", SONDE_ATTRIBUTE_SIGNED}, {"Total Reserved", SONDE_ATTRIBUTE_SIGNED}};

struct source {
	struct sn_event_place place;
	bool has_begun;
	struct sn_memory_event *items; /* of a block */
	size_t at, count, capacity;
	uint64_t next_ns; /* of its next event; before it is opened, of the track's first */
	uint32_t track;
};

struct sn_memory_events {
	const struct sonde_trace *trace;
	struct sn_attributes attributes;   /* of the block being read */
	struct sonde_event_cursor *reader; /* of all */
	struct source *sources;
	uint32_t *heap;
	size_t source_count, heap_count;
	struct sn_memory_event *moment; /* events of one time, in order */
	size_t moment_at, moment_count, moment_capacity;
};

static bool goes_before(const struct sn_memory_events *events, uint32_t left, uint32_t right)
{
	uint64_t a = events->sources[left].next_ns, b = events->sources[right].next_ns;
	return a != b ? a < b : left < right;
}

static void sink(struct sn_memory_events *events, size_t place)
{
	uint32_t *heap = events->heap;
	if (!events->heap_count)
		return;
	uint32_t moved = heap[place];
	for (size_t child; (child = 2 * place + 1) < events->heap_count; place = child) {
		if (child + 1 < events->heap_count &&
		    goes_before(events, heap[child + 1], heap[child]))
			child++;
		if (!goes_before(events, heap[child], moved))
			break;
		heap[place] = heap[child];
	}
	heap[place] = moved;
}

int sn_memory_events_open(const struct sonde_db *db, const struct sonde_trace *trace,
			  struct sn_memory_events **opened, struct sn_error *error)
{
	uint32_t count = sonde_trace_track_count(trace);
	struct sn_memory_events *events = *opened = calloc(1, sizeof(*events));
	if (!events)
		return sn_fail_memory(error);
	events->trace = trace;
	events->sources = calloc(count + 1ull, sizeof(*events->sources));
	events->heap = calloc(count + 1ull, sizeof(*events->heap));
	events->reader = sn_event_reader_new(trace);
	if (!events->sources || !events->heap || !events->reader ||
	    sn_attributes_init(&events->attributes, db, trace, wishes, WANTED))
		return sn_fail_memory(error);
	bool has_addresses = events->attributes.keys[ADDRESS] != SONDE_NONE;
	for (uint32_t i = 0; i < count && has_addresses; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind != SONDE_TRACK_INSTANTS)
			continue;
		events->sources[events->source_count] =
		    (struct source){.track = i, .next_ns = track->start_ns};
		events->heap[events->heap_count++] = (uint32_t)events->source_count++;
	}
	for (size_t i = events->heap_count / 2; i--;)
		sink(events, i);
	return 0;
}

void sn_memory_events_free(struct sn_memory_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->source_count; i++) {
		sn_event_place_release(&events->sources[i].place);
		free(events->sources[i].items);
	}
	sn_attributes_release(&events->attributes);
	sonde_event_cursor_free(events->reader);
	free(events->sources);
	free(events->heap);
	free(events->moment);
	free(events);
}

/* ---- a track ---- */

static int64_t value_of(const struct sn_memory_events *events, enum wanted which, size_t at)
{
	uint64_t value;
	return sn_attributes_get(&events->attributes, which, at, &value) ? (int64_t)value
									 : INT64_MIN;
}

static uint32_t number_of(int64_t value)
{
	return value == INT64_MIN ? 0 : (uint32_t)value;
}

static int take_block(const struct sn_memory_events *events, struct source *source,
		      const struct sonde_event_block *block)
{
	source->at = source->count = 0;
	for (size_t i = 0; i < block->count; i++) {
		int64_t bytes = value_of(events, BYTES, i), address = value_of(events, ADDRESS, i);
		if (bytes == INT64_MIN || address == INT64_MIN)
			continue;
		if (sn_vec_reserve(&source->items, &source->capacity, source->count + 1) < 0)
			return SN_ERR_MEMORY;
		source->items[source->count++] = (struct sn_memory_event){
		    .time_ns = block->starts_ns[i],
		    .address = (uint64_t)address,
		    .bytes = bytes,
		    .allocated = value_of(events, ALLOCATED, i),
		    .reserved = value_of(events, RESERVED, i),
		    .context = block->contexts[i],
		    .profile = sonde_trace_track(events->trace, source->track)->profile,
		    .type = number_of(value_of(events, TYPE, i)),
		    .id = number_of(value_of(events, ID, i)),
		    .track = source->track,
		    .position = block->first + i,
		};
	}
	return 0;
}

/* The next block of the first source that has any such event; it leaves the heap where none has. */
static int refill(struct sn_memory_events *events, struct sn_error *error)
{
	struct source *source = events->sources + events->heap[0];
	struct sonde_event_block block;
	struct sonde_db_error why;
	int result = 1;
	if (!source->has_begun)
		sn_event_place_init(&source->place, events->trace, source->track, 0, UINT64_MAX, 0);
	source->has_begun = true;
	source->at = source->count = 0;
	while (result > 0 && !source->count) {
		result = sn_event_place_next(&source->place, events->reader, &block, &why);
		if (result < 0)
			return sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
		if (result)
			sn_attributes_read(&events->attributes, events->reader, &block);
		if (result && take_block(events, source, &block))
			return sn_fail_memory(error);
	}
	if (source->count) {
		source->next_ns = source->items[0].time_ns;
		return 0;
	}
	sn_event_place_release(&source->place);
	free(source->items);
	source->items = NULL;
	source->capacity = 0;
	events->heap[0] = events->heap[--events->heap_count];
	return 0;
}

/* ---- all ---- */

static int compare(const void *left, const void *right)
{
	const struct sn_memory_event *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

/* The next event of the first source into the moment. */
static int add(struct sn_memory_events *events, struct sn_error *error)
{
	struct source *source = events->sources + events->heap[0];
	int result = 0;
	if (sn_vec_reserve(&events->moment, &events->moment_capacity, events->moment_count + 1) < 0)
		return sn_fail_memory(error);
	events->moment[events->moment_count++] = source->items[source->at++];
	if (source->at < source->count)
		source->next_ns = source->items[source->at].time_ns;
	else
		result = refill(events, error);
	sink(events, 0);
	return result;
}

static int read_moment(struct sn_memory_events *events, struct sn_error *error)
{
	int result = 0;
	events->moment_at = events->moment_count = 0;
	while (!result && events->heap_count) {
		struct source *source = events->sources + events->heap[0];
		if (!source->has_begun) {
			result = refill(events, error);
			sink(events, 0);
			continue;
		}
		if (events->moment_count && source->next_ns != events->moment->time_ns)
			break;
		result = add(events, error);
	}
	if (events->moment_count > 1)
		qsort(events->moment, events->moment_count, sizeof(*events->moment), compare);
	return result;
}

int sn_memory_events_next(struct sn_memory_events *events, struct sn_memory_event *event,
			  struct sn_error *error)
{
	if (events->moment_at == events->moment_count) {
		int result = read_moment(events, error);
		if (result)
			return result;
	}
	if (events->moment_at == events->moment_count)
		return 0;
	*event = events->moment[events->moment_at++];
	return 1;
}
