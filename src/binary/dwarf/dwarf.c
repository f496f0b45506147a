/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to units, and from what units say to locations; see dwarf.h. */
#include "dwarf.h"
#include "base/pool.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "dwarf_function.h"
#include "dwarf_split.h"

#include <stdlib.h>
#include <string.h>

/*
 * What one resolve may do, in steps of about 10 ns. The largest real files need a tenth of it;
 * damaged ones whose entries refer to each other's lists would not end without.
 */
#define BUDGET_STEPS 500000000u

/* Threads help where there is this much to walk for each. */
#define THREADS_MAX	      8u
#define SPLIT_KEY_SHIFT	      40u /* no file of this size is split */
#define THREAD_BYTES_AT_LEAST (2u << 20)

struct unit_range {
	uint64_t start, end;
	uint64_t furthest; /* the greatest end up to here: how far back a search must look */
	uint32_t unit;
};

struct sn_dwarf {
	struct sn_dwarf_file file, shared;
	const struct sn_elf_file *code;
	struct sn_dwarf_places places;
	uint64_t budget;
	struct unit_range *ranges;
	size_t range_count, range_capacity;
	uint32_t unit; /* while indexing */
	bool failed;
	/* names of entries already followed, by offset in `file`, and which split file */
	struct sn_table entries;
	struct sn_dwarf_function *functions;
	size_t function_capacity;
};

/* ---- index of units ---- */

static bool add_unit_range(void *data, uint64_t start, uint64_t end)
{
	struct sn_dwarf *dwarf = data;
	if (!sn_elf_file_is_code(dwarf->code, start))
		return true;
	dwarf->failed |= sn_vec_push(&dwarf->ranges, &dwarf->range_capacity, &dwarf->range_count,
				     (struct unit_range){start, end, 0, dwarf->unit}) < 0;
	return !dwarf->failed;
}

SN_SORT_BY(sort_by_start, struct unit_range, const void *, SN_ORDER_BY(a, b, start, unit));

static void index_units(struct sn_dwarf *dwarf)
{
	for (uint32_t i = 0; i < dwarf->file.unit_count; i++) {
		struct sn_dwarf_unit *unit = &dwarf->file.units[i];
		struct sn_dwarf_value ranges;
		uint64_t high_pc;
		if (unit->type == DW_UT_type || unit->type == DW_UT_partial)
			continue;
		dwarf->unit = i;
		sn_dwarf_unit_read(unit, &ranges, &high_pc);
		if (ranges.class != SN_DWARF_NONE)
			sn_dwarf_ranges(unit, ranges, add_unit_range, dwarf);
		else if (high_pc > unit->low_pc)
			add_unit_range(dwarf, unit->low_pc, high_pc);
	}
	sort_by_start(dwarf->ranges, dwarf->range_count, NULL);
	uint64_t furthest = 0;
	for (size_t i = 0; i < dwarf->range_count; i++) {
		if (dwarf->ranges[i].end > furthest)
			furthest = dwarf->ranges[i].end;
		dwarf->ranges[i].furthest = furthest;
	}
}

struct sn_dwarf *sn_dwarf_open(struct sn_elf_file *file, struct sn_elf_file *shared,
			       const struct sn_elf_file *code)
{
	struct sn_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	if (!dwarf)
		return NULL;
	dwarf->code = code;
	dwarf->budget = BUDGET_STEPS;
	if (sn_dwarf_file_init(&dwarf->file, file, &dwarf->budget) < 0 ||
	    (shared && sn_dwarf_file_init(&dwarf->shared, shared, &dwarf->budget) < 0))
		dwarf->failed = true;
	dwarf->file.shared = shared ? &dwarf->shared : NULL;
	if (!dwarf->failed)
		index_units(dwarf);
	if (dwarf->failed || dwarf->range_count == 0) {
		sn_dwarf_free(dwarf);
		return NULL;
	}
	return dwarf;
}

void sn_dwarf_use_split(struct sn_dwarf *dwarf, const struct sn_debug_search *search,
			const char *path)
{
	dwarf->places.search = *search;
	free(dwarf->places.path);
	dwarf->places.path = strdup(path);
}

void sn_dwarf_forget(struct sn_dwarf *dwarf)
{
	for (uint32_t i = 0; i < dwarf->file.unit_count; i++)
		sn_dwarf_lines_free(&dwarf->file.units[i]);
	sn_table_clear(&dwarf->entries);
}

void sn_dwarf_free(struct sn_dwarf *dwarf)
{
	if (!dwarf)
		return;
	sn_dwarf_forget(dwarf);
	for (uint32_t i = 0; i < dwarf->file.unit_count; i++)
		sn_dwarf_split_free(dwarf->file.units[i].split);
	sn_table_release(&dwarf->entries);
	free(dwarf->functions);
	sn_dwarf_places_release(&dwarf->places);
	sn_dwarf_file_release(&dwarf->file);
	sn_dwarf_file_release(&dwarf->shared);
	free(dwarf->ranges);
	free(dwarf);
}

/* The unit that holds an address: the range that begins last before it. SN_DWARF_NO_NODE: none. */
static uint32_t unit_of_address(struct sn_dwarf *dwarf, uint64_t address)
{
	size_t next = sn_search(i, dwarf->range_count, dwarf->ranges[i].start <= address);
	while (next > 0 && dwarf->ranges[next - 1].furthest > address &&
	       sn_dwarf_spend(&dwarf->file, 1)) {
		next--;
		if (dwarf->ranges[next].end > address)
			return dwarf->ranges[next].unit;
	}
	return SN_DWARF_NO_NODE;
}

/* ---- names ---- */

static const struct sn_dwarf_function *function_at(struct sn_dwarf *dwarf,
						   struct sn_dwarf_unit *unit, uint64_t die,
						   struct sn_string_pool *pool)
{
	uint64_t key = die;
	uint32_t count = dwarf->entries.count;
	if (unit->split) { /* each has offsets of its own */
		key += (uint64_t)(unit - dwarf->file.units + 1) << SPLIT_KEY_SHIFT;
		unit = unit->split->unit;
	}
	if (sn_vec_reserve(&dwarf->functions, &dwarf->function_capacity, count + 1u) < 0)
		return NULL;
	uint32_t number = sn_table_add(&dwarf->entries, key);
	if (number == SN_TABLE_NONE)
		return NULL;
	if (number == count)
		dwarf->functions[number] = sn_dwarf_function_at(unit, die, pool);
	return &dwarf->functions[number];
}

/* ---- locations ---- */

static int fill_frame(struct sn_dwarf *dwarf, struct sn_dwarf_unit *unit,
		      const struct sn_dwarf_node *node, struct sn_string_pool *pool,
		      struct sn_symbol_frame *frame)
{
	const struct sn_dwarf_function *function = function_at(dwarf, unit, node->die, pool);
	if (!function)
		return SN_ERR_MEMORY;
	frame->name = sn_string_pool_string(pool, function->name);
	frame->linkage_name = sn_string_pool_string(pool, function->linkage_name);
	frame->function_line = function->line;
	frame->kind = node->parent == SN_DWARF_NO_NODE ? SN_SYMBOL_FUNCTION : SN_SYMBOL_INLINED;
	return 0;
}

/* Frames from the innermost node outwards; each is at the line of the call in it. */
static int locate(struct sn_dwarf *dwarf, const struct sn_dwarf_target *target,
		  const struct sn_dwarf_nodes *nodes, struct sn_string_pool *pool,
		  struct sn_symbol_location *out)
{
	struct sn_dwarf_unit *unit = &dwarf->file.units[target->unit];
	uint32_t depth = 0;
	for (uint32_t at = target->node; at != SN_DWARF_NO_NODE; at = nodes->list[at].parent)
		depth++;
	if (depth == 0 && !target->has_line)
		return 0;
	uint32_t frame_count = depth > 0 ? depth : 1;
	struct sn_symbol_frame *frames =
	    sn_string_pool_allocate(pool, frame_count * sizeof(*frames));
	if (!frames)
		return SN_ERR_MEMORY;
	out->frames = frames;
	out->depth = frame_count;
	if (target->has_line) {
		frames[frame_count - 1].file = sn_dwarf_lines_file(unit, target->file, pool);
		frames[frame_count - 1].line = target->line;
		frames[frame_count - 1].column = target->column;
		frames[frame_count - 1].block = target->block;
		frames[frame_count - 1].discriminator = target->discriminator;
	}
	uint32_t at = target->node;
	while (depth-- > 0) {
		const struct sn_dwarf_node *node = &nodes->list[at];
		if (fill_frame(dwarf, unit, node, pool, &frames[depth]) < 0)
			return SN_ERR_MEMORY;
		if (depth > 0) {
			frames[depth - 1].file = sn_dwarf_lines_file(unit, node->call_file, pool);
			frames[depth - 1].line = node->call_line;
			frames[depth - 1].column = node->call_column;
			frames[depth - 1].block = node->call_block;
			frames[depth - 1].call_discriminator = node->call_discriminator;
		} else {
			out->function_start = node->start;
		}
		at = node->parent;
	}
	return 0;
}

SN_SORT_BY(sort_by_unit, struct sn_dwarf_target, const void *, SN_ORDER_BY(a, b, unit, address));

/* The targets in one unit. */
struct group {
	struct sn_dwarf_target *targets;
	size_t count;
	struct sn_dwarf_nodes nodes;
};

/* A thread's own view of the file. */
struct view {
	struct sn_dwarf_file file;
	uint64_t budget;
};

struct job {
	struct sn_dwarf *dwarf;
	struct group *groups;
	size_t group_count;
	struct view *views; /* by thread */
};

/* In the unit itself (`own` is this thread's copy), or in what it is a skeleton of. */
static int find_functions(struct sn_dwarf *dwarf, const struct sn_dwarf_unit *unit,
			  struct sn_dwarf_unit *own, struct group *group)
{
	if (!unit->split)
		return sn_dwarf_functions_resolve(own, dwarf->code, group->targets, group->count,
						  &group->nodes);
	struct sn_dwarf_unit split = *unit->split->unit;
	struct sn_dwarf_file view;
	sn_dwarf_file_view(split.file, own->file->budget, &view);
	split.file = &view;
	split.abbrevs = NULL;
	int result = sn_dwarf_functions_resolve(&split, dwarf->code, group->targets, group->count,
						&group->nodes);
	sn_dwarf_file_release(&view);
	return result;
}

/*
 * Finds functions and lines of a group. Every unit is walked by one thread only, on a copy that
 * refers to this thread's view of the file; names, which cross units, come later.
 */
static int work(void *context, unsigned worker, size_t item)
{
	struct job *job = context;
	struct group *group = &job->groups[item];
	struct sn_dwarf *dwarf = job->dwarf;
	struct sn_dwarf_unit *unit = &dwarf->file.units[group->targets[0].unit];
	struct sn_dwarf_unit own = *unit;
	own.file = &job->views[worker].file;
	own.abbrevs = NULL;
	int result = find_functions(dwarf, unit, &own, group);
	sn_dwarf_lines_resolve(&own, dwarf->code, group->targets, group->count);
	unit->lines = own.lines;
	unit->has_lines = own.has_lines;
	return result;
}

static unsigned thread_count(const struct job *job)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < job->group_count; i++) {
		const struct sn_dwarf_unit *unit =
		    &job->dwarf->file.units[job->groups[i].targets[0].unit];
		bytes += unit->end - unit->offset;
	}
	uint64_t count = bytes / THREAD_BYTES_AT_LEAST;
	unsigned most = sn_pool_threads(0) < THREADS_MAX ? sn_pool_threads(0) : THREADS_MAX;
	return count < 1 ? 1 : count > most ? most : (unsigned)count;
}

static int resolve_groups(struct job *job, struct sn_string_pool *pool,
			  struct sn_symbol_location *out)
{
	unsigned threads = thread_count(job);
	job->views = calloc(threads, sizeof(*job->views));
	if (!job->views)
		return SN_ERR_MEMORY;
	for (unsigned i = 0; i < threads; i++) {
		job->views[i].budget = BUDGET_STEPS;
		sn_dwarf_file_view(&job->dwarf->file, &job->views[i].budget, &job->views[i].file);
	}
	int result = sn_pool_run(threads, job->group_count, work, job);
	for (unsigned i = 0; i < threads; i++)
		sn_dwarf_file_release(&job->views[i].file);
	free(job->views);
	for (size_t i = 0; i < job->group_count; i++) {
		struct group *group = &job->groups[i];
		for (size_t j = 0; j < group->count && result == 0; j++)
			result = locate(job->dwarf, &group->targets[j], &group->nodes, pool,
					&out[group->targets[j].index]);
		free(group->nodes.list);
	}
	return result;
}

int sn_dwarf_resolve(struct sn_dwarf *dwarf, const uint64_t *addresses, size_t count,
		     struct sn_string_pool *pool, struct sn_symbol_location *out)
{
	struct sn_dwarf_target *targets = calloc(count, sizeof(*targets));
	size_t target_count = 0;
	if (!targets)
		return SN_ERR_MEMORY;
	dwarf->budget = BUDGET_STEPS;
	for (size_t i = 0; i < count; i++) {
		uint32_t unit = unit_of_address(dwarf, addresses[i]);
		if (unit != SN_DWARF_NO_NODE)
			targets[target_count++] =
			    (struct sn_dwarf_target){.address = addresses[i],
						     .unit = unit,
						     .index = (uint32_t)i,
						     .node = SN_DWARF_NO_NODE};
	}
	sort_by_unit(targets, target_count, NULL);
	struct group *groups = calloc(target_count + 1, sizeof(*groups));
	struct job job = {.dwarf = dwarf, .groups = groups};
	for (size_t i = 0; i < target_count && groups; i++) {
		if (i == 0 || targets[i].unit != targets[i - 1].unit) {
			groups[job.group_count++].targets = &targets[i];
			sn_dwarf_split_open(&dwarf->places, &dwarf->file.units[targets[i].unit]);
		}
		groups[job.group_count - 1].count++;
	}
	int result = groups ? resolve_groups(&job, pool, out) : SN_ERR_MEMORY;
	free(groups);
	free(targets);
	return result;
}
