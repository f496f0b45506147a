/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the functions behind our interceptors; see intercept.h. */
#include "intercept.h"

#include <dlfcn.h>

void *sn_real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}
