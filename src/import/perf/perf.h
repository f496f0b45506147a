/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the importer of perf.data: perf.c reads records and finishes the database, perf_path.c
 * makes contexts of samples, perf_state.c makes states of threads out of the scheduler's events.
 *
 * Contexts are nodes of a merge (aggregate/unify/merge.h) until all files are read, because symbols
 * are looked up for all addresses of a module at once; then they become the builder's.
 */
#ifndef SN_IMPORT_PERF_H
#define SN_IMPORT_PERF_H

#include "import/core/importer.h"
#include "perf_kernel.h"
#include "perf_sample.h"
#include "perf_space.h"
#include "perf_tracepoint.h"
#include "system/scheduler.h"
#include "trace/sorter.h"

/* Who was measured: a thread, or a processor of which the scheduler told. */
struct sn_perf_who {
	uint32_t run, is_processor, pid, tid;
};

struct sn_perf_line {
	uint64_t start_ns, end_ns, sample_count;
	uint32_t name;	  /* builder's string, SONDE_NONE unknown */
	uint32_t profile; /* builder's, at the end */
};

struct sn_perf {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	struct sn_merge merge;
	struct sn_intern whos; /* struct sn_perf_who */
	struct sn_perf_line *lines;
	size_t line_capacity;
	struct sn_intern value_keys; /* line, node, metric: place in merge.values */
	/* events of all files, by line; context is a node */
	struct sn_sorter *events;
	uint64_t lost, lost_samples, unread, damaged, unwound_not, too_deep, cut;
	uint64_t start_ns, end_ns;
	uint32_t key_event, key_period, key_cpu;
	uint32_t host;
	/* of the file being read */
	const struct sn_perf_file *file;
	uint32_t run;
	struct sn_perf_space space;
	struct sn_perf_kernel kernel;
	struct sn_perf_tracepoints tracepoints;
	uint32_t *metrics;     /* by event of the file: builder's, SONDE_NONE not yet */
	uint32_t *event_names; /* builder's strings */
	struct sn_intern tids; /* uint32_t */
	uint32_t *pids;	       /* by tid: process, UINT32_MAX unknown */
	size_t pid_capacity;
	struct sn_intern counts; /* event's id and thread: what it had counted before */
	uint64_t *last_counts;
	size_t count_capacity;
	uint64_t order;	   /* of the record, for struct sn_perf_moment */
	bool has_switches; /* tracepoints tell of them */
	/* the scheduler's events of the file, in order of time at the end */
	struct sn_sorter *scheduler;
};

/* The line, new where it is; SN_INTERN_NONE without memory. */
uint32_t sn_perf_line(struct sn_perf *perf, uint32_t is_processor, uint32_t pid, uint32_t tid);
/* Something happened there, in the clock of the file. */
void sn_perf_line_touch(struct sn_perf *perf, uint32_t line, uint64_t time_ns);
uint64_t sn_perf_time(const struct sn_perf *perf, uint64_t time_ns);

/* The node of a sample's call path; SN_NODE_NONE without memory. */
uint32_t sn_perf_path(struct sn_perf *perf, const struct sn_perf_raw *record,
		      const struct sn_perf_sample *sample);
/* The child of a node for a name. */
uint32_t sn_perf_named_node(struct sn_perf *perf, uint32_t parent, unsigned kind, const char *name);
/* One value of a line's. 0 or SN_ERR_MEMORY. */
int sn_perf_value(struct sn_perf *perf, uint32_t line, uint32_t node, uint32_t metric,
		  double value);

/* Takes what a tracepoint of the scheduler says. 0 or SN_ERR_MEMORY. */
int sn_perf_state_sample(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
			 const struct sn_perf_sample *sample);
/* PERF_RECORD_SWITCH and its like. */
int sn_perf_state_switch(struct sn_perf *perf, const struct sn_perf_raw *record,
			 const struct sn_perf_sample *id);
/* Makes states of what was taken, at the end of a file. */
int sn_perf_state_finish(struct sn_perf *perf, struct sn_error *error);

#endif
