/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the CUDA adapter: finding CUPTI and subscribing (attach.c), the program's calls (call.c), records of what the
 * devices did (record.c), and handing them to the threads that launched it (launch.c). docs/design/cuda.md gives reasons.
 *
 * A launch leaves its call path under its correlation number. CUPTI's thread finds it there when the record comes, and puts
 * the record into a ring of the launching thread, which adds it to its own tree at one of its next calls: no lock stands
 * between threads that launch.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/core/adapters.h"
#include "cupti.h"

#define SN_CUPTI_POINTER(name, parameters) sn_cupti_result(*name) parameters;
/* CUPTI's functions, all found, from attaching on. */
extern struct sn_cupti {
	SN_CUPTI_FUNCTIONS(SN_CUPTI_POINTER)
} sn_cupti;

/* ---- what a thread has ---- */

enum sn_cuda_kind { SN_CUDA_KERNEL, SN_CUDA_COPY, SN_CUDA_SET };

/* What a device did, on its way to the thread that launched it. */
struct sn_cuda_operation {
	uint32_t call; /* the launching call's node in the thread's tree */
	uint8_t kind;  /* enum sn_cuda_kind */
	uint8_t copy;  /* CUPTI's kind of copy */
	uint16_t device;
	uint32_t stream, correlation;
	const char *name; /* of a kernel */
	uint64_t bytes, start_ns, end_ns;
};

struct sn_cuda_thread;
/* That of the calling thread, made when it is first needed; NULL without memory. Between sn_enter and sn_leave. */
struct sn_cuda_thread *sn_cuda_thread(struct sn_thread *thread);

/* ---- launch.c ---- */

/* The calling thread launches something with this number, in the call at `node`. */
void sn_cuda_launch(struct sn_cuda_thread *state, uint32_t correlation, uint32_t node);
/* Something launched under its number was done. False where the launch is not known (any more) or its thread's ring is full.
 * One thread at a time. */
bool sn_cuda_done(struct sn_cuda_operation *operation);
/* Adds what has come to the calling thread's tree. Between sn_enter and sn_leave. */
void sn_cuda_collect(struct sn_cuda_thread *state);
/* The same for all threads, of which some have ended and others run; `self` is the calling one. */
void sn_cuda_collect_all(struct sn_thread *self);
void sn_cuda_thread_begin(struct sn_thread *thread);
void sn_cuda_thread_end(struct sn_thread *thread);
/* What has come is the parent's. MT: the only thread. */
void sn_cuda_launches_after_fork(void);

/* ---- call.c ---- */

/* CUPTI's callback for the calls that are subscribed. */
void sn_cuda_on_call(void *unused, uint32_t domain, uint32_t cbid, const void *call);
/* Whether a function is to be heard, by its name; the versions in names do not matter. */
bool sn_cuda_wants_call(uint32_t domain, const char *name);

/* ---- record.c ---- */

void sn_cuda_request_buffer(uint8_t **buffer, size_t *size, size_t *most_records);
void sn_cuda_complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid);

/* ---- operation.c; between sn_enter and sn_leave ---- */

/* Adds a call's time to its node. */
void sn_cuda_add_call(struct sn_thread *thread, uint32_t node, uint32_t correlation,
		      uint64_t start_ns, uint64_t end_ns);
/* Adds an operation to the tree of the thread that launched it: metrics, and an event where one is traced. */
void sn_cuda_record(struct sn_thread *thread, const struct sn_cuda_operation *operation);
