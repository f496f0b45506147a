/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases side by side: what each has of the same function, image or program. Rows of several databases are the same row if they have the same name: of a function its own and its image's file name, so
 * that a program is compared with itself where it was rebuilt or lies elsewhere; of a Python function its name and its file's. Code without a symbol is named by where it begins, and is the same row in the same build only.
 *
 * Values are exclusive, the metric's own sums. Databases are added one after the other and may be closed then.
 *
 *	struct sn_compare_rows rows = {.by = SN_COMPARE_FUNCTION};
 *	result = sn_compare_add(&rows, db, metric, "first.sdb", &error);
 *	...
 *	sn_compare_rows_release(&rows);
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "sonde/db.h"

#include <stdbool.h>
#include <stdint.h>

enum sn_compare_by { SN_COMPARE_FUNCTION, SN_COMPARE_MODULE, SN_COMPARE_PROGRAM };

struct sn_compare_cell {
	double value; /* of the metric */
	double count; /* of samples, as they were taken, or of what else is measured */
	double
	    samples; /* so many of equal weight have the same relative noise; 0 if values are no samples */
	double squares; /* sum of the squares of the samples' weights */
};

struct sn_compare_row {
	const char *name, *place; /* place: "" for none */
};

struct sn_compare_set {
	const char *name;
	struct sn_compare_cell *cells; /* by row; those of later rows are missing */
	uint32_t cell_count;
	struct sn_compare_cell all;
	double duration_ns; /* that was measured; 0 unknown */
};

/* All zeroes but for `by` is empty. */
struct sn_compare_rows {
	enum sn_compare_by by;
	bool is_sampled; /* values are of samples, so that their noise is known */
	struct sn_compare_row *rows;
	struct sn_compare_set *sets;
	size_t row_capacity, set_capacity, set_count;
	uint32_t row_count;
	struct sn_intern keys;
	struct sn_arena texts;
};

/* 0 or a negative enum sn_err. */
int sn_compare_add(struct sn_compare_rows *rows, const struct sonde_db *db, uint32_t metric,
		   const char *name, struct sn_error *error);
void sn_compare_rows_release(struct sn_compare_rows *rows);

/* What a set has of a row; of SONDE_NONE: of all. */
struct sn_compare_cell sn_compare_at(const struct sn_compare_rows *rows, size_t set, uint32_t row);
