/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the functions behind our interceptors; see intercept.h. */
#include "intercept.h"
#include "collect/sample/interrupted_call.h"

#include <dlfcn.h>

void *sn_real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Pointers to all of them, as the linker puts them together. */
extern struct sn_real_function *const __start_sn_real_functions[], *const __stop_sn_real_functions[]
    __attribute__((visibility("hidden")));

/* Older C libraries lack some, which is no error of the program's. */
void sn_real_find_all(void)
{
	bool has_all = true;
	for (struct sn_real_function *const *one = __start_sn_real_functions;
	     one < __stop_sn_real_functions; one++)
		has_all = sn_real_address(*one) && has_all;
	if (!has_all)
		dlerror();
	/* those that are not among them: dlsym itself, by its first use, and syscall */
	sn_real_dlsym(RTLD_NEXT, "dlsym");
	if (!sn_real_syscall)
		sn_real_syscall = sn_real("syscall");
}
