/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes late to collectives, what it did instead, and where the others waited. */
#include "timeline/messages/stragglers.h"
#include "views.h"

enum { CAUSES = 20 };

static int show_causes(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error)
{
	static const struct sn_column columns[] = {
	    {"participant", "who", ""}, {"time_ns", "time", "ns"}, {"node", "node", ""}};
	struct sn_latest latest;
	int result = sn_latest(answers, &latest, error);
	struct sn_sheet *sheet =
	    sn_page_table(page, "late_in", columns, "while all others waited, the last one was in");
	for (size_t i = 0; !result && i < latest.count && i < CAUSES; i++) {
		sn_sheet_text(sheet, sn_name_participant(answers, latest.participant).text);
		sn_sheet_number(sheet, latest.nodes[i].value);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, latest.nodes[i].node).text);
	}
	free(latest.nodes);
	return result;
}

static int show_participants(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"participant", "who", ""},
						   {"collectives", "collectives", "count"},
						   {"last", "was last", "count"},
						   {"waited_ns", "waited", "ns"},
						   {"delayed_ns", "others waited", "ns"},
						   {"late_ns", "late by", "ns"},
						   {"clock_offset_ns", "clock +", "ns"}};
	const struct sn_ranks *ranks = &answers->ranks;
	size_t *order = sn_ranks_order(ranks);
	if (!order)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet = sn_page_table(page, "ranks", columns, "arrival at collectives");
	sheet->is_whole = ranks->participant_count <= SN_SHEET_WHOLE;
	for (size_t i = 0; i < ranks->participant_count; i++) {
		const struct sn_rank_sum *sum = ranks->sums + order[i];
		sn_sheet_text(sheet, sn_name_participant(answers, order[i]).text);
		sn_sheet_numbers(sheet, sum->count, sum->last_count, sum->waited_ns,
				 sum->delayed_ns, sum->late_ns, sum->offset_ns);
	}
	free(order);
	sn_sheet_note(sheet, "others waited: by all others together, while this one was the last; "
			     "late by: behind the one before it");
	if (ranks->is_contradictory)
		sn_sheet_note(sheet,
			      "clocks contradict each other, and no offset of each rank mends "
			      "that: collectives belong together by name, size and order, "
			      "and waits are no better than clocks");
	else if (ranks->is_shifted)
		sn_sheet_note(sheet, "clocks contradict each other: brought together by the ends "
				     "of collectives, so that waits are approximate");
	if (ranks->is_overlapped)
		sn_sheet_note(
		    sheet, "recordings lack some of the collectives: those of a kind that overlap "
			   "in time are taken to belong together");
	if (ranks->alone_count)
		sn_sheet_note(sheet,
			      "%zu parts of collectives have no partner in the trace and are left "
			      "out",
			      ranks->alone_count);
	return 0;
}

static int show_nodes(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"wait_ns", "waited", "ns"},
						   {"count", "collectives", "count"},
						   {"last", "mostly last", ""},
						   {"last_share", "of them", "ratio"},
						   {"node", "node", ""}};
	size_t count;
	struct sn_rank_node *nodes = sn_rank_nodes(answers, &count);
	if (!nodes)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet =
	    sn_page_table(page, "waits_at", columns, "where ranks waited for others");
	for (size_t i = 0; i < count; i++) {
		const struct sn_rank_node *one = nodes + i;
		sn_sheet_numbers(sheet, one->wait_ns, one->count);
		sn_sheet_text(sheet, sn_name_participant(answers, one->mostly).text);
		sn_sheet_number(sheet, (double)one->last_count / one->count);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node).text);
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
	if (show_participants(answers, page) || show_nodes(answers, page))
		return sn_fail_memory(error);
	return show_causes(answers, page, error);
}
