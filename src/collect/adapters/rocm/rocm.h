/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the adapter of AMD's GPUs: being a tool of rocprofiler-sdk (attach.c), the program's calls (call.c) and what these allocate (memory.c), names of
 * kernels (kernel.c), records of what the devices did (record.c), replayed graphs (graph.c), hardware counters (counter.c), and the tables of functions through
 * which runtimes call themselves, which come by here (table.c). What the SDK may never answer is asked with a bound (bounded.c). Samples of
 * instructions are in pc_sampling.h. adapters/gpu has the way from there to the threads. docs/design/rocm.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/adapters/gpu/gpu.h"
#include "rocprofiler.h"

#define SN_ROCPROFILER_POINTER(name, parameters) sn_rocprofiler_status(*name) parameters;
/* The SDK's functions, all found, from attaching on. */
extern struct sn_rocprofiler {
	SN_ROCPROFILER_FUNCTIONS(SN_ROCPROFILER_POINTER)
} sn_rocprofiler;

extern struct sn_gpu_interface sn_rocm;

#define SN_ROCM_DEVICES 64u

/* ---- attach.c ---- */

/* Whether the SDK delivers calls and records. AS-safe: yes. */
bool sn_rocm_has_records(void);
/* No records can be had, for this reason (static storage), but calls may be. The first reason stays. */
void sn_rocm_without_records(const char *reason);
/* Calls are heard without the SDK. AS-safe: yes. */
bool sn_rocm_has_table(void);
void sn_rocm_set_table(void);

/* ---- bounded.c ---- */

/* Runs it on a thread of its own, which gets no signals of the program's, and waits 3 seconds at most. False where it has not ended by
 * then: it may go on. */
bool sn_rocm_run_bounded(void (*function)(void));

/* ---- call.c ---- */

/* The functions that are heard, of those that the SDK knows. MT: before calls are heard. */
const int32_t *sn_rocm_wanted_calls(size_t *count);
/* The SDK's callback for them. */
void sn_rocm_on_call(struct sn_rocprofiler_call call, uint64_t *word, void *unused);
/* What the call with this number copies or sets, to whoever asks first, for a call may launch several kernels; 0 where it is not
 * known (any more). */
uint64_t sn_rocm_take_bytes(uint32_t correlation);

/* Hears of HIP's streams in that context. MT: before calls are heard. */
void sn_rocm_hear_streams(uint64_t context);
/* Whether the SDK tells them: else records have hardware queues alone. */
bool sn_rocm_hears_streams(void);
/* Of the call with this number, as far as it is known (still). */
struct sn_rocm_note {
	uint32_t stream; /* 0: the default one */
	bool replays;	 /* a graph */
};
struct sn_rocm_note sn_rocm_note_of(uint32_t correlation);

/* ---- memory.c ---- */

/* A function that is heard, before it is. */
void sn_rocm_memory_note_call(uint32_t operation, const char *name);
/* The program's call, before it runs and when it has, between sn_gpu_call_enter and sn_gpu_call_exit. */
void sn_rocm_memory_before_call(uint32_t operation,
				const struct sn_rocprofiler_arguments *arguments);
void sn_rocm_memory_after_call(uint32_t operation,
			       const struct sn_rocprofiler_arguments *arguments);

/* ---- kernel.c ---- */

/* The SDK's callback for code objects. */
void sn_rocm_on_code_object(struct sn_rocprofiler_call call, uint64_t *word, void *unused);
/* By the SDK's number; NULL where it is not known. As long as the process runs. */
const char *sn_rocm_kernel_name(uint64_t kernel);

/* ---- record.c ---- */

void sn_rocm_on_records(uint64_t context, uint64_t buffer, struct sn_rocprofiler_header **headers,
			size_t count, void *unused, uint64_t dropped);
/* What kind of operation a kernel is, by the SDK's number of it, and its name. */
void sn_rocm_set_kernel(struct sn_gpu_operation *operation, uint64_t kernel);
/* The SDK's numbers of the devices, in HIP's order. */
uint32_t sn_rocm_devices(const uint64_t **agents);
/* The SDK's callback for the devices, which numbers them. MT: before records come. */
sn_rocprofiler_status sn_rocm_on_agents(int version, const void **agents, size_t count,
					void *unused);

/* ---- graph.c ---- */

/* What a call did that replays a graph, which is to be recorded as a whole. One thread at a time, between sn_gpu_begin_done and
 * sn_gpu_end_done. */
void sn_rocm_graph_add(struct sn_gpu_operation *operation);
/* No more is added to those that have begun. */
void sn_rocm_graphs_end(void);

/* ---- counter.c ---- */

/* Counts what was asked for, while the SDK initialises its tools. MT: before records come. */
void sn_rocm_counters_begin(void *library);
/* Counts no more, once what runs is done; what has not come is lost. May never return. */
void sn_rocm_counters_end(void);
/* What has not come is lost, and is not taken any more. */
void sn_rocm_counters_give_up(void);
/* What is to be said of them behind all else; NULL: nothing was asked for. */
const char *sn_rocm_counters_status(void);
