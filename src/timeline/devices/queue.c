/* SPDX-License-Identifier: Apache-2.0 */
/* The length of a device's queue over time, from launches and starts, sorted
 * separately and merged. */
#include "queue.h"

#include <stdbool.h>
#include <stdlib.h>

enum { LENGTHS = 1 << 16 }; /* longer queues count as this length in quantiles */

struct times {
	struct sn_external_sort launches, starts, delays;
	uint64_t *at_length; /* by length: time */
	struct sn_launches *all_launches;
	struct sn_queue *queue;
	struct sn_error *error;
};

static int add_operation(void *data, const struct sn_operation *one)
{
	struct times *times = data;
	struct sn_queue *queue = times->queue;
	const struct sn_launch *launch = sn_launches_find(times->all_launches, one->link);
	if (!queue->count && !queue->unknown_count)
		queue->start_ns = one->start_ns;
	queue->end_ns = one->end_ns > queue->end_ns ? one->end_ns : queue->end_ns;
	/* the device's clock may be ahead of the host's */
	if (!launch || launch->start_ns > one->start_ns) {
		queue->unknown_count++;
		return 0;
	}
	uint64_t launched_ns = launch->start_ns, delay = one->start_ns - launched_ns;
	queue->count++;
	return sn_external_sort_add(&times->launches, &launched_ns, times->error) ?:
	       sn_external_sort_add(&times->starts, &one->start_ns, times->error) ?:
	       sn_external_sort_add(&times->delays, &delay, times->error);
}

/* Accounts for the time from `from` to `to`, in which the queue had this length. */
static void pass(struct times *times, uint64_t length, uint64_t from, uint64_t to)
{
	struct sn_queue *queue = times->queue;
	from = from > queue->start_ns ? from : queue->start_ns;
	if (to <= from)
		return;
	double whole = (double)(queue->end_ns - queue->start_ns);
	queue->most = length > queue->most ? length : queue->most;
	times->at_length[length < LENGTHS ? length : LENGTHS - 1] += to - from;
	queue->mean += (double)length * (double)(to - from) / whole;
	double step = whole / SN_QUEUE_STEPS;
	double first = (double)(from - queue->start_ns) / step,
	       last = (double)(to - queue->start_ns) / step;
	for (int i = (int)first; i < SN_QUEUE_STEPS && i < last; i++) {
		double begin = first > i ? first : i, end = last < i + 1 ? last : i + 1;
		if (length && end > begin)
			queue->means[i] += (float)((double)length * (end - begin));
	}
}

static int sweep(struct times *times, struct sn_error *error)
{
	uint64_t length = 0, now = 0, launch = 0, start = 0;
	int has_launch = sn_external_sort_next(&times->launches, &launch, error);
	int has_start = sn_external_sort_next(&times->starts, &start, error);
	while (has_start > 0 && has_launch >= 0) {
		bool launches = has_launch && launch <= start;
		uint64_t time = launches ? launch : start;
		if (time > now)
			pass(times, length, now, time);
		now = time;
		length = launches ? length + 1 : length - 1;
		if (launches)
			has_launch = sn_external_sort_next(&times->launches, &launch, error);
		else
			has_start = sn_external_sort_next(&times->starts, &start, error);
	}
	pass(times, 0, now, times->queue->end_ns);
	return has_start < 0 ? has_start : has_launch < 0 ? has_launch : 0;
}

static uint64_t quantile(const struct times *times, uint64_t whole, double share)
{
	uint64_t below = 0;
	for (uint64_t i = 0; i < LENGTHS; i++) {
		below += times->at_length[i];
		if ((double)below >= share * (double)whole)
			return i;
	}
	return LENGTHS;
}

static int find_delays(struct times *times, struct sn_error *error)
{
	struct sn_queue *queue = times->queue;
	uint64_t delay;
	for (size_t i = 0; i < queue->count && i <= queue->count * 95 / 100; i++) {
		int result = sn_external_sort_next(&times->delays, &delay, error);
		if (result < 0)
			return result;
		if (i == queue->count / 2)
			queue->median_delay_ns = delay;
		queue->p95_delay_ns = delay;
	}
	return 0;
}

int sn_queue(const struct sn_answers *answers, size_t device, uint32_t profile,
	     struct sn_queue *queue, struct sn_error *error)
{
	struct times times = {.at_length = calloc(LENGTHS, sizeof(uint64_t)),
			      .all_launches = answers->launches,
			      .queue = queue,
			      .error = error};
	struct sn_external_sort *const all[] = {&times.launches, &times.starts, &times.delays};
	*queue = (struct sn_queue){0};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sn_external_sort_init(all[i], 1, 1, sn_answers_sorting(answers));
	int result = times.at_length ? sn_device_times_walk(&answers->times, answers->trace, device,
							    profile, add_operation, &times, error)
				     : sn_fail_memory(error);
	result = result ?: sn_launches_check(answers->launches, error);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !result; i++)
		result = sn_external_sort_finish(all[i], error);
	result = result ?: sweep(&times, error) ?: find_delays(&times, error);
	if (!result) {
		uint64_t whole = queue->end_ns - queue->start_ns;
		queue->empty_share = whole ? (double)times.at_length[0] / (double)whole : 0;
		queue->median = quantile(&times, whole, 0.5);
		queue->p95 = quantile(&times, whole, 0.95);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sn_external_sort_release(all[i]);
	free(times.at_length);
	return result;
}
