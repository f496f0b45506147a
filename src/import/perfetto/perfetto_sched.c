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
#include "system/scheduler.h"

#include <stdio.h>
#include <string.h>

#define SORTER_BYTES (64u << 20)

enum { SWITCH, WAKE };
#define NOT_TOLD UINT64_MAX

/* What one of them says, as an event of the sorter. `other`: the thread before, or the one that
 * wakes; NOT_TOLD. */
static int add(struct sn_perfetto *perfetto, unsigned what, int64_t offset_ns, uint64_t at_ns,
	       uint32_t cpu, uint32_t tid, uint32_t name, uint64_t state, uint64_t other)
{
	uint64_t time_ns;
	if (!perfetto->switches)
		perfetto->switches = sn_sorter_new(SORTER_BYTES, NULL);
	if (!perfetto->switches)
		return SN_ERR_MEMORY;
	if (cpu >= SN_SCHED_PROCESSORS_MAX ||
	    !sn_perfetto_time(perfetto, NULL, SN_PERFETTO_BOOTTIME, at_ns + (uint64_t)offset_ns,
			      &time_ns)) {
		sn_track_sink_untimed(perfetto->sink, 1);
		return 0;
	}
	struct sn_attribute attributes[] = {{what, 0, state}, {what, 0, other}};
	struct sn_event event = {.start_ns = time_ns,
				 .end_ns = time_ns,
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

static uint32_t thread_track(void *context, uint32_t tid)
{
	struct sn_perfetto *perfetto = context;
	const struct sn_perfetto_thread *known = sn_perfetto_thread(perfetto, tid);
	uint32_t track = known ? sn_perfetto_thread_track(perfetto, known->pid, tid) : SONDE_NONE;
	if (track != SONDE_NONE && sn_track_sink_at(perfetto->sink, track)->name == SONDE_NONE)
		sn_track_sink_name_track(perfetto->sink, track, known->name);
	return track;
}

static uint32_t thread_name(void *context, uint32_t tid)
{
	const struct sn_perfetto_thread *known = sn_perfetto_thread(context, tid);
	return known ? known->name : SONDE_NONE;
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

int sn_perfetto_sched(struct sn_perfetto *perfetto, struct sn_error *error)
{
	struct sn_event event;
	if (!perfetto->switches)
		return 0;
	struct sn_track_threads threads = {thread_track, thread_name, perfetto};
	struct sn_sched *sched = sn_track_sink_scheduler(perfetto->sink, &threads);
	int result = sched ? sn_sorter_finish(perfetto->switches, error)
			   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		result = sn_sorter_begin(perfetto->switches, 0, error);
	while (!result && (result = sn_sorter_next(perfetto->switches, &event, error)) > 0) {
		result = feed(perfetto, sched, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	return result;
}
