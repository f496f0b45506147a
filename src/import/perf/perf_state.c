/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of threads and processors out of perf's tracepoints sched_switch, sched_wakeup and
 * sched_waking, or out of its own records of switches. Records of several processors come out of
 * order, so they are sorted by time first.
 */
#include "perf.h"

#include <stdio.h>
#include <string.h>

/* What is kept of an event of the scheduler: its kind as context, numbers as attributes. */
enum kind { SWITCH, OUT, IN, WAKE };
enum key { CPU, FIRST, STATE, SECOND, KEYS };

static void keep(struct sn_perf *perf, enum kind kind, uint64_t time_ns, const uint64_t *values)
{
	struct sn_attribute attributes[KEYS];
	for (uint32_t i = 0; i < KEYS; i++)
		attributes[i] = (struct sn_attribute){i, 0, values[i]};
	struct sn_event event = {
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .context = kind,
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_INSTANTS,
	    .attribute_count = KEYS,
	    .attributes = attributes,
	};
	sn_sorter_add(perf->scheduler, &event);
}

static uint32_t pid_of(const struct sn_perf *perf, uint32_t tid)
{
	uint32_t number = sn_intern_find(&perf->tids, &tid, sizeof(tid));
	return number == SN_INTERN_NONE || perf->pids[number] == UINT32_MAX ? tid
									    : perf->pids[number];
}

/* Who will have a line, and since when. */
static int touch_thread(struct sn_perf *perf, uint64_t tid, uint64_t time_ns)
{
	uint32_t line = tid ? sn_perf_line(perf, 0, pid_of(perf, (uint32_t)tid), (uint32_t)tid) : 0;
	if (line == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	if (tid)
		sn_perf_line_touch(perf, line, time_ns);
	return 0;
}

static int touch_cpu(struct sn_perf *perf, uint32_t cpu, uint64_t time_ns)
{
	uint32_t line = sn_perf_line(perf, 1, 0, cpu);
	if (line == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	sn_perf_line_touch(perf, line, time_ns);
	return 0;
}

static bool number_of(const struct sn_perf_tracepoint *tracepoint,
		      const struct sn_perf_sample *sample, const char *name, uint64_t *value)
{
	const struct sn_tracepoint_field *field = sn_tracepoint_field(&tracepoint->format, name);
	if (!field || !sn_tracepoint_holds(field, sample->raw.length))
		return false;
	*value = (uint64_t)sn_tracepoint_number(field, sample->raw.bytes, sample->raw.length);
	return true;
}

/* Tracepoints name threads that nothing else names. */
static void name_thread(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
			const struct sn_perf_sample *sample, const char *field_name, uint64_t tid)
{
	const struct sn_tracepoint_field *field =
	    sn_tracepoint_field(&tracepoint->format, field_name);
	size_t length;
	if (!field || !field->is_text || !tid)
		return;
	const char *text =
	    sn_tracepoint_text(field, sample->raw.bytes, sample->raw.length, &length);
	if (!length)
		return;
	uint32_t line = sn_perf_line(perf, 0, pid_of(perf, (uint32_t)tid), (uint32_t)tid);
	if (line != SN_INTERN_NONE && perf->lines[line].name == SONDE_NONE)
		perf->lines[line].name = sn_db_builder_string_n(perf->builder, text, length);
}

static int take_switch(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
		       const struct sn_perf_sample *sample)
{
	uint64_t values[KEYS] = {sample->cpu};
	if (!number_of(tracepoint, sample, "prev_pid", values + FIRST) ||
	    !number_of(tracepoint, sample, "prev_state", values + STATE) ||
	    !number_of(tracepoint, sample, "next_pid", values + SECOND))
		return 0;
	keep(perf, SWITCH, sample->time_ns, values);
	if (touch_thread(perf, values[FIRST], sample->time_ns) ||
	    touch_thread(perf, values[SECOND], sample->time_ns) ||
	    touch_cpu(perf, sample->cpu, sample->time_ns))
		return SN_ERR_MEMORY;
	name_thread(perf, tracepoint, sample, "prev_comm", values[FIRST]);
	name_thread(perf, tracepoint, sample, "next_comm", values[SECOND]);
	return 0;
}

int sn_perf_state_sample(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
			 const struct sn_perf_sample *sample)
{
	if (strcmp(tracepoint->system, "sched") != 0 || !sample->has_time || !sample->has_cpu)
		return 0;
	if (!strcmp(tracepoint->format.name, "sched_switch"))
		return take_switch(perf, tracepoint, sample);
	if (strcmp(tracepoint->format.name, "sched_wakeup") != 0 &&
	    strcmp(tracepoint->format.name, "sched_wakeup_new") != 0 &&
	    strcmp(tracepoint->format.name, "sched_waking") != 0)
		return 0;
	uint64_t values[KEYS] = {sample->cpu, [SECOND] = sample->tid};
	if (!number_of(tracepoint, sample, "pid", values + FIRST))
		return 0;
	keep(perf, WAKE, sample->time_ns, values);
	return touch_thread(perf, values[FIRST], sample->time_ns);
}

int sn_perf_state_switch(struct sn_perf *perf, const struct sn_perf_raw *record,
			 const struct sn_perf_sample *id)
{
	bool is_out = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT;
	uint64_t values[KEYS] = {id->cpu, id->tid,
				 !(record->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)};
	if (perf->has_switches || !id->has_time)
		return 0;
	keep(perf, is_out ? OUT : IN, id->time_ns, values);
	if (touch_thread(perf, id->tid, id->time_ns))
		return SN_ERR_MEMORY;
	return touch_cpu(perf, id->cpu, id->time_ns);
}

/* ---- once all of the file is read ---- */

struct finishing {
	struct sn_perf *perf;
	uint32_t metric;
	uint32_t cpu_key, waker_key, tid_key;
};

static uint32_t state_node(struct sn_perf *perf, const struct sn_sched_thread *thread)
{
	uint32_t node =
	    sn_perf_named_node(perf, 0, SN_FRAME_OS, sn_sched_state_name(thread->state));
	return thread->state == SN_SCHED_BLOCKED
		   ? sn_perf_named_node(perf, node, SN_FRAME_OS, sn_sched_reason(thread->why))
		   : node;
}

/* Of a processor: the thread that it ran. */
static uint32_t occupied_node(struct sn_perf *perf, uint32_t line, uint32_t tid)
{
	char name[64];
	uint32_t text = perf->lines[line].name;
	snprintf(name, sizeof(name), "thread %u", tid);
	if (text != SONDE_NONE)
		snprintf(name, sizeof(name), "%s", sn_db_builder_text(perf->builder, text));
	return sn_perf_named_node(perf, 0, SN_FRAME_THREAD, name);
}

static int take_interval(void *context, const struct sn_sched_interval *interval)
{
	const struct finishing *finishing = context;
	struct sn_perf *perf = finishing->perf;
	bool is_processor = interval->processor != UINT32_MAX;
	uint32_t thread = sn_perf_line(perf, 0, pid_of(perf, interval->tid), interval->tid);
	uint32_t line = is_processor ? sn_perf_line(perf, 1, 0, interval->processor) : thread;
	if (line == SN_INTERN_NONE || thread == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct sn_attribute attribute = {finishing->cpu_key, 0, interval->thread.cpu};
	bool has_attribute = !is_processor && interval->thread.state == SN_SCHED_RUNNING;
	if (is_processor) {
		attribute = (struct sn_attribute){finishing->tid_key, 0, interval->tid};
		has_attribute = true;
	} else if (interval->thread.waker) {
		attribute = (struct sn_attribute){finishing->waker_key, 0, interval->thread.waker};
		has_attribute = true;
	}
	struct sn_event event = {
	    .start_ns = sn_perf_time(perf, interval->start_ns),
	    .end_ns = sn_perf_time(perf, interval->end_ns),
	    .profile = line,
	    .context = is_processor ? occupied_node(perf, thread, interval->tid)
				    : state_node(perf, &interval->thread),
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_STATES,
	    .attribute_count = has_attribute,
	    .attributes = &attribute,
	};
	if (event.context == SN_NODE_NONE)
		return SN_ERR_MEMORY;
	sn_sorter_add(perf->events, &event);
	return is_processor ? 0
			    : sn_perf_value(perf, line, event.context, finishing->metric,
					    (double)(event.end_ns - event.start_ns));
}

static int feed(struct sn_sched *sched, const struct sn_event *event)
{
	uint64_t values[KEYS] = {0};
	for (unsigned i = 0; i < event->attribute_count; i++)
		values[event->attributes[i].key] = event->attributes[i].value;
	uint32_t cpu = (uint32_t)values[CPU], first = (uint32_t)values[FIRST];
	bool could_go_on;
	char why = sn_sched_letter(values[STATE], &could_go_on);
	switch ((enum kind)event->context) {
	case SWITCH:
		return sn_sched_switch(sched, event->start_ns, cpu, first, could_go_on, why,
				       (uint32_t)values[SECOND]);
	case OUT:
		return sn_sched_out(sched, event->start_ns, cpu, first, could_go_on, why);
	case IN:
		return sn_sched_in(sched, event->start_ns, cpu, first);
	default:
		return sn_sched_wake(sched, event->start_ns, first, (uint32_t)values[SECOND]);
	}
}

static uint32_t make_key(struct sn_perf *perf, const char *name)
{
	return sn_trace_writer_key(perf->writer, sn_db_builder_string(perf->builder, name),
				   SONDE_NONE, SONDE_ATTRIBUTE_UNSIGNED);
}

static uint32_t make_metric(struct sn_perf *perf)
{
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(perf->builder, "thread-state-time"),
	    .unit = sn_db_builder_string(perf->builder, "ns"),
	    .source = sn_db_builder_string(perf->builder, "perf"),
	    .kind = SN_METRIC_TIME,
	};
	return sn_db_builder_metric(perf->builder, &metric);
}

int sn_perf_state_finish(struct sn_perf *perf, struct sn_error *error)
{
	struct sn_event event;
	int result = sn_sorter_finish(perf->scheduler, error);
	if (result || !sn_sorter_count(perf->scheduler))
		return result;
	struct finishing finishing = {perf, make_metric(perf), make_key(perf, "cpu"),
				      make_key(perf, "waker"), make_key(perf, "tid")};
	struct sn_sched sched = {.take = take_interval, .context = &finishing};
	result = sn_sorter_begin(perf->scheduler, 0, error);
	while (!result && (result = sn_sorter_next(perf->scheduler, &event, error)) > 0) {
		result = feed(&sched, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	if (!result && sn_sched_finish(&sched))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_sched_release(&sched);
	return result;
}
