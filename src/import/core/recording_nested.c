/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a device that runs a program by itself (XLA on a TPU): its operations contain each
 * other, a loop those of its body, and nothing launched them one by one. An operation's own time is
 * what those in it did not take, so that the line's operations add up to the time it was busy.
 */
#include "recording.h"

struct open_operation {
	uint64_t start_ns, end_ns, inner_ns;
	uint32_t context;
	bool has_time;
};

struct nested {
	struct sn_recording *recording;
	struct open_operation *open;
	size_t count, capacity;
};

static int close_until(struct nested *nested, uint64_t time_ns)
{
	struct sn_recording *recording = nested->recording;
	for (; nested->count; nested->count--) {
		const struct open_operation *top = nested->open + nested->count - 1;
		uint64_t length = top->end_ns - top->start_ns;
		if (top->end_ns > time_ns)
			return 0;
		if (top->has_time &&
		    sn_totals_add(&recording->totals, top->context,
				  sn_recording_metric(recording, SN_ACTIVITY_KERNEL_TIME),
				  (double)(top->inner_ns < length ? length - top->inner_ns : 0)))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int take(struct nested *nested, struct sn_event *event)
{
	struct sn_recording *recording = nested->recording;
	bool has_time = sn_recording_name(recording, event->context).category == SN_ACTIVITY_KERNEL;
	if (close_until(nested, event->start_ns))
		return SN_ERR_MEMORY;
	size_t at = nested->count;
	while (at && nested->open[at - 1].end_ns < event->end_ns)
		at--;
	struct open_operation *outer = at ? nested->open + at - 1 : NULL;
	uint32_t parent = sn_recording_under(recording, outer ? outer->context : 0, event->context);
	uint32_t context = sn_db_builder_context(recording->builder, parent,
						 sn_recording_frame(recording, event->context));
	if (outer && has_time)
		outer->inner_ns += event->end_ns - event->start_ns;
	if (sn_vec_reserve(&nested->open, &nested->capacity, nested->count + 1) < 0)
		return SN_ERR_MEMORY;
	nested->open[nested->count++] =
	    (struct open_operation){event->start_ns, event->end_ns, 0, context, has_time};
	event->context = context;
	if (event->link)
		event->link = sn_recording_link(recording, event->link);
	sn_trace_writer_add(recording->writer, event);
	return 0;
}

int sn_recording_nested(struct sn_recording *recording, uint32_t number, struct sn_error *error)
{
	struct sn_recording_line *line = recording->lines + number;
	struct nested nested = {.recording = recording};
	struct sn_event event;
	sn_recording_profile(recording, line);
	int result = sn_sorter_begin(recording->sorter, number, error);
	while (!result && (result = sn_sorter_next(recording->sorter, &event, error)) > 0) {
		event.start_ns = sn_recording_time(recording, event.start_ns);
		event.end_ns = sn_recording_time(recording, event.end_ns);
		event.profile = line->profile;
		result = take(&nested, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	if (!result && close_until(&nested, UINT64_MAX))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_totals_flush(&recording->totals, recording->builder, line->profile);
	free(nested.open);
	return result;
}
