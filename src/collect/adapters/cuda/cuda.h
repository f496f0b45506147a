/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the CUDA adapter: finding CUPTI and subscribing (attach.c), what is said of that (say.c), other subscribers (others.c), the program's calls
 * (call.c, size.c; calls.c where there is no CUPTI), graphs (graph.c), records of what the devices did (record.c), whether these can be right (check.c), how much of a
 * device a kernel can use (occupancy.c), and names of kernels (name.c). adapters/gpu has the way from there to the threads.
 * docs/design/cuda.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/adapters/gpu/gpu.h"
#include "cupti.h"

#define SN_CUPTI_POINTER(name, parameters) sn_cupti_result(*name) parameters;
/* CUPTI's functions, from attaching on: all found, but of those for sharing. */
extern struct sn_cupti {
	SN_CUPTI_FUNCTIONS(SN_CUPTI_POINTER)
	SN_CUPTI_SHARING_FUNCTIONS(SN_CUPTI_POINTER)
	void *subscriber;
	bool shares; /* CUPTI with other subscribers: all calls are those for sharing */
} sn_cupti;

extern struct sn_gpu_interface sn_cuda;

/* ---- say.c: AS-safe: yes ---- */

/* One line for `sonde info`: what is measured, or why nothing is. Texts up to a NULL; the last line that was said stays. */
void sn_cuda_say(const char *text, ...);
/* That line, which stays as it is; NULL: nothing has been said. */
const char *sn_cuda_said(void);

/* ---- attach.c ---- */

/* Ends the subscription and takes what CUPTI still has, waiting for that with a bound. Once; false where nothing is subscribed. */
bool sn_cuda_release(void);
/* For how long CUPTI has been subscribed. */
uint64_t sn_cuda_attached_ns(void);

/* Asks CUPTI for records of this kind. */
sn_cupti_result sn_cuda_enable(uint32_t kind);

/* ---- calls.c ---- */

/* CUPTI does not tell of the program's calls, or no more: they are heard without it, from now on. */
void sn_cuda_hear_calls(void);

/* ---- library.c ---- */

/* CUPTI, opened where it is not yet; NULL: there is none. AS-safe: no. Once. */
void *sn_cuda_open_library(void);

/* ---- others.c ---- */

/* Who holds CUPTI, as far as that can be known: `told` is what CUPTI says, "" for nothing. Static storage. */
const char *sn_cuda_holder(const char *told);
/* The program has taken CUPTI by functions that do not share it, and may use it without a subscription. */
bool sn_cuda_is_held(void);

/* The tool that the driver loads in place of this library, since the user said so when the process began; NULL: none. Static storage.
 * AS-safe: yes, but for the first time, which is when the library starts. */
const char *sn_cuda_injected(void);

/* ---- check.c ---- */

/* A call that launches something begins. */
void sn_cuda_check_launch(uint32_t correlation);
/* A record of a kernel that is `bytes` long. False where it cannot be read. With the lock of finished operations. */
bool sn_cuda_check_record(const struct sn_cupti_kernel *kernel, size_t bytes, uint64_t offset_ns);
/* It has looked at enough. With the lock of finished operations. */
bool sn_cuda_check_has_ended(void);
/* Whether times have proved to be those of the calls. */
bool sn_cuda_times_are_right(void);

/* ---- name.c ---- */

/* The adapter's own copy of a name; NULL where there is none. With the lock of finished operations. */
const char *sn_cuda_name(const char *name);
/* A buffer of records is read, or has been. In between the text at an address stays as it is, so each is compared once. With that lock. */
void sn_cuda_names_begin(void);
void sn_cuda_names_end(void);

/* ---- call.c ---- */

/* CUPTI's callback for the calls that are subscribed. */
void sn_cuda_on_call(void *unused, uint32_t domain, uint32_t cbid, const void *call);
/* Whether a function is to be heard, by its name; the versions in names do not matter. */
bool sn_cuda_wants_call(uint32_t domain, const char *name);
/* Whether a function launches one kernel, unless it fails or its stream is captured. */
bool sn_cuda_is_launch(const char *name);
/* One that is heard, before it is. */
void sn_cuda_note_call(uint32_t domain, uint32_t cbid, const char *name);

/* ---- size.c ---- */

/* One that is heard, before it is. */
void sn_cuda_size_note_call(uint32_t domain, uint32_t cbid, const char *name);
/* A call with these parameters copies or sets nothing, as far as that is known. */
bool sn_cuda_moves_nothing(uint32_t domain, uint32_t cbid, const void *parameters);

/* ---- record.c ---- */

/* While false, what comes is not taken any more. */
extern _Atomic bool sn_cuda_is_taking;
/* Grows with each buffer that has come, each part of the metrics that is decoded and each step of the end: while it does, CUPTI does not hang. */
extern _Atomic uint32_t sn_cuda_progress;
/* What is to be added to CUPTI's times to have the collector's. */
uint64_t sn_cuda_clock_offset(void);
void sn_cuda_request_buffer(uint8_t **buffer, size_t *size, size_t *most_records);
void sn_cuda_complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid);
void sn_cuda_request_buffer_v2(uint8_t **buffer, size_t *size, size_t *most_records,
			       void *information);
void sn_cuda_complete_buffer_v2(uint8_t *buffer, size_t size, size_t valid, void *information);

/* ---- occupancy.c: between sn_gpu_begin_done and sn_gpu_end_done ---- */

void sn_cuda_device_record(const struct sn_cupti_device *device);
/* Completes what is known of a kernel's launch: nothing where the device is not known. */
void sn_cuda_occupancy(uint32_t device, struct sn_gpu_shape *shape);

/* ---- graph.c ---- */

/* Whole graphs are recorded, or their nodes, as the user chose. Called when subscribing, after kernels' records are enabled. */
void sn_cuda_graph_begin(void);
/* Which of both, for the adapter's status. */
const char *sn_cuda_graph_status(void);
/* A callback about resources. */
void sn_cuda_on_graph(uint32_t cbid, const struct sn_cupti_resource_data *data);
