/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of a model: its nodes as boxes in layers, joined by its edges, darker the more time they
 * took. A model with too many nodes is drawn by larger parts: outermost nodes, then modules, then
 * the first parts of their paths, then operator types.
 */
#pragma once

#include "graph_layout.h"
#include "timeline/graph_table.h"

#include <stdio.h>

struct sn_graph_box {
	char *name;	     /* of the node, or the common part of its nodes' names; owned */
	const char *detail;  /* operator type, or ""; a string of the database */
	uint32_t node_count; /* in it */
	double cost_ns, count;
	bool is_backward;
};

struct sn_graph_picture {
	struct sn_graph_box *boxes; /* in the order of their first nodes */
	uint32_t box_count;
	struct sn_graph_line *lines; /* between different boxes; no two alike */
	size_t line_count;
	double most_ns;	      /* the largest cost of a box */
	const char *drawn_by; /* "node", "module", ... */
};

/* The boxes of a model, at most `most` if that is possible. `table` has a row for each node. 0 or
 * SN_ERR_MEMORY; release in either case. */
int sn_graph_picture(const struct sonde_db *db, const struct sonde_graph *graph, uint32_t model,
		     const struct sn_graph_table *table, uint32_t most,
		     struct sn_graph_picture *picture);
void sn_graph_picture_release(struct sn_graph_picture *picture);

/* For Graphviz. */
void sn_graph_dot(const struct sn_graph_picture *picture, const char *title, FILE *out);
/* An SVG file with full names as tooltips. 0 or SN_ERR_MEMORY. */
int sn_graph_svg(const struct sn_graph_picture *picture, const char *title, FILE *out);
