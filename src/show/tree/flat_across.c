/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How profiles differ at the rows of a table: of each profile what it has at the contexts of a row
 * and below them, each cost once however they nest, then statistics of these sums. See flat.h.
 */
#include "flat.h"

#include <stdlib.h>
#include <string.h>

struct pass {
	struct sn_flat *flat;
	const struct sonde_db *db;
	const bool *keep;
	double *sums;	   /* [row]: of this profile */
	uint64_t *seen;	   /* [row]: the value that was added last */
	uint64_t value;	   /* which one it is, from 1 */
	bool *is_touched;  /* [row]: by this profile */
	uint32_t *touched; /* those, in any order */
	uint32_t touched_count;
};

static void touch(struct pass *pass, uint32_t context, double sum)
{
	pass->value++;
	for (;; context = sonde_db_context(pass->db, context)->parent) {
		uint32_t row = pass->flat->row_of_frame[sonde_db_context(pass->db, context)->frame];
		if (row != SONDE_NONE && pass->seen[row] != pass->value) {
			pass->seen[row] = pass->value;
			if (!pass->is_touched[row])
				pass->touched[pass->touched_count++] = row;
			pass->is_touched[row] = true;
			pass->sums[row] += sum;
		}
		if (context == 0)
			break;
	}
}

static void add_profile(struct pass *pass, uint32_t profile, uint32_t metric, uint32_t position)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(pass->db, profile, metric);
	for (size_t i = 0; i < plane.count; i++)
		if (!pass->keep || pass->keep[plane.ids[i]])
			touch(pass, plane.ids[i], sonde_db_plane_sum(&plane, i));
	for (uint32_t i = 0; i < pass->touched_count; i++) {
		uint32_t row = pass->touched[i];
		double sum = pass->sums[row];
		struct sonde_db_stat one = {1, sum, sum, sum, sum * sum};
		sonde_db_stat_merge(
		    &pass->flat->across[(size_t)row * pass->flat->metric_count + position], &one);
		pass->sums[row] = 0;
		pass->is_touched[row] = false;
	}
	pass->touched_count = 0;
}

int sn_flat_compare(struct sn_flat *flat, const struct sn_tree *tree, const bool *keep,
		    const bool *profiles, struct sn_error *error)
{
	size_t rows = (size_t)flat->row_count + 1;
	struct pass pass = {.flat = flat,
			    .db = tree->db,
			    .keep = keep,
			    .sums = calloc(rows, sizeof(*pass.sums)),
			    .seen = calloc(rows, sizeof(*pass.seen)),
			    .is_touched = calloc(rows, sizeof(*pass.is_touched)),
			    .touched = malloc(rows * sizeof(*pass.touched))};
	flat->across = calloc(rows * (flat->metric_count + 1), sizeof(*flat->across));
	bool has_memory = pass.sums && pass.seen && pass.is_touched && pass.touched && flat->across;
	for (uint32_t m = 0; has_memory && m < flat->metric_count; m++)
		for (uint32_t p = 0; p < sonde_db_profile_count(tree->db); p++)
			if (!profiles || profiles[p])
				add_profile(&pass, p, tree->metrics[m], m);
	free(pass.sums);
	free(pass.seen);
	free(pass.is_touched);
	free(pass.touched);
	return has_memory ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
}
