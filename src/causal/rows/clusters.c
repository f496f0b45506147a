/* SPDX-License-Identifier: Apache-2.0 */
/* Numbering clusters by the values of a column; see clusters.h. */
#include "clusters.h"

#include "base/error.h"
#include "causal/columns/value_order.h"

#include <stdlib.h>

void sn_clusters_release(struct sn_clusters *clusters)
{
	free(clusters->of);
	free(clusters->row_of);
	*clusters = (struct sn_clusters){0};
}

int sn_clusters_init(struct sn_clusters *clusters, const double *values, const uint32_t *kept_rows,
		     size_t rows)
{
	uint32_t *order = sn_value_order(values, kept_rows, rows);
	*clusters = (struct sn_clusters){.of = malloc((rows + 1) * sizeof(*clusters->of)),
					 .row_of = malloc((rows + 1) * sizeof(*clusters->row_of)),
					 .has_means = true};
	if (!order || !clusters->of || !clusters->row_of) {
		free(order);
		return SN_ERR_MEMORY;
	}
	for (size_t first = 0, end; first < rows; first = end) {
		double value = values[kept_rows[order[first]]];
		for (end = first + 1; end < rows; end++)
			if (values[kept_rows[order[end]]] != value)
				break;
		for (size_t place = first; place < end; place++)
			clusters->of[order[place]] = clusters->count;
		clusters->row_of[clusters->count++] = order[first];
	}
	clusters->are_single = clusters->count == rows;
	free(order);
	return 0;
}
