/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that CUPTI writes sampled instructions to, with room for all reasons of each: see cupti_samples.h.
 *
 * All functions here: AS-safe: yes. MT: one thread at a time on one batch.
 */
#pragma once

#include "cupti_samples.h"

#include <stdbool.h>

struct sn_cuda_batch {
	struct sn_cupti_samples samples; /* pcs NULL: it has no memory */
	size_t capacity;
	size_t pc_bytes; /* from one instruction to the next */
	size_t reasons;	 /* room for how many, of each */
};

/* False without memory. */
bool sn_cuda_batch_init(struct sn_cuda_batch *batch, size_t capacity, size_t pc_bytes,
			size_t reasons);
void sn_cuda_batch_release(struct sn_cuda_batch *batch);
/* For the next reading. */
void sn_cuda_batch_empty(struct sn_cuda_batch *batch);
/* How many instructions are in it. */
size_t sn_cuda_batch_count(const struct sn_cuda_batch *batch);
struct sn_cupti_pc *sn_cuda_batch_pc(const struct sn_cuda_batch *batch, size_t index);
/* False where the library's records are of another length: then it has written over where the next one's reasons are. */
bool sn_cuda_batch_lies_as_asked(const struct sn_cuda_batch *batch, size_t index);
