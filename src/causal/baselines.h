/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What needs no insight, to hold a graph against: no edges at all; and causes chosen among the variables that come before in an order by the
 * columns' variances, or by how well all others predict each, which data that people simulate give away. Reisach, Seiler and Weichwald, "Beware
 * of the simulated DAG!" (2021); the same and others, "A scale-invariant sorting criterion to find a causal order in additive noise models" (2023).
 */
#pragma once

#include "discover/discover.h"

struct sn_baseline {
	const char *name; /* "found" (the graph itself), "empty", "variance_sort", "r2_sort" */
	uint32_t edges;
	uint32_t same_pairs;	  /* that the graph has as well, in any direction */
	uint32_t same_directions; /* of those that the graph directs: in the same direction */
	double score; /* all rows' logarithm of the likelihood with its penalty; more is better */
};

#define SN_BASELINES 4

/* Compares with the graph of all rows. 0 or SN_ERR_MEMORY. */
int sn_baselines(struct sn_baseline baselines[SN_BASELINES], const struct sn_prepared *prepared,
		 const struct sn_causal_table *table, const struct sn_knowledge *knowledge,
		 const struct sn_discovery *found);
