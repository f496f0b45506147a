/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loaded data of a trace that all analyses share. docs/design/answers.md defines each number.
 * Presentation is in show/timeline.
 */
#pragma once

#include "timeline/devices/blame.h"
#include "timeline/findings/finding.h"
#include "timeline/iterations/iterations.h"
#include "timeline/messages/message_matching.h"
#include "processes.h"
#include "timeline/messages/ranks.h"
#include "timeline/devices/waits.h"
#include "timeline/threads/thread_states.h"

#include <stdlib.h>

/* Launching calls are sorted in one half of this memory; up to three other sorts at a time take a
 * sixth each. */
#define SN_ANSWERS_MEMORY (UINT64_C(48) << 20)

/* Parts are loaded in this order. On a trace of 100 million events the first takes no time, each of
 * the others seconds. */
enum sn_answers_part {
	SN_ANSWERS_NODES,      /* the span of all events, `nodes` */
	SN_ANSWERS_ITERATIONS, /* `iterations`, `launches` */
	SN_ANSWERS_DEVICES,    /* `times` */
	SN_ANSWERS_RANKS,      /* `collectives`, `ranks`, `messages` */
	SN_ANSWERS_WAITS,      /* `waits`, `blames` */
	SN_ANSWERS_FINDINGS,   /* `threads`, `findings` */
};

struct sn_answers {
	const struct sonde_db *db;
	const struct sonde_trace *trace;
	bool launched_only;
	uint32_t depth;		   /* of call stacks, for callers that need it */
	uint64_t iteration;	   /* whose critical path: 1 + its number; 0: the most usual one */
	uint64_t memory_bytes;	   /* for sorting; the rest is in files. 0: the default */
	uint64_t start_ns, end_ns; /* of all events */
	bool has_runs;		   /* of several runs, which are distinguished */
	struct sn_processes processes;
	struct sn_launches *launches;
	struct sn_device_times times;
	struct sn_node_map nodes;
	struct sn_collectives collectives;
	struct sn_ranks ranks;
	int64_t *offsets_ns; /* by process: added to its times to get common times */
	struct sn_message_matching messages;
	struct sn_waits *waits; /* by device, as is `blames` */
	struct sn_blame *blames;
	struct sn_thread_times threads; /* empty without events of the operating system */
	struct sn_findings findings;
	struct sn_iterations iterations;
};

/* Loads the shared parts up to `needed`; later parts stay empty. db and trace stay the caller's,
 * `answers` has its fields up to memory_bytes filled in. 0 or a negative enum sn_err; release in
 * either case. */
int sn_answers(struct sn_answers *answers, enum sn_answers_part needed, struct sn_error *error);
void sn_answers_release(struct sn_answers *answers);

/* Memory for one sort; see sn_external_sort_init. */
size_t sn_answers_sorting(const struct sn_answers *answers);
