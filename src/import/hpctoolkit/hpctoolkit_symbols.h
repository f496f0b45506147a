/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Smaller sources of names in a measurement folder: the kernel's symbols (kernel_symbols/NAME,
 * lines "ADDRESS TYPE NAME [MODULE]", compressed by xz), the vdso's (vdso/NAME, ELF: symbols of
 * .symtab or .dynsym that are functions and have a size) and tables of logical code (files that
 * begin with "HPCLOGICAL": for each function of an interpreter its number, name, file and line).
 */
#pragma once

#include "hpctoolkit_code.h"

/* Looks whether there is such a file for the module. A missing one is no error. */
int sn_hpct_symbols_load(struct sn_db_builder *builder, struct sn_hpct_module *module,
			 struct sn_error *error);
/* The symbol that has an address, or NULL: the last one at or before it, if that reaches so far. */
const struct sn_hpct_symbol *sn_hpct_symbols_find(const struct sn_hpct_module *module,
						  uint64_t address);
/* An entry of the logical table, or NULL. */
const struct sn_hpct_logical *sn_hpct_symbols_logical(const struct sn_hpct_module *module,
						      uint32_t id);
