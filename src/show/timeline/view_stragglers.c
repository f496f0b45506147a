/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes late to collectives, what it did instead, and where the others waited. */
#include "timeline/messages/stragglers.h"
#include "views.h"

enum { CAUSES = 20 };

static int causes(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	struct sn_latest latest;
	int result = sn_latest(answers, &latest, error);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "late_in", "while all others waited, the last one was in");
	sn_sheet_column(sheet, "participant", "who", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; !result && i < latest.count && i < CAUSES; i++) {
		sn_sheet_text(sheet, sn_name_participant(answers, latest.participant, place));
		sn_sheet_number(sheet, latest.nodes[i].value);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, latest.nodes[i].node, label));
	}
	free(latest.nodes);
	return result;
}

static int participants(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_ranks *ranks = &answers->ranks;
	char place[SN_PLACE_CHARS];
	size_t *order = sn_ranks_order(ranks);
	if (!order)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet = sn_page_sheet(page, "ranks", "arrival at collectives");
	sheet->is_whole = ranks->participant_count <= 64;
	sn_sheet_column(sheet, "participant", "who", "");
	sn_sheet_column(sheet, "collectives", "collectives", "count");
	sn_sheet_column(sheet, "last", "was last", "count");
	sn_sheet_column(sheet, "waited_ns", "waited", "ns");
	sn_sheet_column(sheet, "delayed_ns", "others waited", "ns");
	sn_sheet_column(sheet, "late_ns", "late by", "ns");
	sn_sheet_column(sheet, "clock_offset_ns", "clock +", "ns");
	for (size_t i = 0; i < ranks->participant_count; i++) {
		const struct sn_rank_sum *sum = ranks->sums + order[i];
		sn_sheet_text(sheet, sn_name_participant(answers, order[i], place));
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, (double)sum->last_count);
		sn_sheet_number(sheet, (double)sum->waited_ns);
		sn_sheet_number(sheet, (double)sum->delayed_ns);
		sn_sheet_number(sheet, (double)sum->late_ns);
		sn_sheet_number(sheet, (double)sum->offset_ns);
	}
	free(order);
	sn_sheet_note(sheet, "others waited: by all others together, while this one was the last; "
			     "late by: behind the one before it");
	if (ranks->is_shifted)
		sn_sheet_note(sheet, "clocks contradict each other: brought together by the ends "
				     "of collectives, so that waits are approximate");
	if (ranks->is_overlapped)
		sn_sheet_note(sheet, "recordings lack some of the collectives: those that overlap "
				     "in time are taken to belong together");
	if (ranks->alone_count)
		sn_sheet_note(sheet,
			      "%zu parts of collectives have no partner in the trace and are left "
			      "out",
			      ranks->alone_count);
	return 0;
}

static int by_node(const struct sn_answers *answers, struct sn_page *page)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	size_t count;
	struct sn_rank_node *nodes = sn_rank_nodes(answers, &count);
	if (!nodes)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet = sn_page_sheet(page, "waits_at", "where ranks waited for others");
	sn_sheet_column(sheet, "wait_ns", "waited", "ns");
	sn_sheet_column(sheet, "count", "collectives", "count");
	sn_sheet_column(sheet, "last", "mostly last", "");
	sn_sheet_column(sheet, "last_share", "of them", "ratio");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < count; i++) {
		sn_sheet_number(sheet, nodes[i].wait_ns);
		sn_sheet_number(sheet, nodes[i].count);
		sn_sheet_text(sheet, sn_name_participant(answers, nodes[i].mostly, place));
		sn_sheet_number(sheet, (double)nodes[i].last_count / nodes[i].count);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, nodes[i].node, label));
	}
	free(nodes);
	return 0;
}

int sn_view_stragglers(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error)
{
	if (!answers->ranks.count) {
		struct sn_sheet *sheet = sn_page_sheet(page, "ranks", "arrival at collectives");
		sn_sheet_note(sheet, "%s",
			      answers->collectives.arrival_count
				  ? "no collective has partners in this trace: import the "
				    "files of all ranks together"
				  : "no collectives are recorded");
		return 0;
	}
	if (participants(answers, page) || by_node(answers, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return causes(answers, page, error);
}
