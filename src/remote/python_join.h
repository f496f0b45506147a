/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the Python frames of a thread with its native call path. The rules of the collector (src/collect/core/callpath.c): each frame of the evaluation loop on the native path stands for a group of
 * Python frames. The interpreter's frames further out than the last such frame are left out, and what started it. A complete native path pairs from the outermost, another one from the innermost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_numbered_frame {
	uint32_t code; /* number of the code object */
	uint32_t line;
	bool is_entry; /* the outermost of its native evaluation call */
};

/* What an address of the native path is part of. */
enum sn_python_part {
	SN_PYTHON_PART_OTHER,
	SN_PYTHON_PART_EVAL,	    /* the evaluation loop */
	SN_PYTHON_PART_INTERPRETER, /* the rest of the file that has it */
	SN_PYTHON_PART_START, /* what starts an interpreter: the C library, a program "python" */
};
/* Whether a file of that path is one that starts interpreters. */
bool sn_python_starts(const char *path);

struct sn_python_paths {
	const enum sn_python_part *parts; /* of the native path, innermost first */
	size_t count;
	bool is_whole; /* the native path goes to the thread's first function */
	const struct sn_numbered_frame *frames; /* innermost first */
	uint32_t frame_count;
};

struct sn_joined {
	bool is_python;
	uint32_t number; /* in `frames`, or on the native path */
};

/* Both paths as one, outermost first, into joined[count + frame_count]. Its length; 0: they have nothing to do with each other, and the native path stands alone. */
size_t sn_python_join(const struct sn_python_paths *paths, struct sn_joined *joined);
