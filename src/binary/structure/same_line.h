/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loops of one source line are one loop in the source, and which are several.
 *
 * A compiler turns one loop into several (vector body and remainder, unswitched copies), and
 * programmers or macros write several on one line. Copies have code of the same places: line,
 * column, and, where columns are equal as in a macro, gcc's discriminators, numbered before any
 * loop is copied, and the lexical blocks of variables declared in a loop. So loops of one line,
 * function and depth are one if some of their places are equal; loops of different depths if some
 * places of their branches that leave or lead back are equal, because code that prepares an inner
 * loop lies in the one around it. A compiler also turns one loop into nested ones, of which each
 * iteration evaluates the same condition: so a nested loop is a loop of its own only if the outer
 * one is written before all its contents. Distinct loops are numbered in the order of the source.
 * Without places in the debug information all are one.
 *
 * Only the number is stored, which stays the same over rebuilds, levels of optimisation and
 * compilers unless one of the loops vanishes.
 */
#pragma once

#include "nest.h"

/* Places of loops' own code; zeroed at first. */
struct sn_same_line {
	struct sn_same_line_place *places;
	size_t place_count, place_capacity;
};

/* Adds those of loops[index], whose home and line are known, by the locations of its marks
 * (marks.all_count of them). SN_ERR_MEMORY or 0. */
int sn_same_line_add(struct sn_same_line *line, const struct sn_nest_loop *loops, uint32_t index,
		     const struct sn_nest_marks *marks,
		     const struct sn_symbol_location *const *locations);
/* Numbers the added loops, and removes their places. SN_ERR_MEMORY or 0. */
int sn_same_line_number(struct sn_same_line *line, struct sn_nest_loop *loops, uint32_t count);
void sn_same_line_release(struct sn_same_line *line);
