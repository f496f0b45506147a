/* SPDX-License-Identifier: Apache-2.0 */
/* Which of many tests say something. */
#pragma once

#include <stddef.h>

/* The largest probability that counts as a discovery, at that rate of false ones among them, or a negative number: none does. Sorts the
 * probabilities. Benjamini and Hochberg, "Controlling the false discovery rate" (1995), section 3.1. */
double sn_discovery_threshold(double *probabilities, size_t count, double rate);

/* The probability that `rows` normal values of unknown mean and variance differ from the normal distribution as much as these, by the statistic
 * of Anderson and Darling. Sorts and changes them. D'Agostino and Stephens, "Goodness-of-fit techniques" (1986), table 4.9. At least 8
 * values, not all the same. */
double sn_normal_probability(double *values, size_t rows);

/* The value that Student's variable exceeds with a probability of 2.5 %. Exact for 1 and 2 degrees of freedom; else by the expansion of
 * Abramowitz and Stegun, "Handbook of mathematical functions" (1964), 26.7.5, whose relative error is below 0.2 %. */
double sn_student_975(double degrees);
