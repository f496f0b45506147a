/* SPDX-License-Identifier: Apache-2.0 */
/* Events with their attributes; see collectives.h. */
#include "collectives.h"

#include "base/intern.h"
#include "base/vec.h"
#include "base/text.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/track_walk.h"

#include <stdio.h>
#include <string.h>

enum wish { BYTES, RANKS, GROUP, COLLECTIVE, NUMBER, OWN_GROUP, OWN_NUMBER, POSTED, WISHES };

/* What a context does: an enum sn_device_work, or a collective that threads do themselves. */
enum { THREAD_COLLECTIVE = SN_WORK_KINDS + 1 };

struct collecting {
	const struct sonde_db *db;
	const struct sn_processes *processes;
	const struct sn_device_times *times;
	struct sn_collectives *collectives;
	struct sn_intern numbers;	 /* participants by process and device */
	uint8_t *works;			 /* by context */
	const struct sonde_track *track; /* whose events are visited, and who does them */
	uint32_t participant;
};

/* Names and types as Kineto has them, which other importers follow where they know as much. */
static const struct sn_attribute_wish wishes[WISHES] = {
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

static bool is_thread_collective(const struct sonde_db *db, uint32_t context)
{
	unsigned kind = sn_context_frame(db, context)->kind;
	const char *name = sn_context_name(db, context);
	return (kind == SN_FRAME_OPERATOR || kind == SN_FRAME_REGION) &&
	       (sn_text_begins(name, "gloo:") || sn_text_begins(name, "mpi:") ||
		sn_text_begins(name, "MPI_"));
}

static uint32_t participant_of(struct collecting *collecting, const struct sonde_track *track)
{
	const struct sonde_db_profile *profile = sonde_db_profile(collecting->db, track->profile);
	const struct sn_processes *processes = collecting->processes;
	struct sn_collectives *collectives = collecting->collectives;
	uint32_t device = profile->kind == SONDE_PROFILE_STREAM
			      ? sn_processes_device(processes, collecting->times, track->profile)
			      : SONDE_NONE;
	uint32_t key[2] = {processes->of_profile[track->profile], device};
	uint32_t number =
	    sn_intern_item(&collecting->numbers, key, sizeof(key), &collectives->participants,
			   &collectives->participant_capacity,
			   {profile->run, device, profile->rank, track->profile});
	collectives->participant_count = collecting->numbers.count;
	return number;
}

static const char *text_of(const struct collecting *collecting, const struct sn_walked_event *event,
			   enum wish wish)
{
	uint64_t value;
	return sn_walked_value(event, wish, &value)
		   ? sonde_db_string(collecting->db, (uint32_t)value)
		   : "";
}

/* Kernels are called by what they do and how; only the former is the same on all ranks. */
static void plain_name(const char *name, char *text, size_t size)
{
	snprintf(text, size, "%.*s", (int)strcspn(name, "("), name);
	char *ring = strstr(text, "_RING");
	char *tree = strstr(text, "_TREE");
	if (ring || tree)
		*(ring ? ring : tree) = 0;
}

/* Which participants can be compared, and the number among what they do; UINT64_MAX. */
static void name_group(const struct collecting *collecting, const struct sn_walked_event *event,
		       char *group, size_t size, uint64_t *number)
{
	char kind[200];
	uint64_t own;
	const char *collective = text_of(collecting, event, COLLECTIVE);
	*number = UINT64_MAX;
	if (sn_walked_value(event, OWN_GROUP, &own) && sn_walked_value(event, OWN_NUMBER, number)) {
		snprintf(group, size, "group %llu", (unsigned long long)own);
		return;
	}
	bool is_numbered = sn_walked_value(event, NUMBER, number);
	plain_name(sn_context_name(collecting->db, event->context), kind, sizeof(kind));
	/* numbers count all that a group does, whatever it is */
	snprintf(group, size, "%.400s|%.100s|%.200s", text_of(collecting, event, RANKS),
		 text_of(collecting, event, GROUP),
		 is_numbered   ? ""
		 : *collective ? collective
			       : kind);
}

/* Whether a part may end before all have arrived: in those collectives of MPI that let a
 * participant through. */
static bool is_loose(const char *name)
{
	static const char *const firm[] = {"arrier", "llreduce", "llgather", "lltoall",
					   "educe_scatter"};
	bool is_firm = !sn_text_begins(name, "MPI_");
	for (size_t i = 0; i < sizeof(firm) / sizeof(*firm); i++)
		is_firm |= strstr(name, firm[i]) && !strstr(name, "eighbor");
	return !is_firm;
}

static int add_arrival(struct collecting *collecting, const struct sn_walked_event *event)
{
	struct sn_collectives *collectives = collecting->collectives;
	char group[800];
	uint64_t number;
	name_group(collecting, event, group, sizeof(group), &number);
	uint32_t group_number = sn_intern_add(&collectives->groups, group, strlen(group) + 1);
	struct sn_arrival arrival = {
	    .start_ns = event->start_ns - sn_walked_number(event, POSTED),
	    .end_ns = event->end_ns,
	    .called_ns = event->start_ns,
	    .number = number,
	    .bytes = sn_walked_number(event, BYTES),
	    .group = group_number,
	    .context = event->context,
	    .participant = collecting->participant,
	    .profile = event->track->profile,
	    .is_loose = is_loose(sn_context_name(collecting->db, event->context)),
	};
	if (group_number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	return sn_vec_push(&collectives->arrivals, &collectives->arrival_capacity,
			   &collectives->arrival_count, arrival);
}

/* MPI's calls are so only where they say which one it is. */
static bool is_collective(const struct collecting *collecting, const struct sn_walked_event *event)
{
	uint64_t number;
	return !sn_text_begins(sn_context_name(collecting->db, event->context), "MPI_") ||
	       sn_walked_value(event, OWN_NUMBER, &number);
}

static int visit_event(void *data, const struct sn_walked_event *event)
{
	struct collecting *collecting = data;
	const struct sonde_track *track = event->track;
	bool is_device =
	    sonde_db_profile(collecting->db, track->profile)->kind == SONDE_PROFILE_STREAM;
	unsigned work = collecting->works[event->context];
	if ((work == THREAD_COLLECTIVE) == is_device ||
	    (!is_device && !is_collective(collecting, event)))
		return 0;
	if (track != collecting->track)
		collecting->participant = participant_of(collecting, track);
	collecting->track = track;
	if (collecting->participant == SONDE_NONE)
		return SN_ERR_MEMORY;
	/* who only copies is shown as one who came to none */
	return work == SN_WORK_COPY ? 0 : add_arrival(collecting, event);
}

/* Which participants devices are: of several the first. 0 or SN_ERR_MEMORY. */
static int list_devices(struct sn_collectives *collectives, size_t device_count)
{
	collectives->of_devices = malloc((device_count + 1) * sizeof(uint32_t));
	if (!collectives->of_devices)
		return SN_ERR_MEMORY;
	memset(collectives->of_devices, 0xff, (device_count + 1) * sizeof(uint32_t));
	for (uint32_t i = (uint32_t)collectives->participant_count; i--;)
		if (collectives->participants[i].device != SONDE_NONE)
			collectives->of_devices[collectives->participants[i].device] = i;
	return 0;
}

/* Mostly there are none, and nothing is read: threads only where they do any themselves, streams
 * for who copies as well. */
static int collect(struct collecting *collecting, bool *contexts, struct sn_error *error)
{
	const struct sonde_db *db = collecting->db;
	bool has_any = false;
	struct sn_track_walk walk = {
	    .tracks = SN_WALK_STREAMS,
	    .contexts = contexts,
	    .wishes = wishes,
	    .wish_count = WISHES,
	    .visit = visit_event,
	    .data = collecting,
	};
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++) {
		unsigned work =
		    is_thread_collective(db, i) ? THREAD_COLLECTIVE : sn_device_work(db, i);
		collecting->works[i] = (uint8_t)work;
		walk.tracks |= work == THREAD_COLLECTIVE ? SN_WALK_THREADS : 0;
		has_any |= work == THREAD_COLLECTIVE || work == SN_WORK_COMMUNICATION;
		contexts[i] = work == THREAD_COLLECTIVE || work == SN_WORK_COMMUNICATION ||
			      work == SN_WORK_COPY;
	}
	return has_any ? sn_track_walk(collecting->processes, SONDE_NONE, &walk, error) : 0;
}

int sn_collectives(const struct sn_processes *processes, const struct sn_device_times *times,
		   struct sn_collectives *collectives, struct sn_error *error)
{
	uint32_t context_count = sonde_db_context_count(processes->db);
	bool *contexts = calloc(context_count + 1ull, sizeof(*contexts));
	struct collecting collecting = {
	    .db = processes->db,
	    .processes = processes,
	    .times = times,
	    .collectives = collectives,
	    .works = calloc(context_count + 1ull, 1),
	};
	*collectives = (struct sn_collectives){0};
	int result = contexts && collecting.works ? collect(&collecting, contexts, error)
							?: list_devices(collectives, times->count)
						  : SN_ERR_MEMORY;
	sn_intern_release(&collecting.numbers);
	free(collecting.works);
	free(contexts);
	return sn_fail_code(error, result);
}

void sn_collectives_release(struct sn_collectives *collectives)
{
	sn_intern_release(&collectives->groups);
	free(collectives->participants);
	free(collectives->arrivals);
	free(collectives->of_devices);
	*collectives = (struct sn_collectives){0};
}
