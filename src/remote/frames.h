/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python frames of a thread of another process, as they are at this moment. The thread may go on meanwhile: what is torn is recognised, or is given up.
 */
#pragma once

#include "interpreter.h"

#define SN_REMOTE_FRAMES_MOST 4096u

/* A code object when it was read; another one at its address differs in some of these. */
struct sn_remote_code {
	uintptr_t code, file, name, lines;
	uint32_t first_line, version;
	uint64_t table; /* without a version: a hash of its lines' begin, and their length */
};

struct sn_remote_frame {
	struct sn_remote_code code;
	int32_t offset; /* of the instruction in the code; negative before the first */
	bool is_entry;	/* the outermost of its native evaluation call */
};

/* Into frames[SN_REMOTE_FRAMES_MOST], innermost first. Their number, with the outermost left out where there are more; 0: it runs no Python; -1: they changed meanwhile, or cannot be read. */
int sn_remote_frames(struct sn_remote *remote, const struct sn_python_layout *layout,
		     uintptr_t state, struct sn_remote_frame *frames);
