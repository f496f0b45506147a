/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of threads and processors, from perf's tracepoints sched_switch, sched_wakeup and
 * sched_waking, or from its own records of switches. Records of several processors are out of
 * order, so they are sorted by time first.
 */
#include "perf.h"

#include "import/core/sched_sorter.h"

#include <string.h>

static uint32_t pid_of(const struct sn_perf *perf, uint32_t tid)
{
	uint32_t pid = sn_table_find(&perf->pids, tid);
	return pid == SN_TABLE_NONE ? tid : pid;
}

static uint32_t thread_track(void *context, uint32_t tid)
{
	return sn_perf_thread(context, pid_of(context, tid), tid);
}

/* Creates the track of a thread, which then covers that time. */
static int touch_thread(struct sn_perf *perf, uint32_t tid, uint64_t time_ns)
{
	uint32_t track = tid ? thread_track(perf, tid) : SONDE_NONE;
	if (track != SONDE_NONE)
		sn_track_sink_touch(perf->sink, track, (int64_t)time_ns);
	return tid && track == SONDE_NONE ? SN_ERR_MEMORY : 0;
}

static int touch_cpu(struct sn_perf *perf, uint32_t cpu, uint64_t time_ns)
{
	uint32_t track = sn_track_sink_processor(perf->sink, cpu);
	if (track == SONDE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_touch(perf->sink, track, (int64_t)time_ns);
	return 0;
}

static bool read_number(const struct sn_perf_tracepoint *tracepoint,
			const struct sn_perf_sample *sample, const char *name, uint64_t *value)
{
	const struct sn_tracepoint_field *field = sn_tracepoint_field(&tracepoint->format, name);
	if (!field || !sn_tracepoint_holds(field, sample->raw.size))
		return false;
	*value = (uint64_t)sn_tracepoint_number(field, sample->raw.data, sample->raw.size);
	return true;
}

/* Names a thread that no record has named by a tracepoint's field. */
static void name_thread(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
			const struct sn_perf_sample *sample, const char *field_name, uint32_t tid)
{
	const struct sn_tracepoint_field *field =
	    sn_tracepoint_field(&tracepoint->format, field_name);
	size_t length;
	if (!field || !field->is_text || !tid)
		return;
	const char *text = sn_tracepoint_text(field, sample->raw.data, sample->raw.size, &length);
	uint32_t track = length ? thread_track(perf, tid) : SONDE_NONE;
	if (track != SONDE_NONE && sn_track_sink_at(perf->sink, track)->name == SONDE_NONE)
		sn_track_sink_name_track(perf->sink, track,
					 sn_db_builder_string_n(perf->builder, text, length));
}

static int keep_switch(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
		       const struct sn_perf_sample *sample)
{
	uint64_t from, state, to;
	if (!read_number(tracepoint, sample, "prev_pid", &from) ||
	    !read_number(tracepoint, sample, "prev_state", &state) ||
	    !read_number(tracepoint, sample, "next_pid", &to))
		return 0;
	struct sn_sched_record record = {SN_SCHED_SWITCH, sample->time_ns, sample->cpu,
					 (uint32_t)to,	  (uint32_t)from,  state,
					 SONDE_NONE};
	if (sn_sched_sorter_add(&perf->scheduler, &record) ||
	    touch_thread(perf, record.other, sample->time_ns) ||
	    touch_thread(perf, record.tid, sample->time_ns) ||
	    touch_cpu(perf, sample->cpu, sample->time_ns))
		return SN_ERR_MEMORY;
	name_thread(perf, tracepoint, sample, "prev_comm", record.other);
	name_thread(perf, tracepoint, sample, "next_comm", record.tid);
	return 0;
}

static bool is_wakeup(const char *name)
{
	return !strcmp(name, "sched_wakeup") || !strcmp(name, "sched_wakeup_new") ||
	       !strcmp(name, "sched_waking");
}

int sn_perf_state_sample(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
			 const struct sn_perf_sample *sample)
{
	uint64_t tid;
	if (strcmp(tracepoint->system, "sched") != 0 || !sample->has_time || !sample->has_cpu)
		return 0;
	if (!strcmp(tracepoint->format.name, "sched_switch"))
		return keep_switch(perf, tracepoint, sample);
	if (!is_wakeup(tracepoint->format.name) || !read_number(tracepoint, sample, "pid", &tid))
		return 0;
	struct sn_sched_record record = {
	    SN_SCHED_WAKE, sample->time_ns, sample->cpu, (uint32_t)tid, sample->tid, 0, SONDE_NONE};
	return sn_sched_sorter_add(&perf->scheduler, &record)
		   ? SN_ERR_MEMORY
		   : touch_thread(perf, record.tid, sample->time_ns);
}

int sn_perf_state_switch(struct sn_perf *perf, const struct sn_perf_raw *record,
			 const struct sn_perf_sample *id)
{
	bool is_out = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool is_preempted = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	struct sn_sched_record kept = {is_out ? SN_SCHED_OUT : SN_SCHED_IN,
				       id->time_ns,
				       id->cpu,
				       id->tid,
				       0,
				       !is_preempted,
				       SONDE_NONE};
	if (perf->has_switches || !id->has_time)
		return 0;
	if (sn_sched_sorter_add(&perf->scheduler, &kept) ||
	    touch_thread(perf, id->tid, id->time_ns))
		return SN_ERR_MEMORY;
	return touch_cpu(perf, id->cpu, id->time_ns);
}

int sn_perf_state_finish(struct sn_perf *perf, struct sn_error *error)
{
	struct sn_track_threads threads = {thread_track, perf, .without_processors = true};
	if (!perf->scheduler)
		return 0;
	struct sn_sched *sched = sn_track_sink_scheduler(perf->sink, &threads);
	return sched ? sn_sched_sorter_feed(perf->scheduler, sched, NULL, NULL, error)
		     : sn_fail_memory(error);
}
