/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlclose: cached data of the unloaded addresses becomes invalid. dlopen is not wrapped, because
 * the loader searches by its caller; new modules are found by their pcs (module_list.c).
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
