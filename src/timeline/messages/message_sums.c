/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of messages by sender and receiver, by node, and of all. */
#include "message_sums.h"

#include "base/intern.h"
#include "base/sort_by.h"

/* ---- by sender and receiver ---- */

static void add_to_route(struct sn_route *route, const struct sn_matched_message *one)
{
	route->count++;
	route->bytes += (double)one->bytes;
	route->late_sender_ns += (double)sn_matched_message_late_sender_ns(one);
	route->late_receiver_ns += (double)sn_matched_message_late_receiver_ns(one);
	route->transfer_ns += (double)sn_matched_message_transfer_ns(one);
}

static double cost_of(const struct sn_route *route)
{
	return route->late_sender_ns + route->late_receiver_ns + route->transfer_ns;
}

SN_SORT_BY(sort_by_cost, struct sn_route, const void *,
	   SN_ORDER(cost_of(b), cost_of(a)) ?: SN_ORDER(a->from, b->from) ?:
	   SN_ORDER(a->to, b->to));

struct sn_route *sn_routes(const struct sn_answers *answers, size_t *count)
{
	const struct sn_message_matching *messages = &answers->messages;
	const uint32_t *processes = answers->processes.of_profile;
	struct sn_route *routes = calloc(1, sizeof(*routes));
	struct sn_intern keys = {0}; /* sending and receiving process */
	size_t capacity = 1;
	bool has_memory = routes;
	for (size_t i = 0; i < messages->count && has_memory; i++) {
		const struct sn_matched_message *one = messages->items + i;
		uint32_t key[2] = {processes[one->sender], processes[one->receiver]};
		uint32_t number = sn_intern_item(&keys, key, sizeof(key), &routes, &capacity,
						 {.from = one->sender, .to = one->receiver});
		has_memory = number != SN_INTERN_NONE;
		if (has_memory)
			add_to_route(routes + number, one);
	}
	*count = keys.count;
	sn_intern_release(&keys);
	if (has_memory)
		sort_by_cost(routes, *count, NULL);
	else
		free(routes);
	return has_memory ? routes : NULL;
}

/* ---- by node ---- */

SN_SORT_BY(sort_node_waits, struct sn_node_wait, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->node, b->node));

struct sn_node_wait *sn_node_waits(const struct sn_answers *answers, size_t *count)
{
	const struct sn_message_matching *messages = &answers->messages;
	size_t nodes = answers->nodes.table.count;
	struct sn_node_wait *items = calloc(nodes + 1, sizeof(*items));
	*count = 0;
	for (size_t i = 0; i < messages->wait_count && items; i++) {
		const struct sn_rank_wait *wait = messages->waits + i;
		struct sn_node_wait *one = items + answers->nodes.of_context[wait->context];
		uint64_t time = wait->until_ns - wait->from_ns;
		one->time_ns += (double)time;
		if (!one->longest || time > one->longest->until_ns - one->longest->from_ns)
			one->longest = wait;
	}
	for (uint32_t i = 0; i < nodes && items; i++)
		if (items[i].longest) {
			items[*count] = items[i];
			items[(*count)++].node = i;
		}
	sort_node_waits(items, *count, NULL);
	return items;
}

/* ---- totals ---- */

static bool is_by_thread(const struct sn_answers *answers, const struct sn_arrival *one)
{
	return answers->collectives.participants[one->participant].device == SONDE_NONE;
}

static struct sn_collective_sum *sum_of(const struct sn_answers *answers,
					struct sn_collective_sum *sums,
					const struct sn_arrival *one)
{
	return sums + sonde_db_context(answers->db, one->context)->frame;
}

static void add_arrival(struct sn_collective_sum *sum, const struct sn_arrival *one)
{
	sum->count++;
	sum->bytes += (double)one->bytes;
	sum->apart_ns += (double)(one->called_ns - one->start_ns);
	sum->called_ns += (double)(one->end_ns - one->called_ns);
}

SN_SORT_BY(sort_by_time, struct sn_collective_sum, const void *,
	   SN_ORDER(b->called_ns, a->called_ns) ?: SN_ORDER(a->frame, b->frame));

struct sn_collective_sum *sn_collective_sums(const struct sn_answers *answers, size_t *count)
{
	const struct sn_ranks *ranks = &answers->ranks;
	uint32_t frames = sonde_db_frame_count(answers->db);
	struct sn_collective_sum *sums = calloc(frames + 1ull, sizeof(*sums));
	*count = 0;
	if (!sums)
		return NULL;
	for (size_t i = 0; i < answers->collectives.arrival_count; i++) {
		const struct sn_arrival *one = answers->collectives.arrivals + i;
		if (is_by_thread(answers, one))
			add_arrival(sum_of(answers, sums, one), one);
	}
	for (size_t i = 0; i < ranks->count; i++) {
		const struct sn_collective *of = ranks->collectives + i;
		for (const struct sn_arrival *one = ranks->arrivals + of->first;
		     one < ranks->arrivals + of->first + of->count; one++)
			if (is_by_thread(answers, one))
				sum_of(answers, sums, one)->wait_ns +=
				    (double)sn_arrival_wait_ns(one, of->last_ns);
	}
	for (uint32_t i = 0; i < frames; i++)
		if (sums[i].count) {
			sums[*count] = sums[i];
			sums[(*count)++].frame = i;
		}
	sort_by_time(sums, *count, NULL);
	return sums;
}

/* ---- one message ---- */

static uint64_t waited(const struct sn_matched_message *one)
{
	return sn_matched_message_late_sender_ns(one) + sn_matched_message_late_receiver_ns(one);
}

SN_SORT_BY(sort_by_wait, uint32_t, const struct sn_matched_message *,
	   SN_ORDER(waited(of + *b), waited(of + *a)) ?: SN_ORDER(*a, *b));

uint32_t *sn_messages_by_wait(const struct sn_message_matching *messages)
{
	uint32_t *order = malloc((messages->count + 1) * sizeof(*order));
	for (uint32_t i = 0; i < messages->count && order; i++)
		order[i] = i;
	if (order)
		sort_by_wait(order, messages->count, messages->items);
	return order;
}
