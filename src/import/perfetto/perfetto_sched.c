/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler in a Perfetto trace (ftrace's sched_switch and sched_waking, normal or compact):
 * for each thread a row of states (running, ready, what it waits in), for each CPU a row of the
 * threads that ran on it.
 *
 * A packet has the events of one CPU and a stretch of time, so all events are sorted first.
 */
#include "perfetto.h"

#include "base/vec.h"
#include "import/core/sched_sorter.h"

/* Converts the time of an event to the Unix epoch and keeps the event. */
static int keep(struct sn_perfetto *perfetto, struct sn_sched_record record)
{
	if (record.cpu >= SN_SCHED_PROCESSORS_MAX ||
	    !sn_perfetto_time(perfetto, NULL, SN_PERFETTO_BOOTTIME, record.time_ns,
			      &record.time_ns)) {
		sn_track_sink_untimed(perfetto->sink, 1);
		return 0;
	}
	return sn_sched_sorter_add(&perfetto->switches, &record);
}

/* ---- ftrace ---- */

enum { SWITCH = 4, WAKEUP = 17, WAKEUP_NEW = 20, WAKING = 114 };

/* sched_switch: 2 prev_pid, 4 prev_state, 5 next_comm, 6 next_pid; the others: 1 comm, 2 pid. */
static int read_event(struct sn_perfetto *perfetto, uint32_t cpu, int64_t offset_ns,
		      struct sn_proto event)
{
	struct sn_proto_field field, kind = {0}, pid = {0}, parts[7];
	uint64_t time_ns = 0;
	while (sn_proto_next(&event, &field)) {
		if (field.number == 1)
			time_ns = field.value;
		else if (field.number == 2 && field.wire == SN_PROTO_VARINT)
			pid = field; /* the interrupted thread, or the one that wakes another */
		else if (field.number > 2 && field.wire == SN_PROTO_BYTES)
			kind = field;
	}
	bool is_switch = kind.number == SWITCH;
	if (!is_switch && kind.number != WAKEUP && kind.number != WAKEUP_NEW &&
	    kind.number != WAKING) {
		perfetto->unread[1]++;
		return 0;
	}
	SN_PROTO_FIELDS(sn_proto_enter(&kind), parts);
	if (is_switch && parts[2].number)
		pid = parts[2];
	return keep(perfetto, (struct sn_sched_record){
				  .kind = is_switch ? SN_SCHED_SWITCH : SN_SCHED_WAKE,
				  .time_ns = time_ns + (uint64_t)offset_ns,
				  .cpu = cpu,
				  .tid = (uint32_t)parts[is_switch ? 6 : 2].value,
				  .other = pid.number  ? (uint32_t)pid.value
					   : is_switch ? SN_SCHED_UNTOLD
						       : 0,
				  .state = is_switch ? parts[4].value : 0,
				  .name = sn_perfetto_string(perfetto, parts + (is_switch ? 5 : 1)),
			      });
}

/* The columns of one kind of compact event; times are differences. */
struct columns {
	struct sn_proto times, states, tids, names;
};

static int read_columns(struct sn_perfetto *perfetto, struct columns *columns,
			enum sn_sched_kind kind, uint32_t cpu, int64_t offset_ns,
			const uint32_t *table, size_t table_count)
{
	uint64_t time_ns = 0, delta, state = 0, tid, name;
	int result = 0;
	while (!result && sn_proto_packed(&columns->times, &delta) &&
	       sn_proto_packed(&columns->tids, &tid)) {
		uint32_t text = SONDE_NONE;
		time_ns += delta;
		if (kind == SN_SCHED_SWITCH && !sn_proto_packed(&columns->states, &state))
			state = 0;
		if (sn_proto_packed(&columns->names, &name) && name < table_count)
			text = table[name];
		result = keep(perfetto, (struct sn_sched_record){
					    .kind = kind,
					    .time_ns = time_ns + (uint64_t)offset_ns,
					    .cpu = cpu,
					    .tid = (uint32_t)tid,
					    .other = kind == SN_SCHED_SWITCH ? SN_SCHED_UNTOLD : 0,
					    .state = state,
					    .name = text,
					});
	}
	return result;
}

static int read_compact(struct sn_perfetto *perfetto, uint32_t cpu, int64_t offset_ns,
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
			uint32_t text = sn_perfetto_string(perfetto, &field);
			if (sn_vec_push(&table, &capacity, &count, text)) {
				free(table);
				return SN_ERR_MEMORY;
			}
		} else if (field.number < sizeof(places) / sizeof(*places) &&
			   places[field.number]) {
			*places[field.number] = sn_proto_enter(&field);
		}
	}
	int result =
	    read_columns(perfetto, &switches, SN_SCHED_SWITCH, cpu, offset_ns, table, count);
	if (!result)
		result =
		    read_columns(perfetto, &wakes, SN_SCHED_WAKE, cpu, offset_ns, table, count);
	free(table);
	return result;
}

int sn_perfetto_ftrace(struct sn_perfetto *perfetto, struct sn_proto bundle)
{
	struct sn_proto_field field, about[8]; /* 5 clock, 6 its time, 7 time since boot */
	SN_PROTO_FIELDS(bundle, about);
	uint32_t cpu = (uint32_t)about[1].value;
	bool has_offset = about[5].value && about[6].value && about[7].value;
	int64_t offset_ns = has_offset ? (int64_t)(about[7].value - about[6].value) : 0;
	int result = 0;
	while (!result && sn_proto_next(&bundle, &field)) {
		if (field.number == 2)
			result = read_event(perfetto, cpu, offset_ns, sn_proto_enter(&field));
		else if (field.number == 4)
			result = read_compact(perfetto, cpu, offset_ns, sn_proto_enter(&field));
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

/* A thread gets the first name it has. */
static int name_thread(void *context, uint32_t tid, uint32_t name)
{
	struct sn_perfetto_thread *thread = sn_perfetto_thread(context, tid);
	if (thread && thread->name == SONDE_NONE)
		thread->name = name;
	return thread ? 0 : SN_ERR_MEMORY;
}

int sn_perfetto_sched(struct sn_perfetto *perfetto, struct sn_error *error)
{
	if (!perfetto->switches)
		return 0;
	struct sn_track_threads threads = {thread_track, perfetto};
	struct sn_sched *sched = sn_track_sink_scheduler(perfetto->sink, &threads);
	return sched ? sn_sched_sorter_feed(perfetto->switches, sched, name_thread, perfetto, error)
		     : sn_fail_memory(error);
}
