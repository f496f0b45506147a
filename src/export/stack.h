/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths in formats that write each one whole.
 *
 * Such a file's size is the sum of the paths' lengths, which a recursion makes quadratic in its
 * depth. So where all paths together have more than SN_STACK_FRAMES_MAX frames, of those longer
 * than a limit only the outermost and the innermost half are written, and one frame between them
 * that says so. The limit is the greatest power of two that keeps within that sum, and at least
 * SN_STACK_LIMIT_LEAST frames: no path that a collector unwinds in one go loses anything in a
 * profile of usual size.
 *
 * Names of frames in formats that have only a name for each: "train_step (train.py:42)" for Python,
 * the whole function name for native code.
 */
#pragma once

#include "base/error.h"
#include "sonde/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_STACK_FRAMES_MAX  (UINT64_C(1) << 25)
#define SN_STACK_LIMIT_LEAST 256u
#define SN_STACK_CUT_NAME    "[frames left out]"

struct sn_stack_cut {
	uint32_t
	    limit; /* of frames, without the one that stands for the others; 0: nothing is cut */
	uint64_t paths; /* how many were cut */
};

/* Chooses the limit: lengths[n] is the number of paths of n frames, n below `count`. Counts the
 * paths that it will cut. */
void sn_stack_cut_init(struct sn_stack_cut *cut, const uint64_t *lengths, uint32_t count);
struct sn_tree;
/* The same for the nodes of a tree with own cost in any of its metrics. 0 or SN_ERR_MEMORY. */
int sn_stack_cut_tree(struct sn_stack_cut *cut, const struct sn_tree *tree, struct sn_error *error);
/* Whether the frame at `depth` (from 0, the outermost) of a path of `length` frames is left out. */
bool sn_stack_is_cut(const struct sn_stack_cut *cut, uint32_t depth, uint32_t length);

void sn_stack_name(const struct sonde_db *db, uint32_t frame, char *text, size_t size);
