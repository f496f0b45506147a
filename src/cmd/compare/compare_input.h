/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde stats` and `sonde diff` read: databases, stores, and ranges of a store, as sets of rows (compare/rows.h). */
#pragma once

#include "cmd/command.h"
#include "compare/rows.h"
#include "import/epochs/epochs.h"

struct sn_compare_input {
	struct sn_compare_rows rows;
	const char
	    *metric; /* asked for; NULL: CPU time or the best substitute, of the first database */
	char metric_name[256], unit[64]; /* of what was read */
};

/* --by: "module" as reports have it, and "image" for the same. */
#define SN_COMPARE_BY(variable) SN_OPTION_CHOICE(variable, "function", "module", "program", "image")
enum sn_compare_by sn_compare_by_of(int choice);

/* Adds a database, or all of a store within --since and --until. 0, or an exit status after printing the reason, as are these. */
int sn_compare_input_add(struct sn_compare_input *input, const char *path);
/* Adds a range of a store under that name. *is_empty: nothing was sampled then, and nothing is added; NULL: that is a failure, too. */
int sn_compare_input_add_range(struct sn_compare_input *input, const char *path,
			       const struct sn_epochs_wanted *wanted, const char *name,
			       bool *is_empty);
void sn_compare_input_release(struct sn_compare_input *input);
