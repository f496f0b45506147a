/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding an exported symbol of a loaded module by reading the module's own dynamic symbol table.
 *
 * dlsym finds only symbols in its caller's scope, not those of a library opened with RTLD_LOCAL, as
 * embedding programs often load an interpreter. It also takes the loader's lock. These functions
 * only read mapped memory.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include "module_list.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

/* The address of the function or object that `module` itself defines and exports as `name`; 0 if
 * there is none. `size_bytes`, if not NULL, receives its size in the symbol table. A weak
 * definition counts; a thread-local one and an indirect function do not. The module must be mapped
 * and stay so during the call. */
uintptr_t sn_elf_symbol(const struct sn_module *module, const char *name, size_t *size_bytes);

/* The tables of a module's dynamic section; NULL and 0 for missing ones. */
struct sn_elf_dynamic {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *old_hash;
	/* relocations: of the linkage table, and the others */
	const ElfW(Rela) * relocations[2];
	size_t relocation_bytes[2];
};

/* False if the module has no symbols. */
bool sn_elf_dynamic_read(const struct sn_module *module, struct sn_elf_dynamic *dynamic);

/* An ELF note of a module; its name and its description follow it. */
struct sn_elf_note {
	uint32_t type, name_bytes, bytes;
	const char *name;
	const unsigned char *description;
};
/* Iterates over the notes in [*at, end): false if no complete one follows. */
static inline bool sn_elf_note_next(const unsigned char **at, const unsigned char *end,
				    struct sn_elf_note *note)
{
	Elf64_Nhdr header;
	if ((size_t)(end - *at) < sizeof(header))
		return false;
	memcpy(&header, *at, sizeof(header));
	size_t name = (header.n_namesz + 3ul) & ~3ul, bytes = (header.n_descsz + 3ul) & ~3ul;
	*note =
	    (struct sn_elf_note){header.n_type, header.n_namesz, header.n_descsz,
				 (const char *)*at + sizeof(header), *at + sizeof(header) + name};
	if (name + bytes > (size_t)(end - *at) - sizeof(header))
		return false;
	*at += sizeof(header) + name + bytes;
	return true;
}

/* Fills the fields of `module` that these functions need from dl_iterate_phdr()'s; false if nothing
 * of the module is mapped. */
bool sn_elf_module_of(const struct dl_phdr_info *info, struct sn_module *module);
