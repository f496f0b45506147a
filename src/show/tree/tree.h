/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a report or an exporter: the calling context tree with the values of the requested
 * metrics, restricted to some threads and paths, siblings of the same group merged.
 *
 * Nodes are numbered in pre-order as contexts are: the descendants of n are n + 1 .. nodes[n].end
 * - 1. A tree that merges nothing and leaves nothing out has the database's own numbers.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "frame/group.h"
#include "query.h"
#include "sonde/db.h"

struct sn_tree_node {
	uint32_t frame; /* of the first context in it */
	uint32_t parent;
	uint32_t end;
	uint32_t depth;
	uint32_t alike; /* frames that were folded into it (alike.h); 0 or 1: its own alone */
};

struct sn_tree_value {
	struct sonde_db_stat exclusive;
	struct sonde_db_stat inclusive;
	/* Durations of the calls of the node or row itself; NULL if the metric's values do not
	 * contain each other (sonde_db_metric_calls). */
	struct sonde_db_stat *calls;
};

/* The statistic for count, mean, least, greatest and deviation: of the calls, or of all values here
 * and below. */
static inline const struct sonde_db_stat *sn_value_counted(const struct sn_tree_value *value)
{
	return value->calls ? value->calls : &value->inclusive;
}
/* Adds the calls of another value of the same metric to one that has `calls`. */
static inline void sn_value_add_calls(struct sn_tree_value *to, const struct sn_tree_value *from)
{
	if (to->calls && from->calls)
		sonde_db_stat_merge(to->calls, from->calls);
}

/* The inclusive sums of the profiles, and of the ranks (lib/db/ranks.h), as sets. */
struct sn_tree_sets {
	struct sonde_db_stat profiles, ranks;
};

struct sn_tree {
	const struct sonde_db *db;
	enum sn_grouping grouping;
	uint32_t metric_count;
	uint32_t *metrics; /* [position]: the database's number */
	uint32_t node_count;
	struct sn_tree_node *nodes;
	struct sn_tree_value **values; /* [position][node] */
	/* [node * metric_count + position]; NULL if not requested */
	struct sn_tree_sets *across;
	struct sn_arena arena; /* all of these */
};

struct sn_tree_request {
	enum sn_grouping grouping; /* AUTO, FUNCTION, LINE or INSTRUCTION */
	const uint32_t *metrics;
	uint32_t metric_count;
	const struct sn_query *const *where; /* all must select a context */
	size_t where_count;
	const bool *profiles; /* [profile]: whether it counts; NULL for all */
	bool needs_across;
	/* Charges the cost of loops to their functions: no node is a loop. */
	bool fold_loops;
	/* Likewise lines and instructions. */
	bool fold_lines;
	/* A function that is already on the path is not added again: a recursion is one node, and
	 * functions that call each other are one node each. Not with INSTRUCTION. */
	bool collapse_recursion;
};

int sn_tree_init(struct sn_tree *tree, const struct sonde_db *db,
		 const struct sn_tree_request *request, struct sn_error *error);
void sn_tree_release(struct sn_tree *tree);

/* Sums of the metric at `position`, for readers. */
double sn_tree_inclusive(const struct sn_tree *tree, uint32_t position, uint32_t node);
double sn_tree_exclusive(const struct sn_tree *tree, uint32_t position, uint32_t node);
/* How much a node matters: its greatest share in any metric. */
double sn_tree_weight(const struct sn_tree *tree, uint32_t node);
