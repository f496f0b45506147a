/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in sentences, many devices as lines, and what threads did. */
#include "views.h"

/* Many devices as lines; few are shown one by one. */
static void list_devices(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct {
		const char *key, *head;
		enum sn_wait wait;
	} waits[] = {{"no_work", "no work", SN_WAIT_NO_WORK},
		     {"launch_bound", "launch-bound", SN_WAIT_DISPATCH},
		     {"other_rank", "other rank", SN_WAIT_RANK}};
	char place[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "device_table", "devices");
	sheet->is_whole = answers->times.count <= 64;
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "total_ns", "time", "ns");
	sn_sheet_column(sheet, "computation", "computing", "ratio");
	sn_sheet_column(sheet, "communication", "communicating", "ratio");
	sn_sheet_column(sheet, "copies", "copying", "ratio");
	sn_sheet_column(sheet, "idle", "idle", "ratio");
	for (size_t w = 0; w < sizeof(waits) / sizeof(*waits); w++)
		sn_sheet_column(sheet, waits[w].key, waits[w].head, "ratio");
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		double whole = (double)(time->end_ns - time->start_ns);
		sn_sheet_text(sheet, sn_name_device(answers, i, place));
		sn_sheet_number(sheet, whole);
		sn_sheet_number(sheet, (double)time->work_ns[SN_WORK_COMPUTE] / whole);
		sn_sheet_number(sheet, (double)time->exposed_ns[SN_WORK_COMMUNICATION] / whole);
		sn_sheet_number(sheet, (double)time->exposed_ns[SN_WORK_COPY] / whole);
		sn_sheet_number(sheet, (double)time->idle_ns / whole);
		for (size_t w = 0; w < sizeof(waits) / sizeof(*waits); w++)
			sn_sheet_number(sheet, (double)answers->waits[i].reasons_ns[waits[w].wait] /
						   whole);
	}
	sn_sheet_note(sheet, "the first four add up; the others are reasons, of which --view idle "
			     "has all");
}

int sn_view_summary(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	sn_show_inferred(answers, page);
	sn_show_findings(answers, &answers->findings, 1, page);
	if (answers->times.count > SN_FEW_DEVICES)
		list_devices(answers, page);
	if (answers->threads.thread_count && sn_show_thread_times(&answers->threads, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return 0;
}
