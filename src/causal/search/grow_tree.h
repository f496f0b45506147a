/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The causes of one variable, among any set of others: the best one is added as long as that makes the score better, then the worst one
 * is dropped. Causes that are required are always there. What was added to what is a tree, which grows as sets are asked for: its root has no causes; each branch adds one.
 */
#pragma once

#include "causal/bits.h"
#include "causal/knowledge.h"
#include "score.h"

struct sn_grow_tree {
	uint32_t variable, count; /* of all variables */
	const struct sn_score *score;
	const struct sn_knowledge *knowledge;
	struct sn_grow_node *nodes;
	struct sn_grow_branch *branches;
	uint32_t *kept; /* after dropping, node after node */
	size_t node_capacity, branch_capacity, kept_capacity;
	uint32_t node_count, branch_count, kept_count;
	uint32_t *causes, *others; /* room for all, twice */
	double *scores;		   /* room for all */
	uint32_t required;	   /* causes, which are never dropped */
	bool failed;		   /* without memory; then what it answers means nothing */
};

void sn_grow_tree_init(struct sn_grow_tree *tree, uint32_t variable, uint32_t count,
		       const struct sn_score *score, const struct sn_knowledge *knowledge);
void sn_grow_tree_release(struct sn_grow_tree *tree);

/* The score of the variable with the causes found among a set of bits, which has all that are required; these and their number in *causes and *cause_count unless they are
 * NULL, valid until the next call. */
double sn_grow_tree_ask(struct sn_grow_tree *tree, const uint64_t *among, const uint32_t **causes,
			uint32_t *cause_count);
