/* SPDX-License-Identifier: Apache-2.0 */
/* The form in which columns are compared. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes the mean 0 and the sum of squares 1, in place; false, and only the mean, where all values are equal. */
static inline bool sn_standardize(double *values, size_t rows)
{
	double mean = 0, squares = 0;
	for (size_t row = 0; row < rows; row++)
		mean += values[row] / (double)rows;
	for (size_t row = 0; row < rows; row++) {
		values[row] -= mean;
		squares += values[row] * values[row];
	}
	for (size_t row = 0; squares > 0 && row < rows; row++)
		values[row] /= sqrt(squares);
	return squares > 0;
}
