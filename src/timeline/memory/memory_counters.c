/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all values of memory counters. */
#include "memory_counters.h"

#include "base/vec.h"
#include "timeline/track_blocks.h"

#include <string.h>

struct reading {
	struct sn_memory_peak peak;
	uint32_t key; /* the attribute with the values */
	bool is_real;
};

static bool is_memory(const struct sonde_db *db, const struct sonde_track *track)
{
	return track->kind == SONDE_TRACK_COUNTER && track->metric != SONDE_NONE &&
	       !strcmp(sonde_db_string(db, sonde_db_metric(db, track->metric)->unit), "bytes");
}

static int find_peak(void *data, const struct sonde_track *track, struct sonde_event_cursor *cursor,
		     const struct sonde_event_block *block)
{
	struct reading *reading = data;
	struct sonde_attribute_column values;
	if (!sonde_event_cursor_attribute(cursor, reading->key, &values))
		return 0;
	for (size_t i = 0; i < block->count; i++) {
		double value = (double)(int64_t)values.values[i];
		if (reading->is_real)
			memcpy(&value, values.values + i, sizeof(value));
		if (value <= reading->peak.bytes)
			continue;
		reading->peak.bytes = value;
		reading->peak.time_ns = block->starts_ns[i];
		reading->peak.context = block->contexts[i];
	}
	return 0;
}

int sn_memory_peaks(const struct sn_answers *answers, struct sn_memory_peaks *peaks,
		    struct sn_error *error)
{
	const struct sonde_trace *trace = answers->trace;
	uint32_t key = sonde_trace_key_by_name(trace, "value");
	int result = 0;
	*peaks = (struct sn_memory_peaks){0};
	if (key == SONDE_NONE)
		return 0;
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		struct reading reading = {
		    .peak = {.profile = track->profile, .metric = track->metric, .bytes = -1},
		    .key = key,
		    .is_real = sonde_trace_key(trace, key)->type == SONDE_ATTRIBUTE_REAL};
		if (!is_memory(answers->db, track))
			continue;
		result =
		    sn_track_blocks(trace, i, SN_EVENT_WINDOW_ALL(0), find_peak, &reading, error);
		if (result || reading.peak.bytes < 0)
			continue;
		if (sn_vec_push(&peaks->items, &peaks->capacity, &peaks->count, reading.peak))
			return sn_fail_memory(error);
	}
	return result;
}
