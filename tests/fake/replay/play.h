/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's library that plays a recording (docs/format/recording.md): what a device delivered elsewhere comes again, in its order, in
 * threads of its own, as far apart in time as it came. load.c reads the file, and play.c keeps order and time, for every vendor. Of CUPTI
 * (cupti.h) load_cupti.c and load_samples.c know the entries, and cupti.c and samples.c are what a tool calls; of rocprofiler-sdk (sdk.h)
 * load_sdk.c, sdk.c and sdk_samples.c.
 */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include "../../gpu/record/recording.h"

#include <stdbool.h>
#include <stddef.h>

#define REPLAY_LOCAL __attribute__((visibility("hidden")))

#define REPLAY_FLUSHES 4
#define REPLAY_THREADS 65536

/* Where a callback or a delivery belongs: among the calls, in the recorder's flushes, or after it had unsubscribed. */
enum replay_phase { REPLAY_RUNS, REPLAY_FLUSH, REPLAY_LATE = REPLAY_FLUSH + REPLAY_FLUSHES };

struct replay_event {
	const struct recording_head *head;
	uint64_t vendor_ns; /* when, on the vendor's clock */
	uint32_t thread;
	enum replay_phase phase;
};

struct replay {
	struct replay_event *events; /* what is told, and what is delivered */
	uint32_t count;
	uint32_t threads; /* the highest number */
	const char *path;
};

/* ---- load.c ---- */

/* FAKE_REPLAY's, read once; ends the process where it cannot be read. */
REPLAY_LOCAL const struct replay *replay_recording(void);
/* The recording cannot be played. */
REPLAY_LOCAL __attribute__((noreturn)) void replay_fail(const char *why);

/* For the vendor's part, while it is read: */

/* What follows the fields: as a text that ends, and how much of it there is. */
REPLAY_LOCAL const char *replay_text_of(const struct recording_head *head, size_t fields_bytes);
REPLAY_LOCAL size_t replay_rest_of(const struct recording_head *head, size_t fields_bytes);
/* What was last at an address; "": nothing. */
REPLAY_LOCAL uint64_t replay_string_at(uint64_t address);
/* From here on this is at an address: a text, or what the vendor's part says; and where that is, NULL: nowhere. */
REPLAY_LOCAL void replay_put_at(uint64_t address, const void *what);
REPLAY_LOCAL const void *replay_at(uint64_t address);
/* Memory for as long as the process runs, of zeroes. */
REPLAY_LOCAL void *replay_new(size_t bytes);
/* The phase of what follows. */
REPLAY_LOCAL extern enum replay_phase replay_phase;
/* An entry that is told, in the order of these calls. */
REPLAY_LOCAL void replay_add_event(const struct recording_head *head);
/* A thread's last one so far, by its place in the recording; UINT32_MAX: it has none. */
REPLAY_LOCAL uint32_t replay_last_event(uint32_t thread);

/* ---- play.c ---- */

/* Plays the calls: loads the tool as the vendor's library does, and returns when the last call has ended. 0, or an exit status. */
int replay_play(void);
/* The recording's time now. */
REPLAY_LOCAL uint64_t replay_time(void);
/* The event that is told, or was told last; UINT32_MAX when all have been told. */
REPLAY_LOCAL uint32_t replay_position(void);
/* Gives the tool what was delivered in a phase. */
REPLAY_LOCAL void replay_deliver(enum replay_phase phase);
/* What the thread is being told of: NULL for nothing. */
REPLAY_LOCAL extern __thread const struct replay_event *replay_current;

/* ---- what each vendor's part has ---- */

/* One entry, whose fields are there, of no kind that load.c knows. Ends the process where it is none. */
REPLAY_LOCAL void replay_load(struct recording_head *head);
/* Before the first entry. */
REPLAY_LOCAL void replay_load_begin(void);
/* Loads the tool. */
REPLAY_LOCAL void replay_attach(void);
/* Tells the tool of an event. */
REPLAY_LOCAL void replay_tell(const struct replay_event *event);

#endif
