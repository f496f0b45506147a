/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting places by value; see value_order.h. */
#include "value_order.h"

#include "base/sort_by.h"

#include <math.h>

struct by_value {
	const double *values;
	const uint32_t *kept;
};

static int order_of(const struct by_value *by, uint32_t a, uint32_t b)
{
	double of_a = by->values[by->kept ? by->kept[a] : a];
	double of_b = by->values[by->kept ? by->kept[b] : b];
	if (isnan(of_a) || isnan(of_b))
		return isnan(of_a) - isnan(of_b);
	return SN_ORDER(of_a, of_b);
}

SN_SORT_BY(sort_places, uint32_t, const struct by_value *,
	   order_of(of, *a, *b) ?: SN_ORDER(*a, *b));

uint32_t *sn_value_order(const double *values, const uint32_t *kept, size_t rows)
{
	uint32_t *places = malloc((rows + 1) * sizeof(*places));
	for (size_t place = 0; places && place < rows; place++)
		places[place] = (uint32_t)place;
	if (places)
		sort_places(places, rows, &(struct by_value){values, kept});
	return places;
}
