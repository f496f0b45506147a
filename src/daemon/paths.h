/* SPDX-License-Identifier: Apache-2.0 */
/* How often each call path was sampled since the last flush. */
#pragma once

#include "callers.h"

#include "base/intern.h"

#include <stdbool.h>

struct sn_paths {
	struct sn_intern keys; /* where the sample was, and its callers */
	uint64_t *counts;
	size_t capacity;
	uint64_t samples; /* the sum of the counts */
};

/* All zeroes is empty. */
void sn_paths_release(struct sn_paths *paths);
/* 0 or SN_ERR_MEMORY: then nothing has changed. */
int sn_paths_add(struct sn_paths *paths, const struct sn_stack_sample *sample,
		 const struct sn_callers_path *path);
/* Of the number of a path below keys.count: the pair and the address in its image (counts.h), and the callers, the innermost first, of which there are *count. */
const struct sn_caller *sn_paths_at(const struct sn_paths *paths, uint32_t number, uint32_t *pair,
				    uint32_t *address, uint32_t *count);
/* Whether they should be flushed now, though it is not time yet. */
bool sn_paths_are_full(const struct sn_paths *paths);
