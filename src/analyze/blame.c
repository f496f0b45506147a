/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing idle time among threads; see blame.h. */
#include "blame.h"

#include "base/vec.h"
#include "host.h"

/* A thread was in `context`, innermost, for this part of a gap. */
struct segment {
	uint64_t start_ns, end_ns;
	uint32_t context;
};

struct segments {
	struct segment *items;
	size_t count, capacity;
};

/* The first gap that ends after the time. */
static size_t find_gap(const struct sn_device_time *time, uint64_t time_ns)
{
	size_t low = 0, high = time->gap_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (time->gaps[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What of [start, end) lies in gaps becomes segments. */
static int cut(const struct sn_device_time *time, uint64_t start_ns, uint64_t end_ns,
	       uint32_t context, struct segments *segments)
{
	for (size_t i = find_gap(time, start_ns); i < time->gap_count; i++) {
		const struct sn_device_gap *gap = time->gaps + i;
		if (gap->start_ns >= end_ns)
			break;
		if (sn_vec_reserve(&segments->items, &segments->capacity, segments->count + 1) < 0)
			return SN_ERR_MEMORY;
		segments->items[segments->count++] =
		    (struct segment){start_ns > gap->start_ns ? start_ns : gap->start_ns,
				     end_ns < gap->end_ns ? end_ns : gap->end_ns, context};
	}
	return 0;
}

/* The segments of all threads, one thread after the other, each in order of time. */
struct cutting {
	const struct sonde_db *db;
	const struct sn_device_time *time;
	struct segments *segments;
	struct lane *lanes;
	size_t lane_count, lane_capacity;
	uint8_t *waits;	  /* by context: 0 not known yet, 1 does something, 2 waits */
	uint32_t profile; /* of the last lane */
};

/* A thread's segments, and how far the sweep has come in them. */
struct lane {
	size_t at, end;
	bool is_running;
	double begin;
};

static int begin_lane(struct cutting *cutting, uint32_t profile)
{
	if (cutting->lane_count && cutting->profile == profile)
		return 0;
	if (sn_vec_reserve(&cutting->lanes, &cutting->lane_capacity, cutting->lane_count + 1) < 0)
		return SN_ERR_MEMORY;
	cutting->lanes[cutting->lane_count++] = (struct lane){.at = cutting->segments->count};
	cutting->profile = profile;
	return 0;
}

static int take_part(void *data, const struct sn_host_part *part)
{
	struct cutting *cutting = data;
	if (!cutting->waits[part->context])
		cutting->waits[part->context] =
		    sn_host_is_waiting(cutting->db, part->context) ? 2 : 1;
	if (cutting->waits[part->context] == 2)
		return 0;
	if (begin_lane(cutting, part->profile) ||
	    cut(cutting->time, part->start_ns, part->end_ns, part->context, cutting->segments))
		return SN_ERR_MEMORY;
	cutting->lanes[cutting->lane_count - 1].end = cutting->segments->count;
	return 0;
}

/* ---- sharing ---- */

/* A segment begins or ends. Those of one thread follow each other, so that each thread has one that
 * comes next, and nothing has to be sorted. */
struct edge {
	uint64_t time_ns;
	size_t segment;
	struct lane *lane;
	bool is_end;
};

static struct edge edge_of(const struct segments *segments, struct lane *lane)
{
	const struct segment *segment = segments->items + lane->at;
	return (struct edge){lane->is_running ? segment->end_ns : segment->start_ns, lane->at, lane,
			     lane->is_running};
}

static bool comes_first(const struct edge *a, const struct edge *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->is_end != b->is_end)
		return a->is_end;
	return a->segment < b->segment;
}

/* The next edge of each thread, as a heap whose first item comes first. */
static void sink(struct edge *heap, size_t count, size_t at)
{
	struct edge edge = heap[at];
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && comes_first(heap + child + 1, heap + child))
			child++;
		if (!comes_first(heap + child, &edge))
			break;
		heap[at] = heap[child];
	}
	heap[at] = edge;
}

static size_t make_heap(const struct segments *segments, const struct cutting *cutting,
			struct edge *heap)
{
	size_t count = 0;
	for (size_t i = 0; i < cutting->lane_count; i++)
		if (cutting->lanes[i].at < cutting->lanes[i].end)
			heap[count++] = edge_of(segments, cutting->lanes + i);
	for (size_t i = count / 2; i--;)
		sink(heap, count, i);
	return count;
}

/*
 * Sweeps over the edges. `per_thread` is the time that each of the running threads has been charged
 * since the beginning; a segment's share is how much that grew while it ran.
 */
static double share(const struct segments *segments, const struct cutting *cutting,
		    struct edge *heap, double *charged)
{
	double per_thread = 0, blamed = 0;
	size_t running = 0, count = make_heap(segments, cutting, heap);
	uint64_t now = 0;
	while (count) {
		struct lane *lane = heap->lane;
		uint64_t time_ns = heap->time_ns;
		if (running) {
			double passed = (double)(time_ns - now);
			per_thread += passed / (double)running;
			blamed += passed;
		}
		now = time_ns;
		if (lane->is_running) {
			running--;
			charged[segments->items[lane->at].context] += per_thread - lane->begin;
			lane->at++;
		} else {
			running++;
			lane->begin = per_thread;
		}
		lane->is_running = !lane->is_running;
		if (lane->at < lane->end)
			*heap = edge_of(segments, lane);
		else
			*heap = heap[--count];
		if (count)
			sink(heap, count, 0);
	}
	return blamed;
}

static int compare_shares(const void *left, const void *right)
{
	const struct sn_blame_share *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return a->context < b->context ? -1 : a->context > b->context;
}

static int make_shares(const struct cutting *cutting, struct sn_blame *blame)
{
	uint32_t context_count = sonde_db_context_count(cutting->db);
	struct edge *heap = malloc((cutting->lane_count + 1) * sizeof(*heap));
	double *charged = calloc(context_count, sizeof(*charged));
	blame->shares = malloc((context_count + 1ull) * sizeof(*blame->shares));
	bool has_memory = heap && charged && blame->shares;
	if (has_memory) {
		blame->blamed_ns = share(cutting->segments, cutting, heap, charged);
		for (uint32_t i = 0; i < context_count; i++)
			if (charged[i] > 0)
				blame->shares[blame->count++] =
				    (struct sn_blame_share){i, charged[i]};
		qsort(blame->shares, blame->count, sizeof(*blame->shares), compare_shares);
	}
	free(heap);
	free(charged);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

int sn_blame(const struct sonde_db *db, const struct sonde_trace *trace,
	     const struct sn_device_time *time, struct sn_blame *blame, struct sn_error *error)
{
	struct segments segments = {0};
	*blame = (struct sn_blame){0};
	struct cutting cutting = {.db = db,
				  .time = time,
				  .segments = &segments,
				  .waits = calloc(sonde_db_context_count(db) + 1ull, 1)};
	int result = cutting.waits ? sn_host_walk(db, trace, time->profile, SONDE_EVENTS_BRIEF,
						  take_part, &cutting, error)
				   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result && make_shares(&cutting, blame))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	blame->nobody_ns = (double)time->idle_ns - blame->blamed_ns;
	free(segments.items);
	free(cutting.lanes);
	free(cutting.waits);
	return result;
}

void sn_blame_release(struct sn_blame *blame)
{
	free(blame->shares);
	*blame = (struct sn_blame){0};
}
