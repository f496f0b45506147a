/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers processes, and lists their profiles, tracks and devices with a counting sort. */
#include "processes.h"

#include "base/error.h"
#include "base/intern.h"

struct process_key {
	uint64_t pid; /* 0 if there is a rank */
	int64_t rank;
	uint32_t run, host;
};

static struct process_key key_of(const struct sonde_db_profile *profile)
{
	return (struct process_key){profile->rank >= 0 ? 0 : profile->pid, profile->rank,
				    profile->run, profile->host};
}

static bool is_thread(const struct sn_processes *processes, uint32_t profile)
{
	return sonde_db_profile(processes->db, profile)->kind == SONDE_PROFILE_THREAD;
}

static int number_profiles(struct sn_processes *processes)
{
	uint32_t count = sonde_db_profile_count(processes->db);
	struct sn_intern keys = {0};
	processes->of_profile = sn_arena_array(&processes->arena, uint32_t, count + 1ull);
	processes->callers = sn_arena_array(&processes->arena, uint32_t, count + 1ull);
	bool has_memory = !processes->arena.failed;
	for (uint32_t i = 0; i < count && has_memory; i++) {
		struct process_key key = key_of(sonde_db_profile(processes->db, i));
		uint32_t before = keys.count, number = sn_intern_add(&keys, &key, sizeof(key));
		has_memory = number != SN_INTERN_NONE;
		if (!has_memory)
			break;
		processes->of_profile[i] = number;
		if (number == before ||
		    (is_thread(processes, i) && !is_thread(processes, processes->callers[number])))
			processes->callers[number] = i;
	}
	processes->count = keys.count;
	sn_intern_release(&keys);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

typedef uint32_t (*profile_function)(const void *data, uint32_t item);

static int sort(struct sn_processes *processes, size_t count, profile_function profile_of,
		const void *data, struct sn_process_lists *lists)
{
	lists->items = sn_arena_array(&processes->arena, uint32_t, count + 1);
	lists->starts = sn_arena_array(&processes->arena, uint32_t, processes->count + 2ull);
	if (processes->arena.failed)
		return SN_ERR_MEMORY;
	/* shifted by one, so that filling moves each begin to where the next list begins */
	uint32_t *begins = lists->starts + 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t process = processes->of_profile[profile_of(data, i)];
		if (process + 1 < processes->count)
			begins[process + 1]++;
	}
	for (uint32_t p = 1; p < processes->count; p++)
		begins[p] += begins[p - 1];
	for (uint32_t i = 0; i < count; i++)
		lists->items[begins[processes->of_profile[profile_of(data, i)]]++] = i;
	return 0;
}

static uint32_t itself(const void *data, uint32_t item)
{
	return item;
}

static uint32_t profile_of_track(const void *data, uint32_t track)
{
	return sonde_trace_track(data, track)->profile;
}

static uint32_t profile_of_device(const void *data, uint32_t device)
{
	return ((const struct sn_device_times *)data)->devices[device].profile;
}

int sn_processes_init(struct sn_processes *processes, const struct sonde_db *db,
		      const struct sonde_trace *trace)
{
	uint32_t tracks = sonde_trace_track_count(trace);
	static const struct sn_device_times none;
	*processes = (struct sn_processes){.db = db, .trace = trace};
	processes->all_tracks = sn_arena_array(&processes->arena, uint32_t, tracks + 1ull);
	for (uint32_t i = 0; i < tracks && processes->all_tracks; i++)
		processes->all_tracks[i] = i;
	return number_profiles(processes) ?:
	       sort(processes, sonde_db_profile_count(db), itself, NULL, &processes->profiles) ?:
	       sort(processes, tracks, profile_of_track, trace, &processes->tracks) ?:
	       sn_processes_set_devices(processes, &none);
}

int sn_processes_set_devices(struct sn_processes *processes, const struct sn_device_times *times)
{
	return sort(processes, times->count, profile_of_device, times, &processes->devices);
}

void sn_processes_release(struct sn_processes *processes)
{
	sn_arena_release(&processes->arena);
	*processes = (struct sn_processes){0};
}

size_t sn_processes_list(const struct sn_processes *processes, const struct sn_process_lists *lists,
			 uint32_t profile, const uint32_t **items)
{
	uint32_t process = processes->of_profile[profile];
	*items = lists->items + lists->starts[process];
	return lists->starts[process + 1] - lists->starts[process];
}

size_t sn_processes_tracks(const struct sn_processes *processes, uint32_t profile,
			   const uint32_t **tracks)
{
	if (profile != SONDE_NONE)
		return sn_processes_list(processes, &processes->tracks, profile, tracks);
	*tracks = processes->all_tracks;
	return sonde_trace_track_count(processes->trace);
}

uint32_t sn_processes_device(const struct sn_processes *processes,
			     const struct sn_device_times *times, uint32_t profile)
{
	uint32_t device = sonde_db_profile(processes->db, profile)->device;
	const uint32_t *devices;
	size_t count = sn_processes_list(processes, &processes->devices, profile, &devices);
	for (size_t i = 0; i < count; i++)
		if (times->devices[devices[i]].device == device)
			return devices[i];
	return SONDE_NONE;
}
