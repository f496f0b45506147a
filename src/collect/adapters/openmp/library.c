/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which libgomp a caller belongs to. A process may hold several: the distribution's, and copies
 * that Python wheels bring along under names of their own. Each has its own threads' numbers and
 * barriers, so a region must run in the one that the other calls of its module use, or the program
 * computes a wrong result. The body of a region always lies in the module that starts it.
 *
 *	one libgomp in the process: that one
 *	several: the one that the module's other references to it are bound to already; else the
 *	first that is visible to all; else the one that the module itself was linked with. This is
 *	what the dynamic linker does with those references when it comes to them.
 *
 * The result is cached by the body's address until a module is unloaded.
 */
#include "openmp.h"

#include "collect/core/lock.h"
#include "collect/unwind/elf_symbol.h"

#include <dlfcn.h>

#define LIBRARIES_MAX 16u
#define KNOWN_ENTRIES 1024u

static struct sn_gomp libraries[LIBRARIES_MAX];
static _Atomic uint32_t library_count;

/* A body's address and the number of its library + 1 in the low bits: one word, so that it is read
 * whole. */
#define NUMBER_BITS 5u
static _Atomic uint64_t known[KNOWN_ENTRIES];

static const char *const names[] = {
#define SN_GOMP(name) #name,
#include "gomp.def"
#undef SN_GOMP
};

uint32_t sn_gomp_count(void)
{
	return atomic_load_explicit(&library_count, memory_order_acquire);
}

/* ---- the modules loaded now ---- */

struct search {
	uintptr_t inside;	       /* an address in the module looked for */
	uint32_t found[LIBRARIES_MAX]; /* libraries that are loaded, in load order */
	uint32_t found_count;
	struct sn_module caller;
	const char *caller_path;
};

/* The number of the library in this module, noted where it is new; UINT32_MAX where all are taken.
 * Under the lock. */
static uint32_t number_of(const struct sn_module *module)
{
	uint32_t count = atomic_load_explicit(&library_count, memory_order_relaxed);
	uintptr_t first = sn_elf_symbol(module, names[0], NULL);
	for (uint32_t index = 0; index < count; index++)
		if (libraries[index].runtime.start == module->start &&
		    libraries[index].runtime.end == module->end &&
		    libraries[index].entries[0] == (void *)first) {
			libraries[index].is_ompt = sn_ompt_is_runtime(module->start);
			return index;
		}
	if (count == LIBRARIES_MAX)
		return UINT32_MAX;
	struct sn_gomp *library = &libraries[count];
	library->runtime = (struct sn_runtime){module->start, module->end};
	for (uint32_t entry = 0; entry < SN_GOMP_COUNT; entry++)
		library->entries[entry] = (void *)sn_elf_symbol(module, names[entry], NULL);
	library->is_ompt = sn_ompt_is_runtime(module->start);
	/* release: a reader of the count sees the library */
	atomic_store_explicit(&library_count, count + 1, memory_order_release);
	return count;
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct search *search = argument;
	struct sn_module module;
	uintptr_t self = (uintptr_t)&look_at;
	if (!sn_elf_module_of(info, &module) || (self >= module.start && self < module.end))
		return 0;
	/* the kernel's own object has no file and nothing of ours */
	if (!info->dlpi_name || (!*info->dlpi_name && info->dlpi_addr && search->caller_path))
		return 0;
	if (search->inside >= module.start && search->inside < module.end) {
		search->caller = module;
		search->caller_path = info->dlpi_name;
	}
	if (search->found_count == LIBRARIES_MAX || !sn_elf_symbol(&module, names[0], NULL))
		return 0;
	uint32_t number = number_of(&module);
	if (number != UINT32_MAX)
		search->found[search->found_count++] = number;
	return 0;
}

/* ---- several ---- */

static uint32_t library_with(const struct search *search, uintptr_t address)
{
	for (uint32_t index = 0; index < search->found_count; index++) {
		const struct sn_runtime *runtime = &libraries[search->found[index]].runtime;
		if (address >= runtime->start && address < runtime->end)
			return search->found[index];
	}
	return UINT32_MAX;
}

/* The library that one of the caller's references to functions of OpenMP is bound to. */
static uint32_t bound_to(const struct search *search)
{
	struct sn_elf_dynamic caller;
	if (!sn_elf_dynamic_read(&search->caller, &caller))
		return UINT32_MAX;
	for (int list = 0; list < 2; list++) {
		size_t count = caller.relocations[list]
				   ? caller.relocation_bytes[list] / sizeof(ElfW(Rela))
				   : 0;
		for (size_t index = 0; index < count; index++) {
			const ElfW(Rela) *one = &caller.relocations[list][index];
			if (!ELF64_R_SYM(one->r_info))
				continue;
			const char *name =
			    caller.strings + caller.symbols[ELF64_R_SYM(one->r_info)].st_name;
			if (strncmp(name, "GOMP_", 5) && strncmp(name, "omp_", 4))
				continue;
			uintptr_t *place = (uintptr_t *)(search->caller.bias + one->r_offset);
			uint32_t number = library_with(search, *place);
			if (number != UINT32_MAX)
				return number;
		}
	}
	return UINT32_MAX;
}

static uint32_t choose(const struct search *search)
{
	if (search->found_count == 1)
		return search->found[0];
	uint32_t number = UINT32_MAX;
	if (search->caller.end)
		number = bound_to(search);
	if (number == UINT32_MAX)
		number = library_with(search, (uintptr_t)dlsym(RTLD_NEXT, names[0]));
	void *handle = NULL;
	if (number == UINT32_MAX && search->caller_path)
		handle = dlopen(*search->caller_path ? search->caller_path : NULL,
				RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		/* searches the module and what it was linked with, breadth first */
		number = library_with(search, (uintptr_t)dlsym(handle, names[0]));
		dlclose(handle);
	}
	return number == UINT32_MAX && search->found_count ? search->found[0] : number;
}

static const struct sn_gomp *__attribute__((noinline))
find(void (*function)(void *), _Atomic uint64_t *entry)
{
	struct search search = {.inside = (uintptr_t)function};
	sn_lock_acquire(SN_LOCK_OPENMP_LIBRARIES);
	dl_iterate_phdr(look_at, &search);
	sn_lock_release(SN_LOCK_OPENMP_LIBRARIES);
	uint32_t number = choose(&search);
	if (number == UINT32_MAX)
		return NULL;
	atomic_store_explicit(entry, (uint64_t)(uintptr_t)function << NUMBER_BITS | (number + 1),
			      memory_order_release);
	return &libraries[number];
}

const struct sn_gomp *sn_gomp_of(void (*function)(void *))
{
	uint64_t address = (uintptr_t)function;
	_Atomic uint64_t *entry = &known[(address >> 4 ^ address >> 14) % KNOWN_ENTRIES];
	/* acquire: the library it names is complete */
	uint64_t value = atomic_load_explicit(entry, memory_order_acquire);
	if (__builtin_expect(value >> NUMBER_BITS == address && value, 1))
		return &libraries[(value & ((1u << NUMBER_BITS) - 1)) - 1];
	return find(function, entry);
}

void sn_gomp_forget(void)
{
	for (uint32_t index = 0; index < KNOWN_ENTRIES; index++)
		atomic_store_explicit(&known[index], 0, memory_order_relaxed);
}
