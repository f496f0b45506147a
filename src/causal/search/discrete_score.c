/* SPDX-License-Identifier: Apache-2.0 */
/* BDeu; see discrete_score.h. */
#include "discrete_score.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More cells than so many times the rows hold next to nothing each. */
#define CELLS_A_ROW 4

int sn_discrete_score_init(struct sn_discrete_score *score, const struct sn_discrete_table *table)
{
	*score = (struct sn_discrete_score){.table = table, .sample_size = 1};
	for (size_t row = 0; row < table->rows; row++)
		score->cells_most += CELLS_A_ROW * (uint64_t)sn_discrete_weight(table, row);
	if (score->cells_most > UINT32_MAX)
		score->cells_most = UINT32_MAX;
	score->cells = malloc((score->cells_most + 1) * sizeof(*score->cells));
	score->places = calloc(table->rows + 1, sizeof(*score->places));
	score->known = malloc((table->columns + 1) * sizeof(*score->known));
	return score->cells && score->places && score->known ? 0 : SN_ERR_MEMORY;
}

void sn_discrete_score_release(struct sn_discrete_score *score)
{
	free(score->cells);
	free(score->places);
	free(score->known);
	*score = (struct sn_discrete_score){0};
}

/* The number of combinations of the causes' values; 0 where they and the variable's have too many cells. */
static uint32_t combinations(const struct sn_discrete_score *score, uint32_t variable,
			     const uint32_t *parents, uint32_t count)
{
	const uint32_t *levels = score->table->levels;
	uint64_t all = 1, most = score->cells_most / levels[variable];
	for (uint32_t parent = 0; parent < count && all <= most; parent++)
		all *= levels[parents[parent]];
	return all <= most ? (uint32_t)all : 0;
}

static void place_rows(struct sn_discrete_score *score, const uint32_t *parents, uint32_t count)
{
	const struct sn_discrete_table *table = score->table;
	if (count == score->known_count && !memcmp(parents, score->known, count * sizeof(*parents)))
		return;
	memset(score->places, 0, table->rows * sizeof(*score->places));
	for (uint32_t parent = 0; parent < count; parent++) {
		const uint8_t *values = table->values[parents[parent]];
		uint32_t times = table->levels[parents[parent]];
		for (size_t row = 0; row < table->rows; row++)
			score->places[row] = score->places[row] * times + values[row];
	}
	memcpy(score->known, parents, count * sizeof(*parents));
	score->known_count = count;
}

static void count_rows(struct sn_discrete_score *score, uint32_t variable, const uint32_t *parents,
		       uint32_t count, size_t cells)
{
	const struct sn_discrete_table *table = score->table;
	const uint8_t *own = table->values[variable];
	uint32_t levels = table->levels[variable];
	memset(score->cells, 0, cells * sizeof(*score->cells));
	if (!count) {
		for (size_t row = 0; row < table->rows; row++)
			score->cells[own[row]] += sn_discrete_weight(table, row);
		return;
	}
	const uint8_t *last = table->values[parents[count - 1]];
	uint32_t times = table->levels[parents[count - 1]];
	place_rows(score, parents, count - 1);
	for (size_t row = 0; row < table->rows; row++)
		score->cells[(score->places[row] * times + last[row]) * levels + own[row]] +=
		    sn_discrete_weight(table, row);
}

/* From this on Stirling's series has an error below 1e-11. */
#define LARGE 12.0

/* The logarithm of the gamma function of a positive number: Abramowitz and Stegun, 6.1.41; below LARGE by gamma(x + 1) = x gamma(x). */
static double log_gamma(double value)
{
	double product = 1;
	for (; value < LARGE; value++)
		product *= value;
	double inverse = 1 / value, square = inverse * inverse;
	double series =
	    inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
	double sum = (value - 0.5) * log(value) - value + 0.91893853320467274178 + series;
	return product == 1 ? sum : sum - log(product);
}

double sn_discrete_score_of(void *context, uint32_t variable, const uint32_t *parents,
			    uint32_t count)
{
	struct sn_discrete_score *score = context;
	uint32_t levels = score->table->levels[variable];
	uint32_t all = combinations(score, variable, parents, count);
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
