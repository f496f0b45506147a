/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to units, and from what units say to locations; see dwarf.h. */
#include "dwarf.h"
#include "base/search.h"
#include "dwarf_function.h"
#include "dwarf_split.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

struct function_slot {
	uint64_t die; /* offset + 1, and which split file; 0 free */
	struct sn_dwarf_function function;
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
	/* names of entries already followed, by offset in `file` */
	struct function_slot *functions;
	uint32_t function_count, function_slots;
};

/* ---- index of units ---- */

static bool add_unit_range(void *data, uint64_t start, uint64_t end)
{
	struct sn_dwarf *dwarf = data;
	if (!sn_elf_file_is_code(dwarf->code, start))
		return true;
	if (dwarf->range_count == dwarf->range_capacity) {
		size_t capacity = dwarf->range_capacity ? dwarf->range_capacity * 2 : 256;
		struct unit_range *grown = realloc(dwarf->ranges, capacity * sizeof(*grown));
		if (!grown) {
			dwarf->failed = true;
			return false;
		}
		dwarf->ranges = grown;
		dwarf->range_capacity = capacity;
	}
	dwarf->ranges[dwarf->range_count++] = (struct unit_range){start, end, 0, dwarf->unit};
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct unit_range *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->unit > right->unit) - (left->unit < right->unit);
}

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
	if (dwarf->range_count > 0)
		qsort(dwarf->ranges, dwarf->range_count, sizeof(*dwarf->ranges), by_start);
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
	free(dwarf->functions);
	dwarf->functions = NULL;
	dwarf->function_count = dwarf->function_slots = 0;
}

void sn_dwarf_free(struct sn_dwarf *dwarf)
{
	if (!dwarf)
		return;
	sn_dwarf_forget(dwarf);
	for (uint32_t i = 0; i < dwarf->file.unit_count; i++)
		sn_dwarf_split_free(dwarf->file.units[i].split);
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

static bool grow_functions(struct sn_dwarf *dwarf)
{
	uint32_t slots = dwarf->function_slots ? dwarf->function_slots * 2 : 1024;
	struct function_slot *grown = calloc(slots, sizeof(*grown));
	if (!grown)
		return false;
	for (uint32_t i = 0; i < dwarf->function_slots; i++) {
		if (dwarf->functions[i].die == 0)
			continue;
		uint32_t at = (uint32_t)(dwarf->functions[i].die * 0x9e3779b97f4a7c15u >> 32);
		while (grown[at & (slots - 1)].die != 0)
			at++;
		grown[at & (slots - 1)] = dwarf->functions[i];
	}
	free(dwarf->functions);
	dwarf->functions = grown;
	dwarf->function_slots = slots;
	return true;
}

static const struct sn_dwarf_function *function_at(struct sn_dwarf *dwarf,
						   struct sn_dwarf_unit *unit, uint64_t die,
						   struct sn_string_pool *pool)
{
	if (dwarf->function_count >= dwarf->function_slots / 2 && !grow_functions(dwarf))
		return NULL;
	uint32_t mask = dwarf->function_slots - 1;
	uint64_t key = die + 1;
	if (unit->split) { /* each has offsets of its own */
		key += (uint64_t)(unit - dwarf->file.units + 1) << SPLIT_KEY_SHIFT;
		unit = unit->split->unit;
	}
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
	while (dwarf->functions[at & mask].die != 0 && dwarf->functions[at & mask].die != key)
		at++;
	struct function_slot *slot = &dwarf->functions[at & mask];
	if (slot->die == 0) {
		slot->die = key;
		slot->function = sn_dwarf_function_at(unit, die, pool);
		dwarf->function_count++;
	}
	return &slot->function;
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
		} else {
			out->function_start = node->start;
		}
		at = node->parent;
	}
	return 0;
}

static int by_unit(const void *a, const void *b)
{
	const struct sn_dwarf_target *left = a, *right = b;
	if (left->unit != right->unit)
		return left->unit < right->unit ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

/* The targets in one unit. */
struct group {
	struct sn_dwarf_target *targets;
	size_t count;
	struct sn_dwarf_nodes nodes;
};

struct job {
	struct sn_dwarf *dwarf;
	struct group *groups;
	size_t group_count;
	atomic_size_t next; /* group nobody has taken */
	atomic_int result;
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
 * Finds functions and lines of groups until none is left. Every unit is walked by one thread only,
 * on a copy that refers to this thread's view of the file; names, which cross units, come later.
 */
static void *work(void *opaque)
{
	struct job *job = opaque;
	struct sn_dwarf *dwarf = job->dwarf;
	uint64_t budget = BUDGET_STEPS;
	struct sn_dwarf_file view;
	sn_dwarf_file_view(&dwarf->file, &budget, &view);
	for (;;) {
		/* relaxed: a group is given to one thread, and results are read after joining */
		size_t index = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
		if (index >= job->group_count)
			break;
		struct group *group = &job->groups[index];
		struct sn_dwarf_unit *unit = &dwarf->file.units[group->targets[0].unit];
		struct sn_dwarf_unit own = *unit;
		own.file = &view;
		own.abbrevs = NULL;
		if (find_functions(dwarf, unit, &own, group) < 0)
			atomic_store_explicit(&job->result, SN_ERR_MEMORY, memory_order_relaxed);
		sn_dwarf_lines_resolve(&own, dwarf->code, group->targets, group->count);
		unit->lines = own.lines;
		unit->has_lines = own.has_lines;
	}
	sn_dwarf_file_release(&view);
	return NULL;
}

static unsigned thread_count(const struct job *job)
{
	uint64_t bytes = 0;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	for (size_t i = 0; i < job->group_count; i++) {
		const struct sn_dwarf_unit *unit =
		    &job->dwarf->file.units[job->groups[i].targets[0].unit];
		bytes += unit->end - unit->offset;
	}
	uint64_t count = bytes / THREAD_BYTES_AT_LEAST;
	if (count > (uint64_t)cores)
		count = (uint64_t)cores;
	if (count > job->group_count)
		count = job->group_count;
	return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (unsigned)count;
}

static int resolve_groups(struct job *job, struct sn_string_pool *pool,
			  struct sn_symbol_location *out)
{
	pthread_t threads[THREADS_MAX];
	unsigned wanted = thread_count(job), started = 0;
	while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, job) == 0)
		started++;
	work(job);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	int result = job->result;
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
	if (target_count > 0)
		qsort(targets, target_count, sizeof(*targets), by_unit);
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
