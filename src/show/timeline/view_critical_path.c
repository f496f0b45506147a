/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of an iteration: what it consists of, and what would shorten it. */
#include "views.h"

#include <stdio.h>

static void show_shares(const struct sn_answers *answers, const struct sn_critical_path *path,
			struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"time_ns", "on the path", "ns"},	      {"share", "share", "ratio"},
	    {"gain_ns", "gain if 10% faster", "ns"},  {"gain_share", "of all", "ratio"},
	    {"gain_all_ns", "if it were free", "ns"}, {"node", "node", ""}};
	struct sn_sheet *sheet = sn_page_table(
	    page, "critical_path", columns, "critical path of %s: %s, by node",
	    sn_name_path(answers->db, &path->extent).text, sn_number_time(path->length_ns).text);
	for (size_t i = 0; i < path->share_count; i++) {
		const struct sn_path_share *one = path->shares + i;
		sn_sheet_numbers(sheet, one->time_ns, one->time_ns / path->length_ns, one->gain_ns,
				 one->gain_ns / path->length_ns, one->gain_all_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node).text);
	}
	sn_sheet_note(sheet, "gain: all is played again with that node's work on threads and "
			     "devices faster, and all else in the same order");
	if (path->extent.is_cut)
		sn_sheet_note(sheet, "the trace is long and has no iterations: only its begin is "
				     "looked at");
}

static void show_kinds(const struct sn_critical_path *path, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"part", "part", ""},
						   {"time_ns", "time", "ns"},
						   {"share", "share", "ratio"},
						   {"gain_ns", "gain if 10% shorter", "ns"}};
	struct sn_sheet *sheet =
	    sn_page_table(page, "path_parts", columns, "what the critical path consists of");
	sheet->is_whole = true;
	for (unsigned i = 0; i < SN_PATH_KINDS; i++) {
		if (path->kinds_ns[i] <= 0)
			continue;
		sn_sheet_text(sheet, sn_path_kind_name(i));
		sn_sheet_numbers(sheet, path->kinds_ns[i], path->kinds_ns[i] / path->length_ns,
				 i >= SN_PATH_LAUNCH ? path->kind_gains_ns[i] : NAN);
	}
}

/* The same by cause, as the sentence has it: what threads do has several. */
static void show_causes(const struct sn_critical_path *path, struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"cause", "cause", ""}, {"time_ns", "time", "ns"}, {"share", "share", "ratio"}};
	struct sn_sheet *sheet = sn_page_table(page, "path_causes", columns, "what limits it");
	sheet->is_whole = true;
	for (unsigned i = 0; i < SN_PATH_CAUSES; i++) {
		double time_ns = path->causes.time_ns[i];
		if (time_ns <= 0)
			continue;
		sn_sheet_text(sheet, sn_path_cause_name(i));
		sn_sheet_numbers(sheet, time_ns, time_ns / path->length_ns);
	}
}

/* What threads did in no recorded call. */
static void show_sampled(const struct sn_answers *answers, const struct sn_critical_path *path,
			 struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"time_ns", "on the path", "ns"}, {"share", "share", "ratio"}, {"node", "node", ""}};
	double known = 0;
	for (size_t i = 0; i < path->sampled_count; i++)
		known += path->sampled[i].time_ns;
	if (!path->sampled_count)
		return;
	struct sn_sheet *sheet = sn_page_table(page, "path_sampled", columns,
					       "of the path, in no recorded call, by samples");
	for (size_t i = 0; i < path->sampled_count; i++) {
		double time_ns = path->sampled[i].time_ns;
		sn_sheet_numbers(sheet, time_ns, time_ns / path->length_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, path->sampled[i].node).text);
	}
	if (path->own_ns > 1.01 * known)
		sn_sheet_note(sheet,
			      "%s of the path were in no recorded call; in the rest of that the "
			      "thread waited, or nothing is known",
			      sn_number_time(path->own_ns).text);
}

/* "rank 0 · stream 7", "rank 0 · thread 12". */
static struct sn_place_name name_lane(const struct sn_answers *answers, uint32_t number)
{
	if (number == SONDE_NONE)
		return (struct sn_place_name){""};
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	return profile->kind == SONDE_PROFILE_STREAM
		   ? sn_name_in_rank(profile, "stream %u", profile->stream)
		   : sn_name_in_rank(profile, "thread %llu", (unsigned long long)profile->tid);
}

static void show_steps(const struct sn_answers *answers, const struct sn_critical_path *path,
		       struct sn_page *page)
{
	static const struct sn_column columns[] = {{"start_ns", "at", "ns"},
						   {"time_ns", "time", "ns"},
						   {"where", "where", ""},
						   {"what", "what", ""},
						   {"context", "", "id"}};
	struct sn_sheet *sheet =
	    sn_page_table(page, "path_steps", columns, "the path, step by step");
	for (size_t i = 0; i < path->step_count; i++) {
		const struct sn_path_step *one = path->steps + i;
		bool is_call = one->context != SONDE_NONE;
		char kind[40];
		sn_sheet_numbers(sheet, one->start_ns - path->start_ns,
				 one->end_ns - one->start_ns);
		sn_sheet_text(sheet, name_lane(answers, one->profile).text);
		snprintf(kind, sizeof(kind), "[%s]", sn_path_kind_name(one->kind));
		sn_sheet_text(sheet,
			      is_call ? sn_name_context(answers->db, one->context).text : kind);
		sn_sheet_number(sheet, is_call ? one->context : (double)NAN);
	}
}

int sn_view_critical_path(const struct sn_answers *answers, struct sn_page *page,
			  struct sn_error *error)
{
	struct sn_critical_path path;
	int result = sn_critical_path(answers, &path, error);
	if (!result && path.length_ns > 0) {
		show_shares(answers, &path, page);
		show_kinds(&path, page);
		show_causes(&path, page);
		show_sampled(answers, &path, page);
		show_steps(answers, &path, page);
	} else if (!result) {
		sn_sheet_note(sn_page_sheet(page, "critical_path", "critical path"),
			      "neither calls nor operations of devices are recorded");
	}
	sn_critical_path_release(&path);
	return result;
}
