/* SPDX-License-Identifier: Apache-2.0 */
/* DirectLiNGAM; see lingam.h. */
#include "lingam.h"

#include "base/pool.h"
#include "base/sort_by.h"
#include "causal/cholesky.h"
#include "entropy.h"
#include "causal/normal.h"
#include "causal/products.h"
#include "causal/significance.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* The part of a column's variance below which others determine it. */
#define DETERMINED 1e-10

struct ordering {
	const struct sn_lingam_options *options;
	uint32_t count, left; /* variables; those without a place in the order */
	size_t rows;
	double *columns;    /* with mean 0 and sum of squares 1, less what the first ones explain */
	double *products;   /* count x count: of two columns */
	double *scratch;    /* a column for each thread */
	double *entropies;  /* of each column, standardized */
	uint32_t *unplaced; /* the most promising ones first */
	bool *is_candidate, *is_placed;
	double *against; /* of each variable: the sum, or what it was when it was above another's */
	/* count x count: the difference of mutual information, or NAN: not computed in this step */
	_Atomic double *differences;
	_Atomic double least;
};

static double variance(const struct ordering *ordering, uint32_t variable)
{
	return ordering->products[(size_t)variable * ordering->count + variable];
}

static double *column_of(const struct ordering *ordering, uint32_t variable)
{
	return ordering->columns + variable * ordering->rows;
}

static int work_entropy(void *context, unsigned worker, size_t item)
{
	struct ordering *ordering = context;
	uint32_t variable = ordering->unplaced[item];
	double *standardized = ordering->scratch + worker * ordering->rows;
	const double *column = column_of(ordering, variable);
	double scale = sqrt((double)ordering->rows / variance(ordering, variable));
	for (size_t row = 0; row < ordering->rows; row++)
		standardized[row] = column[row] * scale;
	ordering->entropies[variable] = sn_entropy(standardized, ordering->rows);
	return 0;
}

/* Below 0: the mutual information with the residual is less if `a` is explained by `b` than the other way round. */
static double difference(struct ordering *ordering, uint32_t a, uint32_t b)
{
	uint32_t first = a < b ? a : b, second = a < b ? b : a;
	_Atomic double *known = &ordering->differences[(size_t)first * ordering->count + second];
	double value = atomic_load_explicit(known, memory_order_relaxed);
	if (isnan(value)) {
		double scale_first = sqrt((double)ordering->rows / variance(ordering, first));
		double scale_second = sqrt((double)ordering->rows / variance(ordering, second));
		double correlation = ordering->products[(size_t)first * ordering->count + second] /
				     sqrt(variance(ordering, first) * variance(ordering, second));
		double unexplained = 1 - correlation * correlation;
		double scale = 1 / sqrt(unexplained > DETERMINED ? unexplained : DETERMINED);
		const struct sn_entropy_pair pair = {.a = column_of(ordering, first),
						     .b = column_of(ordering, second),
						     .rows = ordering->rows,
						     .left = scale * scale_first,
						     .right = scale * correlation * scale_second,
						     .left_back = scale * scale_second,
						     .right_back =
							 scale * correlation * scale_first};
		double of_first, of_second;
		sn_entropy_of_pair(&pair, &of_first, &of_second);
		value =
		    ordering->entropies[second] + of_first - ordering->entropies[first] - of_second;
		/* two threads may compute it, and then the same */
		atomic_store_explicit(known, value, memory_order_relaxed);
	}
	return a == first ? value : -value;
}

static void lower(_Atomic double *least, double value)
{
	double known = atomic_load_explicit(least, memory_order_relaxed);
	while (value < known &&
	       !atomic_compare_exchange_weak_explicit(least, &known, value, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* What speaks against a candidate. Others are asked in their order, in which those that speak are near the front; the sum is in the order of
 * variables in the end, so that it is the same whoever computes it. */
static int work_candidate(void *context, unsigned worker, size_t item)
{
	struct ordering *ordering = context;
	uint32_t variable = ordering->unplaced[item];
	double sum = 0;
	(void)worker;
	if (!ordering->is_candidate[variable]) {
		ordering->against[variable] = INFINITY;
		return 0;
	}
	for (uint32_t other = 0; other < ordering->left; other++) {
		if (other == item)
			continue;
		double value = fmin(0, difference(ordering, variable, ordering->unplaced[other]));
		sum += value * value;
		/* the margin is above what the order of the sum may change */
		if (sum > 1.000001 * atomic_load_explicit(&ordering->least, memory_order_relaxed))
			break;
	}
	ordering->against[variable] = sum;
	lower(&ordering->least, sum);
	return 0;
}

/* The sum again, in the order of variables. */
static double exact_sum(struct ordering *ordering, uint32_t variable)
{
	double sum = 0;
	for (uint32_t other = 0; other < ordering->count; other++) {
		if (other == variable || ordering->is_placed[other])
			continue;
		double value = fmin(0, difference(ordering, variable, other));
		sum += value * value;
	}
	return sum;
}

SN_SORT_BY(sort_by_doubt, uint32_t, const double *, SN_ORDER(of[*a], of[*b]) ?: SN_ORDER(*a, *b));

static void find_candidates(struct ordering *ordering, uint32_t *count)
{
	const struct sn_knowledge *known = ordering->options->knowledge;
	*count = 0;
	for (uint32_t own = 0; own < ordering->left; own++) {
		uint32_t variable = ordering->unplaced[own];
		bool is_candidate = true;
		for (uint32_t other = 0; known && other < ordering->left; other++) {
			uint32_t cause = ordering->unplaced[other];
			if ((known->tiers && known->tiers[cause] < known->tiers[variable]) ||
			    sn_knowledge_requires(known, cause, variable))
				is_candidate = false;
		}
		ordering->is_candidate[variable] = is_candidate;
		*count += is_candidate;
	}
}

/* The candidate that least speaks against; of equal ones the first. */
static uint32_t best_candidate(struct ordering *ordering)
{
	double least = atomic_load(&ordering->least), best_sum = INFINITY;
	uint32_t best = UINT32_MAX;
	for (uint32_t variable = 0; variable < ordering->count; variable++) {
		if (ordering->is_placed[variable] || !ordering->is_candidate[variable] ||
		    ordering->against[variable] > 1.000001 * least)
			continue;
		double sum = exact_sum(ordering, variable);
		if (best == UINT32_MAX || sum < best_sum) {
			best = variable;
			best_sum = sum;
		}
	}
	return best;
}

static int choose_next(struct ordering *ordering, unsigned threads, uint32_t *chosen,
		       struct sn_error *error)
{
	uint32_t candidates;
	find_candidates(ordering, &candidates);
	if (!candidates)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "what is known contradicts itself: each of %u columns has a cause "
			       "among the others",
			       ordering->left);
	for (uint32_t own = 0; candidates == 1 && own < ordering->left; own++)
		if (ordering->is_candidate[ordering->unplaced[own]]) {
			*chosen = ordering->unplaced[own];
			return 0;
		}
	for (size_t place = 0; place < (size_t)ordering->count * ordering->count; place++)
		atomic_store_explicit(&ordering->differences[place], NAN, memory_order_relaxed);
	atomic_store(&ordering->least, INFINITY);
	int result = sn_pool_run(threads, ordering->left, work_entropy, ordering);
	result = result ? result : sn_pool_run(threads, ordering->left, work_candidate, ordering);
	if (!result) {
		*chosen = best_candidate(ordering);
		sort_by_doubt(ordering->unplaced, ordering->left, ordering->against);
	}
	return result;
}

struct removing {
	struct ordering *ordering;
	uint32_t cause;
};

static int work_remove(void *context, unsigned worker, size_t item)
{
	const struct removing *removing = context;
	struct ordering *ordering = removing->ordering;
	uint32_t variable = ordering->unplaced[item], cause = removing->cause;
	double *column = column_of(ordering, variable);
	const double *of_cause = column_of(ordering, cause);
	(void)worker;
	double slope = ordering->products[(size_t)variable * ordering->count + cause] /
		       variance(ordering, cause);
	for (size_t row = 0; row < ordering->rows; row++)
		column[row] -= slope * of_cause[row];
	return 0;
}

/* Takes what the chosen one explains out of the others. */
static int place(struct ordering *ordering, unsigned threads, uint32_t chosen)
{
	uint32_t count = ordering->count, kept = 0;
	double *products = ordering->products, *of_chosen = products + (size_t)chosen * count;
	for (uint32_t own = 0; own < ordering->left; own++)
		if (ordering->unplaced[own] != chosen)
			ordering->unplaced[kept++] = ordering->unplaced[own];
	ordering->left = kept;
	struct removing removing = {ordering, chosen};
	int result = sn_pool_run(threads, kept, work_remove, &removing);
	for (uint32_t a = 0; a < kept; a++) {
		uint32_t from = ordering->unplaced[a];
		double slope = products[(size_t)from * count + chosen] / of_chosen[chosen];
		for (uint32_t b = 0; b <= a; b++) {
			uint32_t to = ordering->unplaced[b];
			double product =
			    products[(size_t)from * count + to] - slope * of_chosen[to];
			products[(size_t)from * count + to] = product;
			products[(size_t)to * count + from] = product;
		}
	}
	ordering->is_placed[chosen] = true;
	return result;
}

static int refuse_determined(const struct ordering *ordering, struct sn_error *error)
{
	for (uint32_t own = 0; own < ordering->left; own++)
		if (!(variance(ordering, ordering->unplaced[own]) > DETERMINED))
			return sn_fail(error, SN_ERR_ARGUMENT,
				       "other columns determine column %u: no residual is left to "
				       "tell its causes by",
				       ordering->unplaced[own] + 1);
	return 0;
}

static int order_all(struct ordering *ordering, uint32_t *order, struct sn_error *error)
{
	unsigned threads = sn_pool_threads(ordering->options->threads);
	int result = 0;
	for (uint32_t step = 0; !result && step < ordering->count; step++) {
		result = refuse_determined(ordering, error);
		result = result ? result : choose_next(ordering, threads, &order[step], error);
		result = result ? result : place(ordering, threads, order[step]);
	}
	return result;
}

static int find_order(const double *columns, const double *correlations, uint32_t count,
		      size_t rows, const struct sn_lingam_options *options, uint32_t *order,
		      struct sn_error *error)
{
	size_t cells = (size_t)count * count;
	struct ordering ordering = {
	    .options = options, .count = count, .left = count, .rows = rows};
	ordering.columns = malloc(count * rows * sizeof(double));
	ordering.products = malloc(cells * sizeof(double));
	ordering.scratch = malloc(sn_pool_threads(options->threads) * rows * sizeof(double));
	ordering.entropies = calloc(count, sizeof(double));
	ordering.unplaced = malloc(count * sizeof(uint32_t));
	ordering.is_candidate = calloc(count, sizeof(bool));
	ordering.is_placed = calloc(count, sizeof(bool));
	ordering.against = calloc(count, sizeof(double));
	ordering.differences = malloc(cells * sizeof(*ordering.differences));
	int result = SN_ERR_MEMORY;
	if (ordering.columns && ordering.products && ordering.scratch && ordering.entropies &&
	    ordering.unplaced && ordering.is_candidate && ordering.against &&
	    ordering.differences) {
		memcpy(ordering.columns, columns, count * rows * sizeof(double));
		memcpy(ordering.products, correlations, cells * sizeof(double));
		for (uint32_t variable = 0; variable < count; variable++)
			ordering.unplaced[variable] = variable;
		result = order_all(&ordering, order, error);
	}
	free(ordering.columns);
	free(ordering.products);
	free(ordering.scratch);
	free(ordering.entropies);
	free(ordering.unplaced);
	free(ordering.is_candidate);
	free(ordering.is_placed);
	free(ordering.against);
	free(ordering.differences);
	return result;
}

/* ---- effects, given the order ---- */

struct regressing {
	struct sn_lingam *lingam;
	const struct sn_lingam_options *options;
	const double *correlations, *lengths; /* of each column: the root of its sum of squares */
	size_t rows;
	double *factor, *inverse; /* triangles */
	double *probabilities;	  /* count x count, of coefficients of all earlier ones */
	uint32_t *chosen;
	bool *is_cause; /* count x count: row `to` */
};

/* The inverse of a triangle's first rows. */
static void invert(const double *factor, uint32_t rows, double *inverse)
{
	for (uint32_t row = 0; row < rows; row++) {
		double own = factor[sn_cholesky_at(row, row)];
		for (uint32_t column = 0; column < row; column++) {
			double sum = 0;
			for (uint32_t place = column; place < row; place++)
				sum -= factor[sn_cholesky_at(row, place)] *
				       inverse[sn_cholesky_at(place, column)];
			inverse[sn_cholesky_at(row, column)] = sum * own;
		}
		inverse[sn_cholesky_at(row, row)] = own;
	}
}

/* Of the row's dimension on those before it: the coefficient of one of them and its standard error. */
static double coefficient(const struct regressing *of, uint32_t row, uint32_t column,
			  double *deviation)
{
	double value = 0, square = 0, reciprocal = of->factor[sn_cholesky_at(row, row)];
	for (uint32_t place = column; place < row; place++) {
		double cell = of->inverse[sn_cholesky_at(place, column)];
		value += cell * of->factor[sn_cholesky_at(row, place)];
		square += cell * cell;
	}
	double degrees = fmax(1, (double)of->rows - row - 1);
	*deviation = sqrt(square / degrees) / reciprocal;
	return value;
}

static void factorize(const struct regressing *of, uint32_t rows)
{
	const struct sn_cholesky cholesky = {of->correlations, of->lingam->count, of->chosen,
					     of->factor};
	for (uint32_t row = 0; row < rows; row++)
		if (sn_cholesky_add(&cholesky, row) <= SN_CHOLESKY_NOTHING)
			of->factor[sn_cholesky_at(row, row)] = 1 / sqrt(SN_CHOLESKY_NOTHING);
}

/* Which earlier ones are causes, by their coefficients beside those of all earlier ones. */
static void find_causes(struct regressing *of, double *room)
{
	uint32_t count = of->lingam->count;
	size_t tests = 0;
	memcpy(of->chosen, of->lingam->order, count * sizeof(*of->chosen));
	factorize(of, count);
	invert(of->factor, count, of->inverse);
	for (uint32_t row = 0; row < count; row++)
		for (uint32_t column = 0; column < row; column++) {
			double deviation, value = coefficient(of, row, column, &deviation);
			uint32_t from = of->chosen[column], to = of->chosen[row];
			double probability = sn_normal_two_sided(value / deviation);
			of->probabilities[(size_t)to * count + from] = probability;
			if (sn_knowledge_allows(of->options->knowledge, from, to))
				room[tests++] = probability;
		}
	double most = sn_discovery_threshold(room, tests, of->options->discovery_rate);
	for (uint32_t row = 0; row < count; row++)
		for (uint32_t column = 0; column < row; column++) {
			uint32_t from = of->lingam->order[column], to = of->lingam->order[row];
			size_t cell = (size_t)to * count + from;
			of->is_cause[cell] =
			    sn_knowledge_requires(of->options->knowledge, from, to) ||
			    (of->probabilities[cell] <= most &&
			     sn_knowledge_allows(of->options->knowledge, from, to));
		}
}

static void measure(struct regressing *of, uint32_t to)
{
	struct sn_lingam *lingam = of->lingam;
	uint32_t count = lingam->count, causes = 0;
	for (uint32_t from = 0; from < count; from++)
		if (of->is_cause[(size_t)to * count + from])
			of->chosen[causes++] = from;
	of->chosen[causes] = to;
	factorize(of, causes + 1);
	invert(of->factor, causes, of->inverse);
	for (uint32_t column = 0; column < causes; column++) {
		size_t cell = (size_t)to * count + of->chosen[column];
		double unit = of->lengths[to] / of->lengths[of->chosen[column]], deviation;
		lingam->effects[cell] = unit * coefficient(of, causes, column, &deviation);
		lingam->deviations[cell] = unit * deviation;
	}
}

static int find_effects(struct sn_lingam *lingam, const double *correlations, const double *lengths,
			size_t rows, const struct sn_lingam_options *options)
{
	uint32_t count = lingam->count;
	size_t cells = (size_t)count * count, triangle = sn_cholesky_at(count, 0);
	struct regressing of = {.lingam = lingam,
				.options = options,
				.correlations = correlations,
				.lengths = lengths,
				.rows = rows};
	of.factor = malloc(triangle * sizeof(double));
	of.inverse = malloc(triangle * sizeof(double));
	of.probabilities = malloc(cells * sizeof(double));
	of.chosen = malloc(count * sizeof(uint32_t));
	of.is_cause = calloc(cells, sizeof(bool));
	double *room = malloc(cells * sizeof(double));
	int result = SN_ERR_MEMORY;
	if (of.factor && of.inverse && of.probabilities && of.chosen && of.is_cause && room) {
		find_causes(&of, room);
		for (uint32_t to = 0; to < count; to++)
			measure(&of, to);
		result = 0;
	}
	free(of.factor);
	free(of.inverse);
	free(of.probabilities);
	free(of.chosen);
	free(of.is_cause);
	free(room);
	return result;
}

/* ---- what is assumed ---- */

/* Of variance 1; what its causes do not explain. */
static void make_residual(const struct sn_lingam *lingam, const double *columns,
			  const double *lengths, size_t rows, uint32_t to, double *residual)
{
	double squares = 0;
	memcpy(residual, columns + to * rows, rows * sizeof(*residual));
	for (uint32_t from = 0; from < lingam->count; from++) {
		double effect = lingam->effects[(size_t)to * lingam->count + from] * lengths[from] /
				lengths[to];
		for (size_t row = 0; effect != 0 && row < rows; row++)
			residual[row] -= effect * columns[from * rows + row];
	}
	for (size_t row = 0; row < rows; row++)
		squares += residual[row] * residual[row];
	for (size_t row = 0; row < rows; row++)
		residual[row] *= sqrt((double)rows / squares);
}

/* Sum of squares 1, and without what is linear in the residual: what is estimated of that does not count then. */
static void make_independent(const double *residual, size_t rows, double *values)
{
	double mean = 0, product = 0, squares = 0;
	for (size_t row = 0; row < rows; row++) {
		mean += values[row] / (double)rows;
		product += values[row] * residual[row] / (double)rows;
	}
	for (size_t row = 0; row < rows; row++) {
		values[row] -= mean + product * residual[row];
		squares += values[row] * values[row];
	}
	for (size_t row = 0; row < rows; row++)
		values[row] = squares > 1e-20 ? values[row] / sqrt(squares) : 0;
}

/* Of each residual its bounded value and its bounded size. */
static void bound(const double *residual, size_t rows, double *values, double *sizes)
{
	for (size_t row = 0; row < rows; row++) {
		values[row] = tanh(residual[row]);
		sizes[row] = values[row] * values[row];
	}
	make_independent(residual, rows, values);
	make_independent(residual, rows, sizes);
}

static uint32_t count_dependent(const double *correlations, uint32_t count, size_t rows,
				double rate, double *room)
{
	size_t pairs = 0, width = 2 * (size_t)count;
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < a; b++) {
			double most = 0;
			for (int which = 0; which < 4; which++)
				most = fmax(most, fabs(correlations[(2 * a + which / 2) * width +
								    2 * b + which % 2]));
			/* four tests of each */
			room[pairs++] = fmin(1, 4 * sn_normal_two_sided(most * sqrt((double)rows)));
		}
	uint32_t dependent = 0;
	double threshold = sn_discovery_threshold(room, pairs, rate);
	while (dependent < pairs && room[dependent] <= threshold)
		dependent++;
	return dependent;
}

static int test(struct sn_lingam *lingam, const double *columns, const double *lengths, size_t rows,
		const struct sn_lingam_options *options)
{
	uint32_t count = lingam->count, width = 2 * count;
	double *bounded = malloc(width * rows * sizeof(double));
	double *residual = malloc(rows * sizeof(double));
	double *correlations = malloc((size_t)width * width * sizeof(double));
	int result = bounded && residual && correlations ? 0 : SN_ERR_MEMORY;
	for (uint32_t variable = 0; !result && variable < count; variable++) {
		double *values = bounded + 2 * variable * rows;
		make_residual(lingam, columns, lengths, rows, variable, residual);
		bound(residual, rows, values, values + rows);
		lingam->normal_probability[variable] = sn_normal_probability(residual, rows);
	}
	if (!result) {
		sn_products(bounded, rows, width, rows, correlations);
		lingam->dependent_pairs =
		    count_dependent(correlations, count, rows, options->discovery_rate, bounded);
		memcpy(bounded, lingam->normal_probability, count * sizeof(double));
		double most = sn_discovery_threshold(bounded, count, options->discovery_rate);
		for (uint32_t variable = 0; variable < count; variable++) {
			bool is_not_normal = lingam->normal_probability[variable] <= most;
			lingam->is_not_normal[variable] = is_not_normal;
			lingam->not_normal += is_not_normal;
		}
	}
	free(bounded);
	free(residual);
	free(correlations);
	return result;
}

/* ---- all of it ---- */

void sn_lingam_release(struct sn_lingam *lingam)
{
	free(lingam->order);
	free(lingam->effects);
	free(lingam->deviations);
	free(lingam->normal_probability);
	free(lingam->is_not_normal);
	*lingam = (struct sn_lingam){0};
}

static int make_room(struct sn_lingam *lingam, uint32_t count)
{
	size_t cells = (size_t)count * count;
	*lingam = (struct sn_lingam){.count = count};
	lingam->order = calloc(count + 1, sizeof(*lingam->order));
	lingam->effects = calloc(cells + 1, sizeof(*lingam->effects));
	lingam->deviations = calloc(cells + 1, sizeof(*lingam->deviations));
	lingam->normal_probability = calloc(count + 1, sizeof(*lingam->normal_probability));
	lingam->is_not_normal = calloc(count + 1, sizeof(*lingam->is_not_normal));
	return lingam->order && lingam->effects && lingam->deviations &&
		       lingam->normal_probability && lingam->is_not_normal
		   ? 0
		   : SN_ERR_MEMORY;
}

/* Mean 0 and sum of squares 1. */
static void normalize(const double *values, uint32_t count, size_t rows, double *columns,
		      double *lengths)
{
	for (uint32_t variable = 0; variable < count; variable++) {
		const double *from = values + variable * rows;
		double *to = columns + variable * rows, mean = 0, squares = 0;
		for (size_t row = 0; row < rows; row++)
			mean += from[row] / (double)rows;
		for (size_t row = 0; row < rows; row++) {
			to[row] = from[row] - mean;
			squares += to[row] * to[row];
		}
		lengths[variable] = sqrt(squares);
		for (size_t row = 0; row < rows; row++)
			to[row] /= lengths[variable];
	}
}

int sn_lingam(struct sn_lingam *lingam, const double *values, uint32_t count, size_t rows,
	      const struct sn_lingam_options *options, struct sn_error *error)
{
	int result = make_room(lingam, count);
	if (!result && (count < 2 || rows <= count || rows < 10))
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "directions by residuals need two columns, and more rows than "
			       "columns and than 9: there are %u columns and %zu rows",
			       count, rows);
	double *columns = malloc(count * rows * sizeof(double) + 1);
	double *lengths = malloc(count * sizeof(double) + 1);
	double *correlations = malloc((size_t)count * count * sizeof(double) + 1);
	if (!columns || !lengths || !correlations)
		result = SN_ERR_MEMORY;
	if (!result) {
		normalize(values, count, rows, columns, lengths);
		sn_products(columns, rows, count, rows, correlations);
	}
	if (!result)
		result =
		    find_order(columns, correlations, count, rows, options, lingam->order, error);
	if (!result)
		result = find_effects(lingam, correlations, lengths, rows, options);
	result = result ? result : test(lingam, columns, lengths, rows, options);
	free(columns);
	free(lengths);
	free(correlations);
	return sn_fail_code(error, result);
}
