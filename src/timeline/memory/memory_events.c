/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations and releases of all tracks in order of time; among those at one time
 * releases come first. */
#include "memory_events.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "timeline/event_merge.h"

enum wish { BYTES, ADDRESS, TYPE, ID, ALLOCATED, RESERVED, WISHES };
static const struct sn_attribute_wish wishes[WISHES] = {
    {"bytes", SONDE_ATTRIBUTE_SIGNED},		 {"Addr", SONDE_ATTRIBUTE_SIGNED},
    {"Device Type", SONDE_ATTRIBUTE_SIGNED},	 {"Device Id", SONDE_ATTRIBUTE_SIGNED},
    {"Total Allocated", SONDE_ATTRIBUTE_SIGNED}, {"Total Reserved", SONDE_ATTRIBUTE_SIGNED}};

struct sn_memory_events {
	const struct sonde_trace *trace;
	struct sn_event_merge *merge;
	struct sn_memory_event next; /* the first event after the current time; valid if has_next */
	bool has_next;
	struct sn_memory_event *moment; /* the events of one time, sorted */
	size_t moment_at, moment_count, moment_capacity;
};

static int64_t value_of(const struct sn_merged_event *event, enum wish wish)
{
	uint64_t value;
	return sn_attributes_get(event->attributes, wish, event->at, &value) ? (int64_t)value
									     : INT64_MIN;
}

static uint32_t number_of(int64_t value)
{
	return value == INT64_MIN ? 0 : (uint32_t)value;
}

static int read_next(struct sn_memory_events *events, struct sn_error *error)
{
	struct sn_merged_event event;
	int result;
	while ((result = sn_event_merge_next(events->merge, &event, error)) > 0) {
		int64_t bytes = value_of(&event, BYTES), address = value_of(&event, ADDRESS);
		if (bytes == INT64_MIN || address == INT64_MIN)
			continue;
		events->next = (struct sn_memory_event){
		    .time_ns = event.start_ns,
		    .address = (uint64_t)address,
		    .bytes = bytes,
		    .allocated = value_of(&event, ALLOCATED),
		    .reserved = value_of(&event, RESERVED),
		    .context = event.context,
		    .profile = sonde_trace_track(events->trace, event.track)->profile,
		    .type = number_of(value_of(&event, TYPE)),
		    .id = number_of(value_of(&event, ID)),
		    .track = event.track,
		    .position = event.position,
		};
		break;
	}
	events->has_next = result > 0;
	return result < 0 ? result : 0;
}

int sn_memory_events_open(const struct sonde_db *db, const struct sonde_trace *trace,
			  struct sn_memory_events **opened, struct sn_error *error)
{
	bool has_addresses = sn_attribute_key(db, trace, wishes + ADDRESS) != SONDE_NONE;
	uint32_t count = has_addresses ? sonde_trace_track_count(trace) : 0;
	struct sn_memory_events *events = *opened = calloc(1, sizeof(*events));
	uint32_t *tracks = malloc((count + 1ull) * sizeof(*tracks));
	size_t track_count = 0;
	for (uint32_t i = 0; i < count && tracks; i++)
		if (sonde_trace_track(trace, i)->kind == SONDE_TRACK_INSTANTS)
			tracks[track_count++] = i;
	struct sn_event_window window = {
	    .to_ns = UINT64_MAX, .wishes = wishes, .wish_count = WISHES};
	if (events && tracks)
		*events = (struct sn_memory_events){
		    .trace = trace,
		    .merge = sn_event_merge_new(trace, tracks, track_count, &window),
		};
	free(tracks);
	return events && events->merge ? read_next(events, error) : sn_fail_memory(error);
}

void sn_memory_events_free(struct sn_memory_events *events)
{
	if (!events)
		return;
	sn_event_merge_free(events->merge);
	free(events->moment);
	free(events);
}

SN_SORT_BY(sort_moment, struct sn_memory_event, const void *,
	   SN_ORDER(a->bytes, b->bytes) ?: SN_ORDER(a->track, b->track) ?:
	   SN_ORDER(a->position, b->position));

static int read_moment(struct sn_memory_events *events, struct sn_error *error)
{
	int result = 0;
	events->moment_at = events->moment_count = 0;
	while (!result && events->has_next &&
	       (!events->moment_count || events->next.time_ns == events->moment->time_ns))
		result = sn_vec_push(&events->moment, &events->moment_capacity,
				     &events->moment_count, events->next)
			     ? sn_fail_memory(error)
			     : read_next(events, error);
	sort_moment(events->moment, events->moment_count, NULL);
	return result;
}

int sn_memory_events_next(struct sn_memory_events *events, struct sn_memory_event *event,
			  struct sn_error *error)
{
	int result = events->moment_at == events->moment_count ? read_moment(events, error) : 0;
	if (result || events->moment_at == events->moment_count)
		return result;
	*event = events->moment[events->moment_at++];
	return 1;
}
