/* SPDX-License-Identifier: Apache-2.0 */
/* Checking the graph of a measurement; see measurement_graph.h. */
#include "measurement_graph.h"

#include <math.h>

const char *sn_measurement_graph_string(const struct sn_measurement_graph *graph, uint32_t string)
{
	return string == SN_ID_NONE ? NULL : graph->text + string;
}

static bool is_string(const struct sn_measurement_graph *graph, uint32_t string)
{
	return string == SN_ID_NONE || string < graph->header->text_bytes;
}

static bool is_sound(const struct sn_graph_statistic *stat)
{
	return isfinite(stat->sum_squares);
}

static bool check_models(const struct sn_measurement_graph *graph)
{
	for (uint32_t i = 0; i < graph->header->model_count; i++) {
		const struct sn_graph_model_record *model = graph->models + i;
		if (!is_string(graph, model->name) || !is_string(graph, model->source) ||
		    !is_string(graph, model->edges_by) || !is_string(graph, model->iterations_by) ||
		    !is_sound(&model->iteration_time))
			return false;
	}
	return true;
}

static bool check_nodes(const struct sn_measurement_graph *graph)
{
	for (uint32_t i = 0; i < graph->header->node_count; i++) {
		const struct sn_graph_node_record *node = graph->nodes + i;
		if (node->model >= graph->header->model_count || !is_string(graph, node->name) ||
		    !is_string(graph, node->type) || !is_string(graph, node->module) ||
		    !is_string(graph, node->device) || !is_string(graph, node->file) ||
		    !is_sound(&node->time) || !is_sound(&node->latency) ||
		    (node->parent != SN_ID_NONE &&
		     (node->parent >= i || graph->nodes[node->parent].model != node->model)))
			return false;
	}
	return true;
}

static bool check_rest(const struct sn_measurement_graph *graph)
{
	for (uint32_t i = 0; i < graph->header->edge_count; i++) {
		const struct sn_graph_edge_record *edge = graph->edges + i;
		if (edge->from >= graph->header->node_count ||
		    edge->to >= graph->header->node_count ||
		    graph->nodes[edge->from].model != graph->nodes[edge->to].model)
			return false;
	}
	for (uint32_t i = 0; i < graph->header->iteration_count; i++) {
		const struct sn_graph_iteration_record *iteration = graph->iterations + i;
		if (iteration->model >= graph->header->model_count ||
		    iteration->end_ns < iteration->start_ns)
			return false;
	}
	return true;
}

bool sn_measurement_graph_parse(const void *bytes, size_t length,
				struct sn_measurement_graph *graph)
{
	const struct sn_graph_header *header = bytes;
	if (length < sizeof(*header))
		return false;
	uint64_t left = length - sizeof(*header);
	const char *at = (const char *)(header + 1);
	graph->header = header;
#define TAKE(array, count)                                                                         \
	graph->array = (const void *)at;                                                           \
	if (left / sizeof(*graph->array) < header->count)                                          \
		return false;                                                                      \
	left -= header->count * sizeof(*graph->array);                                             \
	at += header->count * sizeof(*graph->array)
	TAKE(models, model_count);
	TAKE(nodes, node_count);
	TAKE(edges, edge_count);
	TAKE(iterations, iteration_count);
#undef TAKE
	graph->text = at;
	if (header->text_bytes != left || (left && at[left - 1]))
		return false;
	return check_models(graph) && check_nodes(graph) && check_rest(graph);
}
