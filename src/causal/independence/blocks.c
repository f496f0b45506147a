/* SPDX-License-Identifier: Apache-2.0 */
/* Likelihood ratios of blocks of dimensions; see blocks.h. */
#include "blocks.h"

#include "base/error.h"
#include "causal/cholesky.h"
#include "chi_square.h"

#include <float.h>
#include <stdlib.h>

/* Dimensions of one test, so that a triangle stays small. */
#define CHOSEN_MOST 512u

int sn_blocks_init(struct sn_blocks *blocks, const double *correlations, const uint32_t *first,
		   uint32_t variables, size_t rows)
{
	*blocks = (struct sn_blocks){.dimensions = first[variables],
				     .correlations = correlations,
				     .first = first,
				     .rows = rows};
	blocks->factor = malloc(CHOSEN_MOST * (CHOSEN_MOST + 1) / 2 * sizeof(*blocks->factor));
	blocks->chosen = malloc(CHOSEN_MOST * sizeof(*blocks->chosen));
	return blocks->factor && blocks->chosen ? 0 : SN_ERR_MEMORY;
}

void sn_blocks_release(struct sn_blocks *blocks)
{
	free(blocks->factor);
	free(blocks->chosen);
	*blocks = (struct sn_blocks){0};
}

/* What is left of a block by what was chosen before it. */
struct left {
	double logarithm; /* of its determinant */
	uint32_t rank;
};

/* Appends a variable's dimensions to the `*count` chosen ones; false where they are too many. */
static bool add(struct sn_blocks *blocks, uint32_t variable, uint32_t *count, struct left *left)
{
	const struct sn_cholesky cholesky = {blocks->correlations, blocks->dimensions,
					     blocks->chosen, blocks->factor};
	uint32_t first = blocks->first[variable], end = blocks->first[variable + 1];
	*left = (struct left){0};
	if (end - first > CHOSEN_MOST - *count)
		return false;
	for (uint32_t dimension = first; dimension < end; dimension++) {
		blocks->chosen[*count] = dimension;
		double variance = sn_cholesky_add(&cholesky, (*count)++);
		if (variance > SN_CHOLESKY_NOTHING) {
			left->logarithm += log(variance);
			left->rank++;
		}
	}
	return true;
}

/* Of a test: about a chi-square number of so many degrees. */
struct ratio {
	double value, degrees;
};

/* So many independent rows would say as much. */
static double rows_of(const struct sn_blocks *blocks, uint32_t a, uint32_t b)
{
	double sum = 0, pairs = 0;
	for (uint32_t own = blocks->first[a]; own < blocks->first[a + 1]; own++)
		for (uint32_t other = blocks->first[b]; other < blocks->first[b + 1]; other++) {
			sum += blocks->dependence[(size_t)own * blocks->dimensions + other];
			pairs++;
		}
	return (double)blocks->rows * pairs / sum;
}

/* False where nothing can be tested. */
static bool measure(struct sn_blocks *blocks, uint32_t a, uint32_t b, const uint32_t *given,
		    uint32_t count, struct ratio *ratio)
{
	uint32_t chosen = 0, held, ranks = 0;
	struct left of_a, of_b, of_b_with_a, other;
	for (uint32_t number = 0; number < count; number++) {
		if (!add(blocks, given[number], &chosen, &other))
			return false;
		ranks += other.rank;
	}
	held = chosen;
	if (!add(blocks, b, &chosen, &of_b))
		return false;
	chosen = held;
	if (!add(blocks, a, &chosen, &of_a) || !add(blocks, b, &chosen, &of_b_with_a))
		return false;
	double all = blocks->dependence ? rows_of(blocks, a, b) : (double)blocks->rows;
	double rows = all - 1 - ranks - (of_a.rank + of_b.rank + 1) / 2.0;
	/* where all is determined, the factor does not see it */
	if (!of_a.rank || !of_b.rank || rows < 1 || all <= 1 + ranks + of_a.rank + of_b.rank)
		return false;
	/* of dimensions that a determines next to nothing is left */
	double nothing = log(SN_CHOLESKY_NOTHING) * (of_b.rank - of_b_with_a.rank);
	ratio->value += rows * (of_b.logarithm - of_b_with_a.logarithm - nothing);
	ratio->degrees += (double)of_a.rank * of_b.rank;
	return true;
}

static bool varies(const struct sn_blocks *blocks, uint32_t variable)
{
	return blocks->first[variable] < blocks->first[variable + 1];
}

static double blocks_of(void *context, uint32_t a, uint32_t b, const uint32_t *given,
			uint32_t count)
{
	bool vary_together = false, is_known = false;
	struct ratio ratio = {0};
	for (struct sn_blocks *blocks = context; blocks; blocks = blocks->also)
		if (varies(blocks, a) && varies(blocks, b)) {
			vary_together = true;
			is_known |= measure(blocks, a, b, given, count, &ratio);
		}
	if (!vary_together)
		return 1;
	/* not 0, which means that nothing was tested */
	return is_known ? fmax(sn_chi_square_tail(ratio.value, ratio.degrees), DBL_MIN)
			: SN_INDEPENDENCE_UNKNOWN;
}

struct sn_independence sn_blocks_test(struct sn_blocks *blocks)
{
	size_t rows = 0;
	for (const struct sn_blocks *of = blocks; of; of = of->also)
		rows = of->rows > rows ? of->rows : rows;
	return (struct sn_independence){.of = blocks_of,
					.given_most =
					    (uint32_t)(rows < UINT32_MAX ? rows : UINT32_MAX),
					.context = blocks};
}
