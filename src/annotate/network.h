/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Potentials of the nodes of a network of conductances into which currents flow, one node being the ground: a weighted Laplacian is solved exactly, by eliminating nodes.
 *
 * A node is eliminated by joining its neighbours to each other (the star-mesh transform): sums and products of positive numbers alone, so that nothing cancels however different the conductances are. Nodes with the
 * fewest neighbours go first (Tinney and Walker, "Direct solutions of sparse network equations by optimally ordered triangular factorization", 1967). The order is that of the links and is found once; graphs of programs
 * are nearly trees, and a solution costs little more than a visit of each link.
 *
 *	result = sn_network_init(&network, nodes, links, count, ground);
 *	if (!result && !network.is_dense)
 *		sn_network_solve(&network, conductances, currents, potentials);
 *	sn_network_release(&network);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_network_link {
	uint32_t from, to;
};

struct sn_network {
	bool is_dense; /* it is no such graph: too many neighbours, and it has no order */
	uint32_t node_count, ground;
	size_t link_count;
	struct sn_network_link *links;
	uint32_t *order;    /* nodes in the order in which they are eliminated */
	uint32_t *position; /* by node, in `order` */
	size_t
	    *first; /* by node, and one past the last: its neighbours that are eliminated later */
	uint32_t *beyond; /* these, by position */
	size_t
	    *place_of; /* by link, in `beyond`; SIZE_MAX: none, it leads to the ground or nowhere */
	double *conductance;		   /* by place in `beyond` */
	double *to_ground, *sum, *current; /* by node */
	size_t *scratch;
};

/* 0 or SN_ERR_MEMORY; release it in either case. */
int sn_network_init(struct sn_network *network, uint32_t node_count,
		    const struct sn_network_link *links, size_t link_count, uint32_t ground);
void sn_network_release(struct sn_network *network);

/* `conductances` by link, positive; `currents` into nodes, that of the ground ignored. Nodes that nothing joins to the ground have 0. */
void sn_network_solve(struct sn_network *network, const double *conductances,
		      const double *currents, double *potentials);
