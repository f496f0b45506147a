/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks: by sender and receiver, where they are waited for, and each of them. */
#include "timeline/messages/accesses.h"
#include "timeline/answers.h"
#include "base/vec.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/messages/message_calls.h"
#include "timeline/node_sums.h"
#include "show/label.h"

#include <math.h>
#include <stdio.h>

/* From one process to another. */
struct route {
	uint32_t from, to; /* profiles, one of each process */
	size_t count;
	double bytes, late_sender_ns, late_receiver_ns, transfer_ns;
};

struct routes {
	struct route *items;
	size_t count, capacity;
	struct sn_intern keys; /* processes from and to */
};

static void routes_release(struct routes *routes)
{
	free(routes->items);
	sn_intern_release(&routes->keys);
}

static struct route *route_of(const struct sn_answers *answers, struct routes *routes,
			      const struct sn_matched_message *one)
{
	const uint32_t *processes = answers->processes.of_profile;
	uint32_t key[2] = {processes[one->sender], processes[one->receiver]};
	uint32_t number = sn_intern_add(&routes->keys, key, sizeof(key));
	if (number == SN_INTERN_NONE)
		return NULL;
	if (number < routes->count)
		return routes->items + number;
	if (sn_vec_reserve(&routes->items, &routes->capacity, routes->count + 1) < 0)
		return NULL;
	routes->items[routes->count] = (struct route){.from = one->sender, .to = one->receiver};
	return routes->items + routes->count++;
}

static int by_cost(const void *left, const void *right)
{
	const struct route *a = left, *b = right;
	double x = a->late_sender_ns + a->late_receiver_ns + a->transfer_ns;
	double y = b->late_sender_ns + b->late_receiver_ns + b->transfer_ns;
	if (x != y)
		return x > y ? -1 : 1;
	return a->from != b->from ? (a->from < b->from ? -1 : 1)
	       : a->to < b->to	  ? -1
				  : a->to > b->to;
}

static void tell_lone(const struct sn_answers *answers, struct sn_sheet *sheet)
{
	char place[SN_PLACE_CHARS];
	for (size_t i = 0; i < answers->messages.lone_count; i++) {
		const struct sn_lone_messages *one = answers->messages.lone + i;
		sn_sheet_note(sheet,
			      "without a partner in the trace, and in no sum: of %s %zu sent and "
			      "%zu received",
			      sn_answers_process(answers, one->profile, place), one->sent,
			      one->received);
	}
}

static int show_routes(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_message_matching *messages = &answers->messages;
	char place[SN_PLACE_CHARS];
	struct routes routes = {0};
	struct sn_sheet *sheet = sn_page_sheet(page, "messages", "messages between ranks");
	sheet->is_whole = true;
	sn_sheet_column(sheet, "from", "from", "");
	sn_sheet_column(sheet, "to", "to", "");
	sn_sheet_column(sheet, "count", "messages", "count");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "late_sender_ns", "receiver waited", "ns");
	sn_sheet_column(sheet, "late_receiver_ns", "sender waited", "ns");
	sn_sheet_column(sheet, "transfer_ns", "transfer", "ns");
	sn_sheet_column(sheet, "bytes_per_s", "rate", "bytes/s");
	for (size_t i = 0; i < messages->count; i++) {
		const struct sn_matched_message *one = messages->items + i;
		struct route *route = route_of(answers, &routes, one);
		if (!route) {
			routes_release(&routes);
			return SN_ERR_MEMORY;
		}
		route->count++;
		route->bytes += (double)one->bytes;
		route->late_sender_ns += (double)sn_matched_message_late_sender_ns(one);
		route->late_receiver_ns += (double)sn_matched_message_late_receiver_ns(one);
		route->transfer_ns += (double)sn_matched_message_transfer_ns(one);
	}
	if (routes.count)
		qsort(routes.items, routes.count, sizeof(*routes.items), by_cost);
	for (size_t i = 0; i < routes.count; i++) {
		const struct route *route = routes.items + i;
		sn_sheet_text(sheet, sn_answers_process(answers, route->from, place));
		sn_sheet_text(sheet, sn_answers_process(answers, route->to, place));
		sn_sheet_number(sheet, (double)route->count);
		sn_sheet_number(sheet, route->bytes);
		sn_sheet_number(sheet, route->late_sender_ns);
		sn_sheet_number(sheet, route->late_receiver_ns);
		sn_sheet_number(sheet, route->transfer_ns);
		sn_sheet_number(sheet, route->transfer_ns > 0
					   ? route->bytes / route->transfer_ns * 1e9
					   : (double)NAN);
	}
	routes_release(&routes);
	sn_sheet_note(sheet,
		      "receiver waited: in its call before the message was sent; sender "
		      "waited: in its call until somebody wanted the message; transfer: from "
		      "when both were there until the receiver had it");
	tell_lone(answers, sheet);
	return 0;
}

/* ---- who waits where ---- */

static int show_waits(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_message_matching *messages = &answers->messages;
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "rank_waits", "threads that wait for another rank");
	sn_sheet_column(sheet, "waiting", "who", "");
	sn_sheet_column(sheet, "late", "for", "");
	sn_sheet_column(sheet, "wait_ns", "waited", "ns");
	sn_sheet_column(sheet, "node", "in", "");
	size_t nodes = answers->nodes.table.count, count;
	double *values = calloc(nodes + 1, sizeof(*values)),
	       *most = calloc(nodes + 1, sizeof(*most));
	uint32_t *first = malloc((nodes + 1) * sizeof(*first));
	for (size_t i = 0; i < messages->wait_count && values && most && first; i++) {
		const struct sn_rank_wait *wait = messages->waits + i;
		uint32_t node = answers->nodes.of_context[wait->context];
		double time = (double)(wait->until_ns - wait->from_ns);
		values[node] += time;
		if (time > most[node]) {
			most[node] = time;
			first[node] = (uint32_t)i;
		}
	}
	struct sn_node_sum *sums =
	    values && most && first ? sn_node_sums(&answers->nodes, values, &count) : NULL;
	for (size_t i = 0; sums && i < count; i++) {
		const struct sn_rank_wait *wait = messages->waits + first[sums[i].node];
		sn_sheet_text(sheet, sn_answers_process(answers, wait->profile, place));
		sn_sheet_text(sheet, sn_answers_process(answers, wait->cause, place));
		sn_sheet_number(sheet, sums[i].value);
		sn_sheet_text(sheet, sn_node_map_label(&answers->nodes, sums[i].node, label));
	}
	sn_sheet_note(sheet, "who and for whom: in the longest of these waits");
	bool has_memory = sums != NULL;
	free(sums);
	free(values);
	free(most);
	free(first);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

/* ---- what all do together ---- */

/* Of one kind of call, by name. */
struct together {
	size_t count;
	double bytes, apart_ns, wait_ns, called_ns;
};

static bool is_by_thread(const struct sn_answers *answers, const struct sn_arrival *one)
{
	return answers->collectives.participants[one->participant].device == SONDE_NONE;
}

static uint32_t frame_of(const struct sn_answers *answers, const struct sn_arrival *one)
{
	return sonde_db_context(answers->db, one->context)->frame;
}

static void add_arrival(struct together *sum, const struct sn_arrival *one)
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

static int by_time(const void *left, const void *right, void *data)
{
	const struct together *sums = data;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (sums[a].called_ns != sums[b].called_ns)
		return sums[a].called_ns > sums[b].called_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void put_together(const struct sn_answers *answers, const struct together *sums,
			 const uint32_t *order, size_t count, struct sn_page *page)
{
	char label[SN_LABEL_CHARS];
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "collectives", "what ranks do together, all ranks' parts");
	sn_sheet_column(sheet, "operation", "operation", "");
	sn_sheet_column(sheet, "count", "parts", "count");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "apart_ns", "under way beside other work", "ns");
	sn_sheet_column(sheet, "wait_ns", "waited for others", "ns");
	sn_sheet_column(sheet, "rest_ns", "rest in calls", "ns");
	for (size_t i = 0; i < count; i++) {
		const struct together *sum = sums + order[i];
		sn_label_name(answers->db, SN_GROUP_AUTO, order[i], label);
		sn_sheet_text(sheet, label);
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, sum->bytes);
		sn_sheet_number(sheet, sum->apart_ns);
		sn_sheet_number(sheet, sum->wait_ns);
		sn_sheet_number(sheet, sum->called_ns - sum->wait_ns);
	}
	sn_sheet_note(sheet, "bytes: what ranks give, or get where they give nothing; under way "
			     "beside other work: from the call that begins it to the call that "
			     "waits for its end");
}

static int show_collectives(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_ranks *ranks = &answers->ranks;
	size_t frames = sonde_db_frame_count(answers->db), count = 0;
	struct together *sums = calloc(frames + 1, sizeof(*sums));
	uint32_t *order = malloc((frames + 1) * sizeof(*order));
	for (size_t i = 0; sums && order && i < answers->collectives.arrival_count; i++) {
		const struct sn_arrival *one = answers->collectives.arrivals + i;
		uint32_t frame = frame_of(answers, one);
		if (!is_by_thread(answers, one))
			continue;
		if (!sums[frame].count)
			order[count++] = frame;
		add_arrival(sums + frame, one);
	}
	for (size_t i = 0; sums && order && i < ranks->count; i++) {
		const struct sn_collective *of = ranks->collectives + i;
		for (uint32_t k = 0; k < of->count; k++) {
			const struct sn_arrival *one = ranks->arrivals + of->first + k;
			if (is_by_thread(answers, one))
				sums[frame_of(answers, one)].wait_ns += wait_of(of, one);
		}
	}
	bool has_memory = sums && order;
	if (has_memory)
		qsort_r(order, count, sizeof(*order), by_time, sums);
	if (has_memory && count)
		put_together(answers, sums, order, count, page);
	free(sums);
	free(order);
	return has_memory ? 0 : SN_ERR_MEMORY;
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

static int show_each(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_message_matching *messages = &answers->messages;
	char place[SN_PLACE_CHARS], label[SN_LABEL_CHARS];
	uint32_t *order = malloc((messages->count + 1) * sizeof(*order));
	if (!order)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < messages->count; i++)
		order[i] = i;
	qsort_r(order, messages->count, sizeof(*order), by_wait, messages->items);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "message_list", "each message, the longest waits first");
	sn_sheet_column(sheet, "sent_ns", "sent at", "ns");
	sn_sheet_column(sheet, "received_ns", "received at", "ns");
	sn_sheet_column(sheet, "from", "from", "");
	sn_sheet_column(sheet, "to", "to", "");
	sn_sheet_column(sheet, "tag", "tag", "id");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "late_sender_ns", "receiver waited", "ns");
	sn_sheet_column(sheet, "late_receiver_ns", "sender waited", "ns");
	sn_sheet_column(sheet, "transfer_ns", "transfer", "ns");
	sn_sheet_column(sheet, "late", "late was", "");
	sn_sheet_column(sheet, "call", "received by", "");
	for (size_t i = 0; i < messages->count; i++) {
		const struct sn_matched_message *one = messages->items + order[i];
		uint64_t sender = sn_matched_message_late_sender_ns(one),
			 receiver = sn_matched_message_late_receiver_ns(one);
		sn_sheet_number(sheet, (double)(one->sent_ns - answers->start_ns));
		sn_sheet_number(sheet, (double)(one->received_ns - answers->start_ns));
		sn_sheet_text(sheet, sn_answers_process(answers, one->sender, place));
		sn_sheet_text(sheet, sn_answers_process(answers, one->receiver, place));
		sn_sheet_number(sheet, (double)one->tag);
		sn_sheet_number(sheet, (double)one->bytes);
		sn_sheet_number(sheet, (double)sender);
		sn_sheet_number(sheet, (double)receiver);
		sn_sheet_number(sheet, (double)sn_matched_message_transfer_ns(one));
		sn_sheet_text(
		    sheet,
		    sender || receiver
			? sn_answers_process(answers,
					     sender > receiver ? one->sender : one->receiver, place)
			: "");
		sn_label_name(answers->db, SN_GROUP_AUTO,
			      sonde_db_context(answers->db, one->receiver_context)->frame, label);
		sn_sheet_text(sheet, label);
	}
	free(order);
	return 0;
}

int sn_view_messages(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	const struct sn_message_matching *messages = &answers->messages;
	size_t sheets = page->count;
	if ((messages->count && show_routes(answers, page)) ||
	    (messages->wait_count && show_waits(answers, page)) || show_collectives(answers, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	int result = sn_message_calls(answers, page, error);
	if (!result)
		result = sn_accesses(answers, page, error);
	if (result || (messages->count && show_each(answers, page)))
		return result ? result : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (page->count > sheets && (messages->count || !messages->lone_count))
		return 0;
	struct sn_sheet *sheet = sn_page_sheet(page, "messages", "messages between ranks");
	sn_sheet_note(sheet, messages->lone_count
				 ? "no message has both its ends in this trace: analyze the "
				   "measurements of all ranks together"
				 : "no messages are recorded");
	tell_lone(answers, sheet);
	return 0;
}
