/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of addresses for the symbolizer; see resolve.h. */
#include "resolve.h"

#include "base/arena.h"
#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/sort_by.h"

#include <stdlib.h>
#include <string.h>

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
};

/* A return address belongs to the call before it. */
static uint64_t address_of(const struct sn_frame *frame)
{
	bool is_return = frame->flags & SN_FRAME_RETURN_ADDRESS && frame->value;
	return frame->value - is_return;
}

SN_SORT_BY(sort_requests, struct request, const void *, SN_ORDER_BY(a, b, module, address));

/* All native frames with a module, by module and address. */
static size_t collect(const struct sn_merge *merge, struct request *requests)
{
	size_t count = 0;
	for (uint32_t i = 0; i < merge->frames.count; i++) {
		struct sn_frame frame;
		memcpy(&frame, sn_intern_at(&merge->frames, i, NULL), sizeof(frame));
		bool is_code =
		    frame.kind == SN_FRAME_NATIVE || frame.kind == SN_FRAME_GPU_INSTRUCTION;
		if (is_code && frame.id != SONDE_NONE)
			requests[count++] = (struct request){frame.id, i, address_of(&frame)};
	}
	sort_requests(requests, count, NULL);
	return count;
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
static int form_batches(const struct sn_merge *merge, const struct request *requests, size_t count,
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

static int look_up(void *context, unsigned worker, size_t item)
{
	const struct work *work = context;
	const struct batch *batch = work->batches + item;
	int result = sn_symbolizer_lookup(work->symbolizer, batch->module, batch->addresses,
					  batch->count, batch->locations);
	sn_progress_add(batch->count);
	return result;
}

/* The largest module first: it decides when the last thread is done. */
SN_SORT_BY(sort_batches, struct batch, const void *, SN_ORDER(b->count, a->count));

/* What is missing of maps of generated code. */
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
	uint32_t frames = merge->frames.count, modules = merge->modules.count;
	struct sn_arena arena = {0};
	struct request *requests = sn_arena_array(&arena, struct request, frames);
	uint64_t *addresses = sn_arena_array(&arena, uint64_t, frames);
	struct work work = {symbolizer, sn_arena_array(&arena, struct batch, modules), 0};
	*resolved =
	    (struct sn_resolved){.locations = calloc(frames + 1ull, sizeof(*resolved->locations)),
				 .modules = malloc((modules + 1ull) * sizeof(*resolved->modules))};
	size_t count = arena.failed ? 0 : collect(merge, requests);
	resolved->storage = calloc(count + 1, sizeof(*resolved->storage));
	int result = SN_ERR_MEMORY;
	if (!arena.failed && resolved->locations && resolved->storage && resolved->modules) {
		memset(resolved->modules, 0xff, modules * sizeof(*resolved->modules));
		result = form_batches(merge, requests, count, addresses, resolved, &work);
	}
	if (!result) {
		sort_batches(work.batches, work.batch_count, NULL);
		sn_progress_begin("looking up symbols", count);
		result = sn_pool_run(jobs, work.batch_count, look_up, &work);
	}
	if (!result)
		note_maps(merge, symbolizer, resolved);
	sn_arena_release(&arena);
	return result;
}

void sn_resolved_release(struct sn_resolved *resolved)
{
	free(resolved->locations);
	free(resolved->storage);
	free(resolved->modules);
	*resolved = (struct sn_resolved){0};
}
