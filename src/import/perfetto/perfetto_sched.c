/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler in a Perfetto trace (ftrace's sched_switch and sched_waking, whole or compact): for
 * each thread a row of states (running, ready, what it waits in), for each CPU a row of the threads
 * that ran on it.
 *
 * Packets hold the events of one CPU and some stretch of time, so all are sorted first.
 */
#include "perfetto.h"

#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "import/core/scheduler.h"

#include <stdio.h>
#include <string.h>

#define SORTER_BYTES (64u << 20)

enum { SWITCH, WAKE };
#define NOT_TOLD UINT64_MAX

/* What one of them says, as an event of the sorter. `other`: the thread before, or the one that
 * wakes; NOT_TOLD. */
static int add(struct sn_perfetto *perfetto, unsigned what, int64_t offset_ns, uint64_t time_ns,
	       uint32_t cpu, uint32_t tid, uint32_t name, uint64_t state, uint64_t other)
{
	uint64_t biased_ns;
	if (!perfetto->switches)
		perfetto->switches = sn_sorter_new(SORTER_BYTES, NULL);
	if (!perfetto->switches)
		return SN_ERR_MEMORY;
	if (cpu >= SN_SCHED_PROCESSORS_MAX ||
	    !sn_perfetto_time(perfetto, NULL, SN_PERFETTO_BOOTTIME, time_ns + (uint64_t)offset_ns,
			      &biased_ns)) {
		perfetto->untimed++;
		return 0;
	}
	struct sn_attribute attributes[] = {{what, 0, state}, {what, 0, other}};
	struct sn_event event = {.start_ns = biased_ns,
				 .end_ns = biased_ns,
				 .link = (uint64_t)cpu << 32 | tid,
				 .context = name,
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INSTANTS,
				 .attribute_count = 2,
				 .attributes = attributes};
	sn_sorter_add(perfetto->switches, &event);
	return 0;
}

/* ---- ftrace ---- */

/* sched_switch: 5 next_comm, 6 next_pid, 4 prev_state; sched_waking: 1 comm, 2 pid. */
static int take_event(struct sn_perfetto *perfetto, uint32_t cpu, int64_t offset_ns,
		      struct sn_proto event)
{
	struct sn_proto_field field, part, name = {0};
	uint64_t time_ns = 0, state = 0, other = NOT_TOLD;
	uint32_t tid = 0, kind = 0;
	while (sn_proto_next(&event, &field)) {
		if (field.number == 1)
			time_ns = field.value;
		if (field.number == 2 && field.wire == SN_PROTO_VARINT && other == NOT_TOLD)
			other = (uint32_t)field.value; /* who is interrupted, or wakes */
		if (field.number > 2 && field.wire == SN_PROTO_BYTES)
			kind = field.number;
		if (kind != field.number || (kind != 4 && kind != 17 && kind != 20 && kind != 114))
			continue;
		struct sn_proto message = sn_proto_enter(&field);
		while (sn_proto_next(&message, &part)) {
			if (part.number == (kind == 4 ? 5u : 1u))
				name = part;
			else if (part.number == (kind == 4 ? 6u : 2u))
				tid = (uint32_t)part.value;
			else if (kind == 4 && part.number == 4)
				state = part.value;
			else if (kind == 4 && part.number == 2)
				other = (uint32_t)part.value;
		}
	}
	if (kind != 4 && kind != 17 && kind != 20 && kind != 114) {
		perfetto->unread[1]++;
		return 0;
	}
	return add(perfetto, kind == 4 ? SWITCH : WAKE, offset_ns, time_ns, cpu, tid,
		   sn_perfetto_string(perfetto, &name), state, other);
}

/* Columns of one kind of event, of which times are differences. */
struct columns {
	struct sn_proto times, states, tids, names;
};

static int take_columns(struct sn_perfetto *perfetto, struct columns *columns, unsigned what,
			uint32_t cpu, int64_t offset_ns, const uint32_t *table, size_t table_count)
{
	uint64_t time_ns = 0, delta, state = 0, tid, name;
	int result = 0;
	while (!result && sn_proto_packed(&columns->times, &delta) &&
	       sn_proto_packed(&columns->tids, &tid)) {
		uint32_t text = SONDE_NONE;
		time_ns += delta;
		if (what == SWITCH && !sn_proto_packed(&columns->states, &state))
			state = 0;
		if (sn_proto_packed(&columns->names, &name) && name < table_count)
			text = table[name];
		result = add(perfetto, what, offset_ns, time_ns, cpu, (uint32_t)tid, text, state,
			     NOT_TOLD);
	}
	return result;
}

static int take_compact(struct sn_perfetto *perfetto, uint32_t cpu, int64_t offset_ns,
			struct sn_proto message)
{
	struct sn_proto nothing = sn_proto_of("", 0);
	struct columns switches = {nothing, nothing, nothing, nothing}, wakes = switches;
	struct sn_proto *const places[] = {
	    [1] = &switches.times, [2] = &switches.states, [3] = &switches.tids,
	    [6] = &switches.names, [7] = &wakes.times,	   [8] = &wakes.tids,
	    [11] = &wakes.names};
	struct sn_proto_field field;
	uint32_t *table = NULL;
	size_t count = 0, capacity = 0;
	while (sn_proto_next(&message, &field)) {
		if (field.number == 5) {
			if (sn_vec_reserve(&table, &capacity, count + 1) < 0) {
				free(table);
				return SN_ERR_MEMORY;
			}
			table[count++] = sn_perfetto_string(perfetto, &field);
		} else if (field.number < sizeof(places) / sizeof(*places) &&
			   places[field.number]) {
			*places[field.number] = sn_proto_enter(&field);
		}
	}
	int result = take_columns(perfetto, &switches, SWITCH, cpu, offset_ns, table, count);
	if (!result)
		result = take_columns(perfetto, &wakes, WAKE, cpu, offset_ns, table, count);
	free(table);
	return result;
}

int sn_perfetto_ftrace(struct sn_perfetto *perfetto, struct sn_proto bundle)
{
	struct sn_proto all = bundle;
	struct sn_proto_field field;
	uint32_t cpu = 0;
	uint64_t clock = 0, shown = 0, boot = 0;
	while (sn_proto_next(&all, &field)) {
		if (field.number == 1)
			cpu = (uint32_t)field.value;
		else if (field.number == 5)
			clock = field.value;
		else if (field.number == 6)
			shown = field.value;
		else if (field.number == 7)
			boot = field.value;
	}
	int64_t offset_ns = clock && shown && boot ? (int64_t)(boot - shown) : 0;
	int result = 0;
	while (!result && sn_proto_next(&bundle, &field)) {
		if (field.number == 2)
			result = take_event(perfetto, cpu, offset_ns, sn_proto_enter(&field));
		else if (field.number == 4)
			result = take_compact(perfetto, cpu, offset_ns, sn_proto_enter(&field));
	}
	return result;
}

/* ---- states ---- */

struct states {
	struct sn_perfetto *perfetto;
	uint32_t tid_key, waker_key;
};

static const char *thread_name(struct sn_perfetto *perfetto, uint32_t tid, char *text, size_t size)
{
	const struct sn_perfetto_thread *thread = sn_perfetto_thread(perfetto, tid);
	if (thread && thread->name != SONDE_NONE)
		snprintf(text, size, "%s",
			 sn_db_builder_text(perfetto->recording.builder, thread->name));
	else
		snprintf(text, size, "thread %u", tid);
	return text;
}

static uint32_t context_below(struct sn_perfetto *perfetto, uint32_t parent, unsigned kind,
			      const char *name)
{
	struct sn_db_builder *builder = perfetto->recording.builder;
	return sn_db_builder_context(builder, parent,
				     sn_db_builder_named_frame(builder, kind, name));
}

static uint32_t state_context(struct sn_perfetto *perfetto, const struct sn_sched_thread *thread)
{
	uint32_t context =
	    context_below(perfetto, 0, SN_FRAME_OS, sn_sched_state_name(thread->state));
	return thread->state == SN_SCHED_BLOCKED
		   ? context_below(perfetto, context, SN_FRAME_OS, sn_sched_reason(thread->why))
		   : context;
}

static struct sn_recording_line *cpu_line(struct sn_perfetto *perfetto, uint32_t cpu)
{
	char name[32];
	struct sn_recording_place place = {0, -1, cpu, 3, 0};
	snprintf(name, sizeof(name), "CPU %u", cpu);
	uint32_t text = sn_db_builder_string(perfetto->recording.builder, name);
	struct sn_recording_line *line = sn_recording_line(&perfetto->recording, &place);
	if (line) {
		line->name = text;
		line->tid = cpu;
		line->is_processor = true;
	}
	return line;
}

static int take_interval(void *context, const struct sn_sched_interval *interval)
{
	const struct states *states = context;
	struct sn_perfetto *perfetto = states->perfetto;
	bool is_cpu = interval->processor != UINT32_MAX;
	char name[256];
	const struct sn_perfetto_thread *known = sn_perfetto_thread(perfetto, interval->tid);
	struct sn_recording_line *line =
	    !known   ? NULL
	    : is_cpu ? cpu_line(perfetto, interval->processor)
		     : sn_perfetto_thread_line(perfetto, known->pid, interval->tid);
	if (!line)
		return SN_ERR_MEMORY;
	struct sn_attribute attribute = {perfetto->cpu_key, 0, interval->thread.cpu};
	bool has_attribute = is_cpu || interval->thread.state == SN_SCHED_RUNNING;
	if (is_cpu) {
		attribute = (struct sn_attribute){states->tid_key, 0, interval->tid};
	} else if (interval->thread.waker) {
		attribute = (struct sn_attribute){states->waker_key, 0, interval->thread.waker};
		has_attribute = true;
	}
	if (line->name == SONDE_NONE)
		line->name = known->name;
	struct sn_event event = {
	    .start_ns = interval->start_ns,
	    .end_ns = interval->end_ns,
	    .context = is_cpu
			   ? context_below(perfetto, 0, SN_FRAME_THREAD,
					   thread_name(perfetto, interval->tid, name, sizeof(name)))
			   : state_context(perfetto, &interval->thread),
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_STATES,
	    .attribute_count = has_attribute,
	    .attributes = &attribute,
	};
	sn_recording_add(&perfetto->recording, line, &event);
	return 0;
}

static int feed(struct sn_perfetto *perfetto, struct sn_sched *sched, const struct sn_event *event)
{
	uint32_t cpu = (uint32_t)(event->link >> 32), tid = (uint32_t)event->link;
	uint64_t other = event->attributes[1].value;
	bool could_go_on;
	struct sn_perfetto_thread *thread = sn_perfetto_thread(perfetto, tid);
	if (!thread)
		return SN_ERR_MEMORY;
	if (thread->name == SONDE_NONE)
		thread->name = event->context;
	if (event->attributes[0].key == WAKE)
		return sn_sched_wake(sched, event->start_ns, tid,
				     other == NOT_TOLD ? 0 : (uint32_t)other);
	char why = sn_sched_letter(event->attributes[0].value & 0xff, &could_go_on);
	/* who does not tell the thread before goes by what the processor did */
	if (other == NOT_TOLD)
		other = cpu < sched->processor_count ? sched->processors[cpu].tid : 0;
	return sn_sched_switch(sched, event->start_ns, cpu, (uint32_t)other, could_go_on, why, tid);
}

static uint32_t key(struct sn_perfetto *perfetto, const char *name)
{
	return sn_recording_attribute_key(&perfetto->recording, name, strlen(name),
					  SONDE_ATTRIBUTE_UNSIGNED);
}

int sn_perfetto_sched(struct sn_perfetto *perfetto, struct sn_error *error)
{
	struct sn_event event;
	if (!perfetto->switches)
		return 0;
	struct states states = {perfetto, key(perfetto, "tid"), key(perfetto, "waker")};
	struct sn_sched sched = {.take = take_interval, .context = &states};
	int result = sn_sorter_finish(perfetto->switches, error);
	if (!result)
		result = sn_sorter_begin(perfetto->switches, 0, error);
	while (!result && (result = sn_sorter_next(perfetto->switches, &event, error)) > 0) {
		result = feed(perfetto, &sched, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	if (!result && sn_sched_finish(&sched))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_sched_release(&sched);
	return result;
}
