/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in sentences, many devices as lines, and what threads did. */
#include "views.h"

/* Many devices as lines; few are shown one by one. */
static void list_devices(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"device", "device", ""},
						   {"total_ns", "time", "ns"},
						   {"computation", "computing", "ratio"},
						   {"communication", "communicating", "ratio"},
						   {"copies", "copying", "ratio"},
						   {"idle", "idle", "ratio"},
						   {"no_work", "no work", "ratio"},
						   {"launch_bound", "launch-bound", "ratio"},
						   {"other_rank", "other rank", "ratio"}};
	struct sn_sheet *sheet = sn_page_table(page, "device_table", columns, "devices");
	sheet->is_whole = answers->times.count <= SN_SHEET_WHOLE;
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		const uint64_t *reasons_ns = answers->waits[i].reasons_ns;
		double whole = (double)(time->end_ns - time->start_ns);
		sn_sheet_text(sheet, sn_name_device(answers, i).text);
		sn_sheet_numbers(sheet, whole, (double)time->work_ns[SN_WORK_COMPUTE] / whole,
				 (double)time->exposed_ns[SN_WORK_COMMUNICATION] / whole,
				 (double)time->exposed_ns[SN_WORK_COPY] / whole,
				 (double)time->idle_ns / whole,
				 (double)reasons_ns[SN_WAIT_NO_WORK] / whole,
				 (double)reasons_ns[SN_WAIT_DISPATCH] / whole,
				 (double)reasons_ns[SN_WAIT_RANK] / whole);
	}
	sn_sheet_note(sheet, "the first four add up; the others are reasons, of which --view idle "
			     "has all");
}

int sn_view_summary(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	sn_show_inferred(answers, page);
	sn_show_evidence(answers, page);
	sn_show_findings(answers, &answers->findings, 1, page);
	if (answers->times.count > SN_FEW_DEVICES)
		list_devices(answers, page);
	if (answers->threads.thread_count && sn_show_thread_times(&answers->threads, page))
		return sn_fail_memory(error);
	return 0;
}
