/* SPDX-License-Identifier: Apache-2.0 */
/* BDeu; see discrete_score.h. */
#include "discrete_score.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More cells than so many hold next to nothing each. */
#define CELLS_MOST (1u << 20)

int sn_discrete_score_init(struct sn_discrete_score *score, const struct sn_discrete_table *table)
{
	*score = (struct sn_discrete_score){.table = table, .sample_size = 1};
	score->cells = malloc(CELLS_MOST * sizeof(*score->cells));
	score->places = malloc((table->rows + 1) * sizeof(*score->places));
	return score->cells && score->places ? 0 : SN_ERR_MEMORY;
}

void sn_discrete_score_release(struct sn_discrete_score *score)
{
	free(score->cells);
	free(score->places);
	*score = (struct sn_discrete_score){0};
}

/* The number of combinations of the causes' values; 0 where they and the variable's have too many cells. */
static uint32_t combinations(const struct sn_discrete_table *table, uint32_t variable,
			     const uint32_t *parents, uint32_t count)
{
	uint64_t all = 1, most = CELLS_MOST / table->levels[variable];
	for (uint32_t parent = 0; parent < count && all <= most; parent++)
		all *= table->levels[parents[parent]];
	return all <= most ? (uint32_t)all : 0;
}

static void count_rows(struct sn_discrete_score *score, uint32_t variable, const uint32_t *parents,
		       uint32_t count, size_t cells)
{
	const struct sn_discrete_table *table = score->table;
	const uint8_t *own = table->values[variable];
	uint32_t levels = table->levels[variable];
	memset(score->cells, 0, cells * sizeof(*score->cells));
	memset(score->places, 0, table->rows * sizeof(*score->places));
	for (uint32_t parent = 0; parent < count; parent++) {
		const uint8_t *values = table->values[parents[parent]];
		uint32_t times = table->levels[parents[parent]];
		for (size_t row = 0; row < table->rows; row++)
			score->places[row] = score->places[row] * times + values[row];
	}
	for (size_t row = 0; row < table->rows; row++)
		score->cells[score->places[row] * levels + own[row]]++;
}

/* lgamma() writes a variable of the whole process. */
static double log_gamma(double value)
{
	int sign;
	return lgamma_r(value, &sign);
}

double sn_discrete_score_of(void *context, uint32_t variable, const uint32_t *parents,
			    uint32_t count)
{
	struct sn_discrete_score *score = context;
	uint32_t levels = score->table->levels[variable];
	uint32_t all = combinations(score->table, variable, parents, count);
	if (!all)
		return -INFINITY;
	count_rows(score, variable, parents, count, (size_t)all * levels);
	double of_combination = score->sample_size / all, of_cell = of_combination / levels;
	double none = log_gamma(of_combination), no_cell = log_gamma(of_cell), sum = 0;
	for (const uint32_t *cell = score->cells, *last = cell + (size_t)all * levels; cell < last;
	     cell += levels) {
		uint64_t rows = 0;
		for (uint32_t level = 0; level < levels; level++) {
			rows += cell[level];
			if (cell[level])
				sum += log_gamma(of_cell + cell[level]) - no_cell;
		}
		if (rows)
			sum += none - log_gamma(of_combination + (double)rows);
	}
	return sum;
}
