/* SPDX-License-Identifier: Apache-2.0 */
/* The normal distribution's quantiles. */
#pragma once

/* The value below which a standard normal number lies with that probability, in (0, 1); relative error below 1e-15. Wichura, "Algorithm AS 241: the
 * percentage points of the normal distribution" (1988), PPND16. */
double sn_normal_quantile(double probability);
/* The probability that a standard normal number is further from 0 than this. */
double sn_normal_two_sided(double value);
