/* SPDX-License-Identifier: Apache-2.0 */
/* A formula's text in the names of another program, which has metrics but no formulas by name. */
#ifndef SN_EXPORT_FORMULA_REWRITE_H
#define SN_EXPORT_FORMULA_REWRITE_H

#include "lib/db/formula.h"

/* What a metric is called elsewhere, where a value is the sum of those of its context. */
struct sn_formula_rename {
	const char *sum;   /* NULL: it is not there */
	const char *count; /* how many values there were, where that is a metric there; NULL: values
			      were single ones */
};
/*
 * The text of a known formula in the names of elsewhere, with the formulas that it uses in place of
 * their names. What was rewritten once does not change any more. 0, SN_ERR_UNSUPPORTED with the
 * reason ("it needs ...") where it would not mean the same there, or SN_ERR_MEMORY.
 */
int sn_formula_rewrite(const struct sn_formulas *known, uint32_t number,
		       const struct sn_formula_rename *renames, char *text, size_t size,
		       struct sn_error *error);

#endif
