/* SPDX-License-Identifier: Apache-2.0 */
/* Tables into tables; see unify.h. */
#include "unify.h"

#include "base/sort.h"
#include "base/vec.h"
#include "graphs.h"
#include "format/database/database_builder.h"

#include <stdlib.h>
#include <string.h>

int sn_unified_init(struct sn_unified *unified)
{
	*unified = (struct sn_unified){.builder = sn_db_builder_new()};
	if (!unified->builder)
		return SN_ERR_MEMORY;
	return sn_merge_init(&unified->merge, unified->builder);
}

void sn_unified_release(struct sn_unified *unified)
{
	sn_merge_release(&unified->merge);
	sn_db_builder_free(unified->builder);
	sn_pack_release(&unified->processes);
	free(unified->value_counts);
	free(unified->origins);
	free(unified->totals);
	*unified = (struct sn_unified){0};
}

uint64_t sn_unified_bytes(const struct sn_unified *unified)
{
	const struct sn_merge *merge = &unified->merge;
	const struct sn_intern *interns[] = {&unified->builder->strings, &merge->modules,
					     &merge->codes, &merge->frames};
	uint64_t bytes = merge->nodes.capacity * sizeof(*merge->nodes.items) +
			 merge->nodes.table.slot_count * sizeof(*merge->nodes.table.slots) +
			 unified->count_capacity * sizeof(*unified->value_counts) +
			 unified->origin_capacity * sizeof(*unified->origins) +
			 unified->processes.capacity +
			 unified->builder->profile_capacity * sizeof(struct sonde_db_profile);
	for (size_t i = 0; i < sizeof(interns) / sizeof(*interns); i++)
		bytes += sn_intern_memory_bytes(interns[i]);
	return bytes;
}

/* Grows a table that is indexed by something else's numbers; what is new is zero. */
static int reserve_zeroed(void **items, size_t *capacity, size_t needed, size_t item_bytes)
{
	size_t before = *items ? *capacity : 0;
	if (sn_vec_reserve_bytes(items, capacity, needed, item_bytes) < 0)
		return SN_ERR_MEMORY;
	if (*capacity > before)
		memset((char *)*items + before * item_bytes, 0, (*capacity - before) * item_bytes);
	return 0;
}

static int reserve_counts(struct sn_unified *unified, size_t nodes)
{
	return reserve_zeroed((void **)&unified->value_counts, &unified->count_capacity, nodes,
			      sizeof(*unified->value_counts));
}

static int reserve_totals(struct sn_unified *unified, size_t metrics)
{
	if (metrics > unified->total_count)
		unified->total_count = metrics;
	return reserve_zeroed((void **)&unified->totals, &unified->total_capacity, metrics,
			      sizeof(*unified->totals));
}

int sn_unified_count(struct sn_unified *unified, uint32_t node, uint32_t metric, uint64_t sum)
{
	if ((node >= unified->count_capacity &&
	     reserve_counts(unified, unified->merge.nodes.count)) ||
	    (metric >= unified->total_count && reserve_totals(unified, metric + 1ull)))
		return SN_ERR_MEMORY;
	unified->value_counts[node]++;
	unified->totals[metric] += sum;
	return 0;
}

/* What sn_provenance_add looks at, so that it can be done later and in the order of the files. */
static void keep_process(struct sn_unified *unified, const struct sn_measurement *m, uint32_t file)
{
	struct sn_pack *pack = &unified->processes;
	sn_pack_number(pack, file);
	sn_pack_number(pack, m->is_final | m->is_trace << 1);
	sn_pack_put(pack, &m->losses, sizeof(m->losses));
	sn_pack_array(pack, m->process, m->process_bytes, 1);
	sn_pack_number(pack, m->drop_count);
	for (uint32_t i = 0; i < m->drop_count; i++) {
		size_t length;
		const char *cause = sn_measurement_string(&m->strings, m->drops[i].cause, &length);
		sn_pack_number(pack, m->drops[i].count);
		sn_pack_array(pack, cause, length, 1);
	}
	sn_pack_number(pack, m->thread_count);
	for (uint32_t i = 0; i < m->thread_count; i++)
		sn_pack_put(pack, m->threads[i].record, sizeof(*m->threads[i].record));
	sn_pack_number(pack, unified->merge.run);
	sn_pack_array(pack, m->graph, m->graph_bytes, 1);
}

int sn_unified_add(struct sn_unified *unified, const struct sn_measurement *measurement,
		   uint32_t file)
{
	size_t first = unified->builder->profile_count;
	int result = sn_merge_add(&unified->merge, measurement);
	if (result)
		return result;
	size_t count = unified->builder->profile_count;
	if (sn_vec_reserve(&unified->origins, &unified->origin_capacity, count) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = first; i < count; i++)
		unified->origins[i] = (struct sn_input_thread){file, (uint32_t)(i - first)};
	keep_process(unified, measurement, file);
	return unified->processes.failed || unified->builder->failed ? SN_ERR_MEMORY : 0;
}

/* Numbers of one worker's things in another's tables. */
struct maps {
	uint32_t *strings, *modules, *codes, *frames, *nodes, *metrics;
	bool is_lookup;	 /* nothing may be added */
	bool is_partial; /* what is not there has no number; else all is */
	bool failed;
};

static uint32_t *make_map(struct maps *maps, size_t count)
{
	uint32_t *map = malloc((count + 1) * sizeof(*map));
	maps->failed |= !map;
	return map;
}

static void release_maps(struct maps *maps)
{
	free(maps->strings);
	free(maps->modules);
	free(maps->codes);
	free(maps->frames);
}

static uint32_t apply(const uint32_t *map, uint32_t number)
{
	return number == SONDE_NONE ? SONDE_NONE : map[number];
}

static uint32_t intern(struct maps *maps, struct sn_intern *table, const void *bytes, size_t length)
{
	uint32_t number = maps->is_lookup ? sn_intern_find(table, bytes, length)
					  : sn_intern_add(table, bytes, length);
	maps->failed |= number == SN_INTERN_NONE && !maps->is_partial;
	return number;
}

static void map_strings(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	const struct sn_intern *strings = &from->builder->strings;
	maps->strings = make_map(maps, strings->count);
	for (uint32_t i = 0; i < strings->count && !maps->failed; i++) {
		size_t length;
		const void *text = sn_intern_at(strings, i, &length);
		maps->strings[i] = intern(maps, &into->builder->strings, text, length);
	}
}

static void map_modules(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	const struct sn_merge *merge = &from->merge;
	maps->modules = make_map(maps, merge->modules.count);
	for (uint32_t i = 0; i < merge->modules.count && !maps->failed; i++) {
		struct sn_merged_module module;
		memcpy(&module, sn_intern_at(&merge->modules, i, NULL), sizeof(module));
		module.path = apply(maps->strings, module.path);
		uint32_t before = into->merge.modules.count;
		uint32_t number = intern(maps, &into->merge.modules, &module, sizeof(module));
		maps->modules[i] = number;
		if (maps->is_lookup || maps->failed)
			continue;
		if (sn_vec_reserve(&into->merge.module_flags, &into->merge.module_flag_capacity,
				   number + 1ull) < 0) {
			maps->failed = true;
			continue;
		}
		if (number == before)
			into->merge.module_flags[number] = 0;
		into->merge.module_flags[number] |= merge->module_flags[i];
	}
}

static void map_codes(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	const struct sn_intern *codes = &from->merge.codes;
	maps->codes = make_map(maps, codes->count);
	for (uint32_t i = 0; i < codes->count && !maps->failed; i++) {
		struct sn_merged_code code;
		memcpy(&code, sn_intern_at(codes, i, NULL), sizeof(code));
		code.file = apply(maps->strings, code.file);
		code.name = apply(maps->strings, code.name);
		maps->codes[i] = intern(maps, &into->merge.codes, &code, sizeof(code));
	}
}

/* What a frame's id is a number of; see struct sn_frame. */
static const uint32_t *ids_of(const struct maps *maps, unsigned kind)
{
	switch (kind) {
	case SN_FRAME_NATIVE:
	case SN_FRAME_GPU_INSTRUCTION:
		return maps->modules;
	case SN_FRAME_PYTHON:
		return maps->codes;
	default:
		return maps->strings;
	}
}

static void map_frames(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	const struct sn_intern *frames = &from->merge.frames;
	maps->frames = make_map(maps, frames->count);
	for (uint32_t i = 0; i < frames->count && !maps->failed; i++) {
		struct sn_frame frame;
		memcpy(&frame, sn_intern_at(frames, i, NULL), sizeof(frame));
		frame.id = apply(ids_of(maps, frame.kind), frame.id);
		maps->frames[i] = intern(maps, &into->merge.frames, &frame, sizeof(frame));
	}
}

static void map_nodes(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	const struct sn_nodes *nodes = &from->merge.nodes;
	maps->nodes = make_map(maps, nodes->count);
	if (!maps->failed)
		maps->nodes[0] = 0;
	for (uint32_t i = 1; i < nodes->count && !maps->failed; i++) {
		struct sn_merged_node node = {maps->nodes[nodes->items[i].parent],
					      maps->frames[nodes->items[i].frame]};
		bool is_known = node.parent != SN_NODE_NONE && node.frame != SN_INTERN_NONE;
		maps->nodes[i] = !is_known	   ? SN_NODE_NONE
				 : maps->is_lookup ? sn_nodes_find(&into->merge.nodes, node)
						   : sn_nodes_add(&into->merge.nodes, node);
		maps->failed |= maps->nodes[i] == SN_NODE_NONE && !maps->is_partial;
	}
}

static void map_metrics(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	size_t count = from->builder->metric_count;
	maps->metrics = make_map(maps, count);
	for (size_t i = 0; i < count && !maps->failed; i++) {
		struct sonde_db_metric metric = from->builder->metrics[i];
		metric.name = apply(maps->strings, metric.name);
		metric.unit = apply(maps->strings, metric.unit);
		metric.source = apply(maps->strings, metric.source);
		maps->metrics[i] = maps->is_lookup
				       ? sn_db_builder_find_metric(into->builder, metric.name)
				       : sn_db_builder_metric(into->builder, &metric);
		maps->failed |= maps->metrics[i] == SONDE_NONE && !maps->is_partial;
	}
}

static void make_maps(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	map_strings(maps, into, from);
	map_modules(maps, into, from);
	map_codes(maps, into, from);
	map_frames(maps, into, from);
	map_nodes(maps, into, from);
	map_metrics(maps, into, from);
}

static int absorb_profiles(const struct maps *maps, struct sn_unified *into,
			   const struct sn_unified *from)
{
	size_t first = into->builder->profile_count, count = from->builder->profile_count;
	if (sn_vec_reserve(&into->origins, &into->origin_capacity, first + count) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++) {
		struct sonde_db_profile profile = from->builder->profiles[i];
		profile.host = apply(maps->strings, profile.host);
		profile.program = apply(maps->strings, profile.program);
		profile.thread = apply(maps->strings, profile.thread);
		sn_db_builder_profile(into->builder, &profile);
		into->origins[first + i] = from->origins[i];
	}
	return into->builder->failed;
}

static int absorb_counts(const struct maps *maps, struct sn_unified *into,
			 const struct sn_unified *from)
{
	if (reserve_counts(into, into->merge.nodes.count) ||
	    reserve_totals(into, into->builder->metric_count))
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < from->merge.nodes.count && i < from->count_capacity; i++)
		into->value_counts[maps->nodes[i]] += from->value_counts[i];
	for (size_t i = 0; i < from->total_count; i++)
		into->totals[maps->metrics[i]] += from->totals[i];
	return 0;
}

int sn_unified_absorb(struct sn_unified *into, const struct sn_unified *from)
{
	struct maps maps = {0};
	make_maps(&maps, into, from);
	int result = maps.failed ? SN_ERR_MEMORY : absorb_profiles(&maps, into, from);
	if (!result)
		result = absorb_counts(&maps, into, from);
	sn_pack_put(&into->processes, from->processes.bytes, from->processes.length);
	release_maps(&maps);
	free(maps.nodes);
	free(maps.metrics);
	return result || into->processes.failed ? SN_ERR_MEMORY : 0;
}

static uint32_t *look_up(const struct sn_unified *all, const struct sn_unified *from,
			 bool is_partial, uint32_t **metrics)
{
	struct maps maps = {.is_lookup = true, .is_partial = is_partial};
	/* not changed: is_lookup */
	make_maps(&maps, (struct sn_unified *)(uintptr_t)all, from);
	release_maps(&maps);
	if (maps.failed) {
		free(maps.nodes);
		free(maps.metrics);
		return NULL;
	}
	*metrics = maps.metrics;
	return maps.nodes;
}

uint32_t *sn_unified_translate(const struct sn_unified *all, const struct sn_unified *from,
			       uint32_t **metrics)
{
	return look_up(all, from, false, metrics);
}

uint32_t *sn_unified_find(const struct sn_unified *all, const struct sn_unified *from,
			  uint32_t **metrics)
{
	return look_up(all, from, true, metrics);
}

void sn_pack_unified(struct sn_pack *pack, const struct sn_unified *unified)
{
	const struct sn_merge *merge = &unified->merge;
	const struct sn_db_builder *builder = unified->builder;
	uint32_t nodes = merge->nodes.count;
	sn_pack_intern(pack, &builder->strings);
	sn_pack_array(pack, builder->metrics, builder->metric_count, sizeof(*builder->metrics));
	sn_pack_intern(pack, &builder->metric_names);
	sn_pack_array(pack, builder->profiles, builder->profile_count, sizeof(*builder->profiles));
	sn_pack_put(pack, unified->origins, builder->profile_count * sizeof(*unified->origins));
	sn_pack_intern(pack, &merge->modules);
	sn_pack_put(pack, merge->module_flags, merge->modules.count * sizeof(*merge->module_flags));
	sn_pack_intern(pack, &merge->codes);
	sn_pack_intern(pack, &merge->frames);
	sn_pack_array(pack, merge->nodes.items, nodes, sizeof(*merge->nodes.items));
	sn_pack_array(pack, unified->value_counts,
		      nodes < unified->count_capacity ? nodes : unified->count_capacity,
		      sizeof(*unified->value_counts));
	sn_pack_array(pack, unified->totals, unified->total_count, sizeof(*unified->totals));
	sn_pack_array(pack, unified->processes.bytes, unified->processes.length, 1);
}

static void unpack_profiles(struct sn_unpack *unpack, struct sn_unified *unified)
{
	struct sn_db_builder *builder = unified->builder;
	uint64_t count;
	free(builder->metrics);
	builder->metrics = sn_unpack_array(unpack, &count, sizeof(*builder->metrics));
	builder->metric_count = builder->metric_capacity = count;
	sn_unpack_intern(unpack, &builder->metric_names);
	free(builder->profiles);
	builder->profiles = sn_unpack_array(unpack, &count, sizeof(*builder->profiles));
	builder->profile_count = builder->profile_capacity = count;
	const void *origins = sn_unpack_take(unpack, count * sizeof(*unified->origins));
	if (!origins || sn_vec_reserve(&unified->origins, &unified->origin_capacity, count + 1) < 0)
		unpack->failed = true;
	else
		memcpy(unified->origins, origins, count * sizeof(*unified->origins));
}

void sn_unpack_unified(struct sn_unpack *unpack, struct sn_unified *unified)
{
	struct sn_merge *merge = &unified->merge;
	uint64_t count;
	sn_unpack_intern(unpack, &unified->builder->strings);
	unpack_profiles(unpack, unified);
	sn_unpack_intern(unpack, &merge->modules);
	size_t flag_bytes = merge->modules.count * sizeof(*merge->module_flags);
	const void *flags = sn_unpack_take(unpack, flag_bytes);
	if (!flags || reserve_zeroed((void **)&merge->module_flags, &merge->module_flag_capacity,
				     merge->modules.count + 1ull, sizeof(*merge->module_flags)))
		unpack->failed = true;
	else
		memcpy(merge->module_flags, flags, flag_bytes);
	sn_unpack_intern(unpack, &merge->codes);
	sn_unpack_intern(unpack, &merge->frames);
	struct sn_merged_node *nodes = sn_unpack_array(unpack, &count, sizeof(*nodes));
	/* the root is there */
	for (uint64_t i = 1; i < count && !unpack->failed; i++)
		unpack->failed = sn_nodes_add(&merge->nodes, nodes[i]) != i;
	free(nodes);
	free(unified->value_counts);
	unified->value_counts = sn_unpack_array(unpack, &count, sizeof(*unified->value_counts));
	unified->count_capacity = count;
	free(unified->totals);
	unified->totals = sn_unpack_array(unpack, &count, sizeof(*unified->totals));
	unified->total_count = unified->total_capacity = count;
	sn_pack_release(&unified->processes);
	unified->processes.bytes = sn_unpack_array(unpack, &count, 1);
	unified->processes.length = unified->processes.capacity = count;
}

/* A process as keep_process left it, in memory of its own. */
struct process {
	uint64_t file;
	struct sn_measurement measurement; /* what is not kept is empty */
	struct sn_drop_record *drops;
	struct sn_thread_record *records;
	uint32_t *ends; /* of the strings: the drops' causes */
	char *text, *causes;
	void *graph;
	uint32_t run;
};

static void release_process(struct process *process)
{
	free(process->measurement.threads);
	free(process->drops);
	free(process->records);
	free(process->ends);
	free(process->text);
	free(process->causes);
	free(process->graph);
}

static void take_drops(struct sn_unpack *unpack, struct process *process)
{
	uint64_t count = sn_unpack_number(unpack), bytes = 0;
	process->drops = calloc(count + 1, sizeof(*process->drops));
	process->ends = calloc(count + 2, sizeof(*process->ends));
	unpack->failed |= !process->drops || !process->ends;
	for (uint64_t i = 0; i < count && !unpack->failed; i++) {
		process->drops[i] =
		    (struct sn_drop_record){(uint32_t)i, 0, sn_unpack_number(unpack)};
		uint64_t length = sn_unpack_number(unpack);
		const void *cause = sn_unpack_take(unpack, length);
		char *grown = realloc(process->causes, bytes + length + 1);
		unpack->failed |= !grown || !cause;
		if (grown)
			process->causes = grown;
		if (unpack->failed)
			return;
		memcpy(process->causes + bytes, cause, length);
		bytes += length;
		process->ends[i + 1] = (uint32_t)bytes;
	}
	process->measurement.drops = process->drops;
	process->measurement.drop_count = (uint32_t)count;
	process->measurement.strings =
	    (struct sn_measurement_strings){(uint32_t)count, process->ends, process->causes};
}

static void take_threads(struct sn_unpack *unpack, struct process *process)
{
	uint64_t count;
	process->records = sn_unpack_array(unpack, &count, sizeof(*process->records));
	process->measurement.threads = calloc(count + 1, sizeof(*process->measurement.threads));
	unpack->failed |= !process->measurement.threads;
	for (uint64_t i = 0; i < count && !unpack->failed; i++)
		process->measurement.threads[i].record = process->records + i;
	process->measurement.thread_count = (uint32_t)count;
}

static void take_process(struct sn_unpack *unpack, struct process *process)
{
	uint64_t count;
	*process = (struct process){.file = sn_unpack_number(unpack)};
	uint64_t flags = sn_unpack_number(unpack);
	process->measurement.is_final = flags & 1;
	process->measurement.is_trace = flags >> 1 & 1;
	const void *losses = sn_unpack_take(unpack, sizeof(process->measurement.losses));
	if (losses)
		memcpy(&process->measurement.losses, losses, sizeof(process->measurement.losses));
	process->text = sn_unpack_array(unpack, &count, 1);
	process->measurement.process = process->text;
	process->measurement.process_bytes = count;
	take_drops(unpack, process);
	take_threads(unpack, process);
	process->run = (uint32_t)sn_unpack_number(unpack);
	process->measurement.graph = process->graph = sn_unpack_array(unpack, &count, 1);
	process->measurement.graph_bytes = count;
}

static int compare_processes(const void *left, const void *right)
{
	const struct process *a = left, *b = right;
	return SN_ORDER_BY(a, b, file);
}

int sn_unified_tell(const struct sn_unified *unified, struct sn_provenance *provenance)
{
	struct sn_unpack unpack = {unified->processes.bytes, unified->processes.length, false};
	struct process *processes = NULL;
	size_t count = 0, capacity = 0;
	while (unpack.left && !unpack.failed) {
		if (sn_vec_reserve(&processes, &capacity, count + 1) < 0)
			unpack.failed = true;
		else
			take_process(&unpack, processes + count++);
	}
	int result = unpack.failed ? SN_ERR_MEMORY : 0;
	if (!result && count)
		qsort(processes, count, sizeof(*processes), compare_processes);
	for (size_t i = 0; i < count && !result; i++)
		result =
		    sn_provenance_add(provenance, &processes[i].measurement, processes[i].run,
				      unified->builder) ||
		    sn_add_graph(unified->builder, &processes[i].measurement, processes[i].run);
	while (count)
		release_process(processes + --count);
	free(processes);
	return result;
}
