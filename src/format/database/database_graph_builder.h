/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding dataflow graphs to a database that is being built (database_writer.h). The records are
 * those of sonde/graph.h; strings and contexts in them are the builder's numbers, and places of
 * nodes, edges and iterations in a model are filled in when the file is written.
 *
 *	uint32_t model = sn_db_builder_graph_model(builder, &SN_GRAPH_MODEL);
 *	struct sonde_graph_node node = SN_GRAPH_NODE;
 *	node.model = model;
 *	uint32_t a = sn_db_builder_graph_node(builder, &node);
 *	sn_db_builder_graph_edge(builder, &(struct sonde_graph_edge){.from = a, .to = b});
 *	sn_db_builder_graph_stat(builder, a, SONDE_NODE_TIME, &durations_ns);
 *
 * Start from SN_GRAPH_MODEL and SN_GRAPH_NODE, in which all optional fields are missing. Models
 * stay in the order in which they were added, and so do the nodes of each; edges, statistics and
 * iterations may come in any order. Failures are sticky, as in database_writer.h. Single-threaded.
 */
#pragma once

#include "base/vec.h"
#include "database_writer.h"
#include "sonde/graph.h"

#define SN_GRAPH_MODEL                                                                             \
	((struct sonde_graph_model){.name = SONDE_NONE,                                            \
				    .source = SONDE_NONE,                                          \
				    .edges_by = SONDE_NONE,                                        \
				    .iterations_by = SONDE_NONE,                                   \
				    .host = SONDE_NONE,                                            \
				    .program = SONDE_NONE,                                         \
				    .rank = -1})
#define SN_GRAPH_NODE                                                                              \
	((struct sonde_graph_node){.model = SONDE_NONE,                                            \
				   .name = SONDE_NONE,                                             \
				   .type = SONDE_NONE,                                             \
				   .module = SONDE_NONE,                                           \
				   .device = SONDE_NONE,                                           \
				   .file = SONDE_NONE,                                             \
				   .function = SONDE_NONE,                                         \
				   .parent = SONDE_NONE,                                           \
				   .detail = SONDE_NONE,                                           \
				   .context = SONDE_NONE})

/* A new model; its number. */
uint32_t sn_db_builder_graph_model(struct sn_db_builder *builder,
				   const struct sonde_graph_model *model);
/* Whether a model has that name, one of the builder's strings. */
bool sn_db_builder_has_graph_model(const struct sn_db_builder *builder, uint32_t name);
/* A new node of a model; its number. Its parent, if it has one, was added before. */
uint32_t sn_db_builder_graph_node(struct sn_db_builder *builder,
				  const struct sonde_graph_node *node);
/* Between nodes of one model. Edges that only differ in count and bytes are one: counts are added,
 * the larger bytes are kept. */
void sn_db_builder_graph_edge(struct sn_db_builder *builder, const struct sonde_graph_edge *edge);
/* Merges a statistic into the node's. */
void sn_db_builder_graph_stat(struct sn_db_builder *builder, uint32_t node,
			      enum sonde_node_stat kind, const struct sonde_db_stat *stat);
/* Adds an iteration to the list. The model's iteration_time is only what was given with the model
 * unless that has count 0: then it is that of this list. */
void sn_db_builder_graph_iteration(struct sn_db_builder *builder,
				   const struct sonde_graph_iteration *iteration);

/* ---- for database_builder.c and the writers ---- */

/* The added records; embedded in the builder. */
struct sn_graph_parts {
	struct sonde_graph_model *models;
	struct sonde_graph_node *nodes;
	struct sonde_graph_edge *edges;
	struct sonde_graph_stat *stats;
	struct sonde_graph_iteration *iterations;
	size_t model_count, node_count, edge_count, stat_count, iteration_count;
	size_t model_capacity, node_capacity, edge_capacity, stat_capacity, iteration_capacity;
};

enum { SN_GRAPH_SECTIONS = 5 };
/* The sections from SN_DATABASE_GRAPH_MODELS on, as in the file. */
struct sn_graph_layout {
	struct sn_graph_parts parts; /* ordered, with final numbers */
	struct {
		const void *data;
		size_t length;
	} sections[SN_GRAPH_SECTIONS];
};

void sn_graph_parts_release(struct sn_graph_parts *parts);
struct sn_db_ordered;
/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_graph_lay(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
		 struct sn_graph_layout *layout);
void sn_graph_layout_release(struct sn_graph_layout *layout);
