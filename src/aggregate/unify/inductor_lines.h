/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of the program that compiled code came from. Each line of generated Python that calls a kernel or
 * an operator becomes a node "GRAPH/KERNEL" of a dataflow graph in the database, and a frame of that
 * name, whose parts are operations with the program's lines. docs/design/torch-operators.md says how they are found.
 */
#pragma once

#include "format/database/database_builder.h"
#include "inductor_graph.h"

struct sn_inductor_lines;

/* What a line of generated Python calls. */
struct sn_inductor_origin {
	uint32_t frame; /* the builder's: it comes below the generated line */
	/* The function that was compiled; where that is not told, those that its operations are in. Inductor's cache gives code of one
	 * graph to equal functions, but it has the lines of one of them: of another on the path they are not. */
	const struct sn_inductor_place *functions;
	uint32_t function_count;
};

/* Adds to this builder, which must live longer. NULL without memory. */
struct sn_inductor_lines *sn_inductor_lines_new(struct sn_db_builder *builder);
void sn_inductor_lines_free(struct sn_inductor_lines *lines);

/* *origin is NULL where the Python file (a builder's string) is not generated, the line calls nothing, or no
 * line of the program is known for it. It lives as long as `lines`. 0 or SN_ERR_MEMORY. */
int sn_inductor_lines_at(struct sn_inductor_lines *lines, uint32_t file, uint32_t line,
			 const struct sn_inductor_origin **origin);

/* Whether one of these functions is on the path down to this context of the builder's. */
bool sn_inductor_is_below(const struct sn_db_builder *builder, uint32_t context,
			  const struct sn_inductor_origin *origin);
