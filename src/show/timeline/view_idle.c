/* SPDX-License-Identifier: Apache-2.0 */
/* Why devices do not compute, what the host did meanwhile and before the first operation. */
#include "timeline/devices/blame_rows.h"
#include "timeline/iterations/iteration_starts.h"
#include "timeline/node_sums.h"
#include "views.h"

enum { NODES_BEFORE = 20 };

static void show_reasons(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"device", "device", ""},
						   {"reason", "reason", ""},
						   {"time_ns", "time", "ns"},
						   {"share", "share", "ratio"},
						   {"meaning", "", ""}};
	struct sn_sheet *sheet =
	    sn_page_table(page, "waits", columns, "why devices did not compute");
	sheet->is_whole = true;
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		const uint64_t *reasons_ns = answers->waits[i].reasons_ns;
		double whole = (double)(time->end_ns - time->start_ns);
		for (unsigned r = 0; r < SN_WAITS; r++) {
			if (!reasons_ns[r])
				continue;
			sn_sheet_text(sheet, sn_name_device(answers, i).text);
			sn_sheet_text(sheet, sn_wait_name(r));
			sn_sheet_numbers(sheet, reasons_ns[r], (double)reasons_ns[r] / whole);
			sn_sheet_text(sheet, sn_wait_meaning(r));
		}
	}
	sn_sheet_note(sheet, "shares are of the time from a device's first operation to its last; "
			     "computation has the rest");
}

/* A row for each node; `sums`, which may be NULL, are freed. */
static int add_nodes(const struct sn_answers *answers, size_t device, struct sn_node_sum *sums,
		     size_t count, struct sn_sheet *sheet)
{
	if (!sums)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++) {
		sn_sheet_text(sheet, sn_name_device(answers, device).text);
		sn_sheet_number(sheet, sums[i].value);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, sums[i].node).text);
	}
	free(sums);
	return 0;
}

static int show_before(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"device", "device", ""}, {"time_ns", "time", "ns"}, {"node", "node", ""}};
	struct sn_sheet *sheet = sn_page_table(page, "before_first", columns,
					       "what threads did before the first operation");
	for (size_t i = 0; i < answers->times.count; i++) {
		size_t count = 0;
		struct sn_node_sum *sums =
		    sn_node_sums(&answers->nodes, answers->waits[i].before, &count);
		if (add_nodes(answers, i, sums, count < NODES_BEFORE ? count : NODES_BEFORE, sheet))
			return SN_ERR_MEMORY;
	}
	if (!sn_sheet_rows(sheet))
		sn_sheet_note(sheet, "nothing is recorded before it");
	return 0;
}

static void add_blame(const struct sn_answers *answers, size_t device, double time_ns,
		      const char *name, struct sn_sheet *sheet)
{
	double idle = (double)answers->times.devices[device].idle_ns;
	sn_sheet_text(sheet, sn_name_device(answers, device).text);
	sn_sheet_numbers(sheet, time_ns, idle > 0 ? time_ns / idle : 0);
	sn_sheet_text(sheet, name);
}

static int show_blame(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"device", "device", ""},
						   {"time_ns", "time", "ns"},
						   {"share", "of idle", "ratio"},
						   {"node", "node", ""}};
	struct sn_sheet *sheet =
	    sn_page_table(page, "blame", columns, "while a device was idle, its process was in");
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_blame *blame = answers->blames + i;
		size_t count;
		struct sn_blame_row *rows = sn_blame_rows(&answers->nodes, blame, 1, &count);
		if (!rows)
			return SN_ERR_MEMORY;
		for (size_t k = 0; k < count; k++)
			add_blame(answers, i, rows[k].time_ns,
				  sn_name_blame(&answers->nodes, rows[k].context).text, sheet);
		free(rows);
	}
	return 0;
}

static int show_before_each(const struct sn_answers *answers, struct sn_page *page,
			    struct sn_error *error)
{
	static const struct sn_column columns[] = {{"device", "device", ""},
						   {"iteration", "iteration", ""},
						   {"count", "times", "count"},
						   {"before_ns", "before device", "ns"},
						   {"before_share", "of each", "ratio"},
						   {"time_ns", "of that", "ns"},
						   {"node", "node", ""}};
	struct sn_iteration_starts starts;
	if (!answers->iterations.count || !answers->times.count)
		return 0;
	struct sn_sheet *sheet = sn_page_table(page, "before_each", columns,
					       "what threads did before the device in iterations");
	sn_sheet_note(sheet, "on average of the iterations in which the device works: from the "
			     "begin to the moment when it is busy; threads add up");
	int result = sn_iteration_starts(answers, &starts, error);
	for (size_t i = 0; i < starts.count && !result; i++) {
		const struct sn_iteration_start *one = starts.items + i;
		sn_sheet_text(sheet, sn_name_device(answers, one->device).text);
		sn_sheet_text(sheet, sn_name_context(answers->db, one->context).text);
		sn_sheet_numbers(sheet, one->count, one->before_ns / one->count,
				 one->before_ns / one->whole_ns, one->time_ns / one->count);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node).text);
	}
	free(starts.items);
	return result;
}

int sn_view_idle(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	show_reasons(answers, page);
	sn_show_inferred(answers, page);
	if (show_blame(answers, page) || show_before(answers, page))
		return sn_fail_memory(error);
	return show_before_each(answers, page, error);
}
