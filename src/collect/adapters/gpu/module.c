/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a module is one of a runtime's own: call paths leave those frames out. */
#include "gpu.h"

#include <string.h>

static bool is_named(const struct sn_gpu_modules *modules, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	for (size_t index = 0; modules->prefixes[index]; index++)
		if (!strncmp(name, modules->prefixes[index], strlen(modules->prefixes[index])))
			return true;
	return false;
}

bool sn_gpu_is_inside(struct sn_gpu_modules *modules, uint32_t index)
{
	if (index == SN_MODULE_NONE)
		return false;
	_Atomic uint64_t *known = &modules->known[index % SN_GPU_KNOWN_MODULES];
	uint64_t entry = atomic_load_explicit(known, memory_order_relaxed);
	if (entry >> 1 == (uint64_t)index + 1)
		return entry & 1;
	bool is = is_named(modules, sn_module_at(index)->path);
	atomic_store_explicit(known, ((uint64_t)index + 1) << 1 | is, memory_order_relaxed);
	return is;
}
