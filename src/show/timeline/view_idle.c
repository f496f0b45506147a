/* SPDX-License-Identifier: Apache-2.0 */
/* Why devices do not compute, what the host did meanwhile and before the first operation. */
#include "timeline/answers.h"
#include "timeline/iterations/iteration_starts.h"
#include "timeline/node_sums.h"

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
			sn_sheet_text(sheet, sn_answers_device(answers, i, place));
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
			sn_sheet_text(sheet, sn_answers_device(answers, i, place));
			sn_sheet_number(sheet, sums[k].value);
			sn_sheet_text(sheet,
				      sn_node_map_label(&answers->nodes, sums[k].node, label));
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
	double *values = calloc(answers->nodes.table.count + 1ull, sizeof(*values));
	int result = values ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; i < answers->times.count && !result; i++) {
		size_t count;
		const struct sn_blame *blame = answers->blames + i;
		double idle = (double)answers->times.devices[i].idle_ns;
		for (uint32_t n = 0; n < answers->nodes.table.count; n++)
			values[n] = 0;
		for (size_t k = 0; k < blame->count; k++)
			values[answers->nodes.of_context[blame->shares[k].context]] +=
			    blame->shares[k].time_ns;
		struct sn_node_sum *sums = sn_node_sums(&answers->nodes, values, &count);
		result = sums ? 0 : SN_ERR_MEMORY;
		for (size_t k = 0; k < count; k++) {
			sn_sheet_text(sheet, sn_answers_device(answers, i, place));
			sn_sheet_number(sheet, sums[k].value);
			sn_sheet_number(sheet, idle > 0 ? sums[k].value / idle : 0);
			sn_sheet_text(sheet,
				      sn_node_map_label(&answers->nodes, sums[k].node, label));
		}
		free(sums);
	}
	free(values);
	return result;
}

int sn_view_idle(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	reasons(answers, page);
	sn_answers_inferred(answers, page);
	if (blamed(answers, page) || before(answers, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return sn_iteration_starts(answers, page, error);
}
