/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of devices over time, by CUPTI's PM sampling. docs/design/cuda-metrics.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "cuda.h"

/* Devices are sampled, or will be from the first call on. */
extern _Atomic bool sn_cuda_metrics_are_on;
/* Where the user wants it: finds the functions. MT: once. */
void sn_cuda_metrics_begin(void *library);
/* What becomes of the adapter's status: what is sampled is said, or why nothing is. AS-safe: yes. */
const char *sn_cuda_metrics_status(const char *status);
/* The program enters a call, and has left one. Only while they are on. */
void sn_cuda_metrics_before_call(const struct sn_cupti_call *call);
void sn_cuda_metrics_after_call(void);
/* Ends sampling, and reads what there still is; the thread may be one that is not measured. */
void sn_cuda_metrics_end(void);
/* What was read then goes into the trace of the calling thread. MT: once, after the end. */
void sn_cuda_metrics_record_rest(void);
/* CUPTI's objects go, after all else that it is asked for. MT: once. */
void sn_cuda_metrics_release(void);
/* In the child of a fork: devices are the parent's. MT: the only thread. */
void sn_cuda_metrics_after_fork(void);
