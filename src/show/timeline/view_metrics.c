/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of devices over time. */
#include "timeline/devices/metrics.h"
#include "views.h"

#include <stdio.h>

static void show_curve(const struct sn_answers *answers, struct sn_page *page, size_t number,
		       const struct sn_device_metric *one)
{
	const struct sonde_db_metric *metric = sonde_db_metric(answers->db, one->metric);
	struct sn_column columns[] = {{"start_ns", "time", "ns"}, {"value", "value", ""}};
	char key[40];
	snprintf(columns[1].unit, sizeof(columns[1].unit), "%s",
		 sonde_db_string(answers->db, metric->unit));
	snprintf(key, sizeof(key), "metric_%zu", number);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, key, "%s of %s", sonde_db_string(answers->db, metric->name),
			  sn_name_stream_device(answers, one->profile).text);
	sheet->shape = SN_SHEET_SERIES;
	sn_sheet_columns(sheet, columns, 2);
	double step = (double)(one->end_ns - one->start_ns) / SN_DEVICE_METRIC_STEPS;
	for (int i = 0; i < SN_DEVICE_METRIC_STEPS; i++)
		sn_sheet_numbers(sheet, (double)(one->start_ns - answers->start_ns) + i * step,
				 one->means[i]);
}

int sn_view_metrics(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	static const struct sn_column columns[] = {
	    {"device", "device", ""}, {"metric", "metric", ""},
	    {"unit", "in", ""},	      {"samples", "samples", "count"},
	    {"mean", "mean", "1"},    {"computing_mean", "computing", "1"},
	    {"min", "least", "1"},    {"max", "most", "1"}};
	const struct sonde_db *db = answers->db;
	struct sn_device_metrics metrics;
	int result = sn_device_metrics(answers, &metrics, error);
	struct sn_sheet *sheet =
	    sn_page_table(page, "metrics", columns, "metrics of devices over time");
	sheet->is_whole = metrics.count < SN_SHEET_WHOLE;
	for (size_t i = 0; i < metrics.count && !result; i++) {
		const struct sn_device_metric *one = metrics.items + i;
		const struct sonde_db_metric *metric = sonde_db_metric(db, one->metric);
		sn_sheet_text(sheet, sn_name_stream_device(answers, one->profile).text);
		sn_sheet_text(sheet, sonde_db_string(db, metric->name));
		sn_sheet_text(sheet, sonde_db_string(db, metric->unit));
		sn_sheet_numbers(sheet, (double)one->count, one->mean, one->computing_mean,
				 one->least, one->most);
	}
	if (!result && metrics.count)
		sn_sheet_note(sheet, "computing: while kernels ran, where they are recorded");
	else if (!result)
		sn_sheet_note(sheet, "no metrics are recorded: sonde run does with --gpu-metrics");
	for (size_t i = 0; i < metrics.count && !result; i++)
		show_curve(answers, page, i, metrics.items + i);
	free(metrics.items);
	return result;
}
