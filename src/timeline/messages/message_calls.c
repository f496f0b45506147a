/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over threads; see message_calls.h. */
#include "message_calls.h"

#include "timeline/attributes.h"
#include "base/intern.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/track_blocks.h"

#include <string.h>

enum wanted { PEER, BYTES, MESSAGE, WANTED };

static const struct sn_attribute_wish wishes[WANTED] = {
    [PEER] = {"peer", SONDE_ATTRIBUTE_SIGNED},
    [BYTES] = {"bytes", SONDE_ATTRIBUTE_SIGNED},
    [MESSAGE] = {"message", SONDE_ATTRIBUTE_UNSIGNED},
};

/* By the function that calls: a send and the wait for it are two nodes of one line. */
struct call_key {
	uint64_t peer;
	uint32_t profile, is_sent;
	struct sn_node place;
};

struct pass {
	const struct sn_answers *answers;
	uint32_t process; /* whose thread is read */
	struct sn_attributes attributes;
	struct sn_intern keys;
	struct sn_message_calls *calls; /* by key */
};

enum direction { NONE, SENT, RECEIVED };

/* "gloo send", "gloo wait to receive", "send", "receive". */
static enum direction direction_of_name(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	const char *name = sonde_db_string(db, frame->name);
	if (frame->kind != SN_FRAME_OS)
		return NONE;
	return strstr(name, "receive") ? RECEIVED : strstr(name, "send") ? SENT : NONE;
}

static bool has_attribute(const struct pass *pass)
{
	return pass->attributes.keys[MESSAGE] != SONDE_NONE;
}

/* As recorded: sent, received, or waited until it is gone. */
static enum direction direction_of(const struct pass *pass, size_t at, uint32_t context)
{
	uint64_t message;
	if (has_attribute(pass) && sn_attributes_get(&pass->attributes, MESSAGE, at, &message))
		return message == 2 ? RECEIVED : message == 1 || message == 3 ? SENT : NONE;
	return direction_of_name(pass->answers->db, context);
}

static struct sn_node place_of(const struct pass *pass, uint32_t node)
{
	struct sn_node place = sn_node_map_at(&pass->answers->nodes, node);
	if (place.caller != SONDE_NONE)
		place.frame = SONDE_NONE;
	return place;
}

static int take(struct pass *pass, const struct sonde_event_block *block, size_t at,
		enum direction direction)
{
	uint32_t node = pass->answers->nodes.of_context[block->contexts[at]];
	struct call_key key = {
	    .profile = pass->process, .is_sent = direction == SENT, .place = place_of(pass, node)};
	double time = (double)(block->ends_ns[at] - block->starts_ns[at]);
	uint64_t bytes;
	if (!sn_attributes_get(&pass->attributes, PEER, at, &key.peer))
		return 0;
	struct sn_message_calls *calls = pass->calls;
	uint32_t number = sn_intern_add(&pass->keys, &key, sizeof(key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&calls->items, &calls->capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == calls->count)
		calls->items[calls->count++] = (struct sn_message_call){
		    .peer = (int64_t)key.peer,
		    .process = key.profile,
		    .number = number,
		    .node = node,
		    .is_sent = key.is_sent,
		};
	struct sn_message_call *sum = calls->items + number;
	/* waiting for a message has no size: the call that asked for it has */
	if (sn_attributes_get(&pass->attributes, BYTES, at, &bytes)) {
		sum->count++;
		sum->bytes += (double)(int64_t)bytes;
		sum->node = node;
	}
	sum->time_ns += time;
	sum->longest_ns = time > sum->longest_ns ? time : sum->longest_ns;
	return 0;
}

static int take_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct pass *pass = data;
	bool is_wanted = has_attribute(pass);
	int result = 0;
	(void)track;
	for (size_t i = 0; i < block->count && !is_wanted; i++)
		is_wanted = direction_of_name(pass->answers->db, block->contexts[i]) != NONE;
	if (is_wanted)
		sn_attributes_read(&pass->attributes, cursor, block);
	for (size_t i = 0; i < block->count && is_wanted && !result; i++) {
		enum direction direction = direction_of(pass, i, block->contexts[i]);
		if (direction != NONE)
			result = take(pass, block, i, direction);
	}
	return result;
}

/* Most bytes first, then most time; equal ones as they were met. */
static int by_bytes(const void *left, const void *right)
{
	const struct sn_message_call *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

int sn_message_calls(const struct sn_answers *answers, struct sn_message_calls *calls,
		     struct sn_error *error)
{
	struct pass pass = {.answers = answers, .calls = calls};
	*calls = (struct sn_message_calls){0};
	int result =
	    sn_attributes_init(&pass.attributes, answers->db, answers->trace, wishes, WANTED)
		? sn_fail(error, SN_ERR_MEMORY, "out of memory")
		: 0;
	/* mostly there are none, and threads are not read */
	bool has_any = !result && has_attribute(&pass);
	for (uint32_t i = 0; i < sonde_db_context_count(answers->db) && !has_any; i++)
		has_any = direction_of_name(answers->db, i) != NONE;
	for (uint32_t i = 0; i < sonde_trace_track_count(answers->trace) && !result && has_any;
	     i++) {
		const struct sonde_track *track = sonde_trace_track(answers->trace, i);
		if (track->kind != SONDE_TRACK_INTERVALS ||
		    sonde_db_profile(answers->db, track->profile)->kind != SONDE_PROFILE_THREAD)
			continue;
		pass.process =
		    answers->processes.callers[answers->processes.of_profile[track->profile]];
		result = sn_track_blocks(answers->trace, i, 0, take_block, &pass, error);
	}
	if (calls->count)
		qsort(calls->items, calls->count, sizeof(*calls->items), by_bytes);
	sn_attributes_release(&pass.attributes);
	sn_intern_release(&pass.keys);
	return result;
}
