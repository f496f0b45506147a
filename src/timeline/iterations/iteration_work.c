/* SPDX-License-Identifier: Apache-2.0 */
/* A device's work in each iteration: the difference between the running totals at its end
 * and its begin. */
#include "iteration_work.h"

#include "base/sort_by.h"
#include "timeline/devices/running.h"

#include <string.h>

/* The begin or the end of an iteration. */
struct edge {
	uint64_t time_ns;
	uint32_t iteration;
	bool is_end;
};

struct sweep {
	const struct sn_iteration *items;
	struct sn_iteration_work *works;
	struct edge *edges; /* sorted by time */
	size_t at, count;
	uint32_t *waiting; /* iterations that began while the device was idle, until it starts */
	size_t waiting_count;
	struct sn_running_set running;
};

SN_SORT_BY(sort_edges, struct edge, const void *,
	   SN_ORDER(a->time_ns, b->time_ns) ?: SN_ORDER(a->is_end, b->is_end) ?:
	   SN_ORDER(a->iteration, b->iteration));

static int prepare(struct sweep *sweep, size_t count)
{
	sweep->edges = malloc((2 * count + 1) * sizeof(*sweep->edges));
	sweep->waiting = malloc((count + 1) * sizeof(*sweep->waiting));
	if (!sweep->edges || !sweep->waiting)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		sweep->edges[sweep->count++] = (struct edge){sweep->items[i].start_ns, i, false};
		sweep->edges[sweep->count++] = (struct edge){sweep->items[i].end_ns, i, true};
	}
	sort_edges(sweep->edges, sweep->count, NULL);
	return 0;
}

static void begin_iteration(struct sweep *sweep, uint32_t number)
{
	struct sn_iteration_work *work = sweep->works + number;
	memcpy(work->times_ns, sweep->running.times_ns, sizeof(work->times_ns));
	work->first_ns = sweep->running.count ? sweep->running.now_ns : UINT64_MAX;
	if (!sweep->running.count)
		sweep->waiting[sweep->waiting_count++] = number;
}

static void end_iteration(struct sweep *sweep, uint32_t number)
{
	struct sn_iteration_work *work = sweep->works + number;
	for (unsigned mask = 0; mask < 1 << SN_WORK_KINDS; mask++)
		work->times_ns[mask] = sweep->running.times_ns[mask] - work->times_ns[mask];
	if (work->first_ns == UINT64_MAX)
		work->first_ns = sweep->items[number].end_ns;
}

/* Handles all begins and ends up to that time. */
static void advance(struct sweep *sweep, uint64_t time_ns)
{
	while (sweep->at < sweep->count && sweep->edges[sweep->at].time_ns <= time_ns) {
		const struct edge *one = sweep->edges + sweep->at++;
		sn_running_end(&sweep->running, one->time_ns);
		sn_running_pass(&sweep->running, one->time_ns);
		(one->is_end ? end_iteration : begin_iteration)(sweep, one->iteration);
	}
	sn_running_end(&sweep->running, time_ns);
}

static int add_operation(void *data, const struct sn_operation *one)
{
	struct sweep *sweep = data;
	advance(sweep, one->start_ns);
	if (one->end_ns <= one->start_ns)
		return 0;
	sn_running_pass(&sweep->running, one->start_ns);
	for (size_t i = 0; i < sweep->waiting_count; i++) {
		struct sn_iteration_work *work = sweep->works + sweep->waiting[i];
		if (work->first_ns == UINT64_MAX)
			work->first_ns = one->start_ns;
	}
	sweep->waiting_count = 0;
	return sn_running_push(&sweep->running, one);
}

int sn_iteration_work(const struct sn_answers *answers, size_t device,
		      const struct sn_iteration *items, size_t count,
		      struct sn_iteration_work *works, struct sn_error *error)
{
	struct sweep sweep = {.items = items, .works = works};
	int result = prepare(&sweep, count)
			 ? sn_fail_memory(error)
			 : sn_device_times_walk(&answers->times, answers->trace, device, SONDE_NONE,
						add_operation, &sweep, error);
	if (!result)
		advance(&sweep, UINT64_MAX);
	sn_running_release(&sweep.running);
	free(sweep.edges);
	free(sweep.waiting);
	return result;
}

size_t sn_iteration_device(const struct sn_answers *answers, const struct sn_iteration *iteration)
{
	const uint32_t *devices;
	size_t count = sn_processes_list(&answers->processes, &answers->processes.devices,
					 iteration->profile, &devices);
	return count ? devices[0] : SIZE_MAX;
}

int sn_iteration_works(const struct sn_answers *answers, struct sn_iteration_work *works,
		       struct sn_error *error)
{
	const struct sn_iterations *all = &answers->iterations;
	int result = 0;
	for (size_t first = 0, next; first < all->count && !result; first = next) {
		size_t device = sn_iteration_device(answers, all->items + first);
		next = sn_iterations_end_of_thread(all, first);
		if (device != SIZE_MAX)
			result = sn_iteration_work(answers, device, all->items + first,
						   next - first, works + first, error);
	}
	return result;
}
