/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first half of analysis: merges many measurements into one tree.
 *
 * Each process's and thread's calling contexts are translated to common numbers and merged, file by
 * file, so that memory holds one measurement at a time and the distinct contexts of all. Contexts
 * of all threads lie below one root; a value belongs to a profile. Frames are still as recorded (an
 * offset in a module); expand.h turns them into functions.
 */
#pragma once

#include "base/intern.h"
#include "format/database/database_writer.h"
#include "format/measurement/measurement_reader.h"
#include "aggregate/gpu_context/gpu_calls.h"
#include "nodes.h"

/* Modules of one path and build id are one. */
struct sn_merged_module {
	uint32_t path; /* builder's string */
	uint32_t build_id_bytes;
	uint8_t build_id[20];
};

struct sn_merged_code {
	uint32_t file, name; /* builder's strings */
	uint32_t first_line;
};

struct sn_merged_value {
	uint32_t profile, metric; /* builder's */
	uint32_t node;
	struct sonde_db_stat stat;
};

static inline struct sonde_db_stat sn_merged_stat(const struct sn_value_record *record)
{
	return (struct sonde_db_stat){(double)record->count, (double)record->sum,
				      (double)record->min, (double)record->max,
				      record->sum_squares};
}

struct sn_merge {
	struct sn_db_builder *builder; /* not owned; gets strings, metrics and profiles */
	struct sn_intern modules;      /* struct sn_merged_module */
	struct sn_intern codes;	       /* struct sn_merged_code */
	/* struct sn_frame, id: a merged module or code, or a builder's string */
	struct sn_intern frames;
	struct sn_nodes nodes;	/* node 0 is the root, its own parent */
	uint32_t *module_flags; /* what any process said of it, but for SN_MODULE_UNLOADED */
	struct sn_merged_value *values;
	size_t module_flag_capacity, value_count, value_capacity;
	uint32_t run; /* of the measurements that are added; see struct sonde_db_profile */
	/* Gets each thread instead of `values`, with the numbers of its nodes and metrics. 0 or a
	 * negative enum sn_err, which sn_merge_add returns. May be NULL. */
	int (*on_thread)(void *context, const struct sn_measurement_thread *thread,
			 uint32_t profile, const uint32_t *nodes, const uint32_t *metrics);
	void *on_thread_context;
	struct sn_gpu_calls gpu_calls;
	/* Where values of each node belong, after sn_expand: the builder's contexts. */
	uint32_t *contexts;
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_merge_init(struct sn_merge *merge, struct sn_db_builder *builder);
void sn_merge_release(struct sn_merge *merge);

/* Adds a measurement; it may be freed afterwards. 0, SN_ERR_MEMORY or what `on_thread` returned. */
int sn_merge_add(struct sn_merge *merge, const struct sn_measurement *measurement);
