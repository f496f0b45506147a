/* SPDX-License-Identifier: Apache-2.0 */
/* Each part after what it needs; see answers.h. */
#include "answers.h"

#include "timeline/devices/device_tracks.h"
#include "lib/db/trace_reader.h"
#include "timeline/findings/finding_store.h"

/* By device the first participant that it is, SONDE_NONE; NULL without memory. */
static uint32_t *list_participants(const struct sn_answers *answers)
{
	const struct sn_collectives *collectives = &answers->collectives;
	uint32_t *participants = malloc((answers->times.count + 1) * sizeof(*participants));
	for (size_t i = 0; i < answers->times.count && participants; i++)
		participants[i] = SONDE_NONE;
	for (uint32_t i = (uint32_t)collectives->participant_count; i-- && participants;)
		if (collectives->participants[i].device != SONDE_NONE)
			participants[collectives->participants[i].device] = i;
	return participants;
}

/* `participant` is the one that waited for other ranks, or SONDE_NONE. */
static int load_device(struct sn_answers *answers, size_t device, uint32_t participant,
		       struct sn_error *error)
{
	struct sn_intervals host = {0};
	struct sn_waits_input input = {
	    .db = answers->db,
	    .trace = answers->trace,
	    .processes = &answers->processes,
	    .times = &answers->times,
	    .launches = answers->launches,
	    .nodes = &answers->nodes,
	    .other_ranks = participant == SONDE_NONE ? NULL : answers->ranks.waits + participant,
	    .host_ranks = &host,
	};
	int result = 0;
	if (sn_message_matching_waits(&answers->processes, &answers->messages,
				      answers->times.devices[device].profile, &host))
		result = sn_fail_memory(error);
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
	uint32_t *participants = list_participants(answers);
	if (!answers->waits || !answers->blames || !participants)
		result = sn_fail_memory(error);
	for (size_t i = 0; i < count && !result; i++)
		result = load_device(answers, i, participants[i], error);
	free(participants);
	return result;
}

/* ---- calls ---- */

static int take_calls(struct sn_answers *answers, const struct sonde_track *track,
		      const struct sonde_event_block *block, struct sn_error *error)
{
	/* a stream's copy of an annotation says when its kernels ran */
	if (sonde_db_profile(answers->db, track->profile)->kind == SONDE_PROFILE_THREAD &&
	    sn_iterations_add(&answers->iterations, answers->db, track->profile, block))
		return sn_fail_memory(error);
	return sn_launches_add(answers->launches, track->profile, block, error);
}

static int read_calls(struct sn_answers *answers, uint32_t number, unsigned flags,
		      struct sonde_event_cursor *reader, struct sn_error *error)
{
	const struct sonde_track *track = sonde_trace_track(answers->trace, number);
	struct sn_event_place place;
	struct sonde_event_block block;
	struct sonde_db_error why;
	int result = 1;
	sn_event_place_init(&place, answers->trace, number, 0, UINT64_MAX, flags);
	while (result > 0) {
		result = sn_event_place_next(&place, reader, &block, &why);
		if (result < 0)
			result = sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
		int taken = result > 0 ? take_calls(answers, track, &block, error) : 0;
		result = taken ? taken : result;
	}
	sn_event_place_release(&place);
	return result;
}

/* Iterations, and where there are devices the calls that launch: one pass over threads. */
static int load_calls(struct sn_answers *answers, struct sn_error *error)
{
	const struct sonde_trace *trace = answers->trace;
	size_t devices;
	struct sn_device_track *tracks = sn_device_tracks(answers->db, trace, &devices);
	struct sonde_event_cursor *reader = sn_event_reader_new(trace);
	int result = tracks && reader ? 0 : sn_fail_memory(error);
	answers->launches = calloc(1, sizeof(*answers->launches));
	if (!answers->launches)
		result = sn_fail_memory(error);
	else
		sn_launches_init(answers->launches, 3 * sn_answers_sorting(answers));
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    sonde_db_profile(answers->db, track->profile)->kind != SONDE_PROFILE_STREAM)
			result =
			    read_calls(answers, i, devices ? 0 : SONDE_EVENTS_BRIEF, reader, error);
	}
	if (!result && sn_iterations_settle(&answers->iterations))
		result = sn_fail_memory(error);
	if (!result)
		result = sn_launches_finish(answers->launches, error);
	free(tracks);
	sonde_event_cursor_free(reader);
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

static int find_offsets(struct sn_answers *answers)
{
	const struct sn_collectives *collectives = &answers->collectives;
	answers->offsets_ns = calloc(answers->processes.count + 1ull, sizeof(int64_t));
	/* of several participants the first one's */
	for (size_t i = collectives->participant_count; i-- && answers->offsets_ns;)
		answers->offsets_ns[answers->processes
					.of_profile[collectives->participants[i].profile]] =
		    answers->ranks.sums[i].offset_ns;
	return answers->offsets_ns ? 0 : SN_ERR_MEMORY;
}

static int load_ranks(struct sn_answers *answers, struct sn_error *error)
{
	int result =
	    sn_collectives(&answers->processes, &answers->times, &answers->collectives, error);
	if (!result)
		result = sn_ranks(&answers->collectives, &answers->ranks, error);
	if (!result && find_offsets(answers))
		result = sn_fail_memory(error);
	if (!result)
		result = sn_message_matching(&answers->processes, &answers->collectives,
					     &answers->ranks, &answers->messages, error);
	return result;
}

/* Those that are stored are of the whole trace, without options. */
static bool load_findings(struct sn_answers *answers)
{
	return !answers->launched_only && !answers->iteration &&
	       sn_findings_load(answers->db, &answers->findings);
}

int sn_answers(struct sn_answers *answers, enum sn_answers_part needed, struct sn_error *error)
{
	const struct sonde_db *db = answers->db;
	find_span(answers);
	int result = 0;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++)
		answers->has_runs |= sonde_db_profile(db, i)->run;
	if (sn_node_map(db, &answers->nodes) ||
	    sn_processes_init(&answers->processes, db, answers->trace))
		result = sn_fail_memory(error);
	if (!result && needed >= SN_ANSWERS_ITERATIONS)
		result = load_calls(answers, error);
	if (!result && needed >= SN_ANSWERS_DEVICES)
		result =
		    sn_device_times(db, answers->trace, answers->launched_only, answers->launches,
				    sn_answers_sorting(answers), &answers->times, error);
	if (!result && sn_processes_take_devices(&answers->processes, &answers->times))
		result = sn_fail_memory(error);
	if (!result && needed >= SN_ANSWERS_RANKS)
		result = load_ranks(answers, error);
	if (!result && needed >= SN_ANSWERS_WAITS)
		result = load_devices(answers, error);
	if (!result && needed >= SN_ANSWERS_FINDINGS && sn_threads_are_known(answers->trace))
		result = sn_thread_times(db, answers->trace, &answers->threads, error);
	if (!result && needed >= SN_ANSWERS_FINDINGS && !load_findings(answers))
		result = sn_findings(answers, &answers->findings, error);
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
	sn_findings_release(&answers->findings);
	sn_thread_times_release(&answers->threads);
	free(answers->offsets_ns);
	sn_message_matching_release(&answers->messages);
	sn_ranks_release(&answers->ranks);
	sn_collectives_release(&answers->collectives);
	sn_node_map_release(&answers->nodes);
	sn_processes_release(&answers->processes);
	sn_device_times_release(&answers->times);
	sn_iterations_release(&answers->iterations);
	if (answers->launches)
		sn_launches_release(answers->launches);
	free(answers->launches);
}
