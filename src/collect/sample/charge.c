/* SPDX-License-Identifier: Apache-2.0 */
/* Charges what a thread has used since its last sample to a context; see sampling.h. */
#include "sampling.h"

#include "sample.h"

#include <string.h>

static void add(struct sn_thread *thread, uint32_t node, uint32_t metric, uint64_t amount)
{
	if (!sn_cct_add(&thread->cct, node, metric, amount))
		sn_drop(thread, SN_DROP_SAMPLE_MEMORY, 1);
}

static uint64_t less(uint64_t amount, uint64_t part)
{
	return amount > part ? amount - part : 0;
}

/* The program's CPU time from the last sample to `now`, without what the collector itself has used.
 */
static uint64_t uncharged_cpu(const struct sn_thread *thread, const struct sn_sampling *sampling,
			      uint64_t now)
{
	return less(now - sampling->charged_cpu_ns, thread->own_ns - sampling->charged_own_ns);
}

/* Events of perf's since the last sample; *count is how many in all. */
static uint64_t uncharged_events(const struct sn_sampling *sampling, int index, uint64_t *count)
{
	if (sn_events.list[index].source != SN_EVENT_PERF ||
	    !sn_own_event_read(&sampling->perf[index], count))
		return 0;
	uint64_t more = *count - sampling->counts[index];
	return (int64_t)more > 0 ? more : 0;
}

static void charge_cpu(struct sn_thread *thread, struct sn_sampling *sampling, uint32_t node,
		       uint64_t now)
{
	uint64_t used = uncharged_cpu(thread, sampling, now);
	sampling->charged_cpu_ns = now;
	sampling->charged_own_ns = thread->own_ns;
	thread->cpu_ns = sampling->ended_cpu_ns + now;
	if (sn_events.cpu >= 0)
		add(thread, node, sn_events.metrics[sn_events.cpu], used);
}

/*
 * Real time is what the measured waits have not claimed already (see intercept_wait.c): running, or
 * waiting for a processor, or an unmeasured wait.
 */
static void charge_real(struct sn_thread *thread, struct sn_sampling *sampling, uint32_t node,
			uint64_t now_ns)
{
	uint64_t passed = now_ns - sampling->charged_wall_ns;
	uint64_t waited = thread->waited_ns;
	sampling->charged_wall_ns = now_ns;
	thread->waited_ns = 0;
	if (sn_events.real >= 0)
		add(thread, node, sn_events.metrics[sn_events.real], less(passed, waited));
}

static void charge_perf(struct sn_thread *thread, struct sn_sampling *sampling, uint32_t node)
{
	for (int index = 0; index < sn_events.count; index++) {
		uint64_t count, more = uncharged_events(sampling, index, &count);
		if (!more)
			continue;
		add(thread, node, sn_events.metrics[index], more);
		sampling->counts[index] = count;
	}
}

void sn_charge(struct sn_thread *thread, uint32_t node, uint64_t now_cpu_ns, uint64_t now_ns)
{
	struct sn_sampling *sampling = thread->sampling;
	charge_cpu(thread, sampling, node, now_cpu_ns);
	charge_real(thread, sampling, node, now_ns);
	charge_perf(thread, sampling, node);
}

void sn_carry_rest(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	struct sn_amounts *carried = &sampling->carried;
	uint64_t now_cpu_ns = sn_thread_cpu_ns();
	carried->cpu_ns = uncharged_cpu(thread, sampling, now_cpu_ns);
	carried->wall_ns = less(sn_now_ns() - sampling->charged_wall_ns, thread->waited_ns);
	for (int index = 0; index < sn_events.count; index++) {
		uint64_t count;
		carried->counts[index] = uncharged_events(sampling, index, &count);
	}
	thread->cpu_ns = sampling->ended_cpu_ns + now_cpu_ns;
}

void sn_sampling_charge_wait(struct sn_thread *thread, const char *call, uint64_t waited_ns)
{
	uint64_t start_cpu_ns = sn_thread_cpu_ns();
	uint32_t node = sn_cct_named_child(&thread->cct, sn_callpath(thread, NULL, 0), SN_FRAME_OS,
					   call, strlen(call));
	add(thread, node == SN_NODE_NONE ? SN_NODE_ROOT : node, sn_events.metrics[sn_events.real],
	    waited_ns);
	thread->waited_ns += waited_ns;
	thread->own_ns += sn_thread_cpu_ns() - start_cpu_ns;
}

void sn_sampling_settle(struct sn_thread *thread)
{
	if (!sn_sampling_is_active(thread))
		return;
	/* the kernel's clock of another thread: its number, shifted, marked per-thread and
	 * scheduled time */
	uint64_t cpu_ns = sn_clock_ns((clockid_t)((~(unsigned)thread->tid) << 3 | 6));
	if (cpu_ns)
		sn_charge(thread, thread->start_node, cpu_ns, sn_now_ns());
}

void sn_sampling_settle_ended(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	if (!sampling)
		return;
	struct sn_amounts *carried = &sampling->carried;
	if (sn_events.cpu >= 0 && carried->cpu_ns)
		add(thread, SN_NODE_ROOT, sn_events.metrics[sn_events.cpu], carried->cpu_ns);
	if (sn_events.real >= 0 && carried->wall_ns)
		add(thread, SN_NODE_ROOT, sn_events.metrics[sn_events.real], carried->wall_ns);
	for (int index = 0; index < sn_events.count; index++)
		if (carried->counts[index])
			add(thread, SN_NODE_ROOT, sn_events.metrics[index], carried->counts[index]);
	*carried = (struct sn_amounts){0};
}
