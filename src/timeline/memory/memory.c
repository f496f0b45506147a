/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices over time: allocations and releases in order of time are replayed twice, first
 * for totals and peaks, then for the curve and the owners at the peak. */
#include "memory.h"

#include "base/sort_by.h"
#include "base/table.h"
#include "base/vec.h"
#include "memory_events.h"

struct held {
	uint64_t address;
	int64_t bytes;
	uint32_t node;
};

struct held_set {
	struct sn_table numbers; /* index of an item by its address */
	struct held *items;
	size_t count, capacity;
};

/* The state of a device during replay. */
struct play {
	int64_t held_bytes;
	int step; /* the current step of the curve */
	double allocated, reserved, most_allocated, most_reserved;
	bool is_past_peak;
	struct held_set held;
};

struct reading {
	const struct sonde_db *db;
	const struct sn_node_map *nodes;
	const struct sn_processes *processes;
	struct sn_memory *memory;
	struct sn_intern keys; /* process, type and id of a device */
	struct play *plays;    /* by device */
	size_t capacity;
};

/* ---- memory held at a time ---- */

static int hold(struct held_set *set, const struct held *held)
{
	uint32_t number = sn_table_find(&set->numbers, held->address);
	if (number == SN_TABLE_NONE) {
		number = (uint32_t)set->count;
		if (sn_vec_push(&set->items, &set->capacity, &set->count, *held) ||
		    sn_table_put(&set->numbers, held->address, number))
			return SN_ERR_MEMORY;
	}
	set->items[number] = *held;
	return 0;
}

static void drop(struct held_set *set, uint64_t address)
{
	uint32_t number = sn_table_find(&set->numbers, address);
	if (number == SN_TABLE_NONE)
		return;
	sn_table_remove(&set->numbers, address);
	/* the last item moves to its place; the table has room, because a key was removed */
	struct held *last = set->items + --set->count;
	if (number < set->count) {
		set->items[number] = *last;
		sn_table_put(&set->numbers, last->address, number);
	}
}

static void release_held(struct held_set *set)
{
	sn_table_release(&set->numbers);
	free(set->items);
}

/* ---- devices ---- */

/* The number of an event's device; SONDE_NONE without memory, or if there are too many. */
static uint32_t device_of(struct reading *reading, const struct sn_memory_event *event)
{
	struct sn_memory *memory = reading->memory;
	uint32_t key[3] = {reading->processes->of_profile[event->profile], event->type, event->id};
	uint32_t number = memory->device_count < SN_MEMORY_DEVICES
			      ? sn_intern_add(&reading->keys, key, sizeof(key))
			      : sn_intern_find(&reading->keys, key, sizeof(key));
	if (number == SN_INTERN_NONE || number < memory->device_count)
		return number;
	if (sn_vec_reserve(&memory->devices, &memory->device_capacity, memory->device_count + 1) ||
	    sn_vec_reserve(&reading->plays, &reading->capacity, memory->device_count + 1) < 0)
		return SONDE_NONE;
	memory->devices[memory->device_count] = (struct sn_memory_device){
	    .type = event->type, .id = event->id, .first_track = UINT32_MAX};
	reading->plays[memory->device_count] = (struct play){.step = 0};
	return (uint32_t)memory->device_count++;
}

/* Adds with saturation, because a damaged trace may have any sizes. */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? -INT64_MAX : INT64_MAX;
}

/* The allocator's total if it is recorded, else the sum of allocations so far. */
static int64_t allocated_by(struct play *play, const struct sn_memory_event *event)
{
	play->held_bytes = add(play->held_bytes, event->bytes);
	return event->allocated == INT64_MIN ? play->held_bytes : event->allocated;
}

/* ---- first pass: totals and the peak ---- */

static void find_first(struct sn_memory_device *device, const struct sn_memory_event *event)
{
	if (event->track > device->first_track ||
	    (event->track == device->first_track && event->position > device->first_position))
		return;
	device->first_track = event->track;
	device->first_position = event->position;
	device->profile = event->profile;
}

static void measure(struct sn_memory_device *device, struct play *play,
		    const struct sn_memory_event *event)
{
	bool is_first = !device->event_count++;
	int64_t allocated = allocated_by(play, event);
	find_first(device, event);
	if (is_first)
		device->start_ns = event->time_ns;
	device->end_ns = event->time_ns + 1;
	if (event->bytes > 0) {
		device->allocation_count++;
		device->allocated_bytes += (double)event->bytes;
	}
	if (is_first || allocated > device->peak_bytes) {
		device->peak_bytes = allocated;
		device->peak_ns = event->time_ns;
	}
	if (event->reserved > device->peak_reserved_bytes)
		device->peak_reserved_bytes = event->reserved;
	device->end_bytes = allocated;
}

/* In the order in which reading track by track finds them. */
SN_SORT_BY(sort_devices, struct sn_memory_device, const void *,
	   SN_ORDER(a->first_track, b->first_track)
	       ?: SN_ORDER(a->first_position, b->first_position));

/* ---- second pass: the curve, and owners at the peak ---- */

static void end_step(struct sn_memory_device *device, struct play *play)
{
	device->allocated[play->step] = play->most_allocated;
	device->reserved[play->step++] = play->most_reserved;
	play->most_allocated = play->allocated;
	play->most_reserved = play->reserved;
}

static void draw(struct sn_memory_device *device, struct play *play,
		 const struct sn_memory_event *event, int64_t allocated)
{
	double step = (double)(device->end_ns - device->start_ns) / SN_MEMORY_STEPS;
	while (play->step + 1 < SN_MEMORY_STEPS &&
	       (double)(event->time_ns - device->start_ns) >= (play->step + 1) * step)
		end_step(device, play);
	play->allocated = (double)allocated;
	if (event->reserved != INT64_MIN)
		play->reserved = (double)event->reserved;
	if (play->allocated > play->most_allocated)
		play->most_allocated = play->allocated;
	if (play->reserved > play->most_reserved)
		play->most_reserved = play->reserved;
}

static int replay(struct reading *reading, uint32_t number, const struct sn_memory_event *event)
{
	struct sn_memory_device *device = reading->memory->devices + number;
	struct play *play = reading->plays + number;
	int64_t allocated = allocated_by(play, event);
	draw(device, play, event, allocated);
	if (play->is_past_peak)
		return 0;
	play->is_past_peak = event->time_ns == device->peak_ns && allocated == device->peak_bytes;
	struct held held = {event->address, event->bytes,
			    reading->nodes->of_context[event->context]};
	if (event->bytes > 0)
		return hold(&play->held, &held);
	drop(&play->held, event->address);
	return 0;
}

static int finish(struct reading *reading, uint32_t number)
{
	struct sn_memory_device *device = reading->memory->devices + number;
	struct play *play = reading->plays + number;
	size_t nodes = reading->nodes->table.count;
	device->owners = calloc(nodes + 1, sizeof(*device->owners));
	device->owner_counts = calloc(nodes + 1, sizeof(*device->owner_counts));
	if (!device->owners || !device->owner_counts)
		return SN_ERR_MEMORY;
	while (play->step < SN_MEMORY_STEPS)
		end_step(device, play);
	for (size_t i = 0; i < play->held.count; i++) {
		const struct held *held = play->held.items + i;
		device->owners[held->node] += (double)held->bytes;
		device->owner_counts[held->node]++;
		device->known_bytes = add(device->known_bytes, held->bytes);
	}
	return 0;
}

/* ---- all ---- */

/* Replays all events; `again`: the second pass. */
static int play_all(struct reading *reading, const struct sonde_trace *trace, bool again,
		    struct sn_error *error)
{
	struct sn_memory_events *events;
	struct sn_memory_event event;
	int result = sn_memory_events_open(reading->db, trace, &events, error), found = 0;
	while (!result && (found = sn_memory_events_next(events, &event, error)) > 0) {
		uint32_t number = device_of(reading, &event);
		bool is_full = reading->memory->device_count == SN_MEMORY_DEVICES;
		if (number == SONDE_NONE && is_full)
			reading->memory->left_out += again;
		else if (number == SONDE_NONE || (again && replay(reading, number, &event)))
			result = sn_fail_memory(error);
		else if (!again)
			measure(reading->memory->devices + number, reading->plays + number, &event);
	}
	sn_memory_events_free(events);
	return result ?: found;
}

int sn_memory(const struct sn_processes *processes, const struct sn_node_map *nodes,
	      struct sn_memory *memory, struct sn_error *error)
{
	const struct sonde_trace *trace = processes->trace;
	struct reading reading = {
	    .db = processes->db, .nodes = nodes, .processes = processes, .memory = memory};
	*memory = (struct sn_memory){0};
	int result = play_all(&reading, trace, false, error);
	for (size_t i = 0; i < memory->device_count; i++)
		reading.plays[i] = (struct play){.step = 0};
	if (!result && memory->device_count)
		result = play_all(&reading, trace, true, error);
	for (uint32_t i = 0; i < memory->device_count; i++) {
		if (!result && finish(&reading, i))
			result = sn_fail_memory(error);
		release_held(&reading.plays[i].held);
	}
	sort_devices(memory->devices, memory->device_count, NULL);
	free(reading.plays);
	sn_intern_release(&reading.keys);
	return result;
}

void sn_memory_release(struct sn_memory *memory)
{
	for (size_t i = 0; i < memory->device_count; i++) {
		free(memory->devices[i].owners);
		free(memory->devices[i].owner_counts);
	}
	free(memory->devices);
	*memory = (struct sn_memory){0};
}
