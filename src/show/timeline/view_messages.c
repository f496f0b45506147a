/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks: by sender and receiver, where they are waited for, and each of them. */
#include "timeline/messages/accesses.h"
#include "timeline/messages/message_calls.h"
#include "timeline/messages/message_sums.h"
#include "views.h"

#include <math.h>
#include <stdio.h>

static void tell_lone(const struct sn_answers *answers, struct sn_sheet *sheet)
{
	char place[SN_PLACE_CHARS];
	for (size_t i = 0; i < answers->messages.lone_count; i++) {
		const struct sn_lone_messages *one = answers->messages.lone + i;
		sn_sheet_note(sheet,
			      "without a partner in the trace, and in no sum: of %s %zu sent and "
			      "%zu received",
			      sn_name_process(answers, one->profile, place), one->sent,
			      one->received);
	}
}

static int show_routes(const struct sn_answers *answers, struct sn_page *page)
{
	char place[SN_PLACE_CHARS];
	size_t count;
	struct sn_route *routes = sn_routes(answers, &count);
	if (!routes)
		return SN_ERR_MEMORY;
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
	for (size_t i = 0; i < count; i++) {
		const struct sn_route *route = routes + i;
		sn_sheet_text(sheet, sn_name_process(answers, route->from, place));
		sn_sheet_text(sheet, sn_name_process(answers, route->to, place));
		sn_sheet_number(sheet, (double)route->count);
		sn_sheet_number(sheet, route->bytes);
		sn_sheet_number(sheet, route->late_sender_ns);
		sn_sheet_number(sheet, route->late_receiver_ns);
		sn_sheet_number(sheet, route->transfer_ns);
		sn_sheet_number(sheet, route->transfer_ns > 0
					   ? route->bytes / route->transfer_ns * 1e9
					   : (double)NAN);
	}
	free(routes);
	sn_sheet_note(sheet,
		      "receiver waited: in its call before the message was sent; sender "
		      "waited: in its call until somebody wanted the message; transfer: from "
		      "when both were there until the receiver had it");
	tell_lone(answers, sheet);
	return 0;
}

static int show_waits(const struct sn_answers *answers, struct sn_page *page)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	size_t count;
	struct sn_node_wait *waits = sn_node_waits(answers, &count);
	if (!waits)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "rank_waits", "threads that wait for another rank");
	sn_sheet_column(sheet, "waiting", "who", "");
	sn_sheet_column(sheet, "late", "for", "");
	sn_sheet_column(sheet, "wait_ns", "waited", "ns");
	sn_sheet_column(sheet, "node", "in", "");
	for (size_t i = 0; i < count; i++) {
		const struct sn_rank_wait *longest = waits[i].longest;
		sn_sheet_text(sheet, sn_name_process(answers, longest->profile, place));
		sn_sheet_text(sheet, sn_name_process(answers, longest->cause, place));
		sn_sheet_number(sheet, waits[i].time_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, waits[i].node, label));
	}
	free(waits);
	sn_sheet_note(sheet, "who and for whom: in the longest of these waits");
	return 0;
}

static int show_collectives(const struct sn_answers *answers, struct sn_page *page)
{
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
	    sn_page_sheet(page, "collectives", "what ranks do together, all ranks' parts");
	sn_sheet_column(sheet, "operation", "operation", "");
	sn_sheet_column(sheet, "count", "parts", "count");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "apart_ns", "under way beside other work", "ns");
	sn_sheet_column(sheet, "wait_ns", "waited for others", "ns");
	sn_sheet_column(sheet, "rest_ns", "rest in calls", "ns");
	for (size_t i = 0; i < count; i++) {
		const struct sn_collective_sum *sum = sums + i;
		sn_label_name(answers->db, SN_GROUP_AUTO, sum->frame, label);
		sn_sheet_text(sheet, label);
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, sum->bytes);
		sn_sheet_number(sheet, sum->apart_ns);
		sn_sheet_number(sheet, sum->wait_ns);
		sn_sheet_number(sheet, sum->called_ns - sum->wait_ns);
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
	char label[SN_NODE_CHARS], text[SN_PLACE_CHARS];
	struct sn_message_calls calls;
	struct sn_sheet *sheet = NULL;
	int result = sn_message_calls(answers, &calls, error);
	if (!result && calls.count) {
		sheet = sn_page_sheet(page, "message_calls", "calls that send and receive");
		sn_sheet_column(sheet, "who", "who", "");
		sn_sheet_column(sheet, "peer", "peer", "");
		sn_sheet_column(sheet, "count", "messages", "count");
		sn_sheet_column(sheet, "bytes", "bytes", "bytes");
		sn_sheet_column(sheet, "bytes_each", "each", "bytes");
		sn_sheet_column(sheet, "wait_ns", "time in them", "ns");
		sn_sheet_column(sheet, "longest_ns", "longest", "ns");
		sn_sheet_column(sheet, "node", "node", "");
		sn_sheet_note(sheet, "time in the calls that send, receive and wait for either");
	}
	for (size_t i = 0; i < calls.count && sheet; i++) {
		const struct sn_message_call *one = calls.items + i;
		sn_sheet_text(sheet, sn_name_process(answers, one->process, text));
		snprintf(text, sizeof(text), "%s rank %lld", one->is_sent ? "to" : "from",
			 (long long)one->peer);
		sn_sheet_text(sheet, text);
		sn_sheet_number(sheet, one->count);
		sn_sheet_number(sheet, one->bytes);
		sn_sheet_number(sheet, one->count ? one->bytes / one->count : 0);
		sn_sheet_number(sheet, one->time_ns);
		sn_sheet_number(sheet, one->longest_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node, label));
	}
	free(calls.items);
	return result;
}

static bool is_of_file(const struct sn_access *one)
{
	return one->kind >= SN_ACCESS_READ;
}

static struct sn_sheet *access_sheet(bool of_files, struct sn_page *page)
{
	struct sn_sheet *sheet =
	    of_files ? sn_page_sheet(page, "files", "files that ranks share")
		     : sn_page_sheet(page, "one_sided", "in the memory of other ranks");
	sn_sheet_column(sheet, "who", "who", "");
	sn_sheet_column(sheet, "operation", "operation", "");
	if (!of_files) {
		sn_sheet_column(sheet, "access", "does", "");
		sn_sheet_column(sheet, "peer", "with", "");
	}
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "time_ns", "in calls", "ns");
	sn_sheet_column(sheet, "longest_ns", "longest", "ns");
	sn_sheet_column(sheet, "apart_ns", "beside other work", "ns");
	if (of_files)
		sn_sheet_column(sheet, "bytes_per_s", "rate", "bytes/s");
	return sheet;
}

static void put_access(const struct sn_answers *answers, const struct sn_access *one,
		       struct sn_sheet *sheet)
{
	static const char *const does[] = {"", "writes", "reads", "reads and writes",
					   "synchronises"};
	char place[SN_PLACE_CHARS], label[SN_LABEL_CHARS], peer[40] = "";
	sn_sheet_text(sheet, sn_name_process(answers, one->process, place));
	sn_label_name(answers->db, SN_GROUP_AUTO, one->frame, label);
	sn_sheet_text(sheet, label);
	if (!is_of_file(one)) {
		if (one->peer != UINT64_MAX)
			snprintf(peer, sizeof(peer), "rank %llu", (unsigned long long)one->peer);
		sn_sheet_text(sheet, does[one->kind]);
		sn_sheet_text(sheet, peer);
	}
	sn_sheet_number(sheet, one->count);
	sn_sheet_number(sheet, one->bytes);
	sn_sheet_number(sheet, one->time_ns);
	sn_sheet_number(sheet, one->longest_ns);
	sn_sheet_number(sheet, one->apart_ns);
	if (is_of_file(one))
		sn_sheet_number(sheet,
				one->time_ns > 0 ? one->bytes / one->time_ns * 1e9 : (double)NAN);
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
			sheet = sheet ? sheet : access_sheet(of_files, page);
			put_access(answers, accesses.items + i, sheet);
		}
	}
	free(accesses.items);
	return result;
}

static int show_each(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_message_matching *messages = &answers->messages;
	char place[SN_PLACE_CHARS], label[SN_LABEL_CHARS];
	uint32_t *order = sn_messages_by_wait(messages);
	if (!order)
		return SN_ERR_MEMORY;
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
		sn_sheet_text(sheet, sn_name_process(answers, one->sender, place));
		sn_sheet_text(sheet, sn_name_process(answers, one->receiver, place));
		sn_sheet_number(sheet, (double)one->tag);
		sn_sheet_number(sheet, (double)one->bytes);
		sn_sheet_number(sheet, (double)sender);
		sn_sheet_number(sheet, (double)receiver);
		sn_sheet_number(sheet, (double)sn_matched_message_transfer_ns(one));
		sn_sheet_text(sheet,
			      sender || receiver
				  ? sn_name_process(answers,
						    sender > receiver ? one->sender : one->receiver,
						    place)
				  : "");
		sn_sheet_text(sheet, sn_name_context(answers->db, one->receiver_context, label));
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
	int result = show_calls(answers, page, error);
	if (!result)
		result = show_accesses(answers, page, error);
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
