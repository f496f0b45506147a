/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bottom-up view: functions, and under each its callers, their callers and so on. An entry's
 * callers are added on demand, because a whole bottom-up tree can be far larger than the top-down
 * one.
 *
 * An entry stands for a call path read from the inside out. Its exclusive value is the own cost of
 * the first function where it was called by that path; its inclusive value includes its callees,
 * each cost once in a recursion.
 */
#pragma once

#include "tree.h"

struct sn_callers_entry {
	uint32_t frame;
	uint32_t depth;
	bool is_expanded;
	uint32_t first_child, child_count; /* once expanded: its callers, unordered */
	/* private */
	uint32_t level; /* calls of the same recursion between it and its pairs */
	bool is_long;	/* the recursion: its sums are known */
	size_t first_pair, pair_count;
};

struct sn_callers {
	const struct sn_tree *tree;
	uint32_t entry_count;
	size_t entry_capacity, value_capacity;
	uint32_t function_count; /* entries 0 .. function_count - 1 are the functions, unordered */
	struct sn_callers_entry *entries;
	struct sn_tree_value *values; /* [entry * tree->metric_count + position] */
	/* Private: a pair is a context of the function and the caller that the walk upwards has
	 * reached. */
	struct sn_callers_pair *pairs;
	size_t pair_count;
	struct sn_tree_value *sums; /* [pair * tree->metric_count + position], of long recursions */
	uint32_t *lengths, *begins; /* [node]: of the recursion that it is in */
	struct sn_groups groups;
	struct sn_arena arena; /* the pairs and data of nodes */
};

int sn_callers_init(struct sn_callers *callers, const struct sn_tree *tree,
		    enum sn_grouping grouping, struct sn_error *error);
void sn_callers_release(struct sn_callers *callers);

/* Creates the entries of an entry's callers. Moves `entries` and `values`. */
int sn_callers_expand(struct sn_callers *callers, uint32_t entry, struct sn_error *error);

/* An entry's values, by metric. */
const struct sn_tree_value *sn_callers_values(const struct sn_callers *callers, uint32_t entry);
