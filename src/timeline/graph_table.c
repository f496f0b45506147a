/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a dataflow graph's nodes with their times, and their groups. */
#include "graph_table.h"

#include "base/sort_by.h"
#include "format/measurement/measurement.h"
#include "timeline/iterations/iterations.h"

#include <stddef.h>
#include <string.h>

struct computing {
	const struct sonde_db *db;
	const struct sonde_graph *graph;
	const struct sonde_graph_model *model;
	struct sn_graph_row *rows; /* of all nodes of the model */
};

/* ---- work below the contexts of nodes ---- */

struct named {
	const char *name;
	uint32_t node;
};

SN_SORT_BY(sort_names, struct named, const void *,
	   strcmp(a->name, b->name) ?: SN_ORDER(a->node, b->node));

static int compare_name(const void *name, const void *named)
{
	return strcmp(name, ((const struct named *)named)->name);
}

/* The node of each frame "MODEL/NODE", SONDE_NONE for other frames; from malloc. */
static uint32_t *nodes_of_frames(const struct computing *on)
{
	uint32_t count = on->model->node_count, frames = sonde_db_frame_count(on->db);
	const char *prefix = sonde_db_string(on->db, on->model->name);
	size_t length = strlen(prefix);
	struct named *names = malloc((count + 1ull) * sizeof(*names));
	uint32_t *nodes = malloc((frames + 1ull) * sizeof(*nodes));
	for (uint32_t i = 0; i < count && names; i++) {
		uint32_t node = on->model->first_node + i;
		names[i] = (struct named){
		    sonde_db_string(on->db, sonde_graph_node(on->graph, node)->name), node};
	}
	if (names)
		sort_names(names, count, NULL);
	for (uint32_t i = 0; i < frames && nodes && names; i++) {
		const struct sonde_db_frame *frame = sonde_db_frame(on->db, i);
		const char *name = sonde_db_string(on->db, frame->name);
		const struct named *found = NULL;
		if (frame->kind == SN_FRAME_GRAPH_NODE && !strncmp(name, prefix, length) &&
		    name[length] == '/')
			found =
			    bsearch(name + length + 1, names, count, sizeof(*names), compare_name);
		nodes[i] = found ? found->node : SONDE_NONE;
	}
	if (!names) {
		free(nodes);
		nodes = NULL;
	}
	free(names);
	return nodes;
}

/* Adds a profile's values of a metric to the nodes that own their contexts. */
static void add_plane(const struct computing *on, uint32_t profile, uint32_t metric, bool is_copy,
		      const uint32_t *owners)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(on->db, profile, metric);
	for (size_t i = 0; i < plane.count; i++) {
		uint32_t owner = owners[plane.ids[i]];
		struct sonde_db_stat stat;
		if (owner == SONDE_NONE)
			continue;
		sonde_db_plane_stat(&plane, i, &stat);
		struct sn_graph_row *row = on->rows + owner - on->model->first_node;
		sonde_db_stat_merge(is_copy ? &row->copy : &row->device, &stat);
	}
}

/* A node owns its contexts and those below, except those of another node and below. */
static int add_work_of_contexts(const struct computing *on)
{
	static const struct {
		const char *name;
		bool is_copy;
	} metrics[] = {{"kernel-time", false},
		       {"copy-time", true},
		       {"fill-time", true},
		       {"graph-time", false}};
	uint32_t contexts = sonde_db_context_count(on->db);
	uint32_t *nodes = nodes_of_frames(on);
	uint32_t *owners = malloc((contexts + 1ull) * sizeof(*owners));
	for (uint32_t c = 0; c < contexts && nodes && owners; c++) {
		const struct sonde_db_context *context = sonde_db_context(on->db, c);
		uint32_t node = nodes[context->frame];
		owners[c] = node != SONDE_NONE ? node : c ? owners[context->parent] : SONDE_NONE;
	}
	for (uint32_t p = 0; p < sonde_db_profile_count(on->db) && nodes && owners; p++) {
		const struct sonde_db_profile *profile = sonde_db_profile(on->db, p);
		if (profile->pid != on->model->pid || profile->run != on->model->run ||
		    profile->rank != on->model->rank)
			continue;
		for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
			uint32_t metric = sonde_db_metric_by_name(on->db, metrics[m].name);
			if (metric != SONDE_NONE)
				add_plane(on, p, metric, metrics[m].is_copy, owners);
		}
	}
	int result = nodes && owners ? 0 : SN_ERR_MEMORY;
	free(nodes);
	free(owners);
	return result;
}

/* ---- rows ---- */

static const struct {
	enum sonde_node_stat number;
	size_t offset;
} stats[] = {
    {SONDE_NODE_TIME, offsetof(struct sn_graph_row, time)},
    {SONDE_NODE_LATENCY, offsetof(struct sn_graph_row, latency)},
    {SONDE_NODE_QUEUE_TIME, offsetof(struct sn_graph_row, queue)},
    {SONDE_NODE_DEVICE_TIME, offsetof(struct sn_graph_row, device)},
    {SONDE_NODE_COPY_TIME, offsetof(struct sn_graph_row, copy)},
    {SONDE_NODE_MEMORY, offsetof(struct sn_graph_row, memory)},
    {SONDE_NODE_REQUESTED, offsetof(struct sn_graph_row, requested)},
    {SONDE_NODE_TEMPORARY, offsetof(struct sn_graph_row, temporary)},
    {SONDE_NODE_PERSISTENT, offsetof(struct sn_graph_row, persistent)},
    {SONDE_NODE_PEAK, offsetof(struct sn_graph_row, peak)},
};
enum { STATS = sizeof(stats) / sizeof(*stats) };

static struct sonde_db_stat *stat_of(struct sn_graph_row *row, size_t number)
{
	return (struct sonde_db_stat *)((char *)row + stats[number].offset);
}

/* Computes each node's exclusive time from its own time and that of its parts. */
static void fill_rows(const struct computing *on)
{
	uint32_t first = on->model->first_node;
	for (uint32_t i = 0; i < on->model->node_count; i++) {
		struct sn_graph_row *row = on->rows + i;
		struct sonde_db_stat self;
		row->node = first + i;
		row->nodes = 1;
		for (size_t s = 0; s < STATS; s++)
			sonde_graph_stat(on->graph, row->node, stats[s].number, stat_of(row, s));
		bool is_given = sonde_graph_stat(on->graph, row->node, SONDE_NODE_SELF_TIME, &self);
		row->self_ns += is_given ? self.sum : row->time.sum;
		uint32_t parent = sonde_graph_node(on->graph, row->node)->parent;
		if (parent != SONDE_NONE &&
		    !sonde_graph_stat(on->graph, parent, SONDE_NODE_SELF_TIME, &self))
			on->rows[parent - first].self_ns -= row->time.sum;
	}
}

static void finish_row(struct sn_graph_row *row)
{
	double device = row->device.sum + row->copy.sum;
	if (row->self_ns < 0) /* its parts ran at the same time */
		row->self_ns = 0;
	row->cost_ns = row->self_ns > device ? row->self_ns : device;
}

struct grouping {
	const struct sonde_graph *graph;
	enum sn_graph_by by;
};

static uint32_t key_of(const struct grouping *grouping, const struct sn_graph_row *row)
{
	const struct sonde_graph_node *node = sonde_graph_node(grouping->graph, row->node);
	if (grouping->by == SN_GRAPH_BY_MODULE)
		return node->module;
	return node->type != SONDE_NONE ? node->type : node->name;
}

SN_SORT_BY(sort_by_key, struct sn_graph_row, const struct grouping *,
	   SN_ORDER(key_of(of, a), key_of(of, b)) ?: SN_ORDER(a->node, b->node));

static void merge_row(struct sn_graph_row *into, struct sn_graph_row *row)
{
	into->nodes += row->nodes;
	into->self_ns += row->self_ns;
	into->cost_ns += row->cost_ns;
	for (size_t s = 0; s < STATS; s++)
		sonde_db_stat_merge(stat_of(into, s), stat_of(row, s));
}

static void group_rows(const struct sonde_graph *graph, enum sn_graph_by by,
		       struct sn_graph_table *table)
{
	struct grouping grouping = {graph, by};
	size_t kept = 0;
	sort_by_key(table->rows, table->count, &grouping);
	for (size_t i = 0; i < table->count; i++) {
		if (kept &&
		    key_of(&grouping, table->rows + kept - 1) == key_of(&grouping, table->rows + i))
			merge_row(table->rows + kept - 1, table->rows + i);
		else
			table->rows[kept++] = table->rows[i];
	}
	table->count = kept;
}

SN_SORT_BY(sort_by_cost, struct sn_graph_row, const void *,
	   SN_ORDER(b->cost_ns, a->cost_ns) ?: SN_ORDER(a->node, b->node));

static void sum_table(const struct sonde_graph *graph, struct sn_graph_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		struct sn_graph_row *row = table->rows + i;
		finish_row(row);
		table->cost_ns += row->cost_ns;
		table->has_time |= row->time.count > 0;
		table->has_latency |= row->latency.count > 0;
		table->has_queue |= row->queue.count > 0;
		table->has_device |= row->device.count > 0;
		table->has_copies |= row->copy.count > 0;
		table->has_memory |= row->memory.count > 0;
		table->has_parts |= sonde_graph_node(graph, row->node)->parent != SONDE_NONE;
	}
}

int sn_graph_table(const struct sonde_db *db, const struct sonde_graph *graph, uint32_t model,
		   enum sn_graph_by by, struct sn_graph_table *table, struct sn_error *error)
{
	struct computing on = {db, graph, sonde_graph_model(graph, model), NULL};
	*table = (struct sn_graph_table){.count = on.model->node_count};
	on.rows = table->rows = calloc(table->count + 1, sizeof(*table->rows));
	if (!table->rows)
		return sn_fail_memory(error);
	fill_rows(&on);
	bool has_contexts = false;
	for (size_t i = 0; i < table->count && !has_contexts; i++)
		has_contexts =
		    sonde_graph_node(graph, table->rows[i].node)->flags & SONDE_NODE_HAS_CONTEXTS;
	if (has_contexts && add_work_of_contexts(&on))
		return sn_fail_memory(error);
	sum_table(graph, table);
	if (by != SN_GRAPH_BY_NODE)
		group_rows(graph, by, table);
	sort_by_cost(table->rows, table->count, NULL);
	return 0;
}

void sn_graph_table_release(struct sn_graph_table *table)
{
	free(table->rows);
	*table = (struct sn_graph_table){0};
}

/* ---- iterations ---- */

int sn_graph_iterations(const struct sonde_graph *graph, uint32_t number,
			struct sn_graph_iterations *iterations)
{
	const struct sonde_graph_model *model = sonde_graph_model(graph, number);
	size_t count = model->iteration_count;
	*iterations = (struct sn_graph_iterations){0};
	if (!count)
		return 0;
	double *lengths = malloc(count * sizeof(*lengths));
	if (!lengths)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_graph_iteration *one =
		    sonde_graph_iteration(graph, model->first_iteration + i);
		lengths[i] = (double)(one->end_ns - one->start_ns);
	}
	iterations->tolerance_ns =
	    sn_iterations_tolerance_ns(lengths, count, &iterations->median_ns);
	free(lengths);
	return 0;
}
