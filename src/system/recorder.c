/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that records the operating system. */
#include "recorder.h"

#include "trace.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	PERIOD_MS = 50,
	HASTE = -10,
	/* The time after which a record must be in its ring. The kernel writes records at once, but
	 * a virtual processor may be stopped meanwhile. Records that come later are counted. */
	SETTLE_NS = 3000000,
};

struct sn_os_recorder {
	struct sn_os_perf *perf;
	struct sn_trace_file *file;
	struct sn_os_trace *trace;
	struct sn_os_states *states;
	pthread_t thread;
	int stop_fd;
	_Atomic bool is_stopping;
};

static void add_event(void *context, const struct sn_os_event *event)
{
	struct sn_os_recorder *recorder = context;
	sn_os_states_add(recorder->states, event);
}

static void *record(void *context)
{
	struct sn_os_recorder *recorder = context;
	/* records are lost if it reads too late; without permission it keeps its priority */
	setpriority(PRIO_PROCESS, 0, HASTE);
	while (!atomic_load_explicit(&recorder->is_stopping, memory_order_relaxed)) {
		sn_os_perf_wait(recorder->perf, recorder->stop_fd, PERIOD_MS);
		sn_os_perf_read(recorder->perf, sn_clock_now_ns(CLOCK_MONOTONIC) - SETTLE_NS,
				add_event, recorder);
		sn_trace_file_flush(recorder->file);
	}
	sn_os_perf_disable(recorder->perf);
	sn_os_perf_read(recorder->perf, UINT64_MAX, add_event, recorder);
	return NULL;
}

static void release(struct sn_os_recorder *recorder)
{
	sn_os_states_free(recorder->states);
	sn_os_trace_free(recorder->trace);
	sn_os_perf_close(recorder->perf);
	if (recorder->stop_fd >= 0)
		close(recorder->stop_fd);
	free(recorder);
}

/* Blocks all signals in the thread, because they are for the one that waits for the program. */
static int start_thread(struct sn_os_recorder *recorder)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int status = pthread_create(&recorder->thread, NULL, record, recorder);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return status;
}

int sn_os_recorder_start(const struct sn_os_options *options, pid_t pid, struct sn_trace_file *file,
			 struct sn_os_recorder **recorder, struct sn_os_coverage *coverage,
			 struct sn_error *error)
{
	struct sn_os_recorder *created = calloc(1, sizeof(*created));
	if (!created)
		return sn_fail_memory(error);
	created->file = file;
	created->stop_fd = eventfd(0, EFD_CLOEXEC);
	created->trace = sn_os_trace_new(file);
	if (created->trace) {
		struct sn_os_sink sink = sn_os_trace_sink(created->trace);
		created->states = sn_os_states_new(&sink, options->is_wide);
	}
	int status = created->states && created->stop_fd >= 0
			 ? sn_os_perf_open(options, pid, &created->perf, coverage, error)
			 : sn_fail_memory(error);
	if (!status && start_thread(created))
		status = sn_fail(error, SN_ERR_MEMORY, "cannot start a thread");
	if (status) {
		release(created);
		return status;
	}
	*recorder = created;
	return 0;
}

void sn_os_recorder_stop(struct sn_os_recorder *recorder, struct sn_os_result *result)
{
	if (!recorder)
		return;
	uint64_t one = 1, end_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	atomic_store_explicit(&recorder->is_stopping, true, memory_order_relaxed);
	if (write(recorder->stop_fd, &one, sizeof(one)) < 0)
		/* the thread wakes up a moment later by its timeout */
		end_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	pthread_join(recorder->thread, NULL);
	sn_os_states_finish(recorder->states, end_ns);
	uint64_t *losses = sn_os_states_losses(recorder->states), lost = 0;
	losses[SN_OS_LOSS_DAMAGED] += sn_os_perf_damaged(recorder->perf);
	for (int cause = 0; cause < SN_OS_LOSSES; cause++)
		if (cause != SN_OS_LOSS_DISORDER) /* these are not lost, only shifted */
			lost += losses[cause];
	sn_trace_file_lose(recorder->file, SN_TRACE_LOST_SOURCE, lost);
	if (result)
		memcpy(result->losses, losses, sizeof(result->losses));
	release(recorder);
}
