/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A track of a device that runs a whole program by itself (XLA on a TPU). Its operations contain
 * each other, as a loop contains its body, and no call launched them one by one. An operation's
 * exclusive time excludes the operations inside it, so that the times of a track add up to the time
 * it was busy.
 */
#include "track_sink_internal.h"

struct open_operation {
	uint64_t start_ns, end_ns, inner_ns;
	uint32_t context;
	bool has_time;
};

struct sn_sink_nested {
	struct open_operation *open;
	size_t count, capacity;
};

static int close_until(struct sn_track_sink *sink, uint64_t time_ns)
{
	struct sn_sink_nested *nested = sink->nested;
	for (; nested->count; nested->count--) {
		const struct open_operation *top = nested->open + nested->count - 1;
		uint64_t length = top->end_ns - top->start_ns;
		double own = (double)(top->inner_ns < length ? length - top->inner_ns : 0);
		if (top->end_ns > time_ns)
			return 0;
		if (top->has_time &&
		    (sn_totals_add(&sink->totals, top->context,
				   sn_sink_metric(sink, SN_ACTIVITY_KERNEL_TIME), own) ||
		     sn_totals_add(&sink->totals, top->context,
				   sn_sink_metric(sink, SN_ACTIVITY_KERNEL_CALLS), (double)length)))
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_sink_nested_event(struct sn_track_sink *sink, struct sn_event *event)
{
	bool has_time = sn_sink_name(sink, event->context).category == SN_ACTIVITY_KERNEL;
	if (!sink->nested && !(sink->nested = calloc(1, sizeof(*sink->nested))))
		return SN_ERR_MEMORY;
	if (close_until(sink, event->start_ns))
		return SN_ERR_MEMORY;
	struct sn_sink_nested *nested = sink->nested;
	size_t at = nested->count;
	while (at && nested->open[at - 1].end_ns < event->end_ns)
		at--;
	struct open_operation *outer = at ? nested->open + at - 1 : NULL;
	uint32_t parent = sn_sink_under(sink, outer ? outer->context : 0, event->context);
	uint32_t context =
	    sn_db_builder_context(sink->builder, parent, sn_sink_frame(sink, event->context));
	if (outer && has_time)
		outer->inner_ns += event->end_ns - event->start_ns;
	if (sn_vec_push(
		&nested->open, &nested->capacity, &nested->count,
		(struct open_operation){event->start_ns, event->end_ns, 0, context, has_time}))
		return SN_ERR_MEMORY;
	event->context = context;
	if (event->link)
		event->link = sn_sink_link(sink, event->link);
	sn_sink_write(sink, event);
	return 0;
}

int sn_sink_nested_end(struct sn_track_sink *sink)
{
	return sink->nested ? close_until(sink, UINT64_MAX) : 0;
}

void sn_sink_nested_release(struct sn_track_sink *sink)
{
	if (sink->nested)
		free(sink->nested->open);
	free(sink->nested);
}
