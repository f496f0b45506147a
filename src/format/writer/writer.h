/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a database: the values of profiles come in as blocks, in any order, and planes, rows and
 * summaries go out beside what describes them. By threads, by the ranks of a job, and in memory
 * that does not grow with the number of values. docs/design/database-writer.md gives the reasons.
 *
 *	sn_db_writer_init(&writer, output, error);
 *	sn_db_writer_open, _describe, _axes	rank 0, from a builder that is in order
 *	sn_db_writer_share, _values		all ranks, with the blocks that each has
 *	sn_db_writer_finish			rank 0: the file is whole and gets its name
 *	sn_db_writer_release(&writer);
 *
 * sn_db_builder_write is all of that for one process whose values the builder holds; analysis
 * (src/aggregate) has values of its own. The steps within sn_db_writer_values:
 *
 *   project.c    every block is read: values go to their final contexts and become the profile's
 *                planes, and slices of rows for the buckets of contexts
 *   rows.c       every bucket is read: slices become rows
 *   summarize.c  rows and what project.c added up become summaries, on rank 0
 *
 * Sums are formed in one order, or exactly (across.h): the bytes depend on the values alone.
 */
#pragma once

#include "across.h"

#include "base/output.h"
#include "base/peers/peers.h"
#include "base/spill.h"
#include "format/database/database_file.h"
#include "format/database/database_major.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * A profile's values, as the entries and data of a struct sn_major. Ids need not ascend and may
 * come to one context several times; `contexts` and `metrics` are their final numbers.
 */
struct sn_profile_block {
	uint32_t profile; /* final */
	uint32_t entry_count;
	const struct sn_database_plane *entries;
	const unsigned char *data;
	const uint32_t *contexts, *metrics; /* [id], [metric of an entry] */
	/* The source's own: memory of this thread that is kept from one block to the next. */
	unsigned char *bytes;
	size_t capacity;
	struct sn_major major;
};

/* Where the blocks come from: at most one for each profile, over all ranks. */
struct sn_block_source {
	size_t count;
	/* Fills in all but `bytes`, `capacity` and `major`, which are the source's own. 0 or a
	 * negative enum sn_err with its text. MT. */
	int (*read)(void *context, size_t number, struct sn_profile_block *block,
		    struct sn_error *error);
	/* Called when all have been read, so that their memory or files may be freed. May be NULL. */
	void (*release)(void *context);
	void *context;
};

/* A profile's planes in the first spill, entries and data as they will lie in the file. */
struct sn_spilled_planes {
	uint64_t offset, data_bytes, checksum;
	uint32_t profile, entry_count;
};

/* The sum of a row: one metric at one context, without its descendants, over all profiles. */
struct sn_row_sums {
	struct sonde_db_stat exclusive;
	double min, max, squares; /* of the profiles' sums */
	uint64_t profiles;
};

/* The positions of a thread's slices of a bucket's rows in the second spill. */
struct sn_chunk {
	uint64_t offset, length;
};
struct sn_bucket {
	struct sn_buffer slices; /* those not spilled yet */
	struct sn_chunk *chunks;
	size_t count, capacity;
};

/* What a bucket's slices begin with: `count` contexts follow (uint32_t), and as many statistics in
 * columns of these forms. */
struct sn_slice {
	uint32_t profile, metric, count, forms;
};

/* What one thread has for itself. */
struct sn_db_worker {
	struct sn_major major; /* scratch */
	struct sn_spilled_planes *spilled;
	size_t spilled_count, spilled_capacity;
	struct sn_across_table across;
	struct sn_bucket *buckets;
};

/* What all ranks know of the database. Arrays from malloc. */
struct sn_db_axes {
	uint32_t context_count, metric_count, profile_count, bucket_count;
	struct sonde_db_context *contexts;
	double *periods;	/* [metric] */
	int32_t *shifts;	/* [metric]: see across.h */
	uint64_t *value_counts; /* [context]: over all profiles; until there are buckets */
	uint32_t *bucket_ends;	/* [bucket]: one past its last context */
	/* Each rank makes it: numbers of contexts with descendants; SONDE_NONE for the others. */
	uint32_t *inner_numbers;
	uint32_t inner_count;
	/* Bits: the metrics that have a row at a context, `row_words` words for each context. */
	uint64_t *rows;
	uint32_t row_words;
};

/* The number of a context's rows before that of a metric. */
static inline uint32_t sn_db_axes_rows_before(const struct sn_db_axes *axes, uint32_t context,
					      uint32_t metric)
{
	const uint64_t *words = axes->rows + (size_t)context * axes->row_words;
	int rows = __builtin_popcountll(words[metric / 64] & ((1ull << metric % 64) - 1));
	for (uint32_t i = 0; i < metric / 64; i++)
		rows += __builtin_popcountll(words[i]);
	return (uint32_t)rows;
}

struct sn_db_writer {
	/* Set by sn_db_writer_init, and changed before anything else is called. */
	const char *output;
	unsigned threads;	      /* 1 */
	uint64_t memory;	      /* bytes of this process; UINT64_MAX: no limit */
	const struct sn_peers *peers; /* a single process */
	bool is_shared;		      /* the user's umask determines who may read the file */
	/* Called with the whole database before it gets its name or goes into a pipe, unless it
	 * goes to a device. May add to it. Not 0: no database is written; the callback has reported
	 * why, and the text is "". */
	int (*complete)(void *context, const char *path);
	void *complete_context;
	struct sn_error *error;

	uint64_t other_bytes; /* of memory that the caller uses besides the writer's */
	struct sn_db_axes axes;
	struct sn_db_file file;
	struct sn_output named; /* rank 0 */
	bool is_open;
	struct sn_spill pipe; /* rank 0: if the output is no file, the data until it is whole */
	int shared_fd;	      /* other ranks: the output */
	struct sn_spill planes, slices;
	struct sn_db_worker *workers;	     /* [threads] */
	uint64_t *first_rows;		     /* [context + 1]: its first row among all */
	struct sn_database_index *row_index; /* rank 0; [context + 1] */
	struct sn_row_sums *rows;	     /* rank 0; [row] */
	_Atomic uint64_t sum_bytes; /* of accumulators, and of rows once they are counted */
	pthread_mutex_t mutex;	    /* of has_failed and the error's text */
	bool has_failed;
};

void sn_db_writer_init(struct sn_db_writer *writer, const char *output, struct sn_error *error);
/* Also after a failure: then no output is left. */
void sn_db_writer_release(struct sn_db_writer *writer);

/* Keeps the text of the first failure of all threads, and returns the code. MT. */
int sn_db_writer_fail(struct sn_db_writer *writer, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int sn_db_writer_out_of_memory(struct sn_db_writer *writer);
/* For the code of a function that has written a text; 0 for 0. */
int sn_db_writer_check(struct sn_db_writer *writer, int code, const struct sn_error *error);
/* For an errno; 0 for 0. */
int sn_db_writer_cannot_write(struct sn_db_writer *writer, int failed);

/* Each function here returns 0, or a negative enum sn_err of this rank alone, unless it says that
 * ranks have agreed. */
int sn_db_writer_open(struct sn_db_writer *writer);
/* Strings to profiles, graphs and events. */
int sn_db_writer_describe(struct sn_db_writer *writer, const struct sn_db_builder *builder,
			  const struct sn_db_ordered *ordered);
/* Sets the axes of the values: moves ordered->contexts. The caller then fills in axes.value_counts
 * and axes.shifts, which are zero, and divides the contexts into buckets by them. */
int sn_db_writer_axes(struct sn_db_writer *writer, struct sn_db_ordered *ordered,
		      uint32_t metric_count, uint32_t profile_count);
void sn_db_writer_divide(struct sn_db_writer *writer);
/* The axes to other ranks. */
void sn_db_axes_pack(struct sn_pack *pack, struct sn_db_axes *axes);
/* The other ranks open the output. */
int sn_db_writer_share(struct sn_db_writer *writer);
/* Planes, rows and summaries. The ranks have agreed on what it returns. */
int sn_db_writer_values(struct sn_db_writer *writer, const struct sn_block_source *source);
int sn_db_writer_finish(struct sn_db_writer *writer);

/* ---- within the writer ---- */

/*
 * Whether the memory that cannot be spilled fits into the limit: metadata, current sums, and `more`
 * bytes that are needed next, of which buckets may take sn_db_writer_bucket_bytes. 0, or
 * SN_ERR_ARGUMENT with a text. MT.
 */
int sn_db_writer_check_memory(struct sn_db_writer *writer, uint64_t more);
/* The most bytes that all threads' buckets take while rows are formed. */
uint64_t sn_db_writer_bucket_bytes(const struct sn_db_writer *writer);

/* Blocks to their final contexts: fills in workers' `spilled`, `across` and `buckets`, and the bits
 * of rows of this rank. */
int sn_project(struct sn_db_writer *writer, const struct sn_block_source *source);
/* Writes this rank's planes at their places in `index`. */
int sn_project_write(struct sn_db_writer *writer, const struct sn_database_index *index,
		     uint64_t entries_at, uint64_t data_at);

/* Counts rows over all ranks: fills in first_rows. */
int sn_rows_count(struct sn_db_writer *writer);
/* Writes all rows, their data from data_at, and fills in row_index and rows. The ranks have agreed
 * on what it returns. */
int sn_rows_write(struct sn_db_writer *writer, uint64_t entries_at, uint64_t data_at);

/* On rank 0, after all ranks' accumulators are in the first worker's: writes the summaries'
 * sections. */
int sn_summarize(struct sn_db_writer *writer);
