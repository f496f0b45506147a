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

struct cutting {
	const struct sn_device_time *time;
	struct segments *segments;
};

static int take_part(void *data, const struct sn_host_part *part)
{
	struct cutting *cutting = data;
	return cut(cutting->time, part->start_ns, part->end_ns, part->context, cutting->segments);
}

/* ---- sharing ---- */

/* A segment begins or ends. */
struct edge {
	uint64_t time_ns;
	uint32_t segment;
	bool is_end;
};

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->is_end != b->is_end)
		return a->is_end ? -1 : 1;
	return (a->segment > b->segment) - (a->segment < b->segment);
}

/*
 * Sweeps over the edges. `per_thread` is the time that each of the running threads has been charged
 * since the beginning; a segment's share is how much that grew while it ran.
 */
static double share(const struct segments *segments, const struct edge *edges, double *begins,
		    double *charged)
{
	double per_thread = 0, blamed = 0;
	size_t running = 0;
	uint64_t now = 0;
	for (size_t i = 0; i < 2 * segments->count; i++) {
		const struct edge *edge = edges + i;
		if (running) {
			double passed = (double)(edge->time_ns - now);
			per_thread += passed / (double)running;
			blamed += passed;
		}
		now = edge->time_ns;
		if (edge->is_end) {
			running--;
			charged[segments->items[edge->segment].context] +=
			    per_thread - begins[edge->segment];
		} else {
			running++;
			begins[edge->segment] = per_thread;
		}
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

static int make_shares(const struct sonde_db *db, const struct segments *segments,
		       struct sn_blame *blame)
{
	uint32_t context_count = sonde_db_context_count(db);
	struct edge *edges = malloc((2 * segments->count + 1) * sizeof(*edges));
	double *begins = malloc((segments->count + 1) * sizeof(*begins));
	double *charged = calloc(context_count, sizeof(*charged));
	blame->shares = malloc((context_count + 1ull) * sizeof(*blame->shares));
	bool has_memory = edges && begins && charged && blame->shares;
	if (has_memory) {
		for (uint32_t i = 0; i < segments->count; i++) {
			edges[2 * i] = (struct edge){segments->items[i].start_ns, i, false};
			edges[2 * i + 1] = (struct edge){segments->items[i].end_ns, i, true};
		}
		qsort(edges, 2 * segments->count, sizeof(*edges), compare_edges);
		blame->blamed_ns = share(segments, edges, begins, charged);
		for (uint32_t i = 0; i < context_count; i++)
			if (charged[i] > 0)
				blame->shares[blame->count++] =
				    (struct sn_blame_share){i, charged[i]};
		qsort(blame->shares, blame->count, sizeof(*blame->shares), compare_shares);
	}
	free(edges);
	free(begins);
	free(charged);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

/* Takes out what only waits. */
static void drop_waiting(const struct sonde_db *db, struct segments *segments)
{
	size_t kept = 0;
	for (size_t i = 0; i < segments->count; i++)
		if (!sn_host_is_waiting(db, segments->items[i].context))
			segments->items[kept++] = segments->items[i];
	segments->count = kept;
}

int sn_blame(const struct sonde_db *db, const struct sonde_trace *trace,
	     const struct sn_device_time *time, struct sn_blame *blame, struct sn_error *error)
{
	struct segments segments = {0};
	*blame = (struct sn_blame){0};
	struct cutting cutting = {time, &segments};
	int result =
	    sn_host_walk(db, trace, time->profile, SONDE_EVENTS_BRIEF, take_part, &cutting, error);
	if (!result) {
		drop_waiting(db, &segments);
		if (make_shares(db, &segments, blame))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	blame->nobody_ns = (double)time->idle_ns - blame->blamed_ns;
	free(segments.items);
	return result;
}

void sn_blame_release(struct sn_blame *blame)
{
	free(blame->shares);
	*blame = (struct sn_blame){0};
}
