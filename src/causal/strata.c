/* SPDX-License-Identifier: Apache-2.0 */
/* Means of clusters, and what rows differ from them; see strata.h. */
#include "strata.h"

#include "base/error.h"
#include "causal/columns/standard.h"

#include <stdlib.h>
#include <string.h>

/* Of a dimension's variance in a stratum, beside that of all rows: below it is rounding. */
#define NOTHING 1e-10

static void release(struct sn_stratum *stratum)
{
	free(stratum->values);
	free(stratum->first);
	free(stratum->varies_before);
	*stratum = (struct sn_stratum){0};
}

void sn_strata_release(struct sn_strata *strata)
{
	for (uint32_t number = 0; !strata->are_shared && number < strata->count; number++)
		release(&strata->of[number]);
	*strata = (struct sn_strata){0};
}

static int make_room(struct sn_stratum *stratum, uint32_t dimensions, uint32_t variables)
{
	stratum->values = malloc(dimensions * stratum->rows * sizeof(*stratum->values) + 1);
	stratum->first = malloc((variables + 1) * sizeof(*stratum->first));
	return stratum->values && stratum->first ? 0 : SN_ERR_MEMORY;
}

static double mean_square(const double *values, size_t rows)
{
	double sum = 0, squares = 0, count = (double)rows;
	for (size_t row = 0; row < rows; row++) {
		sum += values[row];
		squares += values[row] * values[row];
	}
	return squares / count - sum / count * (sum / count);
}

/* The means of clusters, and what is left; `sizes` are those of the clusters. */
static void split(const struct sn_clusters *clusters, const double *values, size_t rows,
		  const double *sizes, double *means, double *differences)
{
	memset(means, 0, clusters->count * sizeof(*means));
	for (size_t row = 0; row < rows; row++)
		means[clusters->of[row]] += values[row];
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		means[cluster] /= sizes[cluster];
	for (size_t row = 0; row < rows; row++)
		differences[row] = values[row] - means[clusters->of[row]];
}

/* Keeps the values behind those that a stratum has if they vary. */
static bool keep(struct sn_stratum *stratum, uint32_t count, size_t rows)
{
	double *values = stratum->values + count * stratum->rows;
	return stratum->rows && mean_square(values, stratum->rows) * (double)rows > NOTHING &&
	       sn_standardize(values, stratum->rows);
}

static int split_all(struct sn_strata *strata, const struct sn_clusters *clusters,
		     const double *values, const uint32_t *first, uint32_t variables, size_t rows)
{
	struct sn_stratum *means = &strata->of[0], *within = &strata->of[1];
	uint32_t mean_count = 0, within_count = 0;
	double *sizes = calloc(clusters->count + 1, sizeof(*sizes));
	within->varies_before = calloc(first[variables] + 1, sizeof(*within->varies_before));
	if (!sizes || !within->varies_before) {
		free(sizes);
		return SN_ERR_MEMORY;
	}
	for (size_t row = 0; row < rows; row++)
		sizes[clusters->of[row]]++;
	for (uint32_t variable = 0; variable < variables; variable++) {
		means->first[variable] = mean_count;
		within->first[variable] = within_count;
		for (uint32_t dimension = first[variable]; dimension < first[variable + 1];
		     dimension++) {
			split(clusters, values + dimension * rows, rows, sizes,
			      means->values + mean_count * means->rows,
			      within->values + within_count * within->rows);
			bool has_mean = keep(means, mean_count, rows);
			mean_count += has_mean;
			within->varies_before[within_count] = has_mean;
			within_count += keep(within, within_count, rows);
		}
	}
	means->first[variables] = mean_count;
	within->first[variables] = within_count;
	free(sizes);
	return 0;
}

/* Those without a dimension, or with too few rows, say nothing. */
static void leave_out(struct sn_strata *strata, uint32_t variables)
{
	struct sn_stratum *means = &strata->of[0], *within = &strata->of[1];
	if (!within->first[variables] || sn_stratum_count(within, NULL) < SN_WITHIN_LEAST) {
		release(within);
		strata->count = 1;
	} else if (!means->first[variables]) {
		release(means);
		*means = *within;
		*within = (struct sn_stratum){0};
		strata->count = 1;
	}
}

int sn_strata_init(struct sn_strata *strata, const struct sn_clusters *clusters, double *values,
		   uint32_t *first, uint32_t variables, size_t rows)
{
	if (!clusters->of) {
		*strata =
		    (struct sn_strata){.of = {{.rows = rows, .values = values, .first = first}},
				       .count = 1,
				       .are_shared = true};
		return 0;
	}
	/* a place more than there are dimensions: what does not vary is written, and not kept */
	uint32_t dimensions = first[variables];
	*strata = (struct sn_strata){.of = {{.rows = clusters->count, .row_of = clusters->row_of},
					    {.rows = rows, .within = clusters}},
				     .count = 2};
	int result = make_room(&strata->of[0], dimensions + 1, variables);
	result = result ? result : make_room(&strata->of[1], dimensions + 1, variables);
	result = result ? result : split_all(strata, clusters, values, first, variables, rows);
	if (!result)
		leave_out(strata, variables);
	return result;
}

uint32_t *sn_stratum_times(const struct sn_stratum *stratum, const uint32_t *times)
{
	uint32_t *own = malloc((stratum->rows + 1) * sizeof(*own));
	for (size_t row = 0; own && row < stratum->rows; row++)
		own[row] = times[stratum->row_of ? stratum->row_of[row] : row];
	return own;
}

static size_t count_rows(const uint32_t *row_of, size_t rows, const uint32_t *times)
{
	size_t count = 0;
	for (size_t row = 0; row < rows; row++)
		count += times ? times[row_of ? row_of[row] : row] : 1;
	return count;
}

size_t sn_stratum_count(const struct sn_stratum *stratum, const uint32_t *times)
{
	const struct sn_clusters *within = stratum->within;
	size_t count = count_rows(stratum->row_of, stratum->rows, times);
	count -= within ? count_rows(within->row_of, within->count, times) : 0;
	return count ? count : 1;
}
