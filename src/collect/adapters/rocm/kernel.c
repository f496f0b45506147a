/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels, by the numbers that the SDK gives them when code is loaded. They are copied, because the SDK frees its own
 * before measuring ends.
 */
#include "pc_sampling.h"

#include <string.h>

#define KERNELS	   (1u << 17)
#define NAME_BYTES ((size_t)32 << 20)

static _Atomic(void *) names; /* KERNELS _Atomic(const char *) */
static _Atomic(void *) storage;
static _Atomic size_t used;

/* NULL where there is no more room. */
static char *room_for(size_t bytes)
{
	char *start = sn_pages_once(&storage, NAME_BYTES);
	if (!start)
		return NULL;
	size_t place = atomic_fetch_add_explicit(&used, bytes, memory_order_relaxed);
	return place < NAME_BYTES && bytes <= NAME_BYTES - place ? start + place : NULL;
}

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
	size_t length = length_of(symbol->name);
	_Atomic(const char *) *all = sn_pages_once(&names, KERNELS * sizeof(*all));
	char *copy = all ? room_for(length + 1) : NULL;
	if (!copy)
		return;
	memcpy(copy, symbol->name, length);
	copy[length] = 0;
	/* release: the text before its address */
	atomic_store_explicit(&all[symbol->kernel], copy, memory_order_release);
}

const char *sn_rocm_kernel_name(uint64_t kernel)
{
	_Atomic(const char *) *all = atomic_load_explicit(&names, memory_order_acquire);
	return all && kernel < KERNELS ? atomic_load_explicit(&all[kernel], memory_order_acquire)
				       : NULL;
}
