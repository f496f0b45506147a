/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by their names and units; then their values by place and time. */
#include "clock.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "timeline/track_blocks.h"

#include <math.h>
#include <string.h>

/* ---- which counters ---- */

/* Hz of one of the unit; 0: none of a frequency. */
static double hertz_of(const char *unit)
{
	static const struct {
		const char *unit;
		double hertz;
	} known[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(unit, known[i].unit))
			return known[i].hertz;
	return 0;
}

/* How well a counter tells the clock by which kernels compute: NVIDIA's cycles of a multiprocessor, then of a cluster of these, then any
 * frequency but the memory's. 0: not. */
static unsigned grade_of(const char *name, const char *unit)
{
	if (!strcmp(name, "sm__cycles_elapsed.avg.per_second"))
		return 3;
	if (!strcmp(name, "gpc__cycles_elapsed.avg.per_second"))
		return 2;
	return hertz_of(unit) > 0 && !strcasestr(name, "mem") && !strcasestr(name, "dram");
}

static struct sn_vary_clock *clock_of(const struct sn_vary_source *source, uint32_t place)
{
	for (size_t i = 0; i < source->clock_count; i++)
		if (source->clocks[i].place == place)
			return source->clocks + i;
	return NULL;
}

int sn_vary_clocks_find(struct sn_vary_source *source)
{
	const struct sonde_db *db = source->input->db;
	const struct sonde_trace *trace = source->input->trace;
	uint32_t count = sonde_trace_track_count(trace);
	size_t capacity = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		uint32_t place = source->places[track->profile];
		if (track->kind != SONDE_TRACK_COUNTER || track->metric == SONDE_NONE ||
		    place == SONDE_NONE)
			continue;
		const struct sonde_db_metric *metric = sonde_db_metric(db, track->metric);
		const char *unit = sonde_db_string(db, metric->unit);
		struct sn_vary_clock clock = {i, place, hertz_of(unit) ?: 1,
					      grade_of(sonde_db_string(db, metric->name), unit)};
		struct sn_vary_clock *known = clock_of(source, place);
		if (known && clock.grade > known->grade)
			*known = clock;
		else if (!known && clock.grade &&
			 sn_vec_push(&source->clocks, &capacity, &source->clock_count, clock))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* ---- values ---- */

/* Whole numbers and fractions have attributes of one name and two types. */
static const struct sn_attribute_wish wishes[] = {{"value", SONDE_ATTRIBUTE_SIGNED},
						  {"value", SONDE_ATTRIBUTE_REAL}};

struct reading {
	const struct sn_vary_source *source;
	const struct sn_vary_clock *clock;
	struct sn_attributes attributes;
	struct sn_clock_values *values;
};

static int read_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct reading *reading = data;
	struct sn_clock_values *values = reading->values;
	int result = 0;
	sn_attributes_read(&reading->attributes, cursor, block->count);
	for (size_t i = 0; i < block->count && !result; i++) {
		uint64_t bits;
		double value;
		if (sn_attributes_get(&reading->attributes, 0, i, &bits))
			value = (double)(int64_t)bits;
		else if (sn_attributes_get(&reading->attributes, 1, i, &bits))
			memcpy(&value, &bits, sizeof(value));
		else
			continue;
		struct sn_clock_value one = {reading->clock->place,
					     (int64_t)block->starts_ns[i] -
						 (int64_t)reading->source->shift_ns,
					     value * reading->clock->hertz};
		result = sn_vec_push(&values->items, &values->capacity, &values->count, one);
	}
	return result;
}

SN_MERGE_SORT(sort_values, struct sn_clock_value, const void *,
	      SN_ORDER_BY(b, a, place, start_ns) < 0);

int sn_vary_clocks_read(const struct sn_vary_source *source, uint64_t from_ns, uint64_t to_ns,
			struct sn_clock_values *values, struct sn_error *error)
{
	struct reading reading = {.source = source, .values = values};
	int result = 0;
	if (!source->clock_count)
		return 0;
	if (sn_attributes_init(&reading.attributes, source->input->db, source->input->trace, wishes,
			       sizeof(wishes) / sizeof(*wishes)))
		result = sn_fail_memory(error);
	for (size_t i = 0; i < source->clock_count && !result; i++) {
		uint32_t track = source->clocks[i].track;
		struct sn_event_window window = {
		    .from_ns = sn_vary_track_begin(source, track, from_ns), .to_ns = to_ns};
		reading.clock = source->clocks + i;
		result = sn_track_blocks(source->input->trace, track, &window, read_block, &reading,
					 error);
	}
	if (!result)
		result = sn_fail_code(error, sort_values(&values->items, values->count, NULL));
	values->capacity = values->count;
	sn_attributes_release(&reading.attributes);
	return result;
}

double sn_vary_clock_at(const struct sn_clock_values *values, uint32_t place, int64_t at_ns)
{
	const struct sn_clock_value *all = values->items;
	size_t after =
	    sn_search(i, values->count,
		      all[i].place < place || (all[i].place == place && all[i].start_ns <= at_ns));
	return after && all[after - 1].place == place ? all[after - 1].hz : (double)NAN;
}
