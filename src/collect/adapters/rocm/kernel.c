/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels, by the numbers that the SDK gives them when code is loaded. They are copied, because the SDK frees its own
 * before measuring ends.
 */
#include "pc_sampling.h"

#include "collect/core/keep.h"

#include <string.h>

#define KERNELS (1u << 17)

static _Atomic(void *) names; /* KERNELS _Atomic(const char *) */

/* Without the ".kd" of its descriptor. */
static size_t length_of(const char *name)
{
	size_t length = strlen(name);
	return length > 3 && !strcmp(name + length - 3, ".kd") ? length - 3 : length;
}

void sn_rocm_on_code_object(struct sn_rocprofiler_call call, uint64_t *word, void *unused)
{
	const struct sn_rocprofiler_symbol *symbol = call.payload;
	(void)word, (void)unused;
	if (call.operation == SN_ROCPROFILER_CODE_OBJECT_LOAD && call.phase == SN_ROCPROFILER_ENTER)
		sn_rocm_code_object_loaded(call.payload);
	if (call.operation != SN_ROCPROFILER_KERNEL_SYMBOL || call.phase != SN_ROCPROFILER_ENTER ||
	    !symbol || symbol->size < sizeof(*symbol) || symbol->kernel >= KERNELS || !symbol->name)
		return;
	_Atomic(const char *) *all = sn_pages_once(&names, KERNELS * sizeof(*all));
	if (all)
		/* release: the text before its address */
		atomic_store_explicit(&all[symbol->kernel],
				      sn_keep_name(symbol->name, length_of(symbol->name)),
				      memory_order_release);
}

const char *sn_rocm_kernel_name(uint64_t kernel)
{
	_Atomic(const char *) *all = atomic_load_explicit(&names, memory_order_acquire);
	return all && kernel < KERNELS ? atomic_load_explicit(&all[kernel], memory_order_acquire)
				       : NULL;
}
