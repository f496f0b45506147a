/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Managed memory (docs/design/cuda.md): which call allocated what, so that CUPTI's records of what the driver moved, and of
 * faults on the way, find it by their addresses. All does nothing unless the user asked for it.
 *
 * All functions here: AS-safe: no.
 */
#pragma once

#include "cuda.h"

/* Asks CUPTI for the records, before other kinds are enabled. MT: once. */
void sn_cuda_managed_begin(void *library);
/* What is to be said of it, for `sonde info`; empty where nothing is. MT: yes. */
const char *sn_cuda_managed_status(void);
/* CUPTI's name of a callback: whether it allocates or frees managed memory. MT: before calls are heard. */
void sn_cuda_managed_note_call(uint32_t domain, uint32_t cbid, const char *name);
/* Such a call begins, or ends. MT: yes. */
void sn_cuda_managed_on_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call);
/* A context ends. MT: yes. */
void sn_cuda_managed_on_resource(uint32_t cbid, const struct sn_cupti_resource_data *data);
/* A record of CUPTI's. MT: one at a time, between sn_gpu_begin_done and sn_gpu_end_done. */
void sn_cuda_managed_record(const struct sn_cupti_managed *record, uint64_t offset_ns);
