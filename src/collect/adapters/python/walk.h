/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a thread's Python frames, with the thread's cache of code objects.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the cache's owner, which is the
 * thread walked.
 */
#pragma once

#include "collect/core/adapter.h"
#include "guard.h"
#include "target.h"
#include "text.h"

#define SN_LINE_SETS	1024
#define SN_LINE_WAYS	2
#define SN_CODE_ENTRIES 512

/*
 * A code object when it was read. After it is freed, another code object may have its address. From
 * 3.12 on its version differs. Before, at least one of the objects to which it refers differs, or
 * the first, middle and last bytes of its line table do (only hooks compare these, samples do not),
 * or file, name, first line and line table are the same, which gives the same results.
 */
struct sn_python_code {
	uintptr_t code, file, name, lines;
	uint32_t first_line;
	uint32_t version; /* 0: unknown */
	uint32_t index;	  /* from sn_cct_code */
	uint64_t table;	  /* distinguishes the line table from another at its address */
};

struct sn_python_line {
	struct sn_python_code code;
	int32_t offset;
	uint32_t line;
};

/* A thread's cache: about 160 KiB of address space, of which a walk touches only a part. */
struct sn_python_cache {
	struct sn_guard guard;
	uint32_t torn_in_a_row;
	bool interrupted; /* the walk's thread was stopped between two instructions of the
			     interpreter */
	uintptr_t other_state, other_thread; /* walked instead of the calling thread; 0: none */
	struct sn_python_line lines[SN_LINE_SETS][SN_LINE_WAYS];
	struct sn_python_code codes[SN_CODE_ENTRIES];
	char file[SN_PYTHON_TEXT_BYTES], name[SN_PYTHON_TEXT_BYTES];
};

/* As sn_python_code_argument, for one interpreter; in argument.c. */
ssize_t sn_python_read_code_argument(const struct sn_python_layout *layout, struct sn_guard *guard,
				     uintptr_t frame, char *name, size_t capacity);

/* As sn_python_first_argument, for one interpreter. */
uintptr_t sn_python_read_first_argument(const struct sn_python_layout *layout,
					struct sn_guard *guard, uintptr_t frame);

/* As sn_python_walk, for one interpreter. If `cct` is NULL, code indices are 0: the walk only
 * verifies the layout. MT: the cache's owner, which is the thread walked. */
int sn_python_walk_frames(const struct sn_python_target *target, struct sn_python_cache *cache,
			  struct sn_cct *cct, struct sn_python_frame *frames, uint32_t max);

/* As sn_python_fingerprint, for one interpreter. AS-safe: no. */
uint64_t sn_python_fingerprint_frames(const struct sn_python_target *target,
				      struct sn_python_cache *cache, uintptr_t innermost);

/* As sn_python_innermost, for one interpreter. AS-safe: no. */
uintptr_t sn_python_innermost_frame(const struct sn_python_target *target,
				    struct sn_python_cache *cache);
