/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The location of an address of a GPU binary, as symbolize.h has it for CPUs: function, inlined
 * calls, loops, line.
 */
#pragma once

#include "gpu_binary.h"
#include "binary/structure/loop_forest.h"
#include "binary/string_pool.h"
#include "binary/structure/nest.h"

/* For one function at a time; private to its files. Zeroed but for binary and pool. */
struct sn_gpu_locator {
	const struct sn_gpu_binary *binary; /* its lines have been read */
	struct sn_string_pool *pool;	    /* gets all texts and frames */
	const struct sn_gpu_function *function;
	struct sn_symbol_location plain;      /* of an address without a line */
	uint32_t first_line, last_line;	      /* those of the function's code */
	struct sn_symbol_location *locations; /* of those lines; depth 0: not made yet */
	struct sn_loop_forest forest;
	struct sn_nest_loop *loops;
	struct sn_nest_marks *marks;
	size_t loop_capacity, mark_capacity;
};

/* Enters a function: finds its loops and their source. The pool's data for an earlier function is
 * no longer needed. SN_ERR_MEMORY or 0, as below. */
int sn_gpu_locator_enter(struct sn_gpu_locator *locator, uint32_t function);
/* The place of an address of the function, without loops. */
int sn_gpu_locator_line(struct sn_gpu_locator *locator, uint64_t address,
			const struct sn_symbol_location **location);
/* The first of the function's lines that ends behind an address, or its last_line. */
uint32_t sn_gpu_locator_line_at(const struct sn_gpu_locator *locator, uint64_t address);
/* Puts `loop` of the forest, and those around it, into a location; SN_FLOW_NONE: nothing. */
int sn_gpu_locator_insert_loops(struct sn_gpu_locator *locator, uint32_t loop,
				struct sn_symbol_location *location);
void sn_gpu_locator_release(struct sn_gpu_locator *locator);

/*
 * Resolves ascending addresses into out[count], as sn_symbolizer_lookup; those outside of code get
 * depth 0. Frames and texts belong to the pool. SN_ERR_MEMORY or 0.
 */
int sn_gpu_locate(const struct sn_gpu_binary *binary, bool with_loops, const uint64_t *addresses,
		  size_t count, struct sn_string_pool *pool, struct sn_symbol_location *out);
