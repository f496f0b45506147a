/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks: by sender and receiver, where they are waited for, and each of them. */
#include "timeline/messages/accesses.h"
#include "timeline/messages/message_calls.h"
#include "timeline/messages/message_sums.h"
#include "views.h"

#include <stdio.h>

static void note_lone(const struct sn_answers *answers, struct sn_sheet *sheet)
{
	for (size_t i = 0; i < answers->messages.lone_count; i++) {
		const struct sn_lone_messages *one = answers->messages.lone + i;
		sn_sheet_note(sheet,
			      "without a partner in the trace, and in no sum: of %s %zu sent and "
			      "%zu received",
			      sn_name_process(answers, one->profile).text, one->sent,
			      one->received);
	}
}

static int show_routes(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"from", "from", ""},
						   {"to", "to", ""},
						   {"count", "messages", "count"},
						   {"bytes", "bytes", "bytes"},
						   {"late_sender_ns", "receiver waited", "ns"},
						   {"late_receiver_ns", "sender waited", "ns"},
						   {"transfer_ns", "transfer", "ns"},
						   {"bytes_per_s", "rate", "bytes/s"}};
	size_t count;
	struct sn_route *routes = sn_routes(answers, &count);
	if (!routes)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet = sn_page_table(page, "messages", columns, "messages between ranks");
	sheet->is_whole = true;
	for (size_t i = 0; i < count; i++) {
		const struct sn_route *route = routes + i;
		sn_sheet_text(sheet, sn_name_process(answers, route->from).text);
		sn_sheet_text(sheet, sn_name_process(answers, route->to).text);
		sn_sheet_numbers(sheet, route->count, route->bytes, route->late_sender_ns,
				 route->late_receiver_ns, route->transfer_ns,
				 sn_rate_of(route->bytes, route->transfer_ns));
	}
	free(routes);
	sn_sheet_note(sheet,
		      "receiver waited: in its call before the message was sent; sender "
		      "waited: in its call until a receiver asked for the message; transfer: from "
		      "when both were there until the receiver had it");
	note_lone(answers, sheet);
	return 0;
}

static int show_waits(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"waiting", "who", ""},
						   {"late", "for", ""},
						   {"wait_ns", "waited", "ns"},
						   {"node", "in", ""}};
	size_t count;
	struct sn_node_wait *waits = sn_node_waits(answers, &count);
	if (!waits)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet =
	    sn_page_table(page, "rank_waits", columns, "who waits for another rank");
	for (size_t i = 0; i < count; i++) {
		const struct sn_rank_wait *longest = waits[i].longest;
		sn_sheet_text(sheet, sn_name_process(answers, longest->profile).text);
		sn_sheet_text(sheet, sn_name_process(answers, longest->cause).text);
		sn_sheet_number(sheet, waits[i].time_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, waits[i].node).text);
	}
	free(waits);
	sn_sheet_note(sheet, "who and for whom: in the longest of these waits");
	return 0;
}

static int show_collectives(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"operation", "operation", ""},
	    {"count", "parts", "count"},
	    {"bytes", "bytes", "bytes"},
	    {"apart_ns", "under way beside other work", "ns"},
	    {"wait_ns", "waited for others", "ns"},
	    {"rest_ns", "rest in calls", "ns"}};
	char label[SN_LABEL_CHARS];
	size_t count;
	struct sn_collective_sum *sums = sn_collective_sums(answers, &count);
	if (!sums)
		return SN_ERR_MEMORY;
	if (!count) {
		free(sums);
		return 0;
	}
	struct sn_sheet *sheet =
	    sn_page_table(page, "collectives", columns, "what ranks do together, all ranks' parts");
	for (size_t i = 0; i < count; i++) {
		const struct sn_collective_sum *sum = sums + i;
		sn_label_name(answers->db, SN_GROUP_AUTO, sum->frame, label);
		sn_sheet_text(sheet, label);
		sn_sheet_numbers(sheet, sum->count, sum->bytes, sum->apart_ns, sum->wait_ns,
				 sum->called_ns - sum->wait_ns);
	}
	free(sums);
	sn_sheet_note(sheet, "bytes: what ranks give, or get where they give nothing; under way "
			     "beside other work: from the call that begins it to the call that "
			     "waits for its end");
	return 0;
}

static int show_calls(const struct sn_answers *answers, struct sn_page *page,
		      struct sn_error *error)
{
	static const struct sn_column columns[] = {{"who", "who", ""},
						   {"peer", "peer", ""},
						   {"count", "messages", "count"},
						   {"bytes", "bytes", "bytes"},
						   {"bytes_each", "each", "bytes"},
						   {"wait_ns", "time in them", "ns"},
						   {"longest_ns", "longest", "ns"},
						   {"node", "node", ""}};
	struct sn_message_calls calls;
	struct sn_sheet *sheet = NULL;
	int result = sn_message_calls(answers, &calls, error);
	if (!result && calls.count) {
		sheet =
		    sn_page_table(page, "message_calls", columns, "calls that send and receive");
		sn_sheet_note(sheet, "time in the calls that send, receive and wait for either");
	}
	for (size_t i = 0; i < calls.count && sheet; i++) {
		const struct sn_message_call *one = calls.items + i;
		char peer[40];
		snprintf(peer, sizeof(peer), "%s rank %lld", one->is_sent ? "to" : "from",
			 (long long)one->peer);
		sn_sheet_text(sheet, sn_name_process(answers, one->process).text);
		sn_sheet_text(sheet, peer);
		sn_sheet_numbers(sheet, one->count, one->bytes,
				 one->count ? one->bytes / one->count : 0, one->time_ns,
				 one->longest_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node).text);
	}
	free(calls.items);
	return result;
}

static bool is_of_file(const struct sn_access *one)
{
	return one->kind >= SN_ACCESS_READ;
}

static struct sn_sheet *add_access_sheet(bool of_files, struct sn_page *page)
{
	static const struct sn_column who[] = {{"who", "who", ""}, {"operation", "operation", ""}};
	static const struct sn_column peer[] = {{"access", "does", ""}, {"peer", "with", ""}};
	static const struct sn_column numbers[] = {{"count", "times", "count"},
						   {"bytes", "bytes", "bytes"},
						   {"time_ns", "in calls", "ns"},
						   {"longest_ns", "longest", "ns"},
						   {"apart_ns", "beside other work", "ns"},
						   {"bytes_per_s", "rate", "bytes/s"}};
	struct sn_sheet *sheet =
	    of_files ? sn_page_sheet(page, "files", "files that ranks share")
		     : sn_page_sheet(page, "one_sided", "in the memory of other ranks");
	sn_sheet_columns(sheet, who, 2);
	sn_sheet_columns(sheet, peer, of_files ? 0 : 2);
	return sn_sheet_columns(sheet, numbers, of_files ? 6 : 5);
}

static void add_access(const struct sn_answers *answers, const struct sn_access *one,
		       struct sn_sheet *sheet)
{
	static const char *const does[] = {"", "writes", "reads", "reads and writes",
					   "synchronises"};
	char label[SN_LABEL_CHARS], peer[40] = "";
	sn_label_name(answers->db, SN_GROUP_AUTO, one->frame, label);
	sn_sheet_text(sheet, sn_name_process(answers, one->process).text);
	sn_sheet_text(sheet, label);
	if (!is_of_file(one)) {
		if (one->peer != UINT64_MAX)
			snprintf(peer, sizeof(peer), "rank %llu", (unsigned long long)one->peer);
		sn_sheet_text(sheet, does[one->kind]);
		sn_sheet_text(sheet, peer);
	}
	sn_sheet_numbers(sheet, one->count, one->bytes, one->time_ns, one->longest_ns,
			 one->apart_ns);
	if (is_of_file(one))
		sn_sheet_number(sheet, sn_rate_of(one->bytes, one->time_ns));
}

static int show_accesses(const struct sn_answers *answers, struct sn_page *page,
			 struct sn_error *error)
{
	struct sn_accesses accesses;
	int result = sn_accesses(answers, &accesses, error);
	for (int of_files = 0; of_files < 2 && !result; of_files++) {
		struct sn_sheet *sheet = NULL;
		for (size_t i = 0; i < accesses.count; i++) {
			if (is_of_file(accesses.items + i) != of_files)
				continue;
			sheet = sheet ? sheet : add_access_sheet(of_files, page);
			add_access(answers, accesses.items + i, sheet);
		}
	}
	free(accesses.items);
	return result;
}

static void add_message(const struct sn_answers *answers, const struct sn_matched_message *one,
			struct sn_sheet *sheet)
{
	uint64_t sender = sn_matched_message_late_sender_ns(one),
		 receiver = sn_matched_message_late_receiver_ns(one);
	uint32_t late = sender > receiver ? one->sender : one->receiver;
	sn_sheet_numbers(sheet, one->sent_ns - answers->start_ns,
			 one->received_ns - answers->start_ns);
	sn_sheet_text(sheet, sn_name_process(answers, one->sender).text);
	sn_sheet_text(sheet, sn_name_process(answers, one->receiver).text);
	sn_sheet_numbers(sheet, one->tag, one->bytes, sender, receiver,
			 sn_matched_message_transfer_ns(one));
	sn_sheet_text(sheet, sender || receiver ? sn_name_process(answers, late).text : "");
	sn_sheet_text(sheet, sn_name_context(answers->db, one->receiver_context).text);
}

static int show_each(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"sent_ns", "sent at", "ns"},
						   {"received_ns", "received at", "ns"},
						   {"from", "from", ""},
						   {"to", "to", ""},
						   {"tag", "tag", "id"},
						   {"bytes", "bytes", "bytes"},
						   {"late_sender_ns", "receiver waited", "ns"},
						   {"late_receiver_ns", "sender waited", "ns"},
						   {"transfer_ns", "transfer", "ns"},
						   {"late", "late was", ""},
						   {"call", "received by", ""}};
	const struct sn_message_matching *messages = &answers->messages;
	uint32_t *order = sn_messages_by_wait(messages);
	if (!order)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet =
	    sn_page_table(page, "message_list", columns, "each message, the longest waits first");
	for (size_t i = 0; i < messages->count; i++)
		add_message(answers, messages->items + order[i], sheet);
	free(order);
	return 0;
}

int sn_view_messages(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	const struct sn_message_matching *messages = &answers->messages;
	size_t sheets = page->count;
	if ((messages->count && show_routes(answers, page)) ||
	    (messages->wait_count && show_waits(answers, page)) || show_collectives(answers, page))
		return sn_fail_memory(error);
	int result = show_calls(answers, page, error);
	if (!result)
		result = show_accesses(answers, page, error);
	if (!result && messages->count && show_each(answers, page))
		result = sn_fail_memory(error);
	if (result || (page->count > sheets && (messages->count || !messages->lone_count)))
		return result;
	struct sn_sheet *sheet = sn_page_sheet(page, "messages", "messages between ranks");
	sn_sheet_note(sheet, messages->lone_count
				 ? "no message has both its ends in this trace: analyze the "
				   "measurements of all ranks together"
				 : "no messages are recorded");
	note_lone(answers, sheet);
	return 0;
}
