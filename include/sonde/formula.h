/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derived metrics of a database: spreadsheet formulas over its metrics, as sonde-formula(7)
 * describes them. Library: libsonde-db.so (pkg-config sonde-db).
 *
 * A formula belongs to the database that it was opened for, which must stay open as long. Values
 * that are empty (a division by zero, nothing measured) are NaN. Failures are negative enum
 * sonde_db_code. MT: all functions may be called by several threads at once on one formula or list,
 * but for those that close it.
 */
#ifndef SONDE_FORMULA_H
#define SONDE_FORMULA_H

#include "sonde/db.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_formula;

/*
 * Reads a formula, or the name of one: of those that come with Sonde and of those that the database
 * holds. 0 or a negative code; then *position (may be NULL) is the byte of the text where the
 * mistake was noticed. *formula is set only on success; free it with sonde_formula_close.
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
 * Of one profile, at every context: values[sonde_db_context_count()]. What is across profiles is
 * across this one alone. 0, or a negative code where memory is short or there is no such profile;
 * needs 80 bytes a context and metric.
 */
int sonde_formula_profile_values(const struct sonde_formula *formula, uint32_t profile,
				 bool is_exclusive, double *values);
/*
 * Of every profile, at one context: values[sonde_db_profile_count()]; else as above. Inclusive
 * values cost as much as reading all below the context.
 */
int sonde_formula_context_values(const struct sonde_formula *formula, uint32_t context,
				 bool is_exclusive, double *values);

/* The formulas that have names: those that come with Sonde whose metrics were measured, and those
 * that the database holds. The texts are the list's. *list is set only on success; free it with
 * sonde_formula_list_close. */
struct sonde_formula_list;
int sonde_formula_list_open(const struct sonde_db *db, struct sonde_formula_list **list);
void sonde_formula_list_close(struct sonde_formula_list *list);
uint32_t sonde_formula_list_count(const struct sonde_formula_list *list);
struct sonde_formula_entry {
	const char *name, *text, *unit;
	const char *about; /* what it is, for people; "" of those that the database holds */
};
/* Of number < count. */
struct sonde_formula_entry sonde_formula_list_entry(const struct sonde_formula_list *list,
						    uint32_t number);

#ifdef __cplusplus
}
#endif
#endif
