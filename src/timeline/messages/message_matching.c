/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the two ends of messages by their links, and finds who waited for whom. */
#include "message_matching.h"

#include "base/intern.h"
#include "base/vec.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "frame/context_frame.h"
#include "timeline/track_walk.h"

enum wish { DIRECTION, TAG, BYTES, POSTED, REQUEST, WISHES };
enum { SENT = 1, RECEIVED = 2, GONE = 3 }; /* values of the attribute `message` */

static const struct sn_attribute_wish wishes[WISHES] = {
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
	/* a call that returned before the receive was posted did not need the receiver */
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
	const struct sn_processes *processes;
	struct sn_intern lone; /* processes with unmatched ends, by index in `lone` */
	struct sn_message_matching *messages;
	struct end *ends;
	size_t count, capacity;
	struct end *gone; /* calls that waited for a send to complete */
	size_t gone_count, gone_capacity;
};

static int add_lone(struct reading *reading, const struct end *end)
{
	struct sn_message_matching *messages = reading->messages;
	uint32_t number =
	    sn_intern_item(&reading->lone, &end->process, sizeof(end->process), &messages->lone,
			   &messages->lone_capacity, {.profile = end->profile});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	messages->lone_count = reading->lone.count;
	messages->lone[number].sent += end->is_sent;
	messages->lone[number].received += !end->is_sent;
	return 0;
}

static int add_end(void *data, const struct sn_walked_event *event)
{
	struct reading *reading = data;
	uint64_t direction = sn_walked_number(event, DIRECTION);
	struct end end = {
	    .link = event->link,
	    .start_ns = event->start_ns,
	    .end_ns = event->end_ns,
	    .tag = sn_walked_number(event, TAG),
	    .bytes = sn_walked_number(event, BYTES),
	    .posted_ns = event->start_ns - sn_walked_number(event, POSTED),
	    .request = sn_walked_number(event, REQUEST),
	    .profile = event->track->profile,
	    .process = reading->processes->of_profile[event->track->profile],
	    .context = event->context,
	    .is_sent = direction == SENT,
	};
	if (direction < SENT || direction > GONE)
		return 0;
	if (direction == GONE)
		return sn_vec_push(&reading->gone, &reading->gone_capacity, &reading->gone_count,
				   end);
	return end.link ? sn_vec_push(&reading->ends, &reading->capacity, &reading->count, end)
			: add_lone(reading, &end);
}

/* ---- pairs ---- */

SN_SORT_BY(sort_by_link, struct end, const void *,
	   SN_ORDER(a->link, b->link) ?: SN_ORDER(b->is_sent, a->is_sent));
SN_SORT_BY(sort_by_request, struct end, const void *,
	   SN_ORDER(a->request, b->request) ?: SN_ORDER(a->process, b->process) ?:
	   SN_ORDER(a->start_ns, b->start_ns));
SN_SORT_BY(sort_messages, struct sn_matched_message, const void *,
	   SN_ORDER(a->sent_ns, b->sent_ns) ?: SN_ORDER(a->link, b->link));

/* The call that waited for a send to complete, or NULL. Request numbers are unique per process. */
static const struct end *find_gone(const struct reading *reading, const struct end *sent)
{
	const struct end *all = reading->gone;
	size_t found =
	    sn_search(i, reading->gone_count,
		      all[i].request < sent->request ||
			  (all[i].request == sent->request && all[i].process < sent->process));
	bool is_found = sent->request && found < reading->gone_count &&
			all[found].request == sent->request && all[found].process == sent->process;
	return is_found ? all + found : NULL;
}

static int add_message(const struct reading *reading, const struct end *sent,
		       const struct end *received)
{
	struct sn_message_matching *messages = reading->messages;
	const struct end *gone = find_gone(reading, sent);
	struct sn_matched_message message = {
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
	return sn_vec_push(&messages->items, &messages->capacity, &messages->count, message);
}

static int pair(struct reading *reading)
{
	struct sn_message_matching *messages = reading->messages;
	sort_by_request(reading->gone, reading->gone_count, NULL);
	sort_by_link(reading->ends, reading->count, NULL);
	for (size_t i = 0; i < reading->count; i++) {
		const struct end *one = reading->ends + i;
		bool is_pair = i + 1 < reading->count && one[1].link == one->link && one->is_sent &&
			       !one[1].is_sent;
		if (is_pair ? add_message(reading, one, one + 1) : add_lone(reading, one))
			return SN_ERR_MEMORY;
		i += is_pair;
	}
	sort_messages(messages->items, messages->count, NULL);
	return 0;
}

/* ---- waits ---- */

SN_SORT_BY(sort_waits, struct sn_rank_wait, const void *,
	   SN_ORDER(a->profile, b->profile) ?: SN_ORDER(a->from_ns, b->from_ns) ?:
	   SN_ORDER(a->until_ns, b->until_ns));

static int add_wait(struct sn_message_matching *messages, const struct sn_rank_wait *wait)
{
	return wait->until_ns > wait->from_ns
		   ? sn_vec_push(&messages->waits, &messages->wait_capacity, &messages->wait_count,
				 *wait)
		   : 0;
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
	return add_wait(messages, &receiver) ?: add_wait(messages, &sender);
}

/* Sonde records the single messages of gloo's collectives, which are more precise; other profilers
 * record none. */
static bool has_messages(const struct sonde_db *db, const struct sn_message_matching *messages,
			 uint32_t context)
{
	return (messages->count || messages->lone_count) &&
	       sn_text_begins(sn_context_name(db, context), "gloo:");
}

/* Adds the waits in a collective performed by threads, in the clocks of their ranks. */
static int add_collective_waits(const struct sonde_db *db, const struct sn_collectives *collectives,
				const struct sn_ranks *ranks, const struct sn_collective *one,
				struct sn_message_matching *messages)
{
	const struct sn_arrival *last = sn_collective_last(ranks, one);
	uint64_t last_offset = (uint64_t)ranks->sums[last->participant].offset_ns;
	for (uint32_t i = 0; i + 1 < one->count; i++) {
		const struct sn_arrival *arrival = ranks->arrivals + one->first + i;
		uint64_t offset = (uint64_t)ranks->sums[arrival->participant].offset_ns;
		uint64_t from = arrival->called_ns - offset;
		struct sn_rank_wait wait = {
		    .from_ns = from,
		    .until_ns = from + sn_arrival_wait_ns(arrival, one->last_ns),
		    .end_ns = arrival->end_ns - offset,
		    .cause_ns = last->start_ns - last_offset,
		    .profile = arrival->profile,
		    .cause = last->profile,
		    .context = arrival->context,
		};
		if (collectives->participants[arrival->participant].device == SONDE_NONE &&
		    !has_messages(db, messages, arrival->context) && add_wait(messages, &wait))
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
	sort_waits(messages->waits, messages->wait_count, NULL);
	return result;
}

int sn_message_matching(const struct sn_processes *processes,
			const struct sn_collectives *collectives, const struct sn_ranks *ranks,
			struct sn_message_matching *messages, struct sn_error *error)
{
	struct reading reading = {.processes = processes, .messages = messages};
	struct sn_track_walk walk = {
	    .tracks = SN_WALK_THREADS | SN_WALK_STREAMS,
	    .wishes = wishes,
	    .wish_count = WISHES,
	    .needs_first = true,
	    .visit = add_end,
	    .data = &reading,
	};
	*messages = (struct sn_message_matching){0};
	int result = sn_track_walk(processes, SONDE_NONE, &walk, error) ?: pair(&reading) ?:
		     find_waits(processes->db, collectives, ranks, messages);
	sn_intern_release(&reading.lone);
	free(reading.ends);
	free(reading.gone);
	return sn_fail_code(error, result);
}

void sn_message_matching_release(struct sn_message_matching *messages)
{
	free(messages->items);
	free(messages->lone);
	free(messages->waits);
	*messages = (struct sn_message_matching){0};
}

int sn_message_matching_waits(const struct sn_processes *processes,
			      const struct sn_message_matching *messages, uint32_t profile,
			      struct sn_intervals *set)
{
	const struct sn_rank_wait *waits = messages->waits;
	const uint32_t *profiles;
	size_t count = sn_processes_list(processes, &processes->profiles, profile, &profiles);
	for (size_t p = 0; p < count; p++) {
		if (sonde_db_profile(processes->db, profiles[p])->kind == SONDE_PROFILE_STREAM)
			continue;
		for (size_t i = sn_search(w, messages->wait_count, waits[w].profile < profiles[p]);
		     i < messages->wait_count && waits[i].profile == profiles[p]; i++)
			if (sn_intervals_add(set, waits[i].from_ns, waits[i].until_ns))
				return SN_ERR_MEMORY;
	}
	return 0;
}
