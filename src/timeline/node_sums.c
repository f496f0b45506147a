/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by node, sorted by value. */
#include "node_sums.h"

#include "base/sort_by.h"

SN_SORT_BY(sort_by_value, struct sn_node_sum, const void *,
	   SN_ORDER(b->value, a->value) ?: SN_ORDER(a->node, b->node));

struct sn_node_sum *sn_node_sums_of_fields(const struct sn_node_map *nodes, const double *values,
					   size_t apart_bytes, size_t *count)
{
	struct sn_node_sum *sums = malloc((nodes->table.count + 1ull) * sizeof(*sums));
	*count = 0;
	for (uint32_t i = 0; i < nodes->table.count && sums; i++) {
		double value = *(const double *)((const char *)values + i * apart_bytes);
		if (value > 0)
			sums[(*count)++] = (struct sn_node_sum){i, value};
	}
	if (sums)
		sort_by_value(sums, *count, NULL);
	return sums;
}

struct sn_node_sum *sn_node_sums(const struct sn_node_map *nodes, const double *values,
				 size_t *count)
{
	return sn_node_sums_of_fields(nodes, values, sizeof(*values), count);
}

struct sn_node_sum *sn_node_sums_of_contexts(const struct sn_node_map *nodes, const double *values,
					     size_t *count)
{
	double *sums = calloc(nodes->table.count + 1ull, sizeof(*sums));
	*count = 0;
	if (!sums)
		return NULL;
	for (uint32_t i = 0; i < sonde_db_context_count(nodes->db); i++)
		sums[nodes->of_context[i]] += values[i];
	struct sn_node_sum *sorted = sn_node_sums(nodes, sums, count);
	free(sums);
	return sorted;
}
