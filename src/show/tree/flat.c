/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the tree in pre-order; see flat.h. A group is open until the end of the subtree in
 * which it was first met, and what is met inside is a recursion, whose inclusive value is already
 * in.
 */
#include "flat.h"

#include <string.h>

struct pass {
	struct sn_flat *flat;
	const struct sn_tree *tree;
	const struct sn_groups *groups;
	uint32_t *row_of;     /* [group] */
	uint32_t *open_until; /* [row] */
	uint32_t *owner;      /* [node]: the row its exclusive cost belongs to */
	struct sn_arena arena;
};

static uint32_t row_for(struct pass *pass, uint32_t group, uint32_t frame)
{
	if (pass->row_of[group] == SONDE_NONE) {
		uint32_t row = pass->flat->row_count++;
		pass->row_of[group] = row;
		pass->flat->frames[row] = frame;
	}
	return pass->row_of[group];
}

static void visit(struct pass *pass, uint32_t node)
{
	const struct sn_tree *tree = pass->tree;
	struct sn_flat *flat = pass->flat;
	uint32_t frame = tree->nodes[node].frame, group = pass->groups->of_frame[frame];
	uint32_t row = node == 0 ? SONDE_NONE : pass->owner[tree->nodes[node].parent];
	/* what is called in a file calls others there: a call would count within another */
	bool is_called = pass->groups->grouping != SN_GROUP_FILE &&
			 pass->groups->grouping != SN_GROUP_MODULE &&
			 pass->groups->grouping != SN_GROUP_KIND;
	if (group != SONDE_NONE) {
		row = row_for(pass, group, frame);
		bool is_outermost = node >= pass->open_until[row];
		if (is_outermost)
			pass->open_until[row] = tree->nodes[node].end;
		for (uint32_t m = 0; is_outermost && m < tree->metric_count; m++)
			sonde_db_stat_merge(&flat->values[m][row].inclusive,
					    &tree->values[m][node].inclusive);
		for (uint32_t m = 0; is_called && m < tree->metric_count; m++)
			sn_value_add_calls(&flat->values[m][row], &tree->values[m][node]);
	}
	pass->owner[node] = row;
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		struct sonde_db_stat *to =
		    row == SONDE_NONE ? &flat->outside[m] : &flat->values[m][row].exclusive;
		sonde_db_stat_merge(to, &tree->values[m][node].exclusive);
	}
}

static bool is_empty(const struct sn_flat *flat, uint32_t row)
{
	for (uint32_t m = 0; m < flat->metric_count; m++)
		if (flat->values[m][row].inclusive.count > 0)
			return false;
	return true;
}

static void drop_empty_rows(struct pass *pass)
{
	struct sn_flat *flat = pass->flat;
	uint32_t kept = 0;
	for (uint32_t row = 0; row < flat->row_count; row++) {
		uint32_t group = pass->groups->of_frame[flat->frames[row]];
		pass->row_of[group] = SONDE_NONE;
		if (is_empty(flat, row))
			continue;
		pass->row_of[group] = kept;
		flat->frames[kept] = flat->frames[row];
		for (uint32_t m = 0; m < flat->metric_count; m++)
			flat->values[m][kept] = flat->values[m][row];
		kept++;
	}
	flat->row_count = kept;
	for (uint32_t f = 0; f < sonde_db_frame_count(pass->tree->db); f++) {
		uint32_t group = pass->groups->of_frame[f];
		flat->row_of_frame[f] = group == SONDE_NONE ? SONDE_NONE : pass->row_of[group];
	}
}

static int make_room_for_calls(struct pass *pass, uint32_t position)
{
	uint32_t groups = pass->groups->count;
	struct sn_tree_value *values = pass->flat->values[position];
	struct sonde_db_stat *calls =
	    sn_arena_array(&pass->flat->arena, struct sonde_db_stat, groups);
	if (!values || !calls)
		return SN_ERR_MEMORY;
	for (uint32_t row = 0; row < groups; row++)
		values[row].calls = calls + row;
	return 0;
}

static int allocate(struct pass *pass)
{
	struct sn_flat *flat = pass->flat;
	struct sn_arena *kept = &flat->arena;
	uint32_t groups = pass->groups->count;
	flat->metric_count = pass->tree->metric_count;
	flat->frames = sn_arena_array(kept, uint32_t, groups);
	flat->values = sn_arena_array(kept, struct sn_tree_value *, flat->metric_count);
	flat->outside = sn_arena_array(kept, struct sonde_db_stat, flat->metric_count);
	flat->row_of_frame = sn_arena_array(kept, uint32_t, sonde_db_frame_count(pass->tree->db));
	for (uint32_t m = 0; m < flat->metric_count && flat->values && !kept->failed; m++) {
		flat->values[m] = sn_arena_array(kept, struct sn_tree_value, groups);
		if (pass->tree->values[m][0].calls && make_room_for_calls(pass, m))
			return SN_ERR_MEMORY;
	}
	pass->row_of = sn_arena_array(&pass->arena, uint32_t, groups);
	pass->open_until = sn_arena_array(&pass->arena, uint32_t, groups);
	pass->owner = sn_arena_array(&pass->arena, uint32_t, pass->tree->node_count);
	if (kept->failed || pass->arena.failed)
		return SN_ERR_MEMORY;
	memset(pass->row_of, 0xff, groups * sizeof(*pass->row_of));
	return 0;
}

int sn_flat_init(struct sn_flat *flat, const struct sn_tree *tree, enum sn_grouping grouping,
		 struct sn_error *error)
{
	struct sn_groups groups;
	*flat = (struct sn_flat){0};
	int code = sn_groups_init(&groups, tree->db, grouping, error);
	if (code != 0)
		return code;
	struct pass pass = {.flat = flat, .tree = tree, .groups = &groups};
	code = allocate(&pass);
	for (uint32_t node = 0; node < tree->node_count && code == 0; node++)
		visit(&pass, node);
	if (code == 0)
		drop_empty_rows(&pass);
	else
		sn_flat_release(flat);
	sn_arena_release(&pass.arena);
	sn_groups_release(&groups);
	return sn_fail_code(error, code);
}

void sn_flat_release(struct sn_flat *flat)
{
	sn_arena_release(&flat->arena);
	*flat = (struct sn_flat){0};
}
