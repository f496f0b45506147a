/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLVM as numba (llvmlite) and others have it registers each piece of code that it makes. Where a
 * sample meets code that belongs to no file, what is new of that list is noted: at the end of the
 * process would be too late, as numba has given its code back by then.
 */
#include "jit.h"

#include "collect/core/adapters.h"
#include "collect/core/lock.h"
#include "collect/core/thread.h"

#include <elf.h>
#include <string.h>
#include <sys/syscall.h>

#define DESCRIPTOR	 "__jit_debug_descriptor"
#define DESCRIPTOR_BYTES 24 /* of GDB's interface */

/* llvmlite keeps it as a local symbol, the shared LLVM exports it. */
static const char *const libraries[] = {"libllvmlite.so", "libLLVM"};
#define LIBRARY_COUNT (sizeof(libraries) / sizeof(*libraries))

static uint32_t modules[LIBRARY_COUNT] = {SN_MODULE_NONE, SN_MODULE_NONE};
static uintptr_t lists[LIBRARY_COUNT];
static uint32_t looked_at = UINT32_MAX; /* generation of modules */

static bool lies_within(const Elf64_Shdr *section, size_t bytes)
{
	return section->sh_offset <= bytes && section->sh_size <= bytes - section->sh_offset;
}

static uint64_t find_symbol(const char *file, const Elf64_Shdr *symbols, const Elf64_Shdr *names)
{
	const Elf64_Sym *symbol = (const Elf64_Sym *)(file + symbols->sh_offset);
	const Elf64_Sym *end = symbol + symbols->sh_size / sizeof(*symbol);
	for (; symbol < end; symbol++)
		if (symbol->st_size >= DESCRIPTOR_BYTES && symbol->st_name < names->sh_size &&
		    names->sh_size - symbol->st_name >= sizeof(DESCRIPTOR) &&
		    !memcmp(file + names->sh_offset + symbol->st_name, DESCRIPTOR,
			    sizeof(DESCRIPTOR)))
			return symbol->st_value;
	return 0;
}

/* The list's address in the file's own terms; 0: it has none. */
static uint64_t find_in_file(const char *file, size_t bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	if (bytes < sizeof(*header) || memcmp(file, ELFMAG, SELFMAG) != 0 ||
	    header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > bytes ||
	    header->e_shnum * sizeof(Elf64_Shdr) > bytes - header->e_shoff)
		return 0;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + header->e_shoff);
	uint64_t found = 0;
	for (unsigned i = 0; i < header->e_shnum && !found; i++) {
		const Elf64_Shdr *symbols = &sections[i];
		if ((symbols->sh_type == SHT_SYMTAB || symbols->sh_type == SHT_DYNSYM) &&
		    symbols->sh_link < header->e_shnum && lies_within(symbols, bytes) &&
		    lies_within(&sections[symbols->sh_link], bytes))
			found = find_symbol(file, symbols, &sections[symbols->sh_link]);
	}
	return found;
}

static uintptr_t find_list(const struct sn_module *module)
{
	size_t bytes;
	const void *file = sn_module_map_file(module, &bytes);
	if (!file)
		return 0;
	uint64_t found = find_in_file(file, bytes);
	sn_module_unmap_file(file, bytes);
	return found ? module->bias + found : 0;
}

/* Once for each state of the process's modules. MT: one at a time. */
static void find_lists(void)
{
	uint32_t generation = sn_module_generation();
	if (generation == looked_at)
		return;
	looked_at = generation;
	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		uint32_t module = sn_module_by_name(libraries[i]);
		if (module == modules[i])
			continue;
		modules[i] = module;
		lists[i] = module == SN_MODULE_NONE ? 0 : find_list(sn_module_at(module));
	}
}

void sn_jit_note_all(void)
{
	if (!sn_lock_try(SN_LOCK_JIT))
		return;
	find_lists();
	for (size_t i = 0; i < LIBRARY_COUNT; i++)
		sn_jit_note(lists[i]);
	sn_lock_release(SN_LOCK_JIT);
}

static const char *status(void)
{
	for (size_t i = 0; i < LIBRARY_COUNT; i++)
		if (lists[i])
			return "code that LLVM makes at run time has names";
	return "no code of LLVM's was met that was made at run time";
}

const struct sn_adapter sn_adapter_jit = {
    .name = "jit",
    .after_fork = sn_jit_after_fork,
    .status = status,
};
