/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: the parts of a program that its author can change. A node is an operator that the program
 * calls (the outermost one above a kernel or call, so that aten::linear has the work of the
 * aten::addmm in it, and that of its gradient), in the function of the program that calls it. Where
 * there is no operator it is the function, the region, or the call itself.
 */
#pragma once

#include "base/intern.h"
#include "sonde/db.h"

#include <stdbool.h>

struct sn_node {
	uint32_t frame; /* of the operator */
	uint32_t
	    caller; /* frame of the program's function; SONDE_NONE unknown or the node itself */
};

/* Whether an operator or region is a wrapper: the engine of backward passes, compiled graphs, a
 * call of a module. Nodes are inside of it. */
bool sn_node_is_wrapper(const struct sonde_db *db, const struct sonde_db_frame *frame);

/* Whether a frame of machine code has no name but its file and address. */
bool sn_node_is_unnamed(const struct sonde_db *db, const struct sonde_db_frame *frame);

struct sn_node_map {
	const struct sonde_db *db;
	struct sn_intern table; /* struct sn_node */
	uint32_t *of_context;
	uint32_t *alike; /* by frame: the one that represents it (node_alike.h) */
	bool *are_alike; /* by frame: it represents others too; of code without names, its file */
};

/* Maps all contexts. 0 or SN_ERR_MEMORY; release in either case. */
int sn_node_map(const struct sonde_db *db, struct sn_node_map *nodes);
void sn_node_map_release(struct sn_node_map *nodes);

struct sn_node sn_node_map_at(const struct sn_node_map *nodes, uint32_t node);
/* The first context of a node. */
uint32_t sn_node_map_context(const struct sn_node_map *nodes, uint32_t node);
