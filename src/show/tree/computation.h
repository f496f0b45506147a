/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The original operations that a compiled computation is made of: a frame "FUNCTION/COMPUTATION"
 * names a node of a graph, and a fused one's parts are the operations that the program wrote.
 */
#pragma once

#include "sonde/graph.h"

struct sn_computation_part {
	const char *name; /* "sin": the last part of its path */
	const char *path; /* "jit(wave)/sin" */
	const char *type; /* "sine" */
	const char *file; /* NULL unknown, then the line is 0 */
	uint32_t line;
	const char *callers; /* "main.py:12 <module> > main.py:10 step"; NULL unknown */
};

enum { SN_COMPUTATION_PARTS_MAX = 64 };

/* Those of a frame, each once, in the program's order, into operations[SN_COMPUTATION_PARTS_MAX]; how many,
 * 0 for frames that name no node. `graph` may be NULL. The texts are the database's. */
uint32_t sn_computation_parts(const struct sonde_graph *graph, const struct sonde_db *db,
			      uint32_t frame, struct sn_computation_part *operations);
