/* SPDX-License-Identifier: Apache-2.0 */
/* Normal quantiles by rational approximations; see normal.h. */
#include "normal.h"

#include <math.h>

static double polynomial(const double *factors, double at)
{
	double sum = 0;
	for (int power = 7; power >= 0; power--)
		sum = sum * at + factors[power];
	return sum;
}

/* clang-format off */
static const double middle_above[] = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
	45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727};
static const double middle_below[] = {1, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077, 21213.794301586595867,
	39307.895800092710610, 28729.085735721942674, 5226.4952788528545610};
static const double near_above[] = {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
	1.27045825245236838258, .241780725177450611770, .0227238449892691845833, 7.74545014278341407640e-4};
static const double near_below[] = {1, 2.05319162663775882187, 1.67638483018380384940, .689767334985100004550, .148103976427480074590,
	.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9};
static const double far_above[] = {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, .296560571828504891230,
	.0265321895265761230930, .00124266094738807843860, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
static const double far_below[] = {1, .599832206555887937690, .136929880922735805310, .0148753612908506148525, 7.86869131145613259100e-4,
	1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15};
/* clang-format on */

double sn_normal_quantile(double probability)
{
	double from_middle = probability - 0.5;
	if (fabs(from_middle) <= 0.425) {
		double at = 0.180625 - from_middle * from_middle;
		return from_middle * polynomial(middle_above, at) / polynomial(middle_below, at);
	}
	double tail = sqrt(-log(from_middle < 0 ? probability : 1 - probability));
	double value = tail <= 5
			   ? polynomial(near_above, tail - 1.6) / polynomial(near_below, tail - 1.6)
			   : polynomial(far_above, tail - 5) / polynomial(far_below, tail - 5);
	return from_middle < 0 ? -value : value;
}

double sn_normal_two_sided(double value)
{
	return erfc(fabs(value) / sqrt(2));
}
