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
	sn_sheet_number(sheet, (double)queue->count);
	sn_sheet_number(sheet, queue->mean);
	sn_sheet_number(sheet, (double)queue->median);
	sn_sheet_number(sheet, (double)queue->p95);
	sn_sheet_number(sheet, (double)queue->most);
	sn_sheet_number(sheet, queue->empty_share);
	sn_sheet_number(sheet, (double)queue->median_delay_ns);
	sn_sheet_number(sheet, (double)queue->p95_delay_ns);
	sn_sheet_number(sheet, (double)queue->unknown_count);
}

static struct sn_sheet *make_sheet(struct sn_page *page)
{
	struct sn_sheet *sheet = sn_page_sheet(
	    page, "queue", "operations that are launched and have not started, over time");
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "stream", "stream", "");
	sn_sheet_column(sheet, "operations", "operations", "count");
	sn_sheet_column(sheet, "mean", "mean", "1");
	sn_sheet_column(sheet, "median", "median", "count");
	sn_sheet_column(sheet, "p95", "95%", "count");
	sn_sheet_column(sheet, "max", "most", "count");
	sn_sheet_column(sheet, "empty_share", "empty", "ratio");
	sn_sheet_column(sheet, "delay_ns", "delay", "ns");
	sn_sheet_column(sheet, "p95_delay_ns", "95%", "ns");
	sn_sheet_column(sheet, "not_launched", "no launch", "count");
	return sheet;
}

static void add_series(const struct sn_answers *answers, struct sn_page *page, size_t device,
		       const struct sn_queue *queue)
{
	char place[SN_PLACE_CHARS], key[40];
	snprintf(key, sizeof(key), "queue_%zu", device);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, key, "queue of %s", sn_name_device(answers, device, place));
	sheet->shape = SN_SHEET_SERIES;
	sn_sheet_column(sheet, "start_ns", "time", "ns");
	sn_sheet_column(sheet, "length", "operations", "1");
	double step = (double)(queue->end_ns - queue->start_ns) / SN_QUEUE_STEPS;
	for (int i = 0; i < SN_QUEUE_STEPS; i++) {
		sn_sheet_number(sheet, (double)(queue->start_ns - answers->start_ns) + i * step);
		sn_sheet_number(sheet, (double)queue->means[i]);
	}
}

static int show_device(const struct sn_answers *answers, size_t number, struct sn_sheet *sheet,
		       struct sn_queue *whole, struct sn_error *error)
{
	const struct sn_device_time *device = answers->times.devices + number;
	char place[SN_PLACE_CHARS], stream[32];
	int result = sn_queue(answers, number, SONDE_NONE, whole, error);
	if (!result)
		add_row(sheet, sn_name_device(answers, number, place), "all", whole);
	for (size_t i = 0; i < device->listed_streams && !result; i++) {
		struct sn_queue queue;
		uint32_t profile = device->streams[i];
		result = sn_queue(answers, number, profile, &queue, error);
		snprintf(stream, sizeof(stream), "%u",
			 sonde_db_profile(answers->db, profile)->stream);
		if (!result)
			add_row(sheet, place, stream, &queue);
	}
	if (device->listed_streams == SN_DEVICE_STREAMS)
		sn_sheet_leave_out(sheet, device->stream_count - SN_DEVICE_STREAMS);
	return result;
}

int sn_view_queue(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	sn_show_inferred(answers, page);
	struct sn_sheet *sheet = make_sheet(page);
	struct sn_queue *queues = calloc(answers->times.count + 1, sizeof(*queues));
	int result = queues ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < answers->times.count && !result; i++)
		result = show_device(answers, i, sheet, queues + i, error);
	for (size_t i = 0; i < answers->times.count && !result; i++)
		add_series(answers, page, i, queues + i);
	free(queues);
	return result;
}
