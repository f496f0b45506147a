/* SPDX-License-Identifier: Apache-2.0 */
/* Records on their way: kept until what they tell of is over, then put into buffers that the subscriber gives. Each subscriber has
 * its own. Adding is cheap, for what it costs is taken for CUPTI's. */
#ifndef FAKE_BUFFERS_H
#define FAKE_BUFFERS_H

#include "release.h"

#include <pthread.h>

/* The first is that of all functions without a subscriber (v1). */
#define FAKE_MOST_SUBSCRIBERS 4

struct fake_chunk;

struct fake_queue {
	pthread_mutex_t lock;
	pthread_mutex_t giving; /* taken before the other */
	pthread_cond_t many;
	/* with `lock`: what was added since the last giving, in order, and chunks to be filled again */
	struct fake_chunk *added, *adding, *empty;
	size_t bytes_waiting; /* of all that is not given */
	bool is_running;
	/* with `giving` */
	struct fake_chunk *kept; /* in order, what was not over the last time */
	uint8_t *buffer;
	size_t size, used;
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	CUpti_BuffersCallbackRequestFunc_v2 request_v2;
	CUpti_BuffersCallbackCompleteFunc_v2 complete_v2;
	_Atomic size_t lost; /* subscribers ask for it as they take a buffer */
};

FAKE_LOCAL void fake_queue_begin(struct fake_queue *queue);
/* Copies a record, as long as the release has it, as one of that kind. What is over at `end_ns`, 0 for now, is given away no sooner, unless
 * it is forced. MT: yes. */
FAKE_LOCAL void fake_queue_add(struct fake_queue *queue, CUpti_ActivityKind kind,
			       const void *record, size_t bytes, uint64_t end_ns);
/* The subscriber is asked for its first buffer when there is something to tell. Without locks. */
FAKE_LOCAL void fake_queue_open(struct fake_queue *queue);
FAKE_LOCAL void fake_queue_flush(struct fake_queue *queue, bool is_forced);
/* On the clock that the subscriber chose: the real time, or what its callback says. */
FAKE_LOCAL uint64_t fake_cupti_time(uint64_t ns);
/* How often a clock was registered. */
FAKE_LOCAL unsigned fake_cupti_clocks(void);
/* Generated: of the runtime's and the driver's functions; NULL where there is none. */
FAKE_LOCAL const char *fake_call_name(int domain, uint32_t cbid);

#endif
