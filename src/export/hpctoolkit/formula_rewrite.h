/* SPDX-License-Identifier: Apache-2.0 */
/* A formula's text in the names of another program, which has metrics but no formulas by name. */
#pragma once

#include "lib/db/formula.h"

/* The names of a metric in another program, where a value is the sum of those of its context. */
struct sn_formula_rename {
	const char *sum; /* NULL: none */
	const char *
	    count; /* of the number of values, if that is a metric there; NULL: values were single ones */
};
/*
 * The text of a known formula in the other program's names, with the formulas that it uses
 * expanded. Rewriting again changes nothing. 0, SN_ERR_UNSUPPORTED with the reason ("it needs ...")
 * if its meaning would differ there, or SN_ERR_MEMORY.
 */
int sn_formula_rewrite(const struct sn_formulas *known, uint32_t number,
		       const struct sn_formula_rename *renames, char *text, size_t size,
		       struct sn_error *error);
