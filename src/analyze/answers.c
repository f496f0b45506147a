/* SPDX-License-Identifier: Apache-2.0 */
/* Loading for all views; see answers.h. */
#include "answers.h"

#include "device_tracks.h"
#include "report/number.h"

#include <stdio.h>
#include <string.h>

const struct sn_view sn_views[] = {
#define SN_VIEW(identifier, name, needs, summary)                                                  \
	{name, summary, SN_ANSWERS_##needs, sn_view_##identifier},
#include "views.def"
#undef SN_VIEW
    {NULL, NULL, SN_ANSWERS_NODES, NULL}};

/* When the device waited for other ranks, or NULL. */
static const struct sn_intervals *other_ranks(const struct sn_answers *answers, size_t device)
{
	for (size_t i = 0; i < answers->details.participant_count; i++)
		if (answers->details.participants[i].device == device)
			return answers->ranks.waits + i;
	return NULL;
}

static int load_device(struct sn_answers *answers, size_t device, struct sn_error *error)
{
	struct sn_intervals host = {0};
	struct sn_waits_input input = {
	    .db = answers->db,
	    .trace = answers->trace,
	    .times = &answers->times,
	    .launches = answers->launches,
	    .nodes = &answers->nodes,
	    .other_ranks = other_ranks(answers, device),
	    .host_ranks = &host,
	};
	int result = 0;
	if (sn_deliveries_waits(answers->db, &answers->messages,
				answers->times.devices[device].profile, &host))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_intervals_settle(&host);
	if (!result)
		result = sn_waits(&input, device, answers->waits + device, answers->blames + device,
				  error);
	sn_intervals_release(&host);
	return result;
}

static int load_devices(struct sn_answers *answers, struct sn_error *error)
{
	size_t count = answers->times.count;
	int result = 0;
	answers->waits = calloc(count + 1, sizeof(*answers->waits));
	answers->blames = calloc(count + 1, sizeof(*answers->blames));
	if (!answers->waits || !answers->blames)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < count && !result; i++)
		result = load_device(answers, i, error);
	return result;
}

/* ---- calls ---- */

static int take_calls(struct sn_answers *answers, const struct sonde_track *track,
		      const struct sonde_event_block *block, struct sn_error *error)
{
	/* a stream's copy of an annotation says when its kernels ran */
	if (sonde_db_profile(answers->db, track->profile)->kind == SONDE_PROFILE_THREAD &&
	    sn_iterations_take(&answers->iterations, answers->db, track->profile, block))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return sn_launches_take(answers->launches, track->profile, block, error);
}

static int read_calls(struct sn_answers *answers, uint32_t number, unsigned flags,
		      struct sn_error *error)
{
	const struct sonde_track *track = sonde_trace_track(answers->trace, number);
	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(answers->trace, number, 0, UINT64_MAX, flags);
	struct sonde_event_block block;
	struct sonde_db_error why;
	int result = cursor ? 1 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (result > 0) {
		result = sonde_event_cursor_next(cursor, &block, &why);
		if (result < 0)
			result = sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
		int taken = result > 0 ? take_calls(answers, track, &block, error) : 0;
		result = taken ? taken : result;
	}
	sonde_event_cursor_free(cursor);
	return result;
}

/* Iterations, and where there are devices the calls that launch: one pass over threads. */
static int load_calls(struct sn_answers *answers, struct sn_error *error)
{
	const struct sonde_trace *trace = answers->trace;
	size_t devices;
	struct sn_device_track *tracks = sn_device_tracks(answers->db, trace, &devices);
	int result = tracks ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	answers->launches = calloc(1, sizeof(*answers->launches));
	if (!answers->launches)
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	else
		sn_launches_init(answers->launches, 3 * sn_answers_sorting(answers));
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    sonde_db_profile(answers->db, track->profile)->kind != SONDE_PROFILE_STREAM)
			result = read_calls(answers, i, devices ? 0 : SONDE_EVENTS_BRIEF, error);
	}
	if (!result && sn_iterations_settle(&answers->iterations))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		result = sn_launches_finish(answers->launches, error);
	free(tracks);
	return result;
}

/* ---- all ---- */

size_t sn_answers_sorting(const struct sn_answers *answers)
{
	return (size_t)((answers->memory_bytes ? answers->memory_bytes : SN_ANSWERS_MEMORY) / 6);
}

static void find_span(struct sn_answers *answers)
{
	answers->start_ns = UINT64_MAX;
	for (uint32_t i = 0; i < sonde_trace_track_count(answers->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(answers->trace, i);
		if (track->start_ns < answers->start_ns)
			answers->start_ns = track->start_ns;
		if (track->end_ns > answers->end_ns)
			answers->end_ns = track->end_ns;
	}
}

static int load_ranks(struct sn_answers *answers, struct sn_error *error)
{
	int result =
	    sn_details(answers->db, answers->trace, &answers->times, &answers->details, error);
	if (!result)
		result = sn_ranks(&answers->details, &answers->ranks, error);
	if (!result)
		result = sn_deliveries(answers->db, answers->trace, &answers->details,
				       &answers->ranks, &answers->messages, error);
	return result;
}

int sn_answers(struct sn_answers *answers, enum sn_answers_part needed, struct sn_error *error)
{
	const struct sonde_db *db = answers->db;
	find_span(answers);
	int result = 0;
	if (sn_node_map(db, &answers->nodes))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result && needed >= SN_ANSWERS_ITERATIONS)
		result = load_calls(answers, error);
	if (!result && needed >= SN_ANSWERS_DEVICES)
		result =
		    sn_device_times(db, answers->trace, answers->launched_only, answers->launches,
				    sn_answers_sorting(answers), &answers->times, error);
	if (!result && needed >= SN_ANSWERS_RANKS)
		result = load_ranks(answers, error);
	if (!result && needed >= SN_ANSWERS_WAITS)
		result = load_devices(answers, error);
	return result;
}

void sn_answers_release(struct sn_answers *answers)
{
	for (size_t i = 0; i < answers->times.count; i++) {
		if (answers->waits)
			sn_waits_release(answers->waits + i);
		if (answers->blames)
			sn_blame_release(answers->blames + i);
	}
	free(answers->waits);
	free(answers->blames);
	sn_deliveries_release(&answers->messages);
	sn_ranks_release(&answers->ranks);
	sn_details_release(&answers->details);
	sn_node_map_release(&answers->nodes);
	sn_device_times_release(&answers->times);
	sn_iterations_release(&answers->iterations);
	if (answers->launches)
		sn_launches_release(answers->launches);
	free(answers->launches);
}

/* ---- words ---- */

static bool has_runs(const struct sn_answers *answers)
{
	for (uint32_t i = 0; i < sonde_db_profile_count(answers->db); i++)
		if (sonde_db_profile(answers->db, i)->run)
			return true;
	return false;
}

const char *sn_answers_device(const struct sn_answers *answers, size_t number,
			      char text[SN_PLACE_CHARS])
{
	const struct sn_device_time *device = answers->times.devices + number;
	int used = 0;
	if (has_runs(answers))
		used +=
		    snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "run %u · ", device->run);
	if (device->rank >= 0)
		used += snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "rank %d · ",
				 (int)device->rank);
	snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "device %u", device->device);
	return text;
}

const char *sn_answers_participant(const struct sn_answers *answers, size_t number,
				   char text[SN_PLACE_CHARS])
{
	const struct sn_participant *one = answers->details.participants + number;
	int used = 0;
	if (one->device != SONDE_NONE && one->rank < 0)
		return sn_answers_device(answers, one->device, text);
	if (has_runs(answers))
		used += snprintf(text, SN_PLACE_CHARS, "run %u · ", one->run);
	if (one->rank >= 0)
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "rank %d", (int)one->rank);
	else
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "process %llu",
			 (unsigned long long)sonde_db_profile(answers->db, one->profile)->pid);
	return text;
}

const char *sn_answers_process(const struct sn_answers *answers, uint32_t number,
			       char text[SN_PLACE_CHARS])
{
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	int used = 0;
	text[0] = 0;
	if (profile->run)
		used = snprintf(text, SN_PLACE_CHARS, "run %u · ", profile->run);
	if (profile->rank >= 0)
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "rank %d", (int)profile->rank);
	else
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "process %llu",
			 (unsigned long long)profile->pid);
	return text;
}

const char *sn_answers_time(double ns)
{
	static char texts[8][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_format(ns, "ns", texts[next++ % 8]);
}

const char *sn_answers_share(double part, double whole)
{
	static char texts[8][SN_NUMBER_CHARS];
	static unsigned next;
	return sn_number_share(whole > 0 ? part / whole : 0, texts[next++ % 8]);
}

void sn_answers_inferred(const struct sn_answers *answers, struct sn_page *page)
{
	const char *launches = sonde_db_property(answers->db, "inferred.launches");
	double all = 0;
	for (size_t i = 0; i < page->count; i++)
		if (!strcmp(page->sheets[i]->key, "inferred"))
			return;
	if (!launches)
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
