/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often blocks and edges of a control-flow graph ran, from the time that was spent in each block.
 *
 * A block's time over the cycles that one execution should take is a guess at its frequency. Guesses contradict each other: what flows into a block flows out of it. Taken are the flows that
 * are consistent and nearest to the guesses, in relative entropy, each guess weighted by how well it is known: by its number of samples and by the spread of its cycles. An edge has a
 * guess too, a weak one: its part of the blocks at its ends.
 *
 * Sources: Anderson et al., "Continuous profiling: where have all the cycles gone?", TOCS 15(4), 1997, section 6.1 (samples over the least time, flow constraints, three degrees of confidence); He, Mestre,
 * Pupyrev, Wang and Yu, "Profile inference revisited", POPL 2022 (the flow of least cost that agrees with samples). Relative entropy in place of a linear cost makes it a convex problem with one solution, all of
 * whose flows are positive: f = x * exp((p(from) - p(to)) * v), where x is the guess, v the variance of its logarithm, and p potentials of the ends that Newton's method finds.
 */
#pragma once

#include "binary/structure/flow_graph.h"

#include <stddef.h>

enum sn_confidence { SN_CONFIDENCE_LOW, SN_CONFIDENCE_MEDIUM, SN_CONFIDENCE_HIGH };

/* What is known of a block. */
struct sn_frequency_block {
	double samples; /* time in it, in samples */
	double cycles;	/* of one execution, as a model has them; above 0 */
	double spread;	/* standard deviation of log(cycles) */
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
