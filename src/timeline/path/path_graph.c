/* SPDX-License-Identifier: Apache-2.0 */
/* See path_graph.h. */
#include "path_graph.h"

#include "base/error.h"
#include "base/vec.h"
#include "sonde/db.h"

uint32_t sn_path_graph_add(struct sn_path_graph *graph, const struct sn_path_activity *activity)
{
	if (sn_vec_reserve(&graph->activities, &graph->capacity, graph->count + 1) < 0)
		return SONDE_NONE;
	graph->activities[graph->count] = *activity;
	return (uint32_t)graph->count++;
}

int sn_path_graph_edge(struct sn_path_graph *graph, const struct sn_path_edge *edge)
{
	if (edge->from == SONDE_NONE || edge->to == SONDE_NONE || edge->from == edge->to)
		return 0;
	if (sn_vec_reserve(&graph->edges, &graph->edge_capacity, graph->edge_count + 1) < 0)
		return SN_ERR_MEMORY;
	graph->edges[graph->edge_count] = *edge;
	graph->edges[graph->edge_count++].least_ns = edge->lag_ns;
	return 0;
}

void sn_path_graph_release(struct sn_path_graph *graph)
{
	free(graph->activities);
	free(graph->edges);
	free(graph->first_edges);
	free(graph->binding);
	*graph = (struct sn_path_graph){0};
}

static int compare(const void *left, const void *right, void *data)
{
	const struct sn_path_activity *all = data;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (all[a].start_ns != all[b].start_ns)
		return all[a].start_ns < all[b].start_ns ? -1 : 1;
	if (all[a].rank != all[b].rank)
		return all[a].rank < all[b].rank ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Activities in order of start; edges get their new numbers. */
static int order_activities(struct sn_path_graph *graph)
{
	uint32_t *order = malloc((graph->count + 1) * sizeof(*order));
	uint32_t *places = malloc((graph->count + 1) * sizeof(*places));
	struct sn_path_activity *sorted = malloc((graph->count + 1) * sizeof(*sorted));
	bool has_memory = order && places && sorted;
	for (uint32_t i = 0; i < graph->count && has_memory; i++)
		order[i] = i;
	if (has_memory) {
		qsort_r(order, graph->count, sizeof(*order), compare, graph->activities);
		for (uint32_t i = 0; i < graph->count; i++) {
			sorted[i] = graph->activities[order[i]];
			places[order[i]] = i;
		}
		free(graph->activities);
		graph->activities = sorted;
		graph->capacity = graph->count + 1;
		for (size_t i = 0; i < graph->edge_count; i++) {
			graph->edges[i].from = places[graph->edges[i].from];
			graph->edges[i].to = places[graph->edges[i].to];
		}
	} else {
		free(sorted);
	}
	free(order);
	free(places);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

/* Edges by `to`, as a counting sort; without those against the order. */
static int order_edges(struct sn_path_graph *graph)
{
	struct sn_path_edge *sorted = malloc((graph->edge_count + 1) * sizeof(*sorted));
	uint32_t *at = calloc(graph->count + 2, sizeof(*at));
	size_t kept = 0;
	graph->first_edges = calloc(graph->count + 2, sizeof(*graph->first_edges));
	if (!sorted || !at || !graph->first_edges) {
		free(sorted);
		free(at);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].from < graph->edges[i].to)
			graph->edges[kept++] = graph->edges[i];
	graph->edge_count = kept;
	for (size_t i = 0; i < kept; i++)
		graph->first_edges[graph->edges[i].to + 1]++;
	for (size_t i = 0; i < graph->count; i++)
		graph->first_edges[i + 1] += graph->first_edges[i];
	for (size_t i = 0; i < kept; i++) {
		uint32_t to = graph->edges[i].to;
		sorted[graph->first_edges[to] + at[to]++] = graph->edges[i];
	}
	free(graph->edges);
	free(at);
	graph->edges = sorted;
	graph->edge_capacity = graph->edge_count + 1;
	return 0;
}

static int64_t observed(const struct sn_path_graph *graph, const struct sn_path_edge *edge)
{
	const struct sn_path_activity *from = graph->activities + edge->from;
	return (int64_t)(edge->from_start ? from->start_ns : from->end_ns);
}

/* Lags that make an activity start when it did. */
static void settle_activity(struct sn_path_graph *graph, uint32_t number)
{
	int64_t start = (int64_t)graph->activities[number].start_ns, latest = INT64_MIN;
	uint32_t binding = SONDE_NONE;
	for (uint32_t i = graph->first_edges[number]; i < graph->first_edges[number + 1]; i++) {
		struct sn_path_edge *edge = graph->edges + i;
		int64_t base = observed(graph, edge);
		/* clocks and rounding: what was waited for ended a little later */
		if (base + edge->lag_ns > start)
			edge->lag_ns = start - base;
		int64_t ready = base + edge->lag_ns;
		if (ready > latest ||
		    (ready == latest && base > observed(graph, graph->edges + binding))) {
			latest = ready;
			binding = i;
		}
	}
	if (binding != SONDE_NONE)
		graph->edges[binding].lag_ns += start - latest;
	graph->binding[number] = binding;
}

int sn_path_graph_settle(struct sn_path_graph *graph)
{
	if (order_activities(graph) || order_edges(graph))
		return SN_ERR_MEMORY;
	graph->binding = malloc((graph->count + 1) * sizeof(*graph->binding));
	if (!graph->binding)
		return SN_ERR_MEMORY;
	graph->last = 0;
	for (uint32_t i = 0; i < graph->count; i++) {
		settle_activity(graph, i);
		const struct sn_path_activity *one = graph->activities + i,
					      *last = graph->activities + graph->last;
		if (one->ends && (!last->ends || one->end_ns > last->end_ns))
			graph->last = i;
	}
	return 0;
}

/* When the edge lets `to` start, from the times played so far. */
static double ready_at(const struct sn_path_graph *graph, const struct sn_path_edge *edge,
		       double lag, const double *starts, const double *ends)
{
	if (edge->from_start)
		return starts[edge->from] + lag;
	if (lag >= 0)
		return ends[edge->from] + lag;
	/* only the part of `from` up to then was waited for, so only that can become shorter */
	const struct sn_path_activity *from = graph->activities + edge->from;
	double length = (double)(from->end_ns - from->start_ns);
	return starts[edge->from] +
	       (ends[edge->from] - starts[edge->from]) * ((length + lag) / length);
}

double sn_path_graph_play(const struct sn_path_graph *graph, uint32_t node,
			  enum sn_path_kind lag_kind, double factor, double *starts, double *ends)
{
	double last = 0;
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct sn_path_activity *one = graph->activities + i;
		double start = (double)(one->start_ns - graph->activities[0].start_ns);
		double length = (double)(one->end_ns - one->start_ns);
		uint32_t first = graph->first_edges[i], end = graph->first_edges[i + 1];
		for (uint32_t e = first; e < end; e++) {
			const struct sn_path_edge *edge = graph->edges + e;
			double lag = (double)edge->lag_ns;
			if (edge->kind == lag_kind && lag > 0)
				lag *= factor;
			double ready = ready_at(graph, edge, lag, starts, ends);
			if (e == first || ready > start)
				start = ready;
		}
		starts[i] = start;
		ends[i] = start + (one->node == node ? length * factor : length);
		if (one->ends || i == graph->last)
			last = ends[i] > last ? ends[i] : last;
	}
	return last;
}
