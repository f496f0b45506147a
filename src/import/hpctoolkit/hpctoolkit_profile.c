/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one profile of a measurement: its tree becomes contexts, its values are summed.
 *
 * A node is a level of a call path: code, or a placeholder (module 0). Three module numbers are
 * reserved for devices that sample ranges of launches instead of single ones. A CONTEXT node names
 * a device's context; RANGE nodes below it name a range. They occur below a launch, which they
 * assign to a range; and below a root of their own, where samples known by range only are stored.
 */
#include "hpctoolkit_measurement.h"
#include "hpctoolkit_names.h"

#include "base/arena.h"
#include "base/vec.h"
#include "format/database/database_builder.h"
#include "format/measurement/measurement.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MODULE_PLACEHOLDER = 0,
	MODULE_GPU_CONTEXT = 65531,
	MODULE_GPU_RANGE = 65532,
	MODULE_GPU_ROOT = 65533
};

enum state_type {
	STATE_CONTEXT,	     /* an ordinary context */
	STATE_SAMPLE,	     /* samples without a call stack, below a launch */
	STATE_LAUNCH_DEVICE, /* the device's context of a launch */
	STATE_LAUNCH_RANGE,  /* the range a launch is in */
	STATE_RANGES,	     /* the root of ranges */
	STATE_DEVICE,	     /* a device's context below it */
	STATE_RANGE,	     /* a range below that */
	STATE_RANGE_SAMPLE,  /* samples in it */
};

struct state {
	enum state_type type;
	uint32_t parent; /* the context above */
	struct sn_hpct_place_found place;
	uint32_t module, function;     /* the function called; SONDE_NONE if unknown */
	uint32_t sample, address;      /* numbers, of SAMPLE and RANGE_SAMPLE */
	struct sn_hpct_thread *thread; /* the device's */
	uint64_t range;
};

struct reader {
	struct sn_hpct_import *import;
	const struct sn_hpcrun *file;
	const char *path, *base;
	struct sn_error *error;
	struct sn_arena arena; /* of the following arrays */
	struct sn_table ids;   /* the position of a node by its id */
	struct state *states;  /* by position */
	uint32_t *modules;     /* numbers in the import, by number in the file; SONDE_NONE */
	uint32_t *metrics;     /* numbers in the builder, by number in the file */
	struct sn_hpct_thread thread;
};

static int damaged(const struct reader *reader, const char *what)
{
	return sn_fail(reader->error, SN_ERR_FORMAT, "cannot read '%s': %s", reader->path, what);
}

/* NULL without memory. */
static char *copy(struct reader *reader, struct sn_hpcrun_text text)
{
	return sn_arena_copy(&reader->arena, text.text, text.length);
}

/* The file's name for a kind of identifier, or KIND and its number. */
static const char *id_name(const struct sn_hpcrun *file, unsigned kind, char text[64])
{
	snprintf(text, 64, "KIND%u", kind);
	for (size_t i = 0; i < file->name_count; i++) {
		struct sn_hpcrun_text name = file->names[i].name;
		if (file->names[i].kind == kind && name.length < 63) {
			snprintf(text, 64, "%.*s", (int)name.length, name.text);
			break;
		}
	}
	return text;
}

/* The identifiers of a thread that are used; HPCToolkit has 8 kinds. */
enum { MOST_IDS = 16 };

static size_t convert_ids(const struct reader *reader, const struct sn_hpcrun_id *ids, size_t count,
			  struct sn_hpct_id *converted, char names[MOST_IDS][64])
{
	size_t used = 0;
	for (; used < count && used < MOST_IDS; used++) {
		unsigned kind = sn_hpcrun_kind(ids[used].kind);
		bool is_physical = sn_hpcrun_numbering(ids[used].kind) != SN_HPCRUN_LOGICAL_ONLY;
		converted[used] =
		    (struct sn_hpct_id){id_name(reader->file, kind, names[used]), is_physical,
					is_physical ? ids[used].physical : ids[used].logical};
	}
	return used;
}

static struct sonde_db_profile convert_profile(const struct reader *reader,
					       const struct sn_hpcrun_id *ids, size_t count)
{
	struct sn_hpct_id converted[MOST_IDS];
	char names[MOST_IDS][64];
	size_t used = convert_ids(reader, ids, count, converted, names);
	struct sonde_db_profile profile = sn_hpct_profile(reader->import->builder, converted, used);
	profile.run = reader->import->run;
	const struct sn_hpcrun_text *program = reader->file->program_path.length
						   ? &reader->file->program_path
						   : &reader->file->program;
	profile.program =
	    sn_db_builder_string_n(reader->import->builder, program->text, program->length);
	return profile;
}

static int add_thread(struct reader *reader)
{
	struct sonde_db_profile profile =
	    convert_profile(reader, reader->file->ids, reader->file->id_count);
	reader->thread.profile = sn_db_builder_profile(reader->import->builder, &profile);
	return reader->thread.profile == SONDE_NONE ? sn_fail_memory(reader->error) : 0;
}

/* The stream of a device's context: this thread's identifiers up to node or rank,
 * then the context. */
static struct sn_hpct_thread *device_thread(struct reader *reader, uint64_t device_context)
{
	struct sn_hpct_import *import = reader->import;
	const struct sn_hpcrun *file = reader->file;
	struct sn_hpcrun_id ids[MOST_IDS + 1];
	size_t count = file->id_count < MOST_IDS ? file->id_count : MOST_IDS - 1;
	while (count > 0 && sn_hpcrun_kind(file->ids[count - 1].kind) != SN_HPCRUN_NODE &&
	       sn_hpcrun_kind(file->ids[count - 1].kind) != SN_HPCRUN_RANK)
		count--;
	memcpy(ids, file->ids, count * sizeof(*ids));
	ids[count++] = (struct sn_hpcrun_id){SN_HPCRUN_GPU_CONTEXT | SN_HPCRUN_LOGICAL_LOCAL << 14,
					     device_context, 0};
	struct sonde_db_profile profile = convert_profile(reader, ids, count);
	uint32_t number =
	    sn_table_add(&import->merged_keys, sn_table_pair(profile.run, profile.thread));
	if (number == SN_TABLE_NONE)
		return NULL;
	if (number < import->merged_count)
		return import->merged[number];
	struct sn_hpct_thread *thread = calloc(1, sizeof(*thread));
	if (!thread || sn_vec_push(&import->merged, &import->merged_capacity, &import->merged_count,
				   thread) < 0) {
		free(thread);
		return NULL;
	}
	thread->profile = sn_db_builder_profile(import->builder, &profile);
	return thread;
}

static int read_metrics(struct reader *reader)
{
	const struct sn_hpcrun *file = reader->file;
	reader->metrics = sn_arena_array(&reader->arena, uint32_t, file->metric_count);
	if (!reader->metrics)
		return sn_fail_memory(reader->error);
	for (size_t i = 0; i < file->metric_count; i++) {
		const struct sn_hpcrun_metric *metric = file->metrics + i;
		reader->metrics[i] = SONDE_NONE;
		if (metric->formula.length) /* computed from others: no values of its own */
			continue;
		char *name = copy(reader, metric->name);
		if (!name)
			return sn_fail_memory(reader->error);
		reader->metrics[i] = sn_hpct_metric(reader->import->builder, name,
						    metric->period > 1 ? metric->period : 0);
		struct sn_hpct_reconstruction *all = &reader->import->reconstruction;
		if (strcmp(name, "GINS") == 0)
			all->sample_metric = reader->metrics[i];
		else if (strcmp(name, "GKER:COUNT") == 0)
			all->launch_metric = reader->metrics[i];
		else if (strcmp(name, "GKER:SAMPLED_COUNT") == 0)
			all->sampled_launch_metric = reader->metrics[i];
	}
	return 0;
}

static int read_modules(struct reader *reader)
{
	const struct sn_hpcrun *file = reader->file;
	reader->modules = sn_arena_array(&reader->arena, uint32_t, 65536);
	if (!reader->modules)
		return sn_fail_memory(reader->error);
	memset(reader->modules, 0xff, 65536 * sizeof(*reader->modules));
	for (size_t i = 0; i < file->module_count; i++) {
		char *path = copy(reader, file->modules[i].path);
		int code =
		    path ? sn_hpct_code_module(&reader->import->code, reader->base, path,
					       reader->modules + file->modules[i].id, reader->error)
			 : sn_fail_memory(reader->error);
		if (code != 0)
			return code;
	}
	return 0;
}

/* The number of a node's module, after its structure and symbols have been loaded. */
static int module_of(struct reader *reader, const struct sn_hpcrun_node *node, uint32_t *module)
{
	*module = reader->modules[node->module];
	if (*module == SONDE_NONE)
		return damaged(reader, "a call path in a missing module");
	return sn_hpct_code_load(&reader->import->code, *module, reader->error);
}

/* Code must lie below an entry point; a path that was not unwound to one gets the unknown entry. */
static uint32_t below_entry(struct reader *reader, uint32_t parent)
{
	if (parent != 0)
		return parent;
	reader->import->demoted++;
	return sn_hpct_tree_entry(&reader->import->tree, SN_HPCT_ENTRY_UNKNOWN, 0);
}

static uint32_t placeholder_context(struct reader *reader, uint32_t parent,
				    const struct sn_hpcrun_node *node)
{
	struct sn_hpct_tree *tree = &reader->import->tree;
	char text[40];
	unsigned kind;
	switch (node->ip) {
	case SN_HPCT_ROOT_PARTIAL:
	case SN_HPCT_UNNORMALIZED:
		return parent == 0 ? sn_hpct_tree_entry(tree, SN_HPCT_ENTRY_UNKNOWN, 0)
				   : sn_hpct_tree_unknown(tree, parent);
	case SN_HPCT_NO_ACTIVITY:
		return parent;
	case SN_HPCT_FENCE_MAIN:
		if (parent == 0)
			return sn_hpct_tree_entry(tree, SN_HPCT_ENTRY_MAIN, 1);
		break;
	case SN_HPCT_FENCE_THREAD:
		if (parent == 0)
			return sn_hpct_tree_entry(tree, SN_HPCT_ENTRY_THREAD, 2);
		break;
	}
	parent = below_entry(reader, parent);
	const char *name = sn_hpct_placeholder(node->ip, &kind, text);
	/* two placeholders share a name; their letters differ */
	struct sonde_db_frame frame = sn_hpct_frame_named(tree, kind, name);
	frame.linkage_name = sn_db_builder_string(tree->builder, text);
	return sn_hpct_tree_add(tree, parent, frame);
}

static int read_root(struct reader *reader, const struct sn_hpcrun_node *node, struct state *state)
{
	if (node->module == MODULE_PLACEHOLDER && node->ip == SN_HPCT_ROOT_PRIMARY)
		*state = (struct state){.type = STATE_CONTEXT, .module = SONDE_NONE};
	else if (node->module == MODULE_GPU_ROOT)
		*state = (struct state){.type = STATE_RANGES};
	else
		return damaged(reader, "a call path without a root");
	return 0;
}

/* A sample without a call stack below `parent`. If nothing is known of its callers, it goes below
 * an unknown function at once. */
static int read_sample(struct reader *reader, const struct sn_hpcrun_node *node, uint32_t parent,
		       uint32_t module, struct state *state)
{
	struct sn_hpct_import *import = reader->import;
	struct sn_hpct_reconstruction *all = &import->reconstruction;
	uint32_t address;
	if (sn_hpct_reconstruct_address(all, module, node->ip, &address) != 0)
		return sn_fail_memory(reader->error);
	if (address != SN_HPCT_NO_CALLERS) {
		state->type = STATE_SAMPLE;
		return sn_fail_code(
		    reader->error,
		    sn_hpct_thread_sample(&reader->thread, all, address, parent, &state->sample));
	}
	uint32_t unknown = sn_hpct_tree_unknown(&import->tree, parent);
	state->place = sn_hpct_code_place(&import->code, unknown, module, node->ip);
	return 0;
}

static uint32_t function_called(const struct sn_hpct_code *code, uint32_t module, uint64_t offset)
{
	const struct sn_hpcstruct_leaf *leaf =
	    sn_hpcstruct_find(&code->modules[module].structure, offset);
	return leaf ? leaf->function : SONDE_NONE;
}

static int read_code(struct reader *reader, const struct sn_hpcrun_node *node,
		     const struct state *above, struct state *state)
{
	struct sn_hpct_code *code = &reader->import->code;
	uint32_t module, parent = above->place.full;
	*state = (struct state){.type = STATE_CONTEXT, .module = SONDE_NONE};
	if (node->module == MODULE_PLACEHOLDER && node->is_unwound) {
		if (node->ip == SN_HPCT_ROOT_PRIMARY)
			return damaged(reader, "a root inside a call path");
		state->parent = parent;
		state->place.full = state->place.called = placeholder_context(reader, parent, node);
		return 0;
	}
	int failed = module_of(reader, node, &module);
	if (failed != 0)
		return failed;
	state->parent = parent = below_entry(reader, parent);
	if (!node->is_unwound)
		return read_sample(reader, node, parent, module, state);
	state->place = sn_hpct_code_place(code, parent, module, node->ip);
	state->module = module;
	state->function = function_called(code, module, node->ip);
	return 0;
}

/* A sample of a range, not assigned to a launch. */
static int read_range_sample(struct reader *reader, const struct sn_hpcrun_node *node,
			     const struct state *above, struct state *state)
{
	struct sn_hpct_import *import = reader->import;
	uint32_t module, address;
	int code = module_of(reader, node, &module);
	if (code != 0)
		return code;
	if (sn_hpct_reconstruct_address(&import->reconstruction, module, node->ip, &address) != 0)
		return sn_fail_memory(reader->error);
	if (address == SN_HPCT_NO_CALLERS) {
		uint32_t unknown = sn_hpct_tree_entry(&import->tree, SN_HPCT_ENTRY_UNKNOWN, 0);
		*state = (struct state){
		    .type = STATE_CONTEXT,
		    .parent = unknown,
		    .place = sn_hpct_code_place(&import->code, unknown, module, node->ip),
		    .module = SONDE_NONE};
		return 0;
	}
	struct sn_hpct_group *group = sn_hpct_thread_group(above->thread, above->range);
	if (!group || sn_sums_add(&group->samples, address, SONDE_NONE, 0) < 0)
		return sn_fail_memory(reader->error);
	*state = *above;
	state->type = STATE_RANGE_SAMPLE;
	state->address = address;
	return 0;
}

static int read_device(struct reader *reader, const struct sn_hpcrun_node *node,
		       const struct state *above, struct state *state)
{
	*state = *above;
	state->type = above->type == STATE_CONTEXT ? STATE_LAUNCH_DEVICE : STATE_DEVICE;
	state->thread = device_thread(reader, node->ip);
	return state->thread ? 0 : sn_fail_memory(reader->error);
}

static int read_range(struct reader *reader, const struct sn_hpcrun_node *node,
		      const struct state *above, struct state *state)
{
	*state = *above;
	state->range = node->ip;
	state->type = above->type == STATE_DEVICE ? STATE_RANGE : STATE_LAUNCH_RANGE;
	if (state->type == STATE_RANGE)
		return 0;
	struct sn_hpct_group *group = sn_hpct_thread_group(state->thread, state->range);
	struct sn_hpct_launch launch = {state->module, state->function, state->parent};
	return group && sn_hpct_group_launch(group, launch) == 0 ? 0
								 : sn_fail_memory(reader->error);
}

static int read_node(struct reader *reader, const struct sn_hpcrun_node *node, struct state *state)
{
	if (node->parent == 0)
		return read_root(reader, node, state);
	uint32_t position = sn_table_find(&reader->ids, node->parent);
	if (position == SN_TABLE_NONE || reader->states + position >= state)
		return damaged(reader, "a call path with a missing caller");
	const struct state *above = reader->states + position;
	bool is_device = node->module == MODULE_GPU_CONTEXT;
	bool is_range = node->module == MODULE_GPU_RANGE;
	switch (above->type) {
	case STATE_CONTEXT:
		return is_device ? read_device(reader, node, above, state)
				 : read_code(reader, node, above, state);
	case STATE_RANGES:
		if (is_device)
			return read_device(reader, node, above, state);
		break;
	case STATE_LAUNCH_DEVICE:
	case STATE_DEVICE:
		if (is_range)
			return read_range(reader, node, above, state);
		break;
	case STATE_RANGE:
		return read_range_sample(reader, node, above, state);
	default:
		break;
	}
	return damaged(reader, "a call path below one that cannot have callees");
}

static int read_nodes(struct reader *reader)
{
	const struct sn_hpcrun *file = reader->file;
	reader->states = sn_arena_array(&reader->arena, struct state, file->node_count);
	if (!reader->states)
		return sn_fail_memory(reader->error);
	for (size_t i = 0; i < file->node_count; i++) {
		const struct sn_hpcrun_node *node = file->nodes + i;
		uint32_t position = sn_table_add(&reader->ids, node->id);
		if (position == SN_TABLE_NONE)
			return sn_fail_memory(reader->error);
		if (position != i || node->id == 0)
			return damaged(reader, "two call paths with one number");
		int code = read_node(reader, node, reader->states + i);
		if (code != 0)
			return code;
	}
	return 0;
}

static struct sn_sums *sums_of_range(const struct state *state, bool of_launches)
{
	struct sn_hpct_group *group = sn_hpct_thread_group(state->thread, state->range);
	return group ? of_launches ? &group->launches : &group->samples : NULL;
}

/* The sums to which a value of this node belongs, and the key in them. NULL if nodes of this kind
 * have no such values, or there is no memory. */
static struct sn_sums *sums_of(struct reader *reader, const struct state *state, bool is_relation,
			       uint32_t *major)
{
	*major = is_relation ? state->place.called : state->place.full;
	if (state->type == STATE_CONTEXT)
		return &reader->thread.values;
	if (state->type == STATE_LAUNCH_RANGE && is_relation)
		return sums_of_range(state, true);
	if (state->type == STATE_SAMPLE && !is_relation) {
		*major = state->sample;
		return &reader->thread.samples;
	}
	if (state->type == STATE_RANGE_SAMPLE && !is_relation) {
		*major = state->address;
		return sums_of_range(state, false);
	}
	return NULL;
}

static double value_of(const struct sn_hpcrun_metric *metric, uint64_t bits)
{
	double value;
	if (metric->is_real)
		memcpy(&value, &bits, sizeof(value));
	else
		value = (double)bits;
	return value * (double)metric->period;
}

static int read_block(struct reader *reader, const struct sn_hpcrun_block *block)
{
	uint32_t position = sn_table_find(&reader->ids, block->node), major;
	if (block->first == block->end)
		return 0;
	if (position == SN_TABLE_NONE)
		return damaged(reader, "a value of a missing call path");
	for (uint64_t i = block->first; i < block->end; i++) {
		const struct sn_hpcrun_value *value = reader->file->values + i;
		const struct sn_hpcrun_metric *metric = reader->file->metrics + value->metric;
		uint32_t number = reader->metrics[value->metric];
		double amount = value_of(metric, value->bits);
		struct sn_sums *sums =
		    sums_of(reader, reader->states + position, metric->is_relation, &major);
		if (!sums || number == SONDE_NONE || !(amount - amount == 0))
			return damaged(reader, "a value where none is possible");
		if (major == SONDE_NONE || sn_sums_add(sums, major, number, amount) < 0)
			return sn_fail_memory(reader->error);
	}
	return 0;
}

int sn_hpct_import_flush(struct sn_hpct_import *import, struct sn_hpct_thread *thread,
			 struct sn_error *error)
{
	if (sn_hpct_thread_finish(thread, &import->reconstruction) != 0)
		return sn_fail_memory(error);
	for (size_t i = 0; i < thread->values.count; i++) {
		const struct sn_sum *sum = thread->values.entries + i;
		sn_hpct_value(import->builder, thread->profile, sum->major, sum->minor, sum->value);
	}
	if (thread->lost)
		sn_db_builder_drop(import->builder, "hpctoolkit_ranges",
				   "values of GPU code in a range in which nothing was launched",
				   thread->lost);
	return 0;
}

/* Points at nodes without a context of their own (ranges, samples without a call stack)
 * are left out. */
static int add_points(struct reader *reader, const struct sn_hpctrace *trace)
{
	struct sn_db_builder *builder = reader->import->builder;
	uint32_t profile = reader->thread.profile;
	struct sn_hpct_traced *points = malloc((trace->count + 1) * sizeof(*points));
	size_t count = 0;
	if (!points)
		return sn_fail_memory(reader->error);
	for (size_t i = 0; i < trace->count; i++) {
		const struct sn_hpctrace_point *point = trace->points + i;
		uint32_t position = sn_table_find(&reader->ids, point->node);
		const struct state *state = reader->states + position;
		if (position == SN_TABLE_NONE || state->type != STATE_CONTEXT)
			continue;
		points[count++] = (struct sn_hpct_traced){
		    point->time_ns, trace->is_call_trace ? state->place.called : state->place.full};
	}
	sn_hpct_points(reader->import->events, profile,
		       builder->profiles[profile].kind == SONDE_PROFILE_STREAM, points, count);
	free(points);
	return 0;
}

/* The trace of NAME.hpcrun is NAME.hpctrace; it may be missing. */
static int read_trace(struct reader *reader)
{
	char path[PATH_MAX];
	struct sn_hpctrace trace;
	size_t length = strlen(reader->path);
	if (length < 7 || length + 2 > sizeof(path))
		return 0;
	snprintf(path, sizeof(path), "%.*s.hpctrace", (int)(length - 7), reader->path);
	if (access(path, F_OK) < 0)
		return 0;
	int code = sn_hpctrace_read(&trace, path, reader->error);
	if (code == 0)
		code = add_points(reader, &trace);
	sn_hpctrace_release(&trace);
	return code;
}

static int read_file(struct reader *reader)
{
	static int (*const steps[])(struct reader *) = {add_thread, read_metrics, read_modules,
							read_nodes};
	int code = 0;
	for (size_t i = 0; code == 0 && i < sizeof(steps) / sizeof(*steps); i++)
		code = steps[i](reader);
	for (size_t i = 0; code == 0 && i < reader->file->block_count; i++)
		code = read_block(reader, reader->file->blocks + i);
	if (code == 0)
		code = sn_hpct_import_flush(reader->import, &reader->thread, reader->error);
	return code == 0 ? read_trace(reader) : code;
}

static void note_program(struct reader *reader)
{
	const struct sn_hpcrun *file = reader->file;
	struct sn_db_builder *builder = reader->import->builder;
	char *program = copy(reader, file->program), *job = copy(reader, file->job);
	char *path = copy(reader, file->program_path);
	if (program && path && *program)
		sn_hpct_program(builder, program, *path ? path : program);
	if (job && *job)
		sn_db_builder_property(builder, "job", job);
}

int sn_hpct_profile_read(struct sn_hpct_import *import, const char *path, const char *base,
			 bool *is_unreadable, struct sn_error *error)
{
	struct sn_hpcrun file;
	struct reader reader = {
	    .import = import, .file = &file, .path = path, .base = base, .error = error};
	int code = sn_hpcrun_read(&file, path, error);
	*is_unreadable = code == SN_ERR_FORMAT || code == SN_ERR_VERSION;
	if (code == 0)
		code = read_file(&reader);
	if (code == 0)
		note_program(&reader);
	sn_hpct_thread_release(&reader.thread);
	sn_table_release(&reader.ids);
	sn_arena_release(&reader.arena);
	sn_hpcrun_release(&file);
	return code;
}
