/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of an iteration: the chain of activities of threads, streams and ranks, from
 * the iteration's begin to the end of its last effect, in which no activity could start before the
 * preceding one. And how much shorter the whole would be if a node were faster.
 *
 * What waits for what:
 *   a thread's parts           for the part before
 *   an operation of a device   for the begin of the call that launched it, at least as long as a
 *                              launch usually takes; for what is before it in its stream; and,
 *                              inferred where neither explains its start, for what ended last on
 *                              the device's other streams
 *   a call that synchronises   for the operation that ended last before it returned
 *   a call that does not return before what it launched has ended
 *                              for that operation; path_operations.h says how that is told
 *   a collective's transfer    for the arrival of all ranks at it
 *   a thread that receives     for the begin of the call that sent
 *   a thread that goes on after a silence
 *                              for the thread of its process that fell silent last before, and
 *                              stayed so: backward passes run on a thread of their own;
 *                              where there is none, for what the busiest thread was in
 */
#pragma once

#include "timeline/answers.h"
#include "path_causes.h"
#include "path_graph.h"

struct sn_path_share {
	uint32_t node;
	double time_ns;	    /* on the path */
	double gain_ns;	    /* how much shorter all would be if it were 10 % faster */
	double gain_all_ns; /* if it took no time */
};

struct sn_path_step {
	uint64_t start_ns, end_ns;
	uint32_t context, profile; /* SONDE_NONE of lags */
	uint8_t kind;
};

/* What a thread did in the parts of the path in which it is in no recorded call, by its samples. */
struct sn_path_sampled {
	uint32_t node;
	double time_ns;
};

enum { SN_PATH_SHARES = 24 };

/* Calls that launch take some 10 us. One that takes longer than this was held up: by a full queue,
 * by code that is loaded or compiled, by memory that is copied aside. If an operator takes longer
 * between its calls, it does work of its own. */
enum { SN_PATH_HELD_UP_NS = 100000 };
/* The same of a call of the device's interface in this context. The launch of a graph takes longer,
 * by its nodes. */
uint64_t sn_path_held_up_ns(const struct sonde_db *db, uint32_t context);

/* What part of the trace the path covers. */
struct sn_path_extent {
	uint32_t context;   /* of iterations; SONDE_NONE: the whole trace */
	uint64_t iteration; /* its number */
	bool is_cut;	    /* it has no iterations and is too long: only its first part */
};

struct sn_critical_path {
	struct sn_path_extent extent;
	uint64_t start_ns; /* the window's */
	double length_ns;  /* from there to the end of the last activity */
	double kinds_ns[SN_PATH_KINDS];
	double kind_gains_ns[SN_PATH_KINDS]; /* of lags: if they were 10 % shorter */
	struct sn_path_causes causes;
	struct sn_path_share *shares; /* most time first; gains of the first SN_PATH_SHARES */
	size_t share_count;
	struct sn_path_step *steps; /* in order of time */
	size_t step_count;
	double own_ns;			 /* on the path, of threads in no recorded call */
	struct sn_path_sampled *sampled; /* the part that samples explain; most time first */
	size_t sampled_count;
};

/* 0 or a negative enum sn_err; release in either case. length_ns 0: nothing is recorded. */
int sn_critical_path(const struct sn_answers *answers, struct sn_critical_path *path,
		     struct sn_error *error);
void sn_critical_path_release(struct sn_critical_path *path);
const char *sn_path_kind_name(enum sn_path_kind kind);

/* path_build.c: the graph of windows, one for each process. */
struct sn_path_window {
	uint32_t profile; /* of the process; if the window is marked, of the marked thread */
	uint64_t from_ns, to_ns;
	int64_t offset_ns; /* of its clock */
	bool is_marked;	   /* the program says that something ends there */
};
int sn_path_build(const struct sn_answers *answers, const struct sn_path_window *windows,
		  size_t count, struct sn_path_graph *graph, struct sn_error *error);
/* path_samples.c: own_ns and `sampled` of a path that has its steps; their times are a sample's own
 * and what sn_path_offset says. 0 or a negative enum sn_err. */
int sn_path_samples(const struct sn_answers *answers, struct sn_critical_path *path,
		    struct sn_error *error);
/* path_causes.c: `causes` of a path that has its steps. 0 or SN_ERR_MEMORY. */
int sn_path_find_causes(const struct sn_answers *answers, const struct sn_path_graph *graph,
			struct sn_critical_path *path);
/* From the clock of a profile's process to the common time. */
int64_t sn_path_offset(const struct sn_answers *answers, uint32_t profile);
/* path_ranks.c: edges between threads of two processes, for messages and collectives. 0 or
 * SN_ERR_MEMORY. */
int sn_path_join_ranks(const struct sn_answers *answers, const struct sn_path_window *windows,
		       size_t count, struct sn_path_graph *graph);
