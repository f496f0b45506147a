/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries, from what rows and profiles have added up to; see writer.h. A metric is an item of
 * work, and all contexts of it are in memory at once.
 */
#include "writer.h"

#include "base/file_at.h"
#include "base/pool.h"
#include "format/database/statistics.h"

#include <stdlib.h>
#include <string.h>

struct summarizing {
	struct sn_db_writer *writer;
	uint32_t first;		 /* metric of the first item */
	struct sn_major *majors; /* [item] */
};

/* The row of a metric at a context among all, or UINT64_MAX. */
static uint64_t row_of(const struct sn_db_writer *writer, uint32_t context, uint32_t metric)
{
	const struct sn_db_axes *axes = &writer->axes;
	const uint64_t *words = axes->rows + (size_t)context * axes->row_words;
	uint64_t row = writer->first_rows[context];
	if (!(words[metric / 64] >> metric % 64 & 1))
		return UINT64_MAX;
	return row + sn_db_axes_rows_before(axes, context, metric);
}

/* How profiles differ; the sum over them is the inclusive one. */
static void fill_across(const struct sn_db_writer *writer, uint32_t context, uint32_t metric,
			struct sonde_db_summary *summary)
{
	const struct sn_db_axes *axes = &writer->axes;
	uint32_t inner = axes->inner_numbers[context];
	struct sonde_db_stat *across = &summary->across;
	across->sum = summary->inclusive.sum;
	if (inner != SONDE_NONE) {
		const struct sn_across *item =
		    sn_across_at(&writer->workers->across, metric, inner);
		if (!item)
			return;
		across->count = item->count;
		across->min = item->min;
		across->max = item->max;
		across->sum_squares = sn_across_squares(item, axes->shifts[metric]);
		return;
	}
	const struct sn_row_sums *row = writer->rows + row_of(writer, context, metric);
	across->count = (double)row->profiles;
	across->min = row->min;
	across->max = row->max;
	across->sum_squares = row->squares;
}

/* All contexts' summaries of a metric, zero where it has none. */
static void fill(const struct sn_db_writer *writer, uint32_t metric,
		 struct sonde_db_summary *summaries)
{
	const struct sn_db_axes *axes = &writer->axes;
	for (uint32_t c = 0; c < axes->context_count; c++) {
		uint64_t row = row_of(writer, c, metric);
		if (row != UINT64_MAX)
			summaries[c].exclusive = writer->rows[row].exclusive;
	}
	/* in pre-order every context comes after its parent */
	for (uint32_t c = axes->context_count; c--;) {
		sonde_db_stat_merge(&summaries[c].inclusive, &summaries[c].exclusive);
		if (c)
			sonde_db_stat_merge(&summaries[axes->contexts[c].parent].inclusive,
					    &summaries[c].inclusive);
	}
	for (uint32_t c = 0; c < axes->context_count; c++)
		if (summaries[c].inclusive.count > 0)
			fill_across(writer, c, metric, summaries + c);
}

static int summarize_metric(void *context, unsigned number, size_t item)
{
	struct summarizing *summarizing = context;
	struct sn_db_writer *writer = summarizing->writer;
	const struct sn_db_axes *axes = &writer->axes;
	uint32_t metric = summarizing->first + (uint32_t)item, count = 0;
	struct sonde_db_summary *summaries = calloc(axes->context_count + 1ull, sizeof(*summaries));
	uint32_t *ids = malloc((axes->context_count + 1ull) * sizeof(*ids));
	int result = summaries && ids ? 0 : SN_ERR_MEMORY;
	if (!result)
		fill(writer, metric, summaries);
	for (uint32_t c = 0; !result && c < axes->context_count; c++) {
		if (!(summaries[c].inclusive.count > 0))
			continue;
		ids[count] = c;
		summaries[count] = summaries[c];
		sn_stat_bound(&summaries[count].exclusive);
		sn_stat_bound(&summaries[count].inclusive);
		sn_stat_bound(&summaries[count++].across);
	}
	if (!result && count)
		result = sn_major_add(summarizing->majors + item, metric, ids,
				      (const double *)summaries, count, axes->periods[metric]);
	free(summaries);
	free(ids);
	return result ? sn_db_writer_out_of_memory(writer) : 0;
}

/* The sections of summaries as they grow. */
struct sections {
	struct sn_database_index *index;
	struct sn_buffer entries;
	uint64_t data_at, data_bytes, entry_count;
};

static int put_metric(struct sn_db_writer *writer, struct sections *sections, uint32_t metric,
		      const struct sn_major *major)
{
	sections->index[metric] = (struct sn_database_index){
	    sections->entry_count, sections->data_bytes, sn_major_checksum(major)};
	sn_buffer_put(&sections->entries, major->entries.bytes, major->entries.count);
	int failed = sn_write_at(writer->file.fd, major->data.bytes, major->data.count,
				 sections->data_at + sections->data_bytes);
	sections->entry_count += major->entry_count;
	sections->data_bytes += major->data.count;
	return sn_db_writer_cannot_write(writer, failed);
}

/* Some metrics at once: as many as there are threads. */
static int put_metrics(struct sn_db_writer *writer, struct sections *sections, uint32_t first,
		       uint32_t count)
{
	struct sn_major majors[SN_POOL_THREADS];
	struct summarizing summarizing = {writer, first, majors};
	for (uint32_t i = 0; i < count; i++)
		sn_major_init(majors + i, SONDE_DB_SCOPES);
	int result = sn_pool_run(writer->threads, count, summarize_metric, &summarizing);
	for (uint32_t i = 0; i < count; i++) {
		if (!result)
			result = put_metric(writer, sections, first + i, majors + i);
		sn_major_release(majors + i);
	}
	return result;
}

int sn_summarize(struct sn_db_writer *writer)
{
	struct sn_db_file *file = &writer->file;
	uint32_t metrics = writer->axes.metric_count;
	struct sections sections = {.index = calloc(metrics + 1ull, sizeof(*sections.index)),
				    .data_at = file->next};
	int result = sections.index ? 0 : sn_db_writer_out_of_memory(writer);
	for (uint32_t m = 0; m < metrics && !result; m += writer->threads) {
		uint32_t left = metrics - m;
		result = put_metrics(writer, &sections, m,
				     left < writer->threads ? left : writer->threads);
	}
	if (!result && sections.entries.failed)
		result = sn_db_writer_out_of_memory(writer);
	int failed = 0;
	if (!result) {
		sections.index[metrics] =
		    (struct sn_database_index){sections.entry_count, sections.data_bytes, 0};
		sn_db_file_place(file, SN_DATABASE_SUMMARY_DATA, sections.data_bytes);
		uint64_t entries_at =
		    sn_db_file_place(file, SN_DATABASE_SUMMARIES, sections.entries.count);
		failed = sn_write_at(file->fd, sections.entries.bytes, sections.entries.count,
				     entries_at);
		if (!failed)
			failed = sn_db_file_write(file, SN_DATABASE_SUMMARY_INDEX, sections.index,
						  (metrics + 1ull) * sizeof(*sections.index));
	}
	if (!result)
		result = sn_db_writer_cannot_write(writer, failed);
	sn_buffer_release(&sections.entries);
	free(sections.index);
	return result;
}
