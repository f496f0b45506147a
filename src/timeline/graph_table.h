/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of the nodes of a model over its iterations: the rows of `sonde graph`.
 *
 * A row is a node, or all nodes of one operator type or one module. Device work of a node is
 * counted with it (Zins and Dagenais 2019, III.G.3): as recorded by the source, or as measured
 * below the contexts that are named after the node. No time is counted twice: `self_ns` leaves out
 * nodes that are part of a node.
 */
#pragma once

#include "base/error.h"
#include "sonde/graph.h"

#include <stddef.h>

enum sn_graph_by { SN_GRAPH_BY_NODE, SN_GRAPH_BY_TYPE, SN_GRAPH_BY_MODULE };

struct sn_graph_row {
	uint32_t node;							 /* of a group the first */
	uint32_t nodes;							 /* how many there are */
	struct sonde_db_stat time, latency, queue, device, copy, memory; /* see sonde/graph.h */
	struct sonde_db_stat requested, temporary, persistent, peak;	 /* of the memory */
	double self_ns;
	double cost_ns; /* the larger of self_ns and the time on devices: the order of the rows */
};

struct sn_graph_table {
	struct sn_graph_row *rows; /* by cost, then number */
	size_t count;
	double cost_ns; /* sum of the rows' */
	bool has_time, has_latency, has_queue, has_device, has_copies, has_memory, has_parts;
};

/* Makes the table of one model. 0 or SN_ERR_MEMORY; release in either case. */
int sn_graph_table(const struct sonde_db *db, const struct sonde_graph *graph, uint32_t model,
		   enum sn_graph_by by, struct sn_graph_table *table, struct sn_error *error);
void sn_graph_table_release(struct sn_graph_table *table);

/* Median of the listed iterations' lengths, and the threshold of unusual ones: five times the
 * median absolute deviation, at least five per cent of the median. 0 or SN_ERR_MEMORY. */
struct sn_graph_iterations {
	double median_ns, tolerance_ns;
};
int sn_graph_iterations(const struct sonde_graph *graph, uint32_t model,
			struct sn_graph_iterations *iterations);
