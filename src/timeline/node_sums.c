/* SPDX-License-Identifier: Apache-2.0 */
/* See node_sums.h. */
#include "node_sums.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	const struct sn_node_sum *a = left, *b = right;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

struct sn_node_sum *sn_node_sums(const struct sn_node_map *nodes, const double *values,
				 size_t *count)
{
	struct sn_node_sum *sums = malloc((nodes->table.count + 1ull) * sizeof(*sums));
	*count = 0;
	for (uint32_t i = 0; i < nodes->table.count && sums; i++)
		if (values[i] > 0)
			sums[(*count)++] = (struct sn_node_sum){i, values[i]};
	if (sums)
		qsort(sums, *count, sizeof(*sums), compare);
	return sums;
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

struct sn_node_sum *sn_node_sums_of_blames(const struct sn_node_map *nodes,
					   const struct sn_blame *blames, size_t blame_count,
					   size_t *count)
{
	double *sums = calloc(nodes->table.count + 1ull, sizeof(*sums));
	*count = 0;
	if (!sums)
		return NULL;
	for (size_t i = 0; i < blame_count; i++)
		for (size_t k = 0; k < blames[i].count; k++)
			sums[nodes->of_context[blames[i].shares[k].context]] +=
			    blames[i].shares[k].time_ns;
	struct sn_node_sum *sorted = sn_node_sums(nodes, sums, count);
	free(sums);
	return sorted;
}
