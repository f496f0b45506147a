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
	uint32_t buffer; /* in which they were compared */
} recent[RECENT];	 /* by the address of theirs, which another one may have taken */

static uint32_t buffers, current; /* that was begun; the one that is read now, 0: none */

void sn_cuda_names_begin(void)
{
	buffers += buffers == UINT32_MAX ? 2 : 1;
	current = buffers;
}

void sn_cuda_names_end(void)
{
	current = 0;
}

const char *sn_cuda_name(const char *name)
{
	if (!name)
		return NULL;
	uint32_t slot = (uint32_t)((uintptr_t)name >> 3) % RECENT;
	bool is_same = recent[slot].theirs == name;
	if (is_same && current && recent[slot].buffer == current)
		return recent[slot].ours;
	if (!is_same || strcmp(recent[slot].ours, name)) {
		const char *ours = sn_keep_name(name, strlen(name));
		if (!ours)
			return NULL;
		recent[slot].theirs = name;
		recent[slot].ours = ours;
	}
	recent[slot].buffer = current;
	return recent[slot].ours;
}
