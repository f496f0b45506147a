/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted least squares over the steps that have values, and their division where the mean changes. */
#include "series.h"

#include "base/error.h"
#include "base/sort.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

/* ---- Student's t ---- */

/* Continued fraction of the incomplete beta function, by Lentz's method (Press et al., Numerical Recipes, 6.4). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), result;
	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	result = d;
	for (int m = 1; m < 300; m++) {
		for (int odd = 0; odd < 2; odd++) {
			double factor =
			    odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
				: m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
			d = 1 + factor * d;
			c = 1 + factor / c;
			d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
			c = fabs(c) < 1e-300 ? 1e-300 : c;
			result *= d * c;
		}
		if (fabs(d * c - 1) < 1e-14)
			break;
	}
	return result;
}

static double incomplete_beta(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Two-sided p of Student's t. */
static double p_of_t(double t, double freedom)
{
	return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* The t whose two-sided p is 5 %. */
static double t_of_interval(double freedom)
{
	double low = 1, high = 1e4;
	for (int i = 0; i < 80; i++) {
		double middle = (low + high) / 2;
		*(p_of_t(middle, freedom) > 0.05 ? &low : &high) = middle;
	}
	return high;
}

static struct sn_estimate estimate(double value, double error, double freedom)
{
	struct sn_estimate result = {.value = value, .low = value, .high = value, .p = 1};
	if (freedom < 2)
		return result;
	double t = t_of_interval(freedom);
	result.is_known = true;
	result.low = value - t * error;
	result.high = value + t * error;
	/* what rounding leaves of a constant is no difference */
	result.p = error > 1e-12 ? p_of_t(value / error, freedom) : fabs(value) > 1e-9 ? 0 : 1;
	return result;
}

/* ---- least squares ---- */

/* Correlation of successive residuals, scaled to one variance by their weights; negative counts as none, which is on the safe side. */
static double correlation(const double *residuals, size_t count)
{
	double products = 0, squares = 0;
	for (size_t i = 0; i < count; i++) {
		squares += residuals[i] * residuals[i];
		products += i ? residuals[i] * residuals[i - 1] : 0;
	}
	double result = squares > 0 ? products / squares : 0;
	/* the estimate of few values is too small, by some 4 / n */
	result += 4.0 / (double)count * (result > 0);
	return result < 0 ? 0 : result > 0.95 ? 0.95 : result;
}

struct fit {
	double count, weight, x_mean, y_mean, xx, xy, slope;
	double first, last; /* steps with values */
	double variance;    /* of a value of weight 1 */
	double inflation;   /* of the variance of an estimate, since successive steps are alike */
};

static bool fit_line(const struct sn_series_step *steps, size_t count, bool has_slope,
		     struct fit *fit)
{
	double *residuals = malloc((count + 1) * sizeof(*residuals));
	size_t used = 0;
	*fit = (struct fit){.first = -1};
	for (size_t i = 0; i < count; i++) {
		if (!(steps[i].count > 0))
			continue;
		fit->count++;
		fit->weight += steps[i].count;
		fit->x_mean += steps[i].count * (double)i;
		fit->y_mean += steps[i].count * steps[i].mean;
		fit->first = fit->first < 0 ? (double)i : fit->first;
		fit->last = (double)i;
	}
	if (!residuals || fit->count < SN_STEPS_LEAST) {
		free(residuals);
		return false;
	}
	fit->x_mean /= fit->weight;
	fit->y_mean /= fit->weight;
	for (size_t i = 0; i < count; i++) {
		double x = (double)i - fit->x_mean;
		fit->xx += steps[i].count * x * x;
		fit->xy +=
		    steps[i].count > 0 ? steps[i].count * x * (steps[i].mean - fit->y_mean) : 0;
	}
	fit->slope = has_slope ? fit->xy / fit->xx : 0;
	for (size_t i = 0; i < count; i++) {
		if (!(steps[i].count > 0))
			continue;
		double residual =
		    steps[i].mean - fit->y_mean - fit->slope * ((double)i - fit->x_mean);
		residuals[used] = residual * sqrt(steps[i].count);
		fit->variance += residuals[used] * residuals[used];
		used++;
	}
	fit->variance /= fit->count - 1 - has_slope;
	double rho = correlation(residuals, used);
	fit->inflation = (1 + rho) / (1 - rho);
	free(residuals);
	return true;
}

struct sn_drift sn_steps_drift(const struct sn_series_step *steps, size_t count)
{
	struct sn_drift drift = {{.p = 1}};
	struct fit fit;
	if (!fit_line(steps, count, true, &fit))
		return drift;
	double span = fit.last - fit.first;
	double freedom = (fit.count - 2) / fit.inflation;
	drift.whole =
	    estimate(fit.slope * span, span * sqrt(fit.variance * fit.inflation / fit.xx), freedom);
	return drift;
}

struct sn_estimate sn_steps_mean(const struct sn_series_step *steps, size_t count)
{
	struct fit fit;
	if (!fit_line(steps, count, false, &fit))
		return (struct sn_estimate){.p = 1};
	return estimate(fit.y_mean, sqrt(fit.variance * fit.inflation / fit.weight),
			(fit.count - 1) / fit.inflation);
}

/* ---- changes ---- */

/* What adding up leaves of the squares of equal numbers. */
#define ROUNDING 1e-12

/* The steps with values, packed, with sums before each. */
struct packed {
	size_t *steps;
	double *weights, *sums, *squares, *plain; /* before each; of all at [count] */
	double *means;
	size_t count;
	double variance; /* long-run, of a value of weight 1 */
	double penalty, least;
	struct sn_changes *changes;
};

/* Squares of the differences of means at a distance, in units of the variance of one value of weight 1: their mean without the twentieth
 * that is greatest, which of normal ones is 0.7588 of the mean of all. */
static double difference_variance(const struct packed *packed, size_t distance, double *space)
{
	size_t count = packed->count - distance, kept = count - count / 20;
	double sum = 0;
	for (size_t i = 0; i < count; i++) {
		double left = packed->weights[i + 1] - packed->weights[i];
		double right = packed->weights[i + distance + 1] - packed->weights[i + distance];
		space[i] = fabs(packed->means[i + distance] - packed->means[i]) /
			   sqrt(1 / left + 1 / right);
	}
	sn_sort_doubles(space, count);
	for (size_t i = 0; i < kept; i++)
		sum += space[i] * space[i];
	return sum / (double)kept / (kept < count ? 0.7588 : 1);
}

/* Of AR(1) with variance v, differences at distance one have 2 v (1 - r) and those at two 2 v (1 - r^2). */
static void measure_variance(struct packed *packed, double *space)
{
	double one = difference_variance(packed, 1, space),
	       two = difference_variance(packed, 2, space);
	double rho = one > 0 ? two / one - 1 : 0;
	rho = rho < 0 ? 0 : rho > 0.9 ? 0.9 : rho;
	packed->variance = one / (1 - rho) * (1 + rho) / (1 - rho);
}

static double part_squares(const struct packed *packed, size_t from, size_t to)
{
	double weight = packed->weights[to] - packed->weights[from],
	       sum = packed->sums[to] - packed->sums[from];
	return packed->squares[to] - packed->squares[from] - sum * sum / weight;
}

static double part_mean(const struct packed *packed, const double *sums, size_t from, size_t to)
{
	return (sums[to] - sums[from]) / (packed->weights[to] - packed->weights[from]);
}

/* The parts whose squares and penalties add up to the least, by the best last part for each number of steps. `space` is for the least sums,
 * `lasts` for where the last part begins. */
static void divide(struct packed *packed, double *space, size_t *lasts)
{
	double penalty = packed->penalty * packed->variance;
	double rounding = ROUNDING * packed->squares[packed->count];
	struct sn_changes *changes = packed->changes;
	space[0] = -penalty;
	for (size_t to = 1; to <= packed->count; to++) {
		space[to] = INFINITY;
		for (size_t from = 0; from + SN_CHANGE_STEPS <= to; from++) {
			double sum =
			    space[from] + part_squares(packed, from, to) + penalty + rounding;
			if (sum < space[to]) {
				space[to] = sum;
				lasts[to] = from;
			}
		}
	}
	size_t count = 0;
	for (size_t to = lasts[packed->count]; to; to = lasts[to])
		count++;
	changes->count = count <= SN_CHANGES ? count : 0;
	for (size_t to = lasts[packed->count], i = changes->count; i; to = lasts[to])
		changes->items[--i].step = to;
}

/* Whether a straight line explains the means at least as well as the changes do, of which each costs as much as two slopes. */
static bool is_line(const struct packed *packed)
{
	double x_mean = 0, xx = 0, xy = 0,
	       y_mean = part_mean(packed, packed->sums, 0, packed->count), parts = 0;
	for (size_t i = 0; i < packed->count; i++)
		x_mean += (packed->weights[i + 1] - packed->weights[i]) * (double)packed->steps[i] /
			  packed->weights[packed->count];
	for (size_t i = 0; i < packed->count; i++) {
		double weight = packed->weights[i + 1] - packed->weights[i],
		       x = (double)packed->steps[i] - x_mean;
		xx += weight * x * x;
		xy += weight * x * (packed->means[i] - y_mean);
	}
	double line = part_squares(packed, 0, packed->count) - xy * xy / xx;
	for (size_t i = 0, from = 0; i <= packed->changes->count; i++) {
		size_t to =
		    i < packed->changes->count ? packed->changes->items[i].step : packed->count;
		parts += part_squares(packed, from, to);
		from = to;
	}
	double penalty = packed->penalty * packed->variance;
	return line + penalty / 2 <= parts + penalty * (double)packed->changes->count;
}

static void measure_differences(struct packed *packed)
{
	struct sn_changes *changes = packed->changes;
	for (size_t i = 0; i < changes->count; i++) {
		size_t from = i ? changes->items[i - 1].step : 0, at = changes->items[i].step;
		size_t to = i + 1 < changes->count ? changes->items[i + 1].step : packed->count;
		changes->items[i].difference = part_mean(packed, packed->plain, at, to) -
					       part_mean(packed, packed->plain, from, at);
	}
}

/* Without those that are too small, the smallest first; positions become steps. */
static void finish(struct packed *packed)
{
	struct sn_changes *changes = packed->changes;
	measure_differences(packed);
	while (changes->count) {
		size_t least = 0;
		for (size_t i = 1; i < changes->count; i++)
			if (fabs(changes->items[i].difference) <
			    fabs(changes->items[least].difference))
				least = i;
		if (fabs(changes->items[least].difference) >= packed->least)
			break;
		changes->count--;
		memmove(changes->items + least, changes->items + least + 1,
			(changes->count - least) * sizeof(*changes->items));
		measure_differences(packed);
	}
	for (size_t i = 0; i < changes->count; i++)
		changes->items[i].step = packed->steps[changes->items[i].step];
}

int sn_steps_changes(const struct sn_series_step *steps, size_t count, double least,
		     struct sn_changes *changes)
{
	*changes = (struct sn_changes){.count = 0};
	double *space = calloc(6 * (count + 1), sizeof(*space));
	struct packed packed = {
	    .steps = calloc(count + 1, sizeof(size_t)), .least = least, .changes = changes};
	size_t *lasts = calloc(count + 1, sizeof(*lasts));
	if (!space || !packed.steps || !lasts) {
		free(space);
		free(packed.steps);
		free(lasts);
		return SN_ERR_MEMORY;
	}
	double **parts[] = {&packed.weights, &packed.sums, &packed.squares, &packed.plain,
			    &packed.means};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		*parts[i] = space + (i + 1) * (count + 1);
	for (size_t i = 0; i < count; i++) {
		const struct sn_series_step *one = steps + i;
		size_t n = packed.count;
		if (!(one->count > 0))
			continue;
		packed.steps[n] = i;
		packed.means[n] = one->mean;
		packed.weights[n + 1] = packed.weights[n] + one->count;
		packed.sums[n + 1] = packed.sums[n] + one->count * one->mean;
		packed.squares[n + 1] = packed.squares[n] + one->count * one->mean * one->mean;
		packed.plain[n + 1] = packed.plain[n] + one->count * one->plain_mean;
		packed.count++;
	}
	if (packed.count >= SN_STEPS_LEAST) {
		measure_variance(&packed, space);
		packed.penalty = 4 * log((double)packed.count);
		divide(&packed, space, lasts);
		if (changes->count && is_line(&packed))
			changes->count = 0;
		finish(&packed);
	}
	free(space);
	free(packed.steps);
	free(lasts);
	return 0;
}

double sn_false_discovery_limit(const double *p, size_t count, double rate)
{
	double *sorted = malloc((count + 1) * sizeof(*sorted)), limit = -1;
	if (!sorted)
		return -1;
	for (size_t i = 0; i < count; i++)
		sorted[i] = p[i];
	sn_sort_doubles(sorted, count);
	for (size_t i = 0; i < count; i++)
		if (sorted[i] <= rate * (double)(i + 1) / (double)count)
			limit = sorted[i];
	free(sorted);
	return limit;
}
