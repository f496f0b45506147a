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
