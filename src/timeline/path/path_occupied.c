/* SPDX-License-Identifier: Apache-2.0 */
/* What occupied a device at a time: its operations sorted by begin, with the latest end so far. */
#include "path_occupied.h"

#include "base/search.h"
#include "base/sort_by.h"

/* This many operations that began before a time are examined. */
enum { LOOK_BACK = 256 };

struct keys {
	const struct sn_path_activity *activities;
	const uint32_t *of_profile;
};

SN_SORT_BY(sort_operations, uint32_t, const struct keys *,
	   SN_ORDER(of->of_profile[of->activities[*a].profile],
		    of->of_profile[of->activities[*b].profile])
	       ?: SN_ORDER(of->activities[*a].begun_ns, of->activities[*b].begun_ns)
	       ?: SN_ORDER(*a, *b));

static bool is_operation(const struct sn_path_activity *one)
{
	return one->context != SONDE_NONE && one->kind != SN_PATH_THREAD &&
	       one->begun_ns < one->end_ns;
}

static uint32_t device_of(const struct sn_path_occupied *occupied, size_t place)
{
	uint32_t activity = occupied->order[place];
	return occupied->of_profile[occupied->graph->activities[activity].profile];
}

int sn_path_occupied(const struct sn_answers *answers, const struct sn_path_graph *graph,
		     struct sn_path_occupied *occupied)
{
	uint32_t profiles = sonde_db_profile_count(answers->db);
	*occupied = (struct sn_path_occupied){
	    .graph = graph,
	    .of_profile = malloc((profiles + 1ull) * sizeof(uint32_t)),
	    .order = malloc((graph->count + 1) * sizeof(uint32_t)),
	    .until_ns = malloc((graph->count + 1) * sizeof(uint64_t)),
	};
	if (!occupied->of_profile || !occupied->order || !occupied->until_ns)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < profiles; i++)
		occupied->of_profile[i] =
		    sonde_db_profile(answers->db, i)->kind == SONDE_PROFILE_STREAM
			? sn_processes_device(&answers->processes, &answers->times, i)
			: SONDE_NONE;
	for (uint32_t i = 0; i < graph->count; i++)
		if (is_operation(graph->activities + i) &&
		    occupied->of_profile[graph->activities[i].profile] != SONDE_NONE)
			occupied->order[occupied->count++] = i;
	struct keys keys = {graph->activities, occupied->of_profile};
	sort_operations(occupied->order, occupied->count, &keys);
	for (size_t i = 0; i < occupied->count; i++) {
		uint64_t end = graph->activities[occupied->order[i]].end_ns;
		bool follows = i && device_of(occupied, i) == device_of(occupied, i - 1);
		occupied->until_ns[i] =
		    follows && occupied->until_ns[i - 1] > end ? occupied->until_ns[i - 1] : end;
	}
	return 0;
}

void sn_path_occupied_release(struct sn_path_occupied *occupied)
{
	free(occupied->of_profile);
	free(occupied->order);
	free(occupied->until_ns);
	*occupied = (struct sn_path_occupied){0};
}

uint32_t sn_path_occupied_by(const struct sn_path_occupied *occupied, uint32_t profile,
			     uint64_t time_ns, uint64_t *ended_ns)
{
	const struct sn_path_activity *all = occupied->graph->activities;
	/* the meeting of a collective's parts has no profile */
	uint32_t device = profile == SONDE_NONE ? SONDE_NONE : occupied->of_profile[profile];
	uint32_t found = SONDE_NONE;
	*ended_ns = 0;
	if (device == SONDE_NONE)
		return SONDE_NONE;
	size_t end = sn_search(
	    i, occupied->count,
	    device_of(occupied, i) < device ||
		(device_of(occupied, i) == device && all[occupied->order[i]].begun_ns < time_ns));
	if (end && device_of(occupied, end - 1) == device)
		*ended_ns = occupied->until_ns[end - 1];
	for (size_t i = end; i-- && end - i <= LOOK_BACK && device_of(occupied, i) == device &&
			     occupied->until_ns[i] >= time_ns;)
		if (all[occupied->order[i]].end_ns >= time_ns)
			found = occupied->order[i];
	return found;
}
