/* SPDX-License-Identifier: Apache-2.0 */
/* Events with their attributes; see collectives.h. */
#include "collectives.h"

#include "base/intern.h"
#include "base/vec.h"
#include "base/text.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/track_walk.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum wish {
	BYTES,
	RANKS,
	GROUP,
	COLLECTIVE,
	NUMBER,
	ELEMENTS_IN,
	ELEMENTS_OUT,
	ELEMENT_TYPE,
	SOURCE,
	TARGET,
	OWN_GROUP,
	OWN_NUMBER,
	POSTED,
	WISHES
};

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
    [ELEMENTS_IN] = {"In msg nelems", SONDE_ATTRIBUTE_SIGNED},
    [ELEMENTS_OUT] = {"Out msg nelems", SONDE_ATTRIBUTE_SIGNED},
    [ELEMENT_TYPE] = {"dtype", SONDE_ATTRIBUTE_STRING},
    [SOURCE] = {"Src Rank", SONDE_ATTRIBUTE_SIGNED},
    [TARGET] = {"Dst Rank", SONDE_ATTRIBUTE_SIGNED},
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

/* What is done, by who has which part in it. */
enum manner {
	UNKNOWN, /* or all to all, of which one may have nothing to give */
	ALIKE,	 /* all give and get as much, and none ends before all have arrived */
	UNEVEN,	 /* the same, but what is given or got has another size */
	ROOTED,	 /* one gives or gets all, as much on each rank; who only gives may end early */
	SPREAD,	 /* the same, but the root has another size */
	MESSAGE, /* of two */
};

static enum manner manner_of(const char *name)
{
	/* the first that is part of the name */
	static const struct {
		const char *part;
		enum manner manner;
	} known[] = {{"sendrecv", UNKNOWN}, {"alltoall", UNKNOWN}, {"barrier", ALIKE},
		     {"allreduce", ALIKE},  {"allgather", UNEVEN}, {"reducescatter", UNEVEN},
		     {"broadcast", ROOTED}, {"bcast", ROOTED},	   {"reduce", ROOTED},
		     {"gather", SPREAD},    {"scatter", SPREAD},   {"coalesced", SPREAD},
		     {"send", MESSAGE},	    {"recv", MESSAGE}};
	char plain[200];
	size_t used = 0;
	for (; *name && used + 1 < sizeof(plain); name++)
		if (*name != '_')
			plain[used++] = (char)tolower(*name);
	plain[used] = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(plain, known[i].part))
			return known[i].manner;
	return UNKNOWN;
}

/* Whether a part may end before all have arrived. MPI's calls may unless it is known that none
 * can. */
static bool is_loose(const char *name, enum manner manner)
{
	bool is_mpi = sn_text_begins(name, "MPI_");
	if (is_mpi && strstr(name, "eighbor"))
		return true;
	return manner == ROOTED || manner == SPREAD || manner == MESSAGE ||
	       (manner == UNKNOWN && is_mpi && !strstr(name, "lltoall"));
}

/* " 1000 Float": what each participant's part says alike; "" where it does not. */
static void name_size(const struct collecting *collecting, const struct sn_walked_event *event,
		      enum manner manner, char *text, size_t size)
{
	uint64_t in = 0, out = 0;
	bool is_there = sn_walked_value(event, ELEMENTS_IN, &in);
	is_there |= sn_walked_value(event, ELEMENTS_OUT, &out);
	*text = 0;
	if (is_there && (manner == ALIKE || manner == UNEVEN || manner == ROOTED))
		snprintf(text, size, " %llu %.40s",
			 (unsigned long long)(manner == UNEVEN && out > in ? out : in),
			 text_of(collecting, event, ELEMENT_TYPE));
}

/* What the names of a part are. */
struct names {
	char line[600], group[900];
	uint64_t number;
	bool is_told, is_loose;
};

/* A message belongs only to the two ranks that it names. */
static void name_message(const struct collecting *collecting, const struct sn_walked_event *event,
			 struct names *names)
{
	uint64_t source, target;
	size_t used = strlen(names->line);
	bool is_known = sn_walked_value(event, SOURCE, &source);
	is_known &= sn_walked_value(event, TARGET, &target);
	const char *comma = strchr(names->line, ',');
	bool is_pair = comma && !strchr(comma + 1, ',');
	if (is_known)
		snprintf(names->line + used, sizeof(names->line) - used, "|%lld to %lld",
			 (long long)source, (long long)target);
	else if (is_pair)
		snprintf(names->line + used, sizeof(names->line) - used, "|messages");
	else
		snprintf(names->line + used, sizeof(names->line) - used, "|messages of %u",
			 collecting->participant);
	/* a process numbers its messages independent of the receiver */
	names->number = UINT64_MAX;
	snprintf(names->group, sizeof(names->group), "%s", names->line);
}

/* Which participants can be compared, and the number among what they do; UINT64_MAX. */
static void name_part(const struct collecting *collecting, const struct sn_walked_event *event,
		      struct names *names)
{
	char kind[200], size[64];
	uint64_t own;
	const char *collective = text_of(collecting, event, COLLECTIVE);
	const char *ranks = text_of(collecting, event, RANKS),
		   *group = text_of(collecting, event, GROUP);
	plain_name(sn_context_name(collecting->db, event->context), kind, sizeof(kind));
	const char *name = *collective ? collective : kind;
	enum manner manner = manner_of(name);
	names->is_told = *collective && (*ranks || *group);
	names->is_loose = is_loose(name, manner);
	names->number = UINT64_MAX;
	if (sn_walked_value(event, OWN_GROUP, &own) &&
	    sn_walked_value(event, OWN_NUMBER, &names->number)) {
		snprintf(names->line, sizeof(names->line), "group %llu", (unsigned long long)own);
		snprintf(names->group, sizeof(names->group), "%s", names->line);
		return;
	}
	snprintf(names->line, sizeof(names->line), "%.400s|%.100s", ranks, group);
	if (manner == MESSAGE && names->is_told) {
		name_message(collecting, event, names);
		return;
	}
	name_size(collecting, event, manner, size, sizeof(size));
	/* numbers count all that a group does, whatever it is */
	if (sn_walked_value(event, NUMBER, &names->number))
		snprintf(names->group, sizeof(names->group), "%s|", names->line);
	else
		snprintf(names->group, sizeof(names->group), "%s|%.200s%s", names->line, name,
			 size);
}

static int add_arrival(struct collecting *collecting, const struct sn_walked_event *event)
{
	struct sn_collectives *collectives = collecting->collectives;
	struct names names;
	name_part(collecting, event, &names);
	struct sn_arrival arrival = {
	    .start_ns = event->start_ns - sn_walked_number(event, POSTED),
	    .end_ns = event->end_ns,
	    .called_ns = event->start_ns,
	    .number = names.number,
	    .bytes = sn_walked_number(event, BYTES),
	    .group = sn_intern_add(&collectives->groups, names.group, strlen(names.group) + 1),
	    .line = sn_intern_add(&collectives->lines, names.line, strlen(names.line) + 1),
	    .context = event->context,
	    .participant = collecting->participant,
	    .profile = event->track->profile,
	    .is_loose = names.is_loose,
	    .is_told = names.is_told,
	};
	if (arrival.group == SN_INTERN_NONE || arrival.line == SN_INTERN_NONE)
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
	sn_intern_release(&collectives->lines);
	free(collectives->participants);
	free(collectives->arrivals);
	free(collectives->of_devices);
	*collectives = (struct sn_collectives){0};
}
