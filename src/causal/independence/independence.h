/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two variables say nothing of each other once others are known: a test, as a function of what is asked. fisher.h has the test of
 * numbers, contingency.h that of categories, blocks.h that of numbers and categories together.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a test: without memory; and there is none, as a variable has nothing left that the given ones do not determine. */
#define SN_INDEPENDENCE_MEMORY	(-1.0)
#define SN_INDEPENDENCE_UNKNOWN 0.0

struct sn_independence {
	/*
	 * The probability that independent variables depend at least as much as a and b do, with `given`, in ascending order, held:
	 * a small one speaks against independence. Where nothing can be tested it is SN_INDEPENDENCE_UNKNOWN, so that a
	 * test that was not done never separates variables. SN_INDEPENDENCE_MEMORY without memory. MT: one thread for each
	 * `context`.
	 */
	double (*of)(void *context, uint32_t a, uint32_t b, const uint32_t *given, uint32_t count);
	/* As sn_independence_most(), where that can be had for less than one `of` for each set; else NULL. */
	double (*most)(void *context, uint32_t a, uint32_t b, const uint32_t *among, uint32_t count,
		       uint32_t size, double alpha);
	uint32_t given_most; /* the data allows no test with more held */
	void *context;
};

/*
 * The largest probability over all sets of `size` of the `count` variables `among`, which are in ascending order; 1 as soon as one of them
 * is above `alpha`; SN_INDEPENDENCE_UNKNOWN where there is no set; SN_INDEPENDENCE_MEMORY without memory. MT: as `of`.
 */
double sn_independence_most(const struct sn_independence *test, uint32_t a, uint32_t b,
			    const uint32_t *among, uint32_t count, uint32_t size, double alpha);

/* The sets of a size as ascending places 0 .. count - 1, in lexicographic order: the first one, and the one after. False: there is none. */
static inline bool sn_subset_first(uint32_t *places, uint32_t size, uint32_t count)
{
	for (uint32_t place = 0; place < size; place++)
		places[place] = place;
	return size <= count;
}

static inline bool sn_subset_next(uint32_t *places, uint32_t size, uint32_t count)
{
	uint32_t moved = size;
	while (moved > 0 && places[moved - 1] == count - size + moved - 1)
		moved--;
	if (!moved)
		return false;
	places[moved - 1]++;
	for (uint32_t place = moved; place < size; place++)
		places[place] = places[place - 1] + 1;
	return true;
}
