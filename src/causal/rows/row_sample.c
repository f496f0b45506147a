/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing rows, and what is computed of them; see row_sample.h. */
#include "row_sample.h"

#include "causal/correlations.h"
#include "causal/random.h"

#include <stdlib.h>

void sn_row_sample_release(struct sn_row_sample *sample)
{
	free(sample->weights);
	free(sample->times);
	for (uint32_t number = 0; number < SN_STRATA_MOST; number++) {
		if (sample->strata[number].correlations != sample->correlations)
			free(sample->strata[number].correlations);
		sn_gaussian_score_release(&sample->strata[number].gaussian);
	}
	free(sample->correlations);
	sn_discrete_score_release(&sample->discrete);
	sn_sum_score_release(&sample->sum);
	*sample = (struct sn_row_sample){0};
}

/* As many as there are, with replacement. NULL without memory. */
static uint32_t *draw(uint32_t count, uint64_t seed, size_t number)
{
	struct sn_random random;
	uint32_t *times = calloc(count + UINT64_C(1), sizeof(*times));
	sn_random_begin(&random, seed, number);
	for (uint32_t item = 0; times && item < count; item++)
		times[sn_random_below(&random, count)]++;
	return times;
}

/* Half of them, each once: NULL without memory. */
static uint32_t *draw_half(uint32_t count, uint64_t seed, size_t number)
{
	struct sn_random random;
	uint32_t *times = calloc(count + UINT64_C(1), sizeof(*times));
	sn_random_begin(&random, seed, number);
	for (uint32_t item = 0, drawn = 0; times && item < count; item++) {
		times[item] = sn_random_below(&random, count - item) < count / 2 - drawn;
		drawn += times[item];
	}
	return times;
}

int sn_row_sample_times(uint32_t **times, const struct sn_prepared *prepared, uint64_t seed,
			size_t number)
{
	const struct sn_clusters *clusters =
	    prepared->repeats.of && number % 2 ? &prepared->repeats : &prepared->clusters;
	if (sn_rows_are_independent(clusters)) {
		*times = draw((uint32_t)prepared->rows, seed, number);
		return *times ? 0 : SN_ERR_MEMORY;
	}
	uint32_t *of_clusters = draw_half(clusters->count, seed, number);
	*times = calloc(prepared->rows + 1, sizeof(**times));
	for (size_t row = 0; of_clusters && *times && row < prepared->rows; row++)
		(*times)[row] = of_clusters[clusters->of[row]];
	bool has_failed = !of_clusters || !*times;
	free(of_clusters);
	return has_failed ? SN_ERR_MEMORY : 0;
}

static int weigh(struct sn_row_sample *sample)
{
	const struct sn_prepared *prepared = sample->prepared;
	sample->weights = calloc(prepared->distinct + 1, sizeof(*sample->weights));
	if (!sample->weights)
		return SN_ERR_MEMORY;
	for (size_t row = 0; row < prepared->rows; row++)
		sample->weights[prepared->distinct_of[row]] +=
		    sample->times ? sample->times[row] : 1;
	return 0;
}

/* Of the rows of a table, or of a stratum's, which are drawn so often. */
static int correlate(double **correlations, const double *values, uint32_t dimensions, size_t rows,
		     const uint32_t *times)
{
	*correlations = malloc((size_t)dimensions * dimensions * sizeof(double) + 1);
	return *correlations ? sn_correlations(values, dimensions, rows, times, *correlations)
			     : SN_ERR_MEMORY;
}

static int correlate_stratum(struct sn_row_sample *sample, uint32_t number)
{
	const struct sn_prepared *prepared = sample->prepared;
	const struct sn_stratum *stratum = &prepared->strata.of[number];
	struct sn_sampled_stratum *sampled = &sample->strata[number];
	/* halves scatter as samples of as many as there are do; those of settings count as these, those of runs, which a user knows of, as halves */
	bool are_settings = prepared->clusters.kind == SN_CLUSTERS_REPEATS;
	sampled->rows = sn_stratum_count(stratum, are_settings ? NULL : sample->times);
	if (prepared->strata.are_shared) {
		sampled->correlations = sample->correlations;
		return 0;
	}
	uint32_t *times = sample->times ? sn_stratum_times(stratum, sample->times) : NULL;
	int result = sample->times && !times
			 ? SN_ERR_MEMORY
			 : correlate(&sampled->correlations, stratum->values,
				     stratum->first[prepared->count], stratum->rows, times);
	free(times);
	return result;
}

static int correlate_all(struct sn_row_sample *sample)
{
	const struct sn_prepared *prepared = sample->prepared;
	int result = correlate(&sample->correlations, prepared->values,
			       prepared->first[prepared->count], prepared->rows, sample->times);
	for (uint32_t number = 0; !result && number < prepared->strata.count; number++)
		result = correlate_stratum(sample, number);
	return result;
}

static int begin_discrete(struct sn_row_sample *sample)
{
	const struct sn_prepared *prepared = sample->prepared;
	int result = weigh(sample);
	sample->table = (struct sn_discrete_table){prepared->count, prepared->distinct,
						   (const uint8_t *const *)prepared->categories,
						   prepared->levels, sample->weights};
	sample->score = (struct sn_score){.of = sn_discrete_score_of, .context = &sample->discrete};
	return result ? result : sn_discrete_score_init(&sample->discrete, &sample->table);
}

static int begin_gaussian(struct sn_row_sample *sample)
{
	const struct sn_prepared *prepared = sample->prepared;
	int result = 0;
	for (uint32_t number = 0; !result && number < prepared->strata.count; number++) {
		const struct sn_stratum *stratum = &prepared->strata.of[number];
		struct sn_sampled_stratum *sampled = &sample->strata[number];
		struct sn_gaussian_score *score = &sampled->gaussian;
		result = sn_gaussian_score_init(score, sampled->correlations, stratum->first,
						prepared->count, sampled->rows);
		/* the part for the number of columns once for each pair, whatever it varies by */
		score->penalty_marked = score->penalty;
		score->is_marked = stratum->varies_before;
		score->dependence = prepared->strata.dependence;
		score->penalty += sn_prepared_penalty(prepared);
		sample->sum.of[number] =
		    (struct sn_score){sn_gaussian_score_of, score, sn_gaussian_score_with_each,
				      sn_gaussian_score_without_each};
	}
	sample->sum.count = prepared->strata.count;
	sample->score = sn_sum_score(&sample->sum);
	return result;
}

int sn_row_sample_draw(struct sn_row_sample *sample, const struct sn_prepared *prepared,
		       uint64_t seed, size_t number)
{
	*sample = (struct sn_row_sample){.prepared = prepared};
	int result = number ? sn_row_sample_times(&sample->times, prepared, seed, number) : 0;
	result = result ? result : correlate_all(sample);
	if (result)
		return result;
	return prepared->is_discrete ? begin_discrete(sample) : begin_gaussian(sample);
}
