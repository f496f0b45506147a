/* SPDX-License-Identifier: Apache-2.0 */
/* How much work lies ready for devices, and for each of their streams. */
#include "timeline/devices/queue.h"
#include "views.h"

#include <stdio.h>

static void add_row(struct sn_sheet *sheet, const char *place, const char *stream,
		    const struct sn_queue *queue)
{
	sn_sheet_text(sheet, place);
	sn_sheet_text(sheet, stream);
	sn_sheet_numbers(sheet, queue->count, queue->mean, queue->median, queue->p95, queue->most,
			 queue->empty_share, queue->median_delay_ns, queue->p95_delay_ns,
			 queue->unknown_count);
}

static void show_curve(const struct sn_answers *answers, struct sn_page *page, size_t device,
		       const struct sn_queue *queue)
{
	static const struct sn_column columns[] = {{"start_ns", "time", "ns"},
						   {"length", "operations", "1"}};
	char key[40];
	snprintf(key, sizeof(key), "queue_%zu", device);
	struct sn_sheet *sheet =
	    sn_page_table(page, key, columns, "queue of %s", sn_name_device(answers, device).text);
	sheet->shape = SN_SHEET_SERIES;
	double step = (double)(queue->end_ns - queue->start_ns) / SN_QUEUE_STEPS;
	for (int i = 0; i < SN_QUEUE_STEPS; i++)
		sn_sheet_numbers(sheet, (double)(queue->start_ns - answers->start_ns) + i * step,
				 queue->means[i]);
}

static int show_device(const struct sn_answers *answers, size_t number, struct sn_sheet *sheet,
		       struct sn_queue *whole, struct sn_error *error)
{
	const struct sn_device_time *device = answers->times.devices + number;
	struct sn_place_name place = sn_name_device(answers, number);
	char stream[32];
	int result = sn_queue(answers, number, SONDE_NONE, whole, error);
	if (!result)
		add_row(sheet, place.text, "all", whole);
	for (size_t i = 0; i < device->listed_streams && !result; i++) {
		struct sn_queue queue;
		uint32_t profile = device->streams[i];
		result = sn_queue(answers, number, profile, &queue, error);
		snprintf(stream, sizeof(stream), "%u",
			 sonde_db_profile(answers->db, profile)->stream);
		if (!result)
			add_row(sheet, place.text, stream, &queue);
	}
	if (device->listed_streams == SN_DEVICE_STREAMS)
		sn_sheet_leave_out(sheet, device->stream_count - SN_DEVICE_STREAMS);
	return result;
}

int sn_view_queue(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	static const struct sn_column columns[] = {{"device", "device", ""},
						   {"stream", "stream", ""},
						   {"operations", "operations", "count"},
						   {"mean", "mean", "1"},
						   {"median", "median", "count"},
						   {"p95", "95%", "count"},
						   {"max", "most", "count"},
						   {"empty_share", "empty", "ratio"},
						   {"delay_ns", "delay", "ns"},
						   {"p95_delay_ns", "95%", "ns"},
						   {"not_launched", "no launch", "count"}};
	sn_show_inferred(answers, page);
	struct sn_sheet *sheet = sn_page_table(
	    page, "queue", columns, "operations that are launched and have not started, over time");
	struct sn_queue *queues = calloc(answers->times.count + 1, sizeof(*queues));
	int result = queues ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < answers->times.count && !result; i++)
		result = show_device(answers, i, sheet, queues + i, error);
	for (size_t i = 0; i < answers->times.count && !result; i++)
		show_curve(answers, page, i, queues + i);
	free(queues);
	return result;
}
