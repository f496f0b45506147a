/* SPDX-License-Identifier: Apache-2.0 */
/* Numbering clusters by the values of a column; see clusters.h. */
#include "clusters.h"

#include "base/error.h"
#include "base/sort_by.h"

#include <math.h>
#include <stdlib.h>

void sn_clusters_release(struct sn_clusters *clusters)
{
	free(clusters->of);
	free(clusters->row_of);
	*clusters = (struct sn_clusters){0};
}

struct by_value {
	const double *values;
	const uint32_t *rows;
};

/* Missing values are the last ones. */
static int order_of(const struct by_value *by, uint32_t a, uint32_t b)
{
	double of_a = by->values[by->rows[a]], of_b = by->values[by->rows[b]];
	if (isnan(of_a) || isnan(of_b))
		return isnan(of_a) - isnan(of_b);
	return SN_ORDER(of_a, of_b);
}

SN_SORT_BY(sort_by_value, uint32_t, const struct by_value *,
	   order_of(of, *a, *b) ?: SN_ORDER(*a, *b));

int sn_clusters_init(struct sn_clusters *clusters, const double *values, const uint32_t *kept_rows,
		     size_t rows)
{
	struct by_value by = {values, kept_rows};
	uint32_t *order = malloc((rows + 1) * sizeof(*order));
	*clusters = (struct sn_clusters){.of = malloc((rows + 1) * sizeof(*clusters->of)),
					 .row_of = malloc((rows + 1) * sizeof(*clusters->row_of))};
	if (!order || !clusters->of || !clusters->row_of) {
		free(order);
		return SN_ERR_MEMORY;
	}
	for (size_t row = 0; row < rows; row++)
		order[row] = (uint32_t)row;
	sort_by_value(order, rows, &by);
	for (size_t first = 0, end; first < rows; first = end) {
		double value = values[kept_rows[order[first]]];
		for (end = first + 1; end < rows; end++)
			if (values[kept_rows[order[end]]] != value)
				break;
		for (size_t place = first; place < end; place++)
			clusters->of[order[place]] = clusters->count;
		clusters->row_of[clusters->count++] = order[first];
	}
	free(order);
	return 0;
}
