/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places the boxes of a picture of a graph: in layers from top to bottom so that edges lead down,
 * and within a layer near their neighbours.
 *
 * Layers by the longest path (Sugiyama's method), without the edges that lead back to an earlier
 * box: those go to the next iteration. Order within a layer by the mean place of the neighbours, a
 * few times down and up. It is meant for up to some hundred boxes; larger graphs are collapsed
 * first.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_graph_line {
	uint32_t from, to; /* boxes; one whose `from` is not less than its `to` leads back */
};

struct sn_graph_layout_place {
	uint32_t layer, place; /* both from 0 */
};

/* Fills places[box_count]. 0 or SN_ERR_MEMORY. */
int sn_graph_layout(uint32_t box_count, const struct sn_graph_line *lines, size_t line_count,
		    struct sn_graph_layout_place *places, uint32_t *layer_count);

/* The order alone, within layers that the caller has chosen: reads each `layer`, below
 * `layer_count`, and sets each `place`. 0 or SN_ERR_MEMORY. */
int sn_graph_order(uint32_t box_count, const struct sn_graph_line *lines, size_t line_count,
		   struct sn_graph_layout_place *places, uint32_t layer_count);
