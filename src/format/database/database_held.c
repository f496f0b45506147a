/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a builder; see database_held.h. */
#include "database_held.h"

#include "base/sort.h"
#include "base/vec.h"
#include "database_builder.h"
#include "format/writer/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HELD_VALUES ((size_t)1 << 20) /* some 60 MB */

void sn_db_values_init(struct sn_db_values *values)
{
	*values = (struct sn_db_values){.limit = HELD_VALUES, .file.fd = -1};
}

void sn_db_values_release(struct sn_db_values *values)
{
	for (size_t i = 0; i < values->run_count; i++)
		free(values->runs[i].starts);
	free(values->runs);
	free(values->items);
	free(values->context_counts);
	free(values->extents);
	sn_spill_close(&values->file);
	sn_db_values_init(values);
}

/* Puts the values in memory in the order of their profiles; values of one stay in the order in
 * which they came. */
static int sort_items(struct sn_db_values *values)
{
	size_t count = values->item_count;
	uint64_t *keys = malloc((2 * count + 1) * sizeof(*keys));
	struct sn_db_value *sorted = malloc((count + 1) * sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (uint64_t)values->items[i].profile << 32 | i;
	sn_sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = values->items[(uint32_t)keys[i]];
	free(keys);
	free(values->items);
	values->items = sorted;
	values->item_capacity = count;
	return 0;
}

/* The values in memory as a run, which stay there. */
static int sort_run(struct sn_db_values *values)
{
	if (!values->item_count || values->is_sorted)
		return 0;
	if (sort_items(values))
		return SN_ERR_MEMORY;
	uint32_t profiles = values->items[values->item_count - 1].profile + 1;
	struct sn_db_run run = {.starts = calloc(profiles + 1ull, sizeof(*run.starts)),
				.profile_count = profiles};
	if (!run.starts ||
	    sn_vec_push(&values->runs, &values->run_capacity, &values->run_count, run)) {
		free(run.starts);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < values->item_count; i++)
		run.starts[values->items[i].profile + 1]++;
	for (uint32_t p = 0; p < profiles; p++)
		run.starts[p + 1] += run.starts[p];
	values->is_sorted = true;
	return 0;
}

static int spill(struct sn_db_values *values)
{
	int result = sort_run(values);
	if (result)
		return result;
	values->file.folder = sn_spill_folder(NULL);
	values->runs[values->run_count - 1].offset = values->file.length;
	sn_spill_write(&values->file, values->items, values->item_count * sizeof(*values->items));
	values->item_count = 0;
	values->is_sorted = false;
	return 0;
}

/* What the writer wants to know beforehand of all values. */
static int note(struct sn_db_values *values, const struct sn_db_value *value)
{
	if (sn_vec_reserve_zeroed(&values->context_counts, &values->context_capacity,
				  value->context + 1ull) < 0 ||
	    sn_vec_reserve_zeroed(&values->extents, &values->metric_capacity,
				  value->metric + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (value->context >= values->context_count)
		values->context_count = value->context + 1ull;
	if (value->metric >= values->metric_count)
		values->metric_count = value->metric + 1ull;
	struct sn_db_extent *extent = values->extents + value->metric;
	double sum = fabs(value->stat.sum);
	values->context_counts[value->context]++;
	extent->count++;
	extent->max = sum > extent->max ? sum : extent->max;
	extent->is_fractional |= sum != floor(sum);
	return 0;
}

int sn_db_values_add(struct sn_db_values *values, const struct sn_db_value *value)
{
	if (!(value->stat.count > 0))
		return 0;
	if (values->item_count >= values->limit && spill(values))
		return SN_ERR_MEMORY;
	if (values->is_sorted) { /* it was written, and goes on */
		free(values->runs[--values->run_count].starts);
		values->is_sorted = false;
	}
	return sn_vec_push(&values->items, &values->item_capacity, &values->item_count, *value)
		   ? SN_ERR_MEMORY
		   : note(values, value);
}

/* ---- as blocks ---- */

struct held_blocks {
	const struct sn_db_values *values;
	const struct sn_db_ordered *ordered;
	size_t metric_count;
	uint32_t *profiles; /* [block]: the builder's numbers of those that have values */
};

/* The profile's values of all runs; the last run is in memory. */
static int gather(const struct sn_db_values *values, uint32_t profile, struct sn_db_value *items,
		  struct sn_error *error)
{
	for (size_t i = 0; i < values->run_count; i++) {
		const struct sn_db_run *run = values->runs + i;
		if (profile >= run->profile_count)
			continue;
		uint64_t first = run->starts[profile], count = run->starts[profile + 1] - first;
		size_t bytes = count * sizeof(*items);
		int result = 0;
		if (values->is_sorted && i + 1 == values->run_count)
			memcpy(items, values->items + first, bytes);
		else if (count)
			result = sn_spill_read(&values->file, items, bytes,
					       run->offset + first * sizeof(*items), error);
		if (result)
			return result;
		items += count;
	}
	return 0;
}

static size_t count_of(const struct sn_db_values *values, uint32_t profile)
{
	size_t count = 0;
	for (size_t i = 0; i < values->run_count; i++)
		if (profile < values->runs[i].profile_count)
			count +=
			    values->runs[i].starts[profile + 1] - values->runs[i].starts[profile];
	return count;
}

static int read_block(void *context, size_t number, struct sn_profile_block *block,
		      struct sn_error *error)
{
	const struct held_blocks *from = context;
	uint32_t profile = from->profiles[number];
	size_t count = count_of(from->values, profile);
	if (sn_vec_reserve(&block->bytes, &block->capacity, count * sizeof(struct sn_db_value)) < 0)
		return sn_fail_memory(error);
	struct sn_db_value *values = (struct sn_db_value *)block->bytes;
	int result = gather(from->values, profile, values, error);
	if (result)
		return result;
	if (sn_major_set(&block->major, values, count, from->metric_count))
		return sn_fail_memory(error);
	block->profile = from->ordered->numbers.profiles[profile];
	block->entries = (const struct sn_database_plane *)block->major.entries.bytes;
	block->entry_count = (uint32_t)block->major.entry_count;
	block->data = block->major.data.bytes;
	block->contexts = from->ordered->numbers.contexts;
	block->metrics = from->ordered->numbers.metrics;
	return 0;
}

/* See across.h: all of a metric's values together have no more bits than this leaves. */
static int32_t shift_of(const struct sn_db_extent *extent)
{
	if (!(extent->max > 0))
		return 0;
	int32_t bits = ilogb(extent->max) + 2 + ilogb((double)extent->count);
	return extent->is_fractional || bits > SN_ACROSS_BITS ? bits - SN_ACROSS_BITS : 0;
}

static int set_axes(const struct sn_db_values *values, const struct sn_db_builder *builder,
		    struct sn_db_ordered *ordered, struct sn_db_writer *writer)
{
	struct sn_db_axes *axes = &writer->axes;
	int result = sn_db_writer_axes(writer, ordered, (uint32_t)builder->metric_count,
				       (uint32_t)builder->profile_count);
	if (result)
		return result;
	for (size_t c = 0; c < values->context_count; c++)
		axes->value_counts[ordered->numbers.contexts[c]] = values->context_counts[c];
	for (size_t m = 0; m < values->metric_count; m++)
		axes->shifts[ordered->numbers.metrics[m]] = shift_of(values->extents + m);
	sn_db_writer_divide(writer);
	return 0;
}

int sn_db_values_write(struct sn_db_values *values, const struct sn_db_builder *builder,
		       struct sn_db_ordered *ordered, struct sn_db_writer *writer)
{
	struct sn_error error = {""};
	int result = sort_run(values) ? sn_db_writer_out_of_memory(writer) : 0;
	if (!result && sn_spill_finish(&values->file, &error))
		result = sn_db_writer_fail(writer, SN_ERR_IO, "%s", error.text);
	if (!result)
		result = set_axes(values, builder, ordered, writer);
	struct held_blocks blocks = {
	    .values = values,
	    .ordered = ordered,
	    .metric_count = builder->metric_count,
	    .profiles = malloc((builder->profile_count + 1) * sizeof(*blocks.profiles)),
	};
	struct sn_block_source source = {.read = read_block, .context = &blocks};
	for (uint32_t p = 0; p < builder->profile_count && blocks.profiles; p++)
		if (count_of(values, p))
			blocks.profiles[source.count++] = p;
	if (!result && !blocks.profiles)
		result = sn_db_writer_out_of_memory(writer);
	if (!result)
		result = sn_db_writer_values(writer, &source);
	free(blocks.profiles);
	return result;
}
