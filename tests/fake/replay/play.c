/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order and time. One event at a time is told, by the thread that stands for the one that it came in. It is told when as much time
 * has passed since the first as in the recording. Where this machine is late, the recording's time waits, and catches up only after the
 * next delivery: so no record seems to begin before its call, and what is measured does not depend on how busy the machine is. An operation
 * may lie later in a trace by as much as the machine was late.
 */
#include "play.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__thread const struct replay_event *replay_current;

static const struct replay *recording;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t turn;	      /* the event that is next */
static pthread_cond_t *turns; /* of each thread */
static _Atomic uint32_t position;

uint32_t replay_position(void)
{
	return position;
}

/* ---- time ---- */

static struct {
	uint64_t told_ns,
	    next_ns;	/* of the recording: of what was told last, and of what comes next */
	uint64_t at_ns; /* ours, when it was told */
} now;

static pthread_mutex_t time_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t our_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t replay_time(void)
{
	pthread_mutex_lock(&time_lock);
	uint64_t time = now.told_ns + (our_ns() - now.at_ns);
	if (time > now.next_ns)
		time = now.next_ns;
	pthread_mutex_unlock(&time_lock);
	return time;
}

/* It is told now, and the next one then. */
static void set_time(uint64_t told_ns, uint64_t next_ns)
{
	pthread_mutex_lock(&time_lock);
	now.told_ns = told_ns > now.told_ns ? told_ns : now.told_ns;
	now.next_ns = next_ns > now.told_ns ? next_ns : now.told_ns;
	now.at_ns = our_ns();
	pthread_mutex_unlock(&time_lock);
}

/* So much earlier than is due an event may be told: what sleeping takes too long must not add up. */
#define EARLY_NS 400000

static uint64_t first_ns, first_at_ns; /* the recording's first event, and ours when it was told */
static int64_t latest_ns;	       /* how late events since the last delivery were at most */

static int64_t late_ns(uint64_t vendor_ns)
{
	return (int64_t)(our_ns() - first_at_ns) - (int64_t)(vendor_ns - first_ns);
}

/* By who has the turn, or delivers when all have had theirs. */
static void wait_for(const struct replay_event *event)
{
	int64_t late;
	while ((late = late_ns(event->vendor_ns)) < latest_ns - EARLY_NS) {
		uint64_t left = (uint64_t)(latest_ns - EARLY_NS - late);
		nanosleep(
		    &(struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)},
		    NULL);
	}
	latest_ns = late > latest_ns ? late : latest_ns;
	if (event->head->kind == RECORDING_OF_buffer || event->head->kind == RECORDING_OF_records)
		latest_ns = 0;
}

/* ---- order ---- */

/* The next one of those that run, from `index` on. */
static uint32_t next_run(uint32_t index)
{
	while (index < recording->count && recording->events[index].phase != REPLAY_RUNS)
		index++;
	return index;
}

static void tell(uint32_t index)
{
	const struct replay_event *event = &recording->events[index];
	uint32_t next = next_run(index + 1);
	wait_for(event);
	set_time(event->vendor_ns,
		 next < recording->count ? recording->events[next].vendor_ns : UINT64_MAX);
	replay_current = event;
	position = index;
	replay_tell(event);
	replay_current = NULL;
	pthread_mutex_lock(&lock);
	turn = next;
	if (next < recording->count)
		pthread_cond_signal(&turns[recording->events[next].thread]);
	pthread_mutex_unlock(&lock);
}

/* Every event of one thread, each when it is its turn. */
static void *run(void *number)
{
	uint32_t thread = (uint32_t)(uintptr_t)number;
	for (uint32_t index = next_run(0); index < recording->count; index = next_run(index + 1)) {
		if (recording->events[index].thread != thread)
			continue;
		pthread_mutex_lock(&lock);
		while (turn != index)
			pthread_cond_wait(&turns[thread], &lock);
		pthread_mutex_unlock(&lock);
		tell(index);
	}
	return NULL;
}

static bool has_events(uint32_t thread)
{
	for (uint32_t index = next_run(0); index < recording->count; index = next_run(index + 1))
		if (recording->events[index].thread == thread)
			return true;
	return false;
}

void replay_deliver(enum replay_phase phase)
{
	for (uint32_t index = 0; index < recording->count; index++) {
		const struct replay_event *event = &recording->events[index];
		if (event->phase != phase)
			continue;
		wait_for(event);
		set_time(event->vendor_ns, UINT64_MAX);
		replay_current = event;
		replay_tell(event);
		replay_current = NULL;
	}
}

/* The program ends as long after its last call as the first delivery shows that its end asked for: else that would seem to hang. */
static void wait_for_end(void)
{
	uint32_t index = 0;
	while (index < recording->count && recording->events[index].phase == REPLAY_RUNS)
		index++;
	if (index < recording->count)
		wait_for(&recording->events[index]);
}

/* ---- the whole ---- */

/* The first thread of the recording, which was the first to call the device, is this one. */
int replay_play(void)
{
	recording = replay_recording();
	pthread_t *threads = calloc(recording->threads + 1, sizeof(*threads));
	turns = calloc(recording->threads + 1, sizeof(*turns));
	if (!threads || !turns)
		return 128;
	for (uint32_t thread = 0; thread <= recording->threads; thread++)
		pthread_cond_init(&turns[thread], NULL);
	turn = next_run(0);
	if (turn < recording->count) {
		first_ns = recording->events[turn].vendor_ns;
		set_time(first_ns, first_ns);
	}
	replay_attach();
	first_at_ns = our_ns();
	for (uint32_t thread = 2; thread <= recording->threads; thread++)
		if (has_events(thread) &&
		    pthread_create(&threads[thread], NULL, run, (void *)(uintptr_t)thread)) {
			fprintf(stderr, "replay: a thread cannot be made\n");
			return 128;
		}
	run((void *)(uintptr_t)1);
	for (uint32_t thread = 2; thread <= recording->threads; thread++)
		if (threads[thread])
			pthread_join(threads[thread], NULL);
	position = UINT32_MAX;
	wait_for_end();
	free(threads);
	return 0;
}
