/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over what is loaded; see message_sums.h. */
#include "message_sums.h"

#include "base/vec.h"
#include "timeline/node_sums.h"

/* ---- by sender and receiver ---- */

struct routes {
	struct sn_route *items;
	size_t count, capacity;
	struct sn_intern keys; /* processes from and to */
};

static int add_to_route(const struct sn_answers *answers, struct routes *routes,
			const struct sn_matched_message *one)
{
	const uint32_t *processes = answers->processes.of_profile;
	uint32_t key[2] = {processes[one->sender], processes[one->receiver]};
	uint32_t number = sn_intern_add(&routes->keys, key, sizeof(key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&routes->items, &routes->capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == routes->count)
		routes->items[routes->count++] =
		    (struct sn_route){.from = one->sender, .to = one->receiver};
	struct sn_route *route = routes->items + number;
	route->count++;
	route->bytes += (double)one->bytes;
	route->late_sender_ns += (double)sn_matched_message_late_sender_ns(one);
	route->late_receiver_ns += (double)sn_matched_message_late_receiver_ns(one);
	route->transfer_ns += (double)sn_matched_message_transfer_ns(one);
	return 0;
}

static int by_cost(const void *left, const void *right)
{
	const struct sn_route *a = left, *b = right;
	double x = a->late_sender_ns + a->late_receiver_ns + a->transfer_ns;
	double y = b->late_sender_ns + b->late_receiver_ns + b->transfer_ns;
	if (x != y)
		return x > y ? -1 : 1;
	return a->from != b->from ? (a->from < b->from ? -1 : 1)
	       : a->to < b->to	  ? -1
				  : a->to > b->to;
}

struct sn_route *sn_routes(const struct sn_answers *answers, size_t *count)
{
	const struct sn_message_matching *messages = &answers->messages;
	struct routes routes = {.items = calloc(1, sizeof(*routes.items)), .capacity = 1};
	int result = routes.items ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; i < messages->count && !result; i++)
		result = add_to_route(answers, &routes, messages->items + i);
	sn_intern_release(&routes.keys);
	if (result) {
		free(routes.items);
		return NULL;
	}
	qsort(routes.items, routes.count, sizeof(*routes.items), by_cost);
	*count = routes.count;
	return routes.items;
}

/* ---- by node ---- */

struct sn_node_wait *sn_node_waits(const struct sn_answers *answers, size_t *count)
{
	const struct sn_message_matching *messages = &answers->messages;
	size_t nodes = answers->nodes.table.count;
	double *values = calloc(nodes + 1, sizeof(*values));
	double *most = calloc(nodes + 1, sizeof(*most));
	const struct sn_rank_wait **longest = calloc(nodes + 1, sizeof(*longest));
	bool has_memory = values && most && longest;
	for (size_t i = 0; i < messages->wait_count && has_memory; i++) {
		const struct sn_rank_wait *wait = messages->waits + i;
		uint32_t node = answers->nodes.of_context[wait->context];
		double time = (double)(wait->until_ns - wait->from_ns);
		values[node] += time;
		if (time > most[node]) {
			most[node] = time;
			longest[node] = wait;
		}
	}
	struct sn_node_sum *sums = has_memory ? sn_node_sums(&answers->nodes, values, count) : NULL;
	struct sn_node_wait *items = sums ? malloc((*count + 1) * sizeof(*items)) : NULL;
	for (size_t i = 0; items && i < *count; i++)
		items[i] =
		    (struct sn_node_wait){sums[i].node, sums[i].value, longest[sums[i].node]};
	free(sums);
	free(values);
	free(most);
	free(longest);
	return items;
}

/* ---- what all do together ---- */

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

/* As sn_ranks counts it. */
static double wait_of(const struct sn_collective *of, const struct sn_arrival *one)
{
	uint64_t until = of->last_ns < one->end_ns ? of->last_ns : one->end_ns;
	return until > one->called_ns ? (double)(until - one->called_ns) : 0;
}

static int by_time(const void *left, const void *right)
{
	const struct sn_collective_sum *a = left, *b = right;
	if (a->called_ns != b->called_ns)
		return a->called_ns > b->called_ns ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

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
				sum_of(answers, sums, one)->wait_ns += wait_of(of, one);
	}
	for (uint32_t i = 0; i < frames; i++)
		if (sums[i].count) {
			sums[*count] = sums[i];
			sums[(*count)++].frame = i;
		}
	qsort(sums, *count, sizeof(*sums), by_time);
	return sums;
}

/* ---- each ---- */

static uint64_t waited(const struct sn_matched_message *one)
{
	return sn_matched_message_late_sender_ns(one) + sn_matched_message_late_receiver_ns(one);
}

static int by_wait(const void *left, const void *right, void *data)
{
	const struct sn_matched_message *items = data;
	uint32_t first = *(const uint32_t *)left, second = *(const uint32_t *)right;
	uint64_t a = waited(items + first), b = waited(items + second);
	if (a != b)
		return a > b ? -1 : 1;
	return first < second ? -1 : first > second;
}

uint32_t *sn_messages_by_wait(const struct sn_message_matching *messages)
{
	uint32_t *order = malloc((messages->count + 1) * sizeof(*order));
	for (uint32_t i = 0; i < messages->count && order; i++)
		order[i] = i;
	if (order && messages->count)
		qsort_r(order, messages->count, sizeof(*order), by_wait, messages->items);
	return order;
}
