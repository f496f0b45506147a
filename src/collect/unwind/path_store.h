/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An unwinder's paths: the frames of the current walk, and the previous path with the words from
 * which it was computed. unwind.c fills it.
 *
 * All functions here: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "unwind.h"

#include <stddef.h>

/* How the current walk stepped from a frame to its caller; the frame's pc, CFA, module and flags
 * are in `fresh`. */
struct sn_walked {
	uintptr_t fp;
	uint64_t rule; /* as applied: a guess by frame pointer is stored as the equivalent rule */
};

/* A word of the stack that the previous path was computed from. */
struct sn_path_input {
	uintptr_t slot, word;
};

/* A frame of the previous path, besides what is in `path`. */
struct sn_known {
	uintptr_t sp, fp;
	uintptr_t lowest;    /* slot among the inputs of this frame and those further out */
	uint32_t inputs_end; /* inputs[0..inputs_end) are those of this frame and all further out */
	bool fp_matters;     /* this frame or one further out is computed from fp */
	bool repeatable;     /* this frame and all further out depend on the inputs alone */
};

#define SN_INPUTS_A_FRAME 3u

/*
 * Arrays for paths of `room` frames: one element for each frame, in `inputs` three. The room
 * doubles when a path has more, so that only threads that recurse deeply need the memory.
 */
struct sn_path_store {
	uint32_t room;
	size_t bytes; /* of the mapping, which begins at `walked` */
	struct sn_walked *walked;
	struct sn_native_frame *fresh; /* frames of the current walk, innermost first */
	/* the previous path, innermost first, at the array's end; the rest outermost first */
	struct sn_native_frame *path;
	struct sn_known *known;
	struct sn_path_input *inputs;
};

/* False without memory. */
bool sn_path_store_init(struct sn_path_store *store);
void sn_path_store_release(struct sn_path_store *store);
/* Doubles the room and keeps `known` frames of the previous path and `fresh` of the current walk.
 * False without memory: then nothing has changed. */
bool sn_path_store_grow(struct sn_path_store *store, uint32_t known, uint32_t fresh);
