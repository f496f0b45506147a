/* SPDX-License-Identifier: Apache-2.0 */
/* Of many tests, which are taken as true so that a stated part of them, at most, is expected to be false. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum sn_fdr {
	/* For independent or positively dependent tests: Benjamini and Hochberg, "Controlling the false discovery rate" (1995). */
	SN_FDR_INDEPENDENT,
	/* However tests depend on each other: Benjamini and Yekutieli, "The control of the false discovery rate in multiple testing
	 * under dependency" (2001), theorem 1.3. Strobl, Spirtes and Visweswaran, "Estimating and controlling the false discovery rate
	 * of the PC algorithm using edge-specific p-values" (2019) take it for a graph's edges, whose probabilities are the largest of
	 * their tests. */
	SN_FDR_ANY,
};

/*
 * Replaces each of `count` probabilities by the least rate at which it is taken, at most 1. `tests` were done, at least `count`; those that are
 * not among the probabilities had larger ones. A rate above the largest of those is an upper bound. 0 or SN_ERR_MEMORY.
 */
int sn_fdr_adjust(double *probabilities, size_t count, uint64_t tests, enum sn_fdr rule);
