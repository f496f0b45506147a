/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inductor's cache knows of a generated Python file: the lines of the program that it is made of.
 *
 * Inductor keeps each compiled graph as a pickle in `fxgraph/` of its cache, unless its cache is off, and
 * needs no option for that. Of the pickle three texts are used: `cache_key`, the name of the generated file;
 * `cache_linemap`, from which of its lines on code is made for an operation of the program, with the
 * program's stack then (empty where the code is split into partitions, as for captured graphs); and
 * `inductor_post_grad_graph_str`, all operations of the graph below comments that name the program's lines.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* A line of the program's. */
struct sn_inductor_place {
	const char *file, *function; /* file NULL: not known */
	const char *code;	     /* the line's text, without white space around it */
	uint32_t line;
};

/* From this line of the generated file on, code is made for an operation. */
struct sn_inductor_section {
	uint32_t line;
	/* where that was written, and the function that was compiled */
	struct sn_inductor_place place, compiled;
};

struct sn_inductor_node {
	const char *name; /* "relu", "written.soft" */
	struct sn_inductor_place place;
};

struct sn_inductor_graph {
	struct sn_inductor_section *sections; /* by line; may be none */
	struct sn_inductor_node *nodes;	      /* as they are executed */
	uint32_t section_count, node_count;
};

/* Looks for the graph of a generated file ("CACHE/ab/cab....py"). False where there is none. Texts are in
 * the arena. Release in either case. */
bool sn_inductor_graph(const char *generated, struct sn_arena *arena,
		       struct sn_inductor_graph *graph);
void sn_inductor_graph_release(struct sn_inductor_graph *graph);
