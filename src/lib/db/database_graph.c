/* SPDX-License-Identifier: Apache-2.0 */
/* Reading dataflow graphs, all of which is checked on opening; see sonde/graph.h. */
#include "base/error.h"
#include "database_access.h"
#include "sonde/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct sonde_graph {
	const struct sonde_db *db;
	const struct sonde_graph_model *models;
	const struct sonde_graph_node *nodes;
	const struct sonde_graph_edge *edges;
	const struct sonde_graph_stat *stats;
	const struct sonde_graph_iteration *iterations;
	uint32_t model_count, node_count, edge_count, stat_count, iteration_count;
};

static bool section(const struct sonde_db *db, unsigned type, size_t record_bytes,
		    const void *array_pointer, uint32_t *count)
{
	uint64_t length;
	*(const void **)array_pointer = sn_db_section(db, type, &length);
	*count = (uint32_t)(length / record_bytes);
	return length % record_bytes == 0 && length / record_bytes < SONDE_NONE;
}

static bool is_finite(const struct sonde_db_stat *stat)
{
	return isfinite(stat->count) && isfinite(stat->sum) && isfinite(stat->min) &&
	       isfinite(stat->max) && isfinite(stat->sum_squares);
}

/* Models share out all nodes, edges and iterations among them, in order. */
static bool check_models(const struct sonde_graph *graph)
{
	uint32_t node = 0, edge = 0, iteration = 0;
	for (uint32_t i = 0; i < graph->model_count; i++) {
		const struct sonde_graph_model *model = graph->models + i;
		if (model->first_node != node || model->node_count > graph->node_count - node ||
		    model->first_edge != edge || model->edge_count > graph->edge_count - edge ||
		    model->first_iteration != iteration ||
		    model->iteration_count > graph->iteration_count - iteration ||
		    !is_finite(&model->iteration_time))
			return false;
		node += model->node_count;
		edge += model->edge_count;
		iteration += model->iteration_count;
	}
	return node == graph->node_count && edge == graph->edge_count &&
	       iteration == graph->iteration_count;
}

/* Nodes lie in their models; a parent comes before its parts, so that no node contains itself. */
static bool check_nodes(const struct sonde_graph *graph)
{
	uint32_t context_count = sonde_db_context_count(graph->db);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct sonde_graph_node *node = graph->nodes + i;
		const struct sonde_graph_model *model = sonde_graph_model(graph, node->model);
		if (!model || i < model->first_node || i - model->first_node >= model->node_count ||
		    (node->parent != SONDE_NONE &&
		     (node->parent >= i || node->parent < model->first_node)) ||
		    (node->context != SONDE_NONE && node->context >= context_count))
			return false;
	}
	return true;
}

static bool check_edges(const struct sonde_graph *graph)
{
	uint32_t edge = 0;
	for (uint32_t m = 0; m < graph->model_count; m++) {
		const struct sonde_graph_model *model = graph->models + m;
		for (uint32_t i = 0; i < model->edge_count; i++, edge++) {
			const struct sonde_graph_edge *one = graph->edges + edge;
			if (one->from < model->first_node || one->to < model->first_node ||
			    one->from - model->first_node >= model->node_count ||
			    one->to - model->first_node >= model->node_count ||
			    (i && one->to < one[-1].to))
				return false;
		}
	}
	return true;
}

static bool check_values(const struct sonde_graph *graph)
{
	for (uint32_t i = 0; i < graph->stat_count; i++) {
		const struct sonde_graph_stat *stat = graph->stats + i;
		if (stat->node >= graph->node_count || !is_finite(&stat->stat) ||
		    (i && (stat->node < stat[-1].node ||
			   (stat->node == stat[-1].node && stat->kind <= stat[-1].kind))))
			return false;
	}
	uint32_t iteration = 0;
	for (uint32_t m = 0; m < graph->model_count; m++)
		for (uint32_t i = 0; i < graph->models[m].iteration_count; i++, iteration++) {
			const struct sonde_graph_iteration *one = graph->iterations + iteration;
			if (one->model != m || one->end_ns < one->start_ns)
				return false;
		}
	return true;
}

int sonde_graph_open(const struct sonde_db *db, struct sonde_graph **opened,
		     struct sonde_db_error *error)
{
	struct sonde_graph *graph = calloc(1, sizeof(*graph));
	const char *why = graph ? NULL : "out of memory";
	if (graph) {
		graph->db = db;
#define SECTION(type, array, count)                                                                \
	section(db, type, sizeof(*graph->array), &graph->array, &graph->count)
		bool is_whole = SECTION(SN_DATABASE_GRAPH_MODELS, models, model_count);
		is_whole &= SECTION(SN_DATABASE_GRAPH_NODES, nodes, node_count);
		is_whole &= SECTION(SN_DATABASE_GRAPH_EDGES, edges, edge_count);
		is_whole &= SECTION(SN_DATABASE_GRAPH_STATS, stats, stat_count);
		is_whole &= SECTION(SN_DATABASE_GRAPH_ITERATIONS, iterations, iteration_count);
#undef SECTION
		if (!is_whole || !check_models(graph) || !check_nodes(graph) ||
		    !check_edges(graph) || !check_values(graph))
			why = "the file is damaged";
	}
	if (!why) {
		*opened = graph;
		return 0;
	}
	if (error)
		snprintf(error->text, sizeof(error->text), "cannot read graphs: %s", why);
	int result = graph ? SN_ERR_FORMAT : SN_ERR_MEMORY;
	sonde_graph_close(graph);
	return result;
}

void sonde_graph_close(struct sonde_graph *graph)
{
	free(graph);
}

uint32_t sonde_graph_model_count(const struct sonde_graph *graph)
{
	return graph->model_count;
}

const struct sonde_graph_model *sonde_graph_model(const struct sonde_graph *graph, uint32_t model)
{
	return model < graph->model_count ? graph->models + model : NULL;
}

uint32_t sonde_graph_node_count(const struct sonde_graph *graph)
{
	return graph->node_count;
}

const struct sonde_graph_node *sonde_graph_node(const struct sonde_graph *graph, uint32_t node)
{
	return node < graph->node_count ? graph->nodes + node : NULL;
}

uint32_t sonde_graph_edge_count(const struct sonde_graph *graph)
{
	return graph->edge_count;
}

const struct sonde_graph_edge *sonde_graph_edge(const struct sonde_graph *graph, uint32_t edge)
{
	return edge < graph->edge_count ? graph->edges + edge : NULL;
}

uint32_t sonde_graph_iteration_count(const struct sonde_graph *graph)
{
	return graph->iteration_count;
}

const struct sonde_graph_iteration *sonde_graph_iteration(const struct sonde_graph *graph,
							  uint32_t iteration)
{
	return iteration < graph->iteration_count ? graph->iterations + iteration : NULL;
}

/* The first edge that leads to `node` or a later one. */
static uint32_t first_input(const struct sonde_graph *graph, uint32_t node)
{
	uint32_t low = 0, high = graph->edge_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (graph->edges[middle].to < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct sonde_graph_edge *sonde_graph_inputs(const struct sonde_graph *graph, uint32_t node,
						  uint32_t *count)
{
	*count = 0;
	if (node >= graph->node_count)
		return NULL;
	uint32_t first = first_input(graph, node);
	*count = first_input(graph, node + 1) - first;
	return graph->edges + first;
}

bool sonde_graph_stat(const struct sonde_graph *graph, uint32_t node, enum sonde_node_stat kind,
		      struct sonde_db_stat *stat)
{
	uint32_t low = 0, high = graph->stat_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct sonde_graph_stat *one = graph->stats + middle;
		if (one->node < node || (one->node == node && one->kind < (uint32_t)kind))
			low = middle + 1;
		else
			high = middle;
	}
	*stat = (struct sonde_db_stat){0};
	if (low == graph->stat_count || graph->stats[low].node != node ||
	    graph->stats[low].kind != (uint32_t)kind)
		return false;
	*stat = graph->stats[low].stat;
	return true;
}
