/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landing pads of exceptions: the call-site table of a function's language-specific data, in
 * .gcc_except_table, which gcc and clang write for C++ and other languages that unwind. It maps
 * calls to the place in the function that an exception reaches. (The layout is that of the C++ ABI
 * for Itanium, "Exception Handling Tables", which ELF systems follow.)
 */
#pragma once

#include "code.h"

/* An exception thrown by a call in [start, end) continues at `pad`. */
struct sn_landing {
	uint64_t start, end, pad;
};

struct sn_landings {
	struct sn_landing *list; /* of each function ascending, and without overlaps */
	uint32_t count;
	size_t capacity;
};

/* Appends those of a function or part; a damaged table ends at the damage. SN_ERR_MEMORY or 0. */
int sn_landings_read(struct sn_landings *landings, const struct sn_code *code,
		     const struct sn_code_function *function);
/* The landing pad for the call at an address, among list[first] up to list[end]; 0: the exception
 * leaves the function. */
uint64_t sn_landings_at(const struct sn_landings *landings, uint32_t first, uint32_t end,
			uint64_t address);
