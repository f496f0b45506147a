/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile's own values are carried up to the nodes above them; then each node that was touched
 * takes one value, the profile's sum there. See across.h.
 */
#include "across.h"

#include <stdlib.h>
#include <string.h>

struct pass {
	struct sn_tree *tree;
	const uint32_t *node_of;
	const bool *keep;
	double *sums;	   /* [node]: of this profile */
	bool *is_touched;  /* [node] */
	uint32_t *touched; /* those, in any order */
	uint32_t touched_count;
};

static struct sonde_db_stat *across_at(const struct sn_tree *tree, uint32_t node, uint32_t position)
{
	return &tree->across[(size_t)node * tree->metric_count + position];
}

static void take_summaries(struct sn_tree *tree, uint32_t position)
{
	struct sonde_db_summary_plane plane =
	    sonde_db_summary_plane(tree->db, tree->metrics[position]);
	for (size_t i = 0; i < plane.count; i++)
		sonde_db_summary_stat(&plane, i, SONDE_DB_ACROSS,
				      across_at(tree, plane.contexts[i], position));
}

static void touch(struct pass *pass, uint32_t context, double sum)
{
	if (pass->keep && !pass->keep[context])
		return;
	for (uint32_t node = pass->node_of[context];; node = pass->tree->nodes[node].parent) {
		if (!pass->is_touched[node]) {
			pass->is_touched[node] = true;
			pass->touched[pass->touched_count++] = node;
		}
		pass->sums[node] += sum;
		if (node == 0)
			break;
	}
}

static void add_profile(struct pass *pass, uint32_t profile, uint32_t position)
{
	struct sonde_db_plane plane =
	    sonde_db_profile_plane(pass->tree->db, profile, pass->tree->metrics[position]);
	for (size_t i = 0; i < plane.count; i++)
		touch(pass, plane.ids[i], sonde_db_plane_sum(&plane, i));
	for (uint32_t i = 0; i < pass->touched_count; i++) {
		uint32_t node = pass->touched[i];
		double sum = pass->sums[node];
		struct sonde_db_stat one = {1, sum, sum, sum, sum * sum};
		sonde_db_stat_merge(across_at(pass->tree, node, position), &one);
		pass->sums[node] = 0;
		pass->is_touched[node] = false;
	}
	pass->touched_count = 0;
}

static int add_profiles(struct pass *pass, const bool *profiles)
{
	struct sn_tree *tree = pass->tree;
	pass->sums = calloc(tree->node_count, sizeof(*pass->sums));
	pass->is_touched = calloc(tree->node_count, sizeof(*pass->is_touched));
	pass->touched = malloc(tree->node_count * sizeof(*pass->touched));
	bool has_memory = pass->sums && pass->is_touched && pass->touched;
	uint32_t count = sonde_db_profile_count(tree->db);
	for (uint32_t m = 0; has_memory && m < tree->metric_count; m++)
		for (uint32_t p = 0; p < count; p++)
			if (!profiles || profiles[p])
				add_profile(pass, p, m);
	free(pass->sums);
	free(pass->is_touched);
	free(pass->touched);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

int sn_across_load(struct sn_tree *tree, const uint32_t *node_of, const bool *keep,
		   const bool *profiles, struct sn_error *error)
{
	size_t count = (size_t)tree->node_count * tree->metric_count;
	struct pass pass = {.tree = tree, .node_of = node_of, .keep = keep};
	tree->across = calloc(count + 1, sizeof(*tree->across));
	int code = tree->across ? 0 : SN_ERR_MEMORY;
	if (code == 0 && tree->grouping == SN_GROUP_INSTRUCTION && !keep && !profiles)
		for (uint32_t m = 0; m < tree->metric_count; m++)
			take_summaries(tree, m);
	else if (code == 0)
		code = add_profiles(&pass, profiles);
	return code ? sn_fail(error, SN_ERR_MEMORY, "out of memory") : 0;
}
