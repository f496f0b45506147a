/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that the steps of an analysis share. Private to this folder; analyze.h is the interface,
 * docs/design/analysis.md gives the reasons.
 *
 *   acquire.c    every file is read once, by any thread of any rank: contexts go into the thread's
 *                tables, values into a spill, a block for each profile
 *   numbering.c  all tables become one, on rank 0, which looks symbols up, expands, and puts
 *                everything into the canonical order; all ranks learn the numbers
 *   analyze.c    the blocks go to the database's writer (format/writer), in those numbers
 */
#pragma once

#include "analyze.h"
#include "format/database/database_builder.h"
#include "format/database/database_major.h"
#include "aggregate/read/inputs.h"
#include "aggregate/unify/unify.h"
#include "format/writer/writer.h"

#include "base/spill.h"

#include <pthread.h>
#include <stdatomic.h>

/* A profile's values in the first spill: a struct sn_major's entries and data, in which ids are
 * the worker's nodes and metrics are the worker's. */
struct sn_spilled_profile {
	uint64_t offset;
	struct sn_input_thread origin;
	uint32_t entry_count;
	uint64_t data_bytes;
};

/* The data of one thread. */
struct sn_worker {
	struct sn_pipeline *pipeline;
	struct sn_unified unified;
	struct sn_spilled_profile *blocks;
	size_t block_count, block_capacity;
	uint32_t *nodes,
	    *metrics; /* final contexts and metrics, by the worker's nodes and metrics */
	/* scratch of acquire.c */
	struct sn_major major;
	struct sn_db_value *values;
	size_t value_capacity;
	uint32_t file; /* that is being read */
};

/* Known to all ranks besides the writer's axes, in order to find ids in them. Arrays from
 * malloc. */
struct sn_numbering {
	uint32_t node_count, metric_count, profile_count; /* of the unified tables */
	uint32_t file_count;
	uint32_t *node_contexts;  /* [node]: final contexts */
	uint32_t *metric_numbers; /* [metric] */
	uint32_t *first_profiles; /* [file + 1]: of its threads, in profile_numbers */
	uint32_t *profile_numbers;
};

/* Why a file could not be read. */
struct sn_problem {
	uint64_t input; /* UINT64_MAX: all could */
	struct sn_error why;
};

struct sn_pipeline {
	const struct sn_analyze_options *options;
	struct sn_db_writer writer; /* its threads, memory and error are shared */
	const char *const *folders;
	size_t folder_count;
	struct sn_inputs inputs;
	struct sn_worker *workers; /* [threads] */
	struct sn_spill values;
	struct sn_numbering numbering;
	struct sn_db_ordered ordered; /* rank 0 */
	struct sn_analyze_result *result;
	pthread_mutex_t mutex;	  /* of what follows */
	pthread_cond_t room;	  /* in_flight became less */
	uint64_t in_flight_bytes; /* of files that are being read */
	uint64_t *readable;	  /* [folder]: files of it that were read */
	uint64_t processes, unreadable, fallbacks;
	struct sn_problem first_problem;
};

#define sn_pipeline_check(pipeline, code, error)                                                   \
	sn_db_writer_check(&(pipeline)->writer, code, error)
#define sn_pipeline_fail(pipeline, ...) sn_db_writer_fail(&(pipeline)->writer, __VA_ARGS__)

static inline int sn_pipeline_out_of_memory(struct sn_pipeline *pipeline)
{
	return sn_db_writer_out_of_memory(&pipeline->writer);
}

/* Reads this rank's share of the inputs. Each function here is called by all ranks; 0 or an error
 * of this rank alone, unless it says that ranks have agreed. */
int sn_acquire(struct sn_pipeline *pipeline);

/* Merges all workers' tables into those of the first worker of rank 0. */
int sn_unify_all(struct sn_pipeline *pipeline);
/* On rank 0, from pipeline->ordered: the data that the other ranks need. 0 or a negative enum
 * sn_err. */
int sn_numbering_assign(struct sn_pipeline *pipeline);
/* Sends it to all ranks, translates their workers' numbers, and frees all tables. */
int sn_numbering_share(struct sn_pipeline *pipeline);
void sn_numbering_release(struct sn_numbering *numbering);
