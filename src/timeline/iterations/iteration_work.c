/* SPDX-License-Identifier: Apache-2.0 */
/* Times since the beginning at each begin and end, and their difference; see iteration_work.h. */
#include "iteration_work.h"

#include <string.h>

/* An iteration begins or ends. */
struct edge {
	uint64_t time_ns;
	uint32_t iteration;
	bool is_end;
};

struct sweep {
	const struct sn_iteration *items;
	struct sn_iteration_work *works;
	struct edge *edges; /* in order of time */
	size_t at, count;
	uint32_t *waiting; /* iterations that began while the device did nothing */
	size_t waiting_count;
	struct sn_running_set running;
	uint64_t now_ns, times_ns[1 << SN_WORK_KINDS];
};

static int compare(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->is_end != b->is_end)
		return a->is_end ? 1 : -1;
	return (a->iteration > b->iteration) - (a->iteration < b->iteration);
}

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
	qsort(sweep->edges, sweep->count, sizeof(*sweep->edges), compare);
	return 0;
}

static void pass(struct sweep *sweep, uint64_t time_ns)
{
	unsigned mask = 0;
	for (unsigned work = 0; work < SN_WORK_KINDS; work++)
		mask |= sweep->running.counts[work] ? 1u << work : 0;
	sweep->times_ns[mask] += time_ns - sweep->now_ns;
	sweep->now_ns = time_ns;
}

static void begin_iteration(struct sweep *sweep, uint32_t number)
{
	struct sn_iteration_work *work = sweep->works + number;
	memcpy(work->times_ns, sweep->times_ns, sizeof(work->times_ns));
	work->first_ns = sweep->running.count ? sweep->now_ns : UINT64_MAX;
	if (!sweep->running.count)
		sweep->waiting[sweep->waiting_count++] = number;
}

static void end_iteration(struct sweep *sweep, uint32_t number)
{
	struct sn_iteration_work *work = sweep->works + number;
	for (unsigned mask = 0; mask < 1 << SN_WORK_KINDS; mask++)
		work->times_ns[mask] = sweep->times_ns[mask] - work->times_ns[mask];
	if (work->first_ns == UINT64_MAX)
		work->first_ns = sweep->items[number].end_ns;
}

/* All that ends or begins up to that time. */
static void advance(struct sweep *sweep, uint64_t time_ns)
{
	for (;;) {
		struct sn_running_set *running = &sweep->running;
		uint64_t end = running->count ? running->heap[0].end_ns : UINT64_MAX;
		uint64_t edge =
		    sweep->at < sweep->count ? sweep->edges[sweep->at].time_ns : UINT64_MAX;
		bool is_operation = running->count && end <= edge;
		if ((!running->count && sweep->at == sweep->count) ||
		    (is_operation ? end : edge) > time_ns)
			break;
		pass(sweep, is_operation ? end : edge);
		if (is_operation) {
			sn_running_pop(running);
			continue;
		}
		const struct edge *one = sweep->edges + sweep->at++;
		(one->is_end ? end_iteration : begin_iteration)(sweep, one->iteration);
	}
}

static int take(struct sweep *sweep, const struct sn_operation *one)
{
	advance(sweep, one->start_ns);
	if (one->end_ns <= one->start_ns)
		return 0;
	pass(sweep, one->start_ns);
	for (size_t i = 0; i < sweep->waiting_count; i++) {
		struct sn_iteration_work *work = sweep->works + sweep->waiting[i];
		if (work->first_ns == UINT64_MAX)
			work->first_ns = one->start_ns;
	}
	sweep->waiting_count = 0;
	return sn_running_push(&sweep->running, one->end_ns, one->work);
}

int sn_iteration_work(const struct sn_answers *answers, size_t device,
		      const struct sn_iteration *items, size_t count,
		      struct sn_iteration_work *works, struct sn_error *error)
{
	struct sweep sweep = {.items = items, .works = works};
	struct sn_operations *operations =
	    sn_device_times_read(&answers->times, answers->trace, device, SONDE_NONE);
	struct sn_operation one;
	int result = operations && !prepare(&sweep, count)
			 ? 1
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (result > 0 && (result = sn_operations_next(operations, &one, error)) > 0)
		if (take(&sweep, &one))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		advance(&sweep, UINT64_MAX);
	sn_operations_free(operations);
	free(sweep.running.heap);
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
