/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A track of a device that runs a program by itself (XLA on a TPU): its operations contain each
 * other, a loop those of its body, and nothing launched them one by one. An operation's own time is
 * what those in it did not take, so that the track's operations add up to the time it was busy.
 */
#include "track_sink_internal.h"

struct open_operation {
	uint64_t start_ns, end_ns, inner_ns;
	uint32_t context;
	bool has_time;
};

struct nested {
	struct sn_track_sink *sink;
	struct open_operation *open;
	size_t count, capacity;
};

static int close_until(struct nested *nested, uint64_t time_ns)
{
	struct sn_track_sink *sink = nested->sink;
	for (; nested->count; nested->count--) {
		const struct open_operation *top = nested->open + nested->count - 1;
		uint64_t length = top->end_ns - top->start_ns;
		if (top->end_ns > time_ns)
			return 0;
		if (top->has_time &&
		    sn_totals_add(&sink->totals, top->context,
				  sn_sink_metric(sink, SN_ACTIVITY_KERNEL_TIME),
				  (double)(top->inner_ns < length ? length - top->inner_ns : 0)))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int take(struct nested *nested, struct sn_event *event)
{
	struct sn_track_sink *sink = nested->sink;
	bool has_time = sn_sink_name(sink, event->context).category == SN_ACTIVITY_KERNEL;
	if (close_until(nested, event->start_ns))
		return SN_ERR_MEMORY;
	size_t at = nested->count;
	while (at && nested->open[at - 1].end_ns < event->end_ns)
		at--;
	struct open_operation *outer = at ? nested->open + at - 1 : NULL;
	uint32_t parent = sn_sink_under(sink, outer ? outer->context : 0, event->context);
	uint32_t context =
	    sn_db_builder_context(sink->builder, parent, sn_sink_frame(sink, event->context));
	if (outer && has_time)
		outer->inner_ns += event->end_ns - event->start_ns;
	if (sn_vec_reserve(&nested->open, &nested->capacity, nested->count + 1) < 0)
		return SN_ERR_MEMORY;
	nested->open[nested->count++] =
	    (struct open_operation){event->start_ns, event->end_ns, 0, context, has_time};
	event->context = context;
	if (event->link)
		event->link = sn_sink_link(sink, event->link);
	sn_trace_writer_add(sink->writer, event);
	return 0;
}

int sn_sink_nested(struct sn_track_sink *sink, uint32_t number, struct sn_error *error)
{
	struct sn_track *track = sink->tracks + number;
	struct nested nested = {.sink = sink};
	struct sn_event event;
	sn_sink_profile(sink, track);
	int result = sn_sorter_begin(sink->sorter, number, error);
	while (!result && (result = sn_sorter_next(sink->sorter, &event, error)) > 0) {
		event.start_ns = sn_sink_time(sink, event.start_ns);
		event.end_ns = sn_sink_time(sink, event.end_ns);
		event.profile = track->profile;
		result = take(&nested, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	if (!result && close_until(&nested, UINT64_MAX))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_totals_flush(&sink->totals, sink->builder, track->profile);
	free(nested.open);
	return result;
}
