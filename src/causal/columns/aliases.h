/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that say the same under two names: a time in two units, a counter and its rate. */
#pragma once

#include "causal/prepare.h"

/* Above that two columns are one; of the ranks, so that any rising function of a column is the same. */
#define SN_ALIAS_CORRELATION 0.999

struct sn_alias {
	uint32_t of; /* the variable that stands for this one; itself: none does */
	double
	    correlation; /* with it; NAN: of categories, whose levels are the same by other names */
};

/*
 * Of each prepared variable the one that stands for it. The first in `order`, which has all, stands for those that are the same as itself, then
 * the next one that no other stands for; whoever is the same as a variable with a representative alone is not in that cluster. 0 or
 * SN_ERR_MEMORY.
 */
int sn_aliases_find(const struct sn_prepared *prepared, const struct sn_causal_table *table,
		    const uint32_t *order, struct sn_alias *aliases);
