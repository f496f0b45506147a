/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors with attributes; see collectives.h. */
#include "collectives.h"

#include "timeline/attributes.h"
#include "base/vec.h"
#include "timeline/devices/device_tracks.h"
#include "format/measurement/measurement.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/track_blocks.h"

#include <stdio.h>
#include <string.h>

enum wanted { BYTES, RANKS, GROUP, COLLECTIVE, NUMBER, OWN_GROUP, OWN_NUMBER, POSTED, WANTED };

struct pass {
	const struct sonde_db *db;
	const struct sn_processes *processes;
	const struct sn_device_times *times;
	struct sn_collectives *collectives;
	struct sn_intern numbers; /* participants by process and device */
	uint8_t *kinds;		  /* by context: 1 + enum sn_device_work; of threads SN_WORK_NONE or
				     communication */
	struct sn_attributes attributes; /* of the block being read */
	uint32_t participant;		 /* whose track is read, SONDE_NONE: not asked yet */
	bool is_device;
};

/* Names and types as Kineto has them, which other importers follow where they know as much. */
static const struct sn_attribute_wish wishes[WANTED] = {
    [BYTES] = {"bytes", SONDE_ATTRIBUTE_SIGNED},
    [RANKS] = {"Process Group Ranks", SONDE_ATTRIBUTE_STRING},
    [GROUP] = {"Process Group Name", SONDE_ATTRIBUTE_STRING},
    [COLLECTIVE] = {"Collective name", SONDE_ATTRIBUTE_STRING},
    [NUMBER] = {"Seq", SONDE_ATTRIBUTE_SIGNED},
    /* as our own recorder has them */
    [OWN_GROUP] = {"group", SONDE_ATTRIBUTE_UNSIGNED},
    [OWN_NUMBER] = {"collective", SONDE_ATTRIBUTE_UNSIGNED},
    [POSTED] = {"posted", SONDE_ATTRIBUTE_UNSIGNED},
};

/* Collectives that threads do themselves. */
static bool is_host_collective(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	const char *name = sonde_db_string(db, frame->name);
	return (frame->kind == SN_FRAME_OPERATOR || frame->kind == SN_FRAME_REGION) &&
	       (!strncmp(name, "gloo:", 5) || !strncmp(name, "mpi:", 4) ||
		!strncmp(name, "MPI_", 4));
}

static enum sn_device_work kind_of(struct pass *pass, uint32_t context, bool is_device)
{
	if (!pass->kinds[context]) {
		enum sn_device_work work = SN_WORK_NONE;
		if (is_device)
			work = sn_device_work(pass->db, context);
		else if (is_host_collective(pass->db, context))
			work = SN_WORK_COMMUNICATION;
		pass->kinds[context] = (uint8_t)(1 + work);
	}
	return pass->kinds[context] - 1;
}

static uint32_t participant_of(struct pass *pass, uint32_t profile_number, bool is_device)
{
	const struct sonde_db_profile *profile = sonde_db_profile(pass->db, profile_number);
	struct sn_collectives *collectives = pass->collectives;
	struct sn_participant one = {profile->run, SONDE_NONE, profile->rank, profile_number};
	const uint32_t *devices;
	size_t count =
	    sn_processes_list(pass->processes, &pass->processes->devices, profile_number, &devices);
	for (size_t i = 0; i < count && is_device; i++)
		if (pass->times->devices[devices[i]].device == profile->device)
			one.device = devices[i];
	uint32_t key[2] = {pass->processes->of_profile[profile_number], one.device};
	uint32_t number = sn_intern_add(&pass->numbers, key, sizeof(key));
	if (number == SN_INTERN_NONE || number < collectives->participant_count)
		return number;
	if (sn_vec_reserve(&collectives->participants, &collectives->participant_capacity,
			   collectives->participant_count + 1) < 0)
		return SONDE_NONE;
	collectives->participants[collectives->participant_count] = one;
	return (uint32_t)collectives->participant_count++;
}

static const char *text_of(const struct pass *pass, enum wanted which, size_t at)
{
	uint64_t value;
	return sn_attributes_get(&pass->attributes, which, at, &value)
		   ? sonde_db_string(pass->db, (uint32_t)value)
		   : "";
}

/* Kernels are called by what they do and how; only the former is the same on all ranks. */
static void plain_name(const struct pass *pass, uint32_t context, char *text, size_t size)
{
	const char *name = sonde_db_string(
	    pass->db, sonde_db_frame(pass->db, sonde_db_context(pass->db, context)->frame)->name);
	snprintf(text, size, "%.*s", (int)strcspn(name, "("), name);
	char *ring = strstr(text, "_RING");
	char *tree = strstr(text, "_TREE");
	if (ring || tree)
		*(ring ? ring : tree) = 0;
}

/* Which participants can be compared, and the number among what they do; UINT64_MAX. */
static void name_group(const struct pass *pass, size_t at, uint32_t context, char *group,
		       size_t size, uint64_t *number)
{
	char kind[200];
	uint64_t own;
	const char *collective = text_of(pass, COLLECTIVE, at);
	*number = UINT64_MAX;
	if (sn_attributes_get(&pass->attributes, OWN_GROUP, at, &own) &&
	    sn_attributes_get(&pass->attributes, OWN_NUMBER, at, number)) {
		snprintf(group, size, "group %llu", (unsigned long long)own);
		return;
	}
	bool is_numbered = sn_attributes_get(&pass->attributes, NUMBER, at, number);
	plain_name(pass, context, kind, sizeof(kind));
	/* numbers count all that a group does, whatever it is */
	snprintf(group, size, "%.400s|%.100s|%.200s", text_of(pass, RANKS, at),
		 text_of(pass, GROUP, at),
		 is_numbered   ? ""
		 : *collective ? collective
			       : kind);
}

/* Of MPI's those in which nobody gets through before all have come; of the others' all. */
static bool is_loose(const struct pass *pass, uint32_t context)
{
	static const char *const firm[] = {"arrier", "llreduce", "llgather", "lltoall",
					   "educe_scatter"};
	const char *name = sonde_db_string(
	    pass->db, sonde_db_frame(pass->db, sonde_db_context(pass->db, context)->frame)->name);
	bool is_firm = strncmp(name, "MPI_", 4) != 0;
	for (size_t i = 0; i < sizeof(firm) / sizeof(*firm); i++)
		is_firm |= strstr(name, firm[i]) && !strstr(name, "eighbor");
	return !is_firm;
}

static int take_arrival(struct pass *pass, const struct sonde_event_block *block, size_t at,
			uint32_t participant, uint32_t profile)
{
	struct sn_collectives *collectives = pass->collectives;
	char group[800];
	uint64_t number, posted = 0, bytes = 0;
	name_group(pass, at, block->contexts[at], group, sizeof(group), &number);
	uint32_t group_number = sn_intern_add(&collectives->groups, group, strlen(group) + 1);
	if (group_number == SN_INTERN_NONE ||
	    sn_vec_reserve(&collectives->arrivals, &collectives->arrival_capacity,
			   collectives->arrival_count + 1) < 0)
		return SN_ERR_MEMORY;
	sn_attributes_get(&pass->attributes, POSTED, at, &posted);
	sn_attributes_get(&pass->attributes, BYTES, at, &bytes);
	collectives->arrivals[collectives->arrival_count++] = (struct sn_arrival){
	    .start_ns = block->starts_ns[at] - posted,
	    .end_ns = block->ends_ns[at],
	    .called_ns = block->starts_ns[at],
	    .number = number,
	    .bytes = bytes,
	    .group = group_number,
	    .context = block->contexts[at],
	    .participant = participant,
	    .profile = profile,
	    .is_loose = is_loose(pass, block->contexts[at]),
	};
	return 0;
}

/* MPI's calls are so only where they say which one it is. */
static bool is_collective(const struct pass *pass, uint32_t context, size_t at)
{
	uint64_t number;
	const char *name = sonde_db_string(
	    pass->db, sonde_db_frame(pass->db, sonde_db_context(pass->db, context)->frame)->name);
	return strncmp(name, "MPI_", 4) != 0 ||
	       sn_attributes_get(&pass->attributes, OWN_NUMBER, at, &number);
}

static int take_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct pass *pass = data;
	bool is_read = false;
	for (size_t i = 0; i < block->count; i++) {
		enum sn_device_work work = kind_of(pass, block->contexts[i], pass->is_device);
		if (work != SN_WORK_COPY && work != SN_WORK_COMMUNICATION)
			continue;
		if (!is_read)
			sn_attributes_read(&pass->attributes, cursor, block);
		is_read = true;
		if (!pass->is_device && !is_collective(pass, block->contexts[i], i))
			continue;
		if (pass->participant == SONDE_NONE)
			pass->participant = participant_of(pass, track->profile, pass->is_device);
		if (pass->participant == SONDE_NONE)
			return SN_ERR_MEMORY;
		/* who only copies is shown as one who came to none */
		if (work == SN_WORK_COMMUNICATION &&
		    take_arrival(pass, block, i, pass->participant, track->profile))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* Whether any call of a thread is a collective: mostly none, and threads are not read again. */
static bool has_host_collectives(const struct sonde_db *db)
{
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++)
		if (is_host_collective(db, i))
			return true;
	return false;
}

static bool has_device_collectives(const struct sonde_db *db)
{
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++)
		if (sn_device_work(db, i) == SN_WORK_COMMUNICATION)
			return true;
	return false;
}

int sn_collectives(const struct sn_processes *processes, const struct sn_device_times *times,
		   struct sn_collectives *collectives, struct sn_error *error)
{
	const struct sonde_db *db = processes->db;
	const struct sonde_trace *trace = processes->trace;
	struct pass pass = {
	    .db = db,
	    .processes = processes,
	    .times = times,
	    .collectives = collectives,
	    .kinds = calloc(sonde_db_context_count(db) + 1ull, 1),
	};
	bool reads_threads = has_host_collectives(db);
	bool reads_streams = reads_threads || has_device_collectives(db);
	*collectives = (struct sn_collectives){0};
	int result = pass.kinds && !sn_attributes_init(&pass.attributes, db, trace, wishes, WANTED)
			 ? 0
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		pass.is_device = sonde_db_profile(db, track->profile)->kind == SONDE_PROFILE_STREAM;
		pass.participant = SONDE_NONE;
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    (pass.is_device ? reads_streams : reads_threads))
			result = sn_track_blocks(trace, i, 0, take_block, &pass, error);
	}
	sn_attributes_release(&pass.attributes);
	sn_intern_release(&pass.numbers);
	free(pass.kinds);
	return result;
}

void sn_collectives_release(struct sn_collectives *collectives)
{
	sn_intern_release(&collectives->groups);
	free(collectives->participants);
	free(collectives->arrivals);
	*collectives = (struct sn_collectives){0};
}
