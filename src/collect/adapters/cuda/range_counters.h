/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters of kernels, by CUPTI's ranges around launches. docs/design/cuda-counters.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "cuda.h"

/* Launches are to be counted. */
extern _Atomic bool sn_cuda_counters_are_on;
/* Where the user wants it: finds the functions and subscribes to contexts. MT: once. */
void sn_cuda_counters_begin(void *library);
/* What is said of it at the begin: "" where the user does not want it. */
const char *sn_cuda_counters_plan(void);
/* What becomes of the adapter's status: why nothing is counted after all, or nothing more, or the status itself. AS-safe: yes. */
const char *sn_cuda_counters_status(const char *status);
/* Whether a call must be heard for counters alone. */
bool sn_cuda_counters_want_call(const char *name);
/* A call that is heard, before it is. MT: once. */
void sn_cuda_counters_note_call(uint32_t domain, uint32_t cbid, const char *name);
/* The program enters a call, and leaves it. Only while counters are on. */
void sn_cuda_counters_before_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call);
void sn_cuda_counters_after_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call);
/* A callback about resources. */
void sn_cuda_counters_on_resource(uint32_t cbid, const struct sn_cupti_resource_data *data);
/* Reads what there still is and ends counting. Waits for kernels that run, for which CUPTI sets no bound. */
void sn_cuda_counters_end(void);
/* What has not come is lost, and is not taken any more. */
void sn_cuda_counters_give_up(void);
/* In the child of a fork: contexts are the parent's. MT: the only thread. */
void sn_cuda_counters_after_fork(void);
