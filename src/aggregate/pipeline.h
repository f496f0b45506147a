/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside an analysis: what its steps hand to each other. Nobody but the files of this folder
 * includes this; analyze.h is the interface, docs/design/analysis.md tells why it is so.
 *
 *   acquire.c    every file is read once, by any thread of any rank: contexts go into the thread's
 *                tables, values into a spill, a block for each profile
 *   universe.c   all tables become one, on rank 0, which looks symbols up, expands, and puts
 *                everything into the canonical order; all ranks learn the numbers
 *   project.c    every block is read again: values go to their final contexts and become the
 *                profile's planes, and slices of rows for the buckets of contexts
 *   rows.c       every bucket is read: slices become rows
 *   summarize.c  rows and what project.c added up become summaries, on rank 0
 */
#ifndef SN_AGGREGATE_PIPELINE_H
#define SN_AGGREGATE_PIPELINE_H

#include "aggregate/values/across.h"
#include "analyze.h"
#include "format/database/database_builder.h"
#include "format/database/database_file.h"
#include "format/database/database_major.h"
#include "aggregate/read/inputs.h"
#include "aggregate/unify/unify.h"

#include "base/spill.h"

#include <pthread.h>
#include <stdatomic.h>

/* A profile's values in the first spill: a struct sn_major's entries and data, in which ids are
 * the worker's nodes and metrics are the worker's. */
struct sn_block {
	uint64_t offset;
	struct sn_origin origin;
	uint32_t entry_count;
	uint64_t data_bytes;
};

/* What one thread has for itself. */
struct sn_worker {
	struct sn_pipeline *pipeline;
	struct sn_unified unified;
	struct sn_block *blocks;
	size_t block_count, block_capacity;
	uint32_t *nodes,
	    *metrics;	       /* final contexts and metrics, by the worker's nodes and metrics */
	struct sn_major major; /* scratch */
	/* scratch of acquire.c */
	uint32_t *ids, *starts;
	double *numbers;
	size_t id_capacity, number_capacity, start_capacity;
	uint32_t file; /* that is being read */
	/* of project.c */
	struct sn_made *made;
	size_t made_count, made_capacity;
	struct sn_across_table across;
	struct sn_bucket *buckets;
};

/* A profile's planes in the second spill, entries and data as they will lie in the file. */
struct sn_made {
	uint64_t offset, data_bytes, checksum;
	uint32_t profile, entry_count;
};

/* What all profiles have of one metric at one context, without its descendants: a row, summed up.
 */
struct sn_pair {
	struct sonde_db_stat exclusive;
	double min, max, squares; /* of the profiles' sums */
	uint64_t profiles;
};

/* Where in the third spill a thread has put slices of a bucket's rows. */
struct sn_chunk {
	uint64_t offset, length;
};
struct sn_bucket {
	struct sn_pack pack; /* what is not there yet */
	struct sn_chunk *chunks;
	size_t count, capacity;
};

/* What a bucket's slices begin with: `count` contexts follow (uint32_t), and as many statistics in
 * columns of these forms. */
struct sn_slice {
	uint32_t profile, metric, count, forms;
};

/*
 * What all ranks know of the database once it is in order. Arrays from malloc. Contexts, metrics
 * and profiles have their final numbers.
 */
struct sn_universe {
	uint32_t context_count, metric_count, profile_count, bucket_count;
	uint32_t node_count, source_metric_count; /* of the unified tables */
	uint32_t file_count;
	struct sonde_db_context *contexts;
	double *periods;	  /* [metric] */
	uint32_t *shifts;	  /* [metric]: see across.h */
	uint32_t *node_contexts;  /* [node of the unified tables] */
	uint32_t *metric_numbers; /* [metric of the unified tables] */
	uint32_t *first_profiles; /* [file + 1]: of its threads, in profile_numbers */
	uint32_t *profile_numbers;
	uint32_t *bucket_ends; /* [bucket]: one past its last context */
	/* Made by each rank itself: contexts with descendants, numbered; SONDE_NONE for the others.
	 */
	uint32_t *inner_numbers;
	uint32_t inner_count;
	/* Bits: the metrics that have a row at a context, `row_words` words for each context. */
	uint64_t *rows;
	uint32_t row_words;
};

struct sn_pipeline {
	const struct sn_analyze_options *options;
	const char *output;
	unsigned threads;
	uint64_t memory; /* bytes; UINT64_MAX without a limit */
	struct sn_input *inputs;
	size_t input_count;
	uint32_t folder_count;
	struct sn_worker *workers; /* [threads] */
	struct sn_spill values, planes, rows;
	struct sn_universe universe;
	struct sn_db_ordered ordered; /* rank 0 */
	struct sn_db_file file;
	uint64_t *first_rows;		     /* [context + 1]: its first row among all */
	struct sn_database_index *row_index; /* rank 0; [context + 1] */
	struct sn_pair *pairs;		     /* rank 0; [row] */
	struct sn_analyze_result *result;
	_Atomic uint64_t sum_bytes; /* of accumulators, and of rows once they are counted */
	pthread_mutex_t mutex;	    /* of what follows, and of nothing else */
	struct sn_error *error;
	bool has_failed;
	pthread_cond_t room;	  /* in_flight became less */
	uint64_t in_flight_bytes; /* of files that are being read */
	uint64_t *readable;	  /* [folder]: files of it that were read */
	uint64_t processes, unreadable, fallbacks;
	size_t first_problem_input; /* of the files that were not */
	struct sn_error first_problem;
};

/* Keeps the text of the first failure of all threads, and returns the code. MT. */
int sn_pipeline_fail(struct sn_pipeline *pipeline, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int sn_pipeline_out_of_memory(struct sn_pipeline *pipeline);

/*
 * Whether what cannot be spilled fits into the limit, once contexts have their final numbers: what
 * is known of them, sums as they are, and `more` bytes that are about to be asked for, of
 * which buckets may take what sn_pipeline_bucket_bytes says. 0, or SN_ERR_ARGUMENT with a text. MT.
 */
int sn_pipeline_check_memory(struct sn_pipeline *pipeline, uint64_t more);
/* What the threads' buckets may take together while rows are made. */
uint64_t sn_pipeline_bucket_bytes(const struct sn_pipeline *pipeline);

/* Reads this rank's share of the inputs. Each function here is called by all ranks; 0 or an error
 * of this rank alone, unless it says that ranks have agreed. */
int sn_acquire(struct sn_pipeline *pipeline);

/* Unifies all workers' tables, into those of the first worker of rank 0. */
int sn_universe_make(struct sn_pipeline *pipeline);
/* On rank 0, from pipeline->ordered: what the others must know. Takes ordered.contexts. A bucket
 * has `bucket_capacity` values at most, unless one context alone has more. 0 or SN_ERR_MEMORY. */
int sn_universe_number(struct sn_pipeline *pipeline, uint64_t bucket_capacity);
/* Tells all ranks, translates their workers' numbers, and gives all tables back. */
int sn_universe_share(struct sn_pipeline *pipeline);
void sn_universe_release(struct sn_universe *universe);

/* Values to their final contexts: fills in workers' `made`, `across` and `buckets`, and the bits of
 * rows of this rank. */
int sn_project(struct sn_pipeline *pipeline);
/* Writes this rank's planes where `index` says that they lie. */
int sn_project_write(struct sn_pipeline *pipeline, const struct sn_database_index *index,
		     uint64_t entries_at, uint64_t data_at);

/* Counts rows over all ranks: fills in first_rows. */
int sn_rows_count(struct sn_pipeline *pipeline);
/* Writes all rows, their data from data_at, and fills in row_index and pairs. The ranks have agreed
 * on what it returns. */
int sn_rows_write(struct sn_pipeline *pipeline, uint64_t entries_at, uint64_t data_at);

/* On rank 0, after all ranks' accumulators are in the first worker's: writes the summaries'
 * sections. */
int sn_summarize(struct sn_pipeline *pipeline);

#endif
