/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that reads Python frames; see python_thread.h. */
#include "python_thread.h"

#include "python_pipe.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ASKED_MOST = 4096, /* that wait; beyond, samples are late in any case */
	PATIENCE_NS = 1000000000,
	TURN_PATIENCE_NS =
	    50000000, /* with the last samples of a recording that another one follows */
};

struct question {
	pid_t pid, tid;
	uint64_t time_ns,
	    late_ns; /* time 0: the process is to be forgotten; without one, all is to be told again */
};

struct sn_python_thread {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t asked, answered; /* by CLOCK_MONOTONIC */
	/* under the mutex: */
	struct question questions[ASKED_MOST]; /* a ring */
	uint32_t first, count;
	bool is_busy, is_ending;
	pid_t pid; /* of the question that it is busy with */
	struct sn_buffer frames;
	uint64_t late;
	/* its own */
	struct sn_python_pipe *pipe;
	struct sn_buffer read;
};

static void answer(struct sn_python_thread *thread, const struct question *question)
{
	uint64_t now_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	if (!question->time_ns && !question->pid)
		sn_python_pipe_again(thread->pipe, &thread->read);
	else if (!question->time_ns)
		sn_python_pipe_forget(thread->pipe, question->pid);
	else if (now_ns - question->time_ns <= question->late_ns)
		sn_python_pipe_see(thread->pipe, &thread->read, question->pid, question->tid,
				   question->time_ns);
	else if (sn_python_reader_has(sn_python_pipe_reader(thread->pipe), question->pid))
		__atomic_add_fetch(&thread->late, 1, __ATOMIC_RELAXED);
}

static void *answer_all(void *context)
{
	struct sn_python_thread *thread = context;
	pthread_mutex_lock(&thread->mutex);
	for (;;) {
		while (!thread->count && !thread->is_ending)
			pthread_cond_wait(&thread->asked, &thread->mutex);
		if (!thread->count)
			break;
		struct question question = thread->questions[thread->first];
		thread->first = (thread->first + 1) % ASKED_MOST;
		thread->count--;
		thread->is_busy = true;
		thread->pid = question.pid;
		pthread_mutex_unlock(&thread->mutex);
		answer(thread, &question);
		pthread_mutex_lock(&thread->mutex);
		sn_buffer_put(&thread->frames, thread->read.bytes, thread->read.count);
		thread->frames.failed |= thread->read.failed;
		sn_buffer_cut(&thread->read, 0);
		thread->is_busy = false;
		pthread_cond_signal(&thread->answered);
	}
	pthread_mutex_unlock(&thread->mutex);
	return NULL;
}

static void release(struct sn_python_thread *thread)
{
	sn_python_pipe_free(thread->pipe);
	sn_buffer_release(&thread->frames);
	sn_buffer_release(&thread->read);
	pthread_cond_destroy(&thread->asked);
	pthread_cond_destroy(&thread->answered);
	pthread_mutex_destroy(&thread->mutex);
	free(thread);
}

/* With all signals blocked, as they are for the one that waits for them, but for that of a mapped file that becomes shorter. */
static int start(struct sn_python_thread *thread)
{
	sigset_t all, old;
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int status = pthread_create(&thread->thread, NULL, answer_all, thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return status;
}

struct sn_python_thread *sn_python_thread_start(void)
{
	struct sn_python_thread *thread = calloc(1, sizeof(*thread));
	pthread_condattr_t monotonic;
	if (!thread)
		return NULL;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&thread->asked, &monotonic);
	pthread_cond_init(&thread->answered, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&thread->mutex, NULL);
	thread->pipe = sn_python_pipe_new();
	if (thread->pipe && !start(thread))
		return thread;
	release(thread);
	return NULL;
}

static void ask(struct sn_python_thread *thread, struct question question)
{
	pthread_mutex_lock(&thread->mutex);
	if (thread->count < ASKED_MOST) {
		thread->questions[(thread->first + thread->count++) % ASKED_MOST] = question;
		pthread_cond_signal(&thread->asked);
	} else {
		__atomic_add_fetch(&thread->late, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&thread->mutex);
}

void sn_python_thread_see(struct sn_python_thread *thread, pid_t pid, pid_t tid, uint64_t time_ns,
			  uint64_t late_ns)
{
	if (time_ns)
		ask(thread, (struct question){pid, tid, time_ns, late_ns});
}

void sn_python_thread_forget(struct sn_python_thread *thread, pid_t pid)
{
	ask(thread, (struct question){.pid = pid});
}

void sn_python_thread_take(struct sn_python_thread *thread, struct sn_buffer *buffer)
{
	pthread_mutex_lock(&thread->mutex);
	sn_buffer_put(buffer, thread->frames.bytes, thread->frames.count);
	buffer->failed |= thread->frames.failed;
	sn_buffer_cut(&thread->frames, 0);
	pthread_mutex_unlock(&thread->mutex);
}

/* Until nothing is asked any more, or patience is over. Whether it has answered all. */
static bool wait_for_answers(struct sn_python_thread *thread, uint64_t patience_ns)
{
	uint64_t until_ns = sn_clock_now_ns(CLOCK_MONOTONIC) + patience_ns;
	const struct timespec until = {(time_t)(until_ns / 1000000000),
				       (long)(until_ns % 1000000000)};
	int status = 0;
	while ((thread->count || thread->is_busy) && !status)
		status = pthread_cond_timedwait(&thread->answered, &thread->mutex, &until);
	return !thread->count && !thread->is_busy;
}

void sn_python_thread_settle(struct sn_python_thread *thread)
{
	pthread_mutex_lock(&thread->mutex);
	wait_for_answers(thread, TURN_PATIENCE_NS);
	pthread_mutex_unlock(&thread->mutex);
}

void sn_python_thread_again(struct sn_python_thread *thread)
{
	ask(thread, (struct question){0});
}

void sn_python_thread_finish(struct sn_python_thread *thread, struct sn_python_result *result)
{
	pthread_mutex_lock(&thread->mutex);
	bool has_answered = wait_for_answers(thread, PATIENCE_NS);
	*result = (struct sn_python_result){.late = thread->late + thread->count};
	const char *gap =
	    has_answered ? sn_python_reader_gap(sn_python_pipe_reader(thread->pipe)) : NULL;
	if (!has_answered)
		snprintf(result->gap, sizeof(result->gap),
			 "no Python frames from some time on: the memory of process %d does not "
			 "answer",
			 thread->pid);
	else if (gap)
		snprintf(result->gap, sizeof(result->gap), "%s", gap);
	pthread_mutex_unlock(&thread->mutex);
}

void sn_python_thread_free(struct sn_python_thread *thread)
{
	if (!thread)
		return;
	pthread_mutex_lock(&thread->mutex);
	bool has_answered = wait_for_answers(thread, PATIENCE_NS);
	thread->is_ending = true;
	pthread_cond_signal(&thread->asked);
	pthread_mutex_unlock(&thread->mutex);
	if (!has_answered) {
		pthread_detach(thread->thread);
		return;
	}
	pthread_join(thread->thread, NULL);
	release(thread);
}
