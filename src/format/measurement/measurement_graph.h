/* SPDX-License-Identifier: Apache-2.0 */
/* The graph section of a measurement, checked; see measurement.h. */
#pragma once

#include "measurement.h"

#include <stdbool.h>
#include <stddef.h>

/* Pointers into the section's bytes. */
struct sn_measurement_graph {
	const struct sn_graph_header *header;
	const struct sn_graph_model_record *models;
	const struct sn_graph_node_record *nodes;
	const struct sn_graph_edge_record *edges;
	const struct sn_graph_iteration_record *iterations;
	const char *text;
};

/* `bytes`, aligned to 8. False where they are no whole section whose numbers all lie in their
 * tables. */
bool sn_measurement_graph_parse(const void *bytes, size_t length,
				struct sn_measurement_graph *graph);
/* A string, or NULL for SN_ID_NONE. */
const char *sn_measurement_graph_string(const struct sn_measurement_graph *graph, uint32_t string);
