/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derived metrics of a database: spreadsheet formulas over its metrics, as sonde-formula(7)
 * describes them. Library: libsonde-db.so (pkg-config sonde-db).
 *
 * A formula belongs to its database, which must stay open as long. Empty values (a division by
 * zero, nothing measured) are NaN. Failures are negative enum sonde_db_code. MT: all functions but
 * those that close it may be called by several threads at once on one formula or list.
 */
#ifndef SONDE_FORMULA_H
#define SONDE_FORMULA_H

#include "sonde/db.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_formula;

/*
 * Parses a formula, or the name of one: a predefined one or one stored in the database. 0 or a
 * negative code; then *position (may be NULL) is the byte of the text where the error was found.
 * *formula is set only on success; free it with sonde_formula_close.
 */
int sonde_formula_open(const struct sonde_db *db, const char *text, struct sonde_formula **formula,
		       struct sonde_db_error *error, size_t *position);
void sonde_formula_close(struct sonde_formula *formula);

/* "ns", "bytes", "bytes/s", "1", "ratio" (0.5 is 50 %), ...; "" unknown. The formula's. */
const char *sonde_formula_unit(const struct sonde_formula *formula);

/* At one context over all profiles. */
double sonde_formula_value(const struct sonde_formula *formula, uint32_t context,
			   bool is_exclusive);
/* At every context: values[sonde_db_context_count()]. */
void sonde_formula_values(const struct sonde_formula *formula, bool is_exclusive, double *values);

/*
 * For one profile, at every context: values[sonde_db_context_count()]. Statistics across profiles
 * have only this one. 0, or a negative code without memory or for an invalid profile; needs 80
 * bytes a context and metric.
 */
int sonde_formula_profile_values(const struct sonde_formula *formula, uint32_t profile,
				 bool is_exclusive, double *values);
/*
 * For every profile, at one context: values[sonde_db_profile_count()]; else as above. Inclusive
 * values cost as much as reading all descendants.
 */
int sonde_formula_context_values(const struct sonde_formula *formula, uint32_t context,
				 bool is_exclusive, double *values);

/* The named formulas: predefined ones whose metrics were measured, and those stored in the
 * database. The texts belong to the list. *list is set only on success; free it with
 * sonde_formula_list_close. */
struct sonde_formula_list;
int sonde_formula_list_open(const struct sonde_db *db, struct sonde_formula_list **list);
void sonde_formula_list_close(struct sonde_formula_list *list);
uint32_t sonde_formula_list_count(const struct sonde_formula_list *list);
struct sonde_formula_entry {
	const char *name, *text, *unit;
	const char *about; /* a description; "" for those of the database */
};
/* The entry `number`, below count. */
struct sonde_formula_entry sonde_formula_list_entry(const struct sonde_formula_list *list,
						    uint32_t number);

#ifdef __cplusplus
}
#endif
#endif
