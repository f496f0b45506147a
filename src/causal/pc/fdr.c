/* SPDX-License-Identifier: Apache-2.0 */
/* Step-up procedures; see fdr.h. */
#include "fdr.h"

#include "base/sort_by.h"

#include <math.h>

SN_SORT_BY(sort_places, size_t, const double *, SN_ORDER(of[*a], of[*b]) ?: SN_ORDER(*a, *b));

/* 1 + 1/2 + ... + 1/count; from 1,000 on by Euler's constant, with an error below 1e-14. */
static double harmonic(uint64_t count)
{
	double sum = 0;
	if (count >= 1000) {
		double n = (double)count;
		return log(n) + 0.57721566490153286 + 1 / (2 * n) - 1 / (12 * n * n);
	}
	for (uint64_t n = count; n > 0; n--)
		sum += 1 / (double)n;
	return sum;
}

int sn_fdr_adjust(double *probabilities, size_t count, uint64_t tests, enum sn_fdr rule)
{
	size_t *places = malloc((count + 1) * sizeof(*places));
	double factor = (double)tests * (rule == SN_FDR_ANY ? harmonic(tests) : 1), least = 1;
	if (!places)
		return SN_ERR_MEMORY;
	for (size_t place = 0; place < count; place++)
		places[place] = place;
	sort_places(places, count, probabilities);
	for (size_t rank = count; rank > 0; rank--) {
		double *probability = &probabilities[places[rank - 1]];
		least = fmin(least, *probability * factor / (double)rank);
		*probability = least;
	}
	free(places);
	return 0;
}
