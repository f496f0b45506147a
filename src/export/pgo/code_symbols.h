/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an executable or library by its symbol table, in the names that BOLT has for them: a local symbol's is NAME/NUMBER, counted from 1 by address among the local symbols of that name.
 */
#pragma once

#include "binary/elf/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_code_symbol {
	const char *name; /* the file's */
	uint64_t start, end;
	uint32_t number; /* of a local one; 0: global */
	bool is_code;
};

/* By start, functions only, at one start a global one first. */
struct sn_code_symbols {
	struct sn_code_symbol *list;
	size_t count, capacity;
};

/* Without a symbol table there are none. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_code_symbols_read(struct sn_code_symbols *symbols, struct sn_elf_file *file);
void sn_code_symbols_release(struct sn_code_symbols *symbols);
/* The function that holds an address, or NULL. */
const struct sn_code_symbol *sn_code_symbol_at(const struct sn_code_symbols *symbols,
					       uint64_t address);
