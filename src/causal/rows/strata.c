/* SPDX-License-Identifier: Apache-2.0 */
/* Means of clusters, and what rows differ from them; see strata.h. */
#include "strata.h"

#include "base/error.h"
#include "causal/columns/standard.h"
#include "dependence.h"

#include <math.h>
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
	free(strata->dependence);
	*strata = (struct sn_strata){0};
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

/* Of clusters: how many rows each has; and of all, what a sum of squares is divided by. */
struct sizes {
	double *of;
	double usual; /* size, of which unequal ones say as much as equal ones of it do */
};

static int count_sizes(struct sizes *sizes, const struct sn_clusters *clusters, size_t rows)
{
	double squares = 0, all = (double)rows;
	sizes->of = calloc(clusters->count + 1, sizeof(*sizes->of));
	if (!sizes->of)
		return SN_ERR_MEMORY;
	for (size_t row = 0; row < rows; row++)
		sizes->of[clusters->of[row]]++;
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		squares += sizes->of[cluster] * sizes->of[cluster];
	sizes->usual = clusters->count > 1 ? (all - squares / all) / (clusters->count - 1) : 1;
	return 0;
}

/* The means of clusters, and what is left. */
static void split(const struct sn_clusters *clusters, const double *values, size_t rows,
		  const struct sizes *sizes, double *means, double *differences)
{
	memset(means, 0, clusters->count * sizeof(*means));
	for (size_t row = 0; row < rows; row++)
		means[clusters->of[row]] += values[row];
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		means[cluster] /= sizes->of[cluster];
	for (size_t row = 0; row < rows; row++)
		differences[row] = values[row] - means[clusters->of[row]];
}

/* The intraclass correlation by the analysis of variance (Donner, "A review of inference procedures for the intraclass correlation coefficient in the one-way
 * random effects model", International Statistical Review 54, 1986), of a dimension with mean 0. */
static double alike(const struct sn_clusters *clusters, const struct sizes *sizes,
		    const double *means, const double *differences, size_t rows)
{
	double between = 0, within = 0, count = clusters->count;
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		between += sizes->of[cluster] * means[cluster] * means[cluster] / (count - 1);
	for (size_t row = 0; row < rows; row++)
		within += differences[row] * differences[row] / ((double)rows - count);
	double of_clusters = between - within;
	return fmin(fmax(of_clusters / (of_clusters + sizes->usual * within), 0), 1);
}

/* Means of unequal clusters differ in how far they scatter: brought to one variance, each says as much as any other. */
static void equalize(const struct sn_clusters *clusters, const struct sizes *sizes, double alike,
		     double *means)
{
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		means[cluster] /= sqrt(alike + (1 - alike) / sizes->of[cluster]);
}

/* Keeps the values behind those that a stratum has if they vary. */
static bool keep(struct sn_stratum *stratum, uint32_t count, size_t rows)
{
	double *values = stratum->values + count * stratum->rows;
	return mean_square(values, stratum->rows) * (double)rows > NOTHING &&
	       sn_standardize(values, stratum->rows);
}

/* A dimension that varies is appended to both. `may_differ`: its variable may be in the first. */
static void add(struct sn_strata *strata, const struct sn_clusters *clusters,
		const struct sizes *sizes, const double *values, size_t rows, bool may_differ,
		uint32_t counts[SN_STRATA_MOST])
{
	struct sn_stratum *between = &strata->of[0], *within = &strata->of[1];
	double *means = between->values + counts[0] * between->rows;
	double *differences = within->values + counts[1] * rows;
	split(clusters, values, rows, sizes, means, differences);
	bool differs = may_differ && mean_square(means, clusters->count) * (double)rows > NOTHING;
	if (differs && clusters->count < rows)
		equalize(clusters, sizes, alike(clusters, sizes, means, differences, rows), means);
	differs = differs && sn_standardize(means, clusters->count);
	within->varies_before[counts[1]] = differs;
	counts[0] += differs;
	counts[1] += keep(within, counts[1], rows);
}

static int split_all(struct sn_strata *strata, const struct sn_clusters *clusters,
		     const struct sn_dimensions *dimensions, size_t rows)
{
	struct sn_stratum *between = &strata->of[0], *within = &strata->of[1];
	uint32_t counts[SN_STRATA_MOST] = {0}, variables = dimensions->variables;
	const uint32_t *first = dimensions->first;
	struct sizes sizes = {0};
	uint32_t each =
	    clusters->kind == SN_CLUSTERS_REPEATS ? SN_SETTINGS_A_LEVEL : SN_CLUSTERS_A_LEVEL;
	int result = count_sizes(&sizes, clusters, rows);
	for (uint32_t variable = 0; !result && variable < variables; variable++) {
		uint32_t size = first[variable + 1] - first[variable];
		bool may_differ =
		    dimensions->is_ordered[variable] || (size + 1) * each <= clusters->count;
		between->first[variable] = counts[0];
		within->first[variable] = counts[1];
		for (uint32_t dimension = first[variable]; dimension < first[variable + 1];
		     dimension++)
			add(strata, clusters, &sizes, dimensions->values + dimension * rows, rows,
			    may_differ, counts);
	}
	between->first[variables] = counts[0];
	within->first[variables] = counts[1];
	free(sizes.of);
	return result;
}

/* What has no dimension, or too few clusters or rows, is left out; the means as well as what differs within clusters, unless nothing else is left. */
static void leave_out(struct sn_strata *strata, const struct sn_clusters *clusters,
		      uint32_t variables, size_t rows)
{
	struct sn_stratum *between = &strata->of[0], *within = &strata->of[1];
	bool has_within = within->first[variables] > 0 && rows - clusters->count >= SN_WITHIN_LEAST;
	bool has_means =
	    between->first[variables] > 0 && (clusters->count >= SN_MEANS_LEAST || !has_within);
	if (has_means && has_within)
		return;
	release(has_within ? between : within);
	if (has_within) {
		*between = *within;
		free(between->varies_before);
		between->varies_before = NULL;
	}
	strata->of[1] = (struct sn_stratum){0};
	strata->count = 1;
}

static int make_room(struct sn_strata *strata, const struct sn_dimensions *dimensions)
{
	/* a place more than there are dimensions: what does not vary is written, and not kept */
	size_t most = (size_t)dimensions->first[dimensions->variables] + 1;
	bool has_failed = false;
	for (uint32_t number = 0; number < strata->count; number++) {
		struct sn_stratum *stratum = &strata->of[number];
		stratum->values = malloc(most * stratum->rows * sizeof(*stratum->values) + 1);
		stratum->first = malloc((dimensions->variables + 1) * sizeof(*stratum->first));
		has_failed |= !stratum->values || !stratum->first;
	}
	strata->of[1].varies_before = calloc(most, sizeof(bool));
	return has_failed || !strata->of[1].varies_before ? SN_ERR_MEMORY : 0;
}

/* What repeats say of the pairs of an identity is what stretches do. */
static void keep_identity(const double *before, const struct sn_dimensions *dimensions,
			  uint32_t identity, double *dependence)
{
	uint32_t all = dimensions->first[dimensions->variables];
	for (uint32_t own = dimensions->first[identity]; own < dimensions->first[identity + 1];
	     own++)
		for (uint32_t other = 0; other < all; other++)
			dependence[own * all + other] = dependence[other * all + own] =
			    before ? before[own * all + other] : 1;
}

static int add_dependence(struct sn_strata *strata, const struct sn_clusters *clusters,
			  const struct sn_dimensions *dimensions, size_t rows, uint32_t identity)
{
	size_t cells = (size_t)dimensions->first[dimensions->variables] *
		       dimensions->first[dimensions->variables];
	bool is_kept = clusters->kind == SN_CLUSTERS_REPEATS && identity != UINT32_MAX;
	double *before = NULL;
	if (is_kept && strata->dependence) {
		before = malloc(cells * sizeof(*before));
		if (!before)
			return SN_ERR_MEMORY;
		memcpy(before, strata->dependence, cells * sizeof(*before));
	}
	int result =
	    sn_dependence(clusters, dimensions->values, dimensions->first[dimensions->variables],
			  rows, &strata->dependence);
	if (!result && is_kept)
		keep_identity(before, dimensions, identity, strata->dependence);
	free(before);
	return result;
}

/* The only stratum is the table; what rows have in common is judged pair by pair. */
static int share(struct sn_strata *strata, const struct sn_clusters *const clusters[2],
		 const struct sn_dimensions *dimensions, size_t rows, uint32_t identity)
{
	uint32_t all = dimensions->first[dimensions->variables];
	int result = 0;
	*strata = (struct sn_strata){
	    .of = {{.rows = rows, .values = dimensions->values, .first = dimensions->first}},
	    .count = 1,
	    .are_shared = true};
	for (int kind = 0; !result && kind < 2 && all <= SN_DEPENDENCE_MOST; kind++)
		if (!sn_rows_are_independent(clusters[kind]))
			result = add_dependence(strata, clusters[kind], dimensions, rows, identity);
	return result;
}

int sn_strata_init(struct sn_strata *strata, const struct sn_clusters *const clusters[2],
		   const struct sn_dimensions *dimensions, size_t rows, uint32_t identity)
{
	const struct sn_clusters *given = clusters[0];
	if (!sn_clusters_have_means(given))
		return share(strata, clusters, dimensions, rows, identity);
	*strata = (struct sn_strata){.of = {{.rows = given->count, .row_of = given->row_of},
					    {.rows = rows, .within = given}},
				     .count = 2};
	int result = make_room(strata, dimensions);
	result = result ? result : split_all(strata, given, dimensions, rows);
	if (!result)
		leave_out(strata, given, dimensions->variables, rows);
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
