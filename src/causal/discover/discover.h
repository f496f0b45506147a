/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From prepared columns to a causal graph and how sure it is: the graph of all rows, and one of each of many samples of the rows, drawn with
 * replacement. What share of those have an edge, direct it so, and give its effect that sign is how often it would be found again. Where rows are of clusters
 * or stretches, samples that give it the other sign do not have it: chance, of which there is more then, gives either.
 *
 * An effect is that of one standard deviation of the cause, in standard deviations of what it causes, of columns as they were prepared: along an
 * edge with the other causes held, in total over all ways. A category of text has none, but a share of the variance. The share in total of what
 * was set from outside is that of its levels' means, so that an effect need neither rise nor fall to be seen.
 */
#pragma once

#include "base/peers/peers.h"
#include "causal/non_normal.h"
#include "causal/pdag.h"
#include "causal/prepare.h"

struct sn_discovery_options {
	const struct sn_knowledge *knowledge; /* of the prepared variables; or NULL */
	const bool *is_set; /* of each: from outside, so that nothing need be held; or NULL */
	uint32_t target;    /* whose total effects are asked for; UINT32_MAX: none */
	const struct sn_non_normal *non_normal; /* or NULL */
	uint32_t samples;			/* of the rows; 100 is usual */
	unsigned threads;			/* 0: one for each processor */
	uint64_t seed; /* the same gives the same, with any number of threads and processes */
	/* Among which the work is divided; all of them call with the same data. NULL: this one alone. */
	const struct sn_peers *peers;
	/* Of all rows and each sample a row of bits: the variables that are compared in it (screen/screen.h). NULL: all. */
	const uint64_t *chosen;
};

/* Of the samples in which one causes the other. Shares of variances are those of all rows where these have the cause, else the samples' median. */
struct sn_effect {
	double value, low, high; /* the median, and the 2.5th and 97.5th percentile; NAN: none */
	double same_sign;	 /* part of these samples whose effect has that of `value` */
	double
	    share; /* of the variance that this cause explains beyond the other ones; NAN: unknown */
	/* Of that, by an effect that turns: negative where it is most in the middle of the cause's range, positive where least. NAN: unknown. */
	double turning;
};

struct sn_causal_edge {
	uint32_t from, to; /* variables; the more frequent direction */
	bool is_directed;  /* in at least half of the samples that have the edge */
	double frequency;  /* of the samples: that have the edge, in any direction */
	/* Of the samples: from -> to, and the other way round; in the rest it is not known. */
	double directed, reversed;
	struct sn_effect effect;
};

/* What a variable does to the target, over all ways. */
struct sn_target_cause {
	uint32_t from;
	double frequency; /* of the samples: that have a way */
	struct sn_effect effect;
};

struct sn_discovery {
	struct sn_pdag graph; /* of all rows, completed */
	double score;	      /* its logarithm of the likelihood, with its penalty */
	/* In at least half of the samples; by `to`, then the more frequent first. */
	struct sn_causal_edge *edges;
	uint32_t edge_count;
	/* In a fifth to half of them, likewise. */
	struct sn_causal_edge *doubtful;
	uint32_t doubtful_count;
	/* In at least half of them; the largest share first. */
	struct sn_target_cause *totals;
	uint32_t total_count;
	/* Of all that was set from outside, with a way or without: its effect in each sample, which nothing has to be held for. The largest share
	 * first. */
	struct sn_target_cause *main_effects;
	uint32_t main_effect_count;
};

#define SN_FREQUENT 0.5
#define SN_DOUBTFUL 0.2

/* The same on all peers. 0 or a negative enum sn_err, on which they have agreed. Release it in either case. */
int sn_discover(struct sn_discovery *discovery, const struct sn_prepared *prepared,
		const struct sn_discovery_options *options, struct sn_error *error);
void sn_discovery_release(struct sn_discovery *discovery);
