/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries, from what rows and profiles have added up to; see pipeline.h. A metric is an item of
 * work, and all contexts of it are in memory at once.
 */
#include "aggregate/comm.h"
#include "aggregate/pipeline.h"

#include "base/pool.h"
#include "base/vec.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct summarizing {
	struct sn_pipeline *pipeline;
	uint32_t first;		 /* metric of the first item */
	struct sn_major *majors; /* [item] */
};

/* Sums of doubles can overflow; readers rely on every number being finite. */
static void bound(struct sonde_db_stat *stat)
{
	double *numbers[] = {&stat->count, &stat->sum, &stat->min, &stat->max, &stat->sum_squares};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!isfinite(*numbers[i]))
			*numbers[i] = *numbers[i] < 0 ? -DBL_MAX : DBL_MAX;
}

/* The row of a metric at a context among all, or UINT64_MAX. */
static uint64_t row_of(const struct sn_pipeline *pipeline, uint32_t context, uint32_t metric)
{
	const struct sn_universe *universe = &pipeline->universe;
	const uint64_t *words = universe->rows + (size_t)context * universe->row_words;
	uint64_t row = pipeline->first_rows[context];
	if (!(words[metric / 64] >> metric % 64 & 1))
		return UINT64_MAX;
	for (uint32_t i = 0; i < metric / 64; i++)
		row += (uint32_t)__builtin_popcountll(words[i]);
	return row +
	       (uint32_t)__builtin_popcountll(words[metric / 64] & ((1ull << metric % 64) - 1));
}

/* How profiles differ; the sum over them is the inclusive one. */
static void fill_across(const struct sn_pipeline *pipeline, uint32_t context, uint32_t metric,
			struct sonde_db_summary *summary)
{
	const struct sn_universe *universe = &pipeline->universe;
	uint32_t inner = universe->inner_numbers[context];
	struct sonde_db_stat *across = &summary->across;
	across->sum = summary->inclusive.sum;
	if (inner != SONDE_NONE) {
		const struct sn_across *item =
		    sn_across_at(&pipeline->workers->across, metric, inner);
		if (!item)
			return;
		across->count = item->count;
		across->min = item->min;
		across->max = item->max;
		across->sum_squares = sn_across_squares(item, universe->shifts[metric]);
		return;
	}
	const struct sn_pair *pair = pipeline->pairs + row_of(pipeline, context, metric);
	across->count = (double)pair->profiles;
	across->min = pair->min;
	across->max = pair->max;
	across->sum_squares = pair->squares;
}

/* All contexts' summaries of a metric, zero where it has none. */
static void fill(const struct sn_pipeline *pipeline, uint32_t metric,
		 struct sonde_db_summary *summaries)
{
	const struct sn_universe *universe = &pipeline->universe;
	for (uint32_t c = 0; c < universe->context_count; c++) {
		uint64_t row = row_of(pipeline, c, metric);
		if (row != UINT64_MAX)
			summaries[c].exclusive = pipeline->pairs[row].exclusive;
	}
	/* in pre-order every context comes after its parent */
	for (uint32_t c = universe->context_count; c--;) {
		sonde_db_stat_merge(&summaries[c].inclusive, &summaries[c].exclusive);
		if (c)
			sonde_db_stat_merge(&summaries[universe->contexts[c].parent].inclusive,
					    &summaries[c].inclusive);
	}
	for (uint32_t c = 0; c < universe->context_count; c++)
		if (summaries[c].inclusive.count > 0)
			fill_across(pipeline, c, metric, summaries + c);
}

static int summarize_metric(void *context, unsigned number, size_t item)
{
	struct summarizing *summarizing = context;
	struct sn_pipeline *pipeline = summarizing->pipeline;
	const struct sn_universe *universe = &pipeline->universe;
	uint32_t metric = summarizing->first + (uint32_t)item, count = 0;
	struct sonde_db_summary *summaries =
	    calloc(universe->context_count + 1ull, sizeof(*summaries));
	uint32_t *ids = malloc((universe->context_count + 1ull) * sizeof(*ids));
	int result = summaries && ids ? 0 : SN_ERR_MEMORY;
	(void)number;
	if (!result)
		fill(pipeline, metric, summaries);
	for (uint32_t c = 0; !result && c < universe->context_count; c++) {
		if (!(summaries[c].inclusive.count > 0))
			continue;
		ids[count] = c;
		summaries[count] = summaries[c];
		bound(&summaries[count].exclusive);
		bound(&summaries[count].inclusive);
		bound(&summaries[count++].across);
	}
	if (!result && count)
		result = sn_major_add(summarizing->majors + item, metric, ids,
				      (const double *)summaries, count, universe->periods[metric]);
	free(summaries);
	free(ids);
	return result ? sn_pipeline_out_of_memory(pipeline) : 0;
}

/* The sections of summaries as they grow. */
struct sections {
	struct sn_database_index *index;
	struct sn_pack entries;
	uint64_t data_at, data_bytes, entry_count;
};

static int put_metric(struct sn_pipeline *pipeline, struct sections *sections, uint32_t metric,
		      const struct sn_major *major)
{
	sections->index[metric] = (struct sn_database_index){
	    sections->entry_count, sections->data_bytes, sn_major_checksum(major)};
	sn_pack_put(&sections->entries, major->entries,
		    major->entry_count * sn_major_entry_bytes(major));
	int failed = sn_db_file_put(pipeline->file.fd, major->data, major->data_bytes,
				    sections->data_at + sections->data_bytes);
	sections->entry_count += major->entry_count;
	sections->data_bytes += major->data_bytes;
	return failed ? sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s",
					 pipeline->output, strerror(failed))
		      : 0;
}

/* Some metrics at once: as many as there are threads. */
static int put_metrics(struct sn_pipeline *pipeline, struct sections *sections, uint32_t first,
		       uint32_t count)
{
	struct sn_major majors[SN_POOL_THREADS];
	struct summarizing summarizing = {pipeline, first, majors};
	for (uint32_t i = 0; i < count; i++)
		sn_major_init(majors + i, SONDE_DB_SCOPES);
	int result = sn_pool_run(pipeline->threads, count, summarize_metric, &summarizing);
	for (uint32_t i = 0; i < count; i++) {
		if (!result)
			result = put_metric(pipeline, sections, first + i, majors + i);
		sn_major_release(majors + i);
	}
	return result;
}

int sn_summarize(struct sn_pipeline *pipeline)
{
	struct sn_db_file *file = &pipeline->file;
	uint32_t metrics = pipeline->universe.metric_count;
	struct sections sections = {.index = calloc(metrics + 1ull, sizeof(*sections.index)),
				    .data_at = file->next};
	int result = sections.index ? 0 : sn_pipeline_out_of_memory(pipeline);
	for (uint32_t m = 0; m < metrics && !result; m += pipeline->threads) {
		uint32_t left = metrics - m;
		result = put_metrics(pipeline, &sections, m,
				     left < pipeline->threads ? left : pipeline->threads);
	}
	if (!result && sections.entries.failed)
		result = sn_pipeline_out_of_memory(pipeline);
	int failed = 0;
	if (!result) {
		sections.index[metrics] =
		    (struct sn_database_index){sections.entry_count, sections.data_bytes, 0};
		sn_db_file_place(file, SN_DATABASE_SUMMARY_DATA, sections.data_bytes);
		uint64_t entries_at =
		    sn_db_file_place(file, SN_DATABASE_SUMMARIES, sections.entries.length);
		failed = sn_db_file_put(file->fd, sections.entries.bytes, sections.entries.length,
					entries_at);
		if (!failed)
			failed = sn_db_file_write(file, SN_DATABASE_SUMMARY_INDEX, sections.index,
						  (metrics + 1ull) * sizeof(*sections.index));
	}
	if (failed)
		result = sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s",
					  pipeline->output, strerror(failed));
	sn_pack_release(&sections.entries);
	free(sections.index);
	return result;
}
