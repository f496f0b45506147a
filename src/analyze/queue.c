/* SPDX-License-Identifier: Apache-2.0 */
/* Launches and starts, each sorted, and merged; see queue.h. */
#include "queue.h"

#include <stdbool.h>
#include <stdlib.h>

enum { LENGTHS = 1 << 16 }; /* longer queues are counted as that long in quantiles */

struct times {
	uint64_t *launches, *starts, *delays;
	uint64_t *at_length; /* time at each length */
};

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static void collect(const struct sn_operations *operations,
		    const struct sn_device_operations *device, uint32_t profile,
		    struct times *times, struct sn_queue *queue)
{
	for (size_t i = 0; i < device->count; i++) {
		const struct sn_operation *one = device->items + i;
		const struct sn_launch *launch = sn_operation_launch(operations, one);
		if (profile != SONDE_NONE && one->profile != profile)
			continue;
		if (!queue->count && !queue->unknown_count)
			queue->start_ns = one->start_ns;
		queue->end_ns = one->end_ns > queue->end_ns ? one->end_ns : queue->end_ns;
		/* clocks of a device may run ahead of the host's */
		if (!launch || launch->start_ns > one->start_ns) {
			queue->unknown_count++;
			continue;
		}
		times->launches[queue->count] = launch->start_ns;
		times->starts[queue->count] = one->start_ns;
		times->delays[queue->count++] = one->start_ns - launch->start_ns;
	}
}

/* The length has been what it is from `from` to `to`. */
static void pass(struct sn_queue *queue, struct times *times, uint64_t length, uint64_t from,
		 uint64_t to)
{
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

static void sweep(struct sn_queue *queue, struct times *times)
{
	uint64_t length = 0, now = 0;
	size_t launched = 0, started = 0;
	while (started < queue->count) {
		bool launches =
		    launched < queue->count && times->launches[launched] <= times->starts[started];
		uint64_t time = launches ? times->launches[launched] : times->starts[started];
		if (time > now)
			pass(queue, times, length, now, time);
		now = time;
		launched += launches;
		started += !launches;
		length = launches ? length + 1 : length - 1;
	}
	pass(queue, times, 0, now, queue->end_ns);
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

int sn_queue(const struct sn_operations *operations, const struct sn_device_operations *device,
	     uint32_t profile, struct sn_queue *queue)
{
	size_t most = device->count + 1;
	struct times times = {malloc(most * sizeof(uint64_t)), malloc(most * sizeof(uint64_t)),
			      malloc(most * sizeof(uint64_t)), calloc(LENGTHS, sizeof(uint64_t))};
	*queue = (struct sn_queue){0};
	bool has_memory = times.launches && times.starts && times.delays && times.at_length;
	if (has_memory) {
		collect(operations, device, profile, &times, queue);
		uint64_t whole = queue->end_ns - queue->start_ns;
		qsort(times.launches, queue->count, sizeof(uint64_t), compare);
		qsort(times.starts, queue->count, sizeof(uint64_t), compare);
		qsort(times.delays, queue->count, sizeof(uint64_t), compare);
		sweep(queue, &times);
		queue->empty_share = whole ? (double)times.at_length[0] / (double)whole : 0;
		queue->median = quantile(&times, whole, 0.5);
		queue->p95 = quantile(&times, whole, 0.95);
		if (queue->count) {
			queue->median_delay_ns = times.delays[queue->count / 2];
			queue->p95_delay_ns = times.delays[queue->count * 95 / 100];
		}
	}
	free(times.launches);
	free(times.starts);
	free(times.delays);
	free(times.at_length);
	return has_memory ? 0 : SN_ERR_MEMORY;
}
