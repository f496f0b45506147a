/* SPDX-License-Identifier: Apache-2.0 */
/* States of threads and processors; see scheduler.h. */
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

/* The kernel's TASK_ bits, lowest first; above them it marks a thread that was preempted. */
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
	sn_intern_release(&sched->tids);
	free(sched->threads);
	free(sched->processors);
}

static struct sn_sched_thread *thread_of(struct sn_sched *sched, uint32_t tid)
{
	uint32_t before = sched->tids.count;
	uint32_t number = sn_intern_add(&sched->tids, &tid, sizeof(tid));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&sched->threads, &sched->thread_capacity, number + 1ull) < 0)
		return NULL;
	if (number == before)
		sched->threads[number] = (struct sn_sched_thread){.tid = tid};
	return sched->threads + number;
}

static struct sn_sched_processor *processor_of(struct sn_sched *sched, uint32_t cpu)
{
	if (cpu >= SN_SCHED_PROCESSORS_MAX ||
	    sn_vec_reserve(&sched->processors, &sched->processor_capacity, cpu + 1ull) < 0)
		return NULL;
	for (; sched->processor_count <= cpu; sched->processor_count++)
		sched->processors[sched->processor_count] = (struct sn_sched_processor){0};
	return sched->processors + cpu;
}

/* Ends what a thread did and begins something else. */
static int turn(struct sn_sched *sched, uint64_t time_ns, struct sn_sched_thread next)
{
	struct sn_sched_thread *thread = thread_of(sched, next.tid);
	if (!thread)
		return SN_ERR_MEMORY;
	struct sn_sched_interval interval = {UINT32_MAX, next.tid, *thread, thread->since_ns,
					     time_ns};
	next.since_ns = time_ns;
	*thread = next;
	if (interval.thread.state == SN_SCHED_UNKNOWN || time_ns <= interval.start_ns)
		return 0;
	return sched->take(sched->context, &interval);
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
	return sched->take(sched->context, &interval);
}

/* The kernel lost something: somebody else should be running there, of whom nothing is known from
 * now on. */
static int forget(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid)
{
	uint32_t found = cpu < sched->processor_count ? sched->processors[cpu].tid : 0;
	return found && found != tid ? turn(sched, time_ns, (struct sn_sched_thread){.tid = found})
				     : 0;
}

int sn_sched_out(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid,
		 bool could_go_on, char why)
{
	sched->last_ns = time_ns;
	int result = forget(sched, time_ns, cpu, tid);
	if (!result)
		result = occupy(sched, time_ns, cpu, 0);
	if (result || !tid)
		return result;
	struct sn_sched_thread next = {.tid = tid,
				       .state = could_go_on ? SN_SCHED_READY : SN_SCHED_BLOCKED,
				       .why = could_go_on ? 0 : why};
	if (!could_go_on && (why == 'X' || why == 'Z')) /* it has ended */
		next.state = SN_SCHED_UNKNOWN;
	return turn(sched, time_ns, next);
}

int sn_sched_in(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid)
{
	sched->last_ns = time_ns;
	int result = occupy(sched, time_ns, cpu, tid);
	if (result || !tid)
		return result;
	return turn(sched, time_ns,
		    (struct sn_sched_thread){.tid = tid, .state = SN_SCHED_RUNNING, .cpu = cpu});
}

int sn_sched_switch(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t from,
		    bool could_go_on, char why, uint32_t to)
{
	if (from == SN_SCHED_UNTOLD)
		from = cpu < sched->processor_count ? sched->processors[cpu].tid : 0;
	int result = sn_sched_out(sched, time_ns, cpu, from, could_go_on, why);
	return result ? result : sn_sched_in(sched, time_ns, cpu, to);
}

int sn_sched_wake(struct sn_sched *sched, uint64_t time_ns, uint32_t tid, uint32_t waker)
{
	sched->last_ns = time_ns;
	struct sn_sched_thread *thread = tid ? thread_of(sched, tid) : NULL;
	if (!thread)
		return tid ? SN_ERR_MEMORY : 0;
	/* one that runs or is ready already is woken for nothing */
	if (thread->state == SN_SCHED_RUNNING || thread->state == SN_SCHED_READY)
		return 0;
	return turn(sched, time_ns,
		    (struct sn_sched_thread){.tid = tid, .state = SN_SCHED_READY, .waker = waker});
}

int sn_sched_finish(struct sn_sched *sched)
{
	int result = 0;
	for (uint32_t i = 0; i < sched->tids.count && !result; i++)
		result = turn(sched, sched->last_ns,
			      (struct sn_sched_thread){.tid = sched->threads[i].tid});
	for (uint32_t i = 0; i < sched->processor_count && !result; i++)
		result = occupy(sched, sched->last_ns, i, 0);
	return result;
}
