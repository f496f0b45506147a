/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding an exported symbol of a loaded module by reading the module's own dynamic symbol table.
 *
 * dlsym finds only what is in scope of its caller: not a library opened with RTLD_LOCAL, which is
 * how embedding programs often load an interpreter. It also takes the loader's lock. This reads
 * mapped memory and nothing else.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_ELF_SYMBOL_H
#define SN_COLLECT_ELF_SYMBOL_H

#include "module_list.h"

#include <stddef.h>

/* The address of the function or object that `module` itself defines and exports under `name`; 0
 * where it defines none. `size_bytes`, when not NULL, receives its size as the symbol table gives
 * it. A weak definition counts; a thread-local one and an indirect function do not. The module
 * must be mapped and stay so during the call. */
uintptr_t sn_elf_symbol(const struct sn_module *module, const char *name, size_t *size_bytes);

/* As much of a module as that needs, out of what dl_iterate_phdr() tells; false where nothing of
 * it is mapped. */
struct dl_phdr_info;
bool sn_elf_module_of(const struct dl_phdr_info *info, struct sn_module *module);

#endif
