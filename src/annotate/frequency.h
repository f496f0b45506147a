/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often blocks and edges of a control-flow graph ran, from the time that was spent in each block.
 *
 * A block's time over the cycles that one execution should take is a guess at its frequency. Guesses contradict each other: what flows into a block flows out of it. Taken are the consistent flows that make
 * the samples most likely, if those of a block are a draw from a Poisson distribution around flow times cycles; a block whose cycles are doubtful counts for less. Blocks that run equally often are pooled
 * so: their samples are summed, for a processor that executes out of order has time of one block at the next. An edge has a guess too, a weak one: its part of the blocks at its ends.
 *
 * Sources: Anderson et al., "Continuous profiling: where have all the cycles gone?", TOCS 15(4), 1997, section 6.1 (sums of samples over sums of cycles, flow constraints, three degrees of confidence); He, Mestre,
 * Pupyrev, Wang and Yu, "Profile inference revisited", POPL 2022 (the flow that costs least to agree with samples). The likelihood in place of their linear cost makes it a convex problem with one solution, all
 * of whose flows are positive: the least sum of w * (f / x - log f), where f is the flow, x the guess, and w the samples that it rests on.
 */
#pragma once

#include "binary/structure/flow_graph.h"

#include <stddef.h>

/* Of six programs beside exact counts, 8, 6 and 5 of 10 samples were in blocks within a factor of two, from high to low (docs/results/frequency.md). */
enum sn_confidence { SN_CONFIDENCE_LOW, SN_CONFIDENCE_MEDIUM, SN_CONFIDENCE_HIGH };

/* What is known of a block. */
struct sn_frequency_block {
	double samples; /* time in it, in samples */
	double cycles;	/* of one execution, as a model has them; above 0 */
	double doubt;	/* 1: the cycles are as good as others; 2: they count for a quarter */
};

/* Executions, such that executions times cycles are samples. Edges of exceptions have 0, and low confidence. */
struct sn_frequencies {
	double *block_count, *edge_count;
	uint8_t *block_confidence, *edge_confidence; /* enum sn_confidence */
};

/* `blocks` has one for each block of the graph. Without any sample all is 0. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_frequencies_find(struct sn_frequencies *frequencies, const struct sn_flow_graph *graph,
			const struct sn_frequency_block *blocks);
void sn_frequencies_release(struct sn_frequencies *frequencies);
