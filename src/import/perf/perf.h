/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the importer of perf.data: perf.c reads records and passes their data to the track
 * sink, perf_path.c creates nodes for call paths, perf_state.c handles the scheduler's events.
 *
 * Call paths are nodes of a merge (aggregate/unify/merge.h) until a file is read, because symbols
 * are looked up for all addresses of a module at once; then they become the builder's contexts.
 */
#pragma once

#include "base/table.h"
#include "import/core/importer.h"
#include "import/core/track_sink.h"
#include "perf_kernel.h"
#include "perf_python.h"
#include "perf_sample.h"
#include "perf_space.h"
#include "perf_tracepoint.h"
#include "trace/sorter.h"

struct sn_perf {
	struct sn_db_builder *builder;
	struct sn_track_sink *sink;
	struct sn_symbolizer *symbolizer;
	struct sn_import_notes *notes;
	unsigned jobs; /* threads that look up symbols */
	uint64_t lost, lost_samples, unread, damaged, unwound_not, too_deep, cut;
	uint64_t most_samples; /* of a thread, whose name is the program's */
	bool is_told_machine;  /* by a record */
	bool is_of_machine;    /* all processors were recorded: no thread names it */
	uint32_t key_event, key_period, key_cpu;
	/* of the file being read */
	const struct sn_perf_file *file;
	struct sn_merge merge;
	struct sn_perf_space space;
	struct sn_kallsyms kernel; /* functions; empty: not known */
	struct sn_perf_python python;
	struct sn_perf_tracepoints tracepoints;
	uint32_t *metrics;	 /* by event of the file: builder's, SONDE_NONE not yet */
	uint32_t *event_names;	 /* builder's strings */
	struct sn_table pids;	 /* by thread */
	struct sn_intern counts; /* event's id and thread: what it had counted before */
	uint64_t *last_counts;
	size_t count_capacity;
	uint64_t order;	   /* of the record, for struct sn_perf_moment */
	bool has_switches; /* tracepoints tell of them */
	/* the scheduler's events of the file, in order of time at the end */
	struct sn_sorter *scheduler;
};

/* The sink's track of a thread; SONDE_NONE without memory. */
uint32_t sn_perf_thread(struct sn_perf *perf, uint32_t pid, uint32_t tid);

/* The node of a sample's call path; SN_NODE_NONE without memory. */
uint32_t sn_perf_path(struct sn_perf *perf, const struct sn_perf_raw *record,
		      const struct sn_perf_sample *sample);
/* The child of a node for a name. */
uint32_t sn_perf_named_node(struct sn_perf *perf, uint32_t parent, unsigned kind, const char *name);

/* Stores an event of a tracepoint of the scheduler. 0 or SN_ERR_MEMORY. */
int sn_perf_state_sample(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
			 const struct sn_perf_sample *sample);
/* PERF_RECORD_SWITCH and PERF_RECORD_SWITCH_CPU_WIDE. */
int sn_perf_state_switch(struct sn_perf *perf, const struct sn_perf_raw *record,
			 const struct sn_perf_sample *id);
/* Passes all of them to the scheduler's state machine, at the end of a file. */
int sn_perf_state_finish(struct sn_perf *perf, struct sn_error *error);
