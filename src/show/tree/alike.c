/* SPDX-License-Identifier: Apache-2.0 */
/* Folding siblings that are alike; see alike.h. */
#include "alike.h"

#include "base/intern.h"
#include "base/table.h"
#include "format/measurement/measurement.h"
#include "frame/alike_name.h"
#include "linked.h"

#include <string.h>

enum { NAME_BYTES = 512 };

struct fold {
	const struct sn_tree *tree;
	struct sn_groups groups;
	uint32_t *stem_of; /* [frame]: its name without numbers; SONDE_NONE */
	uint32_t stem_count;
	bool *folds; /* [stem] */
	struct sn_arena arena;
	struct sn_linked links;
	uint32_t *node_of;	  /* [old node] */
	bool *is_inside;	  /* [new node]: it is or lies in one that was folded */
	struct sn_table ranks;	  /* (stem, which of its siblings) */
	struct sn_table places;	  /* (old parent, stem): see next_rank */
	uint32_t *next_rank;	  /* [place] */
	struct sn_table children; /* (new parent, key) to the new node, the root left out */
	struct sn_table merged;	  /* (new node, group) */
};

static int find_stems(struct fold *fold)
{
	const struct sonde_db *db = fold->tree->db;
	struct sn_intern stems = {0};
	char key[NAME_BYTES];
	int code = 0;
	for (uint32_t i = 0; i < sonde_db_frame_count(db) && code == 0; i++) {
		fold->stem_of[i] = SONDE_NONE;
		if (!sn_alike_name(db, i, key + 2, sizeof(key) - 2))
			continue;
		key[0] = (char)sonde_db_frame(db, i)->kind;
		key[1] = (char)(sonde_db_frame(db, i)->flags & SN_FRAME_BACKWARD);
		fold->stem_of[i] = sn_intern_add(&stems, key, 2 + strlen(key + 2));
		code = fold->stem_of[i] == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
	}
	fold->stem_count = stems.count;
	sn_intern_release(&stems);
	return code;
}

static uint32_t stem_of(const struct fold *fold, uint32_t node)
{
	return node == 0 ? SONDE_NONE : fold->stem_of[fold->tree->nodes[node].frame];
}

/* A stem is folded everywhere or nowhere: where most of its cost lies in siblings that are alike.
 */
static int choose_stems(struct fold *fold)
{
	const struct sn_tree *tree = fold->tree;
	struct sn_table places = {0};
	struct sn_alike_costs *all =
	    sn_arena_array(&fold->arena, struct sn_alike_costs, tree->node_count);
	uint32_t *stems = sn_arena_array(&fold->arena, uint32_t, tree->node_count);
	double *votes = sn_arena_array(&fold->arena, double, fold->stem_count + 1);
	int code = fold->arena.failed ? SN_ERR_MEMORY : 0;
	for (uint32_t i = 1; i < tree->node_count && code == 0; i++) {
		uint32_t stem = stem_of(fold, i);
		if (stem == SONDE_NONE)
			continue;
		uint32_t at = sn_table_add(&places, sn_table_pair(tree->nodes[i].parent, stem));
		double value = sn_tree_weight(tree, i);
		if (at == SN_TABLE_NONE) {
			code = SN_ERR_MEMORY;
			break;
		}
		stems[at] = stem;
		sn_alike_add(&all[at], value);
	}
	for (uint32_t at = 0; at < places.count && code == 0; at++)
		if (all[at].count >= SN_ALIKE_LEAST)
			votes[stems[at]] += sn_alike_near(&all[at]) ? all[at].sum : -all[at].sum;
	for (uint32_t stem = 0; stem < fold->stem_count && code == 0; stem++)
		fold->folds[stem] = votes[stem] > 0;
	sn_table_release(&places);
	return code;
}

/* Within layers that were folded, the n-th of a stem goes to the n-th of the others. SN_TABLE_NONE
 * without memory. */
static uint32_t rank_key(struct fold *fold, uint32_t old_parent, uint32_t stem)
{
	uint32_t at = sn_table_add(&fold->places, sn_table_pair(old_parent, stem));
	if (at == SN_TABLE_NONE)
		return SN_TABLE_NONE;
	uint32_t rank = sn_table_add(&fold->ranks, sn_table_pair(stem, fold->next_rank[at]++));
	return rank == SN_TABLE_NONE ? rank : fold->groups.count + fold->stem_count + rank;
}

/* What a node shares with those that are merged with it. */
static uint32_t key_of(struct fold *fold, uint32_t node, uint32_t parent)
{
	uint32_t stem = stem_of(fold, node);
	if (stem != SONDE_NONE && fold->folds[stem])
		return fold->groups.count + stem;
	if (stem != SONDE_NONE && fold->is_inside[parent])
		return rank_key(fold, fold->tree->nodes[node].parent, stem);
	return fold->groups.of_frame[fold->tree->nodes[node].frame];
}

static int assign_node(struct fold *fold, uint32_t node)
{
	const struct sn_tree_node *old = &fold->tree->nodes[node];
	uint32_t parent = fold->node_of[old->parent], key = key_of(fold, node, parent);
	uint32_t child = key == SN_TABLE_NONE
			     ? SN_TABLE_NONE
			     : sn_table_add(&fold->children, sn_table_pair(parent, key));
	if (child == SN_TABLE_NONE)
		return SN_ERR_MEMORY;
	/* They count up with the nodes: the root is node 0, the first child is node 1. */
	if (++child == fold->links.count) {
		uint32_t stem = stem_of(fold, node);
		sn_linked_add(&fold->links, parent, old->frame);
		fold->is_inside[child] =
		    fold->is_inside[parent] || (stem != SONDE_NONE && fold->folds[stem]);
	}
	fold->node_of[node] = child;
	uint32_t group = fold->groups.of_frame[old->frame], before = fold->merged.count;
	uint32_t number = sn_table_add(&fold->merged, sn_table_pair(child, group));
	fold->links.nodes[child].alike += number == before;
	return number == SN_TABLE_NONE ? SN_ERR_MEMORY : 0;
}

static int assign_nodes(struct fold *fold)
{
	uint32_t count = fold->tree->node_count;
	fold->node_of = sn_arena_array(&fold->arena, uint32_t, count);
	fold->is_inside = sn_arena_array(&fold->arena, bool, count);
	fold->next_rank = sn_arena_array(&fold->arena, uint32_t, count);
	int code = sn_linked_init(&fold->links, &fold->arena, count);
	if (code == 0)
		sn_linked_add(&fold->links, 0, fold->tree->nodes[0].frame);
	for (uint32_t node = 1; node < count && code == 0; node++)
		code = assign_node(fold, node);
	return code;
}

static void merge_value(struct sn_tree_value *to, const struct sn_tree_value *from)
{
	sonde_db_stat_merge(&to->exclusive, &from->exclusive);
	sonde_db_stat_merge(&to->inclusive, &from->inclusive);
	sn_value_add_calls(to, from);
}

/* Puts the new nodes, and values that are the sums of the old ones, into the tree. */
static int replace_nodes(struct fold *fold, struct sn_tree *tree)
{
	uint32_t count = fold->links.count, old_count = tree->node_count;
	uint32_t *place = sn_arena_array(&fold->arena, uint32_t, count);
	struct sn_tree_node *nodes = sn_arena_array(&tree->arena, struct sn_tree_node, count);
	if (!place || !nodes)
		return SN_ERR_MEMORY;
	sn_linked_order(&fold->links, nodes, place);
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		struct sn_tree_value *values =
		    sn_arena_array(&tree->arena, struct sn_tree_value, count);
		struct sonde_db_stat *calls =
		    sn_arena_array(&tree->arena, struct sonde_db_stat, count);
		if (!values || !calls)
			return SN_ERR_MEMORY;
		for (uint32_t i = 0; i < count && tree->values[m][0].calls; i++)
			values[i].calls = calls + i;
		for (uint32_t i = 0; i < old_count; i++)
			merge_value(&values[place[fold->node_of[i]]], &tree->values[m][i]);
		tree->values[m] = values;
	}
	tree->nodes = nodes;
	tree->node_count = count;
	return 0;
}

int sn_tree_fold(struct sn_tree *tree, struct sn_error *error)
{
	struct fold fold = {.tree = tree};
	uint32_t frames = sonde_db_frame_count(tree->db);
	if (tree->across)
		return 0;
	int code = sn_groups_init(&fold.groups, tree->db, tree->grouping, error);
	fold.stem_of = sn_arena_array(&fold.arena, uint32_t, frames);
	if (code == 0)
		code = fold.stem_of ? find_stems(&fold) : SN_ERR_MEMORY;
	fold.folds = sn_arena_array(&fold.arena, bool, fold.stem_count + 1);
	if (code == 0)
		code = fold.folds ? choose_stems(&fold) : SN_ERR_MEMORY;
	bool has_any = false;
	for (uint32_t stem = 0; stem < fold.stem_count && code == 0; stem++)
		has_any |= fold.folds[stem];
	if (code == 0 && has_any)
		code = assign_nodes(&fold);
	if (code == 0 && has_any)
		code = replace_nodes(&fold, tree);
	sn_table_release(&fold.ranks);
	sn_table_release(&fold.places);
	sn_table_release(&fold.children);
	sn_table_release(&fold.merged);
	sn_groups_release(&fold.groups);
	sn_arena_release(&fold.arena);
	return sn_fail_code(error, code);
}
