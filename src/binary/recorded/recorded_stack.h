/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths from copies of the stack of a process, with the registers that it had: by the call
 * frame information of the files that were mapped, with the collector's own decoder; by frame
 * pointers where a file has none.
 */
#pragma once

#include "unwind/step_row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of call frame information that were found lately, by place: stacks of one program have most of their callers in common. All zeroes is empty. */
struct sn_recorded_rows {
	struct sn_recorded_row {
		const struct sn_module *module; /* NULL: a free entry */
		uintptr_t inside;
		int found; /* what sn_row_find returned */
		struct sn_cfi_row row;
	} entries[4096];
};

struct sn_recorded_stack {
	const struct sn_registers *registers; /* of the process */
	const void *copy; /* of its memory, from the stack pointer on; only read */
	size_t bytes;
	/* Whether code was mapped at an address. *module gets its file, laid out in memory
	 * (recorded_image.h), NULL if that is not to be had; *inside the address there. */
	bool (*find)(void *context, uint64_t address, const struct sn_module **module,
		     uintptr_t *inside);
	void *context;
	struct sn_recorded_rows *rows; /* while modules are what they are; NULL: none are kept */
};

struct sn_recorded_frame {
	uint64_t address;
	bool is_return;
};

enum sn_recorded_end {
	SN_RECORDED_WHOLE,    /* up to the thread's first function */
	SN_RECORDED_CUT,      /* the copy of the stack ends before, or a caller was not found */
	SN_RECORDED_TOO_DEEP, /* there are more than `max` */
};

/* The path, innermost first, into frames[max]; *count may be 0. */
enum sn_recorded_end sn_recorded_unwind(const struct sn_recorded_stack *stack,
					struct sn_recorded_frame *frames, size_t max,
					size_t *count);
