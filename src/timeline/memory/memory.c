/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in order of time, played twice, the second time until the peak; see memory.h. */
#include "memory.h"

#include "base/vec.h"
#include "timeline/threads/thread_activity.h"
#include "memory_events.h"

#include <string.h>

/* What is held, by address: open addressing, without traces of what is gone. */
struct held {
	uint64_t address;
	int64_t bytes; /* 0: the place is free */
	uint32_t node;
};

struct held_set {
	struct held *items;
	size_t count, size; /* a power of two */
};

/* A device while it is played. */
struct play {
	int64_t held_bytes;
	uint32_t first_track; /* where it was met first */
	uint64_t first_position;
	int step; /* of the curve, that is not over */
	double allocated, reserved, most_allocated, most_reserved;
	bool is_past_peak;
	struct held_set held;
};

struct reading {
	const struct sonde_db *db;
	const struct sn_node_map *nodes;
	const struct sn_processes *processes;
	struct sn_memory *memory;
	struct sn_intern keys; /* of devices, by their numbers */
	struct play *plays;    /* by device */
	size_t capacity;
};

/* ---- what is held ---- */

static size_t home_of(const struct held_set *set, uint64_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (set->size - 1);
}

static size_t place_of(const struct held_set *set, uint64_t address)
{
	size_t place = home_of(set, address);
	while (set->items[place].bytes && set->items[place].address != address)
		place = (place + 1) & (set->size - 1);
	return place;
}

static int grow(struct held_set *set)
{
	struct held_set grown = {calloc(set->size ? 2 * set->size : 64, sizeof(*grown.items)),
				 set->count, set->size ? 2 * set->size : 64};
	if (!grown.items)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < set->size; i++)
		if (set->items[i].bytes)
			grown.items[place_of(&grown, set->items[i].address)] = set->items[i];
	free(set->items);
	*set = grown;
	return 0;
}

static int hold(struct held_set *set, const struct held *held)
{
	if (2 * set->count >= set->size && grow(set))
		return SN_ERR_MEMORY;
	size_t place = place_of(set, held->address);
	set->count += !set->items[place].bytes;
	set->items[place] = *held;
	return 0;
}

static void drop(struct held_set *set, uint64_t address)
{
	if (!set->size)
		return;
	size_t mask = set->size - 1, hole = place_of(set, address);
	if (!set->items[hole].bytes)
		return;
	set->count--;
	/* what follows moves up where its home is not behind the hole */
	for (size_t next = (hole + 1) & mask; set->items[next].bytes; next = (next + 1) & mask) {
		size_t home = home_of(set, set->items[next].address);
		if (((next - home) & mask) < ((next - hole) & mask))
			continue;
		set->items[hole] = set->items[next];
		hole = next;
	}
	set->items[hole].bytes = 0;
}

/* ---- devices ---- */

static uint32_t number_of(struct reading *reading, uint32_t profile, uint32_t type, uint32_t id)
{
	uint32_t key[3] = {reading->processes->of_profile[profile], type, id};
	if (reading->memory->device_count < SN_MEMORY_DEVICES)
		return sn_intern_add(&reading->keys, key, sizeof(key));
	return sn_intern_find(&reading->keys, key, sizeof(key));
}

/* SONDE_NONE: without memory, or beyond the limit. */
static uint32_t device_of(struct reading *reading, const struct sn_memory_event *event)
{
	struct sn_memory *memory = reading->memory;
	uint32_t number = number_of(reading, event->profile, event->type, event->id);
	if (number == SN_INTERN_NONE || number < memory->device_count)
		return number;
	if (sn_vec_reserve(&memory->devices, &memory->device_capacity, memory->device_count + 1) <
		0 ||
	    sn_vec_reserve(&reading->plays, &reading->capacity, memory->device_count + 1) < 0)
		return SONDE_NONE;
	memory->devices[memory->device_count] = (struct sn_memory_device){
	    .profile = event->profile, .type = event->type, .id = event->id};
	reading->plays[memory->device_count] = (struct play){.first_track = UINT32_MAX};
	return (uint32_t)memory->device_count++;
}

/* No recording is believed to hold more than there can be. */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? -INT64_MAX : INT64_MAX;
}

/* The allocator's total, or where it does not tell the sum so far. */
static int64_t allocated_by(struct play *play, const struct sn_memory_event *event)
{
	play->held_bytes = add(play->held_bytes, event->bytes);
	return event->allocated == INT64_MIN ? play->held_bytes : event->allocated;
}

/* ---- the first time: totals and the peak ---- */

static void note_place(struct sn_memory_device *device, struct play *play,
		       const struct sn_memory_event *event)
{
	if (event->track > play->first_track ||
	    (event->track == play->first_track && event->position > play->first_position))
		return;
	play->first_track = event->track;
	play->first_position = event->position;
	device->profile = event->profile;
}

static void measure(struct sn_memory_device *device, struct play *play,
		    const struct sn_memory_event *event)
{
	bool is_first = !device->event_count++;
	int64_t allocated = allocated_by(play, event);
	note_place(device, play, event);
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

/* In the order in which a reader of one track after the other meets them: few, so by insertion. */
static int order_devices(struct reading *reading)
{
	struct sn_memory *memory = reading->memory;
	for (size_t i = 1; i < memory->device_count; i++) {
		struct sn_memory_device device = memory->devices[i];
		struct play play = reading->plays[i];
		size_t at = i;
		for (; at; at--) {
			const struct play *before = reading->plays + at - 1;
			if (before->first_track < play.first_track ||
			    (before->first_track == play.first_track &&
			     before->first_position < play.first_position))
				break;
			memory->devices[at] = memory->devices[at - 1];
			reading->plays[at] = *before;
		}
		memory->devices[at] = device;
		reading->plays[at] = play;
	}
	sn_intern_release(&reading->keys);
	for (size_t i = 0; i < memory->device_count; i++) {
		const struct sn_memory_device *one = memory->devices + i;
		uint32_t key[3] = {reading->processes->of_profile[one->profile], one->type,
				   one->id};
		if (sn_intern_add(&reading->keys, key, sizeof(key)) == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* ---- the second time: the curve, and who holds what at the peak ---- */

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
	for (size_t i = 0; i < play->held.size; i++) {
		const struct held *held = play->held.items + i;
		if (!held->bytes)
			continue;
		device->owners[held->node] += (double)held->bytes;
		device->owner_counts[held->node]++;
		device->known_bytes = add(device->known_bytes, held->bytes);
	}
	return 0;
}

/* ---- all ---- */

/* All events once; `again`: the devices are known. */
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
	return result ? result : found;
}

int sn_memory(const struct sn_processes *processes, const struct sn_node_map *nodes,
	      struct sn_memory *memory, struct sn_error *error)
{
	const struct sonde_trace *trace = processes->trace;
	struct reading reading = {
	    .db = processes->db, .nodes = nodes, .processes = processes, .memory = memory};
	*memory = (struct sn_memory){0};
	int result = play_all(&reading, trace, false, error);
	if (order_devices(&reading) && !result)
		result = sn_fail_memory(error);
	for (size_t i = 0; i < memory->device_count; i++)
		reading.plays[i] = (struct play){.step = 0};
	if (!result && memory->device_count)
		result = play_all(&reading, trace, true, error);
	for (uint32_t i = 0; i < memory->device_count; i++) {
		if (!result && finish(&reading, i))
			result = sn_fail_memory(error);
		free(reading.plays[i].held.items);
	}
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
