/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlclose: cached data of the unloaded addresses becomes invalid. dlopen is not wrapped, because
 * the loader searches by its caller; new modules are found by their pcs (module_list.c).
 *
 * dlsym: functions of CUPTI's that the collector must hear of are often asked for by name, in the
 * library itself (adapters/cuda/others.c), and so are those that the user describes (adapters/configured) and
 * plugins for XLA (adapters/pjrt), and NCCL's (adapters/nccl). It searches by its caller too, so all other calls go on to
 * the real one by a jump: its return address is the program's.
 */
#include "intercept.h"
#include "collect/adapters/configured/configured.h"
#include "collect/adapters/cuda/others.h"
#include "collect/adapters/nccl/nccl.h"
#include "collect/adapters/pjrt/lookup.h"
#include "collect/unwind/module_list.h"
#include "collect/adapters/openmp/openmp.h"

#include <dlfcn.h>
#include <string.h>

SN_REAL(int, dlclose, (void *))

SN_EXPORT int dlclose(void *handle)
{
	sn_modules_unloading(true);
	int status = real_dlclose_get()(handle);
	sn_modules_unloading(false);
	sn_gomp_forget();
	return status;
}

static void *(*real_dlsym(void))(void *, const char *)
{
	static _Atomic(void *) found;
	void *function = atomic_load_explicit(&found, memory_order_relaxed);
	if (!function) {
		function = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (!function)
			function = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		atomic_store_explicit(&found, function, memory_order_relaxed);
	}
	return (void *(*)(void *, const char *))function;
}

void *sn_real_dlsym(void *library, const char *name)
{
	return real_dlsym()(library, name);
}

/* Of a library's handle, so no matter who calls. */
static void *dlsym_of_cupti(void *library, const char *name)
{
	return sn_cuda_stand_in(name, sn_real_dlsym(library, name));
}

static void *dlsym_of_configured(void *library, const char *name)
{
	return (void *)sn_configured_lookup(library, name);
}

static void *dlsym_of_pjrt(void *library, const char *name)
{
	if (library == RTLD_DEFAULT)
		return sn_pjrt_lookup_global(__builtin_return_address(0));
	return library == RTLD_NEXT ? sn_pjrt_lookup_global(NULL)
				    : sn_pjrt_stand_in(name, sn_real_dlsym(library, name));
}

/* Where a call of dlsym goes on. */
__attribute__((used)) static void *(*dlsym_for(void *library, const char *name))(void *,
										 const char *)
{
	bool is_special = library == RTLD_DEFAULT || library == RTLD_NEXT;
	if (name && !strncmp(name, "nccl", 4))
		sn_nccl_noticed();
	if (name && !strncmp(name, "cuGetProcAddress", 16))
		sn_cuda_asked();
	if (name && sn_configured_lookup(library, name))
		return dlsym_of_configured;
	/* a library that looks further than itself gets what comes after it, never ours */
	if (name && sn_pjrt_has_stand_in(name) &&
	    !(library == RTLD_NEXT && sn_real_dlsym(RTLD_NEXT, name)))
		return dlsym_of_pjrt;
	return !is_special && name && sn_cuda_has_stand_in(name) ? dlsym_of_cupti : real_dlsym();
}

__asm__(".pushsection .text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"\t.cfi_startproc\n"
	"\tendbr64\n"
	"\tpush %rdi\n"
	"\t.cfi_adjust_cfa_offset 8\n"
	"\tpush %rsi\n"
	"\t.cfi_adjust_cfa_offset 8\n"
	"\tsub $8, %rsp\n"
	"\t.cfi_adjust_cfa_offset 8\n"
	"\tcall dlsym_for\n"
	"\tadd $8, %rsp\n"
	"\t.cfi_adjust_cfa_offset -8\n"
	"\tpop %rsi\n"
	"\t.cfi_adjust_cfa_offset -8\n"
	"\tpop %rdi\n"
	"\t.cfi_adjust_cfa_offset -8\n"
	"\tjmp *%rax\n"
	"\t.cfi_endproc\n"
	".size dlsym, .-dlsym\n"
	".popsection\n");
