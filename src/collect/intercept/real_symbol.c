/* SPDX-License-Identifier: Apache-2.0 */
/* Searches all modules for a symbol; see real_symbol.h. */
#include "real_symbol.h"

#include "collect/unwind/elf_symbol.h"

#include <link.h>

struct search {
	const char *name;
	uintptr_t found;
};

static int search_module(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct search *search = argument;
	struct sn_module module;
	uintptr_t self = (uintptr_t)&search_module;
	if (!sn_elf_module_of(info, &module) || (self >= module.start && self < module.end))
		return 0;
	/* the kernel's own object has no file and nothing of ours */
	if (!info->dlpi_name || (!*info->dlpi_name && info->dlpi_addr))
		return 0;
	search->found = sn_elf_symbol(&module, search->name, NULL);
	return search->found != 0;
}

/* The first in load order that is not ours. dlsym(RTLD_NEXT) does not see it, since Python loads
 * its extensions without RTLD_GLOBAL. */
void *sn_real_symbol(const char *name)
{
	struct search search = {.name = name};
	dl_iterate_phdr(search_module, &search);
	return (void *)search.found;
}

void *sn_real_symbol_once(_Atomic(void *) *known, const char *name)
{
	void *function = atomic_load_explicit(known, memory_order_relaxed);
	if (__builtin_expect(function != NULL, 1))
		return function;
	function = sn_real_symbol(name);
	/* relaxed: threads that race find the same */
	atomic_store_explicit(known, function, memory_order_relaxed);
	return function;
}
