/* SPDX-License-Identifier: Apache-2.0 */
/* What of a device and its process goes on at the same time. */
#include "views.h"

#include <string.h>

static void overlaps(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct {
		const char *what;
		unsigned of, beside;
	} pairs[] = {
	    {"communication", SN_STATE_COMMUNICATION, SN_STATE_COMPUTE},
	    {"copies", SN_STATE_COPY, SN_STATE_COMPUTE},
	    {"threads", SN_STATE_HOST, SN_STATE_COMPUTE | SN_STATE_COMMUNICATION | SN_STATE_COPY}};
	char place[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "overlap", "how much is hidden");
	sheet->is_whole = true;
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "what", "what", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "hidden_ns", "hidden", "ns");
	sn_sheet_column(sheet, "share", "share", "ratio");
	sn_sheet_column(sheet, "behind", "behind", "");
	for (size_t i = 0; i < answers->times.count; i++)
		for (size_t p = 0; p < sizeof(pairs) / sizeof(*pairs); p++) {
			struct sn_overlap overlap =
			    sn_waits_overlap(answers->waits + i, pairs[p].of, pairs[p].beside);
			double all = (double)overlap.all_ns, hidden = (double)overlap.hidden_ns;
			if (!overlap.all_ns)
				continue;
			sn_sheet_text(sheet, sn_name_device(answers, i, place));
			sn_sheet_text(sheet, pairs[p].what);
			sn_sheet_number(sheet, all);
			sn_sheet_number(sheet, hidden);
			sn_sheet_number(sheet, hidden / all);
			sn_sheet_text(sheet, pairs[p].of == SN_STATE_HOST ? "work of the device"
									  : "computation");
		}
}

static void combinations(const struct sn_answers *answers, struct sn_page *page)
{
	static const char *const names[] = {"threads", "computation", "communication", "copies"};
	char place[SN_PLACE_CHARS], text[96];
	struct sn_sheet *sheet = sn_page_sheet(page, "states", "what goes on together");
	sheet->is_whole = answers->times.count < 3;
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "state", "exactly these", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "share", "share", "ratio");
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		for (unsigned mask = 0; mask < 16; mask++) {
			uint64_t ns = answers->waits[i].states_ns[mask];
			if (!ns)
				continue;
			text[0] = 0;
			for (unsigned bit = 0; bit < 4; bit++)
				if (mask >> bit & 1) {
					if (*text)
						strcat(text, " + ");
					strcat(text, names[bit]);
				}
			sn_sheet_text(sheet, sn_name_device(answers, i, place));
			sn_sheet_text(sheet, *text ? text : "nothing");
			sn_sheet_number(sheet, (double)ns);
			sn_sheet_number(sheet,
					(double)ns / (double)(time->end_ns - time->start_ns));
		}
	}
	sn_sheet_note(sheet, "threads: any thread of the process is in a recorded call that does "
			     "not wait for a thread or the device");
}

int sn_view_states(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	(void)error;
	overlaps(answers, page);
	combinations(answers, page);
	return 0;
}
