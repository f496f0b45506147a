/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of devices as activities, and what each had to wait for: its call, the one before it
 * in its stream, another stream, other ranks; see path_build.h. */
#include "path_build.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static uint32_t add_operation(struct sn_path_building *build, const struct sn_operation *one,
			      uint64_t start, uint64_t end, unsigned rank)
{
	static const uint8_t kinds[] = {SN_PATH_COMPUTE, SN_PATH_COMMUNICATION, SN_PATH_COPY};
	struct sn_path_activity activity = {
	    .start_ns = start,
	    .end_ns = end > start ? end : start,
	    .context = one->context,
	    .profile = one->profile,
	    .node = build->answers->nodes.of_context[one->context],
	    .kind = kinds[one->work],
	    .rank = (uint8_t)rank,
	    .ends = true,
	};
	return sn_path_graph_add(build->graph, &activity);
}

static int compare_arrivals(const void *left, const void *right, void *data)
{
	const struct sn_arrival *arrivals = data;
	const struct sn_arrival *a = arrivals + *(const uint32_t *)left,
				*b = arrivals + *(const uint32_t *)right;
	if (a->participant != b->participant)
		return a->participant < b->participant ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Which arrival of which collective: by participant and start. */
int sn_path_meetings_init(struct sn_path_building *build)
{
	const struct sn_answers *answers = build->answers;
	const struct sn_ranks *ranks = &answers->ranks;
	size_t count = answers->collectives.arrival_count;
	build->meetings.arrivals = malloc((count + 1) * sizeof(uint32_t));
	build->meetings.collectives = malloc((count + 1) * sizeof(uint32_t));
	build->meetings.activities = malloc((ranks->count + 1) * sizeof(uint32_t));
	build->participants = malloc((answers->times.count + 1) * sizeof(uint32_t));
	if (!build->meetings.arrivals || !build->meetings.collectives ||
	    !build->meetings.activities || !build->participants)
		return SN_ERR_MEMORY;
	memset(build->participants, 0xff, (answers->times.count + 1) * sizeof(uint32_t));
	for (uint32_t i = (uint32_t)answers->collectives.participant_count; i--;)
		if (answers->collectives.participants[i].device != SONDE_NONE)
			build->participants[answers->collectives.participants[i].device] = i;
	memset(build->meetings.collectives, 0xff, (count + 1) * sizeof(uint32_t));
	memset(build->meetings.activities, 0xff, (ranks->count + 1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++)
		build->meetings.arrivals[i] = i;
	for (uint32_t c = 0; c < ranks->count; c++)
		for (uint32_t i = 0; i < ranks->collectives[c].count; i++)
			build->meetings.collectives[ranks->collectives[c].first + i] = c;
	if (count)
		qsort_r(build->meetings.arrivals, count, sizeof(uint32_t), compare_arrivals,
			ranks->arrivals);
	return 0;
}

void sn_path_meetings_release(struct sn_path_meetings *meetings)
{
	free(meetings->activities);
	free(meetings->collectives);
	free(meetings->arrivals);
	*meetings = (struct sn_path_meetings){0};
}

/* The collective that an operation of a device is a part of, or SONDE_NONE. `start` in the common
 * time, as arrivals are. */
static uint32_t find_collective(const struct sn_path_building *build, size_t device, uint64_t start)
{
	const struct sn_answers *answers = build->answers;
	uint32_t participant = build->participants[device];
	size_t low = 0, high = answers->collectives.arrival_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct sn_arrival *one =
		    answers->ranks.arrivals + build->meetings.arrivals[middle];
		if (one->participant < participant ||
		    (one->participant == participant && one->start_ns < start))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == answers->collectives.arrival_count)
		return SONDE_NONE;
	const struct sn_arrival *one = answers->ranks.arrivals + build->meetings.arrivals[low];
	return one->participant == participant && one->start_ns == start
		   ? build->meetings.collectives[build->meetings.arrivals[low]]
		   : SONDE_NONE;
}

/* A collective as an arrival, the meeting of all, and the transfer. Gives the first and last. */
static int add_collective(struct sn_path_building *build, const struct sn_operation *one,
			  uint32_t number, uint32_t *first, uint32_t *last)
{
	const struct sn_collective *collective = build->answers->ranks.collectives + number;
	uint64_t start = sn_path_common(build, one->start_ns),
		 end = sn_path_common(build, one->end_ns);
	uint64_t met = collective->last_ns < start ? start : collective->last_ns;
	met = met > end ? end : met;
	if (build->meetings.activities[number] == SONDE_NONE) {
		struct sn_path_activity meeting = {
		    .start_ns = collective->last_ns,
		    .end_ns = collective->last_ns,
		    .context = SONDE_NONE,
		    .profile = SONDE_NONE,
		    .node = SONDE_NONE,
		    .kind = SN_PATH_COMMUNICATION,
		    .rank = SN_PATH_RANK_MEETING,
		};
		build->meetings.activities[number] = sn_path_graph_add(build->graph, &meeting);
	}
	*first = add_operation(build, one, start, start, SN_PATH_RANK_ARRIVAL);
	*last = add_operation(build, one, met, end, SN_PATH_RANK_OTHER);
	if (*first == SONDE_NONE || *last == SONDE_NONE ||
	    build->meetings.activities[number] == SONDE_NONE ||
	    sn_path_edge(build, *first, *last, false, 0, SN_PATH_HELD) ||
	    sn_path_edge(build, *first, build->meetings.activities[number], false, 0,
			 SN_PATH_HELD) ||
	    sn_path_edge(build, build->meetings.activities[number], *last, false, 0, SN_PATH_HELD))
		return SN_ERR_MEMORY;
	return 0;
}

/* An operation that has begun, by when it ends. */
struct pending {
	uint64_t end_ns;
	uint32_t activity, stream;
};

/* The last operation in a stream. */
struct stream {
	uint32_t profile, activity;
	uint64_t end_ns;
};

/*
 * The streams of a device, and what ended last on two of them. Operations come in order of start:
 * those that end are taken off the heap as time goes on, the first to end first, so that the two
 * are known at any time without a look at all streams.
 */
struct streams {
	struct stream *items;
	size_t count, capacity;
	struct sn_intern profiles; /* to the position among the items */
	struct pending *heap;
	size_t heap_count, heap_capacity;
	struct pending last[2]; /* of two streams, the later first; activity SONDE_NONE: none */
};

static struct streams no_streams(void)
{
	return (struct streams){
	    .last = {{.activity = SONDE_NONE}, {.activity = SONDE_NONE, .stream = SONDE_NONE}}};
}

static void streams_release(struct streams *streams)
{
	free(streams->items);
	free(streams->heap);
	sn_intern_release(&streams->profiles);
}

static struct stream *stream_of(struct streams *streams, uint32_t profile)
{
	uint32_t number = sn_intern_add(&streams->profiles, &profile, sizeof(profile));
	if (number == SN_INTERN_NONE)
		return NULL;
	if (number < streams->count)
		return streams->items + number;
	if (sn_vec_reserve(&streams->items, &streams->capacity, streams->count + 1) < 0)
		return NULL;
	streams->items[streams->count] =
	    (struct stream){.profile = profile, .activity = SONDE_NONE};
	return streams->items + streams->count++;
}

static bool ends_before(const struct pending *a, const struct pending *b)
{
	/* of equals the first stream's is noted last, and holds */
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->stream > b->stream;
}

static int push(struct streams *streams, struct pending one)
{
	if (sn_vec_reserve(&streams->heap, &streams->heap_capacity, streams->heap_count + 1) < 0)
		return SN_ERR_MEMORY;
	size_t place = streams->heap_count++;
	for (; place && ends_before(&one, streams->heap + (place - 1) / 2); place = (place - 1) / 2)
		streams->heap[place] = streams->heap[(place - 1) / 2];
	streams->heap[place] = one;
	return 0;
}

static struct pending pop(struct streams *streams)
{
	struct pending first = streams->heap[0], moved = streams->heap[--streams->heap_count];
	size_t place = 0;
	for (size_t child; (child = 2 * place + 1) < streams->heap_count; place = child) {
		if (child + 1 < streams->heap_count &&
		    ends_before(streams->heap + child + 1, streams->heap + child))
			child++;
		if (!ends_before(streams->heap + child, &moved))
			break;
		streams->heap[place] = streams->heap[child];
	}
	streams->heap[place] = moved;
	return first;
}

/* What ended last on another stream of the device before that time, which never goes back; its
 * activity is SONDE_NONE where there is nothing. */
static struct pending other_stream(struct streams *streams, uint32_t stream, uint64_t before_ns)
{
	while (streams->heap_count && streams->heap[0].end_ns <= before_ns) {
		struct pending ended = pop(streams);
		if (ended.stream != streams->last[0].stream ||
		    streams->last[0].activity == SONDE_NONE)
			streams->last[1] = streams->last[0];
		streams->last[0] = ended;
	}
	return streams->last[streams->last[0].stream == stream];
}

/* The activity that launched what has the link, SONDE_NONE: it is in no window. */
static uint32_t launcher_of(const struct sn_path_building *build, uint64_t link)
{
	uint32_t number =
	    link ? sn_intern_find(&build->launchers.links, &link, sizeof(link)) : SN_INTERN_NONE;
	return number == SN_INTERN_NONE ? SONDE_NONE : build->launchers.activities[number];
}

/* What an operation had to wait for. */
static int connect_operation(struct sn_path_building *build, const struct sn_operation *one,
			     uint32_t first, uint64_t latency, struct streams *streams,
			     const struct stream *before)
{
	uint64_t start = sn_path_common(build, one->start_ns), explained = 0;
	uint32_t launcher = launcher_of(build, one->link);
	if (launcher != SONDE_NONE) {
		uint64_t called = build->graph->activities[launcher].start_ns;
		uint64_t least = start > called ? start - called : 0;
		least = least > latency ? latency : least;
		explained = called + least;
		if (sn_path_edge(build, launcher, first, true, (int64_t)least, SN_PATH_LAUNCH))
			return SN_ERR_MEMORY;
	}
	if (before->activity != SONDE_NONE) {
		bool overlaps = before->end_ns > start;
		explained = before->end_ns > explained && !overlaps ? before->end_ns : explained;
		if (sn_path_edge(build, before->activity, first, overlaps, 0, SN_PATH_HELD))
			return SN_ERR_MEMORY;
	}
	/* an event of another stream, which is not recorded */
	struct pending other = other_stream(streams, (uint32_t)(before - streams->items), start);
	if (other.activity != SONDE_NONE && other.end_ns > explained && start > explained + latency)
		return sn_path_edge(build, other.activity, first, false, 0, SN_PATH_HELD);
	return 0;
}

static int compare_ends(const void *left, const void *right)
{
	const struct sn_path_ending *a = left, *b = right;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->activity < b->activity ? -1 : a->activity > b->activity;
}

static int note_end(struct sn_path_building *build, const struct sn_path_ending *ending)
{
	if (sn_vec_reserve(&build->ends, &build->end_capacity, build->end_count + 1) < 0)
		return SN_ERR_MEMORY;
	build->ends[build->end_count++] = *ending;
	return 0;
}

static int add_one(struct sn_path_building *build, const struct sn_operation *one, size_t device,
		   struct streams *streams)
{
	uint64_t start = sn_path_common(build, one->start_ns),
		 end = sn_path_common(build, one->end_ns);
	uint64_t latency = build->answers->times.devices[device].launch_latency_ns;
	struct stream *stream = stream_of(streams, one->profile);
	uint32_t number =
	    one->work == SN_WORK_COMMUNICATION ? find_collective(build, device, start) : SONDE_NONE;
	uint32_t first, last;
	if (!stream)
		return SN_ERR_MEMORY;
	if (number != SONDE_NONE) {
		if (add_collective(build, one, number, &first, &last))
			return SN_ERR_MEMORY;
	} else {
		first = last = add_operation(build, one, start, end, SN_PATH_RANK_OTHER);
	}
	if (first == SONDE_NONE ||
	    connect_operation(build, one, first, latency > INT64_MAX / 4 ? 0 : latency, streams,
			      stream) ||
	    note_end(build, &(struct sn_path_ending){end, one->link, last}))
		return SN_ERR_MEMORY;
	if (push(streams, (struct pending){end, last, (uint32_t)(stream - streams->items)}))
		return SN_ERR_MEMORY;
	if (stream->activity == SONDE_NONE || end >= stream->end_ns) {
		stream->activity = last;
		stream->end_ns = end;
	}
	return 0;
}

int sn_path_add_operations(struct sn_path_building *build)
{
	int result = 0;
	build->end_count = 0;
	for (size_t d = 0; d < build->device_count && !result; d++) {
		const struct sn_path_operations *device = build->devices + d;
		struct streams streams = no_streams();
		for (size_t i = 0; i < device->count && !result; i++)
			if (device->items[i].is_in_window)
				result = add_one(build, &device->items[i].operation,
						 build->numbers[d], &streams);
		streams_release(&streams);
	}
	if (build->end_count)
		qsort(build->ends, build->end_count, sizeof(*build->ends), compare_ends);
	return result;
}
