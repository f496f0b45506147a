/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches for the graph with the best score over orders of the variables: in an order each variable's causes are before it, and are
 * found by adding the best one and then dropping the worst one at a time. A variable is moved to its best place until none gains by
 * it. What was added to which causes is kept in a tree for each variable, so most places cost no score.
 *
 * Source: Andrews, Ramsey, Sanchez-Romero, Camchong and Kummerfeld, "Fast scalable and accurate discovery of DAGs using the best order score
 * search and grow-shrink trees", NeurIPS 2023, sections 3 and 4.
 *
 * One search ends in an order that no single move makes better, which depends on where it began. So it begins at some random orders, and
 * the best order found is disturbed and searched again.
 */
#pragma once

#include "causal/pdag.h"
#include "score.h"

struct sn_order_search {
	uint32_t count; /* variables */
	struct sn_score score;
	const struct sn_knowledge *knowledge; /* or NULL; what it requires has no circle */
	uint32_t starts, disturbances;	      /* at least one start */
	uint64_t seed;			      /* the same seed gives the same graph */
};

/* The directed graph that was found; `graph` has no edges before. Its score in *score unless that is NULL. 0 or SN_ERR_MEMORY. */
int sn_order_search(const struct sn_order_search *search, struct sn_pdag *graph, double *score);
