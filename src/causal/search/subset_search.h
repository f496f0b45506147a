/* SPDX-License-Identifier: Apache-2.0 */
/* A search over orders of some of the variables; the others keep no edge. */
#pragma once

#include "order_search.h"

/* As sn_order_search(), of the variables that have a bit; NULL: of all. The score is that of all variables. */
int sn_subset_search(const struct sn_order_search *search, const uint64_t *among,
		     struct sn_pdag *graph, double *score);
