/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the CUDA adapter: finding CUPTI and subscribing (attach.c), the program's calls (call.c), records of what
 * the devices did (record.c), how much of a device a kernel
 * can use (occupancy.c), and graphs (graph.c). adapters/gpu has the way from there to the threads. docs/design/cuda.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/adapters/gpu/gpu.h"
#include "cupti.h"

#define SN_CUPTI_POINTER(name, parameters) sn_cupti_result(*name) parameters;
/* CUPTI's functions, all found, from attaching on. */
extern struct sn_cupti {
	SN_CUPTI_FUNCTIONS(SN_CUPTI_POINTER)
} sn_cupti;

extern struct sn_gpu_interface sn_cuda;

/* ---- call.c ---- */

/* CUPTI's callback for the calls that are subscribed. */
void sn_cuda_on_call(void *unused, uint32_t domain, uint32_t cbid, const void *call);
/* Whether a function is to be heard, by its name; the versions in names do not matter. */
bool sn_cuda_wants_call(uint32_t domain, const char *name);

/* ---- record.c ---- */

void sn_cuda_request_buffer(uint8_t **buffer, size_t *size, size_t *most_records);
void sn_cuda_complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid);

/* ---- occupancy.c: between sn_gpu_begin_done and sn_gpu_end_done ---- */

void sn_cuda_device_record(const struct sn_cupti_device *device);
/* Completes what is known of a kernel's launch: nothing where the device is not known. */
void sn_cuda_occupancy(uint32_t device, struct sn_gpu_shape *shape);

/* ---- graph.c ---- */

/* Whole graphs are recorded, or their nodes, as the user chose. Called when subscribing, after kernels' records are enabled. */
void sn_cuda_graph_begin(void *subscriber);
/* Which of both, for the adapter's status. */
const char *sn_cuda_graph_status(void);
/* A callback about resources. */
void sn_cuda_on_graph(uint32_t cbid, const struct sn_cupti_resource_data *data);
