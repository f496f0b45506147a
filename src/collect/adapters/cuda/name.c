/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels, each kept once: CUPTI's may go with the module that has them, and operations wait in rings until their thread
 * takes them. With the lock of finished operations. AS-safe: no.
 */
#include "cuda.h"

#include "collect/core/keep.h"

#include <string.h>

#define NAMES  (1u << 14)
#define RECENT 1024u

static const char *names[NAMES]; /* by their hash, with linear probing */
static uint32_t name_count;
static struct {
	const char *theirs, *ours;
} recent[RECENT]; /* by the address of theirs, which another one may have taken */

static const char *keep(const char *name)
{
	size_t bytes = strlen(name) + 1;
	char *copy = sn_keep(bytes);
	return copy ? memcpy(copy, name, bytes) : NULL;
}

static const char *find(const char *name)
{
	uint32_t hash = 2166136261u;
	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	for (; names[hash % NAMES]; hash++)
		if (!strcmp(names[hash % NAMES], name))
			return names[hash % NAMES];
	/* a quarter stays free, so that probing ends soon */
	if (name_count >= NAMES / 4 * 3)
		return NULL;
	const char *copy = keep(name);
	if (copy)
		name_count++;
	return names[hash % NAMES] = copy;
}

const char *sn_cuda_name(const char *name)
{
	if (!name)
		return NULL;
	uint32_t slot = (uint32_t)((uintptr_t)name >> 3) % RECENT;
	if (recent[slot].theirs != name || strcmp(recent[slot].ours, name)) {
		const char *ours = find(name);
		if (!ours)
			return NULL;
		recent[slot].theirs = name;
		recent[slot].ours = ours;
	}
	return recent[slot].ours;
}
