/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by code.c, functions.c and returns.c; see code.h. */
#pragma once

#include "code.h"

/* Fills in the functions. SN_ERR_MEMORY or 0. */
int sn_code_find_functions(struct sn_code *code, struct sn_elf_file *symbols);
/* The section of code that holds an address, or NULL. */
const struct sn_code_section *sn_code_section_at(const struct sn_code *code, uint64_t address);
