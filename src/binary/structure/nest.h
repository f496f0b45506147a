/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops in the locations of addresses: from "function, inlined calls" to "function, loops and
 * inlined calls" in the order in which they enclose the address.
 *
 * Only functions that contain a requested address are analysed. The controlling branches of a loop,
 * those that leave it or, without any, those that lead back to its header, determine its place
 * among the inlined calls and its source line. Its home is the deepest chain of calls that all of
 * them share and that contains most of its blocks; its line is the first of their lines there,
 * because a `break` comes later. If most of the loop is before that line, the loop is tested at its
 * end (`do`), and begins at the line of its first instruction. A loop directly inside one of the
 * same line and home is the same loop in the source, and one frame, unless same_line.h
 * distinguishes them. See docs/design/structure.md.
 */
#pragma once

#include "loop_forest.h"
#include "binary/string_pool.h"
#include "flow.h"
#include "binary/symbolize.h"

struct sn_same_line;

/* A loop of the binary, with its debug information. */
struct sn_nest_loop {
	uint64_t header;		       /* address */
	uint32_t parent;		       /* among the loops; SN_FLOW_NONE */
	uint32_t home;			       /* levels of `like` that contain it, at least 1 */
	const struct sn_symbol_location *like; /* of one of its instructions; NULL unknown */
	const char *file;		       /* NULL unknown */
	uint32_t line;			       /* 0 unknown */
	uint32_t function;		       /* that it is in: any number */
	uint32_t depth;			       /* 1: outermost */
	uint32_t number; /* among several of its line, from 1 (same_line.h); 0 the only one */
};

/* A loop of a forest whose first one has the number `first`; still without home, file and line. */
struct sn_nest_loop sn_nest_loop_of(const struct sn_flow_graph *graph,
				    const struct sn_loop_forest *forest, uint32_t loop,
				    uint32_t first, uint32_t function);

/* Resolves ascending addresses into out[count], without loops. 0 or SN_ERR_MEMORY. */
typedef int sn_nest_resolve(void *data, const uint64_t *addresses, size_t count,
			    struct sn_symbol_location *out);

/* The addresses that determine a loop's place: the controlling branches, then the begins of its
 * header and of some of its other blocks. */
#define SN_NEST_MARKS_MAX 48
struct sn_nest_marks {
	uint64_t addresses[SN_NEST_MARKS_MAX];
	uint32_t control_count; /* of the first ones: the controlling branches */
	uint32_t count;
	/* Others, which only distinguish a loop from those on the same line. By bits: which of all
	 * lie in no inner loop; which of these leave the loop or lead back to its header. */
	uint32_t all_count;
	uint64_t own, controls;
};
/* Of all loops of the forest; marks has room for that many. */
void sn_nest_marks(const struct sn_flow_graph *graph, const struct sn_loop_forest *forest,
		   struct sn_nest_marks *marks);
/* Determines home, file and line from the locations of the marks (marks.count of them). */
void sn_nest_settle(struct sn_nest_loop *loop, const struct sn_nest_marks *marks,
		    const struct sn_symbol_location *const *locations);

/* Locations of ascending addresses, among them all marks of some loops. */
struct sn_nest_places {
	const uint64_t *addresses;
	const struct sn_symbol_location *locations;
	size_t count;
};
/* That of one of the addresses. */
const struct sn_symbol_location *sn_nest_place(const struct sn_nest_places *places,
					       uint64_t address);
/* Does so for all loops that have marks, and numbers those of one line. SN_ERR_MEMORY or 0. */
int sn_nest_settle_all(struct sn_nest_loop *loops, const struct sn_nest_marks *marks,
		       uint32_t count, const struct sn_nest_places *places,
		       struct sn_same_line *line);

/* The frame of a location in the loop's home and file; NULL if it is elsewhere. */
const struct sn_symbol_frame *sn_nest_home_frame(const struct sn_nest_loop *loop,
						 const struct sn_symbol_location *of);

/*
 * Puts `loop`, and those around it, into a location that has none; SN_FLOW_NONE: nothing. Frames
 * are the pool's. SN_ERR_MEMORY or 0.
 */
int sn_nest_insert(const struct sn_nest_loop *loops, uint32_t loop, struct sn_string_pool *pool,
		   struct sn_symbol_location *location);

/* All steps: inserts the loops into locations[count] of ascending addresses. SN_ERR_MEMORY or 0. */
int sn_nest_locate(struct sn_code *code, const uint64_t *addresses, size_t count,
		   sn_nest_resolve *resolve, void *data, struct sn_string_pool *pool,
		   struct sn_symbol_location *locations);
