/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the SDK for what it may never answer: it waits for devices, and has been seen to wait for ever. */
#include "rocm.h"

#include "collect/core/clock.h"
#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <pthread.h>

#define TASKS	    8u /* a process begins and ends sampling and measuring: each once */
#define PATIENCE_NS 3000000000u

static struct task {
	void (*run)(void);
	_Atomic bool has_ended;
} tasks[TASKS]; /* each is used once, because it may go on when nobody waits any more */
static _Atomic uint32_t task_count;

static void *run(void *data)
{
	struct task *task = data;
	task->run();
	/* release: what it did before that it has ended */
	atomic_store_explicit(&task->has_ended, true, memory_order_release);
	return NULL;
}

/* On a thread that gets no signals of the program's and that nothing waits for. */
static bool start(struct task *task)
{
	int (*create_thread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
	    (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))sn_real(
		"pthread_create");
	uint64_t all = UINT64_MAX, old;
	pthread_t thread;
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all)))
		return false;
	bool starts = !create_thread(&thread, NULL, run, task);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	if (starts)
		pthread_detach(thread);
	return starts;
}

bool sn_rocm_run_bounded(void (*function)(void))
{
	const struct timespec pause = {0, 500000};
	uint32_t number = atomic_fetch_add_explicit(&task_count, 1, memory_order_relaxed);
	if (number >= TASKS)
		return false;
	struct task *task = &tasks[number];
	task->run = function;
	if (!start(task))
		return false;
	/* by the clock: on a machine that wakes late each pause is some times as long */
	uint64_t started_ns = sn_now_ns();
	while (!atomic_load_explicit(&task->has_ended, memory_order_acquire) &&
	       sn_now_ns() - started_ns < PATIENCE_NS)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	return atomic_load_explicit(&task->has_ended, memory_order_acquire);
}
