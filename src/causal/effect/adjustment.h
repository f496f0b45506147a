/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be held so that the total effect of one variable on another can be told from a graph of which some edges may have no direction.
 *
 * Sources: Perkovic, Textor, Kalisch and Maathuis, "Complete graphical characterization and construction of adjustment sets in Markov
 * equivalence classes of ancestral graphs", JMLR 18 (2018), definitions 4 and 5 (amenability, the generalized criterion), corollary 27 (parents
 * of one cause); Perkovic, Kalisch and Maathuis, "Interpreting and using CPDAGs with background knowledge", UAI 2017, section 4 (the same where
 * knowledge directs edges); Henckel, Perkovic and Maathuis, "Graphical criteria for efficient total effect estimation via adjustment", JRSS B 84
 * (2022), definition 3.5 (the set with the smallest variance).
 */
#pragma once

#include "causal/pdag.h"

enum sn_adjustment {
	SN_ADJUSTMENT_FOUND,	 /* hold the set, which may be empty */
	SN_ADJUSTMENT_NO_EFFECT, /* the graph has no possibly directed path to the target */
	SN_ADJUSTMENT_UNDETERMINED, /* a possibly directed path begins with an edge of no direction: graphs of the class differ */
};

enum sn_adjustment_kind {
	/* The parents of the cause: needs the edges at the cause alone to be right. Nothing, where knowledge allows no variable to cause it. */
	SN_ADJUSTMENT_PARENTS,
	/* The parents of what is on directed paths, without what the cause may change: the smallest variance, if the graph is right. */
	SN_ADJUSTMENT_OPTIMAL,
};

/*
 * The graph is completed: by sn_pdag_complete with the same knowledge, or sn_pdag_to_class; `knowledge` may be NULL. Sets `held`, a row of bits of
 * graph->words, empty unless found. SN_ERR_MEMORY, or an enum sn_adjustment. Where it cannot exclude a possibly directed path cheaply it takes
 * it for one, so it may say undetermined too often, never too seldom.
 */
int sn_adjustment_find(const struct sn_pdag *graph, const struct sn_knowledge *knowledge,
		       uint32_t cause, uint32_t target, enum sn_adjustment_kind kind,
		       uint64_t *held);
