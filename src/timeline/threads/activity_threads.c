/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process side by side: a heap of threads by the time of their next change. */
#include "activity_flow.h"

#include "base/heap.h"
#include "lib/db/trace_reader.h"

#include <stdlib.h>

struct thread {
	struct sn_activity_flow flow;
	struct sn_activity_part now, next; /* the part it is in, if is_in; the one after */
	uint64_t change_ns;
	bool is_in;
};

struct sn_activity_threads {
	struct thread *threads;
	struct sn_activity_lanes *lanes; /* of each thread */
	size_t count;
	uint32_t *heap; /* of threads that have not ended, by next change */
	size_t heap_count;
	struct sonde_event_cursor *reader; /* of all threads */
	struct sn_activity_part ended;
};

SN_HEAP(changes, uint32_t, const struct sn_activity_threads *,
	of->threads[*a].change_ns != of->threads[*b].change_ns
	    ? of->threads[*a].change_ns < of->threads[*b].change_ns
	    : *a < *b);

static int begin(struct sn_activity_threads *all, const struct sn_processes *processes,
		 bool has_samples, struct sn_error *error)
{
	struct sn_event_window window = {0, UINT64_MAX, SONDE_EVENTS_BRIEF, all->reader};
	uint64_t each_ns = 0;
	if (has_samples) {
		int result = sn_activity_flow_distance(processes->trace, all->lanes, all->count,
						       &each_ns, error);
		if (result)
			return result;
		each_ns = each_ns ? each_ns : 1; /* even one sample tells what the thread did */
	}
	for (size_t i = 0; i < all->count; i++) {
		struct thread *thread = all->threads + i;
		int result = sn_activity_flow_init(&thread->flow, processes->db, processes->trace,
						   all->lanes + i, each_ns, &window, error);
		if (!result)
			result = sn_activity_flow_next(&thread->flow, &thread->next, error);
		if (result < 0)
			return result;
		thread->change_ns = thread->next.start_ns;
		if (result)
			all->heap[all->heap_count++] = (uint32_t)i;
	}
	changes_build(all->heap, all->heap_count, all);
	return 0;
}

int sn_activity_threads_open(const struct sn_processes *processes, uint32_t profile,
			     bool with_samples, struct sn_activity_threads **threads,
			     struct sn_error *error)
{
	struct sn_activity_threads *all = *threads = calloc(1, sizeof(*all));
	if (!all)
		return sn_fail_memory(error);
	all->lanes = sn_activity_lanes(processes, profile, with_samples, &all->count);
	all->threads = calloc(all->count + 1, sizeof(*all->threads));
	all->heap = calloc(all->count + 1, sizeof(*all->heap));
	all->reader = sn_event_reader_new(processes->trace);
	if (!all->reader || !all->lanes || !all->threads || !all->heap)
		return sn_fail_memory(error);
	return begin(all, processes, with_samples, error);
}

void sn_activity_threads_free(struct sn_activity_threads *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count && all->threads; i++)
		sn_activity_flow_release(&all->threads[i].flow);
	sn_activity_lanes_free(all->lanes);
	sonde_event_cursor_free(all->reader);
	free(all->threads);
	free(all->heap);
	free(all);
}

size_t sn_activity_threads_count(const struct sn_activity_threads *all)
{
	return all->count;
}

size_t sn_activity_threads_find(const struct sn_activity_threads *all, uint32_t profile)
{
	return sn_activity_lanes_find(all->lanes, all->count, profile);
}

uint64_t sn_activity_threads_peek(const struct sn_activity_threads *all)
{
	return all->heap_count ? all->threads[all->heap[0]].change_ns : UINT64_MAX;
}

/* Ends the current part; the next one begins now or after a silence. */
static int end_part(struct sn_activity_threads *all, struct thread *thread, struct sn_error *error)
{
	uint64_t time_ns = thread->change_ns;
	all->ended = thread->now;
	int result = sn_activity_flow_next(&thread->flow, &thread->next, error);
	if (result < 0)
		return result;
	thread->is_in = false;
	thread->change_ns = thread->next.start_ns > time_ns ? thread->next.start_ns : time_ns;
	if (!result)
		all->heap[0] = all->heap[--all->heap_count];
	return result;
}

int sn_activity_threads_next(struct sn_activity_threads *all, struct sn_activity_change *change,
			     struct sn_error *error)
{
	if (!all->heap_count)
		return 0;
	uint32_t number = all->heap[0];
	struct thread *thread = all->threads + number;
	int result = 1;
	*change = (struct sn_activity_change){.time_ns = thread->change_ns, .thread = number};
	if (thread->is_in) {
		result = end_part(all, thread, error);
		if (result < 0)
			return result;
		change->ended = &all->ended;
	}
	if (result && thread->change_ns == change->time_ns) {
		thread->now = thread->next;
		thread->is_in = true;
		thread->change_ns = thread->now.end_ns;
		change->begun = &thread->now;
	}
	changes_sink(all->heap, all->heap_count, 0, all);
	return 1;
}
