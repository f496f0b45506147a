/* SPDX-License-Identifier: Apache-2.0 */
/* Reading dataflow graphs, all of which is checked on opening; see sonde/graph.h. */
#include "base/error.h"
#include "base/search.h"
#include "database_access.h"
#include "format/database/statistics.h"
#include "sonde/graph.h"

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
		    !sn_stat_is_finite(&model->iteration_time))
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
		if (stat->node >= graph->node_count || !sn_stat_is_finite(&stat->stat) ||
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
#define TABLE(type, array, count)                                                                  \
	sn_db_table(db, type, sizeof(*graph->array), &graph->array, &graph->count)
		if (!TABLE(SN_DATABASE_GRAPH_MODELS, models, model_count) ||
		    !TABLE(SN_DATABASE_GRAPH_NODES, nodes, node_count) ||
		    !TABLE(SN_DATABASE_GRAPH_EDGES, edges, edge_count) ||
		    !TABLE(SN_DATABASE_GRAPH_STATS, stats, stat_count) ||
		    !TABLE(SN_DATABASE_GRAPH_ITERATIONS, iterations, iteration_count) ||
		    !check_models(graph) || !check_nodes(graph) || !check_edges(graph) ||
		    !check_values(graph))
			why = "the file is damaged";
#undef TABLE
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

SN_DB_TABLE(sonde_graph, model, models, model_count)
SN_DB_TABLE(sonde_graph, node, nodes, node_count)
SN_DB_TABLE(sonde_graph, edge, edges, edge_count)
SN_DB_TABLE(sonde_graph, iteration, iterations, iteration_count)

/* The first edge that leads to `node` or a later one. */
static uint32_t first_input(const struct sonde_graph *graph, uint32_t node)
{
	return sn_search(i, graph->edge_count, graph->edges[i].to < node);
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
	const struct sonde_graph_stat *stats = graph->stats;
	uint32_t at = sn_search(i, graph->stat_count,
				stats[i].node < node ||
				    (stats[i].node == node && stats[i].kind < (uint32_t)kind));
	bool is_there =
	    at < graph->stat_count && stats[at].node == node && stats[at].kind == (uint32_t)kind;
	*stat = is_there ? stats[at].stat : (struct sonde_db_stat){0};
	return is_there;
}
