/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of a device: each operation goes below the call that launched it.
 *
 * Launch and operation share a correlation number. All kernels of a graph have the number of the
 * call that launched the graph; track_graph.c finds the calls that captured them. An operation
 * without a number, or with one that no call of the file has (its launch was not recorded), goes
 * below a frame that says so, and is counted.
 */
#include "track_sink_internal.h"
#include "track_dataflow.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "format/measurement/measurement.h"

#include <string.h>

#define NO_LAUNCH "[launched before the recording]"

/* Those of one thread mostly ascend. */
SN_MERGE_SORT(sort_launches, struct sn_sink_launch, const void *,
	      b->correlation != a->correlation ? b->correlation < a->correlation
					       : b->context < a->context);

static bool are_ordered(const struct sn_track_sink *sink)
{
	for (size_t i = 1; i < sink->launch_count; i++)
		if (sink->launches[i].correlation < sink->launches[i - 1].correlation)
			return false;
	return true;
}

static int order_launches(struct sn_track_sink *sink)
{
	if (!sink->are_launches_ordered && !are_ordered(sink)) {
		if (sort_launches(&sink->launches, sink->launch_count, NULL))
			return SN_ERR_MEMORY;
		sink->launch_capacity = sink->launch_count;
	}
	sink->are_launches_ordered = true;
	return 0;
}

/* Operations of a stream run mostly in the order of their launches, so the search gallops from the
 * one found last. */
static const struct sn_sink_launch *find_launch(struct sn_track_sink *sink, uint64_t correlation)
{
	const struct sn_sink_launch *launches = sink->launches;
	size_t low = sink->last_launch, high, step = 1, count = sink->launch_count;
	if (low >= count || launches[low].correlation > correlation)
		low = 0;
	for (high = low; high < count && launches[high].correlation < correlation; step *= 2) {
		low = high + 1;
		high += step;
	}
	low = sn_search_from(i, low, high < count ? high : count,
			     launches[i].correlation < correlation);
	sink->last_launch = low;
	return low < count && launches[low].correlation == correlation ? launches + low : NULL;
}

/* `parent`: the context of the launch, or of the call that captured the operation; SONDE_NONE if
 * the launch was not recorded. */
static uint32_t context_of(struct sn_track_sink *sink, const struct sn_event *event,
			   uint32_t category, const struct sn_sink_launch *launch, uint32_t parent)
{
	if (parent == SONDE_NONE && category >= SN_ACTIVITY_DEVICE_ANNOTATION) {
		parent = 0;
	} else if (parent == SONDE_NONE) {
		sink->losses[SN_SINK_UNLAUNCHED] += event->metric == SONDE_NONE;
		parent = sn_db_builder_context(
		    sink->builder, 0,
		    sn_db_builder_named_frame(sink->builder, SN_FRAME_IDLE, NO_LAUNCH));
	}
	if (!launch || !launch->is_within)
		parent = sn_sink_under(sink, parent, event->context);
	return sn_db_builder_context(sink->builder, parent, sn_sink_frame(sink, event->context));
}

static int add(struct sn_track_sink *sink, uint32_t context, enum sn_activity_metric metric,
	       double value)
{
	return sn_totals_add(&sink->totals, context, sn_sink_metric(sink, metric), value);
}

/* The product of three attributes; 0 if they are missing. */
static double product(const struct sn_track_sink *sink, const struct sn_event *event,
		      enum sn_track_key first)
{
	double all = 1;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t one;
		if (!sn_sink_attribute(sink, event, first + i, &one))
			return 0;
		all *= (double)one;
	}
	return all;
}

static int add_kernel(struct sn_track_sink *sink, uint32_t context, const struct sn_event *event)
{
	uint64_t value;
	double blocks = product(sink, event, SN_TRACK_KEY_GRID_X);
	double threads = product(sink, event, SN_TRACK_KEY_BLOCK_X);
	int result =
	    add(sink, context, SN_ACTIVITY_KERNEL_TIME, (double)(event->end_ns - event->start_ns));
	if (!result && blocks)
		result = add(sink, context, SN_ACTIVITY_BLOCKS, blocks);
	if (!result && threads)
		result = add(sink, context, SN_ACTIVITY_BLOCK_THREADS, threads);
	if (!result && sn_sink_attribute(sink, event, SN_TRACK_KEY_REGISTERS, &value))
		result = add(sink, context, SN_ACTIVITY_REGISTERS, (double)value);
	if (!result && sn_sink_attribute(sink, event, SN_TRACK_KEY_SHARED, &value))
		result = add(sink, context, SN_ACTIVITY_SHARED_BYTES, (double)value);
	return result;
}

static int add_values(struct sn_track_sink *sink, uint32_t context, uint32_t category,
		      const struct sn_event *event)
{
	if (category == SN_ACTIVITY_KERNEL)
		return add_kernel(sink, context, event);
	if (category == SN_ACTIVITY_GRAPH)
		return add(sink, context, SN_ACTIVITY_GRAPH_TIME,
			   (double)(event->end_ns - event->start_ns));
	if (category != SN_ACTIVITY_COPY && category != SN_ACTIVITY_FILL)
		return 0;
	bool is_copy = category == SN_ACTIVITY_COPY;
	uint64_t bytes;
	int result = add(sink, context, is_copy ? SN_ACTIVITY_COPY_TIME : SN_ACTIVITY_FILL_TIME,
			 (double)(event->end_ns - event->start_ns));
	if (!result && sn_sink_attribute(sink, event, SN_TRACK_KEY_BYTES, &bytes))
		result =
		    add(sink, context, is_copy ? SN_ACTIVITY_COPY_BYTES : SN_ACTIVITY_FILL_BYTES,
			(double)bytes);
	return result;
}

/* Places one event of a stream. An event with a metric is not an operation: it only adds a value at
 * the context of one. */
static int place(struct sn_track_sink *sink, struct sn_event *event,
		 const struct sn_sink_launch *launch, uint32_t parent)
{
	uint32_t category = sn_sink_name(sink, event->context).category;
	event->context = context_of(sink, event, category, launch, parent);
	if (event->metric != SONDE_NONE && event->attribute_count) {
		double value;
		memcpy(&value, &event->attributes[0].value, sizeof(value));
		return sn_totals_add(&sink->totals, event->context, event->metric, value);
	}
	if (event->link)
		event->link = sn_sink_link(sink, event->link);
	sn_sink_write(sink, event);
	if (launch && sink->dataflow)
		sn_dataflow_device(sink->dataflow, launch->node, category,
				   (double)(event->end_ns - event->start_ns));
	return add_values(sink, event->context, category, event);
}

/* Places the operations of one launch of a graph below the calls that captured them. */
static int place_replay(struct sn_track_sink *sink, struct sn_sink_replay *replay)
{
	if (!replay->count)
		return 0;
	uint32_t *parents = sn_arena_array(&replay->memory, uint32_t, replay->count);
	int result = parents ? sn_sink_replay_match(sink, replay, parents) : SN_ERR_MEMORY;
	for (size_t i = 0; i < replay->count && !result; i++) {
		/* a copy, because the replay's arena is cleared before the writer
		 * gets the events */
		struct sn_event *event = sn_sink_copy(&sink->batch->more, replay->events[i]);
		result =
		    event ? place(sink, event, find_launch(sink, replay->correlation), parents[i])
			  : SN_ERR_MEMORY;
	}
	sn_arena_clear(&replay->memory);
	replay->count = 0;
	return result;
}

int sn_sink_device_begin(struct sn_track_sink *sink)
{
	return order_launches(sink);
}

int sn_sink_device_event(struct sn_track_sink *sink, struct sn_event *event)
{
	struct sn_sink_replay *replay = &sink->replay;
	uint32_t category = sn_sink_name(sink, event->context).category;
	const struct sn_sink_launch *launch = event->link ? find_launch(sink, event->link) : NULL;
	bool is_replayed = launch && launch->is_graph && event->metric == SONDE_NONE &&
			   category < SN_ACTIVITY_GRAPH;
	if (!is_replayed)
		return place(sink, event, launch, launch ? launch->context : SONDE_NONE);
	if (replay->count && replay->correlation != event->link && place_replay(sink, replay))
		return SN_ERR_MEMORY;
	replay->correlation = event->link;
	replay->launch = launch->context;
	return sn_sink_replay_add(replay, event);
}

int sn_sink_device_end(struct sn_track_sink *sink)
{
	return place_replay(sink, &sink->replay);
}
