/* SPDX-License-Identifier: Apache-2.0 */
/* The upper incomplete gamma function ratio; see chi_square.h. */
#include "chi_square.h"

#include <float.h>
#include <math.h>

/* From here on the first terms of Stirling's series give a gamma function to the last bit. */
#define MANY	   10.0
#define TERMS_MOST 10000000

/* x - log(1 + x), without cancellation where x is small. */
static double above_logarithm(double x)
{
	if (x < -0.3 || x > 0.4)
		return x - log1p(x);
	/* log(1 + x) = 2 (r + r^3 / 3 + r^5 / 5 + ...) and x - 2 r = x r */
	double r = x / (2 + x), square = r * r, power = 1, sum = 0;
	for (int odd = 3; odd < 60; odd += 2) {
		sum += power / odd;
		power *= square;
	}
	return x * r - 2 * square * r * sum;
}

/* The logarithm of what Stirling's formula leaves out of gamma(a). */
static double stirling_rest(double a)
{
	double inverse = 1 / (a * a);
	return (1 / 12.0 +
		inverse *
		    (-1 / 360.0 +
		     inverse * (1 / 1260.0 +
				inverse * (-1 / 1680.0 +
					   inverse * (1 / 1188.0 - inverse * 691 / 360360.0))))) /
	       a;
}

/* x^a e^-x / gamma(a + 1) */
static double factor(double a, double x)
{
	int sign;
	if (a < MANY)
		return exp(a * log(x) - x - lgamma_r(a + 1, &sign));
	return exp(-a * above_logarithm((x - a) / a) - stirling_rest(a)) / sqrt(2 * M_PI * a);
}

/* P(a, x), divided by the factor */
static double below(double a, double x)
{
	double term = 1, sum = 1;
	for (int n = 1; n < TERMS_MOST && term > sum * DBL_EPSILON / 4; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum;
}

/* Q(a, x), divided by the factor and by a */
static double above(double a, double x)
{
	double b = x + 1 - a, c = HUGE_VAL, d = 1 / b, value = d;
	for (int n = 1; n < TERMS_MOST; n++) {
		double an = -n * (n - a);
		b += 2;
		d = 1 / (an * d + b);
		c = b + an / c;
		value *= c * d;
		if (fabs(c * d - 1) < DBL_EPSILON)
			break;
	}
	return value;
}

double sn_chi_square_tail(double value, double degrees)
{
	double a = degrees / 2, x = value / 2;
	if (!(x > 0))
		return 1;
	if (isinf(x))
		return 0;
	if (x < a + 1)
		return 1 - factor(a, x) * below(a, x);
	return factor(a, x) * a * above(a, x);
}
