/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of a recording: what ran on the device, below the call that launched it.
 *
 * Launch and operation have one correlation number. All kernels of a graph have that of the call
 * that launched the graph; recording_graph.c finds out which calls they come from. What has none,
 * or one that no call in the file has (the launch came before the recording), stands below a frame
 * that says so, and is counted.
 */
#include "recording.h"
#include "recording_dataflow.h"

#include "format/measurement/measurement.h"

#include <string.h>

enum { ATTRIBUTES_MOST = 400 };
#define NO_LAUNCH "[launched before the recording]"

static bool is_before(const struct sn_recording_launch *a, const struct sn_recording_launch *b)
{
	return a->correlation != b->correlation ? a->correlation < b->correlation
						: a->context < b->context;
}

static size_t stretch_end(const struct sn_recording_launch *launches, size_t begin, size_t count)
{
	size_t i = begin + 1;
	while (i < count && !is_before(launches + i, launches + i - 1))
		i++;
	return i < count ? i : count;
}

/* Neighbouring ascending stretches of `from` become one in `to`; how many there are then. */
static size_t merge_stretches(const struct sn_recording_launch *from,
			      struct sn_recording_launch *to, size_t count)
{
	size_t stretches = 0, i = 0;
	for (size_t left = 0, end; left < count; left = end, stretches++) {
		size_t middle = stretch_end(from, left, count), right = middle;
		end = middle < count ? stretch_end(from, middle, count) : count;
		while (i < end) {
			bool takes_right =
			    right < end && (left == middle || is_before(from + right, from + left));
			to[i++] = takes_right ? from[right++] : from[left++];
		}
	}
	return stretches;
}

static bool are_ordered(const struct sn_recording *recording)
{
	for (size_t i = 1; i < recording->launch_count; i++)
		if (recording->launches[i].correlation < recording->launches[i - 1].correlation)
			return false;
	return true;
}

/* Launches by correlation. Those of a thread mostly ascend, so threads are merged. */
static int order_launches(struct sn_recording *recording)
{
	size_t count = recording->launch_count;
	if (recording->are_launches_ordered || are_ordered(recording)) {
		recording->are_launches_ordered = true;
		return 0;
	}
	struct sn_recording_launch *to = malloc(count * sizeof(*to));
	if (!to)
		return SN_ERR_MEMORY;
	for (size_t stretches = 2; stretches > 1;) {
		stretches = merge_stretches(recording->launches, to, count);
		memcpy(recording->launches, to, count * sizeof(*to));
	}
	free(to);
	recording->are_launches_ordered = true;
	return 0;
}

/* A stream runs mostly in the order of launches, so the next one is looked for from the last one
 * on, in steps that double. */
static const struct sn_recording_launch *find_launch(struct sn_recording *recording,
						     uint64_t correlation)
{
	size_t low = recording->last_launch, high, step = 1;
	if (low >= recording->launch_count || recording->launches[low].correlation > correlation)
		low = 0;
	for (high = low;
	     high < recording->launch_count && recording->launches[high].correlation < correlation;
	     step *= 2) {
		low = high + 1;
		high += step;
	}
	high = high < recording->launch_count ? high : recording->launch_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (recording->launches[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	recording->last_launch = low;
	bool is_there =
	    low < recording->launch_count && recording->launches[low].correlation == correlation;
	return is_there ? recording->launches + low : NULL;
}

/* `parent`: where its launch is, or what a graph captured it from; SONDE_NONE: not recorded. */
static uint32_t place(struct sn_recording *recording, const struct sn_event *event,
		      uint32_t category, const struct sn_recording_launch *launch, uint32_t parent)
{
	if (parent == SONDE_NONE && category >= SN_ACTIVITY_DEVICE_ANNOTATION) {
		parent = 0;
	} else if (parent == SONDE_NONE) {
		recording->unlaunched += event->metric == SONDE_NONE;
		parent = sn_db_builder_context(
		    recording->builder, 0,
		    sn_db_builder_named_frame(recording->builder, SN_FRAME_IDLE, NO_LAUNCH));
	}
	if (!launch || !launch->is_within)
		parent = sn_recording_under(recording, parent, event->context);
	return sn_db_builder_context(recording->builder, parent,
				     sn_recording_frame(recording, event->context));
}

static int add(struct sn_recording *recording, uint32_t context, enum sn_activity_metric metric,
	       double value)
{
	return sn_totals_add(&recording->totals, context, sn_recording_metric(recording, metric),
			     value);
}

/* The product of three attributes; 0 where there are none. */
static double product(const struct sn_recording *recording, const struct sn_event *event,
		      enum sn_recording_key first)
{
	double all = 1;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t one;
		if (!sn_recording_attribute(recording, event, first + i, &one))
			return 0;
		all *= (double)one;
	}
	return all;
}

static int add_kernel(struct sn_recording *recording, uint32_t context,
		      const struct sn_event *event)
{
	uint64_t value;
	double blocks = product(recording, event, SN_RECORDING_KEY_GRID_X);
	double threads = product(recording, event, SN_RECORDING_KEY_BLOCK_X);
	int result = add(recording, context, SN_ACTIVITY_KERNEL_TIME,
			 (double)(event->end_ns - event->start_ns));
	if (!result && blocks)
		result = add(recording, context, SN_ACTIVITY_BLOCKS, blocks);
	if (!result && threads)
		result = add(recording, context, SN_ACTIVITY_BLOCK_THREADS, threads);
	if (!result && sn_recording_attribute(recording, event, SN_RECORDING_KEY_REGISTERS, &value))
		result = add(recording, context, SN_ACTIVITY_REGISTERS, (double)value);
	if (!result && sn_recording_attribute(recording, event, SN_RECORDING_KEY_SHARED, &value))
		result = add(recording, context, SN_ACTIVITY_SHARED_BYTES, (double)value);
	return result;
}

static int add_values(struct sn_recording *recording, uint32_t context, uint32_t category,
		      const struct sn_event *event)
{
	if (category == SN_ACTIVITY_KERNEL)
		return add_kernel(recording, context, event);
	if (category != SN_ACTIVITY_COPY && category != SN_ACTIVITY_FILL)
		return 0;
	bool is_copy = category == SN_ACTIVITY_COPY;
	uint64_t bytes;
	int result =
	    add(recording, context, is_copy ? SN_ACTIVITY_COPY_TIME : SN_ACTIVITY_FILL_TIME,
		(double)(event->end_ns - event->start_ns));
	if (!result && sn_recording_attribute(recording, event, SN_RECORDING_KEY_BYTES, &bytes))
		result =
		    add(recording, context,
			is_copy ? SN_ACTIVITY_COPY_BYTES : SN_ACTIVITY_FILL_BYTES, (double)bytes);
	return result;
}

/* One event of a stream, which is none where it only adds a value to the place of another. */
static int take_placed(struct sn_recording *recording, struct sn_event *event,
		       const struct sn_recording_launch *launch, uint32_t parent)
{
	uint32_t category = sn_recording_name(recording, event->context).category;
	event->context = place(recording, event, category, launch, parent);
	if (event->metric != SONDE_NONE && event->attribute_count) {
		double value;
		memcpy(&value, &event->attributes[0].value, sizeof(value));
		return sn_totals_add(&recording->totals, event->context, event->metric, value);
	}
	if (event->link)
		event->link = sn_recording_link(recording, event->link);
	sn_trace_writer_add(recording->writer, event);
	if (launch && recording->dataflow)
		sn_dataflow_device(recording->dataflow, launch->node, category,
				   (double)(event->end_ns - event->start_ns));
	return add_values(recording, event->context, category, event);
}

/* What one launch of a graph started: below the calls that captured it. */
static int take_replay(struct sn_recording *recording, struct sn_recording_replay *replay)
{
	if (!replay->count)
		return 0;
	uint32_t *parents = malloc(replay->count * sizeof(*parents));
	int result =
	    parents ? sn_recording_replay_match(recording, replay, parents) : SN_ERR_MEMORY;
	for (size_t i = 0; i < replay->count && !result; i++)
		result = take_placed(recording, replay->events + i,
				     find_launch(recording, replay->correlation), parents[i]);
	free(parents);
	replay->count = replay->item_count = 0;
	return result;
}

static int take(struct sn_recording *recording, struct sn_recording_replay *replay,
		struct sn_event *event)
{
	const struct sn_recording_launch *launch =
	    event->link ? find_launch(recording, event->link) : NULL;
	uint32_t category = sn_recording_name(recording, event->context).category;
	bool is_replayed = launch && launch->is_graph && event->metric == SONDE_NONE &&
			   category < SN_ACTIVITY_DEVICE_ANNOTATION;
	if (!is_replayed)
		return take_placed(recording, event, launch, launch ? launch->context : SONDE_NONE);
	if (replay->count && replay->correlation != event->link && take_replay(recording, replay))
		return SN_ERR_MEMORY;
	replay->correlation = event->link;
	replay->launch = launch->context;
	return sn_recording_replay_add(replay, event);
}

/* An operation whose launch was found by order alone says so. `items` has place for one more. */
static void infer(struct sn_recording *recording, uint32_t line, struct sn_event *event,
		  struct sn_attribute *items)
{
	uint32_t category = sn_recording_name(recording, event->context).category;
	if (event->link || event->attribute_count >= ATTRIBUTES_MOST ||
	    category < SN_ACTIVITY_KERNEL || category > SN_ACTIVITY_FILL)
		return;
	event->link = sn_order_find(&recording->order, true, line, event->start_ns, event->end_ns);
	if (!event->link)
		return;
	if (event->attribute_count)
		memcpy(items, event->attributes, event->attribute_count * sizeof(*items));
	items[event->attribute_count++] =
	    (struct sn_attribute){recording->graphs.how_key, 0,
				  sn_db_builder_string(recording->builder, "order of launches")};
	event->attributes = items;
}

int sn_recording_device(struct sn_recording *recording, uint32_t number, struct sn_error *error)
{
	struct sn_attribute items[ATTRIBUTES_MOST + 1];
	struct sn_recording_line *line = recording->lines + number;
	struct sn_event event;
	if (order_launches(recording))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_recording_profile(recording, line);
	int result = sn_sorter_begin(recording->sorter, number, error);
	while (!result && (result = sn_sorter_next(recording->sorter, &event, error)) > 0) {
		infer(recording, number, &event, items);
		event.start_ns = sn_recording_time(recording, event.start_ns);
		event.end_ns = sn_recording_time(recording, event.end_ns);
		event.profile = line->profile;
		result = take(recording, &recording->replay, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	if (!result && take_replay(recording, &recording->replay))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_totals_flush(&recording->totals, recording->builder, line->profile);
	return result;
}
