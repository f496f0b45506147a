/* SPDX-License-Identifier: Apache-2.0 */
/* See calls.h. */
#include "calls.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "binary/structure/flow_graph.h"
#include "format/measurement/measurement.h"

#include <math.h>
#include <stdlib.h>

/* Code of a function. */
struct range {
	uint64_t start, end;
	uint32_t function;
};

/* Time in a function and what it calls, where it was called from one place. */
struct path {
	uint64_t at;	 /* within the instruction that calls */
	uint32_t callee; /* SN_FLOW_NONE: of another image, or without samples of its own */
	double value;
};

struct finding {
	struct sn_pgo_calls *calls;
	const struct sn_pgo_image *image;
	const struct sn_export_request *request;
	struct range *ranges; /* by start */
	size_t range_count, range_capacity;
	struct path *paths; /* by place and callee */
	size_t path_count, path_capacity;
};

SN_SORT_BY(sort_calls, struct sn_pgo_call, const void *, SN_ORDER_BY(a, b, at, target));
SN_SORT_BY(sort_ranges, struct range, const void *, SN_ORDER_BY(a, b, start, end, function));
SN_SORT_BY(sort_paths, struct path, const void *, SN_ORDER_BY(a, b, at, callee));

void sn_pgo_calls_release(struct sn_pgo_calls *calls)
{
	free(calls->list);
	*calls = (struct sn_pgo_calls){0};
}

size_t sn_pgo_calls_at(const struct sn_pgo_calls *calls, uint64_t address)
{
	size_t at = sn_search(i, calls->count, calls->list[i].at < address);
	return at < calls->count && calls->list[at].at == address ? at : calls->count;
}

static int add(struct sn_pgo_calls *calls, uint64_t at, uint64_t target, double count)
{
	return sn_vec_push(&calls->list, &calls->capacity, &calls->count,
			   (struct sn_pgo_call){at, target, count});
}

/* ---- direct calls ---- */

static bool is_direct(const struct sn_annotated_function *function,
		      const struct sn_annotated_instruction *one)
{
	if (!one->target)
		return false;
	/* or a jump to where another function begins, which returns for both */
	return one->control == SN_INSN_CALL ||
	       (one->control == SN_INSN_JUMP &&
		sn_pgo_block_at(function, one->target) == SN_FLOW_NONE);
}

static int add_direct(struct sn_pgo_calls *calls, const struct sn_annotated_function *function)
{
	int result = 0;
	for (size_t i = 0; !result && i < function->count; i++) {
		const struct sn_annotated_instruction *one = &function->instructions[i];
		uint32_t block = is_direct(function, one) ? sn_pgo_block_at(function, one->address)
							  : SN_FLOW_NONE;
		if (block != SN_FLOW_NONE)
			result = add(calls, one->address, one->target,
				     sn_pgo_block_count(function, block));
	}
	return result;
}

/* ---- indirect ones ---- */

static int find_ranges(struct finding *finding)
{
	const struct sn_annotation *annotation = &finding->image->annotation;
	int result = 0;
	for (uint32_t i = 0; i < annotation->function_count; i++) {
		const struct sn_annotated_function *function = &annotation->functions[i];
		for (uint32_t block = 0; !result && block < function->block_count; block++)
			result = sn_vec_push(&finding->ranges, &finding->range_capacity,
					     &finding->range_count,
					     (struct range){function->blocks[block].start,
							    function->blocks[block].end, i});
	}
	sort_ranges(finding->ranges, finding->range_count, NULL);
	return result;
}

/* SN_FLOW_NONE: the address is of no function with samples. */
static uint32_t function_at(const struct finding *finding, uint64_t address)
{
	size_t next = sn_search(i, finding->range_count, finding->ranges[i].start <= address);
	return next && address < finding->ranges[next - 1].end ? finding->ranges[next - 1].function
							       : SN_FLOW_NONE;
}

/* The machine code that a context is in or was called by, below which inlined calls, loops and lines are. NULL where it is none of the image. */
static const struct sonde_db_frame *code_of(const struct finding *finding, uint32_t context)
{
	const struct sonde_db *db = finding->request->db;
	for (;;) {
		const struct sonde_db_context *at = sonde_db_context(db, context);
		const struct sonde_db_frame *frame = sonde_db_frame(db, at->frame);
		const struct sonde_db_module *module =
		    frame->kind == SN_FRAME_NATIVE ? sonde_db_module(db, frame->module) : NULL;
		if (module)
			return sonde_db_string(db, module->path) == finding->image->path ? frame
											 : NULL;
		if (frame->kind != SN_FRAME_INLINED && frame->kind != SN_FRAME_LOOP &&
		    frame->kind != SN_FRAME_LINE)
			return NULL;
		context = at->parent;
	}
}

static uint64_t address_of(const struct sonde_db_frame *frame)
{
	return frame->offset - (frame->flags & SN_FRAME_RETURN_ADDRESS);
}

/* A context that is a function's own frame, with what was spent in and below it. */
static int add_path(struct finding *finding, uint32_t context, double value)
{
	const struct sonde_db *db = finding->request->db;
	const struct sonde_db_context *at = sonde_db_context(db, context);
	if (sonde_db_frame(db, at->frame)->kind != SN_FRAME_NATIVE || !(value > 0))
		return 0;
	const struct sonde_db_frame *caller =
	    at->parent != context ? code_of(finding, at->parent) : NULL;
	if (!caller || !(caller->flags & SN_FRAME_RETURN_ADDRESS))
		return 0;
	const struct sonde_db_frame *callee = code_of(finding, context);
	uint32_t function = callee ? function_at(finding, address_of(callee)) : SN_FLOW_NONE;
	return sn_vec_push(&finding->paths, &finding->path_capacity, &finding->path_count,
			   (struct path){address_of(caller), function, value});
}

static int find_paths(struct finding *finding)
{
	const struct sn_export_request *request = finding->request;
	struct sonde_db_summary_plane plane =
	    sonde_db_summary_plane(request->db, request->metrics[0]);
	int result = 0;
	for (size_t i = 0; !result && i < plane.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_summary_stat(&plane, i, SONDE_DB_INCLUSIVE, &stat);
		result = add_path(finding, plane.contexts[i], stat.sum);
	}
	sort_paths(finding->paths, finding->path_count, NULL);
	return result;
}

/* The instruction that an address lies in, if it is an indirect call. */
static const struct sn_annotated_instruction *
indirect_at(const struct sn_annotated_function *function, uint64_t address)
{
	size_t next = sn_search(i, function->count, function->instructions[i].address <= address);
	const struct sn_annotated_instruction *one =
	    next ? &function->instructions[next - 1] : NULL;
	return one && one->control == SN_INSN_CALL_INDIRECT ? one : NULL;
}

/* Of one place, from paths[first] to paths[end]. */
static int add_place(struct finding *finding, size_t first, size_t end)
{
	const struct sn_annotated_function *functions = finding->image->annotation.functions;
	uint32_t caller = function_at(finding, finding->paths[first].at);
	const struct sn_annotated_instruction *one =
	    caller == SN_FLOW_NONE ? NULL
				   : indirect_at(&functions[caller], finding->paths[first].at);
	if (!one)
		return 0;
	double count = sn_pgo_block_count(&functions[caller],
					  sn_pgo_block_at(&functions[caller], one->address));
	double sum = 0;
	int result = 0;
	for (size_t i = first; i < end; i++)
		sum += finding->paths[i].value;
	for (size_t i = first; !result && i < end; i++) {
		const struct path *path = &finding->paths[i];
		if (path->callee != SN_FLOW_NONE)
			result = add(finding->calls, one->address, functions[path->callee].start,
				     count * path->value / sum);
	}
	return result;
}

static int add_indirect(struct finding *finding)
{
	int result = find_ranges(finding);
	result = result ? result : find_paths(finding);
	for (size_t first = 0, end; !result && first < finding->path_count; first = end) {
		for (end = first + 1; end < finding->path_count; end++)
			if (finding->paths[end].at != finding->paths[first].at)
				break;
		result = add_place(finding, first, end);
	}
	return result;
}

/* Each pair once. */
static void unite(struct sn_pgo_calls *calls)
{
	size_t kept = 0;
	sort_calls(calls->list, calls->count, NULL);
	for (size_t i = 0; i < calls->count; i++) {
		struct sn_pgo_call *last = kept ? &calls->list[kept - 1] : NULL;
		if (last && last->at == calls->list[i].at && last->target == calls->list[i].target)
			last->count += calls->list[i].count;
		else
			calls->list[kept++] = calls->list[i];
	}
	calls->count = kept;
}

int sn_pgo_calls_find(struct sn_pgo_calls *calls, const struct sn_pgo_image *image,
		      const struct sn_export_request *request)
{
	struct finding finding = {.calls = calls, .image = image, .request = request};
	int result = 0;
	*calls = (struct sn_pgo_calls){0};
	for (size_t i = 0; !result && i < image->annotation.function_count; i++)
		result = add_direct(calls, &image->annotation.functions[i]);
	result = result ? result : add_indirect(&finding);
	unite(calls);
	free(finding.ranges);
	free(finding.paths);
	return result;
}
