/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The properties and drops of a database, from the measurements of all processes: what was
 * measured, how, and how completely. The keys are listed in docs/format/database.md.
 *
 * What describes one process (its command, host, ...) is taken from the first: the one of lowest
 * rank that started first. Values that may differ between processes (the state of an adapter, ...)
 * are given with their numbers of processes. The result does not depend on the order of the
 * measurements.
 */
#pragma once

#include "base/intern.h"
#include "format/database/database_writer.h"
#include "format/measurement/measurement_reader.h"
#include "missing.h"

struct sn_provenance {
	struct sn_measurement first; /* only its PROCESS text, which is owned */
	struct sn_intern answers;    /* "KEY=VALUE" with its NUL */
	uint32_t *answer_counts;     /* processes that gave each */
	size_t answer_capacity;
	struct sn_intern programs;	 /* base names of the programs' files, with their NUL */
	struct sn_intern processes_seen; /* "PID HOST" */
	uint64_t *program_cpu_ns;	 /* of each program */
	size_t program_capacity;
	struct sn_missing missing; /* whose `unreadable` the caller sets */
	uint64_t processes, unfinished, threads;
	uint64_t with_gaps; /* processes of which a part was not measured */
	uint64_t own_ns, peak_bytes, samples;
	uint64_t start_ns, end_ns; /* since the Unix epoch, over all processes */
};

/* Sums over the threads of a process. */
struct sn_process_totals {
	uint64_t threads, cpu_ns, own_ns, samples;
	bool has_gap; /* a part of it was not measured */
};

void sn_provenance_init(struct sn_provenance *provenance);
void sn_provenance_release(struct sn_provenance *provenance);

/* Adds up the threads of a measurement, and adds its drops to the builder. */
struct sn_process_totals sn_process_totals(const struct sn_measurement *measurement,
					   struct sn_db_builder *builder);
/* Adds a process, of the run-th of all runs: its text, how it ended and its losses are looked at. 0
 * or SN_ERR_MEMORY. */
int sn_provenance_add(struct sn_provenance *provenance, const struct sn_measurement *measurement,
		      const struct sn_process_totals *totals, uint32_t run);
/* A description of a cause of collect/core/errors.def. Static. */
const char *sn_provenance_drop_text(const char *cause);
/*
 * Writes all properties, and names the root context by the program that used most CPU time, with
 * the number of processes where there are several. At least one process was added. 0 or
 * SN_ERR_MEMORY.
 */
int sn_provenance_finish(struct sn_provenance *provenance, struct sn_db_builder *builder);
