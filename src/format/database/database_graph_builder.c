/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting dataflow graphs and putting them in order; see database_graph_builder.h. */
#include "database_graph_builder.h"

#include "base/sort_by.h"
#include "database_builder.h"
#include "statistics.h"

#include <stdlib.h>
#include <string.h>

/* ---- adding ---- */

uint32_t sn_db_builder_graph_model(struct sn_db_builder *builder,
				   const struct sonde_graph_model *model)
{
	struct sn_graph_parts *graph = &builder->graph;
	return SN_DB_BUILDER_PUSH(builder, graph->models, graph->model_count, graph->model_capacity,
				  *model);
}

bool sn_db_builder_has_graph_model(const struct sn_db_builder *builder, uint32_t name)
{
	for (size_t i = 0; i < builder->graph.model_count; i++)
		if (builder->graph.models[i].name == name)
			return true;
	return false;
}

uint32_t sn_db_builder_graph_node(struct sn_db_builder *builder,
				  const struct sonde_graph_node *node)
{
	struct sn_graph_parts *graph = &builder->graph;
	bool has_parent = node->parent != SONDE_NONE;
	if (node->model >= graph->model_count || graph->node_count >= SONDE_NONE - 1u ||
	    (has_parent && (node->parent >= graph->node_count ||
			    graph->nodes[node->parent].model != node->model)))
		return sn_db_builder_fail(builder, SN_ERR_ARGUMENT);
	return SN_DB_BUILDER_PUSH(builder, graph->nodes, graph->node_count, graph->node_capacity,
				  *node);
}

void sn_db_builder_graph_edge(struct sn_db_builder *builder, const struct sonde_graph_edge *edge)
{
	struct sn_graph_parts *graph = &builder->graph;
	if (edge->from >= graph->node_count || edge->to >= graph->node_count ||
	    graph->nodes[edge->from].model != graph->nodes[edge->to].model)
		sn_db_builder_fail(builder, SN_ERR_ARGUMENT);
	else
		SN_DB_BUILDER_PUSH(builder, graph->edges, graph->edge_count, graph->edge_capacity,
				   *edge);
}

void sn_db_builder_graph_stat(struct sn_db_builder *builder, uint32_t node,
			      enum sonde_node_stat kind, const struct sonde_db_stat *stat)
{
	struct sn_graph_parts *graph = &builder->graph;
	if (!sn_stat_is_finite(stat) || node >= graph->node_count || !kind ||
	    kind >= SONDE_NODE_STAT_END) {
		sn_db_builder_fail(builder, SN_ERR_ARGUMENT);
		return;
	}
	/* values of one node mostly follow each other; the rest is merged when they are sorted */
	struct sonde_graph_stat *last =
	    graph->stat_count ? graph->stats + graph->stat_count - 1 : NULL;
	if (last && last->node == node && last->kind == kind) {
		sonde_db_stat_merge(&last->stat, stat);
		return;
	}
	SN_DB_BUILDER_PUSH(builder, graph->stats, graph->stat_count, graph->stat_capacity,
			   ((struct sonde_graph_stat){node, kind, *stat}));
}

void sn_db_builder_graph_iteration(struct sn_db_builder *builder,
				   const struct sonde_graph_iteration *iteration)
{
	struct sn_graph_parts *graph = &builder->graph;
	if (iteration->model >= graph->model_count || iteration->end_ns < iteration->start_ns)
		sn_db_builder_fail(builder, SN_ERR_ARGUMENT);
	else
		SN_DB_BUILDER_PUSH(builder, graph->iterations, graph->iteration_count,
				   graph->iteration_capacity, *iteration);
}

/* ---- ordering ---- */

/* Nodes of one model lie together. A node of model m has a number below one of a later model, so
 * ordering edges by their nodes orders them by model. */
SN_SORT_BY(sort_edges, struct sonde_graph_edge, const void *,
	   SN_ORDER_BY(a, b, to, index, from, kind, bytes, count));

/* By sum and count as well, so that merging is in one order. */
SN_SORT_BY(sort_stats, struct sonde_graph_stat, const void *,
	   SN_ORDER_BY(a, b, node, kind, stat.sum, stat.count));

SN_SORT_BY(sort_iterations, struct sonde_graph_iteration, const void *,
	   SN_ORDER_BY(a, b, model, start_ns, number, end_ns));

static uint32_t string_of(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
			  uint32_t string)
{
	return string < builder->strings.count ? ordered->numbers.strings[string] : SONDE_NONE;
}

static void *copy(const void *array, size_t count, size_t size)
{
	void *copied = malloc(count * size + 1);
	if (copied && count)
		memcpy(copied, array, count * size);
	return copied;
}

static int copy_parts(const struct sn_graph_parts *from, struct sn_graph_parts *to)
{
	*to = *from;
#define COPY(array, count) to->array = copy(from->array, from->count, sizeof(*to->array))
	COPY(models, model_count);
	COPY(nodes, node_count);
	COPY(edges, edge_count);
	COPY(stats, stat_count);
	COPY(iterations, iteration_count);
#undef COPY
	bool is_whole = to->models && to->nodes && to->edges && to->stats && to->iterations;
	return is_whole ? 0 : SN_ERR_MEMORY;
}

/* Nodes by model, each with its final strings; `rank` becomes their new numbers. */
static int order_nodes(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
		       struct sn_graph_parts *parts, uint32_t *rank)
{
	uint64_t *keys = malloc((parts->node_count + 1) * sizeof(*keys));
	if (!keys)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < parts->node_count; i++)
		keys[i] = (uint64_t)parts->nodes[i].model << 32 | i;
	sn_sort_u64(keys, parts->node_count);
	for (uint32_t i = 0; i < parts->node_count; i++)
		rank[(uint32_t)keys[i]] = i;
	for (uint32_t i = 0; i < parts->node_count; i++) {
		struct sonde_graph_node node = builder->graph.nodes[(uint32_t)keys[i]];
		uint32_t *const strings[] = {&node.name, &node.type,	 &node.module, &node.device,
					     &node.file, &node.function, &node.detail};
		for (size_t s = 0; s < sizeof(strings) / sizeof(*strings); s++)
			*strings[s] = string_of(builder, ordered, *strings[s]);
		node.parent = node.parent == SONDE_NONE ? SONDE_NONE : rank[node.parent];
		node.context = node.context < builder->contexts.count
				   ? ordered->numbers.contexts[node.context]
				   : SONDE_NONE;
		parts->nodes[i] = node;
	}
	free(keys);
	return 0;
}

static void order_edges(struct sn_graph_parts *parts, const uint32_t *rank)
{
	struct sonde_graph_edge *edges = parts->edges;
	size_t kept = 0;
	for (size_t i = 0; i < parts->edge_count; i++) {
		edges[i].from = rank[edges[i].from];
		edges[i].to = rank[edges[i].to];
	}
	sort_edges(edges, parts->edge_count, NULL);
	for (size_t i = 0; i < parts->edge_count; i++) {
		struct sonde_graph_edge *last = kept ? edges + kept - 1 : NULL;
		if (last && last->from == edges[i].from && last->to == edges[i].to &&
		    last->index == edges[i].index && last->kind == edges[i].kind) {
			last->count += edges[i].count;
			if (edges[i].bytes > last->bytes)
				last->bytes = edges[i].bytes;
		} else {
			edges[kept++] = edges[i];
		}
	}
	parts->edge_count = kept;
}

static void order_stats(struct sn_graph_parts *parts, const uint32_t *rank)
{
	struct sonde_graph_stat *stats = parts->stats;
	size_t kept = 0;
	for (size_t i = 0; i < parts->stat_count; i++)
		stats[i].node = rank[stats[i].node];
	sort_stats(stats, parts->stat_count, NULL);
	for (size_t i = 0; i < parts->stat_count; i++) {
		struct sonde_graph_stat *last = kept ? stats + kept - 1 : NULL;
		if (last && last->node == stats[i].node && last->kind == stats[i].kind)
			sonde_db_stat_merge(&last->stat, &stats[i].stat);
		else
			stats[kept++] = stats[i];
	}
	parts->stat_count = kept;
}

/* Where what belongs to each model lies, and its final strings. */
static void order_models(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
			 struct sn_graph_parts *parts)
{
	size_t node = 0, edge = 0, iteration = 0;
	for (uint32_t i = 0; i < parts->model_count; i++) {
		struct sonde_graph_model *model = parts->models + i;
		uint32_t *const strings[] = {&model->name,     &model->source,
					     &model->edges_by, &model->iterations_by,
					     &model->host,     &model->program};
		for (size_t s = 0; s < sizeof(strings) / sizeof(*strings); s++)
			*strings[s] = string_of(builder, ordered, *strings[s]);
		model->first_node = (uint32_t)node;
		while (node < parts->node_count && parts->nodes[node].model == i)
			node++;
		model->node_count = (uint32_t)node - model->first_node;
		model->first_edge = (uint32_t)edge;
		while (edge < parts->edge_count && parts->edges[edge].to < node)
			edge++;
		model->edge_count = (uint32_t)edge - model->first_edge;
		model->first_iteration = (uint32_t)iteration;
		bool is_summed = model->iteration_time.count != 0;
		while (iteration < parts->iteration_count &&
		       parts->iterations[iteration].model == i) {
			const struct sonde_graph_iteration *one = parts->iterations + iteration++;
			if (!is_summed)
				sn_stat_add(&model->iteration_time,
					    (double)(one->end_ns - one->start_ns));
		}
		model->iteration_count = (uint32_t)iteration - model->first_iteration;
	}
}

int sn_graph_lay(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
		 struct sn_graph_layout *layout)
{
	struct sn_graph_parts *parts = &layout->parts;
	memset(layout, 0, sizeof(*layout));
	if (!builder->graph.model_count)
		return 0;
	uint32_t *rank = malloc((builder->graph.node_count + 1) * sizeof(*rank));
	int result = copy_parts(&builder->graph, parts);
	if (!rank)
		result = SN_ERR_MEMORY;
	if (!result)
		result = order_nodes(builder, ordered, parts, rank);
	if (!result) {
		order_edges(parts, rank);
		order_stats(parts, rank);
		sort_iterations(parts->iterations, parts->iteration_count, NULL);
		order_models(builder, ordered, parts);
	}
	free(rank);
#define SECTION(number, array, count)                                                              \
	layout->sections[number].data = parts->array;                                              \
	layout->sections[number].length = parts->count * sizeof(*parts->array)
	SECTION(0, models, model_count);
	SECTION(1, nodes, node_count);
	SECTION(2, edges, edge_count);
	SECTION(3, stats, stat_count);
	SECTION(4, iterations, iteration_count);
#undef SECTION
	return result;
}

void sn_graph_parts_release(struct sn_graph_parts *parts)
{
	free(parts->models);
	free(parts->nodes);
	free(parts->edges);
	free(parts->stats);
	free(parts->iterations);
	memset(parts, 0, sizeof(*parts));
}

void sn_graph_layout_release(struct sn_graph_layout *layout)
{
	sn_graph_parts_release(&layout->parts);
}
