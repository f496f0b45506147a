/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUPTI that plays a recording (docs/format/recording.md): what a device delivered elsewhere comes again, in its order, in threads of
 * its own, as far apart in time as it came. load.c reads the file, play.c keeps order and time, cupti.c is what a tool calls.
 */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include "../../gpu/record/recording.h"
#include "../../../src/collect/adapters/cuda/cupti.h"

#include <stdbool.h>

#define REPLAY_LOCAL __attribute__((visibility("hidden")))

#define REPLAY_DOMAINS 8
#define REPLAY_CBIDS   2048
#define REPLAY_KINDS   128
#define REPLAY_FLUSHES 4

/* Where a callback or a buffer belongs: among the calls, in the recorder's flushes, or after it had unsubscribed. */
enum replay_phase { REPLAY_RUNS, REPLAY_FLUSH, REPLAY_LATE = REPLAY_FLUSH + REPLAY_FLUSHES };

struct replay_event {
	const struct recording_head *head;
	uint64_t cupti_ns; /* when, on CUPTI's clock */
	uint32_t thread;
	enum replay_phase phase;
};

struct replay {
	struct replay_event *events; /* callbacks, nodes and buffers */
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

/* ---- play.c ---- */

/* Plays the calls: loads the tool as the driver does, and returns when the last call has ended. 0, or an exit status. */
int replay_play(void);
/* The recording's time now. */
REPLAY_LOCAL uint64_t replay_time(void);
/* Gives the subscriber the buffers of a phase. */
REPLAY_LOCAL void replay_deliver(enum replay_phase phase);
/* What the thread is being told of: NULL for nothing. */
REPLAY_LOCAL extern __thread const struct replay_event *replay_current;

/* ---- cupti.c ---- */

/* Tells the subscriber of an event. */
REPLAY_LOCAL void replay_tell(const struct replay_event *event);

#endif
