/* SPDX-License-Identifier: Apache-2.0 */
/* Collects marked iterations with their durations, and marks the unusual ones. */
#include "iterations.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"

#include <math.h>

static void read_number(struct sn_iteration *one, const struct sn_attributes *numbers, size_t event)
{
	for (size_t which = 0; which < numbers->count && !one->is_numbered; which++)
		one->is_numbered = sn_attributes_get(numbers, which, event, &one->number);
}

int sn_iterations_add(struct sn_iterations *iterations, const struct sonde_db *db, uint32_t profile,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block,
		      struct sn_attributes *numbers)
{
	bool is_read = false;
	for (size_t i = 0; i < block->count; i++) {
		struct sn_iteration one = {.start_ns = block->starts_ns[i],
					   .end_ns = block->ends_ns[i],
					   .profile = profile,
					   .context = block->contexts[i]};
		if (!(sn_context_frame(db, one.context)->flags & SN_FRAME_ITERATION))
			continue;
		if (!is_read)
			sn_attributes_read(numbers, cursor, block->count);
		is_read = true;
		read_number(&one, numbers, i);
		if (sn_vec_push(&iterations->items, &iterations->capacity, &iterations->count, one))
			return SN_ERR_MEMORY;
	}
	return 0;
}

SN_SORT_BY(sort_iterations, struct sn_iteration, const void *,
	   SN_ORDER(a->context, b->context) ?: SN_ORDER(a->profile, b->profile) ?:
	   SN_ORDER(a->start_ns, b->start_ns));

double sn_iteration_length_ns(const struct sn_iteration *iteration)
{
	return (double)(iteration->end_ns - iteration->start_ns);
}

size_t sn_iterations_end_of_context(const struct sn_iterations *iterations, size_t first)
{
	const struct sn_iteration *items = iterations->items;
	size_t next = first + 1;
	while (next < iterations->count && items[next].context == items[first].context)
		next++;
	return next;
}

size_t sn_iterations_end_of_thread(const struct sn_iterations *iterations, size_t first)
{
	const struct sn_iteration *items = iterations->items;
	size_t next = first + 1;
	while (next < iterations->count && items[next].context == items[first].context &&
	       items[next].profile == items[first].profile)
		next++;
	return next;
}

void sn_iterations_most(const struct sn_iterations *iterations, size_t *first, size_t *end)
{
	*first = *end = 0;
	for (size_t from = 0, next; from < iterations->count; from = next) {
		next = sn_iterations_end_of_context(iterations, from);
		if (next - from > *end - *first) {
			*first = from;
			*end = next;
		}
	}
}

double sn_iterations_tolerance_ns(double *lengths_ns, size_t count, double *median_ns)
{
	*median_ns = sn_sort_median(lengths_ns, count);
	for (size_t i = 0; i < count; i++)
		lengths_ns[i] = fabs(lengths_ns[i] - *median_ns);
	return fmax(5 * sn_sort_median(lengths_ns, count), 0.05 * *median_ns);
}

/* Numbers iterations without a number of their own by order in their context and thread. */
static void number(struct sn_iterations *iterations)
{
	struct sn_iteration *items = iterations->items;
	for (size_t first = 0, next; first < iterations->count; first = next) {
		next = sn_iterations_end_of_thread(iterations, first);
		for (size_t i = first; i < next; i++)
			if (!items[i].is_numbered)
				items[i].number = i - first + 1;
	}
}

/* Marks the unusual iterations of one context. */
static int mark(struct sn_iteration *items, size_t count)
{
	double *lengths = malloc(count * sizeof(*lengths)), median;
	if (!lengths)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		lengths[i] = sn_iteration_length_ns(items + i);
	double tolerance = sn_iterations_tolerance_ns(lengths, count, &median);
	for (size_t i = 0; i < count; i++)
		items[i].is_unusual =
		    count > 2 && fabs(sn_iteration_length_ns(items + i) - median) > tolerance;
	free(lengths);
	return 0;
}

int sn_iterations_settle(struct sn_iterations *iterations)
{
	sort_iterations(iterations->items, iterations->count, NULL);
	number(iterations);
	for (size_t first = 0, next; first < iterations->count; first = next) {
		next = sn_iterations_end_of_context(iterations, first);
		if (mark(iterations->items + first, next - first))
			return SN_ERR_MEMORY;
	}
	return 0;
}

void sn_iterations_release(struct sn_iterations *iterations)
{
	free(iterations->items);
	*iterations = (struct sn_iterations){0};
}

void sn_iterations_sum(const struct sn_iteration *items, size_t count, struct sn_iteration_sum *sum)
{
	double total = 0, squares = 0;
	*sum = (struct sn_iteration_sum){.count = count};
	double *numbers = malloc(count * sizeof(*numbers));
	for (size_t i = 0; i < count; i++) {
		double length = sn_iteration_length_ns(items + i);
		total += length;
		sum->unusual_count += items[i].is_unusual;
		sum->min_ns = !i || length < sum->min_ns ? length : sum->min_ns;
		sum->max_ns = length > sum->max_ns ? length : sum->max_ns;
		if (numbers)
			numbers[i] = length;
	}
	sum->mean_ns = total / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (sn_iteration_length_ns(items + i) - sum->mean_ns) *
			   (sn_iteration_length_ns(items + i) - sum->mean_ns);
	sum->deviation_ns = sqrt(squares / (double)count);
	sum->median_ns = numbers ? sn_sort_median(numbers, count) : sum->mean_ns;
	free(numbers);
}

size_t sn_iterations_usual(const struct sn_iteration *items, size_t count)
{
	struct sn_iteration_sum sum;
	size_t best = 0;
	sn_iterations_sum(items, count, &sum);
	for (size_t i = 1; i < count; i++)
		if (fabs(sn_iteration_length_ns(items + i) - sum.median_ns) <
		    fabs(sn_iteration_length_ns(items + best) - sum.median_ns))
			best = i;
	return best;
}
