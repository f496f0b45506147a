/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of thousands of variables the few that a search over orders can compare: in all rows, and again in each sample of the rows, what
 * neighbours.h chooses. So the frequency of an edge counts the samples in which one of its ends was not chosen.
 *
 * What is required to cause or to be caused stays, and so do the variables that were set from outside, if they are few.
 */
#pragma once

#include "causal/discover/discover.h"

/* Dimensions that are compared without that, with and without a target. */
#define SN_SCREEN_ABOVE	   200u
#define SN_SEARCHED_MOST   300u
/* Variables set from outside that stay; were they more, they are screened as others are. */
#define SN_SCREEN_SET_MOST 64u

/*
 * Leaves out of the prepared ones those that were chosen neither in all rows nor in a fifth of the samples. *chosen gets, of all rows and of each
 * sample, a row of bits of those that are left; the caller's to free. `options` are those of sn_discover() next, with knowledge
 * of all variables and a target. 0 or SN_ERR_MEMORY.
 */
int sn_screen(struct sn_prepared *prepared, const struct sn_discovery_options *options,
	      uint64_t **chosen);
