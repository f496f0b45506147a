/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of columns that are one; see aliases.h. */
#include "aliases.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "causal/correlations.h"

#include <math.h>

/* ---- numbers ---- */

/* The numeric variables' values, one after another, and which variables they are. */
static uint32_t gather(const struct sn_prepared *prepared, double *values, uint32_t *variables)
{
	uint32_t count = 0;
	for (uint32_t variable = 0; variable < prepared->count; variable++) {
		if (!prepared->is_ordered[variable])
			continue;
		memcpy(values + count * prepared->rows,
		       prepared->values + prepared->first[variable] * prepared->rows,
		       prepared->rows * sizeof(*values));
		variables[count++] = variable;
	}
	return count;
}

struct by_place {
	const uint32_t *places, *variables;
};

/* Whoever comes first in the order comes first in the pair. */
static void turn(struct sn_correlated_pair *pairs, size_t count, const struct by_place *by)
{
	for (size_t number = 0; number < count; number++) {
		uint32_t a = by->variables[pairs[number].a], b = by->variables[pairs[number].b];
		bool is_first = by->places[a] < by->places[b];
		pairs[number].a = is_first ? a : b;
		pairs[number].b = is_first ? b : a;
	}
}

SN_SORT_BY(sort_by_place, struct sn_correlated_pair, const uint32_t *,
	   SN_ORDER(of[a->a], of[b->a]) ?: SN_ORDER(of[a->b], of[b->b]));

static int find_numbers(const struct sn_prepared *prepared, const uint32_t *places,
			struct sn_alias *aliases)
{
	double *values = malloc(prepared->count * prepared->rows * sizeof(*values) + 1);
	uint32_t *variables = malloc((prepared->count + 1) * sizeof(*variables));
	struct sn_correlated_pair *pairs = NULL;
	size_t count = 0;
	int result = values && variables ? 0 : SN_ERR_MEMORY;
	if (!result)
		result = sn_correlated_pairs(values, gather(prepared, values, variables),
					     prepared->rows, SN_ALIAS_CORRELATION, &pairs, &count);
	turn(pairs, count, &(struct by_place){places, variables});
	sort_by_place(pairs, count, places);
	for (size_t number = 0; number < count; number++) {
		const struct sn_correlated_pair *pair = &pairs[number];
		if (aliases[pair->a].of == pair->a && aliases[pair->b].of == pair->b)
			aliases[pair->b] = (struct sn_alias){pair->a, pair->correlation};
	}
	free(values);
	free(variables);
	free(pairs);
	return result;
}

/* ---- categories ---- */

/* The levels of a column, numbered in the order in which they first come among the rows: of two columns that differ in names alone these are
 * equal. */
static void number_levels(const struct sn_causal_column *column, const uint32_t *rows, size_t count,
			  uint8_t *numbers)
{
	uint16_t number_of[256] = {0}, next = 1;
	for (size_t row = 0; row < count; row++) {
		unsigned level = (unsigned)column->values[rows[row]];
		if (!number_of[level])
			number_of[level] = next++;
		numbers[row] = (uint8_t)number_of[level];
	}
}

static int find_categories(const struct sn_prepared *prepared, const struct sn_causal_table *table,
			   const uint32_t *order, struct sn_alias *aliases)
{
	struct sn_intern seen = {0};
	uint32_t *first = malloc((prepared->count + 1) * sizeof(*first));
	uint8_t *numbers = malloc(prepared->rows + 1);
	int result = first && numbers ? 0 : SN_ERR_MEMORY;
	for (uint32_t place = 0; !result && place < prepared->count; place++) {
		uint32_t variable = order[place], before = seen.count;
		if (prepared->is_ordered[variable])
			continue;
		number_levels(&table->columns[prepared->columns[variable]], prepared->kept_rows,
			      prepared->rows, numbers);
		uint32_t number = sn_intern_add(&seen, numbers, prepared->rows);
		if (number == SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
		else if (number == before)
			first[number] = variable;
		else
			aliases[variable] = (struct sn_alias){first[number], NAN};
	}
	sn_intern_release(&seen);
	free(first);
	free(numbers);
	return result;
}

int sn_aliases_find(const struct sn_prepared *prepared, const struct sn_causal_table *table,
		    const uint32_t *order, struct sn_alias *aliases)
{
	uint32_t *places = malloc((prepared->count + 1) * sizeof(*places));
	int result = places ? 0 : SN_ERR_MEMORY;
	for (uint32_t place = 0; !result && place < prepared->count; place++) {
		places[order[place]] = place;
		aliases[place].of = place;
	}
	result = result ? result : find_numbers(prepared, places, aliases);
	result = result ? result : find_categories(prepared, table, order, aliases);
	free(places);
	return result;
}
