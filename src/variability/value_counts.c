/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted values with their counts; what is added waits until it is worth a merge. */
#include "value_counts.h"

#include "base/sort_by.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>

/* What is added waits until there is as much of it as of items, but at least so much: of values, and of other sets, of which there may be
 * very many small ones. */
enum { PENDING_LEAST = 4096, WAITING_LEAST = 32 };
/* The most leading bits to which values are rounded, and the fewest. */
enum { BITS_MOST = 20, BITS_LEAST = 6 };
/* Beyond it squares might not fit. */
#define VALUE_MOST ((1ull << 48) - 1)

void sn_value_counts_release(struct sn_value_counts *counts)
{
	free(counts->items);
	free(counts->pending);
	free(counts->waiting);
	*counts = (struct sn_value_counts){.limit = counts->limit};
}

/* How many lower bits of the value are dropped. */
static unsigned dropped(uint64_t value, unsigned bits)
{
	unsigned length = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
	return bits && length > bits ? length - bits : 0;
}

static uint64_t rounded(uint64_t value, unsigned bits)
{
	unsigned shift = dropped(value, bits);
	return value >> shift << shift;
}

/* Rounds further until there are few enough. Ascending values stay ascending. */
static void coarsen(struct sn_value_counts *counts)
{
	while (counts->count > counts->limit && counts->bits != BITS_LEAST) {
		counts->bits = counts->bits ? counts->bits - 1 : BITS_MOST;
		size_t kept = 0;
		for (size_t i = 0; i < counts->count; i++) {
			struct sn_value_count one = counts->items[i];
			one.value = rounded(one.value, counts->bits);
			if (kept && counts->items[kept - 1].value == one.value)
				counts->items[kept - 1].count += one.count;
			else
				counts->items[kept++] = one;
		}
		counts->count = kept;
	}
}

void sn_value_counts_set_limit(struct sn_value_counts *counts, size_t limit)
{
	counts->limit = limit;
	coarsen(counts);
}

/* Merges ascending items into the set's. */
static int merge(struct sn_value_counts *counts, const struct sn_value_count *others, size_t count)
{
	struct sn_value_count *merged = malloc((counts->count + count + 1) * sizeof(*merged));
	size_t left = 0, right = 0, used = 0;
	if (!merged)
		return SN_ERR_MEMORY;
	while (left < counts->count || right < count) {
		bool is_left = right == count || (left < counts->count &&
						  counts->items[left].value <= others[right].value);
		struct sn_value_count one = is_left ? counts->items[left++] : others[right++];
		if (used && merged[used - 1].value == one.value)
			merged[used - 1].count += one.count;
		else
			merged[used++] = one;
	}
	free(counts->items);
	counts->items = merged;
	counts->capacity = counts->count + count + 1;
	counts->count = used;
	coarsen(counts);
	return 0;
}

static int take_pending(struct sn_value_counts *counts)
{
	size_t used = 0;
	struct sn_value_count *runs = malloc((counts->pending_count + 1) * sizeof(*runs));
	if (!runs)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < counts->pending_count; i++)
		counts->pending[i] = rounded(counts->pending[i], counts->bits);
	sn_sort_u64(counts->pending, counts->pending_count);
	for (size_t i = 0; i < counts->pending_count; i++) {
		if (used && runs[used - 1].value == counts->pending[i])
			runs[used - 1].count++;
		else
			runs[used++] = (struct sn_value_count){counts->pending[i], 1};
	}
	counts->pending_count = 0;
	int result = merge(counts, runs, used);
	free(runs);
	return result;
}

int sn_value_counts_add(struct sn_value_counts *counts, const uint64_t *values, size_t count)
{
	if (sn_vec_reserve(&counts->pending, &counts->pending_capacity,
			   counts->pending_count + count))
		return SN_ERR_MEMORY;
	if (!counts->total && count)
		counts->least = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = values[i] < VALUE_MOST ? values[i] : VALUE_MOST;
		counts->pending[counts->pending_count++] = value;
		counts->least = value < counts->least ? value : counts->least;
		counts->greatest = value > counts->greatest ? value : counts->greatest;
		counts->sum += value;
		counts->sum_squares += (unsigned __int128)value * value;
	}
	counts->total += count;
	bool is_worth =
	    counts->pending_count >= PENDING_LEAST && counts->pending_count >= counts->count;
	return is_worth ? take_pending(counts) : 0;
}

/* Each set's items are a run. */
SN_MERGE_SORT(sort_items, struct sn_value_count, const void *, b->value < a->value);

/* All to the fewest bits of any of the sets: equal ranges then have equal values. */
static int take_waiting(struct sn_value_counts *counts)
{
	for (size_t i = 0; i < counts->count; i++)
		counts->items[i].value = rounded(counts->items[i].value, counts->bits);
	for (size_t i = 0; i < counts->waiting_count; i++)
		counts->waiting[i].value = rounded(counts->waiting[i].value, counts->bits);
	if (sort_items(&counts->waiting, counts->waiting_count, NULL))
		return SN_ERR_MEMORY;
	counts->waiting_capacity = counts->waiting_count;
	size_t count = counts->waiting_count;
	counts->waiting_count = 0;
	return merge(counts, counts->waiting, count);
}

int sn_value_counts_merge(struct sn_value_counts *counts, const struct sn_value_counts *other)
{
	if (!other->total)
		return 0;
	if (sn_vec_reserve(&counts->waiting, &counts->waiting_capacity,
			   counts->waiting_count + other->count))
		return SN_ERR_MEMORY;
	memcpy(counts->waiting + counts->waiting_count, other->items,
	       other->count * sizeof(*other->items));
	counts->waiting_count += other->count;
	if (other->bits && (!counts->bits || other->bits < counts->bits))
		counts->bits = other->bits;
	counts->least =
	    counts->total && counts->least < other->least ? counts->least : other->least;
	counts->greatest = counts->greatest > other->greatest ? counts->greatest : other->greatest;
	counts->total += other->total;
	counts->sum += other->sum;
	counts->sum_squares += other->sum_squares;
	bool is_worth =
	    counts->waiting_count >= WAITING_LEAST && counts->waiting_count >= counts->count;
	return is_worth ? take_waiting(counts) : 0;
}

int sn_value_counts_settle(struct sn_value_counts *counts)
{
	int result = counts->pending_count ? take_pending(counts) : 0;
	if (!result && counts->waiting_count)
		result = take_waiting(counts);
	free(counts->pending);
	free(counts->waiting);
	counts->pending = NULL;
	counts->waiting = NULL;
	counts->pending_capacity = counts->waiting_capacity = 0;
	return result;
}

void sn_value_counts_pack(const struct sn_value_counts *counts, struct sn_buffer *bytes)
{
	sn_buffer_put(bytes, counts, sizeof(*counts));
	sn_buffer_put(bytes, counts->items, counts->count * sizeof(*counts->items));
}

bool sn_value_counts_unpack(struct sn_value_counts *counts, struct sn_span *bytes)
{
	bool is_there = sn_span_get(bytes, counts, sizeof(*counts));
	counts->items = NULL;
	counts->pending = NULL;
	counts->waiting = NULL;
	counts->pending_count = counts->pending_capacity = 0;
	counts->waiting_count = counts->waiting_capacity = 0;
	if (!is_there || counts->count > bytes->count / sizeof(*counts->items))
		return false;
	counts->capacity = counts->count + 1;
	counts->items = malloc(counts->capacity * sizeof(*counts->items));
	return counts->items &&
	       sn_span_get(bytes, counts->items, counts->count * sizeof(*counts->items));
}

/* ---- results ---- */

double sn_value_counts_error(const struct sn_value_counts *counts)
{
	return counts->bits ? ldexp(1, -(int)counts->bits) : 0;
}

double sn_value_counts_mean(const struct sn_value_counts *counts)
{
	return counts->total ? (double)counts->sum / (double)counts->total : 0;
}

/* n * sum of squares - sum^2 is a whole number, so nothing cancels; it may be too large where the values are. */
double sn_value_counts_deviation(const struct sn_value_counts *counts)
{
	unsigned __int128 total = counts->total, left, right;
	if (!total)
		return 0;
	if (__builtin_mul_overflow(total, counts->sum_squares, &left) ||
	    __builtin_mul_overflow(counts->sum, counts->sum, &right)) {
		long double mean = (long double)counts->sum / (long double)total;
		long double variance =
		    (long double)counts->sum_squares / (long double)total - mean * mean;
		return variance > 0 ? sqrt((double)variance) : 0;
	}
	return sqrt((double)(left - right)) / (double)total;
}

double sn_value_counts_at(const struct sn_value_counts *counts, size_t item)
{
	uint64_t value = counts->items[item].value;
	unsigned shift = dropped(value, counts->bits);
	double middle = (double)value + (double)((1ull << shift) - 1) / 2;
	/* not beyond what there is */
	middle = middle < (double)counts->least ? (double)counts->least : middle;
	return middle > (double)counts->greatest ? (double)counts->greatest : middle;
}

/* The item that has the value of that position, from 0, in ascending order. */
static size_t item_of(const struct sn_value_counts *counts, uint64_t position)
{
	size_t item = 0;
	for (uint64_t before = 0; item + 1 < counts->count; item++) {
		before += counts->items[item].count;
		if (position < before)
			break;
	}
	return item;
}

double sn_value_counts_quantile(const struct sn_value_counts *counts, double share)
{
	if (!counts->total)
		return 0;
	double place = share * (double)(counts->total - 1);
	uint64_t below = (uint64_t)place;
	double low = sn_value_counts_at(counts, item_of(counts, below));
	double high = sn_value_counts_at(
	    counts, item_of(counts, below + 1 < counts->total ? below + 1 : below));
	return low + (high - low) * (place - (double)below);
}

static double log_at(const struct sn_value_counts *counts, size_t item)
{
	double value = sn_value_counts_at(counts, item);
	return log(value > 1 ? value : 1);
}

/* The median of |log - median|: those on either side come nearest first, so two places move outwards. */
static double median_difference(const struct sn_value_counts *counts, const double *logs,
				double median)
{
	size_t right = 0, left;
	while (right < counts->count && logs[right] < median)
		right++;
	left = right;
	uint64_t lower = (counts->total - 1) / 2, upper = counts->total / 2, passed = 0;
	double low = 0, difference = 0;
	bool has_low = false;
	while (passed <= upper) {
		bool is_left = right == counts->count ||
			       (left > 0 && median - logs[left - 1] < logs[right] - median);
		size_t item = is_left ? --left : right++;
		difference = fabs(logs[item] - median);
		passed += counts->items[item].count;
		if (!has_low && passed > lower) {
			has_low = true;
			low = difference;
		}
	}
	return (low + difference) / 2;
}

struct sn_log_spread sn_value_counts_log_spread(const struct sn_value_counts *counts)
{
	struct sn_log_spread spread = {0};
	double *logs = counts->total ? malloc(counts->count * sizeof(*logs)) : NULL;
	if (!logs)
		return spread;
	for (size_t i = 0; i < counts->count; i++)
		logs[i] = log_at(counts, i);
	spread.median = (logs[item_of(counts, (counts->total - 1) / 2)] +
			 logs[item_of(counts, counts->total / 2)]) /
			2;
	spread.mad = median_difference(counts, logs, spread.median);
	double differences = 0;
	for (size_t i = 0; i < counts->count; i++)
		differences += fabs(logs[i] - spread.median) * (double)counts->items[i].count;
	/* what adding up logarithms leaves of equal ones is nothing */
	bool is_zero = spread.mad < 1e-12;
	spread.mad = is_zero ? 0 : spread.mad;
	spread.scale =
	    is_zero ? 1.253314 * differences / (double)counts->total : 1.482602 * spread.mad;
	spread.scale = spread.scale < 1e-12 ? 0 : spread.scale;
	free(logs);
	return spread;
}

struct sn_outliers sn_value_counts_outliers(const struct sn_value_counts *counts,
					    const struct sn_log_spread *spread)
{
	struct sn_outliers outliers = {0};
	for (size_t i = 0; i < counts->count && spread->scale > 0; i++) {
		double difference = log_at(counts, i) - spread->median;
		if (fabs(difference) <= SN_OUTLIER_SCALES * spread->scale)
			continue;
		*(difference > 0 ? &outliers.above : &outliers.below) += counts->items[i].count;
		if (difference > 0)
			outliers.above_sum +=
			    sn_value_counts_at(counts, i) * (double)counts->items[i].count;
	}
	return outliers;
}

double sn_value_counts_mean_difference(const struct sn_value_counts *counts)
{
	double mean = sn_value_counts_mean(counts), sum = 0;
	for (size_t i = 0; i < counts->count; i++)
		sum += fabs(sn_value_counts_at(counts, i) - mean) * (double)counts->items[i].count;
	return counts->total ? sum / (double)counts->total : 0;
}
