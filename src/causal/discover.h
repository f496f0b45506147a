/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From prepared columns to a causal graph and how sure it is: the graph of all rows, and one of each of many samples of the rows, drawn with
 * replacement. What share of those have an edge, direct it so, and give its effect that sign is how often it would be found again.
 *
 * An effect is that of one standard deviation of the cause, in standard deviations of what it causes, with its other causes held: of columns
 * as they were prepared. A category of text has none.
 */
#pragma once

#include "pdag.h"
#include "prepare.h"

struct sn_discovery_options {
	const struct sn_knowledge *knowledge; /* of the prepared variables; or NULL */
	uint32_t samples;		      /* of the rows; 100 is usual */
	unsigned threads;		      /* 0: one for each processor */
	uint64_t seed; /* the same gives the same, with any number of threads */
};

struct sn_causal_edge {
	uint32_t from, to; /* variables; the more frequent direction */
	bool is_directed;  /* in at least half of the samples that have the edge */
	double frequency;  /* of the samples: that have the edge, in any direction */
	double
	    directed; /* of the samples: from -> to; and the other way round; in the rest it is not known */
	double reversed;
	double effect, effect_low,
	    effect_high;  /* the median, and the 2.5th and 97.5th percentile; NAN: none */
	double same_sign; /* of the samples with an effect: that of `effect` */
	double share; /* of the variance of `to` that this cause explains, in all rows; NAN: none */
};

struct sn_discovery {
	struct sn_pdag graph; /* of all rows, completed */
	struct sn_causal_edge
	    *edges; /* in at least half of the samples; by `to`, then the more frequent first */
	uint32_t edge_count;
};

/* 0 or a negative enum sn_err. Release it in either case. */
int sn_discover(struct sn_discovery *discovery, const struct sn_prepared *prepared,
		const struct sn_discovery_options *options, struct sn_error *error);
void sn_discovery_release(struct sn_discovery *discovery);
