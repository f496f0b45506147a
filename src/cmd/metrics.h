/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics and formulas that a user asks for with --metric: names and definitions. */
#ifndef SN_CMD_METRICS_H
#define SN_CMD_METRICS_H

#include "lib/db/formula.h"
#include "show/tree/view.h"

#include <stdint.h>

enum { SN_CHOICE_LISTS_MAX = 64 }; /* times that --metric may be given */

/* Filled in order: take each list, maybe the metric to sort by, finish. Release in any case. */
struct sn_metric_choice {
	const struct sonde_db *db;
	struct sn_formulas known;
	/* Those shown, then those that the formulas need besides. */
	uint32_t metrics[SN_COLUMNS_MAX];
	uint32_t metric_count, hidden_count;
	const struct sn_formula *formulas[SN_FORMULAS_SHOWN_MAX];
	uint32_t formula_count;
};

/* All of these print what is wrong and return SN_EXIT_FAILED, or 0. */
int sn_choice_init(struct sn_metric_choice *choice, const struct sonde_db *db);
void sn_choice_release(struct sn_metric_choice *choice);
/* "NAME,NAME", each a metric, a formula's name or NAME=FORMULA. */
int sn_choice_add(struct sn_metric_choice *choice, const char *list);
/* All metrics of the database, the most telling first. */
void sn_choice_add_all(struct sn_metric_choice *choice);
/* Makes sure that a metric comes first, which decides shares and order, and that formulas have what
 * they need. */
int sn_choice_finish(struct sn_metric_choice *choice);

/* Stores NAME=FORMULA definitions, in their order, in a database that nobody else has open, which
 * messages call `name`. Prints what is wrong and returns SN_EXIT_FAILED, else 0. */
int sn_command_store_formulas(const char *path, const char *name, const char *const *definitions,
			      size_t count);

/* Says what is wrong in a formula, the text near it below, and a mark under the place. Returns
 * SN_EXIT_FAILED. */
int sn_command_fail_formula(const char *name, const char *text, size_t position, const char *why);
/* The same of a text that is not NAME=FORMULA: it has no name, or none that can be one. */
int sn_command_fail_definition(const char *text);

#endif
