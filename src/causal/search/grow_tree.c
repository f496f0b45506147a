/* SPDX-License-Identifier: Apache-2.0 */
/* Causes of one variable by adding and dropping, remembered; see grow_tree.h. */
#include "grow_tree.h"

#include "base/sort_by.h"
#include "base/vec.h"

#include <math.h>

#define NOT_YET UINT32_MAX
#define MOST	48u /* causes of a variable, beside those that are required */
#define GAIN	1e-9

struct sn_grow_node {
	double score;	 /* with all that was added */
	double dropped;	 /* the score after dropping */
	uint32_t parent; /* the node that it was added to */
	uint32_t added, depth;
	uint32_t first_branch, branch_count; /* NOT_YET: it has not grown */
	uint32_t first_kept, kept_count;     /* NOT_YET: nothing was dropped yet */
};

/* What may be added to a node: the best one first. Its node is made when it is needed. */
struct sn_grow_branch {
	double score;
	uint32_t added, node;
};

static double score_of(struct sn_grow_tree *tree, const uint32_t *causes, uint32_t count)
{
	return tree->score->of(tree->score->context, tree->variable, causes, count);
}

static uint32_t add_node(struct sn_grow_tree *tree, uint32_t parent, uint32_t added, double score)
{
	struct sn_grow_node node = {.score = score,
				    .parent = parent,
				    .added = added,
				    .depth = tree->node_count ? tree->nodes[parent].depth + 1 : 0,
				    .branch_count = NOT_YET,
				    .kept_count = NOT_YET};
	if (sn_vec_push(&tree->nodes, &tree->node_capacity, &tree->node_count, node)) {
		tree->failed = true;
		return 0;
	}
	return tree->node_count - 1;
}

void sn_grow_tree_init(struct sn_grow_tree *tree, uint32_t variable, uint32_t count,
		       const struct sn_score *score, const struct sn_knowledge *knowledge)
{
	*tree = (struct sn_grow_tree){
	    .variable = variable, .count = count, .score = score, .knowledge = knowledge};
	tree->causes = malloc(2 * ((size_t)count + 1) * sizeof(*tree->causes));
	tree->others = tree->causes ? tree->causes + count + 1 : NULL;
	tree->scores = malloc(((size_t)count + 1) * sizeof(*tree->scores));
	if (!tree->causes || !tree->scores)
		tree->failed = true;
	for (uint32_t cause = 0; tree->causes && cause < count; cause++)
		if (sn_knowledge_requires(knowledge, cause, variable))
			tree->causes[tree->required++] = cause;
	if (tree->causes)
		add_node(tree, 0, 0, score_of(tree, tree->causes, tree->required));
}

void sn_grow_tree_release(struct sn_grow_tree *tree)
{
	free(tree->nodes);
	free(tree->branches);
	free(tree->kept);
	free(tree->causes);
	free(tree->scores);
	*tree = (struct sn_grow_tree){0};
}

/* Into tree->causes, in the order in which they were added, those that are required before them. */
static uint32_t causes_at(struct sn_grow_tree *tree, uint32_t node)
{
	uint32_t count = tree->required + tree->nodes[node].depth;
	for (uint32_t place = count; place-- > tree->required; node = tree->nodes[node].parent)
		tree->causes[place] = tree->nodes[node].added;
	return count;
}

/* Of `count` causes in tree->causes the scores with each of these in addition, into tree->scores. */
static void score_with_each(struct sn_grow_tree *tree, uint32_t count, const uint32_t *added,
			    uint32_t added_count)
{
	const struct sn_score *score = tree->score;
	if (score->with_each) {
		tree->failed |= score->with_each(score->context, tree->variable, tree->causes,
						 count, added, added_count, tree->scores) != 0;
		return;
	}
	for (uint32_t place = 0; place < added_count; place++) {
		tree->causes[count] = added[place];
		tree->scores[place] = score_of(tree, tree->causes, count + 1);
	}
}

static void leave_out(uint32_t *causes, uint32_t count, uint32_t place)
{
	memmove(causes + place, causes + place + 1, (count - place - 1) * sizeof(*causes));
}

/* And without each of them. */
static void score_without_each(struct sn_grow_tree *tree, uint32_t count)
{
	const struct sn_score *score = tree->score;
	if (score->without_each) {
		tree->failed |= score->without_each(score->context, tree->variable, tree->causes,
						    count, tree->scores) != 0;
		return;
	}
	for (uint32_t place = tree->required; place < count; place++) {
		memcpy(tree->others, tree->causes, count * sizeof(*tree->others));
		leave_out(tree->others, count, place);
		tree->scores[place] = score_of(tree, tree->others, count - 1);
	}
}

static bool has_cause(const struct sn_grow_tree *tree, uint32_t count, uint32_t cause)
{
	for (uint32_t place = 0; place < count; place++)
		if (tree->causes[place] == cause)
			return true;
	return false;
}

SN_SORT_BY(sort_branches, struct sn_grow_branch, const void *,
	   SN_ORDER(b->score, a->score) ?: SN_ORDER(a->added, b->added));

/* Tries all that may be added to a node. */
static void grow(struct sn_grow_tree *tree, uint32_t node)
{
	uint32_t count = causes_at(tree, node), first = tree->branch_count, may = 0;
	double score = tree->nodes[node].score;
	for (uint32_t cause = 0; cause < tree->count && tree->nodes[node].depth < MOST; cause++)
		if (cause != tree->variable && !has_cause(tree, count, cause) &&
		    sn_knowledge_allows(tree->knowledge, cause, tree->variable))
			tree->others[may++] = cause;
	score_with_each(tree, count, tree->others, may);
	for (uint32_t place = 0; !tree->failed && place < may; place++) {
		struct sn_grow_branch branch = {tree->scores[place], tree->others[place], NOT_YET};
		if (branch.score > score + GAIN &&
		    sn_vec_push(&tree->branches, &tree->branch_capacity, &tree->branch_count,
				branch))
			tree->failed = true;
	}
	tree->nodes[node].first_branch = first;
	tree->nodes[node].branch_count = tree->branch_count - first;
	sort_branches(tree->branches + first, tree->branch_count - first, NULL);
}

/* The place of the cause without which the score is best; `count` if none is better than *score, which else becomes that. */
static uint32_t worst_cause(struct sn_grow_tree *tree, uint32_t count, double *score)
{
	uint32_t worst = count;
	score_without_each(tree, count);
	for (uint32_t place = tree->required; !tree->failed && place < count; place++)
		if (tree->scores[place] > *score + GAIN) {
			*score = tree->scores[place];
			worst = place;
		}
	return worst;
}

static void drop(struct sn_grow_tree *tree, uint32_t node)
{
	uint32_t count = causes_at(tree, node), worst;
	double score = tree->nodes[node].score;
	while ((worst = worst_cause(tree, count, &score)) < count)
		leave_out(tree->causes, count--, worst);
	if (sn_vec_reserve(&tree->kept, &tree->kept_capacity, (size_t)tree->kept_count + count) <
	    0) {
		tree->failed = true;
		return;
	}
	memcpy(tree->kept + tree->kept_count, tree->causes, count * sizeof(*tree->causes));
	tree->nodes[node].dropped = score;
	tree->nodes[node].first_kept = tree->kept_count;
	tree->nodes[node].kept_count = count;
	tree->kept_count += count;
}

/* The node that the best branch among the set leads to, or NOT_YET. */
static uint32_t next_node(struct sn_grow_tree *tree, uint32_t node, const uint64_t *among)
{
	if (tree->nodes[node].branch_count == NOT_YET)
		grow(tree, node);
	uint32_t at = tree->nodes[node].first_branch, end = at + tree->nodes[node].branch_count;
	while (at < end && !sn_bits_has(among, tree->branches[at].added))
		at++;
	if (at == end || tree->failed)
		return NOT_YET;
	if (tree->branches[at].node == NOT_YET) {
		uint32_t made =
		    add_node(tree, node, tree->branches[at].added, tree->branches[at].score);
		tree->branches[at].node = made;
	}
	return tree->failed ? NOT_YET : tree->branches[at].node;
}

double sn_grow_tree_ask(struct sn_grow_tree *tree, const uint64_t *among, const uint32_t **causes,
			uint32_t *cause_count)
{
	uint32_t node = 0, next;
	if (tree->failed)
		return -INFINITY;
	while ((next = next_node(tree, node, among)) != NOT_YET)
		node = next;
	if (tree->nodes[node].kept_count == NOT_YET)
		drop(tree, node);
	if (tree->failed)
		return -INFINITY;
	if (causes)
		*causes = tree->kept + tree->nodes[node].first_kept;
	if (cause_count)
		*cause_count = tree->nodes[node].kept_count;
	return tree->nodes[node].dropped;
}
