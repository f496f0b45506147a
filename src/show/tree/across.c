/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile's own values are carried up to the nodes or rows above them; then each of these that
 * was touched gets one value, the profile's sum there. See across.h.
 */
#include "across.h"

#include "format/database/statistics.h"
#include "lib/db/ranks.h"

struct pass {
	const struct sn_tree *tree;
	const bool *keep, *profiles;
	struct sn_tree_sets *across; /* [place * metric_count + position] */
	struct sn_db_ranks ranks;
	struct sn_arena arena;
	struct gathered {
		double *sums;	   /* [place] */
		bool *is_touched;  /* [place] */
		uint32_t *touched; /* those, in any order */
		uint32_t count;
	} profile, rank; /* of this profile, and of its rank so far */
	/* Adds a context's value to all places that it counts for. */
	void (*carry)(struct pass *pass, uint32_t context, double sum);
	const uint32_t *node_of;    /* of a tree */
	const struct sn_flat *flat; /* of a table */
	uint64_t *seen;		    /* [row]: the value that was added last */
	uint64_t value;		    /* which one it is, from 1 */
};

static void gather(struct gathered *gathered, uint32_t place, double sum)
{
	if (!gathered->is_touched[place])
		gathered->touched[gathered->count++] = place;
	gathered->is_touched[place] = true;
	gathered->sums[place] += sum;
}

static void add(struct pass *pass, uint32_t place, double sum)
{
	gather(&pass->profile, place, sum);
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

static struct sn_tree_sets *sets_at(struct pass *pass, uint32_t place, uint32_t position)
{
	return &pass->across[(size_t)place * pass->tree->metric_count + position];
}

static void add_profile(struct pass *pass, uint32_t profile, uint32_t position)
{
	struct sonde_db_plane plane =
	    sonde_db_profile_plane(pass->tree->db, profile, pass->tree->metrics[position]);
	struct gathered *own = &pass->profile;
	bool has_rank = pass->ranks.of_profile[profile] != SONDE_NONE;
	for (size_t i = 0; i < plane.count; i++)
		if (!pass->keep || pass->keep[plane.ids[i]])
			pass->carry(pass, plane.ids[i], sonde_db_plane_sum(&plane, i));
	for (uint32_t i = 0; i < own->count; i++) {
		uint32_t place = own->touched[i];
		sn_stat_add(&sets_at(pass, place, position)->profiles, own->sums[place]);
		if (has_rank)
			gather(&pass->rank, place, own->sums[place]);
		own->sums[place] = 0;
		own->is_touched[place] = false;
	}
	own->count = 0;
}

static void close_rank(struct pass *pass, uint32_t position)
{
	struct gathered *rank = &pass->rank;
	for (uint32_t i = 0; i < rank->count; i++) {
		uint32_t place = rank->touched[i];
		sn_stat_add(&sets_at(pass, place, position)->ranks, rank->sums[place]);
		rank->sums[place] = 0;
		rank->is_touched[place] = false;
	}
	rank->count = 0;
}

/* Profiles by rank, then those that have none. */
static void add_metric(struct pass *pass, uint32_t position)
{
	const struct sn_db_ranks *ranks = &pass->ranks;
	uint32_t count = sonde_db_profile_count(pass->tree->db);
	for (uint32_t i = 0; i < ranks->order_count; i++) {
		uint32_t profile = ranks->order[i];
		add_profile(pass, profile, position);
		if (i + 1 == ranks->order_count ||
		    ranks->of_profile[ranks->order[i + 1]] != ranks->of_profile[profile])
			close_rank(pass, position);
	}
	for (uint32_t p = 0; p < count; p++)
		if (ranks->of_profile[p] == SONDE_NONE && (!pass->profiles || pass->profiles[p]))
			add_profile(pass, p, position);
}

static int make_room(struct pass *pass, struct gathered *gathered, uint32_t places)
{
	gathered->sums = sn_arena_array(&pass->arena, double, places);
	gathered->is_touched = sn_arena_array(&pass->arena, bool, places);
	gathered->touched = sn_arena_array(&pass->arena, uint32_t, places);
	return pass->arena.failed ? SN_ERR_MEMORY : 0;
}

static int add_profiles(struct pass *pass, uint32_t places, struct sn_error *error)
{
	pass->seen = sn_arena_array(&pass->arena, uint64_t, pass->flat ? places : 0);
	int code = sn_db_ranks_init(&pass->ranks, pass->tree->db, pass->profiles);
	if (code || !pass->across || make_room(pass, &pass->profile, places) ||
	    make_room(pass, &pass->rank, places))
		code = sn_fail_memory(error);
	for (uint32_t m = 0; m < pass->tree->metric_count && code == 0; m++)
		add_metric(pass, m);
	sn_db_ranks_release(&pass->ranks);
	sn_arena_release(&pass->arena);
	return code;
}

/* Where each profile is compared by itself, the database has the sets. */
static bool are_profiles_compared(const struct sonde_db *db)
{
	struct sn_db_ranks ranks;
	bool is_so = sn_db_ranks_init(&ranks, db, NULL) == 0 && !ranks.are_ranks && ranks.are_all;
	sn_db_ranks_release(&ranks);
	return is_so;
}

static int use_summaries(struct sn_tree *tree, struct sn_error *error)
{
	for (uint32_t m = 0; m < tree->metric_count && tree->across; m++) {
		struct sonde_db_summary_plane plane =
		    sonde_db_summary_plane(tree->db, tree->metrics[m]);
		for (size_t i = 0; i < plane.count; i++) {
			struct sn_tree_sets *sets =
			    &tree->across[(size_t)plane.contexts[i] * tree->metric_count + m];
			sonde_db_summary_stat(&plane, i, SONDE_DB_ACROSS, &sets->profiles);
			sets->ranks = sets->profiles;
		}
	}
	return tree->across ? 0 : sn_fail_memory(error);
}

int sn_across_load(struct sn_tree *tree, const uint32_t *node_of, const bool *keep,
		   const bool *profiles, struct sn_error *error)
{
	tree->across = sn_arena_array(&tree->arena, struct sn_tree_sets,
				      (size_t)tree->node_count * tree->metric_count);
	struct pass pass = {.tree = tree,
			    .keep = keep,
			    .profiles = profiles,
			    .across = tree->across,
			    .carry = carry_to_nodes,
			    .node_of = node_of};
	return tree->grouping == SN_GROUP_INSTRUCTION && !keep && !profiles &&
		       are_profiles_compared(tree->db)
		   ? use_summaries(tree, error)
		   : add_profiles(&pass, tree->node_count, error);
}

int sn_across_compare(struct sn_flat *flat, const struct sn_tree *tree, const bool *keep,
		      const bool *profiles, struct sn_error *error)
{
	flat->across = sn_arena_array(&flat->arena, struct sn_tree_sets,
				      (size_t)flat->row_count * flat->metric_count);
	struct pass pass = {.tree = tree,
			    .keep = keep,
			    .profiles = profiles,
			    .across = flat->across,
			    .carry = carry_to_rows,
			    .flat = flat};
	return add_profiles(&pass, flat->row_count, error);
}
