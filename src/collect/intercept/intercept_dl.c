/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlclose: what was known of the addresses unloaded no longer holds. dlopen is left alone, because
 * the loader looks at who calls it to decide where to search; new modules are found when a pc of
 * theirs is met (module_list.c).
 */
#include "intercept.h"
#include "collect/unwind/module_list.h"
#include "collect/adapters/openmp/openmp.h"

#include <dlfcn.h>

SN_REAL(int, dlclose, (void *))

SN_EXPORT int dlclose(void *handle)
{
	sn_modules_unloading(true);
	int status = real_dlclose_get()(handle);
	sn_modules_unloading(false);
	sn_gomp_forget();
	return status;
}
