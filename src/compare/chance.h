/* SPDX-License-Identifier: Apache-2.0 */
/* How likely chance alone makes counts differ so far. All probabilities are two-sided. */
#pragma once

/* Of a + b events each is one of the first with the probability `part`: that one side has as few or fewer, doubled. Counts of two Poisson processes whose exposures are as part to 1 - part (Przyborowski and
 * Wilenski, "Homogeneity of results in testing samples from Poisson series", 1940). Exact for whole counts up to 1e9 together, to which others are rounded. */
double sn_chance_of_split(double a, double b, double part);

/* a of all_a and b of all_b are of one kind, as likely on both sides: Fisher's exact test, the smaller tail doubled. Likewise. */
double sn_chance_of_shares(double a, double all_a, double b, double all_b);

/* Student's variable of so many degrees of freedom, above 0, is beyond +-t: the incomplete beta function's continued fraction, NIST Digital Library of Mathematical Functions, 8.17.22. */
double sn_chance_of_student(double t, double degrees);
