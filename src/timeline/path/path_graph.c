/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of activities: lags of edges, the binding edge of each activity, and simulation. */
#include "path_graph.h"

#include "base/error.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "sonde/db.h"

uint32_t sn_path_graph_add(struct sn_path_graph *graph, const struct sn_path_activity *activity)
{
	return sn_vec_push(&graph->activities, &graph->capacity, &graph->count, *activity)
		   ? SONDE_NONE
		   : (uint32_t)graph->count - 1;
}

int sn_path_graph_edge(struct sn_path_graph *graph, const struct sn_path_edge *edge)
{
	struct sn_path_edge added = *edge;
	added.least_ns = edge->lag_ns;
	if (edge->from == SONDE_NONE || edge->to == SONDE_NONE || edge->from == edge->to)
		return 0;
	return sn_vec_push(&graph->edges, &graph->edge_capacity, &graph->edge_count, added);
}

void sn_path_graph_release(struct sn_path_graph *graph)
{
	free(graph->activities);
	free(graph->edges);
	free(graph->first_edges);
	free(graph->binding);
	*graph = (struct sn_path_graph){0};
}

SN_SORT_BY(sort_by_start, uint32_t, const struct sn_path_activity *,
	   SN_ORDER(of[*a].start_ns, of[*b].start_ns) ?: SN_ORDER(of[*a].rank, of[*b].rank) ?:
	   SN_ORDER(*a, *b));

/* Sorts activities by start and renumbers them in edges. */
static int order_activities(struct sn_path_graph *graph)
{
	uint32_t *order = malloc((graph->count + 1) * sizeof(*order));
	uint32_t *places = malloc((graph->count + 1) * sizeof(*places));
	struct sn_path_activity *sorted = malloc((graph->count + 1) * sizeof(*sorted));
	bool has_memory = order && places && sorted;
	for (uint32_t i = 0; i < graph->count && has_memory; i++)
		order[i] = i;
	if (has_memory) {
		sort_by_start(order, graph->count, graph->activities);
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

/* Sorts edges by `to` with a counting sort; drops those against the order of activities. */
static int order_edges(struct sn_path_graph *graph)
{
	struct sn_path_edge *sorted = malloc((graph->edge_count + 1) * sizeof(*sorted));
	size_t kept = 0;
	/* shifted by one, so that filling moves each begin to where the next group begins */
	graph->first_edges = calloc(graph->count + 2, sizeof(*graph->first_edges));
	if (!sorted || !graph->first_edges) {
		free(sorted);
		return SN_ERR_MEMORY;
	}
	uint32_t *begins = graph->first_edges + 1;
	for (size_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].from < graph->edges[i].to)
			graph->edges[kept++] = graph->edges[i];
	graph->edge_count = kept;
	for (size_t i = 0; i < kept; i++)
		if (graph->edges[i].to + 1 < graph->count)
			begins[graph->edges[i].to + 1]++;
	for (size_t i = 1; i < graph->count; i++)
		begins[i] += begins[i - 1];
	for (size_t i = 0; i < kept; i++)
		sorted[begins[graph->edges[i].to]++] = graph->edges[i];
	free(graph->edges);
	graph->edges = sorted;
	graph->edge_capacity = graph->edge_count + 1;
	return 0;
}

static int64_t observed(const struct sn_path_graph *graph, const struct sn_path_edge *edge)
{
	const struct sn_path_activity *from = graph->activities + edge->from;
	return (int64_t)(edge->from_start ? from->start_ns : from->end_ns);
}

/* Sets the lags of an activity's edges so that the simulation lets it start when it did. */
static void settle_activity(struct sn_path_graph *graph, uint32_t number)
{
	int64_t start = (int64_t)graph->activities[number].start_ns, latest = INT64_MIN;
	uint32_t binding = SONDE_NONE;
	for (uint32_t i = graph->first_edges[number]; i < graph->first_edges[number + 1]; i++) {
		struct sn_path_edge *edge = graph->edges + i;
		int64_t base = observed(graph, edge);
		/* clocks and rounding may let the cause end a little after the start */
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
		if (one->ends > last->ends ||
		    (one->ends == last->ends && one->end_ns > last->end_ns))
			graph->last = i;
	}
	return 0;
}

/* When an edge lets its target start, by the simulated times so far. */
static double ready_at(const struct sn_path_graph *graph, const struct sn_path_edge *edge,
		       double lag, const double *starts, const double *ends)
{
	if (edge->from_start)
		return starts[edge->from] + lag;
	if (lag >= 0)
		return ends[edge->from] + lag;
	/* a negative lag: only the part of `from` before the target's start was waited for, so
	 * only it scales */
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
		if (one->ends >= graph->activities[graph->last].ends)
			last = ends[i] > last ? ends[i] : last;
	}
	return last;
}
