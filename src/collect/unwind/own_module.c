/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which addresses are the collector's own and the C library's. */
#include "collect/core/callpath.h"
#include "module_list.h"

#include <gnu/libc-version.h>

/* A module by an address inside it, found once: libraries preloaded or loaded with the program
 * stay. */
static bool is_in(_Atomic uint32_t *known, uintptr_t inside, uintptr_t pc)
{
	uint32_t module = atomic_load_explicit(known, memory_order_relaxed);
	if (!module) {
		module = sn_module_find(inside);
		if (module == SN_MODULE_NONE)
			return false;
		atomic_store_explicit(known, ++module, memory_order_relaxed);
	}
	const struct sn_module *record = sn_module_at(module - 1);
	return pc >= record->start && pc < record->end;
}

bool sn_module_is_own(uintptr_t pc)
{
	static _Atomic uint32_t known;
	return is_in(&known, (uintptr_t)&sn_module_is_own, pc);
}

bool sn_module_is_libc(uintptr_t pc)
{
	static _Atomic uint32_t known;
	/* a function that no sanitizer puts its own in front of */
	return is_in(&known, (uintptr_t)&gnu_get_libc_version, pc);
}
