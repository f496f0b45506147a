/* SPDX-License-Identifier: Apache-2.0 */
/* See stacks.h. */
#include "stacks.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	PATIENCE_S = 2,	       /* with a thread that reads what does not answer */
	WAKE_ANYWAY_MS = 1000, /* if the kernel's call to wake up came too early */
};

struct sn_stacks {
	struct sn_kernel *kernel;
	struct sn_callers *callers;
	pthread_t thread;
	int wake; /* to take at once, or to end */
	pthread_mutex_t mutex;
	pthread_cond_t has_taken;
	/* under the mutex: */
	struct sn_paths paths;
	uint64_t generation;  /* of these */
	uint64_t asked, done; /* rounds that somebody waits for */
	bool is_ending;
	struct sn_stacks_state state;
	/* the thread's own: */
	uint64_t known; /* the generation that `callers` has numbers for */
};

/* Adds a path to the paths that it was found for; false: they have been taken meanwhile. */
static bool keep(struct sn_stacks *stacks, const struct sn_stack_sample *sample,
		 const struct sn_callers_path *path)
{
	pthread_mutex_lock(&stacks->mutex);
	bool is_current = stacks->known == stacks->generation;
	if (is_current) {
		stacks->state.without_callers += path->count == 0;
		stacks->state.cut += path->count && !path->is_whole;
		stacks->state.lost +=
		    sn_paths_add(&stacks->paths, sample, stacks->callers, path) != 0;
	}
	uint64_t generation = stacks->generation;
	pthread_mutex_unlock(&stacks->mutex);
	if (!is_current) {
		sn_callers_forget(stacks->callers);
		stacks->known = generation;
	}
	return is_current;
}

static int on_stack(void *context, const struct sn_stack_sample *sample)
{
	struct sn_stacks *stacks = context;
	struct sn_callers_path path;
	do
		sn_callers_find(stacks->callers, sample, &path);
	while (!keep(stacks, sample, &path));
	return 0;
}

/* One round: all that the kernel has sent. False: it is to end. */
static bool take_all(struct sn_stacks *stacks)
{
	uint64_t count;
	pthread_mutex_lock(&stacks->mutex);
	uint64_t asked = stacks->asked;
	bool goes_on = !stacks->is_ending;
	pthread_mutex_unlock(&stacks->mutex);
	if (read(stacks->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return false;
	sn_kernel_take_stacks(stacks->kernel, on_stack, stacks);
	pthread_mutex_lock(&stacks->mutex);
	stacks->done = asked;
	pthread_cond_signal(&stacks->has_taken);
	pthread_mutex_unlock(&stacks->mutex);
	return goes_on;
}

static void *run(void *context)
{
	struct sn_stacks *stacks = context;
	struct pollfd waits[] = {{sn_kernel_stacks_fd(stacks->kernel), POLLIN, 0},
				 {stacks->wake, POLLIN, 0}};
	do
		poll(waits, 2, WAKE_ANYWAY_MS);
	while (take_all(stacks));
	return NULL;
}

static int start(struct sn_stacks *stacks, struct sn_error *error)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&stacks->mutex, NULL);
	pthread_cond_init(&stacks->has_taken, &attributes);
	pthread_condattr_destroy(&attributes);
	stacks->callers = sn_callers_new();
	stacks->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!stacks->callers)
		return sn_fail_memory(error);
	int code = stacks->wake < 0 ? errno : pthread_create(&stacks->thread, NULL, run, stacks);
	return code ? sn_fail(error, SN_ERR_IO, "starting a thread: %s", strerror(code)) : 0;
}

static void release(struct sn_stacks *stacks)
{
	sn_callers_free(stacks->callers);
	sn_paths_release(&stacks->paths);
	if (stacks->wake >= 0)
		close(stacks->wake);
	pthread_cond_destroy(&stacks->has_taken);
	pthread_mutex_destroy(&stacks->mutex);
	free(stacks);
}

int sn_stacks_start(struct sn_kernel *kernel, struct sn_stacks **stacks, struct sn_error *error)
{
	struct sn_stacks *made = calloc(1, sizeof(*made));
	if (!made)
		return sn_fail_memory(error);
	made->kernel = kernel;
	int result = start(made, error);
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

void sn_stacks_end(struct sn_stacks *stacks)
{
	struct timespec until;
	if (!stacks)
		return;
	pthread_mutex_lock(&stacks->mutex);
	stacks->is_ending = true;
	pthread_mutex_unlock(&stacks->mutex);
	wake(stacks);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	if (pthread_timedjoin_np(stacks->thread, NULL, &until) == 0)
		release(stacks);
}

/* The mutex is held. */
static void wait_for_round(struct sn_stacks *stacks)
{
	struct timespec until;
	uint64_t round = ++stacks->asked;
	int code = 0;
	wake(stacks);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	while (stacks->done < round && !code)
		code = pthread_cond_timedwait(&stacks->has_taken, &stacks->mutex, &until);
}

void sn_stacks_take(struct sn_stacks *stacks, bool wait, struct sn_paths *paths)
{
	pthread_mutex_lock(&stacks->mutex);
	if (wait)
		wait_for_round(stacks);
	*paths = stacks->paths;
	stacks->paths = (struct sn_paths){0};
	stacks->generation++;
	pthread_mutex_unlock(&stacks->mutex);
}

void sn_stacks_look(struct sn_stacks *stacks, struct sn_stacks_state *state)
{
	pthread_mutex_lock(&stacks->mutex);
	*state = stacks->state;
	state->is_full = sn_paths_are_full(&stacks->paths);
	pthread_mutex_unlock(&stacks->mutex);
}
