/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the flat GPU samples of a measurement among calling contexts; see gpu_calls.h. */
#include "gpu_calls.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "binary/demangle/demangle.h"
#include "binary/gpu/gpu_binary.h"
#include "gpu_context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Contexts of one kernel: each may get a node for each of its instructions. */
#define CONTEXTS_MAX 256

#define NONE UINT32_MAX

struct sn_gpu_calls_binary {
	char *path;
	struct sn_elf_file *file;
	struct sn_gpu_binary *binary; /* NULL: cannot be read */
	struct sn_gpu_call_graph *graph;
};

/* A node that is an instruction right below what launched it. */
struct sample {
	uint32_t node, parent, module;
	uint64_t address;
	uint32_t function; /* of the binary */
};

struct applying {
	struct sn_gpu_calls *calls;
	const struct sn_measurement *measurement;
	const struct sn_measurement_thread *thread;
	struct sn_gpu_called *called;
	size_t node_capacity, value_capacity;
	struct sn_arena arena;	/* of all that follows */
	struct sample *samples; /* by parent, module, address */
	size_t sample_count;
	double *weights;     /* by old node: samples of all metrics */
	uint32_t *numbers;   /* by old node: the new one; NONE: a sample that was divided */
	size_t *first_value; /* by old node: its values in `order`; one more than nodes */
	size_t *order;
};

/* One kernel, while it is divided. */
struct dividing {
	struct sn_gpu_contexts contexts;
	uint32_t *nodes; /* by context: the node that stands for it, new number */
	uint8_t *flags;	 /* by context: of frames right below that node */
	double *owed;	 /* by context and metric: what rounding took from it */
	uint32_t metric_count;
	/* By context of one function, in their order: of one sample. */
	uint64_t *parts;
	uint32_t *sample_nodes;
};

static int read_calls(struct sn_gpu_calls_binary *of)
{
	struct sn_gpu_call_site *sites = NULL;
	size_t count = 0, capacity = 0;
	int result = 0;
	for (uint32_t i = 0; i < of->binary->function_count && result == 0; i++) {
		const struct sn_gpu_function *function = &of->binary->functions[i];
		for (uint32_t j = 0; j < function->call_count && result == 0; j++) {
			const struct sn_gpu_call *call = &function->calls[j];
			if (call->function != SN_GPU_NONE &&
			    sn_vec_push(
				&sites, &capacity, &count,
				(struct sn_gpu_call_site){i, call->function, call->address}) < 0)
				result = SN_ERR_MEMORY;
		}
	}
	if (result == 0)
		result = sn_gpu_call_graph_new(of->binary->function_count, sites, count,
					       SN_GPU_RECURSION_ALL, &of->graph);
	free(sites);
	return result;
}

static int read_binary(struct sn_gpu_calls_binary *of)
{
	if (sn_elf_file_open(of->path, &of->file, NULL) < 0 || !sn_gpu_is_binary(of->file) ||
	    sn_gpu_binary_read(of->file, &of->binary, NULL) < 0)
		return 0;
	return read_calls(of);
}

/* A copy; NULL for lack of memory. */
static char *text_of(const struct sn_measurement_strings *strings, uint32_t id)
{
	size_t length = 0;
	const char *text = sn_measurement_string(strings, id, &length);
	return strndup(text ? text : "", length);
}

/* Whether the file is of the build that was measured, as far as the measurement tells. */
static bool is_build(const struct sn_elf_file *file, const struct sn_module_record *module)
{
	return module->build_id_bytes == 0 ||
	       (file->build_id_bytes >= module->build_id_bytes &&
		memcmp(file->build_id, module->build_id, module->build_id_bytes) == 0);
}

/* The binary of that path, read at the first time; NULL without memory. The path is freed or kept
 * in either case. */
static const struct sn_gpu_calls_binary *find_binary(struct sn_gpu_calls *calls, char *path)
{
	for (size_t i = 0; path && i < calls->count; i++) {
		if (strcmp(calls->binaries[i].path, path) != 0)
			continue;
		free(path);
		return &calls->binaries[i];
	}
	if (!path || sn_vec_push(&calls->binaries, &calls->capacity, &calls->count,
				 (struct sn_gpu_calls_binary){.path = path}) < 0) {
		free(path);
		return NULL;
	}
	struct sn_gpu_calls_binary *added = &calls->binaries[calls->count - 1];
	return read_binary(added) == 0 ? added : NULL;
}

/* The binary of a module, or NULL where there is none that can be read, or it is of another build;
 * *result SN_ERR_MEMORY. */
static const struct sn_gpu_calls_binary *binary_of(struct applying *applying, uint32_t module,
						   int *result)
{
	const struct sn_module_record *record = &applying->measurement->modules[module];
	const struct sn_gpu_calls_binary *found =
	    find_binary(applying->calls, text_of(&applying->measurement->strings, record->path));
	*result = found ? 0 : SN_ERR_MEMORY;
	return found && found->graph && is_build(found->file, record) ? found : NULL;
}

SN_SORT_BY(sort_samples, struct sample, const void *,
	   SN_ORDER_BY(a, b, parent, module, address, node));

/* Instructions that have nothing below them, by what launched them. */
static int find_samples(struct applying *applying)
{
	const struct sn_measurement_thread *thread = applying->thread;
	bool *has_child = sn_arena_array(&applying->arena, bool, thread->node_count);
	applying->samples = sn_arena_array(&applying->arena, struct sample, thread->node_count);
	if (applying->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 1; i < thread->node_count; i++)
		has_child[thread->nodes[i].parent] = true;
	for (uint32_t i = 1; i < thread->node_count; i++) {
		const struct sn_node_record *node = &thread->nodes[i];
		if (node->frame.kind == SN_FRAME_GPU_INSTRUCTION && node->frame.id != SN_ID_NONE &&
		    !has_child[i])
			applying->samples[applying->sample_count++] = (struct sample){
			    i, node->parent, node->frame.id, node->frame.value, NONE};
	}
	sort_samples(applying->samples, applying->sample_count, NULL);
	return 0;
}

/* Values by their node, in their order. */
static int order_values(struct applying *applying)
{
	const struct sn_measurement_thread *thread = applying->thread;
	size_t nodes = thread->node_count;
	applying->weights = sn_arena_array(&applying->arena, double, nodes);
	applying->first_value = sn_arena_array(&applying->arena, size_t, nodes + 2);
	applying->order = sn_arena_array(&applying->arena, size_t, thread->value_count);
	applying->numbers = sn_arena_array(&applying->arena, uint32_t, nodes);
	if (applying->arena.failed)
		return SN_ERR_MEMORY;
	/* counted one place to the right of where they will be; filling in moves them left */
	for (size_t i = 0; i < thread->value_count; i++) {
		applying->weights[thread->values[i].node] += (double)thread->values[i].count;
		applying->first_value[thread->values[i].node + 2]++;
	}
	for (size_t i = 2; i <= nodes + 1; i++)
		applying->first_value[i] += applying->first_value[i - 1];
	for (size_t i = 0; i < thread->value_count; i++)
		applying->order[applying->first_value[thread->values[i].node + 1]++] = i;
	return 0;
}

static int add_node(struct applying *applying, uint32_t parent, struct sn_frame frame,
		    uint32_t *number)
{
	struct sn_gpu_called *called = applying->called;
	*number = called->thread.node_count;
	return sn_vec_push(&called->nodes, &applying->node_capacity, &called->thread.node_count,
			   (struct sn_node_record){.parent = parent, .frame = frame});
}

static int add_value(struct applying *applying, struct sn_value_record value)
{
	struct sn_gpu_called *called = applying->called;
	return sn_vec_push(&called->values, &applying->value_capacity, &called->thread.value_count,
			   value);
}

/* All nodes but samples; those of kernels that are not divided follow when that is known. */
static int keep_nodes(struct applying *applying)
{
	const struct sn_measurement_thread *thread = applying->thread;
	memset(applying->numbers, 0xff, thread->node_count * sizeof(uint32_t));
	for (size_t i = 0; i < applying->sample_count; i++)
		applying->numbers[applying->samples[i].node] = NONE - 1;
	for (uint32_t i = 0; i < thread->node_count; i++) {
		const struct sn_node_record *node = &thread->nodes[i];
		if (applying->numbers[i] == NONE - 1)
			continue;
		uint32_t parent = i == 0 ? 0 : applying->numbers[node->parent];
		if (add_node(applying, parent, node->frame, &applying->numbers[i]) < 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int keep_samples(struct applying *applying, const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t node = samples[i].node;
		uint32_t parent = applying->numbers[samples[i].parent];
		if (add_node(applying, parent, applying->thread->nodes[node].frame,
			     &applying->numbers[node]) < 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* By symbol or readable name, as the frame above names it. */
static uint32_t kernel_by_name(const struct applying *applying, const struct sn_gpu_binary *binary,
			       uint32_t parent)
{
	const struct sn_frame *frame = &applying->thread->nodes[parent].frame;
	if (frame->kind != SN_FRAME_KERNEL || frame->id == SN_ID_NONE)
		return NONE;
	char *name = text_of(&applying->thread->strings, frame->id);
	if (!name)
		return NONE;
	uint32_t found = sn_gpu_binary_find(binary, name);
	for (uint32_t i = 0; found == SN_GPU_NONE && i < binary->function_count; i++) {
		char *readable = binary->functions[i].is_kernel
				     ? sn_demangle_short(binary->functions[i].name)
				     : NULL;
		if (readable && strcmp(readable, name) == 0)
			found = i;
		free(readable);
	}
	free(name);
	return found;
}

/* The kernel that most samples lie in, or whose device functions they lie in. */
static uint32_t kernel_of(const struct applying *applying, const struct sn_gpu_binary *binary,
			  const struct sample *samples, size_t count, double *measured)
{
	uint32_t most = NONE;
	memset(measured, 0, binary->function_count * sizeof(*measured));
	for (size_t i = 0; i < count; i++) {
		if (samples[i].function == NONE)
			continue;
		const struct sn_gpu_function *function = &binary->functions[samples[i].function];
		uint32_t kernel = function->is_kernel ? samples[i].function : function->kernel;
		if (kernel == SN_GPU_NONE)
			continue;
		measured[kernel] += applying->weights[samples[i].node];
		if (most == NONE || measured[kernel] > measured[most])
			most = kernel;
	}
	return most != NONE ? most : kernel_by_name(applying, binary, samples[0].parent);
}

static void weigh(const struct applying *applying, const struct sn_gpu_calls_binary *of,
		  const struct sample *samples, size_t count, double *measured, double *weights)
{
	const struct sn_gpu_call_site *calls = of->graph->sites;
	size_t next = 0;
	memset(measured, 0, of->binary->function_count * sizeof(*measured));
	for (size_t i = 0; i < count; i++)
		if (samples[i].function != NONE)
			measured[samples[i].function] += applying->weights[samples[i].node];
	/* functions ascend by address, so calls do as well, as samples do */
	for (size_t i = 0; i < of->graph->site_count; i++) {
		weights[i] = 0;
		while (next < count && samples[next].address < calls[i].address)
			next++;
		for (size_t j = next; j < count && samples[j].address == calls[i].address; j++)
			weights[i] += applying->weights[samples[j].node];
	}
}

/* The node that stands for a context: of the call that leads to it, else that of its parent. */
static int add_context_nodes(struct applying *applying, struct dividing *dividing,
			     const struct sn_gpu_calls_binary *of, const struct sample *sample)
{
	for (uint32_t i = 0; i < dividing->contexts.count; i++) {
		const struct sn_gpu_context *context = &dividing->contexts.contexts[i];
		if (context->parent == NONE) {
			dividing->nodes[i] = applying->numbers[sample->parent];
			continue;
		}
		uint32_t above = context->parent;
		bool is_member = dividing->contexts.contexts[above].kind == SN_GPU_CONTEXT_CYCLE;
		dividing->nodes[i] = dividing->nodes[above];
		dividing->flags[i] = dividing->flags[above];
		if (context->site == NONE) {
			if (!is_member)
				dividing->flags[i] = SN_FRAME_TRUNCATED;
			continue;
		}
		struct sn_frame frame = {.kind = SN_FRAME_GPU_INSTRUCTION,
					 .flags = (uint8_t)(SN_FRAME_CALL | dividing->flags[above]),
					 .id = sample->module,
					 .value = of->graph->sites[context->site].address};
		dividing->flags[i] = 0;
		if (add_node(applying, dividing->nodes[above], frame, &dividing->nodes[i]) < 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static double *owed_to(const struct dividing *dividing, uint32_t at, uint32_t metric)
{
	uint32_t context = dividing->contexts.by_function[at];
	return &dividing->owed[(size_t)context * dividing->metric_count + metric];
}

/* Whole parts of `count` in proportion to the shares, with what earlier values left owed. */
static void divide(struct dividing *dividing, uint32_t function, uint32_t metric, uint64_t count)
{
	const struct sn_gpu_contexts *contexts = &dividing->contexts;
	uint32_t first = contexts->first[function], end = contexts->first[function + 1];
	uint64_t left = count;
	for (uint32_t i = first; i < end; i++) {
		double *owed = owed_to(dividing, i, metric);
		*owed += (double)count * contexts->contexts[contexts->by_function[i]].share;
		double whole = floor(*owed);
		uint64_t part = whole <= 0 ? 0 : (uint64_t)whole;
		dividing->parts[i - first] = part = part < left ? part : left;
		*owed -= (double)part;
		left -= part;
	}
	while (left > 0) {
		uint32_t best = first;
		for (uint32_t i = first + 1; i < end; i++)
			if (*owed_to(dividing, i, metric) > *owed_to(dividing, best, metric))
				best = i;
		double *owed = owed_to(dividing, best, metric);
		uint64_t part = *owed >= 1 ? (uint64_t)*owed : 1;
		part = part < left ? part : left;
		dividing->parts[best - first] += part;
		*owed -= (double)part;
		left -= part;
	}
}

/* Sums go with the counts: each part's mean is the whole's, the totals stay. */
static int add_parts(struct applying *applying, const struct sn_value_record *value,
		     const uint64_t *parts, uint32_t number, const uint32_t *nodes)
{
	uint64_t left_count = value->count, left_sum = value->sum;
	double left_squares = value->sum_squares;
	for (uint32_t i = 0; i < number; i++) {
		struct sn_value_record part = *value;
		if (parts[i] == 0)
			continue;
		part.node = nodes[i];
		part.count = parts[i];
		if (parts[i] < left_count) {
			double share = (double)parts[i] / (double)left_count;
			double sum = (double)left_sum * share;
			part.sum = sum >= (double)left_sum ? left_sum : (uint64_t)sum;
			part.sum_squares = left_squares * share;
		} else {
			part.sum = left_sum;
			part.sum_squares = left_squares;
		}
		left_count -= part.count;
		left_sum -= part.sum;
		left_squares -= part.sum_squares;
		if (add_value(applying, part) < 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* One instruction: a node in each context that gets something, and its values. */
static int divide_sample(struct applying *applying, struct dividing *dividing,
			 const struct sample *sample)
{
	const struct sn_gpu_contexts *contexts = &dividing->contexts;
	const struct sn_measurement_thread *thread = applying->thread;
	uint32_t first = contexts->first[sample->function];
	uint32_t number = contexts->first[sample->function + 1] - first;
	uint32_t *nodes = dividing->sample_nodes;
	memset(nodes, 0xff, number * sizeof(*nodes));
	applying->numbers[sample->node] = NONE;
	for (size_t i = applying->first_value[sample->node];
	     i < applying->first_value[sample->node + 1]; i++) {
		const struct sn_value_record *value = &thread->values[applying->order[i]];
		divide(dividing, sample->function, value->metric, value->count);
		for (uint32_t j = 0; j < number; j++) {
			uint32_t at = contexts->by_function[first + j];
			struct sn_frame frame = thread->nodes[sample->node].frame;
			frame.flags |= dividing->flags[at];
			if (dividing->parts[j] > 0 && nodes[j] == NONE &&
			    add_node(applying, dividing->nodes[at], frame, &nodes[j]) < 0)
				return SN_ERR_MEMORY;
		}
		if (add_parts(applying, value, dividing->parts, number, nodes) < 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int divide_samples(struct applying *applying, struct dividing *dividing,
			  const struct sn_gpu_calls_binary *of, const struct sample *samples,
			  size_t count, struct sn_arena *arena)
{
	size_t contexts = dividing->contexts.count;
	dividing->metric_count = applying->measurement->metric_count;
	dividing->nodes = sn_arena_array(arena, uint32_t, contexts);
	dividing->flags = sn_arena_array(arena, uint8_t, contexts);
	dividing->owed = sn_arena_array(arena, double, contexts * dividing->metric_count);
	dividing->parts = sn_arena_array(arena, uint64_t, contexts);
	dividing->sample_nodes = sn_arena_array(arena, uint32_t, contexts);
	int result =
	    arena->failed ? SN_ERR_MEMORY : add_context_nodes(applying, dividing, of, samples);
	for (size_t i = 0; i < count && result == 0; i++)
		result = samples[i].function == NONE
			     ? keep_samples(applying, &samples[i], 1)
			     : divide_sample(applying, dividing, &samples[i]);
	return result;
}

/* What one kernel's launches at one context have sampled, by that binary. */
static int divide_by_binary(struct applying *applying, const struct sn_gpu_calls_binary *of,
			    struct sample *samples, size_t count, struct sn_arena *arena)
{
	struct dividing dividing = {0};
	double *measured = sn_arena_array(arena, double, of->binary->function_count);
	double *weights = sn_arena_array(arena, double, of->graph->site_count);
	if (arena->failed)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		samples[i].function = sn_gpu_binary_function_at(of->binary, samples[i].address);
	uint32_t kernel = kernel_of(applying, of->binary, samples, count, measured);
	if (kernel == NONE)
		return keep_samples(applying, samples, count);
	weigh(applying, of, samples, count, measured, weights);
	int result = sn_gpu_contexts_build(of->graph, kernel, measured, weights, CONTEXTS_MAX,
					   &dividing.contexts);
	if (result == 0)
		result = divide_samples(applying, &dividing, of, samples, count, arena);
	sn_gpu_contexts_release(&dividing.contexts);
	return result;
}

static int divide_kernel(struct applying *applying, struct sample *samples, size_t count)
{
	int result = 0;
	const struct sn_gpu_calls_binary *of = binary_of(applying, samples[0].module, &result);
	struct sn_arena arena = {0};
	if (result == 0)
		result = of ? divide_by_binary(applying, of, samples, count, &arena)
			    : keep_samples(applying, samples, count);
	sn_arena_release(&arena);
	return result;
}

static int divide_all(struct applying *applying)
{
	int result = keep_nodes(applying);
	for (size_t i = 0, next; i < applying->sample_count && result == 0; i = next) {
		const struct sample *first = &applying->samples[i];
		for (next = i + 1; next < applying->sample_count &&
				   applying->samples[next].parent == first->parent &&
				   applying->samples[next].module == first->module;)
			next++;
		result = divide_kernel(applying, &applying->samples[i], next - i);
	}
	return result;
}

static int keep_values(struct applying *applying)
{
	const struct sn_measurement_thread *thread = applying->thread;
	for (size_t i = 0; i < thread->value_count; i++) {
		struct sn_value_record value = thread->values[i];
		value.node = applying->numbers[value.node];
		if (value.node != NONE && add_value(applying, value) < 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_gpu_calls_apply(struct sn_gpu_calls *calls, const struct sn_measurement *measurement,
		       const struct sn_measurement_thread *thread, struct sn_gpu_called *called)
{
	struct applying applying = {
	    .calls = calls, .measurement = measurement, .thread = thread, .called = called};
	*called = (struct sn_gpu_called){.thread = *thread};
	bool has_any = false;
	for (uint32_t i = 0; i < thread->node_count && !has_any; i++)
		has_any = thread->nodes[i].frame.kind == SN_FRAME_GPU_INSTRUCTION;
	if (!has_any)
		return 0;
	called->is_changed = true;
	called->thread.node_count = 0;
	called->thread.value_count = 0;
	int result = find_samples(&applying);
	if (result == 0)
		result = order_values(&applying);
	if (result == 0)
		result = divide_all(&applying);
	if (result == 0)
		result = keep_values(&applying);
	called->thread.nodes = called->nodes;
	called->thread.values = called->values;
	sn_arena_release(&applying.arena);
	return result;
}

void sn_gpu_called_release(struct sn_gpu_called *called)
{
	free(called->nodes);
	free(called->values);
	*called = (struct sn_gpu_called){0};
}

void sn_gpu_calls_release(struct sn_gpu_calls *calls)
{
	for (size_t i = 0; i < calls->count; i++) {
		sn_gpu_call_graph_free(calls->binaries[i].graph);
		sn_gpu_binary_free(calls->binaries[i].binary);
		sn_elf_file_free(calls->binaries[i].file);
		free(calls->binaries[i].path);
	}
	free(calls->binaries);
	*calls = (struct sn_gpu_calls){0};
}
