/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of machine code that compilers in the process make at run time.
 *
 *	jit.c      the adapter: looks for LLVM as numba and others have it
 *	objects.c  reads a list of object files in memory
 */
#pragma once

#include <stdint.h>

/* A sample has met code that belongs to no file. At a cost of two short reads where nothing is new.
 * Between sn_enter and sn_leave. AS-safe: yes. MT: yes. */
void sn_jit_note_all(void);

/* Notes the names of code that was added to the list since it was called last. `list` is the
 * address of a __jit_debug_descriptor; 0: none. With SN_LOCK_JIT, between sn_enter and
 * sn_leave. AS-safe: yes. MT: with that lock. */
void sn_jit_note(uintptr_t list);
/* The child of a fork notes its own. AS-safe: yes. MT: by its only thread. */
void sn_jit_after_fork(void);
