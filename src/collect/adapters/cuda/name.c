/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels, each kept once: CUPTI's may go with the module that has them, and operations wait in rings until their thread
 * takes them. With the lock of finished operations. AS-safe: no.
 */
#include "cuda.h"

#include "collect/core/keep.h"

#include <string.h>

#define RECENT 1024u

static struct {
	const char *theirs, *ours;
} recent[RECENT]; /* by the address of theirs, which another one may have taken */

const char *sn_cuda_name(const char *name)
{
	if (!name)
		return NULL;
	uint32_t slot = (uint32_t)((uintptr_t)name >> 3) % RECENT;
	if (recent[slot].theirs != name || strcmp(recent[slot].ours, name)) {
		const char *ours = sn_keep_name(name, strlen(name));
		if (!ours)
			return NULL;
		recent[slot].theirs = name;
		recent[slot].ours = ours;
	}
	return recent[slot].ours;
}
