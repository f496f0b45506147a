/* SPDX-License-Identifier: Apache-2.0 */
/* Which activities of a device and its process overlap. */
#include "views.h"

#include <string.h>

static void show_overlaps(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct {
		const char *what, *behind;
		unsigned of, beside;
	} pairs[] = {{"communication", "computation", SN_STATE_COMMUNICATION, SN_STATE_COMPUTE},
		     {"copies", "computation", SN_STATE_COPY, SN_STATE_COMPUTE},
		     {"threads", "work of the device", SN_STATE_THREADS,
		      SN_STATE_COMPUTE | SN_STATE_COMMUNICATION | SN_STATE_COPY}};
	static const struct sn_column columns[] = {
	    {"device", "device", ""},	   {"what", "what", ""},	{"time_ns", "time", "ns"},
	    {"hidden_ns", "hidden", "ns"}, {"share", "share", "ratio"}, {"behind", "behind", ""}};
	struct sn_sheet *sheet = sn_page_table(page, "overlap", columns, "how much is hidden");
	sheet->is_whole = true;
	for (size_t i = 0; i < answers->times.count; i++)
		for (size_t p = 0; p < sizeof(pairs) / sizeof(*pairs); p++) {
			struct sn_overlap overlap =
			    sn_waits_overlap(answers->waits + i, pairs[p].of, pairs[p].beside);
			double all = (double)overlap.all_ns, hidden = (double)overlap.hidden_ns;
			if (!overlap.all_ns)
				continue;
			sn_sheet_text(sheet, sn_name_device(answers, i).text);
			sn_sheet_text(sheet, pairs[p].what);
			sn_sheet_numbers(sheet, all, hidden, hidden / all);
			sn_sheet_text(sheet, pairs[p].behind);
		}
}

/* "threads + copies" */
static void name_states(unsigned mask, char text[96])
{
	static const char *const names[] = {"threads", "computation", "communication", "copies"};
	text[0] = 0;
	for (unsigned bit = 0; bit < 4; bit++)
		if (mask >> bit & 1) {
			strcat(text, *text ? " + " : "");
			strcat(text, names[bit]);
		}
	if (!*text)
		strcpy(text, "nothing");
}

static void show_combinations(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"device", "device", ""},
						   {"state", "exactly these", ""},
						   {"time_ns", "time", "ns"},
						   {"share", "share", "ratio"}};
	char text[96];
	struct sn_sheet *sheet = sn_page_table(page, "states", columns, "what goes on together");
	sheet->is_whole = answers->times.count < 3;
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		for (unsigned mask = 0; mask < 16; mask++) {
			uint64_t ns = answers->waits[i].states_ns[mask];
			if (!ns)
				continue;
			name_states(mask, text);
			sn_sheet_text(sheet, sn_name_device(answers, i).text);
			sn_sheet_text(sheet, text);
			sn_sheet_numbers(sheet, ns,
					 (double)ns / (double)(time->end_ns - time->start_ns));
		}
	}
	sn_sheet_note(sheet, "threads: any thread of the process is in a recorded call that does "
			     "not wait for a thread or the device");
}

int sn_view_states(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	show_overlaps(answers, page);
	show_combinations(answers, page);
	return 0;
}
