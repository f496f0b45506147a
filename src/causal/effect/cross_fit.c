/* SPDX-License-Identifier: Apache-2.0 */
/* Folds and errors by cluster; see cross_fit.h. */
#include "cross_fit.h"

#include "base/sort_by.h"
#include "causal/random.h"
#include "causal/significance.h"

#include <math.h>

#define FOLDS 5u

const struct sn_estimate sn_no_estimate = {NAN, NAN, NAN, NAN};

/* Sorted by fold, so that rows of a fold are one after the other. */
struct place {
	uint32_t fold, cluster, row;
};

SN_SORT_BY(sort_by_cluster, uint32_t, const uint32_t *,
	   (of ? SN_ORDER(of[*a], of[*b]) : 0) ?: SN_ORDER(*a, *b));
SN_SORT_BY(sort_places, struct place, const void *,
	   SN_ORDER(a->fold, b->fold) ?: SN_ORDER(a->row, b->row));

/* Numbers clusters in ascending order of their numbers. */
static void number_clusters(struct sn_cross_fit *cross, const uint32_t *given, struct place *places)
{
	for (size_t row = 0; row < cross->rows; row++)
		cross->order[row] = (uint32_t)row;
	sort_by_cluster(cross->order, cross->rows, given);
	for (size_t at = 0; at < cross->rows; at++) {
		uint32_t row = cross->order[at];
		if (!at || !given || given[cross->order[at - 1]] != given[row])
			cross->cluster_count++;
		places[row] = (struct place){.cluster = cross->cluster_count - 1, .row = row};
	}
}

/* Clusters in a random order, each to the fold with the fewest rows. */
static void draw_folds(struct sn_cross_fit *cross, struct place *places, uint32_t *shuffled,
		       uint32_t *folds, uint64_t seed)
{
	size_t sizes[FOLDS] = {0};
	struct sn_random random;
	sn_random_begin(&random, seed, 0);
	for (uint32_t cluster = 0; cluster < cross->cluster_count; cluster++) {
		uint32_t other = sn_random_below(&random, cluster + 1);
		shuffled[cluster] = shuffled[other];
		shuffled[other] = cluster;
		cross->sums[cluster] = 0;
	}
	for (size_t row = 0; row < cross->rows; row++)
		cross->sums[places[row].cluster]++;
	cross->folds.count = cross->cluster_count < FOLDS ? cross->cluster_count : FOLDS;
	for (uint32_t number = 0; number < cross->cluster_count; number++) {
		uint32_t smallest = 0;
		for (uint32_t fold = 1; fold < cross->folds.count; fold++)
			if (sizes[fold] < sizes[smallest])
				smallest = fold;
		folds[shuffled[number]] = smallest;
		sizes[smallest] += (size_t)cross->sums[shuffled[number]];
	}
	for (size_t row = 0; row < cross->rows; row++)
		places[row].fold = folds[places[row].cluster];
	for (uint32_t fold = 0; fold < cross->folds.count; fold++)
		cross->folds.starts[fold + 1] = cross->folds.starts[fold] + sizes[fold];
}

int sn_cross_fit_init(struct sn_cross_fit *cross, const struct sn_effect_question *question)
{
	size_t rows = question->rows;
	*cross = (struct sn_cross_fit){.rows = rows};
	cross->order = malloc(rows * sizeof(uint32_t) + 1);
	cross->clusters = malloc(rows * sizeof(uint32_t) + 1);
	cross->sums = malloc(rows * sizeof(double) + 1);
	struct place *places = malloc(rows * sizeof(*places) + 1);
	uint32_t *shuffled = malloc(rows * sizeof(uint32_t) + 1);
	uint32_t *folds = malloc(rows * sizeof(uint32_t) + 1);
	int result = cross->order && cross->clusters && cross->sums && places && shuffled && folds
			 ? 0
			 : SN_ERR_MEMORY;
	if (!result) {
		number_clusters(cross, question->clusters, places);
		draw_folds(cross, places, shuffled, folds, question->seed);
		sort_places(places, rows, NULL);
		for (size_t at = 0; at < rows; at++) {
			cross->order[at] = places[at].row;
			cross->clusters[at] = places[at].cluster;
		}
	}
	free(places);
	free(shuffled);
	free(folds);
	return result;
}

void sn_cross_fit_release(struct sn_cross_fit *cross)
{
	free(cross->order);
	free(cross->clusters);
	free(cross->sums);
	*cross = (struct sn_cross_fit){0};
}

struct sn_estimate sn_cross_fit_estimate(struct sn_cross_fit *cross, double value,
					 const double *scores, double scale)
{
	double squares = 0, count = cross->cluster_count;
	for (uint32_t cluster = 0; cluster < cross->cluster_count; cluster++)
		cross->sums[cluster] = 0;
	for (size_t at = 0; at < cross->rows; at++)
		cross->sums[cross->clusters[at]] += scores[at];
	for (uint32_t cluster = 0; cluster < cross->cluster_count; cluster++)
		squares += cross->sums[cluster] * cross->sums[cluster];
	double deviation = sqrt(squares * count / (count - 1)) / scale;
	double reach = deviation * sn_student_975(count - 1);
	return (struct sn_estimate){value, deviation, value - reach, value + reach};
}

struct sn_estimate sn_estimate_times(struct sn_estimate estimate, double factor)
{
	double a = estimate.low * factor, b = estimate.high * factor;
	return (struct sn_estimate){estimate.value * factor, estimate.deviation * fabs(factor),
				    fmin(a, b), fmax(a, b)};
}
