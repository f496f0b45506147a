/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the tree of tree.h in four passes: exclusive values of the contexts that are kept; the
 * node of each context; nodes into pre-order; inclusive values from the leaves up.
 */
#include "tree.h"

#include "format/measurement/measurement.h"
#include "across.h"
#include "pairs.h"

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

/* While the tree is built: contexts to nodes, nodes linked to their siblings in order of arrival.
 */
struct builder {
	struct sn_tree *tree;
	const struct sn_tree_request *request;
	bool *keep;	   /* [context], NULL: all */
	uint32_t *node_of; /* [context] */
	uint32_t *first_child, *last_child, *next_sibling;
	struct sn_groups groups;
	struct sn_pairs pairs;
};

static int select_contexts(struct builder *builder, struct sn_error *error)
{
	const struct sn_tree_request *request = builder->request;
	if (request->where_count == 0)
		return 0;
	const struct sonde_db *db = builder->tree->db;
	uint32_t count = sonde_db_context_count(db);
	builder->keep = malloc(count + 1);
	if (!builder->keep)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	memset(builder->keep, 1, count + 1);
	int code = 0;
	for (size_t i = 0; i < request->where_count && code == 0; i++)
		code = sn_query_restrict(request->where[i], db, builder->keep, error);
	return code;
}

/* Appends a node for `frame` below `parent`; the first one is the root. */
static uint32_t add_node(struct builder *builder, uint32_t parent, uint32_t frame)
{
	struct sn_tree *tree = builder->tree;
	uint32_t id = tree->node_count++;
	tree->nodes[id] = (struct sn_tree_node){.frame = frame, .parent = parent};
	builder->first_child[id] = builder->last_child[id] = SONDE_NONE;
	builder->next_sibling[id] = SONDE_NONE;
	if (id == 0)
		return id;
	if (builder->first_child[parent] == SONDE_NONE)
		builder->first_child[parent] = id;
	else
		builder->next_sibling[builder->last_child[parent]] = id;
	builder->last_child[parent] = id;
	return id;
}

static bool is_folded(const struct builder *builder, uint32_t frame)
{
	if (builder->request->fold_loops &&
	    sonde_db_frame(builder->tree->db, frame)->kind == SN_FRAME_LOOP)
		return true;
	return builder->groups.of_frame[frame] == SONDE_NONE;
}

static int assign_nodes(struct builder *builder, struct sn_error *error)
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
			builder->node_of[i] = add_node(builder, parent, context->frame);
			continue;
		}
		uint32_t group = builder->groups.of_frame[context->frame];
		uint32_t id = sn_pairs_intern(&builder->pairs, parent, group);
		if (id == 0)
			return sn_fail(error, SN_ERR_MEMORY, "out of memory");
		/* Ids count up with the nodes: the root is node 0, the first pair is node 1. */
		if (id == builder->tree->node_count)
			add_node(builder, parent, context->frame);
		builder->node_of[i] = id;
	}
	return 0;
}

/* Renumbers the nodes in pre-order, siblings in order of arrival. */
static int order_nodes(struct builder *builder, struct sn_error *error)
{
	struct sn_tree *tree = builder->tree;
	uint32_t *place = malloc(tree->node_count * sizeof(*place));
	struct sn_tree_node *ordered = malloc(tree->node_count * sizeof(*ordered));
	if (!place || !ordered) {
		free(place);
		free(ordered);
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	uint32_t next = 0, node = 0, depth = 0;
	for (bool is_done = false; !is_done;) {
		place[node] = next;
		ordered[next] = tree->nodes[node];
		ordered[next].parent = next == 0 ? 0 : place[tree->nodes[node].parent];
		ordered[next++].depth = depth;
		if (builder->first_child[node] != SONDE_NONE) {
			node = builder->first_child[node];
			depth++;
			continue;
		}
		/* Leaves closed subtrees until one has a sibling to go on with. */
		for (;;) {
			ordered[place[node]].end = next;
			is_done = node == 0;
			if (is_done)
				break;
			if (builder->next_sibling[node] != SONDE_NONE) {
				node = builder->next_sibling[node];
				break;
			}
			node = tree->nodes[node].parent;
			depth--;
		}
	}
	uint32_t count = sonde_db_context_count(tree->db);
	for (uint32_t i = 0; i < count; i++)
		builder->node_of[i] = place[builder->node_of[i]];
	free(tree->nodes);
	free(place);
	tree->nodes = ordered;
	return 0;
}

static void take_stat(struct builder *builder, struct sn_tree_value *values, uint32_t context,
		      const struct sonde_db_stat *stat)
{
	if (!builder->keep || builder->keep[context])
		sonde_db_stat_merge(&values[builder->node_of[context]].exclusive, stat);
}

static void load_values(struct builder *builder, uint32_t metric, struct sn_tree_value *values)
{
	struct sn_tree *tree = builder->tree;
	const bool *profiles = builder->request->profiles;
	if (!profiles) {
		struct sonde_db_summary_plane plane = sonde_db_summary_plane(tree->db, metric);
		for (size_t i = 0; i < plane.count; i++) {
			struct sonde_db_stat stat;
			sonde_db_summary_stat(&plane, i, SONDE_DB_EXCLUSIVE, &stat);
			if (stat.count > 0)
				take_stat(builder, values, plane.contexts[i], &stat);
		}
	} else {
		uint32_t count = sonde_db_profile_count(tree->db);
		for (uint32_t p = 0; p < count; p++) {
			struct sonde_db_plane plane = {0};
			if (profiles[p])
				plane = sonde_db_profile_plane(tree->db, p, metric);
			for (size_t i = 0; i < plane.count; i++) {
				struct sonde_db_stat stat;
				sonde_db_plane_stat(&plane, i, &stat);
				take_stat(builder, values, plane.ids[i], &stat);
			}
		}
	}
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
static int drop_empty_nodes(struct sn_tree *tree, struct sn_error *error)
{
	uint32_t *place = malloc((tree->node_count + 1) * sizeof(*place));
	if (!place)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
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
	free(place);
	return 0;
}

static int allocate(struct builder *builder, struct sn_error *error)
{
	struct sn_tree *tree = builder->tree;
	const struct sn_tree_request *request = builder->request;
	size_t bytes = (sonde_db_context_count(tree->db) + 1) * sizeof(uint32_t);
	tree->nodes = malloc((sonde_db_context_count(tree->db) + 1) * sizeof(*tree->nodes));
	tree->metrics = malloc((request->metric_count + 1) * sizeof(*tree->metrics));
	tree->values = calloc(request->metric_count + 1, sizeof(*tree->values));
	builder->node_of = malloc(bytes);
	builder->first_child = malloc(bytes);
	builder->last_child = malloc(bytes);
	builder->next_sibling = malloc(bytes);
	if (!tree->nodes || !tree->metrics || !tree->values || !builder->node_of ||
	    !builder->first_child || !builder->last_child || !builder->next_sibling)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (request->metric_count > 0)
		memcpy(tree->metrics, request->metrics,
		       request->metric_count * sizeof(*tree->metrics));
	return 0;
}

static int load_all_values(struct builder *builder, struct sn_error *error)
{
	struct sn_tree *tree = builder->tree;
	for (uint32_t m = 0; m < builder->request->metric_count; m++) {
		tree->values[m] = calloc(tree->node_count, sizeof(**tree->values));
		if (!tree->values[m])
			return sn_fail(error, SN_ERR_MEMORY, "out of memory");
		tree->metric_count = m + 1;
		load_values(builder, tree->metrics[m], tree->values[m]);
	}
	return 0;
}

static int build(struct builder *builder, struct sn_error *error)
{
	const struct sn_tree_request *request = builder->request;
	int code = allocate(builder, error);
	if (code == 0)
		code = select_contexts(builder, error);
	if (code == 0)
		code =
		    sn_groups_init(&builder->groups, builder->tree->db, request->grouping, error);
	if (code == 0)
		code = assign_nodes(builder, error);
	if (code == 0)
		code = order_nodes(builder, error);
	if (code == 0)
		code = load_all_values(builder, error);
	if (code == 0 && request->needs_across)
		code = sn_across_load(builder->tree, builder->node_of, builder->keep,
				      request->profiles, error);
	if (code == 0 && (builder->keep || request->profiles))
		code = drop_empty_nodes(builder->tree, error);
	return code;
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
	free(builder.node_of);
	free(builder.first_child);
	free(builder.last_child);
	free(builder.next_sibling);
	sn_groups_release(&builder.groups);
	sn_pairs_release(&builder.pairs);
	if (code != 0)
		sn_tree_release(tree);
	return code;
}

void sn_tree_release(struct sn_tree *tree)
{
	for (uint32_t m = 0; tree->values && m < tree->metric_count; m++)
		free(tree->values[m]);
	free(tree->values);
	free(tree->across);
	free(tree->metrics);
	free(tree->nodes);
	*tree = (struct sn_tree){0};
}
