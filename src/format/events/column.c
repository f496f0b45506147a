/* SPDX-License-Identifier: Apache-2.0 */
/* Byte planes of differences; see column.h. */
#include "column.h"

#include "base/fixed_table.h"
#include "base/sort.h"
#include "base/wide.h"

enum encoding { CONSTANT, PLAIN, DELTA, DICTIONARY };

/* Before the planes of a column. */
struct head {
	uint8_t encoding;
	uint8_t width; /* planes: bytes of a value */
	uint16_t distinct_count;
	uint32_t reserved;
	uint64_t base; /* least value or least step; the value of a constant */
};
_Static_assert(sizeof(struct head) == 16, "column head is on disk");

static unsigned width_of(uint64_t value)
{
	return value ? (71 - (unsigned)__builtin_clzll(value)) / 8 : 0;
}

/* The width of the widest of values[i] - base, and what all of them would take at their own. */
SN_WIDE static unsigned measure(const uint64_t *values, size_t count, uint64_t base, size_t *cost)
{
	uint64_t all = 0, sum = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = values[i] - base;
		all |= value;
		sum += width_of(value);
	}
	*cost = sum;
	return width_of(all);
}

SN_WIDE static uint64_t least(const uint64_t *values, size_t count)
{
	int64_t found = (int64_t)values[0];
	for (size_t i = 1; i < count; i++)
		if ((int64_t)values[i] < found)
			found = (int64_t)values[i];
	return (uint64_t)found;
}

SN_WIDE static void put_planes(const uint64_t *values, size_t count, uint64_t base, unsigned width,
			       struct sn_buffer *buffer)
{
	unsigned char *planes = sn_buffer_room(buffer, count * width);
	if (!planes)
		return;
	for (unsigned plane = 0; plane < width; plane++)
		for (size_t i = 0; i < count; i++)
			*planes++ = (unsigned char)((values[i] - base) >> (8 * plane));
}

SN_WIDE static bool get_planes(struct sn_span *span, uint64_t *values, size_t count, uint64_t base,
			       unsigned width)
{
	const unsigned char *planes = sn_span_next(span, count * width);
	if (!planes)
		return false;
	for (size_t i = 0; i < count; i++)
		values[i] = base;
	for (unsigned plane = 0; plane < width; plane++, planes += count)
		for (size_t i = 0; i < count; i++)
			values[i] += (uint64_t)planes[i] << (8 * plane);
	return true;
}

/* The distinct values of a column. */
SN_FIXED_TABLE(dictionary, uint64_t, uint16_t, 12);
_Static_assert(SN_COLUMN_MAX <= 1 << 12, "a column's values fit");

/* False where there are more than `limit` distinct values. */
static bool collect(struct dictionary *dictionary, const uint64_t *values, size_t count,
		    size_t limit)
{
	dictionary_clear(dictionary);
	for (size_t i = 0; i < count; i++)
		if (dictionary_add(dictionary, values[i]) >= limit)
			return false;
	return true;
}

/* Numbers the values in their order. */
static void sort_values(struct dictionary *dictionary)
{
	size_t count = dictionary->count;
	sn_sort_u64(dictionary->keys, count);
	dictionary_clear(dictionary);
	for (size_t i = 0; i < count; i++)
		dictionary_add(dictionary, dictionary->keys[i]);
}

static void put_head(struct sn_buffer *buffer, enum encoding encoding, unsigned width,
		     uint64_t base, size_t distinct_count)
{
	struct head head = {
	    .encoding = (uint8_t)encoding,
	    .width = (uint8_t)width,
	    .distinct_count = (uint16_t)distinct_count,
	    .base = base,
	};
	sn_buffer_put(buffer, &head, sizeof(head));
}

/* Half of the first few values occurring again is what a dictionary needs to be worth its search.
 */
#define LOOK_AHEAD 256u

static bool repeats(struct dictionary *dictionary, const uint64_t *values, size_t count)
{
	size_t looked_at = count < LOOK_AHEAD ? count : LOOK_AHEAD;
	return collect(dictionary, values, looked_at, looked_at / 2);
}

/* Bytes of a value's place in a dictionary. */
static unsigned place_width(size_t distinct_count)
{
	return distinct_count > 256 ? 2 : 1;
}

/* What the dictionary of so many values costs: itself, and a byte or two for each value. */
static bool put_dictionary(const uint64_t *values, size_t count, size_t other_cost,
			   struct sn_buffer *buffer)
{
	static _Thread_local struct dictionary dictionary;
	uint64_t places[SN_COLUMN_MAX];
	if (other_cost <= count || !repeats(&dictionary, values, count) ||
	    !collect(&dictionary, values, count, count / 2))
		return false;
	unsigned width = place_width(dictionary.count);
	uint64_t base = least(dictionary.keys, dictionary.count);
	size_t cost;
	unsigned value_width = measure(dictionary.keys, dictionary.count, base, &cost);
	if (count * width + dictionary.count * value_width >= other_cost)
		return false;
	sort_values(&dictionary);
	for (size_t i = 0; i < count; i++)
		places[i] = dictionary_add(&dictionary, values[i]);
	put_head(buffer, DICTIONARY, value_width, base, dictionary.count);
	put_planes(dictionary.keys, dictionary.count, base, value_width, buffer);
	put_planes(places, count, 0, width, buffer);
	return true;
}

void sn_column_encode(const uint64_t *values, size_t count, struct sn_buffer *buffer)
{
	uint64_t steps[SN_COLUMN_MAX];
	size_t plain_cost, delta_cost;
	uint64_t base = least(values, count);
	unsigned plain_width = measure(values, count, base, &plain_cost);
	if (!plain_width) {
		put_head(buffer, CONSTANT, 0, base, 0);
		return;
	}
	steps[0] = 0;
	for (size_t i = 1; i < count; i++)
		steps[i] = values[i] - values[i - 1];
	uint64_t step_base = count > 1 ? least(steps + 1, count - 1) : 0;
	unsigned delta_width = measure(steps + 1, count - 1, step_base, &delta_cost);
	bool is_delta = delta_cost < plain_cost;
	if (put_dictionary(values, count, is_delta ? delta_cost : plain_cost, buffer))
		return;
	if (is_delta) {
		put_head(buffer, DELTA, delta_width, step_base, 0);
		sn_buffer_put(buffer, values, sizeof(*values));
		put_planes(steps + 1, count - 1, step_base, delta_width, buffer);
	} else {
		put_head(buffer, PLAIN, plain_width, base, 0);
		put_planes(values, count, base, plain_width, buffer);
	}
}

static bool get_delta(struct sn_span *span, const struct head *head, uint64_t *values, size_t count)
{
	if (!sn_span_get(span, values, sizeof(*values)) ||
	    !get_planes(span, values + 1, count - 1, head->base, head->width))
		return false;
	for (size_t i = 1; i < count; i++)
		values[i] += values[i - 1];
	return true;
}

static bool get_dictionary(struct sn_span *span, const struct head *head, uint64_t *values,
			   size_t count)
{
	uint64_t distinct[SN_COLUMN_MAX];
	size_t distinct_count = head->distinct_count;
	if (!distinct_count || distinct_count > SN_COLUMN_MAX ||
	    !get_planes(span, distinct, distinct_count, head->base, head->width) ||
	    !get_planes(span, values, count, 0, place_width(distinct_count)))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (values[i] >= distinct_count)
			return false;
		values[i] = distinct[values[i]];
	}
	return true;
}

/* False where it is cut, or such a column cannot be. */
static bool take_head(struct sn_span *span, size_t count, struct head *head)
{
	return count && count <= SN_COLUMN_MAX && sn_span_get(span, head, sizeof(*head)) &&
	       head->width <= sizeof(uint64_t);
}

bool sn_column_decode(struct sn_span *span, uint64_t *values, size_t count)
{
	struct head head;
	if (!take_head(span, count, &head))
		return false;
	switch (head.encoding) {
	case CONSTANT:
		return get_planes(span, values, count, head.base, 0);
	case PLAIN:
		return get_planes(span, values, count, head.base, head.width);
	case DELTA:
		return get_delta(span, &head, values, count);
	case DICTIONARY:
		return get_dictionary(span, &head, values, count);
	default:
		return false;
	}
}

bool sn_column_skip(struct sn_span *span, size_t count)
{
	struct head head;
	if (!take_head(span, count, &head))
		return false;
	switch (head.encoding) {
	case CONSTANT:
		return true;
	case PLAIN:
		return sn_span_next(span, count * head.width);
	case DELTA:
		return sn_span_next(span, sizeof(uint64_t) + (count - 1) * head.width);
	case DICTIONARY:
		return sn_span_next(span, (size_t)head.distinct_count * head.width +
					      count * place_width(head.distinct_count));
	default:
		return false;
	}
}
