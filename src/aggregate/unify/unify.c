/* SPDX-License-Identifier: Apache-2.0 */
/* Tables into tables; see unify.h. */
#include "unify.h"

#include "base/sort_by.h"
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
	sn_buffer_release(&unified->processes);
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

static int reserve_counts(struct sn_unified *unified, size_t nodes)
{
	return sn_vec_reserve_zeroed(&unified->value_counts, &unified->count_capacity, nodes);
}

static int reserve_totals(struct sn_unified *unified, size_t metrics)
{
	if (metrics > unified->total_count)
		unified->total_count = metrics;
	return sn_vec_reserve_zeroed(&unified->totals, &unified->total_capacity, metrics);
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

/* ---- processes ---- */

/* What provenance and graphs want of a measurement: they get it when all are known, in the order of
 * their files. */
struct process {
	uint32_t file, run;
	struct sn_process_totals totals;
	struct sn_measurement measurement; /* without what is not packed */
};

static void pack_process(struct sn_pack *pack, struct process *process)
{
	struct sn_measurement *m = &process->measurement;
	sn_pack_member(pack, process->file);
	sn_pack_member(pack, process->run);
	sn_pack_member(pack, process->totals);
	sn_pack_member(pack, m->is_final);
	sn_pack_member(pack, m->is_trace);
	sn_pack_member(pack, m->losses);
	sn_pack_array(pack, &m->process, &m->process_bytes);
	sn_pack_array(pack, (const char **)&m->graph, &m->graph_bytes);
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
	struct process process = {.file = file,
				  .run = unified->merge.run,
				  .totals = sn_process_totals(measurement, unified->builder),
				  .measurement = *measurement};
	pack_process(&(struct sn_pack){.to = &unified->processes}, &process);
	return unified->processes.failed || unified->builder->failed ? SN_ERR_MEMORY : 0;
}

SN_SORT_BY(sort_processes, struct process, const void *, SN_ORDER(a->file, b->file));

int sn_unified_provenance(const struct sn_unified *unified, struct sn_provenance *provenance)
{
	struct sn_pack pack = sn_unpack(unified->processes.bytes, unified->processes.count);
	struct process *processes = NULL;
	size_t count = 0, capacity = 0;
	int result = 0;
	while (sn_cursor_left(&pack.from) && !result) {
		result = sn_vec_push(&processes, &capacity, &count, (struct process){0});
		if (!result)
			pack_process(&pack, processes + count - 1);
		result |= pack.from.failed;
	}
	sort_processes(processes, count, NULL);
	for (size_t i = 0; i < count && !result; i++) {
		const struct process *process = processes + i;
		result = sn_provenance_add(provenance, &process->measurement, &process->totals,
					   process->run) ||
			 sn_add_graph(unified->builder, &process->measurement, process->run);
	}
	for (size_t i = 0; i < count; i++) {
		free((void *)(uintptr_t)processes[i].measurement.process);
		free((void *)(uintptr_t)processes[i].measurement.graph);
	}
	free(processes);
	return result ? SN_ERR_MEMORY : 0;
}

/* ---- tables into tables ---- */

_Static_assert(sizeof(struct sn_merged_module) <= 4 * sizeof(uint64_t), "map_items has room");

/* Numbers of one worker's things in another's tables. */
struct maps {
	uint32_t *strings, *modules, *codes, *frames, *nodes, *metrics;
	bool is_lookup;	 /* nothing may be added */
	bool is_partial; /* what is not there has no number; else all is */
	bool failed;
};

static uint32_t *new_map(struct maps *maps, size_t count)
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

static void renumber_module(const struct maps *maps, void *item)
{
	struct sn_merged_module *module = item;
	module->path = apply(maps->strings, module->path);
}

static void renumber_code(const struct maps *maps, void *item)
{
	struct sn_merged_code *code = item;
	code->file = apply(maps->strings, code->file);
	code->name = apply(maps->strings, code->name);
}

/* struct sn_frame lists what an id is a number of. */
static void renumber_frame(const struct maps *maps, void *item)
{
	struct sn_frame *frame = item;
	bool is_code = frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_GPU_INSTRUCTION;
	frame->id = apply(is_code			   ? maps->modules
			  : frame->kind == SN_FRAME_PYTHON ? maps->codes
							   : maps->strings,
			  frame->id);
}

/* The numbers of a table's items in another one. `renumber` puts the numbers that they refer to
 * into a copy; NULL where there are none, and items of any length. */
static uint32_t *map_items(struct maps *maps, struct sn_intern *into, const struct sn_intern *from,
			   void (*renumber)(const struct maps *maps, void *item))
{
	uint32_t *map = new_map(maps, from->count);
	for (uint32_t i = 0; i < from->count && !maps->failed; i++) {
		uint64_t item[4]; /* as large as the largest, struct sn_merged_module */
		size_t length;
		const void *bytes = sn_intern_at(from, i, &length);
		if (renumber) {
			bytes = memcpy(item, bytes, length);
			renumber(maps, item);
		}
		map[i] = maps->is_lookup ? sn_intern_find(into, bytes, length)
					 : sn_intern_add(into, bytes, length);
		maps->failed |= map[i] == SN_INTERN_NONE && !maps->is_partial;
	}
	return map;
}

static void map_module_flags(struct maps *maps, struct sn_merge *into, const struct sn_merge *from)
{
	maps->failed |= sn_vec_reserve_zeroed(&into->module_flags, &into->module_flag_capacity,
					      into->modules.count) < 0;
	for (uint32_t i = 0; i < from->modules.count && !maps->failed; i++)
		into->module_flags[maps->modules[i]] |= from->module_flags[i];
}

static void map_nodes(struct maps *maps, struct sn_nodes *into, const struct sn_nodes *from)
{
	maps->nodes = new_map(maps, from->count);
	if (!maps->failed)
		maps->nodes[0] = 0;
	for (uint32_t i = 1; i < from->count && !maps->failed; i++) {
		struct sn_merged_node node = {maps->nodes[from->items[i].parent],
					      maps->frames[from->items[i].frame]};
		bool is_known = node.parent != SN_NODE_NONE && node.frame != SN_INTERN_NONE;
		maps->nodes[i] = !is_known	   ? SN_NODE_NONE
				 : maps->is_lookup ? sn_nodes_find(into, node)
						   : sn_nodes_add(into, node);
		maps->failed |= maps->nodes[i] == SN_NODE_NONE && !maps->is_partial;
	}
}

static void map_metrics(struct maps *maps, struct sn_db_builder *into,
			const struct sn_db_builder *from)
{
	maps->metrics = new_map(maps, from->metric_count);
	for (size_t i = 0; i < from->metric_count && !maps->failed; i++) {
		struct sonde_db_metric metric = from->metrics[i];
		metric.name = apply(maps->strings, metric.name);
		metric.unit = apply(maps->strings, metric.unit);
		metric.source = apply(maps->strings, metric.source);
		maps->metrics[i] = maps->is_lookup ? sn_db_builder_find_metric(into, metric.name)
						   : sn_db_builder_metric(into, &metric);
		maps->failed |= maps->metrics[i] == SONDE_NONE && !maps->is_partial;
	}
}

static void map_all(struct maps *maps, struct sn_unified *into, const struct sn_unified *from)
{
	const struct sn_merge *merge = &from->merge;
	maps->strings = map_items(maps, &into->builder->strings, &from->builder->strings, NULL);
	maps->modules = map_items(maps, &into->merge.modules, &merge->modules, renumber_module);
	if (!maps->is_lookup)
		map_module_flags(maps, &into->merge, merge);
	maps->codes = map_items(maps, &into->merge.codes, &merge->codes, renumber_code);
	maps->frames = map_items(maps, &into->merge.frames, &merge->frames, renumber_frame);
	map_nodes(maps, &into->merge.nodes, &merge->nodes);
	map_metrics(maps, into->builder, from->builder);
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
	for (size_t i = 0; i < from->builder->drop_count; i++) {
		const struct sonde_db_drop *drop = from->builder->drops + i;
		sn_db_builder_drop(into->builder, sn_db_builder_text(from->builder, drop->cause),
				   sn_db_builder_text(from->builder, drop->text), drop->count);
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
	map_all(&maps, into, from);
	int result =
	    maps.failed || absorb_profiles(&maps, into, from) || absorb_counts(&maps, into, from);
	sn_buffer_put(&into->processes, from->processes.bytes, from->processes.count);
	release_maps(&maps);
	free(maps.nodes);
	free(maps.metrics);
	return result || into->processes.failed ? SN_ERR_MEMORY : 0;
}

uint32_t *sn_unified_translate(const struct sn_unified *all, const struct sn_unified *from,
			       bool is_partial, uint32_t **metrics)
{
	struct maps maps = {.is_lookup = true, .is_partial = is_partial};
	/* not changed: is_lookup */
	map_all(&maps, (struct sn_unified *)(uintptr_t)all, from);
	release_maps(&maps);
	if (maps.failed) {
		free(maps.nodes);
		free(maps.metrics);
		return NULL;
	}
	*metrics = maps.metrics;
	return maps.nodes;
}

/* ---- to another rank ---- */

static void pack_nodes(struct sn_pack *pack, struct sn_nodes *nodes)
{
	uint32_t count = nodes->count;
	struct sn_merged_node *items = pack->to ? nodes->items : NULL;
	sn_pack_array(pack, &items, &count);
	if (pack->to)
		return;
	/* the root is there */
	for (uint32_t i = 1; i < count && !pack->from.failed; i++)
		pack->from.failed = sn_nodes_add(nodes, items[i]) != i;
	free(items);
}

void sn_unified_pack(struct sn_pack *pack, struct sn_unified *unified)
{
	struct sn_merge *merge = &unified->merge;
	struct sn_db_builder *builder = unified->builder;
	sn_pack_intern(pack, &builder->strings);
	sn_pack_intern(pack, &builder->metric_names);
	sn_pack_array(pack, &builder->metrics, &builder->metric_count);
	sn_pack_array(pack, &builder->drops, &builder->drop_count);
	sn_pack_array(pack, &builder->profiles, &builder->profile_count);
	size_t origins = builder->profile_count;
	sn_pack_array(pack, &unified->origins, &origins);
	sn_pack_intern(pack, &merge->modules);
	size_t flags = merge->modules.count;
	sn_pack_array(pack, &merge->module_flags, &flags);
	sn_pack_intern(pack, &merge->codes);
	sn_pack_intern(pack, &merge->frames);
	pack_nodes(pack, &merge->nodes);
	size_t counted = unified->count_capacity;
	if (counted > merge->nodes.count)
		counted = merge->nodes.count;
	sn_pack_array(pack, &unified->value_counts, &counted);
	sn_pack_array(pack, &unified->totals, &unified->total_count);
	sn_pack_array(pack, &unified->processes.bytes, &unified->processes.count);
	if (pack->to)
		return;
	builder->metric_capacity = builder->metric_count;
	builder->drop_capacity = builder->drop_count;
	builder->profile_capacity = builder->profile_count;
	unified->origin_capacity = origins;
	merge->module_flag_capacity = flags;
	unified->count_capacity = counted;
	unified->total_capacity = unified->total_count;
	unified->processes.capacity = unified->processes.count;
}
