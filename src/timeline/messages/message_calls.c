/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over threads; see message_calls.h. */
#include "message_calls.h"

#include "timeline/attributes.h"
#include "base/intern.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/track_blocks.h"

#include <stdio.h>
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

struct call_sum {
	double count, bytes, time_ns, longest_ns;
	uint32_t node; /* one that says how much, where any does */
};

struct pass {
	const struct sn_answers *answers;
	uint32_t process; /* whose thread is read */
	struct sn_attributes attributes;
	struct sn_intern keys;
	struct call_sum *sums; /* by key */
	size_t capacity;
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
	uint32_t before = pass->keys.count, number = sn_intern_add(&pass->keys, &key, sizeof(key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&pass->sums, &pass->capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before)
		pass->sums[number] = (struct call_sum){.node = node};
	struct call_sum *sum = pass->sums + number;
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

/* ---- the sheet ---- */

static void put_row(const struct pass *pass, uint32_t number, struct sn_sheet *sheet)
{
	const struct call_sum *sum = pass->sums + number;
	struct call_key key;
	char label[SN_NODE_CHARS], text[SN_PLACE_CHARS];
	memcpy(&key, sn_intern_at(&pass->keys, number, NULL), sizeof(key));
	sn_sheet_text(sheet, sn_answers_process(pass->answers, key.profile, text));
	snprintf(text, sizeof(text), "%s rank %lld", key.is_sent ? "to" : "from",
		 (long long)key.peer);
	sn_sheet_text(sheet, text);
	sn_sheet_number(sheet, sum->count);
	sn_sheet_number(sheet, sum->bytes);
	sn_sheet_number(sheet, sum->count ? sum->bytes / sum->count : 0);
	sn_sheet_number(sheet, sum->time_ns);
	sn_sheet_number(sheet, sum->longest_ns);
	sn_sheet_text(sheet, sn_node_map_label(&pass->answers->nodes, sum->node, label));
}

/* Most bytes first, then most time; equal ones as they were met. */
static bool comes_before(const struct call_sum *left, const struct call_sum *right)
{
	return left->bytes != right->bytes ? left->bytes > right->bytes
					   : left->time_ns > right->time_ns;
}

static int show(const struct pass *pass, struct sn_page *page)
{
	uint32_t count = pass->keys.count, *order = malloc((count + 1ull) * sizeof(*order));
	if (!order)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) { /* few: a row for each peer and node */
		uint32_t at = i;
		for (; at && comes_before(pass->sums + i, pass->sums + order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "message_calls", "calls that send and receive");
	sn_sheet_column(sheet, "who", "who", "");
	sn_sheet_column(sheet, "peer", "peer", "");
	sn_sheet_column(sheet, "count", "messages", "count");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "bytes_each", "each", "bytes");
	sn_sheet_column(sheet, "wait_ns", "time in them", "ns");
	sn_sheet_column(sheet, "longest_ns", "longest", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	for (uint32_t i = 0; i < count; i++)
		put_row(pass, order[i], sheet);
	sn_sheet_note(sheet, "time in the calls that send, receive and wait for either");
	free(order);
	return 0;
}

int sn_message_calls(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	struct pass pass = {.answers = answers};
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
	if (!result && pass.keys.count && show(&pass, page))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_attributes_release(&pass.attributes);
	sn_intern_release(&pass.keys);
	free(pass.sums);
	return result;
}
