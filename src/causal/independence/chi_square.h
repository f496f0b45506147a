/* SPDX-License-Identifier: Apache-2.0 */
/* The chi-square distribution's tail. */
#pragma once

/*
 * The probability that a chi-square number of so many degrees of freedom, above 0, is above `value`: the upper incomplete gamma function
 * ratio Q(degrees / 2, value / 2). The relative error is below 1e-12 up to a million degrees, also where the result is next to 0.
 *
 * Below the middle by the series, above it by the continued fraction of the NIST Digital Library of Mathematical Functions, 8.7.1 and
 * 8.9.2, evaluated as Thompson and Barnett, "Coulomb and Bessel functions of complex arguments and order" (1986) do. The factor before
 * both is that of DiDonato and Morris, "Computation of the incomplete gamma function ratios and their inverse" (1986), section 2,
 * so that nothing cancels where there are many degrees.
 */
double sn_chi_square_tail(double value, double degrees);
