/* SPDX-License-Identifier: Apache-2.0 */
/* Why devices do not compute, what the host did meanwhile and before the first operation. */
#include "timeline/iterations/iteration_starts.h"
#include "timeline/node_sums.h"
#include "views.h"

static void reasons(const struct sn_answers *answers, struct sn_page *page)
{
	char place[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "waits", "why devices did not compute");
	sheet->is_whole = true;
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "reason", "reason", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "share", "share", "ratio");
	sn_sheet_column(sheet, "meaning", "", "");
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		const struct sn_waits *waits = answers->waits + i;
		double whole = (double)(time->end_ns - time->start_ns);
		for (unsigned r = 0; r < SN_WAITS; r++) {
			if (!waits->reasons_ns[r])
				continue;
			sn_sheet_text(sheet, sn_name_device(answers, i, place));
			sn_sheet_text(sheet, sn_wait_name(r));
			sn_sheet_number(sheet, (double)waits->reasons_ns[r]);
			sn_sheet_number(sheet, (double)waits->reasons_ns[r] / whole);
			sn_sheet_text(sheet, sn_wait_meaning(r));
		}
	}
	sn_sheet_note(sheet, "shares are of the time from a device's first operation to its last; "
			     "computation has the rest");
}

static int before(const struct sn_answers *answers, struct sn_page *page)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "before_first", "what threads did before the first operation");
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < answers->times.count; i++) {
		size_t count;
		struct sn_node_sum *sums =
		    sn_node_sums(&answers->nodes, answers->waits[i].before, &count);
		if (!sums)
			return SN_ERR_MEMORY;
		for (size_t k = 0; k < count && k < 20; k++) {
			sn_sheet_text(sheet, sn_name_device(answers, i, place));
			sn_sheet_number(sheet, sums[k].value);
			sn_sheet_text(sheet, sn_name_node(&answers->nodes, sums[k].node, label));
		}
		free(sums);
	}
	if (!sn_sheet_rows(sheet))
		sn_sheet_note(sheet, "nothing is recorded before it");
	return 0;
}

static int blamed(const struct sn_answers *answers, struct sn_page *page)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "blame", "while a device was idle, its process was in");
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "share", "of idle", "ratio");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < answers->times.count; i++) {
		size_t count;
		double idle = (double)answers->times.devices[i].idle_ns;
		struct sn_node_sum *sums =
		    sn_node_sums_of_blames(&answers->nodes, answers->blames + i, 1, &count);
		if (!sums)
			return SN_ERR_MEMORY;
		for (size_t k = 0; k < count; k++) {
			sn_sheet_text(sheet, sn_name_device(answers, i, place));
			sn_sheet_number(sheet, sums[k].value);
			sn_sheet_number(sheet, idle > 0 ? sums[k].value / idle : 0);
			sn_sheet_text(sheet, sn_name_node(&answers->nodes, sums[k].node, label));
		}
		free(sums);
	}
	return 0;
}

static int before_each(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS], name[SN_LABEL_CHARS];
	struct sn_iteration_starts starts;
	if (!answers->iterations.count || !answers->times.count)
		return 0;
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "before_each", "what threads did before the device in iterations");
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "iteration", "iteration", "");
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "before_ns", "before device", "ns");
	sn_sheet_column(sheet, "before_share", "of each", "ratio");
	sn_sheet_column(sheet, "time_ns", "of that", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	sn_sheet_note(sheet, "on average of the iterations in which the device works: from the "
			     "begin to the moment when it is busy; threads add up");
	int result = sn_iteration_starts(answers, &starts, error);
	for (size_t i = 0; i < starts.count && !result; i++) {
		const struct sn_iteration_start *one = starts.items + i;
		sn_sheet_text(sheet, sn_name_device(answers, one->device, place));
		sn_sheet_text(sheet, sn_name_context(answers->db, one->context, name));
		sn_sheet_number(sheet, one->count);
		sn_sheet_number(sheet, one->before_ns / one->count);
		sn_sheet_number(sheet, one->before_ns / one->whole_ns);
		sn_sheet_number(sheet, one->time_ns / one->count);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node, label));
	}
	free(starts.items);
	return result;
}

int sn_view_idle(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	reasons(answers, page);
	sn_show_inferred(answers, page);
	if (blamed(answers, page) || before(answers, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return before_each(answers, page, error);
}
