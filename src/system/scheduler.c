/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of threads and processors. */
#include "scheduler.h"

#include "base/error.h"
#include "base/vec.h"

const char *sn_sched_state_name(enum sn_sched_state state)
{
	static const char *const names[] = {"unknown", "running", "ready", "blocked"};
	return names[state];
}

const char *sn_sched_reason(char why)
{
	switch (why) {
	case 'D':
		return "uninterruptible";
	case 'T':
		return "stopped";
	case 't':
		return "traced";
	case 'P':
		return "parked";
	case 'I':
		return "idle";
	default:
		return "interruptible";
	}
}

/* The letter of the lowest of the kernel's TASK_ bits; a thread without one was preempted. */
char sn_sched_letter(uint64_t state, bool *could_go_on)
{
	static const char letters[] = "SDTtXZPI";
	for (unsigned i = 0; i < sizeof(letters) - 1; i++) {
		*could_go_on = false;
		if (state >> i & 1)
			return letters[i];
	}
	*could_go_on = true;
	return 'R';
}

void sn_sched_release(struct sn_sched *sched)
{
	sn_table_release(&sched->tids);
	free(sched->threads);
	free(sched->processors);
}

/* ---- by thread ---- */

/* Ends the state of a thread and begins another one. */
static int enter(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns,
		 struct sn_sched_thread next)
{
	if (time_ns < thread->since_ns) {
		sched->disorder++;
		time_ns = thread->since_ns;
	}
	struct sn_sched_interval interval = {UINT32_MAX, thread->tid, *thread, thread->since_ns,
					     time_ns};
	bool is_known =
	    thread->state != SN_SCHED_UNKNOWN || (sched->has_unknown && thread->since_ns);
	next.tid = thread->tid;
	next.since_ns = time_ns;
	*thread = next;
	return is_known && time_ns > interval.start_ns ? sched->interval(sched->context, &interval)
						       : 0;
}

int sn_sched_run(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns,
		 uint32_t cpu)
{
	return enter(sched, thread, time_ns,
		     (struct sn_sched_thread){.state = SN_SCHED_RUNNING, .cpu = cpu});
}

int sn_sched_leave(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns,
		   bool could_go_on, char why)
{
	bool is_over = why == 'X' || why == 'Z';
	struct sn_sched_thread next = {.state = SN_SCHED_READY};
	if (!could_go_on)
		next = (struct sn_sched_thread){
		    .state = is_over ? SN_SCHED_UNKNOWN : SN_SCHED_BLOCKED, .why = why};
	return enter(sched, thread, time_ns, next);
}

int sn_sched_ready(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns,
		   uint32_t waker)
{
	return enter(sched, thread, time_ns,
		     (struct sn_sched_thread){.state = SN_SCHED_READY, .waker = waker});
}

int sn_sched_forget(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns)
{
	return enter(sched, thread, time_ns, (struct sn_sched_thread){0});
}

/* ---- by number ---- */

static struct sn_sched_thread *thread_of(struct sn_sched *sched, uint32_t tid)
{
	uint32_t before = sched->tids.count;
	if (sn_vec_reserve(&sched->threads, &sched->thread_capacity, before + 1ull) < 0)
		return NULL;
	uint32_t number = sn_table_add(&sched->tids, tid);
	if (number == before)
		sched->threads[number] = (struct sn_sched_thread){.tid = tid};
	return number == SN_TABLE_NONE ? NULL : sched->threads + number;
}

static struct sn_sched_processor *processor_of(struct sn_sched *sched, uint32_t cpu)
{
	if (sn_vec_reserve(&sched->processors, &sched->processor_capacity, cpu + 1ull) < 0)
		return NULL;
	for (; sched->processor_count <= cpu; sched->processor_count++)
		sched->processors[sched->processor_count] = (struct sn_sched_processor){0};
	return sched->processors + cpu;
}

static int occupy(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid)
{
	if (cpu >= SN_SCHED_PROCESSORS_MAX)
		return 0;
	struct sn_sched_processor *processor = processor_of(sched, cpu);
	if (!processor)
		return SN_ERR_MEMORY;
	struct sn_sched_interval interval = {
	    cpu, processor->tid, {0}, processor->since_ns, time_ns};
	*processor = (struct sn_sched_processor){tid, time_ns};
	if (!interval.tid || time_ns <= interval.start_ns)
		return 0;
	return sched->interval(sched->context, &interval);
}

static uint32_t occupant(const struct sn_sched *sched, uint32_t cpu)
{
	return cpu < sched->processor_count ? sched->processors[cpu].tid : 0;
}

int sn_sched_out(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid,
		 bool could_go_on, char why)
{
	uint32_t found = occupant(sched, cpu);
	struct sn_sched_thread *lost = found && found != tid ? thread_of(sched, found) : NULL;
	sched->last_ns = time_ns;
	/* the record of this thread's switch was lost */
	int result = lost ? sn_sched_forget(sched, lost, time_ns) : 0;
	if (!result)
		result = occupy(sched, time_ns, cpu, 0);
	if (result || !tid)
		return result;
	struct sn_sched_thread *thread = thread_of(sched, tid);
	return thread ? sn_sched_leave(sched, thread, time_ns, could_go_on, why) : SN_ERR_MEMORY;
}

int sn_sched_in(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid)
{
	sched->last_ns = time_ns;
	int result = occupy(sched, time_ns, cpu, tid);
	if (result || !tid)
		return result;
	struct sn_sched_thread *thread = thread_of(sched, tid);
	return thread ? sn_sched_run(sched, thread, time_ns, cpu) : SN_ERR_MEMORY;
}

int sn_sched_switch(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t from,
		    bool could_go_on, char why, uint32_t to)
{
	if (from == SN_SCHED_UNTOLD)
		from = occupant(sched, cpu);
	int result = sn_sched_out(sched, time_ns, cpu, from, could_go_on, why);
	return result ? result : sn_sched_in(sched, time_ns, cpu, to);
}

int sn_sched_wake(struct sn_sched *sched, uint64_t time_ns, uint32_t tid, uint32_t waker)
{
	sched->last_ns = time_ns;
	struct sn_sched_thread *thread = tid ? thread_of(sched, tid) : NULL;
	if (!thread)
		return tid ? SN_ERR_MEMORY : 0;
	/* waking a running or ready thread changes nothing */
	if (thread->state == SN_SCHED_RUNNING || thread->state == SN_SCHED_READY)
		return 0;
	return sn_sched_ready(sched, thread, time_ns, waker);
}

int sn_sched_finish(struct sn_sched *sched)
{
	int result = 0;
	for (uint32_t i = 0; i < sched->tids.count && !result; i++)
		result = sn_sched_forget(sched, sched->threads + i, sched->last_ns);
	for (uint32_t i = 0; i < sched->processor_count && !result; i++)
		result = occupy(sched, sched->last_ns, i, 0);
	return result;
}
