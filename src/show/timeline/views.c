/* SPDX-License-Identifier: Apache-2.0 */
/* The list of views, and what several of them show; see views.h. */
#include "views.h"

#include <stdlib.h>
#include <string.h>

const struct sn_timeline_view sn_timeline_views[] = {
#define SN_VIEW(identifier, name, needs, summary)                                                  \
	{name, summary, SN_ANSWERS_##needs, sn_view_##identifier},
#include "show/timeline/views.def"
#undef SN_VIEW
    {NULL, NULL, SN_ANSWERS_NODES, NULL}};

static bool has_sheet(const struct sn_page *page, const char *key)
{
	for (size_t i = 0; i < page->count; i++)
		if (!strcmp(page->sheets[i]->key, key))
			return true;
	return false;
}

void sn_show_left_out(const struct sn_answers *answers, struct sn_page *page)
{
	if (!answers->times.left_out || has_sheet(page, "left_out"))
		return;
	struct sn_sheet *sheet = sn_page_sheet(page, "left_out", "left out");
	sn_sheet_column(sheet, "what", "what", "");
	sn_sheet_column(sheet, "count", "count", "count");
	sn_sheet_column(sheet, "of", "of all", "count");
	sn_sheet_text(sheet, "devices");
	sn_sheet_number(sheet, (double)answers->times.left_out);
	sn_sheet_number(sheet, (double)(answers->times.left_out + answers->times.count));
	sn_sheet_note(sheet,
		      "of one process the %d devices with the most operations are looked at; no "
		      "number here has anything of the others",
		      SN_PROCESS_DEVICES);
}

void sn_show_inferred(const struct sn_answers *answers, struct sn_page *page)
{
	const char *launches = sonde_db_property(answers->db, "inferred.launches");
	double all = 0;
	if (!launches || has_sheet(page, "inferred"))
		return;
	for (size_t i = 0; i < answers->times.count; i++)
		for (unsigned work = 0; work < SN_WORK_KINDS; work++)
			all += (double)answers->times.devices[i].operation_counts[work];
	struct sn_sheet *sheet = sn_page_sheet(page, "inferred", "inferred, not recorded");
	sn_sheet_column(sheet, "what", "what", "");
	sn_sheet_column(sheet, "count", "of operations", "count");
	sn_sheet_column(sheet, "of", "of all", "count");
	sn_sheet_text(sheet, "which call launched them");
	sn_sheet_number(sheet, strtod(launches, NULL));
	sn_sheet_number(sheet, all);
	sn_sheet_note(sheet, "the trace has no correlation numbers: operations are given to calls "
			     "by their order, where that leaves no choice");
}
