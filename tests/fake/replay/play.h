/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUPTI that plays a recording (docs/format/recording.md): what a device delivered elsewhere comes again, in its order, in threads of
 * its own, as far apart in time as it came. load.c reads the file, and load_samples.c what it has of modules and samples; play.c keeps order
 * and time; cupti.c and samples.c are what a tool calls.
 */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include "../../gpu/record/recording.h"
#include "../../../src/collect/adapters/cuda/cupti_samples.h"

#include <stdbool.h>

#define REPLAY_LOCAL __attribute__((visibility("hidden")))

#define REPLAY_DOMAINS 8
#define REPLAY_CBIDS   2048
#define REPLAY_KINDS   128
#define REPLAY_FLUSHES 4
#define REPLAY_THREADS 65536
#define REPLAY_REASONS 512

/* Where a callback or a buffer belongs: among the calls, in the recorder's flushes, or after it had unsubscribed. */
enum replay_phase { REPLAY_RUNS, REPLAY_FLUSH, REPLAY_LATE = REPLAY_FLUSH + REPLAY_FLUSHES };

struct replay_event {
	const struct recording_head *head;
	uint64_t cupti_ns; /* when, on CUPTI's clock */
	uint32_t thread;
	enum replay_phase phase;
};

struct replay {
	struct replay_event *events; /* callbacks, nodes, contexts, modules and buffers */
	uint32_t count;
	uint32_t threads; /* the highest number */
	uint32_t version;
	const char *holder; /* "" */
	const char *names[REPLAY_DOMAINS][REPLAY_CBIDS];
	uint32_t lengths[REPLAY_KINDS]; /* of records; 0: none came */
	int32_t enabled[REPLAY_KINDS]; /* what enabling a kind answered; -1: it was not asked for */
	int32_t subscribed;	       /* what subscribing answered */
	int32_t flushed[REPLAY_FLUSHES]; /* -1: it did not return */
	uint32_t flushes;
	const char *path;
};

/* load.c: FAKE_REPLAY's, read once; ends the process where it cannot be read. */
REPLAY_LOCAL const struct replay *replay_recording(void);

/* ---- load_samples.c: what was recorded of modules and samples ---- */

/* What reading answered once, or what was put aside when a module went or sampling ended. */
struct replay_answer {
	const struct recording_samples *recorded;
	uint32_t
	    due; /* it can be read when this event is told, or later; UINT32_MAX: when all have been */
	uint64_t given; /* so many of its instructions */
	struct replay_answer *next;
};

struct replay_answers {
	struct replay_answer *first, *last;
};

/* Of a context, from enabling to disabling. */
struct replay_session {
	uint64_t context;
	int32_t enabled, configured,
	    disabled;	       /* what these answered; the last -1: it did not return */
	uint64_t mode, period; /* 0: none was asked for */
	struct replay_answers read, aside;
	bool hangs; /* the last reading did not return */
	bool has_begun, has_ended;
	struct sn_cupti_samples *resting; /* the subscriber's */
	struct replay_session *next;
};

struct replay_samples {
	struct replay_session *sessions;
	int32_t counted, named; /* what asking for the reasons answered */
	uint64_t reasons_there;
	uint32_t reason_count;
	uint32_t reasons[REPLAY_REASONS];
	const char *reason_names[REPLAY_REASONS];
};

/* To be read after the recording. */
REPLAY_LOCAL extern struct replay_samples replay_samples;

/* One entry, whose fields are there; `due` as above. Ends the process where it is none. */
REPLAY_LOCAL void replay_load_samples(const struct recording_head *head, uint32_t due);
/* Where the cubin of a module lies, and CUPTI's answer about one that lies there; NULL. */
REPLAY_LOCAL const void *replay_cubin(const struct recording_module *module);
REPLAY_LOCAL const struct recording_module *replay_module_at(const void *cubin);

/* load.c, for it: the recording cannot be played. */
REPLAY_LOCAL __attribute__((noreturn)) void replay_fail(const char *why);
REPLAY_LOCAL const char *replay_text_of(const struct recording_head *head, size_t fields_bytes);
/* What was last at an address; "": nothing. */
REPLAY_LOCAL uint64_t replay_string_at(uint64_t address);

/* ---- play.c ---- */

/* Plays the calls: loads the tool as the driver does, and returns when the last call has ended. 0, or an exit status. */
int replay_play(void);
/* The recording's time now. */
REPLAY_LOCAL uint64_t replay_time(void);
/* The event that is told, or was told last; UINT32_MAX when all have been told. */
REPLAY_LOCAL uint32_t replay_position(void);
/* Gives the subscriber the buffers of a phase. */
REPLAY_LOCAL void replay_deliver(enum replay_phase phase);
/* What the thread is being told of: NULL for nothing. */
REPLAY_LOCAL extern __thread const struct replay_event *replay_current;

/* ---- cupti.c ---- */

/* Tells the subscriber of an event. */
REPLAY_LOCAL void replay_tell(const struct replay_event *event);

#endif
