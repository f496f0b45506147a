/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each entry has a run of pairs (context of the function, ancestor reached). Expanding an entry
 * moves its pairs one caller up in place, since the entry itself needs them no more; sorts them by
 * the caller's group, and adds an entry for each run. So there are never more pairs than contexts.
 *
 * A recursion of n levels would need n * n / 2 such moves. So the pairs of an entry are ordered by
 * how many callers of the same group follow: pairs that leave the recursion now come first, and the
 * others stay in place as the pairs of the next entry. Where such a run is long, its sums are
 * computed once, from its end.
 */
#include "callers.h"

#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct sn_callers_pair {
	uint32_t origin;
	uint32_t current;
	uint32_t group;
	uint32_t length;   /* of the recursion: callers of this group from `current` on, with it */
	bool is_outermost; /* the origin lies in no other context of its function */
};

const struct sn_tree_value *sn_callers_values(const struct sn_callers *callers, uint32_t entry)
{
	return &callers->values[(size_t)entry * callers->tree->metric_count];
}

static int reserve_entries(struct sn_callers *callers, size_t more)
{
	size_t count = callers->entry_count + more;
	return sn_vec_reserve(&callers->entries, &callers->entry_capacity, count) ||
		       sn_vec_reserve(&callers->values, &callers->value_capacity,
				      count * callers->tree->metric_count)
		   ? SN_ERR_MEMORY
		   : 0;
}

SN_SORT_BY(sort_pairs, struct sn_callers_pair, const void *,
	   SN_ORDER_BY(a, b, group, length, origin));

/* A context's caller that many calls before, in a recursion. */
static uint32_t ancestor(const struct sn_callers *callers, uint32_t node, uint32_t level)
{
	for (; level > 0 && level < 64; level--)
		node = callers->tree->nodes[node].parent;
	return level ? callers->begins[node] : node;
}

static void add_pair(const struct sn_tree *tree, const struct sn_callers_pair *pair,
		     struct sn_tree_value *values)
{
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		const struct sn_tree_value *from = &tree->values[m][pair->origin];
		sonde_db_stat_merge(&values[m].exclusive, &from->exclusive);
		if (pair->is_outermost)
			sonde_db_stat_merge(&values[m].inclusive, &from->inclusive);
		sn_value_add_calls(&values[m], from);
	}
}

/* Values of nothing, with room for calls where the metric has them. 0 or SN_ERR_MEMORY. */
static int clear_values(struct sn_callers *callers, struct sn_tree_value *values)
{
	const struct sn_tree *tree = callers->tree;
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		values[m] = (struct sn_tree_value){0};
		if (tree->values[m][0].calls &&
		    !(values[m].calls = sn_arena_array(&callers->arena, struct sonde_db_stat, 1)))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static void copy_values(const struct sn_tree *tree, struct sn_tree_value *to,
			const struct sn_tree_value *from)
{
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		to[m].inclusive = from[m].inclusive;
		to[m].exclusive = from[m].exclusive;
		if (to[m].calls && from[m].calls)
			*to[m].calls = *from[m].calls;
	}
}

/* Of each pair of a long recursion the sum from it to the last one. */
static int sum_from_end(struct sn_callers *callers, size_t first, size_t count)
{
	uint32_t metrics = callers->tree->metric_count;
	if (!callers->sums) /* only what is written takes memory */
		callers->sums = sn_arena_array(&callers->arena, struct sn_tree_value,
					       callers->pair_count * metrics);
	if (!callers->sums)
		return SN_ERR_MEMORY;
	for (size_t i = count; i-- > 0;) {
		struct sn_tree_value *sum = callers->sums + (first + i) * metrics;
		if (clear_values(callers, sum))
			return SN_ERR_MEMORY;
		if (i + 1 < count)
			copy_values(callers->tree, sum, sum + metrics);
		add_pair(callers->tree, callers->pairs + first + i, sum);
	}
	return 0;
}

/* An entry of the pairs [first, first + count), which are of one group and begin to be, or were
 * `level` calls of a recursion before. */
static int add_entry(struct sn_callers *callers, uint32_t parent, size_t first, size_t count,
		     uint32_t level)
{
	enum { LONG = 16 };
	const struct sn_tree *tree = callers->tree;
	uint32_t id = callers->entry_count++, metrics = tree->metric_count;
	const struct sn_callers_pair *pairs = callers->pairs + first;
	callers->entries[id] = (struct sn_callers_entry){
	    .frame = tree->nodes[ancestor(callers, pairs[0].current, level)].frame,
	    .depth = parent == SONDE_NONE ? 0 : callers->entries[parent].depth + 1,
	    .level = level,
	    .first_pair = first,
	    .pair_count = count,
	};
	struct sn_callers_entry *entry = &callers->entries[id];
	struct sn_tree_value *values = &callers->values[(size_t)id * metrics];
	if (clear_values(callers, values))
		return SN_ERR_MEMORY;
	entry->is_long = level ? callers->entries[parent].is_long : pairs[count - 1].length > LONG;
	if (entry->is_long && !level && sum_from_end(callers, first, count) != 0)
		return SN_ERR_MEMORY;
	if (entry->is_long)
		copy_values(tree, values, callers->sums + first * metrics);
	for (size_t i = 0; i < count && !entry->is_long; i++)
		add_pair(tree, pairs + i, values);
	return 0;
}

static bool are_sorted(const struct sn_callers_pair *pairs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sort_pairs_order(pairs + i - 1, pairs + i, NULL) > 0)
			return false;
	return true;
}

/* The pairs that go on in a recursion, behind those that leave it. */
struct staying {
	uint32_t group, level;
	size_t count;
};

/* Makes entries of `count` pairs, and of those that stay, by group. In a recursion they are in
 * order already. */
static int add_entries(struct sn_callers *callers, uint32_t parent, size_t first, size_t count,
		       struct staying staying)
{
	const struct sn_callers_pair *pairs = callers->pairs + first;
	if (!are_sorted(pairs, count))
		sort_pairs(callers->pairs + first, count, NULL);
	uint32_t runs = 1;
	int code = 0;
	for (size_t i = 0; i < count; i++)
		runs += i == 0 || pairs[i].group != pairs[i - 1].group;
	if (reserve_entries(callers, runs) != 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0, j; i < count && code == 0; i = j) {
		for (j = i + 1; j < count && pairs[j].group == pairs[i].group;)
			j++;
		if (staying.count && staying.group < pairs[i].group) {
			code =
			    add_entry(callers, parent, first + count, staying.count, staying.level);
			staying.count = 0;
		}
		if (code == 0)
			code = add_entry(callers, parent, first + i, j - i, 0);
	}
	if (staying.count && code == 0)
		code = add_entry(callers, parent, first + count, staying.count, staying.level);
	return code;
}

static bool has_own_value(const struct sn_tree *tree, uint32_t node)
{
	for (uint32_t m = 0; m < tree->metric_count; m++)
		if (tree->values[m][node].exclusive.count > 0)
			return true;
	return false;
}

/* Of each node: how long the recursion is that it ends, and where it begins. The root is the
 * program, not a caller. */
static int measure_recursions(struct sn_callers *callers)
{
	const struct sn_tree *tree = callers->tree;
	const uint32_t *groups = callers->groups.of_frame;
	callers->lengths = sn_arena_array(&callers->arena, uint32_t, tree->node_count);
	callers->begins = sn_arena_array(&callers->arena, uint32_t, tree->node_count);
	if (callers->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t parent = tree->nodes[node].parent;
		bool goes_on = node && parent &&
			       groups[tree->nodes[node].frame] == groups[tree->nodes[parent].frame];
		callers->lengths[node] = goes_on ? callers->lengths[parent] + 1 : 1;
		callers->begins[node] = goes_on ? callers->begins[parent] : node;
	}
	return 0;
}

static int add_functions(struct sn_callers *callers)
{
	const struct sn_tree *tree = callers->tree;
	uint32_t *open_until = sn_arena_array(&callers->arena, uint32_t, callers->groups.count);
	callers->pairs = sn_arena_array(&callers->arena, struct sn_callers_pair, tree->node_count);
	if (callers->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t group = callers->groups.of_frame[tree->nodes[node].frame];
		bool is_outermost = node >= open_until[group];
		if (is_outermost)
			open_until[group] = tree->nodes[node].end;
		/* Without own cost a context matters only for its function's inclusive value. */
		if (is_outermost || has_own_value(tree, node))
			callers->pairs[callers->pair_count++] = (struct sn_callers_pair){
			    node, node, group, callers->lengths[node], is_outermost};
	}
	return add_entries(callers, SONDE_NONE, 0, callers->pair_count, (struct staying){0});
}

int sn_callers_init(struct sn_callers *callers, const struct sn_tree *tree,
		    enum sn_grouping grouping, struct sn_error *error)
{
	*callers = (struct sn_callers){.tree = tree};
	int code = sn_groups_init(&callers->groups, tree->db, grouping, error);
	if (code != 0)
		return code;
	if (measure_recursions(callers) != 0 || add_functions(callers) != 0) {
		sn_callers_release(callers);
		return sn_fail_memory(error);
	}
	callers->function_count = callers->entry_count;
	return 0;
}

void sn_callers_release(struct sn_callers *callers)
{
	free(callers->entries);
	free(callers->values);
	sn_arena_release(&callers->arena);
	sn_groups_release(&callers->groups);
	*callers = (struct sn_callers){0};
}

int sn_callers_expand(struct sn_callers *callers, uint32_t id, struct sn_error *error)
{
	struct sn_callers_entry entry = callers->entries[id];
	if (entry.is_expanded)
		return 0;
	size_t leaving = 0, count = 0;
	const struct sn_tree *tree = callers->tree;
	struct sn_callers_pair *pairs = callers->pairs + entry.first_pair;
	while (leaving < entry.pair_count && pairs[leaving].length == entry.level + 1)
		leaving++;
	struct staying staying = {pairs[0].group, entry.level + 1, entry.pair_count - leaving};
	for (size_t i = 0; i < leaving; i++) {
		struct sn_callers_pair pair = pairs[i];
		uint32_t begin = callers->begins[pair.current], parent = tree->nodes[begin].parent;
		/* The root is the program, not a caller. */
		if (begin == 0 || parent == 0)
			continue;
		pair.current = parent;
		pair.group = callers->groups.of_frame[tree->nodes[parent].frame];
		pair.length = callers->lengths[parent];
		pairs[count++] = pair;
	}
	/* those that stay follow them */
	size_t first = entry.first_pair + leaving - count;
	memmove(pairs + leaving - count, pairs, count * sizeof(*pairs));
	uint32_t first_child = callers->entry_count;
	if (add_entries(callers, id, first, count, staying) != 0)
		return sn_fail_memory(error);
	callers->entries[id].is_expanded = true;
	callers->entries[id].first_child = first_child;
	callers->entries[id].child_count = callers->entry_count - first_child;
	return 0;
}
