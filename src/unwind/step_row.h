/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one frame to its caller by a row of call frame information. The collector uses it for frames
 * whose rule does not fit in a word, importers for recorded stacks.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include "cfi.h"
#include "memory.h"

enum sn_native_flags {
	SN_NATIVE_RETURN_ADDRESS = 1, /* pc is where a call returns to */
	SN_NATIVE_SIGNAL = 2,	      /* the kernel's signal trampoline */
	SN_NATIVE_FRAME_POINTER = 4,  /* found by a frame pointer, not by tables */
	SN_NATIVE_SCANNED = 8,	      /* found by scanning: may be wrong */
};

struct sn_unwind_cursor {
	struct sn_registers registers;
	bool is_return; /* the program counter is a return address */
	struct sn_stack *stack;
};

enum sn_step {
	SN_STEP_CALLER, /* the cursor is at the caller now */
	SN_STEP_END,	/* the thread's first frame */
	SN_STEP_LOST,	/* the caller cannot be found */
};

/* Results of a step. */
struct sn_step_result {
	uintptr_t cfa;	       /* of the frame left */
	uint32_t flags;	       /* to add to the frame left: SN_NATIVE_SIGNAL */
	uint32_t caller_flags; /* to add to the caller: how it was found */
};

/* As sn_cfi_find, with corrections of known errors of compilers. */
int sn_row_find(const struct sn_module *module, uintptr_t inside, struct sn_cfi_row *row);

/* Steps by `row`, which describes the code at the cursor; every word is read through its stack. */
enum sn_step sn_step_by_row(struct sn_unwind_cursor *cursor, const struct sn_cfi_row *row,
			    struct sn_step_result *result);
