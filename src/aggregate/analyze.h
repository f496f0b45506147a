/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analysis as one step: measurement folders in, one database out.
 *
 * read (measurement_reader.h) -> unify (merge.h) -> symbols (resolve.h) -> expand (expand.h) ->
 * statistics and file (database_writer.h). Measurements are read one at a time. The same
 * measurements give the same bytes, whatever their order and the number of jobs.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_db_builder;

struct sn_analyze_options {
	unsigned jobs;		/* threads of each process; 0: one for each processor */
	uint64_t memory_bytes;	/* that each process may use; 0: no limit */
	bool no_cache;		/* neither read nor write the symbol cache */
	bool no_loops;		/* leave loops out of call paths */
	const char *debug_path; /* as in struct sn_symbolizer_options; NULL: the usual */
	const char *sysroot;	/* likewise */
	/* Adds graphs of other sources, of the folders that are read; NULL: none has any. 0 or a
	 * negative enum sn_err. Called once, by the first rank. */
	int (*extend)(void *context, struct sn_db_builder *builder, struct sn_error *error);
	void *extend_context;
	/* See struct sn_db_writer; by the first rank. */
	int (*complete)(void *context, const char *path);
	void *complete_context;
	bool is_shared; /* permissions by the user's umask; else only the user may read it */
};

#define SN_ANALYZE_NAMELESS_MAX 8

/* A module whose symbols could not be read, though it was measured. */
struct sn_analyze_nameless {
	char module[256]; /* its path, cut */
	const char *why;  /* static */
};

struct sn_analyze_result {
	uint64_t processes;  /* read */
	uint64_t unreadable; /* files that could not be read */
	uint64_t fallbacks;  /* files of which only the snapshot before the last could be read */
	struct sn_error first_problem; /* why the first of them could not; "" without */
	uint64_t addresses;	       /* distinct native ones */
	uint32_t contexts;
	uint32_t lone_hosts; /* whose clocks are not joined to the others' by messages */
	char first_lone_host[64];
	uint32_t nameless_count; /* modules without symbols; the first of them: */
	struct sn_analyze_nameless nameless[SN_ANALYZE_NAMELESS_MAX];
	uint64_t read_ns, symbols_ns, write_ns;
};

/*
 * `folders` are measurement folders, or single measurement files. Fails if none of a folder's files
 * is readable. options and result may be NULL. Nothing is left under `output` on failure.
 */
int sn_analyze(const char *const *folders, size_t count, const char *output,
	       const struct sn_analyze_options *options, struct sn_analyze_result *result,
	       struct sn_error *error);
