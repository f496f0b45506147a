/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace says, all together: loaded once, and shown by views that make sheets of it
 * (report/sheet.h). docs/design/answers.md defines each number.
 *
 * To add a view: a file view_NAME.c with sn_view_NAME, a line in views.def, a paragraph in
 * docs/man/sonde-timeline.1.
 */
#ifndef SN_TIMELINE_ANSWERS_H
#define SN_TIMELINE_ANSWERS_H

#include "timeline/devices/blame.h"
#include "timeline/iterations/iterations.h"
#include "timeline/messages/message_matching.h"
#include "processes.h"
#include "timeline/messages/ranks.h"
#include "show/sheet.h"
#include "timeline/devices/waits.h"

#include <stdlib.h>

/* More devices than that are shown as lines of a table. */
enum { SN_FEW_DEVICES = 2 };

/* Of the memory for what is sorted calls that launch may take one half, each of what is sorted
 * besides, of which there are up to three at a time, a sixth. */
#define SN_ANSWERS_MEMORY (UINT64_C(48) << 20)

/* What is loaded, each after what stands before it. On a trace of 100 million events the first
 * takes no time, each of the others seconds. */
enum sn_answers_part {
	SN_ANSWERS_NODES,      /* the span of all events, `nodes` */
	SN_ANSWERS_ITERATIONS, /* `iterations`, `launches` */
	SN_ANSWERS_DEVICES,    /* `times` */
	SN_ANSWERS_RANKS,      /* `collectives`, `ranks`, `messages` */
	SN_ANSWERS_WAITS,      /* `waits`, `blames` */
};

struct sn_answers {
	const struct sonde_db *db;
	const struct sonde_trace *trace;
	bool launched_only;
	uint32_t depth;		   /* of call stacks, for the view that asks */
	uint64_t iteration;	   /* whose critical path: from 1; 0: the most usual one */
	uint64_t memory_bytes;	   /* for what is sorted; the rest lies in files. 0: as is usual */
	uint64_t start_ns, end_ns; /* of all events */
	bool has_runs;		   /* of several runs, which are told apart */
	struct sn_processes processes;
	struct sn_launches *launches;
	struct sn_device_times times;
	struct sn_node_map nodes;
	struct sn_collectives collectives;
	struct sn_ranks ranks;
	int64_t *offsets_ns; /* by process: what its times need to be in the time of all */
	struct sn_message_matching messages;
	struct sn_waits *waits; /* by device, as is `blames` */
	struct sn_blame *blames;
	struct sn_iterations iterations;
};

/* Loads what views share, up to `needed`; what is behind it stays empty. db and trace stay the
 * caller's, `answers` has its fields up to memory_bytes filled in. 0 or a negative enum sn_err;
 * release in either case. */
int sn_answers(struct sn_answers *answers, enum sn_answers_part needed, struct sn_error *error);
void sn_answers_release(struct sn_answers *answers);

/* What one thing that is sorted may take; see sn_runs_init. */
size_t sn_answers_sorting(const struct sn_answers *answers);

/* "rank 3 · device 0", as short as tells devices apart. */
enum { SN_PLACE_CHARS = 96 };
const char *sn_answers_device(const struct sn_answers *answers, size_t device,
			      char text[SN_PLACE_CHARS]);
const char *sn_answers_participant(const struct sn_answers *answers, size_t participant,
				   char text[SN_PLACE_CHARS]);
/* "rank 3", of a profile's process. */
const char *sn_answers_process(const struct sn_answers *answers, uint32_t profile,
			       char text[SN_PLACE_CHARS]);
/* A duration, as people read it; up to eight at a time. */
const char *sn_answers_time(double ns);
/* "42.1%"; 0 of nothing. */
const char *sn_answers_share(double part, double whole);

/* What of the trace is looked at only in part, as a sheet; once, and only where anything is. */
void sn_answers_left_out(const struct sn_answers *answers, struct sn_page *page);
/* What of the trace is inferred, as a sheet of the page; once, and only where anything is. */
void sn_answers_inferred(const struct sn_answers *answers, struct sn_page *page);

struct sn_view {
	const char *name, *summary;
	enum sn_answers_part needs;
	/* Adds its sheets. 0 or a negative enum sn_err. */
	int (*show)(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error);
};
#define SN_VIEW(identifier, name, needs, summary)                                                  \
	int sn_view_##identifier(const struct sn_answers *answers, struct sn_page *page,           \
				 struct sn_error *error);
#include "show/timeline/views.def"
#undef SN_VIEW
/* Whether the operating system told of threads. */
bool sn_threads_are_known(const struct sonde_trace *trace);
/* What it told of them, in short; nothing where it did not. */
int sn_threads_summary(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error);
/* What the participant that others waited for most was in meanwhile, for most of that time:
 * SONDE_NONE where nothing is recorded. 0 or a negative enum sn_err. */
struct sn_latest {
	size_t participant;
	uint32_t node;
	double share;
};
int sn_latest(const struct sn_answers *answers, struct sn_latest *latest, struct sn_error *error);
/* In the order of views.def; ends with a NULL name. */
extern const struct sn_view sn_views[];

#endif
