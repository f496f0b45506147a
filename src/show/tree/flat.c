/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the tree in pre-order; see flat.h. A group is open until the end of the subtree in
 * which it was first met, and what is met inside is a recursion, whose inclusive value is already
 * in.
 */
#include "flat.h"

#include <stdlib.h>
#include <string.h>

struct pass {
	struct sn_flat *flat;
	const struct sn_tree *tree;
	const struct sn_groups *groups;
	uint32_t *row_of;     /* [group] */
	uint32_t *open_until; /* [row] */
	uint32_t *owner;      /* [node]: the row its exclusive cost belongs to */
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
	if (group != SONDE_NONE) {
		row = row_for(pass, group, frame);
		bool is_outermost = node >= pass->open_until[row];
		if (is_outermost)
			pass->open_until[row] = tree->nodes[node].end;
		for (uint32_t m = 0; is_outermost && m < tree->metric_count; m++)
			sonde_db_stat_merge(&flat->values[m][row].inclusive,
					    &tree->values[m][node].inclusive);
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

static int allocate(struct pass *pass)
{
	struct sn_flat *flat = pass->flat;
	uint32_t groups = pass->groups->count, metrics = pass->tree->metric_count;
	flat->frames = malloc((groups + 1) * sizeof(*flat->frames));
	flat->values = calloc(metrics + 1, sizeof(*flat->values));
	flat->outside = calloc(metrics + 1, sizeof(*flat->outside));
	pass->row_of = malloc((groups + 1) * sizeof(*pass->row_of));
	pass->open_until = calloc(groups + 1, sizeof(*pass->open_until));
	pass->owner = malloc(pass->tree->node_count * sizeof(*pass->owner));
	flat->row_of_frame =
	    malloc((sonde_db_frame_count(pass->tree->db) + 1ull) * sizeof(*flat->row_of_frame));
	if (!flat->row_of_frame || !flat->frames || !flat->values || !flat->outside ||
	    !pass->row_of || !pass->open_until || !pass->owner)
		return SN_ERR_MEMORY;
	memset(pass->row_of, 0xff, (groups + 1) * sizeof(*pass->row_of));
	for (; flat->metric_count < metrics; flat->metric_count++) {
		flat->values[flat->metric_count] = calloc(groups + 1, sizeof(**flat->values));
		if (!flat->values[flat->metric_count])
			return SN_ERR_MEMORY;
	}
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
	if (allocate(&pass) != 0) {
		sn_flat_release(flat);
		code = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	} else {
		for (uint32_t node = 0; node < tree->node_count; node++)
			visit(&pass, node);
		drop_empty_rows(&pass);
	}
	free(pass.row_of);
	free(pass.open_until);
	free(pass.owner);
	sn_groups_release(&groups);
	return code;
}

void sn_flat_release(struct sn_flat *flat)
{
	for (uint32_t m = 0; flat->values && m < flat->metric_count; m++)
		free(flat->values[m]);
	free(flat->values);
	free(flat->frames);
	free(flat->outside);
	free(flat->row_of_frame);
	free(flat->across);
	*flat = (struct sn_flat){0};
}
