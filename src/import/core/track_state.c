/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the scheduler's switches into states on tracks: for each thread what it did (running,
 * ready, what it waits in), for each processor the thread that it ran.
 */
#include "track_sink_internal.h"

#include "format/measurement/measurement.h"
#include "system/scheduler.h"

#include <stdio.h>
#include <string.h>

struct sn_sink_states {
	struct sn_track_sink *sink;
	struct sn_track_threads threads;
	struct sn_sched sched;
	uint32_t cpu_key, waker_key, tid_key;
};

static uint32_t child(struct sn_track_sink *sink, uint32_t parent, unsigned kind, const char *name)
{
	return sn_db_builder_context(sink->builder, parent,
				     sn_db_builder_named_frame(sink->builder, kind, name));
}

/* The context that stands for a thread on the tracks of processors. */
static uint32_t thread_context(const struct sn_sink_states *states, uint32_t tid)
{
	struct sn_track_sink *sink = states->sink;
	char text[256];
	uint32_t track = states->threads.track(states->threads.context, tid);
	uint32_t name = track == SONDE_NONE ? SONDE_NONE : sink->tracks[track].name;
	snprintf(text, sizeof(text), "thread %u", tid);
	/* a copy, because the builder's texts move when a string is added */
	if (name != SONDE_NONE)
		snprintf(text, sizeof(text), "%s", sn_db_builder_text(sink->builder, name));
	return child(sink, 0, SN_FRAME_THREAD, text);
}

static uint32_t state_context(struct sn_track_sink *sink, const struct sn_sched_thread *thread)
{
	uint32_t context = child(sink, 0, SN_FRAME_OS, sn_sched_state_name(thread->state));
	return thread->state == SN_SCHED_BLOCKED
		   ? child(sink, context, SN_FRAME_OS, sn_sched_reason(thread->why))
		   : context;
}

static int add_interval(void *context, const struct sn_sched_interval *interval)
{
	const struct sn_sink_states *states = context;
	const struct sn_sched_thread *thread = &interval->thread;
	bool is_processor = interval->processor != UINT32_MAX;
	uint32_t track = is_processor
			     ? sn_track_sink_processor(states->sink, interval->processor)
			     : states->threads.track(states->threads.context, interval->tid);
	struct sn_attribute attribute = {SONDE_NONE, 0, 0};
	if (track == SONDE_NONE)
		return SN_ERR_MEMORY;
	if (is_processor)
		attribute = (struct sn_attribute){states->tid_key, 0, interval->tid};
	else if (thread->state == SN_SCHED_RUNNING)
		attribute = (struct sn_attribute){states->cpu_key, 0, thread->cpu};
	else if (thread->waker)
		attribute = (struct sn_attribute){states->waker_key, 0, thread->waker};
	struct sn_track_event event = {
	    .track = track,
	    .name = is_processor ? thread_context(states, interval->tid)
				 : state_context(states->sink, thread),
	    .start_ns = (int64_t)interval->start_ns,
	    .end_ns = (int64_t)interval->end_ns,
	    .attributes = &attribute,
	    .attribute_count = attribute.key != SONDE_NONE,
	};
	sn_track_sink_add(states->sink, &event, SONDE_TRACK_STATES, SONDE_NONE);
	return 0;
}

static uint32_t make_key(struct sn_track_sink *sink, const char *name)
{
	return sn_track_sink_key(sink, name, strlen(name), SONDE_ATTRIBUTE_UNSIGNED);
}

struct sn_sched *sn_track_sink_scheduler(struct sn_track_sink *sink,
					 const struct sn_track_threads *threads)
{
	if (sink->states)
		return &sink->states->sched;
	struct sn_sink_states *states = calloc(1, sizeof(*states));
	if (!states)
		return NULL;
	*states = (struct sn_sink_states){
	    .sink = sink,
	    .threads = *threads,
	    .sched = {.interval = add_interval, .context = states},
	    .cpu_key = make_key(sink, "cpu"),
	    .waker_key = make_key(sink, "waker"),
	    .tid_key = make_key(sink, "tid"),
	};
	sink->states = states;
	sink->has_thread_time_alone = threads->without_processors;
	return &states->sched;
}

int sn_sink_states_finish(struct sn_track_sink *sink)
{
	int result = sink->states ? sn_sched_finish(&sink->states->sched) : 0;
	sn_sink_states_release(sink);
	return result;
}

void sn_sink_states_release(struct sn_track_sink *sink)
{
	if (sink->states)
		sn_sched_release(&sink->states->sched);
	free(sink->states);
	sink->states = NULL;
}
