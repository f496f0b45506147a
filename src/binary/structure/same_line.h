/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loops of one source line are one loop in the source, and which are several.
 *
 * A compiler makes several loops of one (vector body and remainder, unswitched copies), and people
 * write several on one line, or a macro does. Copies have code of the same places: line, column,
 * and what else debug information tells code by where columns are equal, as in a macro: gcc's
 * discriminators, numbered before any loop is copied, and the lexical blocks of variables declared
 * in a loop. So loops of one line, function and depth are one if some of their places are equal;
 * of different depths if some of the places of their branches that leave or lead back are, because
 * what prepares an inner loop lies in the one around it. A compiler also makes nested loops of one,
 * whose every round evaluates the same condition: a loop in another is one of its own only where
 * that is written before all that is in it. Loops that are not one are numbered in the order of
 * the source. Where the debug information tells no places all are one.
 *
 * Neither addresses nor columns are kept: the number stays the same over rebuilds, levels of
 * optimization and compilers, as long as none of the loops vanishes.
 */
#ifndef SN_BINARY_STRUCTURE_SAME_LINE_H
#define SN_BINARY_STRUCTURE_SAME_LINE_H

#include "nest.h"

/* Places of loops' own code; zeroed at first. */
struct sn_same_line {
	struct sn_same_line_place *places;
	size_t place_count, place_capacity;
};

/* Adds those of loops[index], which is settled, by the locations of its marks (marks.all_count of
 * them). SN_ERR_MEMORY or 0. */
int sn_same_line_add(struct sn_same_line *line, const struct sn_nest_loop *loops, uint32_t index,
		     const struct sn_nest_marks *marks,
		     const struct sn_symbol_location *const *locations);
/* Numbers the loops that were added, and forgets their places. SN_ERR_MEMORY or 0. */
int sn_same_line_number(struct sn_same_line *line, struct sn_nest_loop *loops, uint32_t count);
void sn_same_line_release(struct sn_same_line *line);

#endif
