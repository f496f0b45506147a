/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics and formulas that a user requests with --metric: names and definitions.
 */
#pragma once

#include "lib/db/formula.h"
#include "show/tree/view.h"

#include <stdint.h>

enum { SN_CHOICE_LISTS_MAX = 64 }; /* times that --metric may be given */

/* Call in order: init, add for each list and for the metric to sort by, finish. Release in any
 * case. */
struct sn_metric_choice {
	const struct sonde_db *db;
	struct sn_formulas known;
	/* Those shown, then further ones that the formulas need. */
	uint32_t metrics[SN_COLUMNS_MAX];
	uint32_t metric_count, hidden_count;
	const struct sn_formula *formulas[SN_FORMULAS_SHOWN_MAX];
	uint32_t formula_count;
};

/* All of these return 0, or SN_EXIT_FAILED after printing the error. */
int sn_choice_init(struct sn_metric_choice *choice, const struct sonde_db *db);
void sn_choice_release(struct sn_metric_choice *choice);
/* "NAME,NAME", each a metric, a formula's name or NAME=FORMULA. */
int sn_choice_add(struct sn_metric_choice *choice, const char *list);
/* Adds all metrics of the database, the most important first. */
void sn_choice_add_all(struct sn_metric_choice *choice);
/* Ensures that a metric comes first, which decides shares and order, and adds the metrics that
 * formulas need. */
int sn_choice_finish(struct sn_metric_choice *choice);

/* Stores NAME=FORMULA definitions, in their order, in a database that no other process has open,
 * and that messages call `name`. 0, or SN_EXIT_FAILED after printing the error. */
int sn_command_store_formulas(const char *path, const char *name, const char *const *definitions,
			      size_t count);

/* Prints that a text is not NAME=FORMULA, by a missing or invalid name. Returns SN_EXIT_FAILED. */
int sn_command_fail_definition(const char *text);
