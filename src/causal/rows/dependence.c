/* SPDX-License-Identifier: Apache-2.0 */
/* Variances of correlations by stretches of rows; see dependence.h. */
#include "dependence.h"

#include "base/error.h"
#include "causal/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED	  UINT64_C(1)
#define SETS_MOST 256u
/* Of a dimension's variance: below it another one determines it. */
#define NOTHING	  1e-8

/* Products of all pairs of dimensions, summed by sets of rows. */
struct sums {
	uint32_t sets, dimensions;
	double *items;	/* dimensions x dimensions x sets */
	double *totals; /* dimensions x dimensions: correlations */
};

static double *sums_of(const struct sums *sums, uint32_t a, uint32_t b)
{
	return sums->items + ((size_t)a * sums->dimensions + b) * sums->sets;
}

static void add_pair(struct sums *sums, const uint32_t *set_of, const double *values, size_t rows,
		     uint32_t a, uint32_t b)
{
	const double *of_a = values + a * rows, *of_b = values + b * rows;
	double *items = sums_of(sums, a, b), total = 0;
	for (size_t row = 0; row < rows; row++)
		items[set_of[row]] += of_a[row] * of_b[row];
	for (uint32_t set = 0; set < sums->sets; set++)
		total += items[set];
	memcpy(sums_of(sums, b, a), items, sums->sets * sizeof(*items));
	sums->totals[(size_t)a * sums->dimensions + b] =
	    sums->totals[(size_t)b * sums->dimensions + a] = total;
}

static int add_all(struct sums *sums, const uint32_t *set_of, const double *values, size_t rows)
{
	size_t pairs = (size_t)sums->dimensions * sums->dimensions;
	sums->items = calloc(pairs * sums->sets + 1, sizeof(*sums->items));
	sums->totals = malloc(pairs * sizeof(*sums->totals) + 1);
	if (!sums->items || !sums->totals)
		return SN_ERR_MEMORY;
	for (uint32_t a = 0; a < sums->dimensions; a++)
		for (uint32_t b = 0; b <= a; b++)
			add_pair(sums, set_of, values, rows, a, b);
	return 0;
}

static void release(struct sums *sums)
{
	free(sums->items);
	free(sums->totals);
}

/* The set of each row: its cluster, or some of these together. NULL without memory. */
static uint32_t *make_sets(const struct sn_clusters *clusters, size_t rows, uint32_t *sets)
{
	uint32_t *set_of = malloc((rows + 1) * sizeof(*set_of));
	uint32_t *of_cluster = malloc((clusters->count + 1) * sizeof(*of_cluster));
	struct sn_random random;
	*sets = clusters->count < SETS_MOST ? clusters->count : SETS_MOST;
	sn_random_begin(&random, SEED, 1);
	/* the set of a cluster is its place in a random order, so that sets have as many clusters each */
	for (uint32_t cluster = 0; of_cluster && cluster < clusters->count; cluster++) {
		uint32_t other =
		    *sets < clusters->count ? sn_random_below(&random, cluster + 1) : cluster;
		of_cluster[cluster] = of_cluster[other];
		of_cluster[other] = cluster % *sets;
	}
	for (size_t row = 0; set_of && of_cluster && row < rows; row++)
		set_of[row] = of_cluster[clusters->of[row]];
	bool has_failed = !of_cluster;
	free(of_cluster);
	if (has_failed) {
		free(set_of);
		return NULL;
	}
	return set_of;
}

/* As many sets of as many rows, by chance. */
static void shuffle(uint32_t *set_of, size_t rows)
{
	struct sn_random random;
	sn_random_begin(&random, SEED, 0);
	for (uint32_t left = (uint32_t)rows; left > 1; left--) {
		uint32_t other = sn_random_below(&random, left), kept = set_of[left - 1];
		set_of[left - 1] = set_of[other];
		set_of[other] = kept;
	}
}

/* What a column leaves of two, whose parts of it are `by_a` and `by_b`: these are 0 where nothing is held. */
struct held {
	uint32_t column;
	double by_a, by_b;
};

/* The variance of a correlation by sets: the sum of squares of their influences. */
static double variance(const struct sums *sums, uint32_t a, uint32_t b, const struct held *held)
{
	const double *ab = sums_of(sums, a, b), *aa = sums_of(sums, a, a),
		     *bb = sums_of(sums, b, b);
	const double *az = sums_of(sums, a, held->column), *bz = sums_of(sums, b, held->column),
		     *zz = sums_of(sums, held->column, held->column);
	double by_a = held->by_a, by_b = held->by_b, left_a = 1 - by_a * by_a,
	       left_b = 1 - by_b * by_b, scale = 1 / sqrt(left_a * left_b), sum = 0;
	double correlation = (sums->totals[(size_t)a * sums->dimensions + b] - by_a * by_b) * scale;
	for (uint32_t set = 0; set < sums->sets; set++) {
		double both = ab[set] - by_b * az[set] - by_a * bz[set] + by_a * by_b * zz[set];
		double of_a = aa[set] - by_a * (2 * az[set] - by_a * zz[set]);
		double of_b = bb[set] - by_b * (2 * bz[set] - by_b * zz[set]);
		double influence = both * scale - correlation * (of_a / left_a + of_b / left_b) / 2;
		sum += influence * influence;
	}
	return sum;
}

static double dependence_of(const struct sums *stretches, const struct sums *chance, uint32_t a,
			    uint32_t b, struct held held)
{
	if (1 - held.by_a * held.by_a < NOTHING || 1 - held.by_b * held.by_b < NOTHING)
		return 1;
	double by_chance = variance(chance, a, b, &held);
	return by_chance > 0 ? variance(stretches, a, b, &held) / by_chance : 1;
}

static double largest(const struct sums *stretches, const struct sums *chance, uint32_t a,
		      uint32_t b)
{
	uint32_t all = stretches->dimensions;
	double most = fmax(1, dependence_of(stretches, chance, a, b, (struct held){0}));
	for (uint32_t other = 0; other < all; other++)
		if (other != a && other != b)
			most = fmax(
			    most,
			    dependence_of(stretches, chance, a, b,
					  (struct held){other, stretches->totals[a * all + other],
							stretches->totals[b * all + other]}));
	return most;
}

int sn_dependence(const struct sn_clusters *clusters, const double *values, uint32_t dimensions,
		  size_t rows, double **dependence)
{
	struct sums stretches = {.dimensions = dimensions}, chance;
	uint32_t *set_of = make_sets(clusters, rows, &stretches.sets);
	if (!*dependence)
		*dependence = calloc((size_t)dimensions * dimensions + 1, sizeof(**dependence));
	chance = stretches;
	int result = set_of && *dependence ? 0 : SN_ERR_MEMORY;
	result = result ? result : add_all(&stretches, set_of, values, rows);
	if (!result)
		shuffle(set_of, rows);
	result = result ? result : add_all(&chance, set_of, values, rows);
	for (uint32_t a = 0; !result && a < dimensions; a++)
		for (uint32_t b = 0; b <= a; b++) {
			double *of_pair = &(*dependence)[a * dimensions + b];
			*of_pair = (*dependence)[b * dimensions + a] =
			    a == b ? 1 : fmax(*of_pair, largest(&stretches, &chance, a, b));
		}
	release(&stretches);
	release(&chance);
	free(set_of);
	return result;
}
