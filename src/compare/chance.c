/* SPDX-License-Identifier: Apache-2.0 */
/* See chance.h. Tails are added up from their largest term on, each from the one before, until they add nothing. */
#include "chance.h"

#include <math.h>

/* Terms below this part of the sum are nothing; from so many counts on the normal limit is exact enough, and tails have too many terms. */
#define NOTHING 1e-17
#define MANY	1e9

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Of a deviation from the mean. */
static double normal_chance(double apart, double variance)
{
	return variance > 0 ? erfc(fabs(apart) / sqrt(2 * variance)) : 1;
}

/* The probability of `a` or fewer of n. */
static double binomial_tail(double a, double n, double part)
{
	double term = exp(log_choose(n, a) + a * log(part) + (n - a) * log1p(-part)), sum = 0;
	for (double k = a; k >= 0 && term > NOTHING * sum; k--) {
		sum += term;
		term *= k / (n - k + 1) * (1 - part) / part;
	}
	return sum;
}

double sn_chance_of_split(double a, double b, double part)
{
	a = round(a);
	b = round(b);
	if (!(part > 0) || !(part < 1) || !(a + b > 0))
		return 1;
	if (a + b > MANY)
		return normal_chance(a - (a + b) * part, (a + b) * part * (1 - part));
	double tail =
	    a < (a + b) * part ? binomial_tail(a, a + b, part) : binomial_tail(b, a + b, 1 - part);
	return fmin(1, 2 * tail);
}

/* The probability that `a` or fewer of the all_a draws are of the kind that `kind` of all `all` are. */
static double hypergeometric_tail(double a, double all_a, double kind, double all)
{
	double least = fmax(0, all_a + kind - all), sum = 0;
	double term =
	    exp(log_choose(kind, a) + log_choose(all - kind, all_a - a) - log_choose(all, all_a));
	for (double k = a; k >= least && term > NOTHING * sum; k--) {
		sum += term;
		term *= k * (all - kind - all_a + k) / ((kind - k + 1) * (all_a - k + 1));
	}
	return sum;
}

double sn_chance_of_shares(double a, double all_a, double b, double all_b)
{
	a = round(a);
	b = round(b);
	all_a = fmax(a, round(all_a));
	all_b = fmax(b, round(all_b));
	double kind = a + b, all = all_a + all_b;
	if (!(all_a > 0) || !(all_b > 0) || !(kind > 0))
		return 1;
	if (all > MANY)
		return normal_chance(a - kind * all_a / all,
				     kind * all_a / all * (1 - kind / all) * (all_b / all));
	double tail = a * all < kind * all_a ? hypergeometric_tail(a, all_a, kind, all)
					     : hypergeometric_tail(b, all_b, kind, all);
	return fmin(1, 2 * tail);
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	d = 1 / (fabs(d) < tiny ? tiny : d);
	double value = d;
	for (int m = 1; m <= 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double before = value;
		for (int part = 0; part < 2; part++) {
			double step = part ? odd : even;
			d = 1 + step * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + step / c;
			c = fabs(c) < tiny ? tiny : c;
			value *= c * d;
		}
		if (fabs(value - before) < 1e-15 * fabs(value))
			break;
	}
	return value;
}

/* The regularized incomplete beta function. */
static double incomplete_beta(double x, double a, double b)
{
	if (!(x > 0) || x >= 1)
		return x >= 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
					 : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double sn_chance_of_student(double t, double degrees)
{
	return incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5);
}
