/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the tree of tree.h in four passes: exclusive values of the contexts that are kept; the
 * node of each context; nodes into pre-order; inclusive values from the leaves up.
 */
#include "tree.h"

#include "across.h"
#include "base/table.h"
#include "format/measurement/measurement.h"
#include "linked.h"

#include <stdlib.h>
#include <string.h>

double sn_tree_inclusive(const struct sn_tree *tree, uint32_t position, uint32_t node)
{
	return tree->values[position][node].inclusive.sum;
}

double sn_tree_exclusive(const struct sn_tree *tree, uint32_t position, uint32_t node)
{
	return tree->values[position][node].exclusive.sum;
}

double sn_tree_weight(const struct sn_tree *tree, uint32_t node)
{
	double most = 0;
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		double total = sn_tree_inclusive(tree, m, 0);
		double share = total > 0 ? sn_tree_inclusive(tree, m, node) / total : 0;
		most = share > most ? share : most;
	}
	return most;
}

/* While the tree is built: contexts to nodes. */
struct builder {
	struct sn_tree *tree;
	const struct sn_tree_request *request;
	struct sn_arena arena;
	bool *keep; /* [context], NULL: all */
	struct sn_linked links;
	uint32_t *node_of; /* [context] */
	struct sn_groups groups;
	struct sn_table children; /* (parent, group) to the node, the root left out */
};

static bool is_folded(const struct builder *builder, uint32_t frame)
{
	if (builder->request->fold_loops &&
	    sonde_db_frame(builder->tree->db, frame)->kind == SN_FRAME_LOOP)
		return true;
	if (builder->request->fold_lines &&
	    sn_frame_lies_in_function(sonde_db_frame(builder->tree->db, frame)))
		return true;
	return builder->groups.of_frame[frame] == SONDE_NONE;
}

/* The node of `group` on the path down to `node`; SONDE_NONE without one. Each is there once, so that
 * a recursion of any depth takes as many steps as it has functions. */
static uint32_t find_above(const struct builder *builder, uint32_t node, uint32_t group)
{
	while (node != 0 && builder->groups.of_frame[builder->links.nodes[node].frame] != group)
		node = builder->links.nodes[node].parent;
	return node == 0 ? SONDE_NONE : node;
}

static uint32_t recursion_of(const struct builder *builder, uint32_t parent, uint32_t frame)
{
	if (!builder->request->collapse_recursion ||
	    sn_frame_lies_in_function(sonde_db_frame(builder->tree->db, frame)))
		return SONDE_NONE;
	return find_above(builder, parent, builder->groups.of_frame[frame]);
}

static int assign_nodes(struct builder *builder)
{
	const struct sonde_db *db = builder->tree->db;
	uint32_t count = sonde_db_context_count(db);
	bool is_merging = builder->request->grouping != SN_GROUP_INSTRUCTION;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_db_context *context = sonde_db_context(db, i);
		uint32_t parent = i == 0 ? 0 : builder->node_of[context->parent];
		if (is_folded(builder, context->frame) && i > 0) {
			builder->node_of[i] = parent;
			continue;
		}
		if (!is_merging || i == 0) {
			builder->node_of[i] =
			    sn_linked_add(&builder->links, parent, context->frame);
			continue;
		}
		builder->node_of[i] = recursion_of(builder, parent, context->frame);
		if (builder->node_of[i] != SONDE_NONE)
			continue;
		uint32_t group = builder->groups.of_frame[context->frame];
		uint32_t child = sn_table_add(&builder->children, sn_table_pair(parent, group));
		if (child == SN_TABLE_NONE)
			return SN_ERR_MEMORY;
		/* They count up with the nodes: the root is node 0, the first child is node 1. */
		if (child + 1 == builder->links.count)
			sn_linked_add(&builder->links, parent, context->frame);
		builder->node_of[i] = child + 1;
	}
	return 0;
}

/* Renumbers the nodes in pre-order, siblings in order of arrival. */
static int order_nodes(struct builder *builder)
{
	struct sn_tree *tree = builder->tree;
	uint32_t *place = sn_arena_array(&builder->arena, uint32_t, builder->links.count);
	tree->node_count = builder->links.count;
	tree->nodes = sn_arena_array(&tree->arena, struct sn_tree_node, tree->node_count);
	if (!place || !tree->nodes)
		return SN_ERR_MEMORY;
	sn_linked_order(&builder->links, tree->nodes, place);
	for (uint32_t i = 0; i < sonde_db_context_count(tree->db); i++)
		builder->node_of[i] = place[builder->node_of[i]];
	return 0;
}

static void add_exclusive(struct builder *builder, struct sn_tree_value *values, uint32_t context,
			  const struct sonde_db_stat *stat)
{
	if (!builder->keep || builder->keep[context])
		sonde_db_stat_merge(&values[builder->node_of[context]].exclusive, stat);
}

/* A context that has no node of its own is no call of the node it is folded into. */
static void add_calls(struct builder *builder, struct sn_tree_value *values, uint32_t context,
		      const struct sonde_db_stat *stat)
{
	bool is_folded_in =
	    context > 0 && is_folded(builder, sonde_db_context(builder->tree->db, context)->frame);
	if (!is_folded_in && (!builder->keep || builder->keep[context]))
		sonde_db_stat_merge(values[builder->node_of[context]].calls, stat);
}

typedef void add_value(struct builder *builder, struct sn_tree_value *values, uint32_t context,
		       const struct sonde_db_stat *stat);

/* Exclusive values of a metric, of all profiles or those that count. */
static void visit_values(struct builder *builder, uint32_t metric, struct sn_tree_value *values,
			 add_value *add)
{
	const struct sonde_db *db = builder->tree->db;
	const bool *profiles = builder->request->profiles;
	struct sonde_db_stat stat;
	if (!profiles) {
		struct sonde_db_summary_plane plane = sonde_db_summary_plane(db, metric);
		for (size_t i = 0; i < plane.count; i++) {
			sonde_db_summary_stat(&plane, i, SONDE_DB_EXCLUSIVE, &stat);
			if (stat.count > 0)
				add(builder, values, plane.contexts[i], &stat);
		}
		return;
	}
	for (uint32_t p = 0; p < sonde_db_profile_count(db); p++) {
		struct sonde_db_plane plane = {0};
		if (profiles[p])
			plane = sonde_db_profile_plane(db, p, metric);
		for (size_t i = 0; i < plane.count; i++) {
			sonde_db_plane_stat(&plane, i, &stat);
			add(builder, values, plane.ids[i], &stat);
		}
	}
}

static int load_calls(struct builder *builder, uint32_t metric, struct sn_tree_value *values)
{
	struct sn_tree *tree = builder->tree;
	uint32_t calls = sonde_db_metric_calls(tree->db, metric);
	if (calls == SONDE_NONE)
		return 0;
	struct sonde_db_stat *all =
	    sn_arena_array(&tree->arena, struct sonde_db_stat, tree->node_count);
	if (!all)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < tree->node_count; i++)
		values[i].calls = all + i;
	visit_values(builder, calls, values, add_calls);
	return 0;
}

static void load_values(struct builder *builder, uint32_t metric, struct sn_tree_value *values)
{
	struct sn_tree *tree = builder->tree;
	visit_values(builder, metric, values, add_exclusive);
	for (uint32_t i = tree->node_count; i-- > 0;) {
		sonde_db_stat_merge(&values[i].inclusive, &values[i].exclusive);
		if (i != 0)
			sonde_db_stat_merge(&values[tree->nodes[i].parent].inclusive,
					    &values[i].inclusive);
	}
}

static bool has_value(const struct sn_tree *tree, uint32_t node)
{
	for (uint32_t m = 0; m < tree->metric_count; m++)
		if (tree->values[m][node].inclusive.count > 0)
			return true;
	return false;
}

/* Drops the nodes that a restriction has left without any value; the root stays. */
static int drop_empty_nodes(struct builder *builder)
{
	struct sn_tree *tree = builder->tree;
	uint32_t *place = sn_arena_array(&builder->arena, uint32_t, tree->node_count + 1ull);
	if (!place)
		return SN_ERR_MEMORY;
	uint32_t next = 0;
	for (uint32_t i = 0; i < tree->node_count; i++) {
		place[i] = next;
		next += i == 0 || has_value(tree, i);
	}
	place[tree->node_count] = next;
	for (uint32_t i = 0; i < tree->node_count; i++) {
		if (place[i + 1] == place[i])
			continue;
		struct sn_tree_node node = tree->nodes[i];
		node.parent = place[node.parent];
		node.end = place[node.end];
		tree->nodes[place[i]] = node;
		for (uint32_t m = 0; m < tree->metric_count; m++)
			tree->values[m][place[i]] = tree->values[m][i];
		if (tree->across && place[i] != i)
			memcpy(tree->across + (size_t)place[i] * tree->metric_count,
			       tree->across + (size_t)i * tree->metric_count,
			       tree->metric_count * sizeof(*tree->across));
	}
	tree->node_count = next;
	return 0;
}

static int allocate(struct builder *builder)
{
	struct sn_tree *tree = builder->tree;
	const struct sn_tree_request *request = builder->request;
	uint32_t count = sonde_db_context_count(tree->db);
	tree->metrics = sn_arena_array(&tree->arena, uint32_t, request->metric_count);
	tree->values = sn_arena_array(&tree->arena, struct sn_tree_value *, request->metric_count);
	builder->node_of = sn_arena_array(&builder->arena, uint32_t, count);
	if (sn_linked_init(&builder->links, &builder->arena, count) || tree->arena.failed)
		return SN_ERR_MEMORY;
	if (request->metric_count > 0)
		memcpy(tree->metrics, request->metrics,
		       request->metric_count * sizeof(*tree->metrics));
	return 0;
}

static int load_all_values(struct builder *builder)
{
	struct sn_tree *tree = builder->tree;
	for (uint32_t m = 0; m < builder->request->metric_count; m++) {
		tree->values[m] =
		    sn_arena_array(&tree->arena, struct sn_tree_value, tree->node_count);
		if (!tree->values[m])
			return SN_ERR_MEMORY;
		tree->metric_count = m + 1;
		load_values(builder, tree->metrics[m], tree->values[m]);
		if (load_calls(builder, tree->metrics[m], tree->values[m]))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int build(struct builder *builder, struct sn_error *error)
{
	const struct sn_tree_request *request = builder->request;
	const struct sonde_db *db = builder->tree->db;
	int code = allocate(builder);
	if (code == 0)
		code = sn_query_select(request->where, request->where_count, db, &builder->keep,
				       error);
	if (code == 0)
		code = sn_groups_init(&builder->groups, db, request->grouping, error);
	if (code == 0)
		code = assign_nodes(builder);
	if (code == 0)
		code = order_nodes(builder);
	if (code == 0)
		code = load_all_values(builder);
	if (code == 0 && request->needs_across)
		code = sn_across_load(builder->tree, builder->node_of, builder->keep,
				      request->profiles, error);
	if (code == 0 && (builder->keep || request->profiles))
		code = drop_empty_nodes(builder);
	return sn_fail_code(error, code);
}

int sn_tree_init(struct sn_tree *tree, const struct sonde_db *db,
		 const struct sn_tree_request *request, struct sn_error *error)
{
	*tree = (struct sn_tree){.db = db, .grouping = request->grouping};
	if (sonde_db_context_count(db) == 0)
		return sn_fail(error, SN_ERR_FORMAT, "no calling contexts");
	struct builder builder = {.tree = tree, .request = request};
	int code = build(&builder, error);
	free(builder.keep);
	sn_arena_release(&builder.arena);
	sn_groups_release(&builder.groups);
	sn_table_release(&builder.children);
	if (code != 0)
		sn_tree_release(tree);
	return code;
}

void sn_tree_release(struct sn_tree *tree)
{
	sn_arena_release(&tree->arena);
	*tree = (struct sn_tree){0};
}
