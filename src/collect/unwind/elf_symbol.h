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

#include <link.h>
#include <stddef.h>
#include <string.h>

/* The address of the function or object that `module` itself defines and exports under `name`; 0
 * where it defines none. `size_bytes`, when not NULL, receives its size as the symbol table gives
 * it. A weak definition counts; a thread-local one and an indirect function do not. The module
 * must be mapped and stay so during the call. */
uintptr_t sn_elf_symbol(const struct sn_module *module, const char *name, size_t *size_bytes);

/* What a module's dynamic section leads to; NULL and 0 where it has none of that. */
struct sn_elf_dynamic {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *old_hash;
	/* relocations: of the linkage table, and the others */
	const ElfW(Rela) * relocations[2];
	size_t relocation_bytes[2];
};

/* False where the module has no symbols. */
bool sn_elf_dynamic_read(const struct sn_module *module, struct sn_elf_dynamic *dynamic);

/* One note of a module, and the next: its name and its description lie behind it. */
struct sn_elf_note {
	uint32_t type, name_bytes, bytes;
	const char *name;
	const unsigned char *description;
};
/* Steps over the notes in [*at, end): false where no whole one follows. */
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

/* As much of a module as that needs, out of what dl_iterate_phdr() tells; false where nothing of
 * it is mapped. */
bool sn_elf_module_of(const struct dl_phdr_info *info, struct sn_module *module);

#endif
