/* SPDX-License-Identifier: Apache-2.0 */
/* All of it: from a table of observations and what is known of it to a graph, effects, and what they are to be held against. */
#pragma once

#include "effect/adjusted.h"
#include "baselines.h"
#include "discover/discover.h"
#include "prior.h"
#include "repeats.h"
#include "second.h"

#define SN_CAUSAL_SAMPLES	100
#define SN_CAUSAL_SAMPLES_LEAST 20
#define SN_CAUSAL_SAMPLES_MOST	10000
#define SN_CAUSAL_SEED		20260101

struct sn_causal {
	const struct sn_causal_table *table;
	struct sn_prepared prepared;
	struct sn_knowledge knowledge;
	uint32_t target;  /* a variable, or UINT32_MAX */
	uint32_t cluster; /* the column that tells clusters, or UINT32_MAX */
	uint32_t samples;
	struct sn_discovery found;
	struct sn_non_normal non_normal;
	struct sn_adjusted_cause *adjusted; /* of found.totals; NULL without a target of numbers */
	struct sn_pc second;		    /* opinion on the graph */
	struct sn_baseline baselines[SN_BASELINES];
	struct sn_repeats
	    repeats; /* of the target, for whoever calls sn_repeats_find(); freed with the rest */
};

/* `options` has samples, threads, seed and peers, the rest is put in. All peers call with the same data, and rank 0 alone has `second` and
 * `baselines` then. The table must live as long. 0 or a negative enum sn_err, on which peers have agreed but for a lack of memory of rank 0 at
 * the end; release it in either case. */
int sn_causal(struct sn_causal *causal, const struct sn_prior *prior,
	      struct sn_discovery_options options, struct sn_error *error);
void sn_causal_release(struct sn_causal *causal);
