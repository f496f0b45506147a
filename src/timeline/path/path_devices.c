/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of devices as activities, and what each had to wait for: its launch, the operation
 * before it on its stream, another stream, other ranks. */
#include "path_build.h"

#include "base/heap.h"
#include "base/intern.h"
#include "base/vec.h"
#include "base/search.h"
#include "base/sort_by.h"

static uint32_t add_operation(struct sn_path_building *build,
			      const struct sn_path_operation *placed, uint64_t start, uint64_t end,
			      unsigned rank)
{
	const struct sn_operation *one = &placed->operation;
	static const uint8_t kinds[] = {SN_PATH_COMPUTE, SN_PATH_COMMUNICATION, SN_PATH_COPY};
	struct sn_path_activity activity = {
	    .start_ns = start,
	    .end_ns = end > start ? end : start,
	    .context = one->context,
	    .profile = one->profile,
	    .node = build->answers->nodes.of_context[one->context],
	    .kind = kinds[one->work],
	    .rank = (uint8_t)rank,
	    .begun_ns = sn_path_common(build, one->start_ns),
	    .ends = placed->is_earlier ? SN_PATH_END_WAITS : SN_PATH_END_SURE,
	};
	return sn_path_graph_add(build->graph, &activity);
}

SN_SORT_BY(sort_arrivals, uint32_t, const struct sn_arrival *,
	   SN_ORDER(of[*a].participant, of[*b].participant)
	       ?: SN_ORDER(of[*a].start_ns, of[*b].start_ns));

/* Sorts the parts of collectives by participant and start, for looking up the collective of
 * an operation. */
int sn_path_meetings_init(struct sn_path_building *build)
{
	const struct sn_ranks *ranks = &build->answers->ranks;
	struct sn_path_meetings *meetings = &build->meetings;
	size_t count = build->answers->collectives.arrival_count;
	meetings->arrivals = malloc((count + 1) * sizeof(uint32_t));
	meetings->collectives = malloc((count + 1) * sizeof(uint32_t));
	meetings->activities = malloc((ranks->count + 1) * sizeof(uint32_t));
	if (!meetings->arrivals || !meetings->collectives || !meetings->activities)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		meetings->arrivals[i] = i;
		meetings->collectives[i] = SONDE_NONE;
	}
	for (uint32_t c = 0; c < ranks->count; c++) {
		meetings->activities[c] = SONDE_NONE;
		for (uint32_t i = 0; i < ranks->collectives[c].count; i++)
			meetings->collectives[ranks->collectives[c].first + i] = c;
	}
	sort_arrivals(meetings->arrivals, count, ranks->arrivals);
	return 0;
}

void sn_path_meetings_release(struct sn_path_meetings *meetings)
{
	free(meetings->activities);
	free(meetings->collectives);
	free(meetings->arrivals);
	*meetings = (struct sn_path_meetings){0};
}

/* The collective to which an operation belongs, or SONDE_NONE. `start` is in common time, as
 * arrivals are. */
static uint32_t find_collective(const struct sn_path_building *build, size_t device, uint64_t start)
{
	const struct sn_collectives *collectives = &build->answers->collectives;
	const struct sn_arrival *all = build->answers->ranks.arrivals;
	const uint32_t *order = build->meetings.arrivals;
	size_t count = collectives->arrival_count;
	uint32_t participant = count ? collectives->of_devices[device] : SONDE_NONE;
	size_t found = sn_search(
	    i, count,
	    all[order[i]].participant < participant ||
		(all[order[i]].participant == participant && all[order[i]].start_ns < start));
	return found < count && all[order[found]].participant == participant &&
		       all[order[found]].start_ns == start
		   ? build->meetings.collectives[order[found]]
		   : SONDE_NONE;
}

/* Adds an operation of a collective as an arrival, the common meeting of all arrivals, and the
 * transfer. Sets the first and last activity. */
static int add_collective(struct sn_path_building *build, const struct sn_path_operation *placed,
			  uint32_t number, uint32_t *first, uint32_t *last)
{
	const struct sn_operation *one = &placed->operation;
	const struct sn_collective *collective = build->answers->ranks.collectives + number;
	uint64_t start = sn_path_common(build, one->start_ns),
		 end = sn_path_common(build, one->end_ns);
	uint64_t met = collective->last_ns < start ? start : collective->last_ns;
	met = met > end ? end : met;
	uint32_t *met_activity = build->meetings.activities + number;
	if (*met_activity == SONDE_NONE) {
		struct sn_path_activity meeting = {
		    .start_ns = collective->last_ns,
		    .end_ns = collective->last_ns,
		    .context = SONDE_NONE,
		    .profile = SONDE_NONE,
		    .node = SONDE_NONE,
		    .kind = SN_PATH_COMMUNICATION,
		    .rank = SN_PATH_RANK_MEETING,
		};
		*met_activity = sn_path_graph_add(build->graph, &meeting);
	}
	*first = add_operation(build, placed, start, start, SN_PATH_RANK_ARRIVAL);
	*last = add_operation(build, placed, met, end, SN_PATH_RANK_OTHER);
	if (*first == SONDE_NONE || *last == SONDE_NONE || *met_activity == SONDE_NONE)
		return SN_ERR_MEMORY;
	return sn_path_edge(build, *first, *last, false, 0, SN_PATH_HELD) ?:
	       sn_path_edge(build, *first, *met_activity, false, 0, SN_PATH_HELD) ?:
	       sn_path_edge(build, *met_activity, *last, false, 0, SN_PATH_HELD);
}

/* An operation that has started, for the heap by end. */
struct pending {
	uint64_t end_ns;
	uint32_t activity, stream;
};

/* The last operation of a stream. */
struct stream {
	uint32_t activity; /* valid if is_begun */
	bool is_begun;
	uint64_t end_ns;
};

/* Of streams with the same end the first is popped last, so it remains in `last`. */
SN_HEAP(pendings, struct pending, const void *,
	a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->stream > b->stream);

/*
 * The streams of a device, and the operations that ended last on two of them. Operations come in
 * order of start; those that have ended are popped from the heap, so that these two are known at
 * any time without visiting all streams.
 */
struct streams {
	struct stream *items;
	size_t capacity;
	struct sn_intern profiles; /* the items' profiles */
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

/* The operation that ended last on another stream before that time, which must not decrease;
 * activity SONDE_NONE if there is none. */
static struct pending other_stream(struct streams *streams, uint32_t stream, uint64_t before_ns)
{
	while (streams->heap_count && streams->heap[0].end_ns <= before_ns) {
		struct pending ended = streams->heap[0];
		pendings_pop(streams->heap, &streams->heap_count, NULL);
		if (ended.stream != streams->last[0].stream ||
		    streams->last[0].activity == SONDE_NONE)
			streams->last[1] = streams->last[0];
		streams->last[0] = ended;
	}
	return streams->last[streams->last[0].stream == stream];
}

/* The activity of the launch with that link; SONDE_NONE if it is outside all windows. */
static uint32_t launcher_of(const struct sn_path_building *build, uint64_t link)
{
	return link ? sn_table_find(&build->launchers, link) : SONDE_NONE;
}

/* The state of the device when an operation starts. */
struct situation {
	uint64_t start_ns, latency_ns;
	uint64_t idle_since_ns; /* start_ns: an operation was running */
	struct pending other;	/* the operation that ended last on another stream */
};

static struct situation situation_at(struct streams *streams, const struct stream *before,
				     uint64_t start_ns, uint64_t latency_ns)
{
	struct situation found = {.start_ns = start_ns, .latency_ns = latency_ns};
	found.other = other_stream(streams, (uint32_t)(before - streams->items), start_ns);
	if (streams->heap_count)
		found.idle_since_ns = start_ns;
	else if (streams->last[0].activity != SONDE_NONE)
		found.idle_since_ns = streams->last[0].end_ns;
	return found;
}

/*
 * Adds the edge from the launch; *explained is when it allowed the operation to start, 0 if
 * unknown. Usually that is the latency after the begin of the call. If the call was held up
 * although the device was idle, the operation could start only at the call's end, or at the last
 * progress before. On a busy device the call is not held up, but the operation waits for those that
 * run.
 */
static int connect_launch(struct sn_path_building *build, const struct sn_operation *one,
			  uint32_t first, const struct situation *at, uint64_t *explained)
{
	const struct sn_launch *launch = sn_launches_find(build->answers->launches, one->link);
	uint32_t launcher = launcher_of(build, one->link);
	uint64_t latency = at->latency_ns, start = at->start_ns;
	*explained = 0;
	if (launcher == SONDE_NONE || !launch)
		return 0;
	uint64_t called = build->graph->activities[launcher].start_ns;
	uint64_t returned = sn_path_common(build, launch->end_ns);
	uint64_t until = returned < start ? returned : start;
	uint64_t idle = at->idle_since_ns > called ? at->idle_since_ns : called;
	bool is_held_up =
	    until > idle + (2 * latency > SN_PATH_HELD_UP_NS ? 2 * latency : SN_PATH_HELD_UP_NS);
	uint64_t base = is_held_up ? until : called;
	uint64_t least = start > base ? start - base : 0;
	least = least > latency ? latency : least;
	*explained = base + least;
	if (is_held_up)
		launcher = sn_path_part_before(build, launch->profile, until);
	return sn_path_edge(build, launcher, first, !is_held_up, (int64_t)least, SN_PATH_LAUNCH);
}

/* Adds the edges from all that an operation had to wait for. */
static int connect_operation(struct sn_path_building *build, const struct sn_operation *one,
			     uint32_t first, const struct situation *at,
			     const struct stream *before)
{
	uint64_t explained;
	if (connect_launch(build, one, first, at, &explained))
		return SN_ERR_MEMORY;
	if (before->is_begun) {
		bool overlaps = before->end_ns > at->start_ns;
		explained = before->end_ns > explained && !overlaps ? before->end_ns : explained;
		if (sn_path_edge(build, before->activity, first, overlaps, 0, SN_PATH_HELD))
			return SN_ERR_MEMORY;
	}
	/* probably an event of another stream, which is not recorded */
	if (at->other.activity != SONDE_NONE && at->other.end_ns > explained &&
	    at->start_ns > explained + at->latency_ns)
		return sn_path_edge(build, at->other.activity, first, false, 0, SN_PATH_HELD);
	return 0;
}

SN_SORT_BY(sort_ends, struct sn_path_ending, const void *,
	   SN_ORDER(a->end_ns, b->end_ns) ?: SN_ORDER(a->activity, b->activity));

static int add_one(struct sn_path_building *build, const struct sn_path_operation *placed,
		   size_t device, struct streams *streams)
{
	const struct sn_operation *one = &placed->operation;
	uint64_t start = sn_path_common(build, one->start_ns),
		 end = sn_path_common(build, one->end_ns);
	uint64_t latency = build->answers->times.devices[device].launch_latency_ns;
	uint32_t at = sn_intern_item(&streams->profiles, &one->profile, sizeof(one->profile),
				     &streams->items, &streams->capacity, {0});
	uint32_t number =
	    one->work == SN_WORK_COMMUNICATION ? find_collective(build, device, start) : SONDE_NONE;
	uint32_t first, last;
	if (at == SN_INTERN_NONE ||
	    sn_vec_reserve(&streams->heap, &streams->heap_capacity, streams->heap_count + 1) < 0)
		return SN_ERR_MEMORY;
	struct stream *stream = streams->items + at;
	if (number != SONDE_NONE) {
		if (add_collective(build, placed, number, &first, &last))
			return SN_ERR_MEMORY;
	} else {
		first = last = add_operation(build, placed, start, end, SN_PATH_RANK_OTHER);
	}
	struct situation situation = situation_at(streams, stream, start, latency);
	if (first == SONDE_NONE || connect_operation(build, one, first, &situation, stream) ||
	    sn_vec_push(&build->ends, &build->end_capacity, &build->end_count,
			(struct sn_path_ending){end, one->link, last}))
		return SN_ERR_MEMORY;
	struct pending pending = {end, last, at};
	pendings_push(streams->heap, &streams->heap_count, pending, NULL);
	if (!stream->is_begun || end >= stream->end_ns)
		*stream = (struct stream){last, true, end};
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
				result =
				    add_one(build, device->items + i, build->numbers[d], &streams);
		streams_release(&streams);
	}
	sort_ends(build->ends, build->end_count, NULL);
	return result;
}
