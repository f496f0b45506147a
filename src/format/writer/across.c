/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums in any order; see across.h. */
#include "across.h"

#include "base/error.h"
#include "base/vec.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

int sn_across_init(struct sn_across_table *table, uint32_t metric_count, uint32_t inner_count)
{
	*table = (struct sn_across_table){calloc(metric_count + 1ull, sizeof(*table->metrics)),
					  metric_count, inner_count, 0};
	return table->metrics ? 0 : SN_ERR_MEMORY;
}

void sn_across_release(struct sn_across_table *table)
{
	for (uint32_t m = 0; table->metrics && m < table->metric_count; m++) {
		free(table->metrics[m].slots);
		free(table->metrics[m].items);
	}
	free(table->metrics);
	*table = (struct sn_across_table){0};
}

struct sn_across_metric *sn_across_metric(struct sn_across_table *table, uint32_t metric)
{
	struct sn_across_metric *found = table->metrics + metric;
	if (found->slots)
		return found;
	found->slots = calloc(table->inner_count + 1ull, sizeof(*found->slots));
	if (!found->slots)
		return NULL;
	table->bytes += (table->inner_count + 1ull) * sizeof(*found->slots);
	return found;
}

/* The accumulator of a context, all zeroes where it is new; NULL without memory. */
static struct sn_across *item_of(struct sn_across_table *table, struct sn_across_metric *metric,
				 uint32_t inner)
{
	if (!metric->slots[inner]) {
		size_t before = metric->capacity;
		if (sn_vec_reserve(&metric->items, &metric->capacity, metric->count + 1) < 0)
			return NULL;
		table->bytes += (metric->capacity - before) * sizeof(*metric->items);
		metric->items[metric->count] = (struct sn_across){0};
		metric->slots[inner] = (uint32_t)++metric->count;
	}
	return metric->items + metric->slots[inner] - 1;
}

static void widen(struct sn_across *item, double min, double max)
{
	if (!item->count || min < item->min)
		item->min = min;
	if (!item->count || max > item->max)
		item->max = max;
}

typedef unsigned __int128 wide;

/* Adds to the limbs from `at` on. */
static void add_limbs(uint64_t squares[4], unsigned at, wide number)
{
	for (; number && at < 4; at++) {
		wide sum = (wide)squares[at] + (uint64_t)number;
		squares[at] = (uint64_t)sum;
		number = (number >> 64) + (sum >> 64);
	}
}

/* In units of 2^shift. */
static wide whole_of(double sum, int32_t shift)
{
	enum { MANTISSA_BITS = 53 };
	sum = fabs(sum);
	if (!shift && sum < 0x1p64)
		return (uint64_t)sum;
	int exponent;
	uint64_t mantissa = (uint64_t)ldexp(frexp(sum, &exponent), MANTISSA_BITS);
	int place = exponent - MANTISSA_BITS - shift;
	if (place < 0)
		return place > -64 ? mantissa >> -place : 0;
	return (wide)mantissa << (place < 128 - MANTISSA_BITS ? place : 128 - MANTISSA_BITS);
}

int sn_across_add(struct sn_across_table *table, struct sn_across_metric *metric, uint32_t inner,
		  double sum, int32_t shift)
{
	struct sn_across *item = item_of(table, metric, inner);
	if (!item)
		return SN_ERR_MEMORY;
	if (!isfinite(sum)) /* added up beyond what a double holds */
		sum = sum < 0 ? -DBL_MAX : DBL_MAX;
	wide whole = whole_of(sum, shift);
	uint64_t low = (uint64_t)whole, high = (uint64_t)(whole >> 64);
	widen(item, sum, sum);
	add_limbs(item->squares, 0, (wide)low * low);
	if (high) {
		add_limbs(item->squares, 1, (wide)low * high);
		add_limbs(item->squares, 1, (wide)low * high);
		add_limbs(item->squares, 2, (wide)high * high);
	}
	item->count++;
	return 0;
}

int sn_across_absorb(struct sn_across_table *into, const struct sn_across_table *from)
{
	for (uint32_t m = 0; m < from->metric_count; m++) {
		const struct sn_across_metric *other = from->metrics + m;
		struct sn_across_metric *mine = other->slots ? sn_across_metric(into, m) : NULL;
		if (other->slots && !mine)
			return SN_ERR_MEMORY;
		for (uint32_t i = 0; mine && i < from->inner_count; i++) {
			if (!other->slots[i])
				continue;
			const struct sn_across *item = other->items + other->slots[i] - 1;
			struct sn_across *sum = item_of(into, mine, i);
			if (!sum)
				return SN_ERR_MEMORY;
			widen(sum, item->min, item->max);
			for (unsigned limb = 0; limb < 4; limb++)
				add_limbs(sum->squares, limb, item->squares[limb]);
			sum->count += item->count;
		}
	}
	return 0;
}

const struct sn_across *sn_across_at(const struct sn_across_table *table, uint32_t metric,
				     uint32_t inner)
{
	const struct sn_across_metric *found = table->metrics + metric;
	return found->slots && found->slots[inner] ? found->items + found->slots[inner] - 1 : NULL;
}

double sn_across_squares(const struct sn_across *across, int32_t shift)
{
	const uint64_t *squares = across->squares;
	int top = 3;
	while (top > 1 && !squares[top])
		top--;
	/* the upper two limbs, which round as all would: of the lower ones it only matters whether
	 * anything is there */
	wide number = (wide)squares[top] << 64 | squares[top - 1];
	for (int limb = 0; limb < top - 1; limb++)
		number |= squares[limb] != 0;
	return ldexp((double)number, 64 * (top - 1) + 2 * shift);
}

void sn_across_pack(struct sn_pack *pack, struct sn_across_table *table)
{
	for (uint32_t m = 0; m < table->metric_count; m++) {
		struct sn_across_metric *metric = table->metrics + m;
		uint32_t slots = metric->slots ? table->inner_count : 0;
		sn_pack_array(pack, &metric->slots, &slots);
		sn_pack_array(pack, &metric->items, &metric->count);
		if (pack->to)
			continue;
		metric->capacity = metric->count;
		if (!slots) {
			free(metric->slots);
			metric->slots = NULL;
		}
	}
}
