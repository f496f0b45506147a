/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of a recording: turns intervals into calls.
 *
 * The caller of an event is the innermost event that is open at its start and does not end before
 * it. Times in such files are rounded, so the comparison of ends has a tolerance. An event that
 * outlives the one in which it started (an asynchronous annotation) is called by the next enclosing
 * one.
 *
 * The sorter holds instants as intervals too, so that they come in order of time.
 */
#include "track_sink_internal.h"
#include "track_dataflow.h"

#include <ctype.h>
#include <string.h>

/* Old files round times to whole microseconds, so each end may be off by one. */
#define TOLERANCE_NS 2000

struct open_event {
	uint64_t start_ns, end_ns, callee_ns;
	uint32_t context;
	uint32_t category;
	uint32_t name;
	uint32_t caller;  /* index in `open`; SONDE_NONE */
	uint32_t callees; /* the number so far */
	/* The context of the only callee so far, if it has the same name and has ended; see
	 * end_call. */
	uint32_t again_context; /* SONDE_NONE: there is none */
	uint64_t again_ns;
	uint64_t sequence; /* UINT64_MAX: none */
	struct sn_dataflow_place place;
};

struct sn_sink_thread {
	struct sn_track_sink *sink;
	uint32_t number;  /* the track */
	uint32_t capture; /* the graph capture in progress; SONDE_NONE */
	struct open_event *open;
	size_t open_count, open_capacity;
};

static int add_call(struct sn_sink_thread *thread, uint32_t context, uint64_t length_ns)
{
	struct sn_track_sink *sink = thread->sink;
	return sn_totals_add(&sink->totals, context, sn_sink_metric(sink, SN_ACTIVITY_REAL_CALLS),
			     (double)length_ns);
}

/* Counts a call when it ends. An operator that only calls another overload of itself counts as one
 * call, as in PyTorch's own table; so a callee of the same name is counted only when its caller
 * calls something else as well (note_callee). */
static int end_call(struct sn_sink_thread *thread, const struct open_event *event)
{
	struct open_event *caller =
	    event->caller == SONDE_NONE ? NULL : thread->open + event->caller;
	uint64_t length = event->end_ns - event->start_ns;
	bool is_again = caller && event->category == SN_ACTIVITY_OPERATOR &&
			caller->name == event->name && caller->callees == 1;
	if (!is_again)
		return add_call(thread, event->context, length);
	caller->again_context = event->context;
	caller->again_ns = length;
	return 0;
}

/* Notes another callee, and counts the callee of the same name that was held back. */
static int note_callee(struct sn_sink_thread *thread, struct open_event *caller, uint64_t length_ns)
{
	uint32_t again = caller->again_context;
	caller->callee_ns += length_ns;
	caller->callees++;
	caller->again_context = SONDE_NONE;
	return again == SONDE_NONE ? 0 : add_call(thread, again, caller->again_ns);
}

/* Adds the exclusive time of an event that has ended. */
static int close_event(struct sn_sink_thread *thread, const struct open_event *event)
{
	struct sn_track_sink *sink = thread->sink;
	uint64_t length = event->end_ns - event->start_ns;
	double own = (double)(event->callee_ns < length ? length - event->callee_ns : 0);
	int result = sn_totals_add(&sink->totals, event->context,
				   sn_sink_metric(sink, SN_ACTIVITY_REAL_TIME), own);
	if (!result)
		result = end_call(thread, event);
	if (!result && event->category == SN_ACTIVITY_API)
		result = sn_totals_add(&sink->totals, event->context,
				       sn_sink_metric(sink, SN_ACTIVITY_API_TIME), (double)length);
	return result;
}

/* Closes the events that ended before `time_ns`, innermost first. */
static int close_until(struct sn_sink_thread *thread, uint64_t time_ns)
{
	while (thread->open_count) {
		struct open_event *top = thread->open + thread->open_count - 1;
		if (top->end_ns > time_ns)
			return 0;
		if (close_event(thread, top))
			return SN_ERR_MEMORY;
		thread->open_count--;
	}
	return 0;
}

/* The caller of an event; NULL if it has none. */
static struct open_event *find_caller(struct sn_sink_thread *thread, uint64_t start_ns,
				      uint64_t end_ns)
{
	for (size_t i = thread->open_count; i--;) {
		struct open_event *open = thread->open + i;
		if (open->end_ns > start_ns && open->end_ns + TOLERANCE_NS >= end_ns)
			return open;
	}
	return NULL;
}

/* The part that "AddmmBackward0" and "aten::addmm" have in common, in lower case without
 * underscores. */
static void plain_name(const char *name, char *plain, size_t size)
{
	const char *colon = strrchr(name, ':');
	const char *begin = colon ? colon + 1 : name;
	const char *end = strstr(begin, "Backward");
	size_t length = 0;
	for (; *begin && begin != end && length + 1 < size; begin++)
		if (isalnum((unsigned char)*begin))
			plain[length++] = (char)tolower((unsigned char)*begin);
	plain[length] = 0;
}

/*
 * The forward operator whose gradient a backward operator computes. Of the operators with its
 * sequence number that started before it, this is the one of the same name (an operator and its
 * callees share the number), else the last one.
 */
static const struct sn_sink_forward *
find_forward(const struct sn_track_sink *sink, uint64_t sequence, uint64_t start_ns, uint32_t name)
{
	const struct sn_sink_forward *found = NULL;
	char wanted[128], plain[128];
	uint32_t last = sn_table_find(&sink->sequences, sequence);
	if (last == SN_TABLE_NONE)
		return NULL;
	plain_name(sn_db_builder_text(sink->builder, sn_sink_name(sink, name).text), wanted,
		   sizeof(wanted));
	for (uint32_t i = last; i != SONDE_NONE; i = sink->forwards[i].next) {
		const struct sn_sink_forward *forward = sink->forwards + i;
		if (forward->start_ns > start_ns)
			continue;
		plain_name(
		    sn_db_builder_text(sink->builder, sn_sink_name(sink, forward->name).text),
		    plain, sizeof(plain));
		if (!strcmp(plain, wanted))
			return forward;
		if (!found || forward->start_ns > found->start_ns)
			found = forward;
	}
	return found;
}

static int note_forward(struct sn_sink_thread *thread, uint64_t sequence,
			const struct sn_event *event, uint32_t context, uint32_t node)
{
	struct sn_track_sink *sink = thread->sink;
	uint32_t number = (uint32_t)sink->forward_count;
	uint32_t last = sn_table_find(&sink->sequences, sequence); /* SONDE_NONE if there is none */
	if (sn_vec_push(&sink->forwards, &sink->forward_capacity, &sink->forward_count,
			(struct sn_sink_forward){last, thread->number, context, event->context,
						 node, event->start_ns}) ||
	    sn_table_put(&sink->sequences, sequence, number))
		return SN_ERR_MEMORY;
	return 0;
}
_Static_assert(SONDE_NONE == SN_TABLE_NONE, "none before is none");

static int note_launch(struct sn_track_sink *sink, const struct sn_event *event, uint32_t context,
		       uint32_t node)
{
	return sn_vec_push(
		   &sink->launches, &sink->launch_capacity, &sink->launch_count,
		   (struct sn_sink_launch){event->link, context, node,
					   sn_sink_name(sink, event->context).within != 0,
					   sn_sink_is(sink, event->context, SN_TRAIT_GRAPH_LAUNCH)})
		   ? SN_ERR_MEMORY
		   : 0;
}

/* The forward operator below which a backward event goes; NULL if the event goes
 * below its caller. */
static const struct sn_sink_forward *forward_of(struct sn_sink_thread *thread,
						const struct sn_event *event,
						const struct open_event *caller, uint64_t sequence,
						bool is_backward)
{
	if (!is_backward || (caller && caller->sequence == sequence))
		return NULL;
	return find_forward(thread->sink, sequence, event->start_ns, event->context);
}

/* The context of an event below its caller's. Most exist already and are found in a table. */
static uint32_t context_of(struct sn_track_sink *sink, const struct sn_event *event,
			   uint32_t caller)
{
	uint64_t key = sn_table_pair(caller, event->context);
	uint32_t context = sn_table_find(&sink->callees, key);
	if (context != SN_TABLE_NONE)
		return context;
	context = sn_db_builder_context(sink->builder, sn_sink_under(sink, caller, event->context),
					sn_sink_frame(sink, event->context));
	if (context != SONDE_NONE)
		sn_table_put(&sink->callees, key, context);
	return context;
}

/* Finds the node of the graph that the event belongs to, or that it is itself. */
static int find_place(struct sn_sink_thread *thread, const struct sn_event *event, uint32_t context,
		      const struct open_event *caller, const struct sn_sink_forward *forward,
		      struct sn_dataflow_place *place)
{
	*place = caller ? caller->place : SN_DATAFLOW_NOWHERE;
	if (!thread->sink->dataflow)
		return 0;
	return sn_dataflow_event(thread->sink, event, thread->number, context,
				 forward ? forward->node : SONDE_NONE, place);
}

static int place_interval(struct sn_sink_thread *thread, struct sn_event *event,
			  struct sn_sink_gradient gradient)
{
	struct sn_track_sink *sink = thread->sink;
	uint32_t name = event->context, category = sn_sink_name(sink, name).category;
	uint64_t sequence = gradient.sequence;
	if (close_until(thread, event->start_ns))
		return SN_ERR_MEMORY;
	struct open_event *caller = find_caller(thread, event->start_ns, event->end_ns);
	uint32_t caller_number = caller ? (uint32_t)(caller - thread->open) : SONDE_NONE;
	if (sequence != UINT64_MAX)
		sequence ^= (uint64_t)sink->tracks[thread->number].process << 48;
	const struct sn_sink_forward *forward =
	    forward_of(thread, event, caller, sequence, gradient.is_backward);
	uint32_t context = context_of(sink, event,
				      forward  ? forward->context
				      : caller ? caller->context
					       : 0);
	struct sn_dataflow_place place;
	int result = find_place(thread, event, context, caller, forward, &place);
	if (!result && caller)
		result = note_callee(thread, caller, event->end_ns - event->start_ns);
	if (!result && sequence != UINT64_MAX && !gradient.is_backward)
		result = note_forward(thread, sequence, event, context, place.node);
	if (!result && category == SN_ACTIVITY_API && event->link)
		result = note_launch(sink, event, context, place.node);
	/* a call that another API call makes is part of that one */
	bool is_outer = !caller || caller->category != SN_ACTIVITY_API;
	if (!result && category == SN_ACTIVITY_API && is_outer)
		result = sn_sink_graph_call(sink, event, context, &thread->capture);
	if (result ||
	    sn_vec_reserve(&thread->open, &thread->open_capacity, thread->open_count + 1) < 0)
		return SN_ERR_MEMORY;
	thread->open[thread->open_count++] = (struct open_event){.start_ns = event->start_ns,
								 .end_ns = event->end_ns,
								 .context = context,
								 .category = category,
								 .name = name,
								 .caller = caller_number,
								 .again_context = SONDE_NONE,
								 .sequence = sequence,
								 .place = place};
	event->context = context;
	return 0;
}

/* An allocation or release: its bytes count at the context that runs, the totals
 * become counters. */
static int add_memory(struct sn_sink_thread *thread, struct sn_event *event)
{
	struct sn_track_sink *sink = thread->sink;
	uint64_t bits;
	if (sn_sink_attribute(sink, event, SN_TRACK_KEY_BYTES, &bits)) {
		int64_t bytes = (int64_t)bits;
		enum sn_activity_metric metric = bytes < 0 ? SN_ACTIVITY_FREE : SN_ACTIVITY_ALLOC;
		if (sn_totals_add(&sink->totals, event->context, sn_sink_metric(sink, metric),
				  bytes < 0 ? -(double)bytes : (double)bytes))
			return SN_ERR_MEMORY;
	}
	static const struct {
		enum sn_track_key key;
		enum sn_activity_metric metric;
	} counters[] = {{SN_TRACK_KEY_ALLOCATED, SN_ACTIVITY_ALLOCATED},
			{SN_TRACK_KEY_RESERVED, SN_ACTIVITY_RESERVED}};
	for (int i = 0; i < 2; i++) {
		if (!sn_sink_attribute(sink, event, counters[i].key, &bits))
			continue;
		struct sn_attribute value = {sink->keys[SN_TRACK_KEY_VALUE], 0, bits};
		struct sn_event read = *event, *counter;
		read.attributes = &value;
		read.attribute_count = 1;
		if (!(counter = sn_sink_copy(&sink->batch->more, &read)))
			return SN_ERR_MEMORY;
		counter->kind = SONDE_TRACK_COUNTER;
		counter->metric = sn_sink_metric(sink, counters[i].metric);
		sn_sink_write(sink, counter);
	}
	return 0;
}

/* Places an instant below the event that is open at its time. */
static int place_instant(struct sn_sink_thread *thread, struct sn_event *event)
{
	if (close_until(thread, event->start_ns))
		return SN_ERR_MEMORY;
	struct open_event *caller = find_caller(thread, event->start_ns, event->start_ns);
	uint32_t parent = caller ? caller->context : 0;
	bool is_memory = sn_sink_is(thread->sink, event->context, SN_TRAIT_MEMORY);
	event->context = is_memory ? parent : context_of(thread->sink, event, parent);
	return is_memory ? add_memory(thread, event) : 0;
}

/* A range may overlap calls, so it has no caller. */
static int place_range(struct sn_sink_thread *thread, struct sn_event *event)
{
	struct sn_track_sink *sink = thread->sink;
	event->context = context_of(sink, event, 0);
	return sn_totals_add(&sink->totals, event->context,
			     sn_sink_metric(sink, SN_ACTIVITY_RANGE_TIME),
			     (double)(event->end_ns - event->start_ns));
}

/* A sample or a cost, whose value is stored in place of its link (track_add.c). */
static int add_cost(struct sn_sink_thread *thread, struct sn_event *event)
{
	struct sn_track_sink *sink = thread->sink;
	uint32_t metric = event->metric;
	double value;
	memcpy(&value, &event->link, sizeof(value));
	event->link = 0;
	event->metric = SONDE_NONE;
	if (event->kind == SONDE_TRACK_SAMPLES)
		sn_sink_write(sink, event);
	return sn_totals_add(&sink->totals, event->context, metric, value);
}

static bool is_cost(const struct sn_event *event)
{
	return event->metric != SONDE_NONE && event->kind != SONDE_TRACK_COUNTER;
}

/* Adds an event whose context the importer gave. */
static int add_placed(struct sn_sink_thread *thread, struct sn_event *event)
{
	struct sn_track_sink *sink = thread->sink;
	if (sink->contexts && event->kind != SONDE_TRACK_STATES)
		event->context = sink->contexts[event->context];
	if (is_cost(event))
		return add_cost(thread, event);
	if (event->link) /* a wake-up */
		event->link = sn_sink_link(sink, event->link);
	sn_sink_write(sink, event);
	const struct sn_track *track = sink->tracks + thread->number;
	if (event->kind == SONDE_TRACK_STATES && track->tid >= 0 &&
	    !(sink->has_thread_time_alone && track->is_processor))
		return sn_totals_add(&sink->totals, event->context,
				     sn_sink_metric(sink, SN_ACTIVITY_STATE_TIME),
				     (double)(event->end_ns - event->start_ns));
	if (event->kind != SONDE_TRACK_SAMPLES)
		return 0;
	return sn_totals_add(&sink->totals, event->context,
			     sn_sink_metric(sink, SN_ACTIVITY_SAMPLES), 1);
}

int sn_sink_thread_begin(struct sn_track_sink *sink, uint32_t track)
{
	if (!sink->thread && !(sink->thread = calloc(1, sizeof(*sink->thread))))
		return SN_ERR_MEMORY;
	sink->thread->sink = sink;
	sink->thread->number = track;
	sink->thread->capture = SONDE_NONE;
	return 0;
}

int sn_sink_thread_event(struct sn_track_sink *sink, struct sn_event *event,
			 struct sn_sink_gradient gradient)
{
	if (event->kind != SONDE_TRACK_INTERVALS || is_cost(event))
		return add_placed(sink->thread, event);
	uint32_t category = sn_sink_name(sink, event->context).category;
	bool is_instant = category == SN_ACTIVITY_INSTANT;
	int result = is_instant ? place_instant(sink->thread, event)
		     : category == SN_ACTIVITY_RANGE
			 ? place_range(sink->thread, event)
			 : place_interval(sink->thread, event, gradient);
	event->kind = is_instant ? SONDE_TRACK_INSTANTS : SONDE_TRACK_INTERVALS;
	if (event->link)
		event->link = sn_sink_link(sink, event->link);
	if (!result)
		sn_sink_write(sink, event);
	return result;
}

int sn_sink_thread_end(struct sn_track_sink *sink)
{
	return close_until(sink->thread, UINT64_MAX);
}

void sn_sink_thread_release(struct sn_track_sink *sink)
{
	if (sink->thread)
		free(sink->thread->open);
	free(sink->thread);
}
