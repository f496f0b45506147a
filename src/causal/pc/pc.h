/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From tests of independence to a causal graph. Variables are adjacent unless some set of others, held, makes them independent; three in a
 * row whose ends are not adjacent tell by what separates the ends whether both cause the middle; and what follows is directed.
 *
 *	struct sn_fisher fishers[threads];         ... sn_fisher_init(&fishers[i], correlations, count, rows)
 *	struct sn_independence tests[threads];     ... tests[i] = sn_fisher_test(&fishers[i])
 *	struct sn_pc_options options = {.alpha = 0.01, .depth = 3, .tests = tests, .threads = threads};
 *	struct sn_pc pc;
 *	result = sn_pc(&pc, count, &options);
 *
 * Nothing depends on the order of the variables, nor on the number of threads. Sources:
 * - the edges: PC-stable of Colombo and Maathuis, "Order-independent constraint-based causal structure learning" (2014), section 4.1. Of
 *   sets that a knows not to cause a, none is held for it;
 * - colliders: the majority rule of the same, section 4.2, or the conservative one of Ramsey, Zhang and Spirtes, "Adjacency-faithfulness and
 *   conservative causal inference" (2006). Sets are of the size at which the edges were found at most. Where the ends are never
 *   independent, or as often with the middle held as without, the triple stays open;
 * - contradictions: an edge that colliders direct both ways, or into a cycle, is not directed, and of its triples nothing is concluded;
 * - an edge's probability is the largest of its tests; for the false discovery rate of edges see fdr.h.
 */
#pragma once

#include "causal/independence/independence.h"
#include "causal/pdag.h"

enum sn_pc_rule {
	SN_PC_MAJORITY, /* a collider: fewer than half of the sets that separate its ends have the middle */
	SN_PC_CONSERVATIVE, /* a collider: none has it; no collider: all have it */
};

struct sn_pc_options {
	const struct sn_independence *tests;  /* one for each thread */
	unsigned threads;		      /* at least 1 */
	const struct sn_knowledge *knowledge; /* or NULL */
	double alpha;	/* variables are taken as independent where the probability is above it */
	double rate;	/* of false edges, at most; 0: alpha alone decides */
	uint32_t depth; /* at most so many variables are held at once */
	enum sn_pc_rule rule;
};

struct sn_pc_edge {
	uint32_t a, b; /* a < b */
	/* The largest of its tests, so at most alpha; 0 as well where it is required. */
	double probability;
	double adjusted; /* for the false discovery rate */
};

struct sn_pc {
	struct sn_pdag graph;	  /* what is directed has no cycle */
	struct sn_pc_edge *edges; /* ascending by a, then b */
	uint32_t edge_count;
	uint64_t pairs; /* that may be adjacent by what is known */
	uint32_t depth; /* most variables that were held */
	struct sn_triple *
	    open; /* of which it is not known whether the ends both cause the middle; as struct sn_triples */
	size_t open_count;
};

/* 0 or SN_ERR_MEMORY. Release it in either case. */
int sn_pc(struct sn_pc *pc, uint32_t count, const struct sn_pc_options *options);
void sn_pc_release(struct sn_pc *pc);
