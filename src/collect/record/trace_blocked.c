/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel for CPU time and voluntary switches; see trace_blocked.h. */
#include "trace_blocked.h"

#include "collect/core/clock.h"
#include "collect/core/line.h"
#include "collect/unwind/own_stack.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Less than that is not worth asking, and not worth telling. */
#define LEAST_NS	 200000u
#define LEAST_BLOCKED_NS 20000u
/* Less in all is not worth a look at a file of the kernel's, which takes 5 us. */
#define LEAST_READY_NS	 1000000u
/* A thread that does not wait is asked for its CPU time that often: of a virtual machine the time
 * without CPU grows by what other machines had. */
#define REFRESH_NS	 20000000u

/* How often the calling thread has given up its processor to wait. */
static uint64_t yields_now(struct sn_trace_blocked *blocked)
{
	struct rusage *usage = &blocked->usage;
	return syscall(SYS_getrusage, RUSAGE_THREAD, usage) ? 0 : (uint64_t)usage->ru_nvcsw;
}

/* The second number of the thread's schedstat: how long it could run and waited for a processor. 0
 * where the kernel does not say. */
static void read_ready(void *ready_ns)
{
	char text[96];
	uint64_t number = 0;
	sn_read_text(AT_FDCWD, "/proc/thread-self/schedstat", text, sizeof(text));
	const char *at = strchr(text, ' ');
	while (at && *++at >= '0' && *at <= '9')
		number = number * 10 + (uint64_t)(*at - '0');
	*(uint64_t *)ready_ns = number;
}

static uint64_t ready_now(void)
{
	uint64_t ready_ns;
	sn_on_own_stack(read_ready, &ready_ns);
	return ready_ns;
}

/* What there is more than before; clocks of a new process begin anew. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Of the time without CPU, that in which the thread was blocked. */
static uint64_t without_ready(struct sn_trace_blocked *blocked, uint64_t without_ns)
{
	uint64_t before_ns = blocked->ready_ns, told_ns = blocked->unasked_ns;
	blocked->unasked_ns += without_ns;
	blocked->guessed_ns += without_ns;
	if (blocked->guessed_ns < LEAST_READY_NS)
		return without_ns;
	blocked->ready_ns = ready_now();
	blocked->unasked_ns = blocked->guessed_ns = 0;
	return since(without_ns, since(since(blocked->ready_ns, before_ns), told_ns));
}

static uint64_t ask(struct sn_trace_blocked *blocked, uint64_t now_ns)
{
	uint64_t yields = yields_now(blocked);
	bool is_first = !blocked->asked_ns, has_waited = yields != blocked->yields;
	blocked->yields = yields;
	if (!is_first && !has_waited && now_ns - blocked->asked_ns < REFRESH_NS)
		return 0;
	uint64_t cpu_ns = sn_thread_cpu_ns();
	uint64_t without_ns = since(now_ns - blocked->asked_ns, since(cpu_ns, blocked->cpu_ns));
	blocked->asked_ns = now_ns;
	blocked->cpu_ns = cpu_ns;
	if (is_first)
		blocked->ready_ns = ready_now();
	else if (has_waited)
		return without_ready(blocked, without_ns);
	else
		blocked->unasked_ns += without_ns;
	return 0;
}

uint64_t sn_trace_blocked_until(struct sn_trace_blocked *blocked, uint64_t from_ns, uint64_t now_ns)
{
	uint64_t last_ns = blocked->boundary_ns, blocked_ns = 0;
	if (now_ns <= last_ns) /* of a call that is told of later */
		return 0;
	blocked->boundary_ns = now_ns;
	if (now_ns - last_ns < LEAST_NS)
		return 0;
	blocked_ns = ask(blocked, now_ns);
	if (from_ns < last_ns)
		from_ns = last_ns;
	if (blocked_ns > since(now_ns, from_ns))
		blocked_ns = since(now_ns, from_ns);
	return blocked_ns < LEAST_BLOCKED_NS ? 0 : blocked_ns;
}

void sn_trace_blocked_forget(struct sn_trace_blocked *blocked)
{
	blocked->yields = yields_now(blocked);
}

void sn_trace_blocked_begin(struct sn_trace_blocked *blocked, uint64_t start_ns)
{
	uint64_t blocked_ns = sn_trace_blocked_until(blocked, 0, start_ns);
	if (!blocked_ns)
		return;
	/* of calls that never end, the oldest goes */
	if (blocked->begin_count == SN_TRACE_BLOCKED_BEGINS)
		memmove(blocked->begins, blocked->begins + 1,
			--blocked->begin_count * sizeof(*blocked->begins));
	blocked->begins[blocked->begin_count].start_ns = start_ns;
	blocked->begins[blocked->begin_count++].blocked_ns = blocked_ns;
}

uint64_t sn_trace_blocked_before(struct sn_trace_blocked *blocked, uint64_t start_ns)
{
	uint32_t count = blocked->begin_count;
	while (count && blocked->begins[count - 1].start_ns > start_ns)
		count--;
	bool is_known = count && blocked->begins[count - 1].start_ns == start_ns;
	count -= is_known;
	blocked->begin_count = count;
	return is_known ? blocked->begins[count].blocked_ns : 0;
}
