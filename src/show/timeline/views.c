/* SPDX-License-Identifier: Apache-2.0 */
/* The list of views, and what several of them show; see views.h. */
#include "timeline/evidence.h"
#include "views.h"

#include <stdio.h>
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
	static const struct sn_column columns[] = {
	    {"what", "what", ""}, {"count", "count", "count"}, {"of", "of all", "count"}};
	if (!answers->times.left_out || has_sheet(page, "left_out"))
		return;
	struct sn_sheet *sheet = sn_page_table(page, "left_out", columns, "left out");
	sn_sheet_text(sheet, "devices");
	sn_sheet_numbers(sheet, answers->times.left_out,
			 answers->times.left_out + answers->times.count);
	sn_sheet_note(sheet,
		      "of one process the %d devices with the most operations are looked at; no "
		      "number here has anything of the others",
		      SN_PROCESS_DEVICES);
}

/* A run is in the list once, whatever its ranks. */
void sn_show_evidence(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"run", "run", ""}, {"has", "has", ""}};
	const struct sonde_db *db = answers->db;
	struct sn_sheet *sheet = NULL;
	for (uint32_t i = 0, last = SONDE_NONE; i < sonde_db_profile_count(db); i++) {
		const char *what = sn_evidence(db, i);
		uint32_t run = sonde_db_profile(db, i)->run;
		char key[32];
		if (!what || run == last)
			continue;
		last = run;
		snprintf(key, sizeof(key), "run.%u", run);
		if (!sheet)
			sheet =
			    sn_page_table(page, "evidence", columns, "recorded to explain others");
		sn_sheet_text(sheet, sonde_db_property(db, key) ? sonde_db_property(db, key) : key);
		sn_sheet_text(sheet, what);
	}
	if (sheet)
		sn_sheet_note(sheet, "they say which code the operations of others are of; no "
				     "number here has anything of their time");
}

void sn_show_inferred(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"what", "what", ""}, {"count", "of operations", "count"}, {"of", "of all", "count"}};
	const char *launches = sonde_db_property(answers->db, "inferred.launches");
	double all = 0;
	if (!launches || has_sheet(page, "inferred"))
		return;
	for (size_t i = 0; i < answers->times.count; i++)
		for (unsigned work = 0; work < SN_WORK_KINDS; work++)
			all += (double)answers->times.devices[i].operation_counts[work];
	struct sn_sheet *sheet = sn_page_table(page, "inferred", columns, "inferred, not recorded");
	sn_sheet_text(sheet, "which call launched them");
	sn_sheet_numbers(sheet, strtod(launches, NULL), all);
	sn_sheet_note(sheet, "the trace has no correlation numbers: operations are given to calls "
			     "by their order, where that leaves no choice");
}
