/* SPDX-License-Identifier: Apache-2.0 */
/* All sets of one size, one after another; see independence.h. */
#include "independence.h"

#include <stdlib.h>

double sn_independence_most(const struct sn_independence *test, uint32_t a, uint32_t b,
			    const uint32_t *among, uint32_t count, uint32_t size, double alpha)
{
	if (test->most)
		return test->most(test->context, a, b, among, count, size, alpha);
	uint32_t *places = malloc((2 * (size_t)size + 1) * sizeof(*places));
	if (!places)
		return SN_INDEPENDENCE_MEMORY;
	uint32_t *given = places + size;
	double most = SN_INDEPENDENCE_UNKNOWN;
	for (bool more = sn_subset_first(places, size, count); more;
	     more = sn_subset_next(places, size, count)) {
		for (uint32_t place = 0; place < size; place++)
			given[place] = among[places[place]];
		double probability = test->of(test->context, a, b, given, size);
		most = probability < 0 || probability > most ? probability : most;
		if (most < 0 || most > alpha)
			break;
	}
	free(places);
	return most > alpha ? 1 : most;
}
