/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the parts of collectives from events and their attributes. */
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

/* What a context does: an enum sn_device_work, or a collective that threads perform. */
enum { THREAD_COLLECTIVE = SN_WORK_KINDS + 1 };

struct collecting {
	const struct sonde_db *db;
	const struct sn_processes *processes;
	const struct sn_device_times *times;
	struct sn_collectives *collectives;
	struct sn_intern numbers;	 /* numbers of participants, by process and device */
	uint8_t *works;			 /* by context */
	const struct sonde_track *track; /* the current track, and whose participant it is */
	uint32_t participant;
};

/* Names and types of Kineto's attributes, which other importers use as far as they
 * know the data. */
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
    /* attributes of Sonde's own recorder */
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
			   &collectives->participant_capacity, {device, track->profile});
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

/* The name without the algorithm: a kernel's name has both, and only the collective is the same
 * on all ranks. */
static void plain_name(const char *name, char *text, size_t size)
{
	snprintf(text, size, "%.*s", (int)strcspn(name, "("), name);
	char *ring = strstr(text, "_RING");
	char *tree = strstr(text, "_TREE");
	if (ring || tree)
		*(ring ? ring : tree) = 0;
}

/* Kinds of collectives by the parts that participants have. */
enum manner {
	UNKNOWN, /* unknown, or all to all, where one participant may send nothing */
	ALIKE,	 /* all send and receive as much, and none ends before all have arrived */
	UNEVEN,	 /* the same, but sent and received sizes differ */
	ROOTED,	 /* one root, equal sizes; a part that only sends may end early */
	SPREAD,	 /* the same, but the root has another size */
	MESSAGE, /* between two participants */
};

static enum manner manner_of(const char *name)
{
	/* the first entry that the name contains decides */
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

/* Whether a participant may end before all have arrived. Calls of MPI may, unless the
 * operation excludes it. */
static bool is_loose(const char *name, enum manner manner)
{
	bool is_mpi = sn_text_begins(name, "MPI_");
	if (is_mpi && strstr(name, "eighbor"))
		return true;
	return manner == ROOTED || manner == SPREAD || manner == MESSAGE ||
	       (manner == UNKNOWN && is_mpi && !strstr(name, "lltoall"));
}

/* The size and type that all participants record alike, " 1000 Float"; "" if they do not. */
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

/* The strings that identify a part. */
struct names {
	char line[600], group[900];
	uint64_t number;
	bool is_told, is_loose;
};

/* A message belongs only to the two ranks in it: to those that are told, or where there are but two, to
 * both. */
static void name_message(const struct collecting *collecting, const struct sn_walked_event *event,
			 struct names *names)
{
	uint64_t source, target;
	size_t used = strlen(names->line);
	bool is_known = sn_walked_value(event, SOURCE, &source);
	is_known &= sn_walked_value(event, TARGET, &target);
	const char *comma = strchr(names->line, ',');
	bool is_pair =
	    comma ? !strchr(comma + 1, ',') : !names->is_told && collecting->processes->count == 2;
	if (is_known)
		snprintf(names->line + used, sizeof(names->line) - used, "|%lld to %lld",
			 (long long)source, (long long)target);
	else if (is_pair)
		snprintf(names->line + used, sizeof(names->line) - used, "|messages");
	else
		snprintf(names->line + used, sizeof(names->line) - used, "|messages of %u",
			 collecting->participant);
	/* each process numbers its messages regardless of the receiver */
	names->number = UINT64_MAX;
	snprintf(names->group, sizeof(names->group), "%s", names->line);
}

/* Determines which parts belong together: the group, and the part's number in it,
 * UINT64_MAX if unknown. */
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
	if (manner == MESSAGE && (names->is_told || sn_text_begins(name, "gloo:"))) {
		name_message(collecting, event, names);
		return;
	}
	name_size(collecting, event, manner, size, sizeof(size));
	/* recorded numbers count all operations of a group, of every kind */
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

/* A call of MPI is a collective only if it has the collective's number. */
static bool is_collective(const struct collecting *collecting, const struct sn_walked_event *event)
{
	uint64_t number;
	return !sn_text_begins(sn_context_name(collecting->db, event->context), "MPI_") ||
	       sn_walked_value(event, OWN_NUMBER, &number);
}

/* Messages of a group have no number among its collectives. */
static bool is_message_of_group(const struct sn_walked_event *event)
{
	uint64_t value;
	return sn_walked_value(event, OWN_GROUP, &value) &&
	       !sn_walked_value(event, OWN_NUMBER, &value);
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
	/* makes a participant that only copies visible as one without collectives */
	return work == SN_WORK_COPY || is_message_of_group(event) ? 0
								  : add_arrival(collecting, event);
}

/* Maps devices to participants; to the first one if a device is several. */
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

/* Collects all parts. Mostly there are none, and nothing is read. Threads are read only if some of
 * them perform collectives; streams also for those that only copy. */
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
