/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places through which modules call a configured function: entries of their tables of addresses that the loader fills
 * (global offset tables, and tables of constants). An entry is replaced only if it holds the function's address, or that of
 * the module's own code that looks it up at the first call. What programs look up by name comes from dlsym (intercept_dl.c); a program
 * that has loaded a library looks something up in it before it calls it, so that is also when new modules are looked at. All of
 * this happens only in processes with a description, or with a library of another adapter's.
 */
#include "configured.h"

#include "collect/core/lock.h"
#include "collect/intercept/intercept.h"
#include "collect/unwind/own_stack.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES 1024u /* that are known to have been looked at */

static struct {
	const void *header; /* a module's program header: its address identifies the module */
} known[MODULES];
static uint32_t known_count;
static unsigned long long loads, unloads;
static uint32_t known_calls;
static bool begins[256]; /* the first letters of names that are looked for */

/* ---- one module ---- */

struct module {
	uintptr_t bias, from, end;	 /* its addresses */
	uintptr_t relro_from, relro_end; /* pages that the loader has made read-only */
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const char *strings;
};

static void read_segments(struct module *module, const struct dl_phdr_info *info)
{
	*module = (struct module){.bias = info->dlpi_addr, .from = UINTPTR_MAX};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t from = module->bias + segment->p_vaddr, end = from + segment->p_memsz;
		if (segment->p_type == PT_LOAD) {
			module->from = from < module->from ? from : module->from;
			module->end = end > module->end ? end : module->end;
		} else if (segment->p_type == PT_GNU_RELRO) {
			module->relro_from = from & ~(uintptr_t)4095;
			module->relro_end = end & ~(uintptr_t)4095;
		} else if (segment->p_type == PT_DYNAMIC) {
			module->dynamic = (const ElfW(Dyn) *)from;
		}
	}
}

/* glibc writes addresses into the dynamic section, where it may; else they are the file's. */
static uintptr_t address(const struct module *module, uintptr_t value)
{
	return value >= module->from && value < module->end ? value : module->bias + value;
}

static uintptr_t entry(const struct module *module, int64_t tag)
{
	for (const ElfW(Dyn) *one = module->dynamic; one && one->d_tag != DT_NULL; one++)
		if (one->d_tag == tag)
			return one->d_un.d_val;
	return 0;
}

/* With one store: other threads call through the place meanwhile. */
static void store(const struct module *module, uintptr_t *place, uintptr_t value)
{
	uintptr_t page = (uintptr_t)place & ~(uintptr_t)4095;
	bool is_read_only = page >= module->relro_from && page < module->relro_end;
	if (is_read_only && syscall(SYS_mprotect, page, 4096ul, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(place, value, __ATOMIC_RELEASE);
	if (is_read_only)
		syscall(SYS_mprotect, page, 4096ul, PROT_READ);
}

/* What is to be there for a name; 0: what is. `*function` is the real one. */
static uintptr_t replacement(const char *name, uintptr_t *function)
{
	if (!begins[(unsigned char)*name])
		return 0;
	for (uint32_t i = 0; i < sn_configured_call_count; i++) {
		if (sn_configured_calls[i].is_given)
			continue;
		*function =
		    atomic_load_explicit(&sn_configured_calls[i].function, memory_order_relaxed);
		if (*function && !strcmp(name, sn_configured_calls[i].name))
			return sn_configured_stub(i);
	}
	return 0;
}

static void replace(const struct module *module, const ElfW(Rela) * relocation)
{
	uint32_t type = ELF64_R_TYPE(relocation->r_info);
	if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
	    (type != R_X86_64_64 || relocation->r_addend))
		return;
	const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];
	uintptr_t function, stub = replacement(module->strings + symbol->st_name, &function);
	uintptr_t *place = (uintptr_t *)(module->bias + relocation->r_offset);
	bool is_unresolved =
	    type == R_X86_64_JUMP_SLOT && stub && *place >= module->from && *place < module->end;
	if (stub && (*place == function || is_unresolved))
		store(module, place, stub);
}

static void replace_all(const struct module *module, uintptr_t relocations, size_t bytes)
{
	const ElfW(Rela) *at = (const ElfW(Rela) *)address(module, relocations);
	for (size_t i = 0; relocations && i < bytes / sizeof(*at); i++)
		replace(module, at + i);
}

static bool is_library(const char *path, const char *library)
{
	const char *slash = strrchr(path, '/');
	return !strncmp(slash ? slash + 1 : path, library, strlen(library));
}

/* Calls inside of a library are no calls of the program's; ours look for the real functions. */
static bool is_left_alone(const struct module *module, const char *path)
{
	uintptr_t ours = (uintptr_t)&is_left_alone;
	if ((ours >= module->from && ours < module->end) || !module->dynamic)
		return true;
	for (uint32_t i = 0; i < sn_configured_device_count; i++)
		if (is_library(path, sn_configured_devices[i].library))
			return true;
	return false;
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	struct module module;
	(void)bytes, (void)unused;
	for (uint32_t i = 0; i < known_count; i++)
		if (known[i].header == info->dlpi_phdr)
			return 0;
	read_segments(&module, info);
	if (!is_left_alone(&module, info->dlpi_name)) {
		module.symbols = (const ElfW(Sym) *)address(&module, entry(&module, DT_SYMTAB));
		module.strings = (const char *)address(&module, entry(&module, DT_STRTAB));
		replace_all(&module, entry(&module, DT_JMPREL), entry(&module, DT_PLTRELSZ));
		replace_all(&module, entry(&module, DT_RELA), entry(&module, DT_RELASZ));
	}
	if (known_count < MODULES)
		known[known_count++].header = info->dlpi_phdr;
	return 0;
}

/* ---- all of them ---- */

struct finding {
	char path[4096]; /* of the library */
	const char *library;
	unsigned long long loads, unloads;
};

static int look_for(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct finding *it = argument;
	(void)bytes;
	it->loads = info->dlpi_adds;
	it->unloads = info->dlpi_subs;
	if (!it->library)
		return 1;
	if (!is_library(info->dlpi_name, it->library) ||
	    strlen(info->dlpi_name) >= sizeof(it->path))
		return 0;
	strcpy(it->path, info->dlpi_name);
	return 1;
}

static int is_named(struct dl_phdr_info *info, size_t bytes, void *library)
{
	(void)bytes;
	return is_library(info->dlpi_name, library);
}

bool sn_configured_is_loaded(const char *library)
{
	return dl_iterate_phdr(is_named, (void *)library);
}

/* True where one of its functions is known that was not before. */
static bool find_functions(const struct sn_configured_device *device)
{
	struct finding it = {.library = device->library};
	bool is_new = false;
	dl_iterate_phdr(look_for, &it);
	void *library = *it.path ? dlopen(it.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	for (uint32_t i = device->first; library && i < device->end; i++) {
		if (sn_configured_calls[i].is_given)
			continue;
		uintptr_t function = (uintptr_t)sn_real_dlsym(library, sn_configured_calls[i].name);
		is_new |= function != atomic_exchange_explicit(&sn_configured_calls[i].function,
							       function, memory_order_relaxed);
	}
	if (library)
		dlclose(library);
	return is_new;
}

static void note_begins(void)
{
	for (uint32_t i = 0; i < sn_configured_call_count; i++)
		begins[(unsigned char)*sn_configured_calls[i].name] = true;
}

static void find_all(void *unused)
{
	(void)unused;
	struct finding now = {0};
	note_begins();
	dl_iterate_phdr(look_for, &now);
	uint32_t calls = sn_configured_call_count;
	if (now.loads == loads && now.unloads == unloads && calls == known_calls)
		return;
	known_calls = calls;
	/* an address that was unloaded may be another module's */
	bool is_new = now.unloads != unloads;
	for (uint32_t i = 0; i < sn_configured_device_count; i++)
		is_new |= find_functions(&sn_configured_devices[i]);
	if (is_new)
		known_count = 0;
	dl_iterate_phdr(look_at, NULL);
	/* after: opening a library counts as a load */
	dl_iterate_phdr(look_for, &now);
	loads = now.loads;
	unloads = now.unloads;
}

void sn_configured_find(void)
{
	if (!sn_configured_call_count || !sn_lock_try(SN_LOCK_CONFIGURED))
		return;
	sn_on_own_stack(find_all, NULL);
	sn_lock_release(SN_LOCK_CONFIGURED);
}

uintptr_t sn_configured_lookup(void *handle, const char *name)
{
	uintptr_t function, stub;
	if (!sn_configured_call_count || !sn_measuring())
		return 0;
	sn_configured_find();
	stub = replacement(name, &function);
	/* what these two find depends on who asks */
	if (!stub || handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return stub;
	void *found = sn_real_dlsym(handle, name);
	return (uintptr_t)found == function ? stub : 0;
}
