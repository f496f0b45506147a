/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels, by their handles: read once of each, and kept once of each name. */
#include "levelzero.h"

#include "collect/core/keep.h"
#include "collect/core/word_table.h"

#include <string.h>

#define BITS	   14u
#define NAME_BYTES 1024u

static struct sn_word_table handles = {.bits = BITS};

const char *sn_ze_kernel_name(void *kernel)
{
	const char *known = (const char *)sn_word_get(&handles, (uintptr_t)kernel);
	char text[NAME_BYTES];
	size_t size = 0;
	if (known)
		return known;
	if (sn_ze.zeKernelGetName(kernel, &size, NULL) || !size || size > sizeof(text) ||
	    sn_ze.zeKernelGetName(kernel, &size, text))
		return NULL;
	text[size - 1] = 0;
	const char *kept = sn_keep_name(text, strlen(text));
	if (kept)
		sn_word_set(&handles, (uintptr_t)kernel, (uintptr_t)kept);
	return kept;
}

static void forget(void *kernel)
{
	uintptr_t unused;
	sn_word_remove(&handles, (uintptr_t)kernel, &unused);
}

/* A new one may have the handle of one that was not seen to go. */
void sn_ze_kernel_created(void **parameters, sn_ze_result result)
{
	void **kernel = SN_ZE_PARAMETER(parameters, void **, 2);
	if (!result)
		forget(*kernel);
}

void sn_ze_kernel_is_destroyed(void **parameters, sn_ze_result result)
{
	(void)result;
	forget(SN_ZE_PARAMETER(parameters, void *, 0));
}
