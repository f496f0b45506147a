/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of messages with equal links; see message_matching.h. */
#include "message_matching.h"

#include "timeline/attributes.h"
#include "base/vec.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/track_blocks.h"

#include <stdlib.h>
#include <string.h>

enum wanted { DIRECTION, TAG, BYTES, POSTED, REQUEST, WANTED };
enum { SENT = 1, RECEIVED = 2, GONE = 3 }; /* the attribute `message` */

static const struct sn_attribute_wish wishes[WANTED] = {
    [DIRECTION] = {"message", SONDE_ATTRIBUTE_UNSIGNED},
    [TAG] = {"tag", SONDE_ATTRIBUTE_UNSIGNED},
    [BYTES] = {"bytes", SONDE_ATTRIBUTE_UNSIGNED},
    [REQUEST] = {"request", SONDE_ATTRIBUTE_UNSIGNED},
    [POSTED] = {"posted", SONDE_ATTRIBUTE_UNSIGNED},
};

uint64_t sn_matched_message_late_sender_ns(const struct sn_matched_message *one)
{
	uint64_t until = one->sent_ns < one->received_ns ? one->sent_ns : one->received_ns;
	return until > one->waited_ns ? until - one->waited_ns : 0;
}

uint64_t sn_matched_message_late_receiver_ns(const struct sn_matched_message *one)
{
	/* a call that returned before did not need the receiver */
	if (one->posted_ns > one->sent_ns && one->sent_end_ns > one->posted_ns)
		return one->posted_ns - one->sent_ns;
	return one->posted_ns > one->gone_wait_ns && one->gone_ns > one->posted_ns
		   ? one->posted_ns - one->gone_wait_ns
		   : 0;
}

uint64_t sn_matched_message_transfer_ns(const struct sn_matched_message *one)
{
	uint64_t from = one->sent_ns > one->waited_ns ? one->sent_ns : one->waited_ns;
	return one->received_ns > from ? one->received_ns - from : 0;
}

/* ---- reading ---- */

/* One end of a message. */
struct end {
	uint64_t link, start_ns, end_ns, tag, bytes, posted_ns, request;
	uint32_t profile, process, context;
	bool is_sent;
};

struct reading {
	const struct sonde_db *db;
	const struct sonde_trace *trace;
	const struct sn_processes *processes;
	uint32_t *lone; /* by process: its place among the lone, SONDE_NONE */
	struct sn_message_matching *messages;
	struct sn_attributes attributes;
	struct end *ends;
	size_t count, capacity;
	struct end *gone; /* calls that waited for what was sent */
	size_t gone_count, gone_capacity;
};

static uint64_t value_of(const struct reading *reading, enum wanted which, size_t at)
{
	uint64_t value;
	return sn_attributes_get(&reading->attributes, which, at, &value) ? value : 0;
}

static int note_lone(struct reading *reading, const struct end *end)
{
	struct sn_message_matching *messages = reading->messages;
	size_t at = reading->lone[end->process];
	if (at == SONDE_NONE) {
		at = messages->lone_count;
		if (sn_vec_reserve(&messages->lone, &messages->lone_capacity, at + 1) < 0)
			return SN_ERR_MEMORY;
		reading->lone[end->process] = (uint32_t)at;
		messages->lone[messages->lone_count++] =
		    (struct sn_lone_messages){.profile = end->profile};
	}
	messages->lone[at].sent += end->is_sent;
	messages->lone[at].received += !end->is_sent;
	return 0;
}

static int take_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct reading *reading = data;
	sn_attributes_read(&reading->attributes, cursor, block);
	for (size_t i = 0; i < block->count; i++) {
		uint64_t direction = value_of(reading, DIRECTION, i);
		if (direction < SENT || direction > GONE)
			continue;
		struct end end = {
		    .link = block->links ? block->links[i] : 0,
		    .start_ns = block->starts_ns[i],
		    .end_ns = block->ends_ns[i],
		    .tag = value_of(reading, TAG, i),
		    .bytes = value_of(reading, BYTES, i),
		    .posted_ns = block->starts_ns[i] - value_of(reading, POSTED, i),
		    .request = value_of(reading, REQUEST, i),
		    .profile = track->profile,
		    .process = reading->processes->of_profile[track->profile],
		    .context = block->contexts[i],
		    .is_sent = direction == SENT,
		};
		if (direction == GONE) {
			if (sn_vec_reserve(&reading->gone, &reading->gone_capacity,
					   reading->gone_count + 1) < 0)
				return SN_ERR_MEMORY;
			reading->gone[reading->gone_count++] = end;
			continue;
		}
		if (!end.link) {
			if (note_lone(reading, &end))
				return SN_ERR_MEMORY;
			continue;
		}
		if (sn_vec_reserve(&reading->ends, &reading->capacity, reading->count + 1) < 0)
			return SN_ERR_MEMORY;
		reading->ends[reading->count++] = end;
	}
	return 0;
}

static int read_threads(struct reading *reading, struct sn_error *error)
{
	int result = 0;
	if (reading->attributes.keys[DIRECTION] == SONDE_NONE)
		return 0;
	for (uint32_t i = 0; i < sonde_trace_track_count(reading->trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(reading->trace, i);
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    sonde_db_profile(reading->db, track->profile)->kind == 0)
			result = sn_track_blocks(reading->trace, i, 0, take_block, reading, error);
	}
	return result;
}

/* ---- pairs ---- */

static int compare_ends(const void *left, const void *right)
{
	const struct end *a = left, *b = right;
	if (a->link != b->link)
		return a->link < b->link ? -1 : 1;
	return a->is_sent == b->is_sent ? 0 : a->is_sent ? -1 : 1;
}

static int compare_messages(const void *left, const void *right)
{
	const struct sn_matched_message *a = left, *b = right;
	if (a->sent_ns != b->sent_ns)
		return a->sent_ns < b->sent_ns ? -1 : 1;
	return (a->link > b->link) - (a->link < b->link);
}

static int compare_requests(const void *left, const void *right)
{
	const struct end *a = left, *b = right;
	if (a->request != b->request)
		return a->request < b->request ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The call that waited for what was sent; NULL. Requests are numbered in each process. */
static const struct end *find_gone(const struct reading *reading, const struct end *sent)
{
	size_t low = 0, high = sent->request ? reading->gone_count : 0;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct end *one = reading->gone + middle;
		if (one->request < sent->request ||
		    (one->request == sent->request && one->process < sent->process))
			low = middle + 1;
		else
			high = middle;
	}
	bool is_found = sent->request && low < reading->gone_count &&
			reading->gone[low].request == sent->request &&
			reading->gone[low].process == sent->process;
	return is_found ? reading->gone + low : NULL;
}

static int add_message(const struct reading *reading, const struct end *sent,
		       const struct end *received)
{
	struct sn_message_matching *messages = reading->messages;
	const struct end *gone = find_gone(reading, sent);
	if (sn_vec_reserve(&messages->items, &messages->capacity, messages->count + 1) < 0)
		return SN_ERR_MEMORY;
	messages->items[messages->count++] = (struct sn_matched_message){
	    .link = sent->link,
	    .tag = sent->tag,
	    .bytes = sent->bytes,
	    .sent_ns = sent->start_ns,
	    .sent_end_ns = sent->end_ns,
	    .gone_wait_ns = gone ? gone->start_ns : 0,
	    .gone_ns = gone ? gone->end_ns : 0,
	    .gone_context = gone ? gone->context : sent->context,
	    .gone_profile = gone ? gone->profile : sent->profile,
	    .waited_ns = received->start_ns,
	    .received_ns = received->end_ns,
	    .posted_ns = received->posted_ns,
	    .sender = sent->profile,
	    .receiver = received->profile,
	    .sender_context = sent->context,
	    .receiver_context = received->context,
	};
	return 0;
}

static int pair(struct reading *reading)
{
	struct sn_message_matching *messages = reading->messages;
	if (reading->gone_count)
		qsort(reading->gone, reading->gone_count, sizeof(*reading->gone), compare_requests);
	if (reading->count)
		qsort(reading->ends, reading->count, sizeof(*reading->ends), compare_ends);
	for (size_t i = 0; i < reading->count; i++) {
		const struct end *one = reading->ends + i;
		bool is_pair = i + 1 < reading->count && one[1].link == one->link && one->is_sent &&
			       !one[1].is_sent;
		if (is_pair ? add_message(reading, one, one + 1) : note_lone(reading, one))
			return SN_ERR_MEMORY;
		i += is_pair;
	}
	if (messages->count)
		qsort(messages->items, messages->count, sizeof(*messages->items), compare_messages);
	return 0;
}

/* ---- waits ---- */

static int compare_waits(const void *left, const void *right)
{
	const struct sn_rank_wait *a = left, *b = right;
	if (a->profile != b->profile)
		return a->profile < b->profile ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->until_ns > b->until_ns) - (a->until_ns < b->until_ns);
}

static int add_wait(struct sn_message_matching *messages, const struct sn_rank_wait *wait)
{
	if (wait->until_ns <= wait->from_ns)
		return 0;
	if (sn_vec_reserve(&messages->waits, &messages->wait_capacity, messages->wait_count + 1) <
	    0)
		return SN_ERR_MEMORY;
	messages->waits[messages->wait_count++] = *wait;
	return 0;
}

static int add_message_waits(struct sn_message_matching *messages,
			     const struct sn_matched_message *one)
{
	struct sn_rank_wait receiver = {
	    .from_ns = one->waited_ns,
	    .until_ns = one->waited_ns + sn_matched_message_late_sender_ns(one),
	    .end_ns = one->received_ns,
	    .cause_ns = one->sent_ns,
	    .profile = one->receiver,
	    .cause = one->sender,
	    .context = one->receiver_context,
	};
	bool is_in_call = one->sent_end_ns > one->posted_ns;
	uint64_t from_ns = is_in_call ? one->sent_ns : one->gone_wait_ns;
	struct sn_rank_wait sender = {
	    .from_ns = from_ns,
	    .until_ns = from_ns + sn_matched_message_late_receiver_ns(one),
	    .end_ns = is_in_call ? one->sent_end_ns : one->gone_ns,
	    .cause_ns = one->posted_ns,
	    .profile = is_in_call ? one->sender : one->gone_profile,
	    .cause = one->receiver,
	    .context = is_in_call ? one->sender_context : one->gone_context,
	};
	return add_wait(messages, &receiver) || add_wait(messages, &sender) ? SN_ERR_MEMORY : 0;
}

/* Of gloo's collectives the messages are recorded, which say it better. */
static bool has_messages(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	return !strncmp(sonde_db_string(db, frame->name), "gloo:", 5);
}

/* Of collectives that threads do themselves; times of ranks' clocks as they were. */
static int add_collective_waits(const struct sonde_db *db, const struct sn_collectives *collectives,
				const struct sn_ranks *ranks, const struct sn_collective *one,
				struct sn_message_matching *messages)
{
	const struct sn_arrival *last = ranks->arrivals + one->first + one->count - 1;
	uint64_t last_offset = (uint64_t)ranks->sums[last->participant].offset_ns;
	for (uint32_t i = 0; i + 1 < one->count; i++) {
		const struct sn_arrival *arrival = ranks->arrivals + one->first + i;
		uint64_t offset = (uint64_t)ranks->sums[arrival->participant].offset_ns;
		uint64_t until =
		    last->start_ns < arrival->end_ns ? last->start_ns : arrival->end_ns;
		struct sn_rank_wait wait = {
		    .from_ns = arrival->called_ns - offset,
		    .until_ns = until - offset,
		    .end_ns = arrival->end_ns - offset,
		    .cause_ns = last->start_ns - last_offset,
		    .profile = arrival->profile,
		    .cause = last->profile,
		    .context = arrival->context,
		};
		if (collectives->participants[arrival->participant].device == SONDE_NONE &&
		    until > arrival->called_ns && !has_messages(db, arrival->context) &&
		    add_wait(messages, &wait))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int find_waits(const struct sonde_db *db, const struct sn_collectives *collectives,
		      const struct sn_ranks *ranks, struct sn_message_matching *messages)
{
	int result = 0;
	for (size_t i = 0; i < messages->count && !result; i++)
		result = add_message_waits(messages, messages->items + i);
	for (size_t i = 0; i < ranks->count && !result; i++)
		result =
		    add_collective_waits(db, collectives, ranks, ranks->collectives + i, messages);
	if (messages->wait_count)
		qsort(messages->waits, messages->wait_count, sizeof(*messages->waits),
		      compare_waits);
	return result;
}

int sn_message_matching(const struct sn_processes *processes,
			const struct sn_collectives *collectives, const struct sn_ranks *ranks,
			struct sn_message_matching *messages, struct sn_error *error)
{
	const struct sonde_db *db = processes->db;
	const struct sonde_trace *trace = processes->trace;
	struct reading reading = {
	    .db = db,
	    .trace = trace,
	    .processes = processes,
	    .lone = malloc((processes->count + 1ull) * sizeof(uint32_t)),
	    .messages = messages,
	};
	*messages = (struct sn_message_matching){0};
	for (uint32_t i = 0; i < processes->count && reading.lone; i++)
		reading.lone[i] = SONDE_NONE;
	int result =
	    sn_attributes_init(&reading.attributes, db, trace, wishes, WANTED) || !reading.lone
		? sn_fail(error, SN_ERR_MEMORY, "out of memory")
		: read_threads(&reading, error);
	if (!result && (pair(&reading) || find_waits(db, collectives, ranks, messages)))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_attributes_release(&reading.attributes);
	free(reading.ends);
	free(reading.gone);
	free(reading.lone);
	return result;
}

void sn_message_matching_release(struct sn_message_matching *messages)
{
	free(messages->items);
	free(messages->lone);
	free(messages->waits);
	*messages = (struct sn_message_matching){0};
}

/* The first wait of the profile, or of one behind it. */
static size_t first_wait(const struct sn_message_matching *messages, uint32_t profile)
{
	size_t low = 0, high = messages->wait_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (messages->waits[middle].profile < profile)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int sn_message_matching_waits(const struct sn_processes *processes,
			      const struct sn_message_matching *messages, uint32_t profile,
			      struct sn_intervals *set)
{
	const uint32_t *profiles;
	size_t count = sn_processes_list(processes, &processes->profiles, profile, &profiles);
	for (size_t p = 0; p < count && messages->wait_count; p++)
		for (size_t i = first_wait(messages, profiles[p]);
		     i < messages->wait_count && messages->waits[i].profile == profiles[p]; i++)
			if (sn_intervals_add(set, messages->waits[i].from_ns,
					     messages->waits[i].until_ns))
				return SN_ERR_MEMORY;
	return 0;
}
