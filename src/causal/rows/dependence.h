/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much less rows say that follow each other and are alike, of each pair of columns.
 *
 * The variance of a correlation is the sum of squares of its influences (Devlin, Gnanadesikan and Kettenring, "Robust estimation and outlier detection with
 * correlation coefficients", Biometrika 62, 1975), summed by rows where these are independent, and by stretches of rows where they are not. So how much
 * larger it is by stretches than by as many sets of rows that were drawn by chance is how many times fewer independent rows would say as much. It is 1 where one of
 * the two differs from row to row by chance, and as many as there are rows in a stretch where both stay the same for as long.
 *
 * What is left of two columns by a third one may change slowly although they do not, as what a sum lacks does of its larger part: so the largest is taken of the
 * pair by itself and of what each other column leaves. Repeats of a configuration are alike in the same way, and are summed as stretches are; where clusters are many, some of them by chance
 * together, which leaves the variance what it is. It is one number for a pair, and graphs of one class keep one score.
 */
#pragma once

#include "clusters.h"

/* Dimensions for which it is found: it takes their third power. */
#define SN_DEPENDENCE_MOST 128u

/* Of dimensions with mean 0 and sum of squares 1, by stretches or other clusters: *dependence gets dimensions x dimensions, each at least 1; the caller's to free. Where it is there
 * already, the larger one of each is kept. 0 or SN_ERR_MEMORY. */
int sn_dependence(const struct sn_clusters *clusters, const double *values, uint32_t dimensions,
		  size_t rows, double **dependence);
