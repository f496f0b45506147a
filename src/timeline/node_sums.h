/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by node, as rows of a table: greatest first. */
#pragma once

#include "node.h"

#include <stddef.h>

struct sn_node_sum {
	uint32_t node;
	double value;
};

/* Those of `values` (by node) that are greater than zero, greatest first; the caller frees them.
 * NULL without memory. */
struct sn_node_sum *sn_node_sums(const struct sn_node_map *nodes, const double *values,
				 size_t *count);
/* The same of values that lie so many bytes apart: a field of structs by node. */
struct sn_node_sum *sn_node_sums_of_fields(const struct sn_node_map *nodes, const double *values,
					   size_t apart_bytes, size_t *count);
/* The same of values by context. */
struct sn_node_sum *sn_node_sums_of_contexts(const struct sn_node_map *nodes, const double *values,
					     size_t *count);
