/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of CUPTI. */
#ifndef REPLAY_CUPTI_H
#define REPLAY_CUPTI_H

#include "play.h"
#include "../../../src/collect/adapters/cuda/cupti_samples.h"

#define REPLAY_DOMAINS 8
#define REPLAY_CBIDS   2048
#define REPLAY_KINDS   128
#define REPLAY_REASONS 512

struct replay_cupti {
	uint32_t version;
	const char *holder; /* "" */
	const char *names[REPLAY_DOMAINS][REPLAY_CBIDS];
	uint32_t lengths[REPLAY_KINDS]; /* of records; 0: none came */
	int32_t enabled[REPLAY_KINDS]; /* what enabling a kind answered; -1: it was not asked for */
	int32_t subscribed;	       /* what subscribing answered */
	int32_t flushed[REPLAY_FLUSHES]; /* -1: it did not return */
	uint32_t flushes;
};

/* load_cupti.c: of the recording, which is read now if it has not been. */
REPLAY_LOCAL const struct replay_cupti *replay_cupti(void);

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

#endif
