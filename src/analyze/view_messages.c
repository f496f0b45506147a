/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks: by sender and receiver, where they are waited for, and each of them. */
#include "answers.h"
#include "host.h"
#include "base/vec.h"
#include "node_sums.h"
#include "report/label.h"

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
};

static const char *place_of(const struct sn_answers *answers, uint32_t number,
			    char text[SN_PLACE_CHARS])
{
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	int used = 0;
	text[0] = 0;
	if (profile->run)
		used = snprintf(text, SN_PLACE_CHARS, "run %u · ", profile->run);
	if (profile->rank >= 0)
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "rank %d", (int)profile->rank);
	else
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "process %llu",
			 (unsigned long long)profile->pid);
	return text;
}

static struct route *route_of(const struct sn_answers *answers, struct routes *routes,
			      const struct sn_delivery *one)
{
	for (size_t i = 0; i < routes->count; i++)
		if (sn_host_is_same_process(answers->db, routes->items[i].from, one->sender) &&
		    sn_host_is_same_process(answers->db, routes->items[i].to, one->receiver))
			return routes->items + i;
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
			      place_of(answers, one->profile, place), one->sent, one->received);
	}
}

static int show_routes(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_deliveries *messages = &answers->messages;
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
		const struct sn_delivery *one = messages->items + i;
		struct route *route = route_of(answers, &routes, one);
		if (!route) {
			free(routes.items);
			return SN_ERR_MEMORY;
		}
		route->count++;
		route->bytes += (double)one->bytes;
		route->late_sender_ns += (double)sn_delivery_late_sender_ns(one);
		route->late_receiver_ns += (double)sn_delivery_late_receiver_ns(one);
		route->transfer_ns += (double)sn_delivery_transfer_ns(one);
	}
	if (routes.count)
		qsort(routes.items, routes.count, sizeof(*routes.items), by_cost);
	for (size_t i = 0; i < routes.count; i++) {
		const struct route *route = routes.items + i;
		sn_sheet_text(sheet, place_of(answers, route->from, place));
		sn_sheet_text(sheet, place_of(answers, route->to, place));
		sn_sheet_number(sheet, (double)route->count);
		sn_sheet_number(sheet, route->bytes);
		sn_sheet_number(sheet, route->late_sender_ns);
		sn_sheet_number(sheet, route->late_receiver_ns);
		sn_sheet_number(sheet, route->transfer_ns);
		sn_sheet_number(sheet, route->transfer_ns > 0
					   ? route->bytes / route->transfer_ns * 1e9
					   : (double)NAN);
	}
	free(routes.items);
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
	const struct sn_deliveries *messages = &answers->messages;
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
		sn_sheet_text(sheet, place_of(answers, wait->profile, place));
		sn_sheet_text(sheet, place_of(answers, wait->cause, place));
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

/* ---- each ---- */

static uint64_t waited(const struct sn_delivery *one)
{
	return sn_delivery_late_sender_ns(one) + sn_delivery_late_receiver_ns(one);
}

static int by_wait(const void *left, const void *right, void *data)
{
	const struct sn_delivery *items = data;
	uint32_t first = *(const uint32_t *)left, second = *(const uint32_t *)right;
	uint64_t a = waited(items + first), b = waited(items + second);
	if (a != b)
		return a > b ? -1 : 1;
	return first < second ? -1 : first > second;
}

static int show_each(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_deliveries *messages = &answers->messages;
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
		const struct sn_delivery *one = messages->items + order[i];
		uint64_t sender = sn_delivery_late_sender_ns(one),
			 receiver = sn_delivery_late_receiver_ns(one);
		sn_sheet_number(sheet, (double)(one->sent_ns - answers->start_ns));
		sn_sheet_number(sheet, (double)(one->received_ns - answers->start_ns));
		sn_sheet_text(sheet, place_of(answers, one->sender, place));
		sn_sheet_text(sheet, place_of(answers, one->receiver, place));
		sn_sheet_number(sheet, (double)one->tag);
		sn_sheet_number(sheet, (double)one->bytes);
		sn_sheet_number(sheet, (double)sender);
		sn_sheet_number(sheet, (double)receiver);
		sn_sheet_number(sheet, (double)sn_delivery_transfer_ns(one));
		sn_sheet_text(
		    sheet,
		    sender || receiver
			? place_of(answers, sender > receiver ? one->sender : one->receiver, place)
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
	const struct sn_deliveries *messages = &answers->messages;
	if (!messages->count && !messages->wait_count) {
		struct sn_sheet *sheet = sn_page_sheet(page, "messages", "messages between ranks");
		sn_sheet_note(sheet,
			      messages->lone_count
				  ? "no message has both its ends in this trace: analyze the "
				    "measurements of all ranks together"
				  : "no messages are recorded");
		tell_lone(answers, sheet);
		return 0;
	}
	return show_routes(answers, page) || show_waits(answers, page) || show_each(answers, page)
		   ? sn_fail(error, SN_ERR_MEMORY, "out of memory")
		   : 0;
}
