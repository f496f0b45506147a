/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting arrivals until those of one collective lie together; see ranks.h. */
#include "ranks.h"

#include "base/vec.h"

#include <string.h>

/* Clocks of devices are read with that uncertainty, and some recordings have microseconds. */
enum { TOLERANCE_NS = 20000 };

static int compare_numbers(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

static int by_participant(const void *left, const void *right)
{
	const struct sn_arrival *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->participant != b->participant)
		return a->participant < b->participant ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_collective(const void *left, const void *right)
{
	const struct sn_arrival *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->participant > b->participant) - (a->participant < b->participant);
}

/* In order of time: what begins before all before it have ended is of the same collective, each
 * participant once. */
static void number_by_time(struct sn_arrival *arrivals, size_t count)
{
	uint64_t number = 0, first_end = 0;
	if (!arrivals->is_counted)
		return;
	for (size_t i = 0; i < count; i++)
		arrivals[i].number = 0;
	qsort(arrivals, count, sizeof(*arrivals), by_collective);
	for (size_t i = 0, first = 0; i < count; i++) {
		bool is_same = i > 0 && arrivals[i].start_ns < first_end;
		for (size_t k = first; k < i && is_same; k++)
			is_same = arrivals[k].participant != arrivals[i].participant;
		if (!is_same) {
			number++;
			first = i;
			first_end = UINT64_MAX;
		}
		first_end = arrivals[i].end_ns < first_end ? arrivals[i].end_ns : first_end;
		arrivals[i].number = number;
	}
}

/* Numbers those of a group where the recording does not: the n-th of each participant. */
static void number_group(struct sn_arrival *arrivals, size_t count)
{
	bool is_numbered = true;
	for (size_t i = 0; i < count; i++)
		is_numbered &= arrivals[i].number != UINT64_MAX;
	for (size_t i = 0; i < count && !is_numbered; i++) {
		bool follows = i && arrivals[i].participant == arrivals[i - 1].participant;
		arrivals[i].number = follows ? arrivals[i - 1].number + 1 : 0;
		arrivals[i].is_counted = true;
	}
}

typedef void (*number_function)(struct sn_arrival *arrivals, size_t count);

static void each_group(struct sn_details *details, number_function number)
{
	for (size_t first = 0, next; first < details->arrival_count; first = next) {
		for (next = first + 1; next < details->arrival_count; next++)
			if (details->arrivals[next].group != details->arrivals[first].group)
				break;
		number(details->arrivals + first, next - first);
	}
	qsort(details->arrivals, details->arrival_count, sizeof(*details->arrivals), by_collective);
}

/* ---- clocks ---- */

static size_t end_of(const struct sn_details *details, size_t first)
{
	size_t next = first + 1;
	while (next < details->arrival_count &&
	       details->arrivals[next].group == details->arrivals[first].group &&
	       details->arrivals[next].number == details->arrivals[first].number)
		next++;
	return next;
}

static bool are_clocks_apart(const struct sn_details *details)
{
	size_t all = 0, impossible = 0;
	for (size_t first = 0, next; first < details->arrival_count; first = next) {
		uint64_t last = 0, first_end = UINT64_MAX;
		next = end_of(details, first);
		if (details->arrivals[first].is_loose)
			continue;
		for (size_t i = first; i < next; i++) {
			const struct sn_arrival *one = details->arrivals + i;
			last = one->start_ns > last ? one->start_ns : last;
			first_end = one->end_ns < first_end ? one->end_ns : first_end;
		}
		all += next - first > 1;
		impossible += next - first > 1 && last > first_end + TOLERANCE_NS;
	}
	return impossible * 10 > all;
}

/* The median of what `one` ends earlier than `base` in the collectives of both. */
static bool offset_of(const struct sn_details *details, uint32_t base, uint32_t one,
		      int64_t *numbers, int64_t *offset)
{
	size_t count = 0;
	for (size_t first = 0, next; first < details->arrival_count; first = next) {
		const struct sn_arrival *a = NULL, *b = NULL;
		next = end_of(details, first);
		if (details->arrivals[first].is_loose)
			continue;
		for (size_t i = first; i < next; i++) {
			a = details->arrivals[i].participant == base ? details->arrivals + i : a;
			b = details->arrivals[i].participant == one ? details->arrivals + i : b;
		}
		if (a && b)
			numbers[count++] = (int64_t)(a->end_ns - b->end_ns);
	}
	if (!count)
		return false;
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	*offset = numbers[count / 2];
	return true;
}

static int find_offsets(const struct sn_details *details, struct sn_ranks *ranks)
{
	int64_t *numbers = malloc((details->arrival_count + 1) * sizeof(*numbers));
	bool *is_placed = calloc(ranks->participant_count + 1, sizeof(*is_placed));
	if (!numbers || !is_placed) {
		free(numbers);
		free(is_placed);
		return SN_ERR_MEMORY;
	}
	/* from the first that is placed to all that have something in common with it */
	for (uint32_t base = 0; base < ranks->participant_count; base++) {
		is_placed[base] = true;
		for (uint32_t i = 0; i < ranks->participant_count; i++) {
			int64_t offset;
			if (is_placed[i] || !offset_of(details, base, i, numbers, &offset))
				continue;
			ranks->sums[i].offset_ns = ranks->sums[base].offset_ns + offset;
			is_placed[i] = true;
		}
	}
	free(numbers);
	free(is_placed);
	return 0;
}

/* Adds the offsets to all times, or takes them off again. */
static void move(struct sn_details *details, const struct sn_ranks *ranks, bool forth)
{
	for (size_t i = 0; i < details->arrival_count; i++) {
		struct sn_arrival *one = details->arrivals + i;
		uint64_t offset = (uint64_t)ranks->sums[one->participant].offset_ns;
		one->start_ns += forth ? offset : -offset;
		one->end_ns += forth ? offset : -offset;
		one->called_ns += forth ? offset : -offset;
	}
	qsort(details->arrivals, details->arrival_count, sizeof(*details->arrivals), by_collective);
}

static int reconcile(struct sn_details *details, struct sn_ranks *ranks)
{
	if (!are_clocks_apart(details))
		return 0;
	if (find_offsets(details, ranks))
		return SN_ERR_MEMORY;
	move(details, ranks, true);
	ranks->is_shifted = !are_clocks_apart(details);
	if (ranks->is_shifted)
		return 0;
	move(details, ranks, false);
	for (size_t i = 0; i < ranks->participant_count; i++)
		ranks->sums[i].offset_ns = 0;
	ranks->is_overlapped = true;
	each_group(details, number_by_time);
	return 0;
}

/* ---- who waited ---- */

static int take_collective(const struct sn_details *details, size_t first, size_t count,
			   struct sn_ranks *ranks)
{
	const struct sn_arrival *arrivals = details->arrivals + first;
	const struct sn_arrival *last = arrivals + count - 1;
	struct sn_collective *made = ranks->collectives + ranks->count++;
	*made = (struct sn_collective){(uint32_t)first, (uint32_t)count, last->start_ns, 0};
	for (size_t i = 0; i < count; i++) {
		const struct sn_arrival *one = arrivals + i;
		struct sn_rank_sum *sum = ranks->sums + one->participant;
		uint64_t until = last->start_ns < one->end_ns ? last->start_ns : one->end_ns;
		uint64_t wait = until > one->called_ns ? until - one->called_ns : 0;
		uint64_t own = one->called_ns - (uint64_t)sum->offset_ns;
		sum->count++;
		sum->waited_ns += wait;
		made->wait_ns += wait;
		if (sn_intervals_add(ranks->waits + one->participant, own, own + wait))
			return SN_ERR_MEMORY;
	}
	ranks->sums[last->participant].last_count++;
	ranks->sums[last->participant].delayed_ns += made->wait_ns;
	ranks->sums[last->participant].late_ns += last->start_ns - last[-1].start_ns;
	return 0;
}

static bool is_alone(const struct sn_arrival *arrivals, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (arrivals[i].participant != arrivals[0].participant)
			return false;
	return true;
}

static int take_all(struct sn_details *details, struct sn_ranks *ranks)
{
	for (size_t first = 0, next; first < details->arrival_count; first = next) {
		next = end_of(details, first);
		if (is_alone(details->arrivals + first, next - first))
			ranks->alone_count += next - first;
		else if (take_collective(details, first, next - first, ranks))
			return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < ranks->participant_count; i++)
		sn_intervals_settle(ranks->waits + i);
	return 0;
}

int sn_ranks(struct sn_details *details, struct sn_ranks *ranks, struct sn_error *error)
{
	size_t count = details->participant_count;
	*ranks = (struct sn_ranks){
	    .arrivals = details->arrivals,
	    .collectives = calloc(details->arrival_count + 1, sizeof(*ranks->collectives)),
	    .sums = calloc(count + 1, sizeof(*ranks->sums)),
	    .waits = calloc(count + 1, sizeof(*ranks->waits)),
	    .participant_count = count,
	};
	int result = ranks->collectives && ranks->sums && ranks->waits ? 0 : SN_ERR_MEMORY;
	if (!result && details->arrival_count) {
		qsort(details->arrivals, details->arrival_count, sizeof(*details->arrivals),
		      by_participant);
		each_group(details, number_group);
		result = reconcile(details, ranks);
	}
	if (!result)
		result = take_all(details, ranks);
	return result ? sn_fail(error, result, "out of memory") : 0;
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
