/* SPDX-License-Identifier: Apache-2.0 */
/* Sums sending and receiving calls in one pass. */
#include "message_calls.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/track_walk.h"

enum wish { PEER, BYTES, MESSAGE, WISHES };

static const struct sn_attribute_wish wishes[WISHES] = {
    [PEER] = {"peer", SONDE_ATTRIBUTE_SIGNED},
    [BYTES] = {"bytes", SONDE_ATTRIBUTE_SIGNED},
    [MESSAGE] = {"message", SONDE_ATTRIBUTE_UNSIGNED},
};

/* By the calling function, so that a send and the wait for it, which are two nodes, share a row. */
struct call_key {
	uint64_t peer;
	uint32_t profile, is_sent;
	struct sn_node place;
};

struct summing {
	const struct sn_answers *answers;
	struct sn_intern keys;
	struct sn_message_calls *calls; /* by key */
};

enum direction { NONE, SENT, RECEIVED };

/* From names such as "gloo send", "gloo wait to receive", "send", "receive". */
static enum direction direction_of_name(const struct sonde_db *db, uint32_t context)
{
	const char *name = sn_context_name(db, context);
	if (sn_context_frame(db, context)->kind != SN_FRAME_OS)
		return NONE;
	return strstr(name, "receive") ? RECEIVED : strstr(name, "send") ? SENT : NONE;
}

/* From the attribute, whose values are sent, received, and waited for the send's completion. */
static enum direction direction_of(const struct sonde_db *db, const struct sn_walked_event *event)
{
	uint64_t message;
	if (sn_walked_value(event, MESSAGE, &message))
		return message == 2 ? RECEIVED : message == 1 || message == 3 ? SENT : NONE;
	return direction_of_name(db, event->context);
}

static struct sn_node place_of(const struct sn_answers *answers, uint32_t node)
{
	struct sn_node place = sn_node_map_at(&answers->nodes, node);
	if (place.caller != SONDE_NONE)
		place.frame = SONDE_NONE;
	return place;
}

static int add_call(void *data, const struct sn_walked_event *event)
{
	struct summing *summing = data;
	const struct sn_answers *answers = summing->answers;
	struct sn_message_calls *calls = summing->calls;
	enum direction direction = direction_of(answers->db, event);
	if (direction == NONE)
		return 0;
	uint32_t node = answers->nodes.of_context[event->context];
	struct call_key key = {.peer = sn_walked_number(event, PEER),
			       .profile = sn_walked_process(&answers->processes, event),
			       .is_sent = direction == SENT,
			       .place = place_of(answers, node)};
	double time = (double)(event->end_ns - event->start_ns);
	uint64_t bytes;
	uint32_t number = sn_intern_item(
	    &summing->keys, &key, sizeof(key), &calls->items, &calls->capacity,
	    {(int64_t)key.peer, key.profile, (uint32_t)calls->count++, node, key.is_sent});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct sn_message_call *sum = calls->items + number;
	/* a call that only waits for a message has no size, unlike the call that requested it */
	if (sn_walked_value(event, BYTES, &bytes)) {
		sum->count++;
		sum->bytes += (double)(int64_t)bytes;
		sum->node = node;
	}
	sum->time_ns += time;
	sum->longest_ns = time > sum->longest_ns ? time : sum->longest_ns;
	return 0;
}

/* Most bytes first, then most time, then in order of appearance. */
SN_SORT_BY(sort_by_bytes, struct sn_message_call, const void *,
	   SN_ORDER(b->bytes, a->bytes) ?: SN_ORDER(b->time_ns, a->time_ns) ?:
	   SN_ORDER(a->number, b->number));

int sn_message_calls(const struct sn_answers *answers, struct sn_message_calls *calls,
		     struct sn_error *error)
{
	struct summing summing = {.answers = answers, .calls = calls};
	uint32_t count = sonde_db_context_count(answers->db);
	bool *are_named = calloc(count + 1ull, sizeof(*are_named));
	for (uint32_t i = 0; i < count && are_named; i++)
		are_named[i] = direction_of_name(answers->db, i) != NONE;
	bool is_recorded =
	    sn_attribute_key(answers->db, answers->trace, wishes + MESSAGE) != SONDE_NONE;
	struct sn_track_walk walk = {
	    .tracks = SN_WALK_THREADS | SN_WALK_STREAMS,
	    .contexts = is_recorded ? NULL : are_named,
	    .wishes = wishes,
	    .wish_count = WISHES,
	    .needs_first = true,
	    .visit = add_call,
	    .data = &summing,
	};
	*calls = (struct sn_message_calls){0};
	int result = are_named ? sn_track_walk(&answers->processes, SONDE_NONE, &walk, error)
			       : sn_fail_memory(error);
	sort_by_bytes(calls->items, calls->count, NULL);
	sn_intern_release(&summing.keys);
	free(are_named);
	return result;
}
