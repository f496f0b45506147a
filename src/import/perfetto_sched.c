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

#include <stdio.h>
#include <string.h>

#define SORTER_BYTES (64u << 20)
#define CPUS_MAX     65536u

enum { SWITCH, WAKE };

/* What one of them says, as an event of the sorter. */
static int add(struct sn_perfetto *perfetto, unsigned what, int64_t offset_ns, uint64_t time_ns,
	       uint32_t cpu, uint32_t tid, uint32_t name, uint64_t state)
{
	uint64_t biased_ns;
	if (!perfetto->switches)
		perfetto->switches = sn_sorter_new(SORTER_BYTES, NULL);
	if (!perfetto->switches)
		return SN_ERR_MEMORY;
	if (cpu >= CPUS_MAX || !sn_perfetto_time(perfetto, NULL, SN_PERFETTO_BOOTTIME,
						 time_ns + (uint64_t)offset_ns, &biased_ns)) {
		perfetto->untimed++;
		return 0;
	}
	struct sn_attribute attribute = {what, 0, state};
	struct sn_event event = {.start_ns = biased_ns,
				 .end_ns = biased_ns,
				 .link = (uint64_t)cpu << 32 | tid,
				 .context = name,
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INSTANTS,
				 .attribute_count = 1,
				 .attributes = &attribute};
	sn_sorter_add(perfetto->switches, &event);
	return 0;
}

/* ---- ftrace ---- */

/* sched_switch: 5 next_comm, 6 next_pid, 4 prev_state; sched_waking: 1 comm, 2 pid. */
static int take_event(struct sn_perfetto *perfetto, uint32_t cpu, int64_t offset_ns,
		      struct sn_proto event)
{
	struct sn_proto_field field, part, name = {0};
	uint64_t time_ns = 0, state = 0;
	uint32_t tid = 0, kind = 0;
	while (sn_proto_next(&event, &field)) {
		if (field.number == 1)
			time_ns = field.value;
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
		}
	}
	if (kind != 4 && kind != 17 && kind != 20 && kind != 114) {
		perfetto->unread[1]++;
		return 0;
	}
	return add(perfetto, kind == 4 ? SWITCH : WAKE, offset_ns, time_ns, cpu, tid,
		   sn_perfetto_string(perfetto, &name), state);
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
		result = add(perfetto, what, offset_ns, time_ns, cpu, (uint32_t)tid, text, state);
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

static const char *const state_names[] = {
    "[running]", "[ready]", "[sleeping]", "[uninterruptible wait]", "[stopped]", "[ended]"};
enum state { RUNNING, READY, SLEEPING, WAITING, STOPPED, ENDED, UNKNOWN };

struct thread_state {
	enum state state;
	uint64_t since_ns;
};
struct cpu_state {
	uint32_t tid;
	bool is_known;
	uint64_t since_ns;
};

struct sched {
	struct sn_perfetto *perfetto;
	struct thread_state *threads; /* by number of perfetto->thread_ids */
	size_t thread_capacity;
	struct cpu_state *cpus;
	size_t cpu_capacity, cpu_count;
	uint32_t thread_count;
};

/* What a thread does that is switched away from: linux/sched.h, the low byte; a thread that could
 * go on has 0 there. */
static enum state state_of(uint64_t prev_state)
{
	prev_state &= 0xff;
	if (!prev_state)
		return READY;
	return prev_state & 2		     ? WAITING
	       : prev_state & 1		     ? SLEEPING
	       : prev_state & (4 | 8)	     ? STOPPED
	       : prev_state & (16 | 32 | 64) ? ENDED
					     : SLEEPING;
}

static int emit(struct sched *sched, const struct sn_recording_place *place, uint32_t line_name,
		const char *text, uint64_t from_ns, uint64_t to_ns, int64_t cpu)
{
	struct sn_perfetto *perfetto = sched->perfetto;
	struct sn_attribute attribute = {perfetto->cpu_key, 0, (uint64_t)cpu};
	uint32_t number;
	char copy[256]; /* the text may be the builder's, which moves */
	snprintf(copy, sizeof(copy), "%s", text);
	if (sn_recording_name_number(&perfetto->recording, SN_ACTIVITY_SYSTEM, copy, strlen(copy),
				     &number))
		return SN_ERR_MEMORY;
	struct sn_recording_line *line = sn_recording_line(&perfetto->recording, place);
	if (!line)
		return SN_ERR_MEMORY;
	if (line->name == SONDE_NONE)
		line->name = line_name;
	struct sn_event event = {.start_ns = from_ns,
				 .end_ns = to_ns,
				 .context = number,
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INTERVALS,
				 .attribute_count = cpu >= 0,
				 .attributes = &attribute};
	sn_recording_add(&perfetto->recording, line, &event);
	return 0;
}

static const char *thread_name(const struct sched *sched, uint32_t tid, char *text, size_t size)
{
	const struct sn_perfetto *perfetto = sched->perfetto;
	int64_t key[2] = {INT64_MIN, tid};
	uint32_t number = sn_intern_find(&perfetto->thread_ids, key, sizeof(key));
	if (number != SN_INTERN_NONE && perfetto->threads[number].name != SONDE_NONE)
		snprintf(text, size, "%.100s",
			 sn_db_builder_text(perfetto->recording.builder,
					    perfetto->threads[number].name));
	else
		snprintf(text, size, "thread %u", tid);
	return text;
}

/* A stretch of one state of a thread, and of the CPU it ran on. */
static int end_state(struct sched *sched, uint32_t tid, struct thread_state *thread,
		     uint64_t time_ns, int64_t cpu)
{
	struct sn_perfetto *perfetto = sched->perfetto;
	char name[128], text[160];
	if (!tid || thread->state == UNKNOWN || time_ns <= thread->since_ns)
		return 0;
	struct sn_perfetto_thread *known = sn_perfetto_thread(perfetto, tid);
	if (!known)
		return SN_ERR_MEMORY;
	struct sn_recording_place place = {0, known->pid, tid, 2, 0};
	snprintf(text, sizeof(text), "%s: state", thread_name(sched, tid, name, sizeof(name)));
	int result = emit(sched, &place, sn_db_builder_string(perfetto->recording.builder, text),
			  state_names[thread->state], thread->since_ns, time_ns, cpu);
	if (result || thread->state != RUNNING || cpu < 0)
		return result;
	struct sn_recording_place row = {0, -1, cpu, 3, 0};
	snprintf(text, sizeof(text), "CPU %lld", (long long)cpu);
	return emit(sched, &row, sn_db_builder_string(perfetto->recording.builder, text), name,
		    thread->since_ns, time_ns, -1);
}

/* The state of a thread, unknown where it is new. */
static struct thread_state *thread_state(struct sched *sched, uint32_t tid, uint32_t name)
{
	struct sn_perfetto *perfetto = sched->perfetto;
	struct sn_perfetto_thread *known = sn_perfetto_thread(perfetto, tid);
	if (!known)
		return NULL;
	if (known->name == SONDE_NONE)
		known->name = name;
	uint32_t number = (uint32_t)(known - perfetto->threads);
	if (sn_vec_reserve(&sched->threads, &sched->thread_capacity, number + 1ull) < 0)
		return NULL;
	for (; sched->thread_count <= number; sched->thread_count++)
		sched->threads[sched->thread_count] = (struct thread_state){UNKNOWN, 0};
	return sched->threads + number;
}

static int take_switch(struct sched *sched, const struct sn_event *event)
{
	uint32_t number = (uint32_t)(event->link >> 32), next = (uint32_t)event->link;
	if (sn_vec_reserve(&sched->cpus, &sched->cpu_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	for (; sched->cpu_count <= number; sched->cpu_count++)
		sched->cpus[sched->cpu_count] = (struct cpu_state){0, false, 0};
	struct cpu_state *cpu = sched->cpus + number;
	if (cpu->is_known) {
		struct thread_state *thread = thread_state(sched, cpu->tid, SONDE_NONE);
		if (!thread || end_state(sched, cpu->tid, thread, event->start_ns, number))
			return SN_ERR_MEMORY;
		thread = thread_state(sched, cpu->tid, SONDE_NONE);
		*thread =
		    (struct thread_state){state_of(event->attributes[0].value), event->start_ns};
	}
	struct thread_state *thread = thread_state(sched, next, event->context);
	if (!thread || end_state(sched, next, thread, event->start_ns, -1))
		return SN_ERR_MEMORY;
	*thread_state(sched, next, SONDE_NONE) = (struct thread_state){RUNNING, event->start_ns};
	*cpu = (struct cpu_state){next, true, event->start_ns};
	return 0;
}

static int take_wake(struct sched *sched, const struct sn_event *event)
{
	uint32_t tid = (uint32_t)event->link;
	struct thread_state *thread = thread_state(sched, tid, event->context);
	if (!thread)
		return SN_ERR_MEMORY;
	if (thread->state == RUNNING || thread->state == READY)
		return 0;
	if (end_state(sched, tid, thread, event->start_ns, -1))
		return SN_ERR_MEMORY;
	*thread_state(sched, tid, SONDE_NONE) = (struct thread_state){READY, event->start_ns};
	return 0;
}

/* States last until the last event. */
static int end_all(struct sched *sched, uint64_t end_ns)
{
	int result = 0;
	for (size_t i = 0; i < sched->cpu_count && !result; i++) {
		uint32_t tid = sched->cpus[i].tid;
		struct thread_state *thread =
		    sched->cpus[i].is_known ? thread_state(sched, tid, SONDE_NONE) : NULL;
		if (!thread || thread->state != RUNNING)
			continue;
		result = end_state(sched, tid, thread, end_ns, (int64_t)i);
		sched->threads[thread - sched->threads].state = UNKNOWN;
	}
	for (uint32_t i = 0; i < sched->thread_count && !result; i++) {
		int64_t key[2];
		memcpy(key, sn_intern_at(&sched->perfetto->thread_ids, i, NULL), sizeof(key));
		if (sched->threads[i].state != ENDED)
			result = end_state(sched, (uint32_t)key[1], sched->threads + i, end_ns, -1);
	}
	return result;
}

int sn_perfetto_sched(struct sn_perfetto *perfetto, struct sn_error *error)
{
	struct sched sched = {.perfetto = perfetto};
	struct sn_event event;
	uint64_t end_ns = 0;
	if (!perfetto->switches)
		return 0;
	int result = sn_sorter_finish(perfetto->switches, error);
	if (!result)
		result = sn_sorter_begin(perfetto->switches, 0, error);
	while (!result && (result = sn_sorter_next(perfetto->switches, &event, error)) > 0) {
		end_ns = event.start_ns;
		result = event.attributes[0].key == SWITCH ? take_switch(&sched, &event)
							   : take_wake(&sched, &event);
		if (result)
			sn_fail(error, result, "out of memory");
	}
	if (!result && end_all(&sched, end_ns))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	free(sched.threads);
	free(sched.cpus);
	return result;
}
