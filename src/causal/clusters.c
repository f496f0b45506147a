/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of rows, and how alike columns are within them; see clusters.h. */
#include "clusters.h"

#include "base/error.h"
#include "base/sort_by.h"

#include <math.h>
#include <stdlib.h>

double sn_design_sum(const struct sn_design *design, uint32_t a, uint32_t a_end, uint32_t b,
		     uint32_t b_end)
{
	double sum = 0;
	if (!design->alike)
		return (double)(a_end - a) * (b_end - b);
	for (; a < a_end; a++)
		for (uint32_t other = b; other < b_end; other++)
			sum += sn_design_effect(design, a, other);
	return sum;
}

void sn_clusters_release(struct sn_clusters *clusters)
{
	free(clusters->of);
	free(clusters->alike);
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
	double squares = 0;
	*clusters = (struct sn_clusters){.of = malloc((rows + 1) * sizeof(*clusters->of))};
	if (!order || !clusters->of) {
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
		clusters->count++;
		squares += (double)(end - first) * (double)(end - first);
	}
	clusters->design.rows = squares / (double)rows;
	free(order);
	return 0;
}

/* Donner, "A review of inference procedures for the intraclass correlation coefficient in the one-way random effects model" (1986).
 * `sums` and `sizes` have room for a number of each cluster. */
static double intraclass(const struct sn_clusters *clusters, const double *values, size_t rows,
			 double *sums, double *sizes)
{
	double count = clusters->count, all = (double)rows, between = 0;
	if (clusters->count < 2 || clusters->count == rows)
		return 0;
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		sums[cluster] = sizes[cluster] = 0;
	for (size_t row = 0; row < rows; row++) {
		sums[clusters->of[row]] += values[row];
		sizes[clusters->of[row]]++;
	}
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		between += sums[cluster] * sums[cluster] / sizes[cluster];
	double usual = (all - clusters->design.rows) / (count - 1);
	double of_clusters = between / (count - 1), within = (1 - between) / (all - count);
	double alike = (of_clusters - within) / (of_clusters + (usual - 1) * within);
	return fmin(fmax(alike, 0), 1);
}

int sn_clusters_measure(struct sn_clusters *clusters, const double *values, uint32_t dimensions,
			size_t rows)
{
	if (!clusters->of)
		return 0;
	double *sums = malloc((clusters->count + 1) * sizeof(*sums));
	double *sizes = malloc((clusters->count + 1) * sizeof(*sizes));
	free(clusters->alike);
	clusters->design.alike = clusters->alike =
	    malloc((dimensions + 1) * sizeof(*clusters->alike));
	int result = sums && sizes && clusters->alike ? 0 : SN_ERR_MEMORY;
	for (uint32_t dimension = 0; !result && dimension < dimensions; dimension++)
		clusters->alike[dimension] =
		    intraclass(clusters, values + dimension * rows, rows, sums, sizes);
	free(sums);
	free(sizes);
	return result;
}
