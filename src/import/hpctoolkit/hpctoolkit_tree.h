/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPCToolkit's contexts as frames of ours. Its trees nest function, loop, line and instruction as
 * contexts of their own, and record for each whether it was called, inlined or only lies in its
 * parent.
 *
 *   its context                          our frame
 *   function, called                     native, gpu-function, kernel; flag ENTRY
 *   function, inlined                    inlined; flag ENTRY
 *   placeholder ("<gpu kernel>")         gpu-op, idle, region; its letters as linkage name
 *   unknown function                     native without name and module
 *   loop                                 loop, gpu-loop, with its module and offset; its line is
 *                                        function_line, and in its name, as in loops of ours
 *   line                                 line, gpu-line; the line is also in its name
 *   an instruction in a line             that line, with module and offset
 *   an instruction elsewhere             line without a file, with module and offset
 *   an instruction that was called,
 *   because nothing is known of it       native, gpu-function without name; no flag
 *   entry point                          thread
 *
 * src/export/hpctoolkit/hpctoolkit_tree.c is the inverse.
 */
#pragma once

#include "format/database/database_writer.h"

#include <stdbool.h>
#include <stddef.h>

struct sn_hpct_tree {
	struct sn_db_builder *builder;
	uint8_t *kinds; /* of the frame of each context added here */
	size_t kind_capacity;
};

/* As HPCToolkit numbers them. */
enum sn_hpct_relation { SN_HPCT_NESTED = 0, SN_HPCT_CALLED = 1, SN_HPCT_INLINED = 2 };

struct sn_hpct_function {
	uint32_t name;	 /* builder's string; SONDE_NONE without */
	uint32_t module; /* builder's; SONDE_NONE without */
	bool is_gpu;
	uint64_t offset;
	uint32_t file; /* builder's string; SONDE_NONE unknown */
	uint32_t line;
};

struct sn_hpct_place {
	uint32_t module; /* builder's; SONDE_NONE: only file and line are known */
	bool is_gpu;
	uint64_t offset;
	uint32_t file; /* builder's string; SONDE_NONE unknown */
	uint32_t line;
};

/* All zeroes with a builder is empty. */
void sn_hpct_tree_release(struct sn_hpct_tree *tree);

/* All return the context, or SONDE_NONE without memory, and accept a parent of SONDE_NONE. */
/* `kind`: 1 the main thread's, 2 another thread's, 0 unknown. Kept as linkage name, in letters. */
uint32_t sn_hpct_tree_entry(struct sn_hpct_tree *tree, const char *name, unsigned kind);
uint32_t sn_hpct_tree_unknown(struct sn_hpct_tree *tree, uint32_t parent);
uint32_t sn_hpct_tree_function(struct sn_hpct_tree *tree, uint32_t parent,
			       enum sn_hpct_relation relation,
			       const struct sn_hpct_function *function);
uint32_t sn_hpct_tree_loop(struct sn_hpct_tree *tree, uint32_t parent,
			   enum sn_hpct_relation relation, const struct sn_hpct_place *place);
uint32_t sn_hpct_tree_line(struct sn_hpct_tree *tree, uint32_t parent,
			   enum sn_hpct_relation relation, const struct sn_hpct_place *place);
/* An instruction that was called. */
uint32_t sn_hpct_tree_instruction(struct sn_hpct_tree *tree, uint32_t parent,
				  const struct sn_hpct_place *place);
/* A hidden context below `parent` without a place: HPCToolkit's databases leave out the
 * instructions in a line, but not their values and callees. `number` distinguishes several. */
uint32_t sn_hpct_tree_hidden(struct sn_hpct_tree *tree, uint32_t parent, uint64_t number);

/* The frames themselves, as the child of `parent` that they would be, and the child. */
struct sonde_db_frame sn_hpct_frame_function(const struct sn_hpct_tree *tree, uint32_t parent,
					     enum sn_hpct_relation relation,
					     const struct sn_hpct_function *function);
struct sonde_db_frame sn_hpct_frame_named(struct sn_hpct_tree *tree, unsigned kind,
					  const char *name);
struct sonde_db_frame sn_hpct_frame_place(struct sn_hpct_tree *tree, unsigned kind,
					  enum sn_hpct_relation relation,
					  const struct sn_hpct_place *place);
uint32_t sn_hpct_tree_add(struct sn_hpct_tree *tree, uint32_t parent, struct sonde_db_frame frame);

/* The kind (enum sn_frame_kind) of a function that `parent` calls. */
unsigned sn_hpct_tree_called_kind(const struct sn_hpct_tree *tree, uint32_t parent, bool is_gpu);
/* Whether it is code of a device. */
bool sn_hpct_tree_is_gpu(const struct sn_hpct_tree *tree, uint32_t context);
