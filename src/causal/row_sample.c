/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing rows, and what is computed of them; see row_sample.h. */
#include "row_sample.h"

#include "correlations.h"
#include "random.h"

#include <stdlib.h>

void sn_row_sample_release(struct sn_row_sample *sample)
{
	free(sample->weights);
	free(sample->times);
	free(sample->correlations);
	sn_discrete_score_release(&sample->discrete);
	sn_gaussian_score_release(&sample->gaussian);
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

int sn_row_sample_times(uint32_t **times, const struct sn_prepared *prepared, uint64_t seed,
			size_t number)
{
	const struct sn_clusters *clusters = &prepared->clusters;
	if (!clusters->of) {
		*times = draw((uint32_t)prepared->rows, seed, number);
		return *times ? 0 : SN_ERR_MEMORY;
	}
	uint32_t *of_clusters = draw(clusters->count, seed, number);
	*times = calloc(prepared->rows + 1, sizeof(**times));
	for (size_t row = 0; of_clusters && *times && row < prepared->rows; row++)
		(*times)[row] = of_clusters[clusters->of[row]];
	bool has_failed = !of_clusters || !*times;
	free(of_clusters);
	return has_failed ? SN_ERR_MEMORY : 0;
}

size_t sn_row_sample_count(const uint32_t *times, size_t rows)
{
	size_t count = 0;
	for (size_t row = 0; row < rows; row++)
		count += times ? times[row] : 1;
	return count;
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

static int correlate(struct sn_row_sample *sample)
{
	const struct sn_prepared *prepared = sample->prepared;
	uint32_t dimensions = prepared->first[prepared->count];
	sample->correlations = malloc((size_t)dimensions * dimensions * sizeof(double) + 1);
	if (!sample->correlations)
		return SN_ERR_MEMORY;
	return sn_correlations(prepared->values, dimensions, prepared->rows, sample->times,
			       sample->correlations);
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
	int result = sn_gaussian_score_init(&sample->gaussian, sample->correlations,
					    prepared->first, prepared->count,
					    sn_row_sample_count(sample->times, prepared->rows));
	sample->gaussian.penalty = sn_prepared_penalty(prepared);
	sample->gaussian.design = prepared->clusters.design;
	sample->score =
	    (struct sn_score){sn_gaussian_score_of, &sample->gaussian, sn_gaussian_score_with_each,
			      sn_gaussian_score_without_each};
	return result;
}

int sn_row_sample_draw(struct sn_row_sample *sample, const struct sn_prepared *prepared,
		       uint64_t seed, size_t number)
{
	*sample = (struct sn_row_sample){.prepared = prepared};
	int result = number ? sn_row_sample_times(&sample->times, prepared, seed, number) : 0;
	result = result ? result : correlate(sample);
	if (result)
		return result;
	return prepared->is_discrete ? begin_discrete(sample) : begin_gaussian(sample);
}
