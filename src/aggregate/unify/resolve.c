/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of addresses for the symbolizer; see resolve.h. */
#include "resolve.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 64

/* A native frame on its way to the symbolizer. */
struct request {
	uint32_t module, frame;
	uint64_t address;
};

/* The distinct addresses of one module. */
struct batch {
	uint32_t module; /* symbolizer's */
	const uint64_t *addresses;
	struct sn_symbol_location *locations;
	size_t count;
};

struct work {
	struct sn_symbolizer *symbolizer;
	struct batch *batches;
	size_t batch_count;
	atomic_size_t next;
	atomic_int result;
};

uint64_t sn_resolve_address(const struct sn_frame *frame)
{
	bool is_return = frame->flags & SN_FRAME_RETURN_ADDRESS && frame->value;
	return frame->value - is_return;
}

static int compare_requests(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* All native frames with a module, by module and address. NULL without memory. */
static struct request *collect(const struct sn_merge *merge, size_t *count)
{
	struct request *requests = malloc((merge->frames.count + 1ull) * sizeof(*requests));
	*count = 0;
	for (uint32_t i = 0; requests && i < merge->frames.count; i++) {
		struct sn_frame frame;
		memcpy(&frame, sn_intern_at(&merge->frames, i, NULL), sizeof(frame));
		bool is_code =
		    frame.kind == SN_FRAME_NATIVE || frame.kind == SN_FRAME_GPU_INSTRUCTION;
		if (is_code && frame.id != SONDE_NONE)
			requests[(*count)++] =
			    (struct request){frame.id, i, sn_resolve_address(&frame)};
	}
	if (requests)
		qsort(requests, *count, sizeof(*requests), compare_requests);
	return requests;
}

static int begin_batch(const struct sn_merge *merge, struct sn_symbolizer *symbolizer,
		       uint32_t number, struct batch *batch)
{
	struct sn_merged_module module;
	memcpy(&module, sn_intern_at(&merge->modules, number, NULL), sizeof(module));
	return sn_symbolizer_module(symbolizer, sn_db_builder_text(merge->builder, module.path),
				    module.build_id, module.build_id_bytes,
				    merge->module_flags[number], &batch->module);
}

/* Distinct addresses in `addresses`, batches in `work`, and each frame's place in the storage. */
static int make_batches(const struct sn_merge *merge, const struct request *requests, size_t count,
			uint64_t *addresses, struct sn_resolved *resolved, struct work *work)
{
	for (size_t i = 0; i < count; i++) {
		bool is_new_module = !i || requests[i].module != requests[i - 1].module;
		if (is_new_module) {
			struct batch *batch = work->batches + work->batch_count++;
			batch->addresses = addresses + resolved->address_count;
			batch->locations = resolved->storage + resolved->address_count;
			batch->count = 0;
			int result =
			    begin_batch(merge, work->symbolizer, requests[i].module, batch);
			if (result)
				return result;
			resolved->modules[requests[i].module] = batch->module;
		}
		if (is_new_module || requests[i].address != requests[i - 1].address) {
			addresses[resolved->address_count++] = requests[i].address;
			work->batches[work->batch_count - 1].count++;
		}
		resolved->locations[requests[i].frame] =
		    resolved->storage + resolved->address_count - 1;
	}
	return 0;
}

static void *look_up(void *argument)
{
	struct work *work = argument;
	for (;;) {
		/* relaxed: the batches are complete before any thread starts */
		size_t i = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
		if (i >= work->batch_count)
			return NULL;
		const struct batch *batch = work->batches + i;
		int result = sn_symbolizer_lookup(work->symbolizer, batch->module, batch->addresses,
						  batch->count, batch->locations);
		if (result)
			atomic_store_explicit(&work->result, result, memory_order_relaxed);
	}
}

static int compare_batches(const void *left, const void *right)
{
	const struct batch *a = left, *b = right;
	return (a->count < b->count) - (a->count > b->count);
}

/* The largest module first: it decides when the last thread is done. */
static int run(struct work *work, unsigned jobs)
{
	pthread_t threads[JOBS_MAX];
	unsigned started = 0;
	qsort(work->batches, work->batch_count, sizeof(*work->batches), compare_batches);
	while (started + 1 < jobs && started < JOBS_MAX && started + 1 < work->batch_count &&
	       !pthread_create(threads + started, NULL, look_up, work))
		started++;
	look_up(work);
	while (started)
		pthread_join(threads[--started], NULL);
	return atomic_load_explicit(&work->result, memory_order_relaxed);
}

/* What is missing of maps of code made at run time. */
static void note_maps(const struct sn_merge *merge, const struct sn_symbolizer *symbolizer,
		      const struct sn_resolved *resolved)
{
	uint64_t foreign = 0, partial = 0;
	for (uint32_t i = 0; i < merge->modules.count; i++) {
		struct sn_symbol_module_info info;
		sn_symbolizer_module_info(symbolizer, resolved->modules[i], &info);
		foreign += info.status == SN_SYMBOL_FOREIGN;
		partial += info.status == SN_SYMBOL_PARTIAL;
	}
	if (foreign)
		sn_db_builder_drop(merge->builder, "perf-map-foreign",
				   "maps of generated code that belong to another user", foreign);
	if (partial)
		sn_db_builder_drop(merge->builder, "perf-map-partial",
				   "maps of generated code of which only 256 MiB were read",
				   partial);
}

int sn_resolve(const struct sn_merge *merge, struct sn_symbolizer *symbolizer, unsigned jobs,
	       struct sn_resolved *resolved)
{
	size_t count;
	*resolved = (struct sn_resolved){0};
	struct request *requests = collect(merge, &count);
	uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));
	struct work work = {
	    .symbolizer = symbolizer,
	    .batches = calloc(merge->modules.count + 1ull, sizeof(*work.batches)),
	};
	resolved->locations = calloc(merge->frames.count + 1ull, sizeof(*resolved->locations));
	resolved->storage = calloc(count + 1, sizeof(*resolved->storage));
	resolved->modules = malloc((merge->modules.count + 1ull) * sizeof(*resolved->modules));
	int result = SN_ERR_MEMORY;
	bool has_memory = requests && addresses && work.batches && resolved->locations &&
			  resolved->storage && resolved->modules;
	if (has_memory)
		memset(resolved->modules, 0xff, merge->modules.count * sizeof(*resolved->modules));
	if (has_memory)
		result = make_batches(merge, requests, count, addresses, resolved, &work);
	if (!result)
		result = run(&work, jobs);
	if (!result)
		note_maps(merge, symbolizer, resolved);
	free(requests);
	free(addresses);
	free(work.batches);
	return result;
}

void sn_resolved_release(struct sn_resolved *resolved)
{
	free(resolved->locations);
	free(resolved->storage);
	free(resolved->modules);
	*resolved = (struct sn_resolved){0};
}
