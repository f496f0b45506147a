/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each entry owns a run of pairs (context of the function, ancestor reached). Expanding an entry
 * moves every pair one caller up, sorts the new pairs by the caller's group and makes an entry of
 * each run.
 */
#include "callers.h"

#include <stdlib.h>
#include <string.h>

struct sn_callers_pair {
	uint32_t origin;
	uint32_t current;
	uint32_t group;
	bool is_outermost; /* the origin lies in no other context of its function */
};

const struct sn_tree_value *sn_callers_value(const struct sn_callers *callers, uint32_t entry,
					     uint32_t position)
{
	return &callers->values[(size_t)entry * callers->tree->metric_count + position];
}

static int reserve_pairs(struct sn_callers *callers, size_t more)
{
	if (callers->pair_count + more <= callers->pair_capacity)
		return 0;
	size_t capacity = (callers->pair_count + more) * 2;
	void *pairs = realloc(callers->pairs, capacity * sizeof(*callers->pairs));
	if (!pairs)
		return SN_ERR_MEMORY;
	callers->pairs = pairs;
	callers->pair_capacity = capacity;
	return 0;
}

static int reserve_entries(struct sn_callers *callers, uint32_t more)
{
	if (callers->entry_count + more <= callers->entry_capacity)
		return 0;
	uint32_t capacity = (callers->entry_count + more) * 2;
	size_t metrics = callers->tree->metric_count ? callers->tree->metric_count : 1;
	void *entries = realloc(callers->entries, capacity * sizeof(*callers->entries));
	if (!entries)
		return SN_ERR_MEMORY;
	callers->entries = entries;
	void *values = realloc(callers->values, capacity * metrics * sizeof(*callers->values));
	if (!values)
		return SN_ERR_MEMORY;
	callers->values = values;
	callers->entry_capacity = capacity;
	return 0;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct sn_callers_pair *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->origin < b->origin ? -1 : a->origin > b->origin;
}

/* An entry of the pairs [first, first + count), which are of one group. */
static void add_entry(struct sn_callers *callers, uint32_t parent, size_t first, size_t count)
{
	const struct sn_tree *tree = callers->tree;
	uint32_t id = callers->entry_count++, metrics = tree->metric_count;
	const struct sn_callers_pair *pairs = callers->pairs + first;
	callers->entries[id] = (struct sn_callers_entry){
	    .frame = tree->nodes[pairs[0].current].frame,
	    .parent = parent,
	    .depth = parent == SONDE_NONE ? 0 : callers->entries[parent].depth + 1,
	    .first_pair = first,
	    .pair_count = count,
	};
	struct sn_tree_value *values = &callers->values[(size_t)id * metrics];
	memset(values, 0, metrics * sizeof(*values));
	for (size_t i = 0; i < count; i++) {
		for (uint32_t m = 0; m < metrics; m++) {
			const struct sn_tree_value *from = &tree->values[m][pairs[i].origin];
			sonde_db_stat_merge(&values[m].exclusive, &from->exclusive);
			if (pairs[i].is_outermost)
				sonde_db_stat_merge(&values[m].inclusive, &from->inclusive);
		}
	}
}

/* Makes entries of the pairs from `first` on. */
static int add_entries(struct sn_callers *callers, uint32_t parent, size_t first)
{
	size_t count = callers->pair_count - first;
	qsort(callers->pairs + first, count, sizeof(*callers->pairs), compare_pairs);
	uint32_t runs = 0;
	for (size_t i = 0; i < count; i++)
		runs += i == 0 ||
			callers->pairs[first + i].group != callers->pairs[first + i - 1].group;
	if (reserve_entries(callers, runs) != 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count;) {
		size_t j = i + 1;
		while (j < count &&
		       callers->pairs[first + j].group == callers->pairs[first + i].group)
			j++;
		add_entry(callers, parent, first + i, j - i);
		i = j;
	}
	return 0;
}

static bool has_own_value(const struct sn_tree *tree, uint32_t node)
{
	for (uint32_t m = 0; m < tree->metric_count; m++)
		if (tree->values[m][node].exclusive.count > 0)
			return true;
	return false;
}

static int add_functions(struct sn_callers *callers)
{
	const struct sn_tree *tree = callers->tree;
	uint32_t *open_until = calloc(callers->groups.count + 1, sizeof(*open_until));
	if (!open_until || reserve_pairs(callers, tree->node_count) != 0) {
		free(open_until);
		return SN_ERR_MEMORY;
	}
	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t group = callers->groups.of_frame[tree->nodes[node].frame];
		bool is_outermost = node >= open_until[group];
		if (is_outermost)
			open_until[group] = tree->nodes[node].end;
		/* Without own cost a context matters only for its function's inclusive value. */
		if (is_outermost || has_own_value(tree, node))
			callers->pairs[callers->pair_count++] =
			    (struct sn_callers_pair){node, node, group, is_outermost};
	}
	free(open_until);
	return add_entries(callers, SONDE_NONE, 0);
}

int sn_callers_init(struct sn_callers *callers, const struct sn_tree *tree,
		    enum sn_grouping grouping, struct sn_error *error)
{
	*callers = (struct sn_callers){.tree = tree};
	int code = sn_groups_init(&callers->groups, tree->db, grouping, error);
	if (code != 0)
		return code;
	if (add_functions(callers) != 0) {
		sn_callers_release(callers);
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	callers->function_count = callers->entry_count;
	return 0;
}

void sn_callers_release(struct sn_callers *callers)
{
	free(callers->entries);
	free(callers->values);
	free(callers->pairs);
	sn_groups_release(&callers->groups);
	*callers = (struct sn_callers){0};
}

int sn_callers_expand(struct sn_callers *callers, uint32_t id, struct sn_error *error)
{
	struct sn_callers_entry entry = callers->entries[id];
	if (entry.is_expanded)
		return 0;
	if (reserve_pairs(callers, entry.pair_count) != 0)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	size_t first = callers->pair_count;
	const struct sn_tree *tree = callers->tree;
	for (size_t i = 0; i < entry.pair_count; i++) {
		struct sn_callers_pair pair = callers->pairs[entry.first_pair + i];
		/* The root is the program, not a caller. */
		uint32_t parent = tree->nodes[pair.current].parent;
		if (pair.current == 0 || parent == 0)
			continue;
		pair.current = parent;
		pair.group = callers->groups.of_frame[tree->nodes[parent].frame];
		callers->pairs[callers->pair_count++] = pair;
	}
	uint32_t first_child = callers->entry_count;
	if (add_entries(callers, id, first) != 0)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	callers->entries[id].is_expanded = true;
	callers->entries[id].first_child = first_child;
	callers->entries[id].child_count = callers->entry_count - first_child;
	return 0;
}
