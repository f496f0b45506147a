/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations in order of time, played until the peak; see memory.h. */
#include "memory.h"

#include "attributes.h"
#include "base/vec.h"
#include "host.h"

#include <string.h>

enum wanted { BYTES, ADDRESS, TYPE, ID, ALLOCATED, RESERVED, WANTED };
static const struct sn_attribute_wish wishes[WANTED] = {
    {"bytes", SONDE_ATTRIBUTE_SIGNED},		 {"Addr", SONDE_ATTRIBUTE_SIGNED},
    {"Device Type", SONDE_ATTRIBUTE_SIGNED},	 {"Device Id", SONDE_ATTRIBUTE_SIGNED},
    {"Total Allocated", SONDE_ATTRIBUTE_SIGNED}, {"Total Reserved", SONDE_ATTRIBUTE_SIGNED}};

struct reading {
	const struct sonde_db *db;
	struct sn_memory *memory;
	struct sn_attributes attributes; /* of the block being read */
};

static uint32_t device_of(struct reading *reading, uint32_t profile, uint32_t type, uint32_t id)
{
	struct sn_memory *memory = reading->memory;
	for (uint32_t i = 0; i < memory->device_count; i++)
		if (memory->devices[i].type == type && memory->devices[i].id == id &&
		    sn_host_is_same_process(reading->db, memory->devices[i].profile, profile))
			return i;
	if (sn_vec_reserve(&memory->devices, &memory->device_capacity, memory->device_count + 1) <
	    0)
		return SONDE_NONE;
	memory->devices[memory->device_count] =
	    (struct sn_memory_device){.profile = profile, .type = type, .id = id};
	return (uint32_t)memory->device_count++;
}

static int take(struct reading *reading, uint32_t profile, const struct sonde_event_block *block,
		size_t at)
{
	struct sn_memory *memory = reading->memory;
	int64_t values[WANTED];
	for (unsigned w = 0; w < WANTED; w++) {
		uint64_t value;
		values[w] = sn_attributes_get(&reading->attributes, w, at, &value) ? (int64_t)value
										   : INT64_MIN;
	}
	if (values[BYTES] == INT64_MIN || values[ADDRESS] == INT64_MIN)
		return 0;
	uint32_t device =
	    device_of(reading, profile, values[TYPE] == INT64_MIN ? 0 : (uint32_t)values[TYPE],
		      values[ID] == INT64_MIN ? 0 : (uint32_t)values[ID]);
	if (device == SONDE_NONE ||
	    sn_vec_reserve(&memory->events, &memory->capacity, memory->count + 1) < 0)
		return SN_ERR_MEMORY;
	memory->events[memory->count++] = (struct sn_memory_event){
	    .time_ns = block->starts_ns[at],
	    .address = (uint64_t)values[ADDRESS],
	    .bytes = values[BYTES],
	    .allocated = values[ALLOCATED],
	    .reserved = values[RESERVED],
	    .context = block->contexts[at],
	    .device = device,
	};
	return 0;
}

static int read_track(struct reading *reading, const struct sonde_trace *trace, uint32_t number,
		      struct sn_error *error)
{
	struct sonde_event_cursor *cursor = sonde_event_cursor_new(trace, number, 0, UINT64_MAX, 0);
	struct sonde_event_block block;
	struct sonde_db_error why;
	int result = cursor ? 1 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (result > 0 && (result = sonde_event_cursor_next(cursor, &block, &why)) > 0) {
		sn_attributes_read(&reading->attributes, cursor, &block);
		for (size_t i = 0; i < block.count && result > 0; i++)
			if (take(reading, sonde_trace_track(trace, number)->profile, &block, i))
				result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	if (cursor && result == SN_ERR_FORMAT)
		sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	sonde_event_cursor_free(cursor);
	return result;
}

static int compare(const void *left, const void *right)
{
	const struct sn_memory_event *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	/* a release before an allocation: no peak where there is none */
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* No recording is believed to hold more than there can be. */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? -INT64_MAX : INT64_MAX;
}

/* Totals where the allocator does not tell them, the peak and the curve. */
static void measure(struct sn_memory_device *device, struct sn_memory_event *events, size_t count)
{
	int64_t held = 0;
	device->event_count = count;
	device->start_ns = events[0].time_ns;
	device->end_ns = events[count - 1].time_ns + 1;
	for (size_t i = 0; i < count; i++) {
		struct sn_memory_event *event = events + i;
		held = add(held, event->bytes);
		if (event->allocated == INT64_MIN)
			event->allocated = held;
		if (event->bytes > 0) {
			device->allocation_count++;
			device->allocated_bytes += (double)event->bytes;
		}
		if (!i || event->allocated > device->peak_bytes) {
			device->peak_bytes = event->allocated;
			device->peak_ns = event->time_ns;
		}
		if (event->reserved > device->peak_reserved_bytes)
			device->peak_reserved_bytes = event->reserved;
		device->end_bytes = event->allocated;
	}
}

static void draw(struct sn_memory_device *device, const struct sn_memory_event *events,
		 size_t count)
{
	double step = (double)(device->end_ns - device->start_ns) / SN_MEMORY_STEPS;
	double allocated = 0, reserved = 0;
	size_t at = 0;
	for (int i = 0; i < SN_MEMORY_STEPS; i++) {
		double most = allocated, most_reserved = reserved;
		while (at < count &&
		       ((double)(events[at].time_ns - device->start_ns) < (i + 1) * step ||
			i + 1 == SN_MEMORY_STEPS)) {
			allocated = (double)events[at].allocated;
			if (events[at].reserved != INT64_MIN)
				reserved = (double)events[at].reserved;
			most = allocated > most ? allocated : most;
			most_reserved = reserved > most_reserved ? reserved : most_reserved;
			at++;
		}
		device->allocated[i] = most;
		device->reserved[i] = most_reserved;
	}
}

struct held {
	int64_t bytes;
	uint32_t node;
};

/* Who has allocated what is held at the peak. */
static int find_owners(const struct sn_node_map *nodes, struct sn_memory_device *device,
		       const struct sn_memory_event *events, size_t count)
{
	struct sn_intern addresses = {0};
	struct held *held = NULL;
	size_t capacity = 0;
	int result = 0;
	device->owners = calloc(nodes->table.count + 1ull, sizeof(*device->owners));
	device->owner_counts = calloc(nodes->table.count + 1ull, sizeof(*device->owner_counts));
	if (!device->owners || !device->owner_counts)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count && !result; i++) {
		const struct sn_memory_event *event = events + i;
		uint32_t number =
		    sn_intern_add(&addresses, &event->address, sizeof(event->address));
		if (number == SN_INTERN_NONE || sn_vec_reserve(&held, &capacity, number + 1ull) < 0)
			result = SN_ERR_MEMORY;
		else
			held[number] = (struct held){event->bytes > 0 ? event->bytes : 0,
						     nodes->of_context[event->context]};
		if (event->time_ns == device->peak_ns && event->allocated == device->peak_bytes)
			break;
	}
	for (uint32_t i = 0; i < addresses.count && !result; i++) {
		if (!held[i].bytes)
			continue;
		device->owners[held[i].node] += (double)held[i].bytes;
		device->owner_counts[held[i].node]++;
		device->known_bytes = add(device->known_bytes, held[i].bytes);
	}
	sn_intern_release(&addresses);
	free(held);
	return result;
}

int sn_memory(const struct sonde_db *db, const struct sonde_trace *trace,
	      const struct sn_node_map *nodes, struct sn_memory *memory, struct sn_error *error)
{
	struct reading reading = {.db = db, .memory = memory};
	*memory = (struct sn_memory){0};
	int result = sn_attributes_init(&reading.attributes, db, trace, wishes, WANTED)
			 ? sn_fail(error, SN_ERR_MEMORY, "out of memory")
			 : 0;
	bool has_addresses = !result && reading.attributes.keys[ADDRESS] != SONDE_NONE;
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result && has_addresses; i++)
		if (sonde_trace_track(trace, i)->kind == SONDE_TRACK_INSTANTS)
			result = read_track(&reading, trace, i, error);
	sn_attributes_release(&reading.attributes);
	if (result || !memory->count)
		return result;
	qsort(memory->events, memory->count, sizeof(*memory->events), compare);
	for (size_t first = 0, next; first < memory->count && !result; first = next) {
		struct sn_memory_device *device = memory->devices + memory->events[first].device;
		for (next = first + 1; next < memory->count; next++)
			if (memory->events[next].device != memory->events[first].device)
				break;
		measure(device, memory->events + first, next - first);
		draw(device, memory->events + first, next - first);
		if (find_owners(nodes, device, memory->events + first, next - first))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	return result;
}

void sn_memory_release(struct sn_memory *memory)
{
	for (size_t i = 0; i < memory->device_count; i++) {
		free(memory->devices[i].owners);
		free(memory->devices[i].owner_counts);
	}
	free(memory->devices);
	free(memory->events);
	*memory = (struct sn_memory){0};
}
