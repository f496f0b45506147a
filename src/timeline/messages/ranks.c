/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the parts of collectives so that those of one collective are adjacent, aligns the clocks of
 * participants, and finds who waited. */
#include "ranks.h"

#include "base/arena.h"
#include "base/sort_by.h"

/* The accuracy of device clocks; some recordings round to microseconds. */
enum { TOLERANCE_NS = 20000 };

SN_SORT_BY(sort_by_participant, struct sn_arrival, const void *,
	   SN_ORDER(a->group, b->group) ?: SN_ORDER(a->participant, b->participant) ?:
	   SN_ORDER(a->start_ns, b->start_ns));

SN_SORT_BY(sort_by_collective, struct sn_arrival, const void *,
	   SN_ORDER(a->group, b->group) ?: SN_ORDER(a->number, b->number) ?:
	   SN_ORDER(a->start_ns, b->start_ns) ?: SN_ORDER(a->participant, b->participant));

/* One past the parts of the collective that begins at `first`. */
static size_t end_of(const struct sn_arrival *arrivals, size_t count, size_t first)
{
	size_t next = first + 1;
	while (next < count && arrivals[next].group == arrivals[first].group &&
	       arrivals[next].number == arrivals[first].number)
		next++;
	return next;
}

/* Collectives with several parts that must overlap in time, and those among them whose
 * parts do not. */
struct contradictions {
	size_t all, impossible;
};

static struct contradictions contradictions(const struct sn_arrival *arrivals, size_t count,
					    bool is_sure)
{
	struct contradictions found = {0, 0};
	for (size_t first = 0, next; first < count; first = next) {
		uint64_t last = 0, first_end = UINT64_MAX;
		next = end_of(arrivals, count, first);
		if (arrivals[first].is_loose || (is_sure && !arrivals[first].is_sure))
			continue;
		for (size_t i = first; i < next; i++) {
			const struct sn_arrival *one = arrivals + i;
			last = one->start_ns > last ? one->start_ns : last;
			first_end = one->end_ns < first_end ? one->end_ns : first_end;
		}
		found.all += next - first > 1;
		found.impossible += next - first > 1 && last > first_end + TOLERANCE_NS;
	}
	return found;
}

/* Whether more than one in ten is impossible. */
static bool are_apart(const struct sn_arrival *arrivals, size_t count)
{
	struct contradictions found = contradictions(arrivals, count, false);
	return found.impossible * 10 > found.all;
}

/* Numbers parts in order of time: a part that starts before the first part of the current
 * collective ends belongs to it, unless its participant already has a part there. */
static int number_by_time(struct sn_arrival *arrivals, size_t count, bool *is_done)
{
	uint64_t number = 0, first_end = UINT64_MAX;
	uint32_t most = 0;
	if (!arrivals->is_counted || arrivals->is_sure || !are_apart(arrivals, count))
		return 0;
	*is_done = true;
	for (size_t i = 0; i < count; i++) {
		arrivals[i].number = 0;
		most = arrivals[i].participant > most ? arrivals[i].participant : most;
	}
	uint64_t *last = calloc(most + 1ull, sizeof(*last)); /* by participant: its last number */
	if (!last)
		return SN_ERR_MEMORY;
	sort_by_collective(arrivals, count, NULL);
	for (size_t i = 0; i < count; i++) {
		bool is_same = i > 0 && arrivals[i].start_ns < first_end &&
			       last[arrivals[i].participant] != number;
		if (!is_same) {
			number++;
			first_end = UINT64_MAX;
		}
		first_end = arrivals[i].end_ns < first_end ? arrivals[i].end_ns : first_end;
		arrivals[i].number = last[arrivals[i].participant] = number;
	}
	free(last);
	return 0;
}

/* Numbers the parts of a group without recorded numbers: the n-th parts of all participants are
 * one collective. */
static int number_group(struct sn_arrival *arrivals, size_t count, bool *is_done)
{
	bool is_numbered = true;
	for (size_t i = 0; i < count; i++)
		is_numbered &= arrivals[i].number != UINT64_MAX;
	for (size_t i = 0; i < count && !is_numbered; i++) {
		bool follows = i && arrivals[i].participant == arrivals[i - 1].participant;
		arrivals[i].number = follows ? arrivals[i - 1].number + 1 : 0;
		arrivals[i].is_counted = true;
	}
	return 0;
}

/* Numbers the parts of one group; sets *is_done if it did. */
typedef int (*number_function)(struct sn_arrival *arrivals, size_t count, bool *is_done);

static int each_group(struct sn_collectives *collectives, number_function number, bool *is_done)
{
	int result = 0;
	for (size_t first = 0, next; first < collectives->arrival_count && !result; first = next) {
		for (next = first + 1; next < collectives->arrival_count; next++)
			if (collectives->arrivals[next].group != collectives->arrivals[first].group)
				break;
		result = number(collectives->arrivals + first, next - first, is_done);
	}
	sort_by_collective(collectives->arrivals, collectives->arrival_count, NULL);
	return result;
}

/* ---- certain collectives ---- */

SN_SORT_BY(sort_by_line, uint32_t, const struct sn_arrival *,
	   SN_ORDER(of[*a].line, of[*b].line) ?: SN_ORDER(of[*a].participant, of[*b].participant) ?:
	   SN_ORDER(of[*a].start_ns, of[*b].start_ns) ?: SN_ORDER(*a, *b));

/* Whether all participants of a line did the same in the same order; `line` has their parts, one
 * participant after the other. */
static bool is_in_order(const struct sn_arrival *arrivals, const uint32_t *line, size_t count)
{
	size_t each = 1;
	while (each < count && arrivals[line[each]].participant == arrivals[*line].participant)
		each++;
	if (each == count || count % each)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct sn_arrival *one = arrivals + line[i],
					*same = arrivals + line[i % each];
		const struct sn_arrival *first = arrivals + line[i - i % each];
		if (!one->is_told || !one->is_counted || one->group != same->group ||
		    one->number != same->number || one->participant != first->participant)
			return false;
	}
	return true;
}

/* Marks the parts that are certain to be numbered correctly. The array is not reordered. */
static int find_sure(struct sn_collectives *collectives)
{
	size_t count = collectives->arrival_count;
	struct sn_arrival *arrivals = collectives->arrivals;
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	if (!order)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	sort_by_line(order, count, arrivals);
	for (size_t first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count; next++)
			if (arrivals[order[next]].line != arrivals[order[first]].line)
				break;
		bool is_sure = is_in_order(arrivals, order + first, next - first);
		for (size_t i = first; i < next; i++)
			arrivals[order[i]].is_sure = is_sure;
	}
	free(order);
	return 0;
}

/* ---- clocks ---- */

/* How much earlier a participant ended than another one in a collective of both. */
struct distance {
	uint32_t participant;
	int64_t ns;
};

/* The state while participants get their clocks, one after the other. */
struct placing {
	const struct sn_collectives *collectives;
	struct sn_ranks *ranks;
	bool *is_placed;	/* by participant */
	bool *is_done;		/* by a collective's first part: all its participants are placed */
	uint32_t *firsts;	/* by part: the first part of its collective */
	uint32_t *order;	/* parts sorted by participant */
	struct distance *items; /* from the current participant */
	size_t *places;		/* by participant: index in `items` */
	size_t count;
};

SN_SORT_BY(sort_by_length, struct distance, const void *,
	   SN_ORDER(a->participant, b->participant) ?: SN_ORDER(a->ns, b->ns));
SN_SORT_BY(sort_numbers_by_participant, uint32_t, const struct sn_arrival *,
	   SN_ORDER(of[*a].participant, of[*b].participant) ?: SN_ORDER(*a, *b));

static void add_distances(struct placing *placing, uint32_t base, uint32_t first)
{
	const struct sn_arrival *arrivals = placing->collectives->arrivals;
	const struct sn_arrival *of_base = NULL;
	uint32_t end = (uint32_t)end_of(arrivals, placing->collectives->arrival_count, first);
	size_t known = placing->count;
	placing->is_done[first] = true;
	if (arrivals[first].is_loose)
		return;
	for (uint32_t i = first; i < end; i++)
		of_base = arrivals[i].participant == base ? arrivals + i : of_base;
	for (uint32_t i = first; i < end; i++) {
		uint32_t participant = arrivals[i].participant;
		size_t *place = placing->places + participant;
		if (placing->is_placed[participant])
			continue;
		/* if a participant has several parts in a collective, the last one counts */
		if (*place < known || *place >= placing->count ||
		    placing->items[*place].participant != participant)
			*place = placing->count++;
		placing->items[*place] =
		    (struct distance){participant, (int64_t)(of_base->end_ns - arrivals[i].end_ns)};
	}
}

/* Places each participant with distances at their median. */
static void place(struct placing *placing, uint32_t base)
{
	sort_by_length(placing->items, placing->count, NULL);
	for (size_t from = 0, next; from < placing->count; from = next) {
		uint32_t participant = placing->items[from].participant;
		for (next = from + 1; next < placing->count; next++)
			if (placing->items[next].participant != participant)
				break;
		placing->ranks->sums[participant].offset_ns =
		    placing->ranks->sums[base].offset_ns +
		    placing->items[from + (next - from) / 2].ns;
		placing->is_placed[participant] = true;
	}
	placing->count = 0;
}

/* Places all participants that are connected with the first one by collectives. Each collective is
 * examined once: its first placed participant places all others. */
static void place_all(struct placing *placing)
{
	const struct sn_collectives *collectives = placing->collectives;
	for (size_t i = 0, next; i < collectives->arrival_count; i = next) {
		uint32_t base = collectives->arrivals[placing->order[i]].participant;
		placing->is_placed[base] = true;
		for (next = i; next < collectives->arrival_count; next++) {
			uint32_t arrival = placing->order[next];
			if (collectives->arrivals[arrival].participant != base)
				break;
			if (!placing->is_done[placing->firsts[arrival]])
				add_distances(placing, base, placing->firsts[arrival]);
		}
		if (placing->count)
			place(placing, base);
	}
}

static int find_offsets(const struct sn_collectives *collectives, struct sn_ranks *ranks)
{
	size_t count = collectives->arrival_count;
	struct sn_arena arena = {0};
	struct placing placing = {
	    .collectives = collectives,
	    .ranks = ranks,
	    .is_placed = sn_arena_array(&arena, bool, ranks->participant_count + 1),
	    .is_done = sn_arena_array(&arena, bool, count + 1),
	    .firsts = sn_arena_array(&arena, uint32_t, count + 1),
	    .order = sn_arena_array(&arena, uint32_t, count + 1),
	    .items = sn_arena_array(&arena, struct distance, count + 1),
	    .places = sn_arena_array(&arena, size_t, ranks->participant_count + 1),
	};
	int result = arena.failed ? SN_ERR_MEMORY : 0;
	for (size_t first = 0, next; first < count && !result; first = next) {
		next = end_of(collectives->arrivals, count, first);
		for (size_t i = first; i < next; i++) {
			placing.firsts[i] = (uint32_t)first;
			placing.order[i] = (uint32_t)i;
		}
	}
	if (!result) {
		sort_numbers_by_participant(placing.order, count, collectives->arrivals);
		place_all(&placing);
	}
	sn_arena_release(&arena);
	return result;
}

/* Adds the offsets to all times, or subtracts them. */
static void move(struct sn_collectives *collectives, const struct sn_ranks *ranks, bool forth)
{
	for (size_t i = 0; i < collectives->arrival_count; i++) {
		struct sn_arrival *one = collectives->arrivals + i;
		uint64_t offset = (uint64_t)ranks->sums[one->participant].offset_ns;
		one->start_ns += forth ? offset : -offset;
		one->end_ns += forth ? offset : -offset;
		one->called_ns += forth ? offset : -offset;
	}
	sort_by_collective(collectives->arrivals, collectives->arrival_count, NULL);
}

/* Aligns clocks by the ends of collectives, if that resolves contradictions: those among certain
 * collectives, or among all if none is certain. */
static int shift(struct sn_collectives *collectives, struct sn_ranks *ranks)
{
	const struct sn_arrival *arrivals = collectives->arrivals;
	size_t count = collectives->arrival_count;
	struct contradictions before = contradictions(arrivals, count, true);
	bool is_any_sure = before.all > 0;
	if (find_offsets(collectives, ranks))
		return SN_ERR_MEMORY;
	move(collectives, ranks, true);
	struct contradictions after = contradictions(arrivals, count, is_any_sure);
	ranks->is_contradictory = is_any_sure && after.impossible * 10 > after.all;
	/* among certain collectives any improvement counts, though offsets may change over time */
	ranks->is_shifted =
	    is_any_sure ? after.impossible < before.impossible : after.impossible * 10 <= after.all;
	if (ranks->is_shifted)
		return 0;
	move(collectives, ranks, false);
	for (size_t i = 0; i < ranks->participant_count; i++)
		ranks->sums[i].offset_ns = 0;
	return 0;
}

static int reconcile(struct sn_collectives *collectives, struct sn_ranks *ranks)
{
	if (!are_apart(collectives->arrivals, collectives->arrival_count))
		return 0;
	if (shift(collectives, ranks))
		return SN_ERR_MEMORY;
	if (!are_apart(collectives->arrivals, collectives->arrival_count))
		return 0;
	return each_group(collectives, number_by_time, &ranks->is_overlapped);
}

/* ---- who waited ---- */

static int add_collective(const struct sn_collectives *collectives, size_t first, size_t count,
			  struct sn_ranks *ranks)
{
	const struct sn_arrival *arrivals = collectives->arrivals + first;
	const struct sn_arrival *last = arrivals + count - 1;
	struct sn_rank_sum *last_sum = ranks->sums + last->participant;
	uint64_t waits = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sn_arrival *one = arrivals + i;
		struct sn_rank_sum *sum = ranks->sums + one->participant;
		uint64_t wait = sn_arrival_wait_ns(one, last->start_ns);
		uint64_t own = one->called_ns - (uint64_t)sum->offset_ns;
		sum->count++;
		sum->waited_ns += wait;
		waits += wait;
		if (sn_intervals_add(ranks->waits + one->participant, own, own + wait))
			return SN_ERR_MEMORY;
	}
	ranks->collectives[ranks->count++] =
	    (struct sn_collective){(uint32_t)first, (uint32_t)count, last->start_ns, waits};
	last_sum->last_count++;
	last_sum->delayed_ns += waits;
	last_sum->late_ns += last->start_ns - last[-1].start_ns;
	return 0;
}

static bool is_alone(const struct sn_arrival *arrivals, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (arrivals[i].participant != arrivals[0].participant)
			return false;
	return true;
}

static int add_collectives(struct sn_collectives *collectives, struct sn_ranks *ranks)
{
	for (size_t first = 0, next; first < collectives->arrival_count; first = next) {
		next = end_of(collectives->arrivals, collectives->arrival_count, first);
		if (is_alone(collectives->arrivals + first, next - first))
			ranks->alone_count += next - first;
		else if (add_collective(collectives, first, next - first, ranks))
			return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < ranks->participant_count; i++)
		sn_intervals_settle(ranks->waits + i);
	return 0;
}

int sn_ranks(struct sn_collectives *collectives, struct sn_ranks *ranks, struct sn_error *error)
{
	size_t count = collectives->participant_count;
	*ranks = (struct sn_ranks){
	    .arrivals = collectives->arrivals,
	    .collectives = calloc(collectives->arrival_count + 1, sizeof(*ranks->collectives)),
	    .sums = calloc(count + 1, sizeof(*ranks->sums)),
	    .waits = calloc(count + 1, sizeof(*ranks->waits)),
	    .participant_count = count,
	};
	int result = ranks->collectives && ranks->sums && ranks->waits ? 0 : SN_ERR_MEMORY;
	sort_by_participant(collectives->arrivals, collectives->arrival_count, NULL);
	bool is_numbered;
	result = result ?: each_group(collectives, number_group, &is_numbered) ?:
		 find_sure(collectives) ?: reconcile(collectives, ranks) ?:
		 add_collectives(collectives, ranks);
	return sn_fail_code(error, result);
}

void sn_ranks_release(struct sn_ranks *ranks)
{
	for (size_t i = 0; i < ranks->participant_count && ranks->waits; i++)
		sn_intervals_release(ranks->waits + i);
	free(ranks->waits);
	free(ranks->sums);
	free(ranks->collectives);
	*ranks = (struct sn_ranks){0};
}
