/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values of each metric of a device, and walks the device's operations beside them. */
#include "metrics.h"

#include "base/vec.h"
#include "timeline/track_blocks.h"

#include <math.h>
#include <string.h>

struct value {
	uint64_t start_ns;
	double value;
};

struct reading {
	const struct sonde_db *db;
	const struct sonde_trace *trace;
	struct value *values;
	size_t count, capacity;
};

/* ---- values ---- */

/* Whole numbers and fractions have attributes of one name and two types. */
static int add_values(struct reading *reading, uint32_t key, struct sonde_event_cursor *cursor,
		      const struct sonde_event_block *block)
{
	struct sonde_attribute_column column;
	bool is_real = sonde_trace_key(reading->trace, key)->type == SONDE_ATTRIBUTE_REAL;
	if (!sonde_event_cursor_attribute(cursor, key, &column))
		return 0;
	for (size_t i = 0; i < block->count; i++) {
		struct value value = {block->starts_ns[i], (double)(int64_t)column.values[i]};
		if (is_real)
			memcpy(&value.value, column.values + i, sizeof(value.value));
		if ((!column.is_present || column.is_present[i]) &&
		    sn_vec_push(&reading->values, &reading->capacity, &reading->count, value))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int read_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct reading *reading = data;
	int result = 0;
	(void)track;
	for (uint32_t key = 0; key < sonde_trace_key_count(reading->trace) && !result; key++) {
		const struct sonde_attribute_key *one = sonde_trace_key(reading->trace, key);
		bool is_number =
		    one->type == SONDE_ATTRIBUTE_SIGNED || one->type == SONDE_ATTRIBUTE_REAL;
		if (is_number && !strcmp(sonde_db_string(reading->db, one->name), "value"))
			result = add_values(reading, key, cursor, block);
	}
	return result;
}

/* ---- what they come to ---- */

static void sum(struct sn_device_metric *metric, const struct reading *reading)
{
	uint64_t counts[SN_DEVICE_METRIC_STEPS] = {0};
	double all = 0;
	metric->count = reading->count;
	metric->start_ns = reading->values[0].start_ns;
	metric->end_ns = reading->values[reading->count - 1].start_ns;
	metric->least = metric->most = reading->values[0].value;
	double step = (double)(metric->end_ns - metric->start_ns + 1) / SN_DEVICE_METRIC_STEPS;
	for (size_t i = 0; i < reading->count; i++) {
		const struct value *one = reading->values + i;
		size_t at = (size_t)((double)(one->start_ns - metric->start_ns) / step);
		at = at < SN_DEVICE_METRIC_STEPS ? at : SN_DEVICE_METRIC_STEPS - 1;
		metric->means[at] += one->value;
		counts[at]++;
		all += one->value;
		metric->least = fmin(metric->least, one->value);
		metric->most = fmax(metric->most, one->value);
	}
	metric->mean = all / (double)reading->count;
	for (size_t i = 0; i < SN_DEVICE_METRIC_STEPS; i++)
		metric->means[i] = counts[i] ? metric->means[i] / (double)counts[i] : (double)NAN;
}

/* ---- while the device computes ---- */

struct computing {
	const struct reading *reading;
	uint64_t
	    interval_ns; /* a value is of no more than that: behind the last, and where some are lost, nothing is known */
	size_t at;
	uint64_t done_ns; /* computing until then was seen */
	double weight, sum;
};

/* The least distance of two values; 0 of one. */
static uint64_t interval_of(const struct reading *reading)
{
	uint64_t least = 0;
	for (size_t i = 1; i < reading->count; i++) {
		uint64_t between = reading->values[i].start_ns - reading->values[i - 1].start_ns;
		if (between && (!least || between < least))
			least = between;
	}
	return least;
}

static int add_operation(void *data, const struct sn_operation *operation)
{
	struct computing *it = data;
	const struct reading *reading = it->reading;
	if (operation->work != SN_WORK_COMPUTE || operation->end_ns <= it->done_ns)
		return 0;
	uint64_t start_ns = operation->start_ns > it->done_ns ? operation->start_ns : it->done_ns;
	it->done_ns = operation->end_ns;
	while (it->at < reading->count &&
	       reading->values[it->at].start_ns + it->interval_ns <= start_ns)
		it->at++;
	for (size_t i = it->at;
	     i < reading->count && reading->values[i].start_ns < operation->end_ns; i++) {
		uint64_t from_ns = reading->values[i].start_ns;
		struct sn_interval both = sn_interval_clip(start_ns, operation->end_ns, from_ns,
							   from_ns + it->interval_ns);
		double weight =
		    both.end_ns > both.start_ns ? (double)(both.end_ns - both.start_ns) : 0;
		it->weight += weight;
		it->sum += weight * reading->values[i].value;
	}
	return 0;
}

static int weigh(const struct sn_answers *answers, const struct reading *reading,
		 struct sn_device_metric *metric, struct sn_error *error)
{
	struct computing it = {.reading = reading, .interval_ns = interval_of(reading)};
	uint32_t device =
	    sn_processes_device(&answers->processes, &answers->times, metric->profile);
	metric->computing_mean = (double)NAN;
	if (device == SONDE_NONE)
		return 0;
	int result = sn_device_times_walk(&answers->times, answers->trace, device, SONDE_NONE,
					  add_operation, &it, error);
	if (it.weight > 0)
		metric->computing_mean = it.sum / it.weight;
	return result;
}

/* ---- all of them ---- */

static bool is_of_device(const struct sonde_db *db, const struct sonde_track *track)
{
	return track->kind == SONDE_TRACK_COUNTER && track->metric != SONDE_NONE &&
	       sonde_db_profile(db, track->profile)->kind == SONDE_PROFILE_STREAM;
}

static int add_track(const struct sn_answers *answers, uint32_t number, struct reading *reading,
		     struct sn_device_metrics *metrics, struct sn_error *error)
{
	const struct sonde_track *track = sonde_trace_track(answers->trace, number);
	struct sn_device_metric metric = {.profile = track->profile, .metric = track->metric};
	reading->count = 0;
	int result = sn_track_blocks(answers->trace, number, SN_EVENT_WINDOW_ALL(0), read_block,
				     reading, error);
	if (result || !reading->count)
		return result;
	sum(&metric, reading);
	result = weigh(answers, reading, &metric, error);
	if (!result && sn_vec_push(&metrics->items, &metrics->capacity, &metrics->count, metric))
		return sn_fail_memory(error);
	return result;
}

int sn_device_metrics(const struct sn_answers *answers, struct sn_device_metrics *metrics,
		      struct sn_error *error)
{
	struct reading reading = {.db = answers->db, .trace = answers->trace};
	int result = 0;
	*metrics = (struct sn_device_metrics){0};
	for (uint32_t i = 0; i < sonde_trace_track_count(answers->trace) && !result; i++)
		if (is_of_device(answers->db, sonde_trace_track(answers->trace, i)))
			result = add_track(answers, i, &reading, metrics, error);
	free(reading.values);
	return result;
}
