/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of an iteration: what it consists of, and what would shorten it. */
#include "views.h"

#include <math.h>
#include <stdio.h>

static void shares(const struct sn_answers *answers, const struct sn_critical_path *path,
		   struct sn_page *page)
{
	char label[SN_NODE_CHARS], name[SN_PATH_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(
	    page, "critical_path", "critical path of %s: %s, by node",
	    sn_name_path(answers->db, &path->extent, name), sn_number_time(path->length_ns));
	sn_sheet_column(sheet, "time_ns", "on the path", "ns");
	sn_sheet_column(sheet, "share", "share", "ratio");
	sn_sheet_column(sheet, "gain_ns", "gain if 10% faster", "ns");
	sn_sheet_column(sheet, "gain_share", "of all", "ratio");
	sn_sheet_column(sheet, "gain_all_ns", "if it were free", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < path->share_count; i++) {
		const struct sn_path_share *one = path->shares + i;
		sn_sheet_number(sheet, one->time_ns);
		sn_sheet_number(sheet, one->time_ns / path->length_ns);
		sn_sheet_number(sheet, one->gain_ns);
		sn_sheet_number(sheet, one->gain_ns / path->length_ns);
		sn_sheet_number(sheet, one->gain_all_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node, label));
	}
	sn_sheet_note(sheet, "gain: all is played again with that node's work on threads and "
			     "devices faster, and all else in the same order");
	if (path->extent.is_cut)
		sn_sheet_note(sheet, "the trace is long and has no iterations: only its begin is "
				     "looked at");
}

static void kinds(const struct sn_critical_path *path, struct sn_page *page)
{
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "path_parts", "what the critical path consists of");
	sheet->is_whole = true;
	sn_sheet_column(sheet, "part", "part", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "share", "share", "ratio");
	sn_sheet_column(sheet, "gain_ns", "gain if 10% shorter", "ns");
	for (unsigned i = 0; i < SN_PATH_KINDS; i++) {
		if (path->kinds_ns[i] <= 0)
			continue;
		sn_sheet_text(sheet, sn_path_kind_name(i));
		sn_sheet_number(sheet, path->kinds_ns[i]);
		sn_sheet_number(sheet, path->kinds_ns[i] / path->length_ns);
		sn_sheet_number(sheet, i >= SN_PATH_LAUNCH ? path->kind_gains_ns[i] : NAN);
	}
}

/* What threads did in no recorded call. */
static void sampled(const struct sn_answers *answers, const struct sn_critical_path *path,
		    struct sn_page *page)
{
	char label[SN_NODE_CHARS];
	double known = 0;
	for (size_t i = 0; i < path->sampled_count; i++)
		known += path->sampled[i].time_ns;
	if (!path->sampled_count)
		return;
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "path_sampled", "of the path, in no recorded call, by samples");
	sn_sheet_column(sheet, "time_ns", "on the path", "ns");
	sn_sheet_column(sheet, "share", "share", "ratio");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < path->sampled_count; i++) {
		sn_sheet_number(sheet, path->sampled[i].time_ns);
		sn_sheet_number(sheet, path->sampled[i].time_ns / path->length_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, path->sampled[i].node, label));
	}
	if (path->own_ns > 1.01 * known)
		sn_sheet_note(sheet,
			      "%s of the path were in no recorded call; parts too short "
			      "for a sample are nobody's",
			      sn_number_time(path->own_ns));
}

/* "rank 0 · stream 7", "rank 0 · thread 12". */
static const char *place_of(const struct sn_answers *answers, uint32_t number,
			    char text[SN_PLACE_CHARS])
{
	if (number == SONDE_NONE)
		return "";
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	int used = 0;
	text[0] = 0;
	if (profile->rank >= 0)
		used = snprintf(text, SN_PLACE_CHARS, "rank %d · ", (int)profile->rank);
	if (profile->kind == SONDE_PROFILE_STREAM)
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "stream %u", profile->stream);
	else
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "thread %llu",
			 (unsigned long long)profile->tid);
	return text;
}

static void steps(const struct sn_answers *answers, const struct sn_critical_path *path,
		  struct sn_page *page)
{
	char place[SN_PLACE_CHARS], label[SN_LABEL_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "path_steps", "the path, step by step");
	sn_sheet_column(sheet, "start_ns", "at", "ns");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "where", "where", "");
	sn_sheet_column(sheet, "what", "what", "");
	sn_sheet_column(sheet, "context", "", "id");
	for (size_t i = 0; i < path->step_count; i++) {
		const struct sn_path_step *one = path->steps + i;
		sn_sheet_number(sheet, (double)(one->start_ns - path->start_ns));
		sn_sheet_number(sheet, (double)(one->end_ns - one->start_ns));
		sn_sheet_text(sheet, place_of(answers, one->profile, place));
		if (one->context != SONDE_NONE)
			sn_name_context(answers->db, one->context, label);
		else
			snprintf(label, sizeof(label), "[%s]", sn_path_kind_name(one->kind));
		sn_sheet_text(sheet, label);
		sn_sheet_number(sheet, one->context == SONDE_NONE ? NAN : (double)one->context);
	}
}

int sn_view_critical_path(const struct sn_answers *answers, struct sn_page *page,
			  struct sn_error *error)
{
	struct sn_critical_path path;
	int result = sn_critical_path(answers, &path, error);
	if (!result && path.length_ns > 0) {
		shares(answers, &path, page);
		kinds(&path, page);
		sampled(answers, &path, page);
		steps(answers, &path, page);
	} else if (!result) {
		sn_sheet_note(sn_page_sheet(page, "critical_path", "critical path"),
			      "neither calls nor operations of devices are recorded");
	}
	sn_critical_path_release(&path);
	return result;
}
