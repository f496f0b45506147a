/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of rocprofiler-sdk. */
#ifndef REPLAY_SDK_H
#define REPLAY_SDK_H

#include "play.h"
#include "../../../src/collect/adapters/rocm/rocprofiler_samples.h"

#define REPLAY_KINDS	  32   /* of callbacks, and of records */
#define REPLAY_OPERATIONS 2048 /* of HIP */
#define REPLAY_AGENTS	  64
#define REPLAY_PAYLOAD	  1024
#define REPLAY_COUNTERS	  16384 /* of all agents */
#define REPLAY_CONFIGS	  512
#define REPLAY_STATUSES	  64

/* What comes when the recorder has stopped counting, and while it does. */
#define REPLAY_STOPS_COUNTING (REPLAY_FLUSH + RECORDING_PART_COUNTERS)
#define REPLAY_COUNTS_NO_MORE (REPLAY_STOPS_COUNTING + 1)

/* What a call of the recorder's answered. */
struct replay_service {
	const struct recording_service *recorded;
	const char *name;
	struct replay_service *next;
};

struct replay_sdk {
	uint32_t version;
	const char *names[REPLAY_OPERATIONS]; /* of HIP's functions */
	const void *agents[REPLAY_AGENTS];
	uint64_t agent_sizes[REPLAY_AGENTS];
	uint32_t agent_count;
	struct replay_service *services; /* the last one first */
	/* by agent */
	const struct recording_offers *offers[REPLAY_AGENTS];
	const struct recording_asked *asked[REPLAY_AGENTS];
	uint32_t offer_count, asked_count;
	const struct recording_counter
	    *counters[REPLAY_COUNTERS]; /* each is followed by its name */
	const struct recording_configured *configs[REPLAY_CONFIGS];
	const struct recording_status *statuses[REPLAY_STATUSES]; /* each is followed by its text */
	uint32_t counter_count, config_count, status_count;
};

/* load_sdk.c: of the recording, which is read now if it has not been. */
REPLAY_LOCAL const struct replay_sdk *replay_sdk(void);
/* What the last such call answered; `otherwise` where it was not called. Does not return where that did not. */
REPLAY_LOCAL int32_t replay_answer(const char *name, uint32_t part, int32_t kind,
				   int32_t otherwise);

/* ---- sdk.c: what the tool has asked for ---- */

/* False: there is no such context or buffer. */
REPLAY_LOCAL bool replay_sample_into(uint64_t context, uint64_t buffer);

/* Whether the context has been active, and its number of the recorder's contexts. */
REPLAY_LOCAL bool replay_was_active(uint64_t context);
REPLAY_LOCAL uint32_t replay_part_of(uint64_t context);

/* ---- sdk_counters.c ---- */

/* A kernel is queued, or was counted. */
REPLAY_LOCAL void replay_tell_counting(const struct recording_head *head);

#endif
