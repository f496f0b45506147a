/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.db and cct.db of an HPCToolkit database: the same values by profile and by context, and
 * statistics over profiles.
 *
 * Of each metric a context has four values: its own ("point"); with all of its function that lies
 * in it ("function"); the same, of a loop without the loops in it ("lex_aware"); with everything
 * below it ("execution"). Zeroes are left out. They are summed up from the leaves, only where there
 * are any.
 *
 * hpcprof's "lex_aware" leaves out the loops in a loop in its statistics, but in a profile only
 * where the loop has a value of its own. Viewers show the former; both are as it writes them.
 *
 * No more than one profile's values are in memory: profiles are written one after the other, and
 * sorted by context in runs on disk (base/external_sort.h), from which contexts and statistics follow.
 */
#include "hpctoolkit.h"

#include "base/external_sort.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>

/* Of values that are sorted by context. */
enum { SORTING_BYTES = 64 << 20 };

struct value {
	uint32_t context;
	uint16_t metric; /* as numbered in meta.db */
	double value;
};

struct values {
	struct value *items;
	size_t count, capacity;
};

/* Sums of one metric in one profile, by context of the file. */
struct sums {
	double *point, *function, *no_loops, *execution;
	bool *is_touched;
	uint32_t *touched;
	size_t count;
};

/* Values of one profile or context in the file, and where those of each context or metric begin. */
struct block {
	uint64_t count, values_at, key_count, keys_at; /* positions from the first block's */
};

/* Blocks one after the other. */
struct blocks {
	struct sn_spill spill;
	unsigned key_bytes, id_bytes; /* of a number in the file: what a value is by, and of what */
	struct block open;
	uint64_t last_key;
	struct sn_buffer keys; /* of the open one */
};

struct writer {
	const struct sn_hpcx_out *out;
	struct sn_error *error;
	struct sn_arena arena; /* of what is by profile and by context */
	struct sums sums;
	struct values values;		/* of the profile being read, or statistics of a context */
	struct sn_external_sort sorted; /* of all profiles: context and metric, profile, value */
	struct blocks profiles, contexts, summary;
	struct block *profile_blocks, *context_blocks;
};

/* ---- blocks ---- */

static void begin_block(struct blocks *blocks)
{
	sn_hpcx_spill_align(&blocks->spill, 4);
	blocks->open = (struct block){.values_at = blocks->spill.length};
	blocks->keys.count = 0;
}

/* By ascending keys. */
static void put_value(struct blocks *blocks, uint64_t key, uint64_t id, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	if (!blocks->open.count || key != blocks->last_key) {
		sn_buffer_number(&blocks->keys, key, blocks->key_bytes);
		sn_buffer_number(&blocks->keys, blocks->open.count, 8);
		blocks->open.key_count++;
	}
	blocks->last_key = key;
	blocks->open.count++;
	sn_hpcx_spill_number(&blocks->spill, id, blocks->id_bytes);
	sn_hpcx_spill_number(&blocks->spill, bits, 8);
}

static struct block end_block(struct blocks *blocks)
{
	sn_hpcx_spill_align(&blocks->spill, 4);
	blocks->open.keys_at = blocks->spill.length;
	sn_spill_write(&blocks->spill, blocks->keys.bytes, blocks->keys.count);
	return blocks->open;
}

static void blocks_init(struct blocks *blocks, const char *folder, unsigned key_bytes,
			unsigned id_bytes)
{
	*blocks = (struct blocks){
	    .spill = {.folder = folder, .fd = -1}, .key_bytes = key_bytes, .id_bytes = id_bytes};
}

static void blocks_release(struct blocks *blocks)
{
	sn_spill_close(&blocks->spill);
	sn_buffer_release(&blocks->keys);
}

static int finish_blocks(struct blocks *blocks, struct sn_error *error)
{
	return blocks->keys.failed ? SN_ERR_MEMORY : sn_spill_finish(&blocks->spill, error);
}

/* ---- sums of a profile ---- */

static void sums_init(struct sums *sums, struct sn_arena *arena, size_t contexts)
{
	sums->point = sn_arena_array(arena, double, contexts);
	sums->function = sn_arena_array(arena, double, contexts);
	sums->no_loops = sn_arena_array(arena, double, contexts);
	sums->execution = sn_arena_array(arena, double, contexts);
	sums->is_touched = sn_arena_array(arena, bool, contexts);
	sums->touched = sn_arena_array(arena, uint32_t, contexts);
}

/* A context and all above it take part. */
static void touch(struct writer *writer, uint32_t context)
{
	struct sums *sums = &writer->sums;
	while (!sums->is_touched[context]) {
		sums->is_touched[context] = true;
		sums->touched[sums->count++] = context;
		context = writer->out->tree.parent_of[context];
	}
}

SN_SORT_BY(sort_down, uint32_t, const void *, SN_ORDER(*b, *a));

static int add_value(struct writer *writer, uint32_t context, size_t metric, unsigned scope,
		     double value)
{
	struct values *values = &writer->values;
	if (value == 0)
		return 0;
	struct value item = {context, (uint16_t)(metric * SN_HPCX_IDS_PER_METRIC + scope), value};
	return sn_vec_push(&values->items, &values->capacity, &values->count, item);
}

/* Parents have lower numbers than their children, so going down meets children first. */
static int propagate(struct writer *writer, size_t metric)
{
	struct sums *sums = &writer->sums;
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	int code = 0;
	sort_down(sums->touched, sums->count, NULL);
	for (size_t i = 0; i < sums->count; i++) {
		uint32_t context = sums->touched[i], parent = tree->parent_of[context];
		uint8_t flags = tree->flags[context];
		bool is_loop = flags & SN_HPCX_IS_LOOP;
		sums->function[context] += sums->point[context];
		sums->no_loops[context] += sums->point[context];
		sums->execution[context] += sums->point[context];
		if (context != 0) {
			sums->execution[parent] += sums->execution[context];
			if (!(flags & SN_HPCX_IS_CALL)) {
				sums->function[parent] += sums->function[context];
				if (!is_loop)
					sums->no_loops[parent] += sums->no_loops[context];
			}
		}
		const double values[SN_HPCX_SCOPES + 1] = {
		    [SN_HPCX_POINT] = sums->point[context],
		    [SN_HPCX_FUNCTION] = sums->function[context],
		    [SN_HPCX_LEX_AWARE] = is_loop && sums->point[context] != 0
					      ? sums->no_loops[context]
					      : sums->function[context],
		    [SN_HPCX_EXECUTION] = sums->execution[context],
		    [SN_HPCX_LOOP_ALONE] = is_loop ? sums->no_loops[context] : 0};
		for (unsigned scope = 0; scope <= SN_HPCX_LOOP_ALONE && code == 0; scope++)
			code = add_value(writer, context, metric, scope, values[scope]);
	}
	for (size_t i = 0; i < sums->count; i++) {
		uint32_t context = sums->touched[i];
		sums->point[context] = sums->function[context] = sums->no_loops[context] =
		    sums->execution[context] = 0;
		sums->is_touched[context] = false;
	}
	sums->count = 0;
	return code;
}

static int read_plane(struct writer *writer, uint32_t profile, size_t number)
{
	const struct sn_hpcx_out *out = writer->out;
	const struct sn_hpcx_out_metric *metric = out->metrics + number;
	struct sonde_db_plane plane =
	    sonde_db_profile_plane(out->db, out->profiles[profile].profile, metric->metric);
	enum sonde_db_part part = metric->is_count ? SONDE_DB_COUNT : SONDE_DB_SUM;
	for (size_t first = 0; first < plane.count; first += 512) {
		double numbers[512];
		size_t count = plane.count - first < 512 ? plane.count - first : 512;
		sonde_db_plane_numbers(&plane, part, first, count, numbers);
		for (size_t i = 0; i < count; i++) {
			uint32_t context = plane.ids[first + i];
			uint32_t id = out->tree.nodes[out->tree.node_of[context]].id +
				      (out->tree.is_hidden[context] ? 1 : 0);
			if (numbers[i] == 0)
				continue;
			writer->sums.point[id] += numbers[i] / metric->divisor;
			touch(writer, id);
		}
	}
	return propagate(writer, number);
}

/* ---- profiles ---- */

static unsigned scope_of(uint16_t metric)
{
	return metric % SN_HPCX_IDS_PER_METRIC;
}

SN_SORT_BY(sort_values, struct value, const void *, SN_ORDER_BY(a, b, context, metric));

/* The values of a profile into its block, and to those of all. */
static int write_profile(struct writer *writer, uint32_t profile)
{
	struct values *values = &writer->values;
	int code = 0;
	values->count = 0;
	for (size_t metric = 0; metric < writer->out->metric_count && code == 0; metric++)
		code = read_plane(writer, profile, metric);
	sort_values(values->items, values->count, NULL);
	begin_block(&writer->profiles);
	for (size_t i = 0; i < values->count && code == 0; i++) {
		const struct value *one = values->items + i;
		uint64_t record[3] = {(uint64_t)one->context << 16 | one->metric, profile + 1};
		memcpy(record + 2, &one->value, sizeof(one->value));
		code = sn_external_sort_add(&writer->sorted, record, writer->error);
		/* for statistics alone */
		if (scope_of(one->metric) != SN_HPCX_LOOP_ALONE)
			put_value(&writer->profiles, one->context, one->metric, one->value);
	}
	writer->profile_blocks[profile] = end_block(&writer->profiles);
	return code;
}

/* ---- contexts, and statistics over the profiles that have a value ---- */

struct statistics {
	uint16_t metric;
	double sums[SN_HPCX_STATISTICS];
};

static void count_value(struct statistics *statistics, double value)
{
	double *sums = statistics->sums;
	if (sums[SN_HPCX_COUNT]++ == 0)
		sums[SN_HPCX_MIN] = sums[SN_HPCX_MAX] = value;
	sums[SN_HPCX_SUM] += value;
	sums[SN_HPCX_SQUARES] += value * value;
	if (value < sums[SN_HPCX_MIN])
		sums[SN_HPCX_MIN] = value;
	if (value > sums[SN_HPCX_MAX])
		sums[SN_HPCX_MAX] = value;
}

/* The metric's values are all counted. */
static int add_statistics(struct writer *writer, uint32_t context,
			  const struct statistics *statistics)
{
	bool is_loop = writer->out->tree.flags[context] & SN_HPCX_IS_LOOP;
	size_t metric = statistics->metric / SN_HPCX_IDS_PER_METRIC;
	unsigned scope = scope_of(statistics->metric);
	int code = 0;
	if (statistics->sums[SN_HPCX_COUNT] == 0 || (scope == SN_HPCX_LEX_AWARE && is_loop))
		return 0;
	if (scope == SN_HPCX_LOOP_ALONE)
		scope = SN_HPCX_LEX_AWARE;
	for (unsigned s = 0; s < SN_HPCX_STATISTICS && code == 0; s++)
		code = add_value(writer, context, metric, s * SN_HPCX_SCOPES + scope,
				 statistics->sums[s]);
	return code;
}

static void end_context(struct writer *writer, uint32_t context)
{
	struct values *values = &writer->values;
	writer->context_blocks[context] = end_block(&writer->contexts);
	sort_values(values->items, values->count, NULL);
	for (size_t i = 0; i < values->count; i++)
		put_value(&writer->summary, context, values->items[i].metric,
			  values->items[i].value);
	values->count = 0;
}

/* What is sorted comes by context, metric and profile. */
static int write_contexts(struct writer *writer)
{
	struct statistics statistics = {0};
	uint32_t context = UINT32_MAX;
	uint64_t record[3];
	int code = sn_external_sort_finish(&writer->sorted, writer->error), more = 0;
	writer->values.count = 0;
	begin_block(&writer->summary);
	while (code == 0 &&
	       (more = sn_external_sort_next(&writer->sorted, record, writer->error)) > 0) {
		uint32_t next = (uint32_t)(record[0] >> 16);
		uint16_t metric = (uint16_t)record[0];
		double value;
		memcpy(&value, record + 2, sizeof(value));
		if (context != UINT32_MAX && (next != context || metric != statistics.metric)) {
			code = add_statistics(writer, context, &statistics);
			statistics = (struct statistics){0};
		}
		if (next != context) {
			if (context != UINT32_MAX)
				end_context(writer, context);
			begin_block(&writer->contexts);
			context = next;
		}
		statistics.metric = metric;
		count_value(&statistics, value);
		if (scope_of(metric) != SN_HPCX_LOOP_ALONE)
			put_value(&writer->contexts, metric, record[1], value);
	}
	if (code == 0 && context != UINT32_MAX) {
		code = add_statistics(writer, context, &statistics);
		end_context(writer, context);
	}
	writer->profile_blocks[writer->out->profile_count] = end_block(&writer->summary);
	return code ? code : more;
}

/* ---- files ---- */

static void write_tuples(const struct sn_hpcx_out *out, struct sn_buffer *file, size_t profiles_at)
{
	enum { PROFILE_BYTES = 48 };
	size_t start = file->count;
	for (size_t i = 0; i < out->profile_count; i++) {
		const struct sn_hpcx_out_profile *profile = out->profiles + i;
		sn_buffer_patch(file, profiles_at + PROFILE_BYTES * (i + 1) + 0x20, file->count, 8);
		sn_buffer_number(file, profile->id_count, 8);
		for (size_t k = 0; k < profile->id_count; k++) {
			const struct sn_hpcx_out_id *id = profile->ids + k;
			sn_buffer_number(file, id->kind, 2);
			sn_buffer_number(file, id->is_physical, 2);
			sn_buffer_number(file, id->logical, 4);
			sn_buffer_number(file, id->number, 8);
		}
	}
	sn_hpcx_end_section(file, 1, start);
}

/* A block's entry in the table at `entry`, its positions from `start`. */
static void patch_block(struct sn_buffer *head, size_t entry, const struct block *block,
			uint64_t start)
{
	sn_buffer_patch(head, entry, block->count, 8);
	sn_buffer_patch(head, entry + 8, start + block->values_at, 8);
	sn_buffer_patch(head, entry + 16, block->key_count, 8);
	sn_buffer_patch(head, entry + 24, start + block->keys_at, 8);
}

/* A file's first section: a table of `count` entries, all zeroes. Gives where it begins. */
static size_t begin_table(struct sn_buffer *head, size_t count, unsigned entry_bytes)
{
	size_t start = head->count, entries = start + 16;
	sn_buffer_number(head, entries, 8);
	sn_buffer_number(head, count, 4);
	sn_buffer_number(head, entry_bytes, 4);
	sn_hpcx_put_room(head, count * entry_bytes);
	return entries;
}

static int save_profiles(struct writer *writer, const char *folder)
{
	enum { PROFILE_BYTES = 48 };
	size_t count = writer->out->profile_count;
	struct sn_buffer head = {0};
	sn_hpcx_begin_file(&head, "prof", 2);
	size_t start = head.count, entries = begin_table(&head, count + 1, PROFILE_BYTES);
	sn_buffer_patch(&head, entries + 0x28, 1, 8); /* the first one is the summary */
	sn_hpcx_end_section(&head, 0, start);
	write_tuples(writer->out, &head, entries);
	sn_buffer_align(&head, 4);
	patch_block(&head, entries, writer->profile_blocks + count, head.count);
	for (size_t i = 0; i < count; i++)
		patch_block(&head, entries + PROFILE_BYTES * (i + 1), writer->profile_blocks + i,
			    head.count + writer->summary.spill.length);
	const struct sn_spill *bodies[] = {&writer->summary.spill, &writer->profiles.spill, NULL};
	int code = sn_hpcx_save(folder, "profile.db", &head, bodies, "_prof.db", writer->error);
	sn_buffer_release(&head);
	return code;
}

static int save_contexts(struct writer *writer, const char *folder)
{
	enum { CONTEXT_BYTES = 32 };
	size_t count = writer->out->tree.id_count;
	struct sn_buffer head = {0};
	sn_hpcx_begin_file(&head, "ctxt", 1);
	size_t start = head.count, entries = begin_table(&head, count, CONTEXT_BYTES);
	sn_hpcx_end_section(&head, 0, start);
	sn_buffer_align(&head, 4);
	for (size_t i = 0; i < count; i++)
		if (writer->context_blocks[i].count)
			patch_block(&head, entries + CONTEXT_BYTES * i, writer->context_blocks + i,
				    head.count);
	const struct sn_spill *bodies[] = {&writer->contexts.spill, NULL};
	int code = sn_hpcx_save(folder, "cct.db", &head, bodies, "__ctx.db", writer->error);
	sn_buffer_release(&head);
	return code;
}

static int write_values(struct writer *writer, const char *folder)
{
	const struct sn_hpcx_out *out = writer->out;
	struct sn_arena *arena = &writer->arena;
	int code = 0;
	sums_init(&writer->sums, arena, (size_t)out->tree.id_count + 1);
	writer->profile_blocks = sn_arena_array(arena, struct block, out->profile_count + 1);
	writer->context_blocks =
	    sn_arena_array(arena, struct block, (size_t)out->tree.id_count + 1);
	if (arena->failed)
		return SN_ERR_MEMORY;
	for (uint32_t profile = 0; profile < out->profile_count && code == 0; profile++)
		code = write_profile(writer, profile);
	if (code == 0)
		code = write_contexts(writer);
	if (code == 0)
		code = finish_blocks(&writer->profiles, writer->error);
	if (code == 0)
		code = finish_blocks(&writer->summary, writer->error);
	if (code == 0)
		code = finish_blocks(&writer->contexts, writer->error);
	if (code == 0)
		code = save_profiles(writer, folder);
	return code ? code : save_contexts(writer, folder);
}

int sn_hpcx_write_values(struct sn_hpcx_out *out, const char *folder, struct sn_error *error)
{
	struct writer writer = {.out = out, .error = error};
	sn_external_sort_init(&writer.sorted, 3, 2, SORTING_BYTES);
	blocks_init(&writer.profiles, folder, 4, 2);
	blocks_init(&writer.summary, folder, 4, 2);
	blocks_init(&writer.contexts, folder, 2, 4);
	int code = write_values(&writer, folder);
	blocks_release(&writer.profiles);
	blocks_release(&writer.summary);
	blocks_release(&writer.contexts);
	sn_external_sort_release(&writer.sorted);
	free(writer.values.items);
	sn_arena_release(&writer.arena);
	return code;
}
