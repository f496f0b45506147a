/* SPDX-License-Identifier: Apache-2.0 */
/* Translating and merging; see merge.h. Every id was checked by the measurement's reader. */
#include "merge.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* A thread's strings and codes, by common number; translated when first met. */
struct translation {
	const struct sn_measurement_thread *thread;
	uint32_t *string_ids, *code_ids; /* SONDE_NONE: not yet */
};

struct adding {
	struct sn_merge *merge;
	const struct sn_measurement *measurement;
	uint32_t *modules, *metrics; /* by the process's number */
	uint32_t host, program;	     /* builder's strings */
	uint64_t realtime_ns;	     /* to add to a monotonic time */
	int32_t rank;
	uint64_t pid;
	bool is_out_of_memory; /* while translating a frame */
};

static const struct sn_merged_node root_node = {0, SN_INTERN_NONE};

int sn_merge_init(struct sn_merge *merge, struct sn_db_builder *builder)
{
	*merge = (struct sn_merge){.builder = builder};
	return sn_nodes_add(&merge->nodes, root_node) == 0 ? 0 : SN_ERR_MEMORY;
}

void sn_merge_release(struct sn_merge *merge)
{
	sn_intern_release(&merge->modules);
	sn_intern_release(&merge->codes);
	sn_intern_release(&merge->frames);
	sn_nodes_release(&merge->nodes);
	free(merge->module_flags);
	sn_gpu_calls_release(&merge->gpu_calls);
	free(merge->values);
	free(merge->contexts);
}

static uint32_t *unknown_ids(size_t count)
{
	uint32_t *ids = malloc((count + 1) * sizeof(*ids));
	if (ids)
		memset(ids, 0xff, (count + 1) * sizeof(*ids));
	return ids;
}

static uint32_t translate_text(struct sn_merge *merge, const struct sn_measurement_strings *strings,
			       uint32_t id)
{
	size_t length;
	const char *text = sn_measurement_string(strings, id, &length);
	return text ? sn_db_builder_string_n(merge->builder, text, length) : SONDE_NONE;
}

static uint32_t translate_string(struct sn_merge *merge, struct translation *translation,
				 uint32_t id)
{
	const struct sn_measurement_strings *strings = &translation->thread->strings;
	if (id >= strings->count)
		return SONDE_NONE;
	if (translation->string_ids[id] == SONDE_NONE)
		translation->string_ids[id] = translate_text(merge, strings, id);
	return translation->string_ids[id];
}

static int add_module(struct adding *adding, uint32_t index)
{
	struct sn_merge *merge = adding->merge;
	const struct sn_module_record *record = adding->measurement->modules + index;
	struct sn_merged_module module = {
	    .path = translate_text(merge, &adding->measurement->strings, record->path),
	    .build_id_bytes = record->build_id_bytes,
	};
	memcpy(module.build_id, record->build_id, record->build_id_bytes);
	uint32_t number = sn_intern_add(&merge->modules, &module, sizeof(module));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve_zeroed(&merge->module_flags, &merge->module_flag_capacity,
				  number + 1ull) < 0)
		return SN_ERR_MEMORY;
	merge->module_flags[number] |= record->flags & ~(uint32_t)SN_MODULE_UNLOADED;
	adding->modules[index] = number;
	return 0;
}

static uint32_t add_metric(struct adding *adding, const struct sn_metric_record *record)
{
	const struct sn_measurement_strings *strings = &adding->measurement->strings;
	struct sonde_db_metric metric = {
	    .name = translate_text(adding->merge, strings, record->name),
	    .unit = translate_text(adding->merge, strings, record->unit),
	    .source = translate_text(adding->merge, strings, record->source),
	    .kind = record->kind,
	    .period = record->period,
	};
	return sn_db_builder_metric(adding->merge->builder, &metric);
}

static int begin(struct adding *adding)
{
	const struct sn_measurement *measurement = adding->measurement;
	struct sn_db_builder *builder = adding->merge->builder;
	const char *rank = sn_measurement_property(measurement, "rank");
	adding->host = sn_db_builder_string(builder, sn_measurement_property(measurement, "host"));
	adding->program =
	    sn_db_builder_string(builder, sn_measurement_property(measurement, "program"));
	adding->rank = rank && *rank ? (int32_t)strtol(rank, NULL, 10) : -1;
	adding->pid = sn_measurement_number(measurement, "pid");
	adding->realtime_ns = sn_measurement_number(measurement, "start_realtime_ns") -
			      sn_measurement_number(measurement, "start_monotonic_ns");
	adding->modules = unknown_ids(measurement->module_count);
	adding->metrics = unknown_ids(measurement->metric_count);
	if (!adding->modules || !adding->metrics)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < measurement->module_count; i++)
		if (add_module(adding, i) < 0)
			return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < measurement->metric_count; i++)
		adding->metrics[i] = add_metric(adding, measurement->metrics + i);
	return 0;
}

static uint32_t add_profile(struct adding *adding, const struct sn_measurement_thread *thread)
{
	const struct sn_thread_record *record = thread->record;
	struct sonde_db_profile profile = {
	    .host = adding->host,
	    .program = adding->program,
	    .thread = translate_text(adding->merge, &thread->strings, record->name),
	    .rank = adding->rank,
	    .run = adding->merge->run,
	    .pid = thread->pid ? thread->pid : adding->pid,
	    .tid = record->tid,
	    .device = SONDE_NONE,
	    .device_context = SONDE_NONE,
	    .stream = SONDE_NONE,
	    .start_ns = record->start_ns + adding->realtime_ns,
	    .end_ns = record->end_ns + adding->realtime_ns,
	    .cpu_ns = record->cpu_ns,
	    .samples = record->samples,
	    .own_ns = record->own_ns,
	};
	if (thread->is_processor)
		profile.kind = SONDE_PROFILE_PROCESSOR;
	if (thread->stream) {
		profile.kind = SONDE_PROFILE_STREAM;
		profile.device = thread->stream->device;
		profile.device_context = thread->stream->device_context;
		profile.stream = thread->stream->stream;
	}
	return sn_db_builder_profile(adding->merge->builder, &profile);
}

static uint32_t add_code(struct adding *adding, struct translation *translation, uint32_t id)
{
	if (id >= translation->thread->code_count)
		return SONDE_NONE;
	if (translation->code_ids[id] != SONDE_NONE)
		return translation->code_ids[id];
	const struct sn_code_record *record = translation->thread->codes + id;
	struct sn_merged_code code = {
	    .file = translate_string(adding->merge, translation, record->file),
	    .name = translate_string(adding->merge, translation, record->name),
	    .first_line = record->first_line,
	};
	uint32_t number = sn_intern_add(&adding->merge->codes, &code, sizeof(code));
	/* else it would pass for a code object that is not known */
	adding->is_out_of_memory |= number == SN_INTERN_NONE;
	return translation->code_ids[id] = number;
}

/*
 * The module that an address lies in, or SN_ID_NONE. A module that was loaded just before a sample
 * was taken may be missing from the collector's list at that moment, but not from that of the
 * snapshot.
 */
static uint32_t module_at(const struct sn_measurement *measurement, uint64_t address)
{
	for (uint32_t i = 0; i < measurement->module_count; i++) {
		const struct sn_module_record *module = measurement->modules + i;
		if (address >= module->start && address < module->end &&
		    !(module->flags & SN_MODULE_UNLOADED))
			return i;
	}
	return SN_ID_NONE;
}

static void translate_native(struct adding *adding, const struct sn_frame *frame,
			     struct sn_frame *translated)
{
	uint32_t module = frame->id;
	if (module == SN_ID_NONE) {
		module = module_at(adding->measurement, frame->value);
		/* else: an address of a process that is gone tells nothing */
		translated->value = module == SN_ID_NONE
					? 0
					: frame->value - adding->measurement->modules[module].bias;
	}
	if (module != SN_ID_NONE)
		translated->id = adding->modules[module];
}

/* The frame with common numbers. */
static struct sn_frame translate_frame(struct adding *adding, struct translation *translation,
				       const struct sn_frame *frame)
{
	struct sn_frame translated = {
	    .kind = frame->kind, .flags = frame->flags, .id = SONDE_NONE, .value = frame->value};
	switch (frame->kind) {
	case SN_FRAME_NATIVE:
		translate_native(adding, frame, &translated);
		break;
	case SN_FRAME_GPU_INSTRUCTION:
		if (frame->id != SN_ID_NONE)
			translated.id = adding->modules[frame->id];
		break;
	case SN_FRAME_PYTHON:
		translated.id = add_code(adding, translation, frame->id);
		break;
	default:
		translated.value = 0;
		if (frame->kind < SN_FRAME_KIND_COUNT && frame->kind != SN_FRAME_THREAD)
			translated.id = translate_string(adding->merge, translation, frame->id);
	}
	return translated;
}

static int add_nodes(struct adding *adding, struct translation *translation, uint32_t *nodes)
{
	struct sn_merge *merge = adding->merge;
	const struct sn_measurement_thread *thread = translation->thread;
	if (thread->node_count)
		nodes[0] = 0;
	for (uint32_t i = 1; i < thread->node_count; i++) {
		const struct sn_node_record *record = thread->nodes + i;
		struct sn_frame frame = translate_frame(adding, translation, &record->frame);
		struct sn_merged_node node = {nodes[record->parent],
					      sn_intern_add(&merge->frames, &frame, sizeof(frame))};
		nodes[i] = sn_nodes_add(&merge->nodes, node);
		if (node.frame == SN_INTERN_NONE || nodes[i] == SN_NODE_NONE ||
		    adding->is_out_of_memory)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int add_values(struct adding *adding, const struct sn_measurement_thread *thread,
		      uint32_t profile, const uint32_t *nodes)
{
	struct sn_merge *merge = adding->merge;
	if (sn_vec_reserve(&merge->values, &merge->value_capacity,
			   merge->value_count + thread->value_count) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < thread->value_count; i++) {
		const struct sn_value_record *record = thread->values + i;
		if (record->count)
			merge->values[merge->value_count++] =
			    (struct sn_merged_value){profile, adding->metrics[record->metric],
						     nodes[record->node], sn_merged_stat(record)};
	}
	return 0;
}

static size_t text_bytes(const struct sn_measurement_strings *strings)
{
	return strings->count ? strings->offsets[strings->count] : 0;
}

static bool are_same_bytes(const void *left, const void *right, size_t length)
{
	return !length || !memcmp(left, right, length);
}

/* Threads of one program often know the same names. */
static bool has_same_names(const struct sn_measurement_thread *a,
			   const struct sn_measurement_thread *b)
{
	const struct sn_measurement_strings *left = &a->strings, *right = &b->strings;
	return left->count == right->count && a->code_count == b->code_count &&
	       text_bytes(left) == text_bytes(right) &&
	       are_same_bytes(left->offsets, right->offsets,
			      left->count * sizeof(*left->offsets)) &&
	       are_same_bytes(left->bytes, right->bytes, text_bytes(left)) &&
	       are_same_bytes(a->codes, b->codes, a->code_count * sizeof(*a->codes));
}

/* What was translated for the thread before is kept where this one's tables are the same. */
static int begin_thread(struct translation *translation, const struct sn_measurement_thread *thread)
{
	bool is_same = translation->thread && has_same_names(translation->thread, thread);
	translation->thread = thread;
	if (is_same)
		return 0;
	free(translation->string_ids);
	free(translation->code_ids);
	translation->string_ids = unknown_ids(thread->strings.count);
	translation->code_ids = unknown_ids(thread->code_count);
	return translation->string_ids && translation->code_ids ? 0 : SN_ERR_MEMORY;
}

static int add_thread(struct adding *adding, struct translation *translation,
		      const struct sn_measurement_thread *thread)
{
	const struct sn_merge *merge = adding->merge;
	uint32_t *nodes = unknown_ids(thread->node_count);
	uint32_t profile = add_profile(adding, thread);
	int result = nodes ? begin_thread(translation, thread) : SN_ERR_MEMORY;
	if (!result)
		result = add_nodes(adding, translation, nodes);
	if (!result && merge->on_thread)
		result = merge->on_thread(merge->on_thread_context, thread, profile, nodes,
					  adding->metrics);
	else if (!result)
		result = add_values(adding, thread, profile, nodes);
	free(nodes);
	return result;
}

int sn_merge_add(struct sn_merge *merge, const struct sn_measurement *measurement)
{
	struct adding adding = {.merge = merge, .measurement = measurement};
	struct translation translation = {0};
	/* all stay until the end: what was translated for a thread is kept for the next */
	struct sn_gpu_called *called = calloc(measurement->thread_count + 1ull, sizeof(*called));
	int result = called ? begin(&adding) : SN_ERR_MEMORY;
	for (uint32_t i = 0; i < measurement->thread_count && !result; i++) {
		result = sn_gpu_calls_apply(&merge->gpu_calls, measurement,
					    measurement->threads + i, called + i);
		if (!result)
			result = add_thread(&adding, &translation, &called[i].thread);
		free(called[i].values);
		called[i].values = NULL;
	}
	for (uint32_t i = 0; called && i < measurement->thread_count; i++)
		sn_gpu_called_release(called + i);
	free(called);
	free(translation.string_ids);
	free(translation.code_ids);
	free(adding.modules);
	free(adding.metrics);
	return result;
}
