/* SPDX-License-Identifier: Apache-2.0 */
/* See stacks.h. */
#include "stacks.h"

#include "base/table.h"
#include "unwind/machine.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PATIENCE_S = 2,	       /* with a thread that reads what does not answer */
	WEIGHT_MOST = 8,       /* ticks of a look that is late */
	WAKE_ANYWAY_MS = 1000, /* if the kernel's call to wake up came too early */
};

/* What has been summed, and is handed out as a whole. */
struct sums {
	struct sn_paths ran, waited;
};

struct sn_stacks {
	struct sn_kernel *kernel;
	pthread_t thread;
	int wake;  /* to take at once, or to end */
	int ticks; /* a timer, when threads that wait are looked for; -1: never */
	pthread_mutex_t mutex;
	pthread_cond_t has_taken;
	/* under the mutex: */
	struct sums handed;
	uint64_t asked, done; /* rounds at whose end all is handed out */
	bool is_ending;
	uint64_t pace; /* ticks from one look at threads to the next */
	struct sn_stacks_state told;
	/* the thread's own: */
	struct sums sums;
	struct sn_callers *callers; /* of these */
	struct sn_table threads;    /* that wait, to paths of `waited` */
	bool begins;		    /* nothing has been looked at for these sums yet */
	uint64_t passed;	    /* ticks since threads were looked at */
	uint64_t weight, missed; /* ticks that the last look at threads stands for, and does not */
	struct sn_stacks_state state;
	struct sn_stack_sample sample;
};

/* Its stack stays as it is while it waits. */
static const struct sn_stack_sample *with_stack(struct sn_stacks *stacks,
						const struct sn_stack_sample *sent)
{
	struct sn_stack_sample *sample = &stacks->sample;
	memcpy(sample, sent, offsetof(struct sn_stack_sample, stack));
	const struct iovec here = {sample->stack, sizeof(sample->stack)},
			   there = {(void *)sent->registers[SN_REG_SP], sizeof(sample->stack)};
	ssize_t got = process_vm_readv((pid_t)sent->pid, &here, 1, &there, 1, 0);
	sample->stack_bytes = got > 0 ? (uint32_t)got : 0;
	return sample;
}

static void count_wait(struct sn_stacks *stacks, bool is_kept)
{
	stacks->state.waits += stacks->weight + stacks->missed;
	stacks->state.waits_lost += stacks->missed + (is_kept ? 0 : stacks->weight);
}

static void add_wait(struct sn_stacks *stacks, const struct sn_stack_sample *sent)
{
	struct sn_callers_path path;
	const struct sn_stack_sample *sample = with_stack(stacks, sent);
	sn_callers_find(stacks->callers, sample, &path);
	uint32_t number =
	    sn_paths_add(&stacks->sums.waited, sample, stacks->callers, &path, stacks->weight);
	count_wait(stacks, number != SN_INTERN_NONE);
	if (number != SN_INTERN_NONE)
		sn_table_put(&stacks->threads, sample->tid,
			     number); /* else it is not known at the next look */
}

static int on_stack(void *context, const struct sn_stack_sample *sample)
{
	struct sn_stacks *stacks = context;
	struct sn_stacks_state *state = &stacks->state;
	struct sn_callers_path path;
	if (sample->is_waiting) {
		add_wait(stacks, sample);
		return 0;
	}
	sn_callers_find(stacks->callers, sample, &path);
	state->with_callers += path.count > 0;
	state->without_callers += path.count == 0;
	state->cut += path.count && !path.is_whole;
	state->lost +=
	    sn_paths_add(&stacks->sums.ran, sample, stacks->callers, &path, 1) == SN_INTERN_NONE;
	return 0;
}

static int on_still(void *context, uint32_t tid)
{
	struct sn_stacks *stacks = context;
	uint32_t number = sn_table_find(&stacks->threads, tid);
	count_wait(stacks, number != SN_TABLE_NONE);
	if (number != SN_TABLE_NONE)
		sn_paths_again(&stacks->sums.waited, number, stacks->weight);
	return 0;
}

/* A late look stands for the ticks since the last one, but not for all of a time in which nobody looked: threads may have begun to wait just now. */
static void look_for_waits(struct sn_stacks *stacks, uint64_t pace)
{
	uint64_t most = WEIGHT_MOST * pace, ticks = stacks->passed;
	stacks->weight = ticks < most ? ticks : most;
	stacks->missed = ticks - stacks->weight;
	sn_kernel_look_for_waits(stacks->kernel, stacks->begins, ticks);
	stacks->begins = false;
	stacks->passed = 0;
}

/* The mutex is held. What nobody fetched grows on. */
static void hand_out(struct sn_stacks *stacks)
{
	if (stacks->handed.ran.samples || stacks->handed.waited.samples)
		return;
	stacks->handed = stacks->sums;
	stacks->sums = (struct sums){0};
	sn_callers_forget(stacks->callers);
	sn_table_clear(&stacks->threads);
	stacks->begins = true;
}

/* One round: all that the kernel has sent. False: it is to end. */
static bool take_all(struct sn_stacks *stacks)
{
	const struct sn_kernel_stack_taker taker = {stacks, on_stack, on_still};
	uint64_t count;
	pthread_mutex_lock(&stacks->mutex);
	uint64_t asked = stacks->asked, pace = stacks->pace;
	bool goes_on = !stacks->is_ending;
	pthread_mutex_unlock(&stacks->mutex);
	if (read(stacks->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return false;
	if (stacks->ticks >= 0 && read(stacks->ticks, &count, sizeof(count)) > 0)
		stacks->passed += count;
	if (stacks->passed >= pace)
		look_for_waits(stacks, pace);
	sn_kernel_take_stacks(stacks->kernel, &taker);
	pthread_mutex_lock(&stacks->mutex);
	if (asked != stacks->done)
		hand_out(stacks);
	stacks->done = asked;
	stacks->told = stacks->state;
	stacks->told.is_full = sn_paths_are_full(&stacks->sums.ran) ||
			       sn_paths_are_full(&stacks->sums.waited) ||
			       sn_callers_are_full(stacks->callers);
	pthread_cond_signal(&stacks->has_taken);
	pthread_mutex_unlock(&stacks->mutex);
	return goes_on;
}

static void *run(void *context)
{
	struct sn_stacks *stacks = context;
	struct pollfd waits[] = {{sn_kernel_stacks_fd(stacks->kernel), POLLIN, 0},
				 {stacks->wake, POLLIN, 0},
				 {stacks->ticks, POLLIN, 0}};
	do
		poll(waits, 3, WAKE_ANYWAY_MS);
	while (take_all(stacks));
	return NULL;
}

static int start_ticks(struct sn_stacks *stacks, unsigned rate)
{
	const struct timespec period = {rate == 1, rate == 1 ? 0 : 1000000000 / rate};
	const struct itimerspec each = {period, period};
	stacks->ticks = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return stacks->ticks < 0 ? -1 : timerfd_settime(stacks->ticks, 0, &each, NULL);
}

static int start(struct sn_stacks *stacks, unsigned wait_rate, struct sn_error *error)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&stacks->mutex, NULL);
	pthread_cond_init(&stacks->has_taken, &attributes);
	pthread_condattr_destroy(&attributes);
	stacks->callers = sn_callers_new();
	stacks->begins = true;
	stacks->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!stacks->callers)
		return sn_fail_memory(error);
	int code =
	    stacks->wake < 0 || (wait_rate && start_ticks(stacks, wait_rate) < 0) ? errno : 0;
	if (!code)
		code = pthread_create(&stacks->thread, NULL, run, stacks);
	return code ? sn_fail(error, SN_ERR_IO, "starting a thread: %s", strerror(code)) : 0;
}

static void release(struct sn_stacks *stacks)
{
	sn_callers_free(stacks->callers);
	sn_paths_release(&stacks->sums.ran);
	sn_paths_release(&stacks->sums.waited);
	sn_paths_release(&stacks->handed.ran);
	sn_paths_release(&stacks->handed.waited);
	sn_table_release(&stacks->threads);
	if (stacks->wake >= 0)
		close(stacks->wake);
	if (stacks->ticks >= 0)
		close(stacks->ticks);
	pthread_cond_destroy(&stacks->has_taken);
	pthread_mutex_destroy(&stacks->mutex);
	free(stacks);
}

int sn_stacks_start(struct sn_kernel *kernel, unsigned wait_rate, struct sn_stacks **stacks,
		    struct sn_error *error)
{
	struct sn_stacks *made = calloc(1, sizeof(*made));
	if (!made)
		return sn_fail_memory(error);
	made->kernel = kernel;
	made->wake = made->ticks = -1;
	made->pace = 1;
	int result = start(made, wait_rate, error);
	if (result)
		release(made);
	else
		*stacks = made;
	return result;
}

static void wake(struct sn_stacks *stacks)
{
	const uint64_t one = 1;
	ssize_t written = write(stacks->wake, &one, sizeof(one));
	(void)written; /* one that is full wakes it too */
}

bool sn_stacks_end(struct sn_stacks *stacks)
{
	struct timespec until;
	if (!stacks)
		return true;
	pthread_mutex_lock(&stacks->mutex);
	stacks->is_ending = true;
	pthread_mutex_unlock(&stacks->mutex);
	wake(stacks);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	if (pthread_timedjoin_np(stacks->thread, NULL, &until) != 0)
		return false;
	release(stacks);
	return true;
}

/* The mutex is held. A thread that did not answer the last time is not waited for again. */
static void wait_for_round(struct sn_stacks *stacks)
{
	struct timespec until;
	uint64_t round = ++stacks->asked;
	int code = stacks->done + 1 < round;
	wake(stacks);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	while (stacks->done < round && !code)
		code = pthread_cond_timedwait(&stacks->has_taken, &stacks->mutex, &until);
}

void sn_stacks_take(struct sn_stacks *stacks, struct sn_paths *ran, struct sn_paths *waited)
{
	pthread_mutex_lock(&stacks->mutex);
	wait_for_round(stacks);
	*ran = stacks->handed.ran;
	*waited = stacks->handed.waited;
	stacks->handed = (struct sums){0};
	pthread_mutex_unlock(&stacks->mutex);
}

void sn_stacks_slow_down(struct sn_stacks *stacks, unsigned ticks)
{
	pthread_mutex_lock(&stacks->mutex);
	stacks->pace = ticks ? ticks : 1;
	pthread_mutex_unlock(&stacks->mutex);
}

void sn_stacks_look(struct sn_stacks *stacks, struct sn_stacks_state *state)
{
	uint64_t untold = sn_kernel_waits_lost(stacks->kernel);
	pthread_mutex_lock(&stacks->mutex);
	*state = stacks->told;
	pthread_mutex_unlock(&stacks->mutex);
	state->waits += untold;
	state->waits_lost += untold;
}
