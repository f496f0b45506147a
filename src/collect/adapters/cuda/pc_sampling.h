/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the instructions that a device executes: CUPTI's interface for them (pc_sampling.c; pc_batch.c has what it writes to), the cubins that they lie in
 * (cubin.c), and which launch they are of where CUPTI does not tell (pc_place.c). docs/design/cuda-samples.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "cuda.h"

/* ---- pc_sampling.c ---- */

/* Instructions are being sampled. */
extern _Atomic bool sn_cuda_samples_are_on;
/* Where the user wants it: finds the functions and subscribes to contexts and modules. MT: once. */
void sn_cuda_samples_begin(void *library);
/* What becomes of the adapter's status: why instructions are not sampled after all, or the status itself. AS-safe: yes. */
const char *sn_cuda_samples_status(const char *status);
/* What is said of it at the begin: "" where the user does not want it. */
const char *sn_cuda_samples_plan(void);
/* A call that is heard, before it is. MT: once. */
void sn_cuda_samples_note_call(uint32_t domain, uint32_t cbid, const char *name);
/* The program enters and has left a call. Only while they are on. */
void sn_cuda_samples_before_call(uint32_t domain, uint32_t cbid);
void sn_cuda_samples_after_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call,
				bool is_launch);
/* A callback about resources. */
void sn_cuda_samples_on_resource(uint32_t cbid, const struct sn_cupti_resource_data *data);
/* Reads what there still is and ends sampling. */
void sn_cuda_samples_end(void);
/* In the child of a fork: contexts are the parent's. MT: the only thread. */
void sn_cuda_samples_after_fork(void);

/* ---- cubin.c ---- */

/* Where a function of a cubin lies. */
struct sn_cuda_code {
	uint32_t module;    /* SN_ID_NONE: not kept */
	uint64_t start;	    /* of its section in the cubin */
	const char *kernel; /* whose section it is; the adapter's own copy, NULL: unknown */
};

/* A module with this cubin was loaded: its functions are noted, and the cubin is kept in the measurement. */
void sn_cuda_cubin_loaded(const void *cubin, size_t bytes, uint64_t crc);
/* The function with this symbol or, if given, name. With the lock of finished operations. */
struct sn_cuda_code sn_cuda_cubin_find(uint64_t crc, uint32_t function, const char *name);

/* ---- pc_place.c: with the lock of finished operations ---- */

/* Samples of a kernel some launch of which they are of. */
void sn_cuda_samples_of_kernel(const char *kernel, const struct sn_gpu_sample *sample);
/* Samples are taken from then on, or are no more; only where that is by regions. With the claim of pc_sampling.c, not with that lock. */
void sn_cuda_samples_note_range(bool begins, uint64_t ns);
/* For how long samples were taken of a kernel that ran then. */
uint64_t sn_cuda_samples_ns(uint64_t start_ns, uint64_t end_ns);
/* A kernel was done that was launched there, and samples were taken of it for so long. */
void sn_cuda_samples_note_kernel(const char *kernel, const struct sn_gpu_place *place,
				 uint64_t duration_ns);
/* Divides the samples of kernels among the calls that launched them since the last time, in proportion to their time. At the end those
 * of no known launch have an unknown caller. */
void sn_cuda_samples_divide(bool is_end);
/* All is the parent's. MT: the only thread. */
void sn_cuda_samples_forget(void);
