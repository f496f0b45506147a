/* SPDX-License-Identifier: Apache-2.0 */
/* Participants that are late at collectives, their activity meanwhile, and where the others waited.
 * */
#pragma once

#include "timeline/answers.h"
#include "timeline/node_sums.h"

/* The participant that others waited for most, and its activity meanwhile. */
struct sn_latest {
	size_t participant;
	struct sn_node_sum *nodes; /* most first; the caller's to free in either case */
	size_t count;
	double whole_ns; /* for which all others waited */
};
/* If there are collectives. 0 or a negative enum sn_err. */
int sn_latest(const struct sn_answers *answers, struct sn_latest *latest, struct sn_error *error);

/* Participants: as they are, and of many those first for whom others waited most. The caller's;
 * NULL without memory. */
size_t *sn_ranks_order(const struct sn_ranks *ranks);

/* Waits in the collectives of one node. */
struct sn_rank_node {
	uint32_t node;
	double wait_ns;
	uint32_t count;	     /* collectives */
	size_t mostly;	     /* the participant that was last most often, */
	uint32_t last_count; /* in so many of them */
};
/* Most waited for first; the caller frees them. NULL without memory. */
struct sn_rank_node *sn_rank_nodes(const struct sn_answers *answers, size_t *count);
