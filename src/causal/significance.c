/* SPDX-License-Identifier: Apache-2.0 */
/* Tests and their thresholds; see significance.h. */
#include "significance.h"

#include "base/sort_by.h"

#include <math.h>

SN_SORT_BY(sort_numbers, double, const void *, SN_ORDER(*a, *b));

double sn_discovery_threshold(double *probabilities, size_t count, double rate)
{
	double threshold = -1;
	sort_numbers(probabilities, count, NULL);
	for (size_t place = 0; place < count; place++)
		if (probabilities[place] <= rate * (double)(place + 1) / (double)count)
			threshold = probabilities[place];
	return threshold;
}

static void standardize(double *values, size_t rows)
{
	double mean = 0, squares = 0;
	for (size_t row = 0; row < rows; row++)
		mean += values[row] / (double)rows;
	for (size_t row = 0; row < rows; row++)
		squares += (values[row] - mean) * (values[row] - mean);
	for (size_t row = 0; row < rows; row++)
		values[row] = (values[row] - mean) / sqrt(squares / (double)(rows - 1));
}

double sn_normal_probability(double *values, size_t rows)
{
	double sum = 0, count = (double)rows;
	standardize(values, rows);
	sort_numbers(values, rows, NULL);
	for (size_t row = 0; row < rows; row++) {
		/* both tails by erfc, which does not lose them */
		double below = erfc(-values[row] / sqrt(2)) / 2;
		double above = erfc(values[rows - 1 - row] / sqrt(2)) / 2;
		sum +=
		    (2 * (double)row + 1) * (log(fmax(below, 1e-300)) + log(fmax(above, 1e-300)));
	}
	double square = (-count - sum / count) * (1 + 0.75 / count + 2.25 / (count * count));
	if (square < 0.2)
		return 1 - exp(-13.436 + 101.14 * square - 223.73 * square * square);
	if (square < 0.34)
		return 1 - exp(-8.318 + 42.796 * square - 59.938 * square * square);
	if (square < 0.6)
		return exp(0.9177 - 4.279 * square - 1.38 * square * square);
	/* beyond 13 the polynomial turns back */
	square = fmin(square, 13);
	return exp(1.2937 - 5.709 * square + 0.0186 * square * square);
}

double sn_student_975(double degrees)
{
	const double z = 1.959963984540054;
	if (degrees <= 1)
		return 12.706204736432095;
	if (degrees <= 2)
		return 4.302652729911275;
	double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;
	return z + (z3 + z) / 4 / degrees + (5 * z5 + 16 * z3 + 3 * z) / 96 / (degrees * degrees) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384 / pow(degrees, 3) +
	       (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / 92160 / pow(degrees, 4);
}
