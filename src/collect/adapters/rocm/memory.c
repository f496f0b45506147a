/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program allocates of devices' memory, and gives back, by its calls of HIP: the SDK's own service for memory hears HSA, where HIP
 * keeps pools. HIP's call that frees tells an address alone, so sizes are kept by address.
 */
#include "rocm.h"

#include "collect/core/word_table.h"

#include <string.h>

#define CALLS	   1024u
#define TABLE_BITS 17u /* blocks that are allocated at a time */

static uint8_t does[CALLS]; /* enum sn_rocprofiler_memory */

static struct sn_word_table sizes = {.bits = TABLE_BITS}; /* by address */

/* Of the thread's call that frees: what it frees, 0 where that is not known. */
static __thread uintptr_t freed_bytes __attribute__((tls_model("initial-exec")));

void sn_rocm_memory_note_call(uint32_t operation, const char *name)
{
	static const struct {
		const char *name;
		enum sn_rocprofiler_memory does;
	} known[] = {
#define HIP_MEMORY(name, does) {#name, does},
#include "memory.def"
#undef HIP_MEMORY
	};
	for (size_t index = 0; index < sizeof(known) / sizeof(*known); index++)
		if (operation < CALLS && !strcmp(name, known[index].name))
			does[operation] = known[index].does;
}

/* ---- calls ---- */

/* The address and the size of what was allocated. */
static uint64_t allocated(enum sn_rocprofiler_memory what,
			  const struct sn_rocprofiler_arguments *arguments, uint64_t *address)
{
	const uint64_t *words = arguments->words;
	const uint64_t *place = (const uint64_t *)(uintptr_t)words[0];
	*address = place[0];
	if (what == SN_ROCPROFILER_ALLOCATES)
		return words[1];
	if (what == SN_ROCPROFILER_ALLOCATES_ROWS)
		return *(const uint64_t *)(uintptr_t)words[1] * words[3];
	/* a struct of address and pitch; behind it width, height and depth */
	return place[1] * words[2] * words[3];
}

static void record(enum sn_gpu_kind kind, uint64_t bytes)
{
	uint64_t now_ns = sn_now_ns();
	struct sn_gpu_operation operation = {.interface = &sn_rocm,
					     .kind = kind,
					     .bytes = bytes,
					     .start_ns = now_ns,
					     .end_ns = now_ns,
					     .count = 1};
	struct sn_gpu_thread *state;
	struct sn_thread *thread =
	    sn_gpu_call_place(&state, &operation.call) && state ? sn_enter() : NULL;
	if (!thread)
		return;
	sn_gpu_record(state, &operation);
	sn_leave(thread);
}

void sn_rocm_memory_before_call(uint32_t operation,
				const struct sn_rocprofiler_arguments *arguments)
{
	if (operation >= CALLS || does[operation] != SN_ROCPROFILER_FREES || !arguments)
		return;
	/* before it is free, and another thread may have the address */
	if (!sn_word_remove(&sizes, arguments->words[0], &freed_bytes))
		freed_bytes = 0;
}

static void has_allocated(enum sn_rocprofiler_memory what,
			  const struct sn_rocprofiler_arguments *arguments)
{
	uint64_t address, bytes = allocated(what, arguments, &address);
	if (!address || !bytes)
		return;
	record(SN_GPU_ALLOCATE, bytes);
	/* one that is there already was given back in a way that was not heard */
	sn_word_set(&sizes, address, bytes);
}

void sn_rocm_memory_after_call(uint32_t operation, const struct sn_rocprofiler_arguments *arguments)
{
	enum sn_rocprofiler_memory what =
	    operation < CALLS && arguments ? does[operation] : SN_ROCPROFILER_NO_MEMORY;
	if (what == SN_ROCPROFILER_NO_MEMORY || sn_rocprofiler_result(arguments))
		return;
	if (what != SN_ROCPROFILER_FREES)
		has_allocated(what, arguments);
	else if (freed_bytes)
		record(SN_GPU_FREE, freed_bytes);
}
