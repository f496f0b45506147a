/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked with a PJRT plugin, and asks for it by RTLD_DEFAULT. */
#include "../../fake/pjrt/pjrt.h"

#include <dlfcn.h>

int minor_version(void);
int minor_version(void)
{
	const struct pjrt_api *(*get)(void) = NULL;
	*(void **)&get = dlsym(RTLD_DEFAULT, "GetPjrtApi");
	return get ? get()->version.minor_version : -1;
}
