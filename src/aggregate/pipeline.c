/* SPDX-License-Identifier: Apache-2.0 */
/* What all steps of an analysis share; see pipeline.h. */
#include "pipeline.h"

#include <stdarg.h>
#include <stdio.h>

int sn_pipeline_fail(struct sn_pipeline *pipeline, int code, const char *format, ...)
{
	va_list arguments;
	pthread_mutex_lock(&pipeline->mutex);
	if (!pipeline->has_failed) {
		va_start(arguments, format);
		vsnprintf(pipeline->error->text, sizeof(pipeline->error->text), format, arguments);
		va_end(arguments);
	}
	pipeline->has_failed = true;
	pthread_mutex_unlock(&pipeline->mutex);
	return code;
}

int sn_pipeline_out_of_memory(struct sn_pipeline *pipeline)
{
	return sn_pipeline_fail(pipeline, SN_ERR_MEMORY, "out of memory");
}

uint64_t sn_pipeline_bucket_bytes(const struct sn_pipeline *pipeline)
{
	return pipeline->memory / 3;
}

/* What every rank has in memory until the database is written. */
static uint64_t universe_bytes(const struct sn_pipeline *pipeline)
{
	const struct sn_universe *u = &pipeline->universe;
	uint64_t bytes = (uint64_t)u->context_count * sizeof(*u->contexts);
	if (u->rows)
		bytes += (uint64_t)u->context_count * u->row_words * sizeof(*u->rows);
	if (u->inner_numbers)
		bytes += (uint64_t)u->context_count * sizeof(*u->inner_numbers);
	bytes += (uint64_t)u->node_count * sizeof(*u->node_contexts);
	bytes += (uint64_t)u->file_count * sizeof(*u->first_profiles);
	return bytes +
	       (uint64_t)u->profile_count *
		   (sizeof(*u->profile_numbers) + sizeof(struct sn_block) + sizeof(struct sn_made));
}

int sn_pipeline_check_memory(struct sn_pipeline *pipeline, uint64_t more)
{
	enum { PROGRAM_BYTES = 16 << 20 }; /* code, libraries, scratch */
	if (pipeline->memory == UINT64_MAX)
		return 0;
	uint64_t sums = atomic_load_explicit(&pipeline->sum_bytes, memory_order_relaxed);
	uint64_t bytes = PROGRAM_BYTES + universe_bytes(pipeline) + sums + more;
	if (bytes <= pipeline->memory)
		return 0;
	return sn_pipeline_fail(pipeline, SN_ERR_ARGUMENT,
				"sums over %u contexts need more than %llu MiB of memory: allow "
				"more with --memory (at least %lluM, or fewer threads with -j)",
				pipeline->universe.context_count,
				(unsigned long long)(pipeline->memory >> 20),
				(unsigned long long)((bytes >> 20) + 1));
}
