/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of a Kineto trace: what ran on the device, below the call that launched it.
 *
 * Launch and operation have one correlation number. All kernels of a graph have that of the call
 * that launched the graph. What has none, or one that no call in the file has (the launch came
 * before the recording), stands below a frame that says so, and is counted.
 */
#include "kineto.h"

#include "format/measurement.h"

#define NO_LAUNCH "[launched before the recording]"

static int compare_launches(const void *left, const void *right)
{
	const struct sn_kineto_launch *a = left, *b = right;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	return (a->context > b->context) - (a->context < b->context);
}

/* Launches by correlation, each once. Sorting what is sorted costs a pass. */
static void order_launches(struct sn_kineto *kineto)
{
	bool is_sorted = true;
	for (size_t i = 1; i < kineto->launch_count && is_sorted; i++)
		is_sorted = kineto->launches[i - 1].correlation <= kineto->launches[i].correlation;
	if (!is_sorted)
		qsort(kineto->launches, kineto->launch_count, sizeof(*kineto->launches),
		      compare_launches);
}

static uint32_t launch_context(const struct sn_kineto *kineto, uint64_t correlation)
{
	size_t low = 0, high = kineto->launch_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (kineto->launches[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	bool is_there =
	    low < kineto->launch_count && kineto->launches[low].correlation == correlation;
	return is_there ? kineto->launches[low].context : SONDE_NONE;
}

static uint32_t place(struct sn_kineto *kineto, const struct sn_event *event, uint32_t category)
{
	uint32_t parent = event->link ? launch_context(kineto, event->link) : SONDE_NONE;
	if (parent == SONDE_NONE && category >= SN_KINETO_DEVICE_ANNOTATION) {
		parent = 0;
	} else if (parent == SONDE_NONE) {
		kineto->unlaunched++;
		parent = sn_db_builder_context(
		    kineto->builder, 0,
		    sn_db_builder_named_frame(kineto->builder, SN_FRAME_IDLE, NO_LAUNCH));
	}
	return sn_db_builder_context(kineto->builder, parent,
				     sn_kineto_frame(kineto, event->context));
}

static int add(struct sn_kineto *kineto, uint32_t context, enum sn_kineto_metric metric,
	       double value)
{
	return sn_totals_add(&kineto->totals, context, sn_kineto_metric(kineto, metric), value);
}

/* The product of three attributes; 0 where there are none. */
static double product(const struct sn_kineto *kineto, const struct sn_event *event,
		      enum sn_kineto_key first)
{
	double all = 1;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t one;
		if (!sn_kineto_attribute(kineto, event, first + i, &one))
			return 0;
		all *= (double)one;
	}
	return all;
}

static int add_kernel(struct sn_kineto *kineto, uint32_t context, const struct sn_event *event)
{
	uint64_t value;
	double blocks = product(kineto, event, SN_KINETO_KEY_GRID_X);
	double threads = product(kineto, event, SN_KINETO_KEY_BLOCK_X);
	int result =
	    add(kineto, context, SN_KINETO_KERNEL_TIME, (double)(event->end_ns - event->start_ns));
	if (!result && blocks)
		result = add(kineto, context, SN_KINETO_BLOCKS, blocks);
	if (!result && threads)
		result = add(kineto, context, SN_KINETO_BLOCK_THREADS, threads);
	if (!result && sn_kineto_attribute(kineto, event, SN_KINETO_KEY_REGISTERS, &value))
		result = add(kineto, context, SN_KINETO_REGISTERS, (double)value);
	if (!result && sn_kineto_attribute(kineto, event, SN_KINETO_KEY_SHARED, &value))
		result = add(kineto, context, SN_KINETO_SHARED_BYTES, (double)value);
	return result;
}

static int add_values(struct sn_kineto *kineto, uint32_t context, uint32_t category,
		      const struct sn_event *event)
{
	if (category == SN_KINETO_KERNEL)
		return add_kernel(kineto, context, event);
	if (category != SN_KINETO_COPY && category != SN_KINETO_FILL)
		return 0;
	bool is_copy = category == SN_KINETO_COPY;
	uint64_t bytes;
	int result = add(kineto, context, is_copy ? SN_KINETO_COPY_TIME : SN_KINETO_FILL_TIME,
			 (double)(event->end_ns - event->start_ns));
	if (!result && sn_kineto_attribute(kineto, event, SN_KINETO_KEY_BYTES, &bytes))
		result = add(kineto, context, is_copy ? SN_KINETO_COPY_BYTES : SN_KINETO_FILL_BYTES,
			     (double)bytes);
	return result;
}

int sn_kineto_device(struct sn_kineto *kineto, uint32_t number, struct sn_error *error)
{
	struct sn_kineto_line *line = kineto->lines + number;
	struct sn_event event;
	order_launches(kineto);
	sn_kineto_profile(kineto, line);
	int result = sn_sorter_begin(kineto->sorter, number, error);
	while (!result && (result = sn_sorter_next(kineto->sorter, &event, error)) > 0) {
		uint32_t category = sn_kineto_name(kineto, event.context).category;
		event.start_ns = sn_kineto_time(kineto, event.start_ns);
		event.end_ns = sn_kineto_time(kineto, event.end_ns);
		event.context = place(kineto, &event, category);
		result = add_values(kineto, event.context, category, &event);
		event.profile = line->profile;
		if (event.link)
			event.link = sn_kineto_link(kineto, event.link);
		sn_trace_writer_add(kineto->writer, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	sn_totals_flush(&kineto->totals, kineto->builder, line->profile);
	return result;
}
