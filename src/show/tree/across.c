/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile's own values are carried up to the nodes or rows above them; then each of these that
 * was touched gets one value, the profile's sum there. See across.h.
 */
#include "across.h"

struct pass {
	const struct sn_tree *tree;
	const bool *keep, *profiles;
	struct sonde_db_stat *across; /* [place * metric_count + position] */
	struct sn_arena arena;
	double *sums;	   /* [place]: of this profile */
	bool *is_touched;  /* [place] */
	uint32_t *touched; /* those, in any order */
	uint32_t touched_count;
	/* Adds a context's value to all places that it counts for. */
	void (*carry)(struct pass *pass, uint32_t context, double sum);
	const uint32_t *node_of;    /* of a tree */
	const struct sn_flat *flat; /* of a table */
	uint64_t *seen;		    /* [row]: the value that was added last */
	uint64_t value;		    /* which one it is, from 1 */
};

static void add(struct pass *pass, uint32_t place, double sum)
{
	if (!pass->is_touched[place])
		pass->touched[pass->touched_count++] = place;
	pass->is_touched[place] = true;
	pass->sums[place] += sum;
}

static void carry_to_nodes(struct pass *pass, uint32_t context, double sum)
{
	uint32_t node = pass->node_of[context];
	add(pass, node, sum);
	while (node != 0)
		add(pass, node = pass->tree->nodes[node].parent, sum);
}

/* A cost counts once for a row, however its contexts nest. */
static void carry_to_rows(struct pass *pass, uint32_t context, double sum)
{
	const struct sonde_db *db = pass->tree->db;
	pass->value++;
	for (;; context = sonde_db_context(db, context)->parent) {
		uint32_t row = pass->flat->row_of_frame[sonde_db_context(db, context)->frame];
		if (row != SONDE_NONE && pass->seen[row] != pass->value) {
			pass->seen[row] = pass->value;
			add(pass, row, sum);
		}
		if (context == 0)
			break;
	}
}

static void add_profile(struct pass *pass, uint32_t profile, uint32_t position)
{
	struct sonde_db_plane plane =
	    sonde_db_profile_plane(pass->tree->db, profile, pass->tree->metrics[position]);
	for (size_t i = 0; i < plane.count; i++)
		if (!pass->keep || pass->keep[plane.ids[i]])
			pass->carry(pass, plane.ids[i], sonde_db_plane_sum(&plane, i));
	for (uint32_t i = 0; i < pass->touched_count; i++) {
		uint32_t place = pass->touched[i];
		struct sonde_db_stat one = sn_stat_of(pass->sums[place]);
		sonde_db_stat_merge(
		    &pass->across[(size_t)place * pass->tree->metric_count + position], &one);
		pass->sums[place] = 0;
		pass->is_touched[place] = false;
	}
	pass->touched_count = 0;
}

static int add_profiles(struct pass *pass, uint32_t places, struct sn_error *error)
{
	pass->sums = sn_arena_array(&pass->arena, double, places);
	pass->is_touched = sn_arena_array(&pass->arena, bool, places);
	pass->touched = sn_arena_array(&pass->arena, uint32_t, places);
	pass->seen = sn_arena_array(&pass->arena, uint64_t, pass->flat ? places : 0);
	int code = pass->arena.failed || !pass->across ? sn_fail_memory(error) : 0;
	uint32_t count = sonde_db_profile_count(pass->tree->db);
	for (uint32_t m = 0; m < pass->tree->metric_count && code == 0; m++)
		for (uint32_t p = 0; p < count; p++)
			if (!pass->profiles || pass->profiles[p])
				add_profile(pass, p, m);
	sn_arena_release(&pass->arena);
	return code;
}

static int use_summaries(struct sn_tree *tree, struct sn_error *error)
{
	for (uint32_t m = 0; m < tree->metric_count && tree->across; m++) {
		struct sonde_db_summary_plane plane =
		    sonde_db_summary_plane(tree->db, tree->metrics[m]);
		for (size_t i = 0; i < plane.count; i++)
			sonde_db_summary_stat(
			    &plane, i, SONDE_DB_ACROSS,
			    &tree->across[(size_t)plane.contexts[i] * tree->metric_count + m]);
	}
	return tree->across ? 0 : sn_fail_memory(error);
}

int sn_across_load(struct sn_tree *tree, const uint32_t *node_of, const bool *keep,
		   const bool *profiles, struct sn_error *error)
{
	tree->across = sn_arena_array(&tree->arena, struct sonde_db_stat,
				      (size_t)tree->node_count * tree->metric_count);
	struct pass pass = {.tree = tree,
			    .keep = keep,
			    .profiles = profiles,
			    .across = tree->across,
			    .carry = carry_to_nodes,
			    .node_of = node_of};
	return tree->grouping == SN_GROUP_INSTRUCTION && !keep && !profiles
		   ? use_summaries(tree, error)
		   : add_profiles(&pass, tree->node_count, error);
}

int sn_across_compare(struct sn_flat *flat, const struct sn_tree *tree, const bool *keep,
		      const bool *profiles, struct sn_error *error)
{
	flat->across = sn_arena_array(&flat->arena, struct sonde_db_stat,
				      (size_t)flat->row_count * flat->metric_count);
	struct pass pass = {.tree = tree,
			    .keep = keep,
			    .profiles = profiles,
			    .across = flat->across,
			    .carry = carry_to_rows,
			    .flat = flat};
	return add_profiles(&pass, flat->row_count, error);
}
