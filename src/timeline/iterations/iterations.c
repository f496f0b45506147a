/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of marked regions; see iterations.h. */
#include "iterations.h"

#include "base/vec.h"
#include "format/measurement/measurement.h"

#include <math.h>

static bool is_iteration(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	return frame->flags & SN_FRAME_ITERATION;
}

int sn_iterations_take(struct sn_iterations *iterations, const struct sonde_db *db,
		       uint32_t profile, const struct sonde_event_block *block)
{
	for (size_t i = 0; i < block->count; i++) {
		if (!is_iteration(db, block->contexts[i]))
			continue;
		if (sn_vec_reserve(&iterations->items, &iterations->capacity,
				   iterations->count + 1) < 0)
			return SN_ERR_MEMORY;
		iterations->items[iterations->count++] = (struct sn_iteration){
		    block->starts_ns[i], block->ends_ns[i], profile, block->contexts[i], false};
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct sn_iteration *a = left, *b = right;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	if (a->profile != b->profile)
		return a->profile < b->profile ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static double median(double *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	return count % 2 ? numbers[count / 2] : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
}

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

/* Marks the unusual ones of one context. */
static int mark(struct sn_iteration *items, size_t count)
{
	double *numbers = malloc(count * sizeof(*numbers));
	if (!numbers)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		numbers[i] = sn_iteration_length_ns(items + i);
	double middle = median(numbers, count);
	for (size_t i = 0; i < count; i++)
		numbers[i] = fabs(sn_iteration_length_ns(items + i) - middle);
	double limit = 5 * median(numbers, count);
	limit = limit > 0.05 * middle ? limit : 0.05 * middle;
	for (size_t i = 0; i < count; i++)
		items[i].is_unusual =
		    count > 2 && fabs(sn_iteration_length_ns(items + i) - middle) > limit;
	free(numbers);
	return 0;
}

int sn_iterations_settle(struct sn_iterations *iterations)
{
	if (iterations->count)
		qsort(iterations->items, iterations->count, sizeof(*iterations->items), compare);
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
	sum->median_ns = numbers ? median(numbers, count) : sum->mean_ns;
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
