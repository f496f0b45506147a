/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom idle time is blamed on, by call path: the node (timeline/node.h) and the functions of the
 * program that it was called by. Two callers of one function are two rows; the lines of a function,
 * and a function that calls itself, are one.
 */
#pragma once

#include "blame.h"
#include "timeline/node.h"

struct sn_blame_row {
	uint32_t context; /* the one of its contexts with the largest part */
	double time_ns, largest_ns;
};

/* Of all these devices together, most first; the caller frees them. NULL without memory. */
struct sn_blame_row *sn_blame_rows(const struct sn_node_map *nodes, const struct sn_blame *blames,
				   size_t blame_count, size_t *count);

/* The function of the program that the context's node, or `function`, was called by: the nearest
 * context above that is another function of the program; SONDE_NONE. */
uint32_t sn_blame_caller(const struct sonde_db *db, uint32_t context, uint32_t function);
