/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies calls of threads, and walks over the threads of a process. */
#include "thread_activity.h"

#include "activity_parts.h"
#include "format/measurement/measurement.h"
#include "base/text.h"
#include "frame/context_frame.h"
#include "frame/user_frame.h"
#include "lib/db/trace_reader.h"

#include <string.h>

static bool is_conversion(const struct sonde_db *db, uint32_t context)
{
	return sn_context_frame(db, context)->kind == SN_FRAME_REGION &&
	       !strcmp(sn_context_name(db, context), "np.asarray(jax.Array)");
}

/* A thread of JAX waits for an array, or XLA's for what others compute: by names of XLA's own events,
 * and by JAX's functions. */
bool sn_activity_is_awaiting(const struct sonde_db *db, uint32_t context)
{
	const char *name = sn_context_name(db, context);
	switch (sn_context_frame(db, context)->kind) {
	case SN_FRAME_REGION:
		return sn_text_ends(name, "Buffer::Await") ||
		       sn_text_ends(name, "(wait for completion)") ||
		       !strcmp(name, "Acquire semaphore") || is_conversion(db, context);
	case SN_FRAME_PYTHON:
		return strstr(name, "block_until_ready") ||
		       (!strcmp(name, "_value") &&
			is_conversion(db, sonde_db_context(db, context)->parent));
	default:
		return false;
	}
}

/* By names of Python's own functions. */
static bool is_waiting_in_python(const struct sonde_db *db, uint32_t context)
{
	static const char *const names[] = {"acquire", "wait",	"_wait_for_tstate_lock",
					    "select",  "poll",	"epoll",
					    "recv",    "sleep", "join",
					    "get",     "_recv"};
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	if (frame->kind != SN_FRAME_PYTHON)
		return false;
	const char *name = sonde_db_string(db, frame->name),
		   *file = sonde_db_string(db, frame->file);
	if (!strncmp(name, "<built-in method ", 17))
		name += 17;
	size_t length = strcspn(name, " >");
	bool is_library = !*file || strstr(file, "threading.py") || strstr(file, "queue.py") ||
			  strstr(file, "selectors.py") || strstr(file, "connection.py");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && is_library; i++)
		if (strlen(names[i]) == length && !memcmp(name, names[i], length))
			return true;
	return false;
}

/* By names of the C library's functions that wait for a time, a thread, a process or what others
 * send. */
static bool is_waiting_in_system(const struct sonde_db *db, uint32_t context)
{
	static const char *const names[] = {
	    "poll",	   "ppoll",	 "__poll",  "select", "pselect",  "epoll_wait",
	    "epoll_pwait", "nanosleep",	 "usleep",  "sleep",  "pause",	  "futex",
	    "wait",	   "waitid",	 "waitpid", "wait3",  "wait4",	  "sigwait",
	    "sem_wait",	   "accept",	 "accept4", "recv",   "recvfrom", "recvmsg",
	    "mq_receive",  "sched_yield"};
	static const char *const begins[] = {
	    "pthread_cond_",	    "pthread_join",    "pthread_timedjoin", "pthread_mutex_",
	    "pthread_barrier_wait", "pthread_rwlock_", "sem_timedwait",	    "sem_clockwait",
	    "clock_nanosleep",	    "sigtimedwait",    "sigwaitinfo",	    "pthread_clockjoin"};
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	if (frame->kind != SN_FRAME_OS)
		return false;
	const char *name = sonde_db_string(db, frame->name);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (sn_text_begins(name, begins[i]))
			return true;
	return false;
}

bool sn_activity_is_waiting(const struct sonde_db *db, uint32_t context)
{
	return is_waiting_in_python(db, context) || is_waiting_in_system(db, context) ||
	       sn_activity_is_awaiting(db, context);
}

bool sn_activity_is_recorder(const struct sonde_db *db, uint32_t context)
{
	/* of Nsight Systems, CUPTI and torch.profiler */
	static const char *const parts[] = {
	    "CUPTI",	      "profiling",	  "uffer flush",
	    "uffer Flush",    "Instrumentation",  "Activity Buffer",
	    "TLS allocation", "Chunk Allocation", "plugins initialization"};
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	if (frame->kind != SN_FRAME_OS)
		return false;
	const char *name = sonde_db_string(db, frame->name);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

bool sn_activity_is_kernel(const struct sonde_db *db, uint32_t context)
{
	static const char prefix[] = "_pocl_kernel_";
	for (; context; context = sonde_db_context(db, context)->parent) {
		const struct sonde_db_frame *frame = sn_context_frame(db, context);
		if (frame->kind == SN_FRAME_NATIVE &&
		    !strncmp(sonde_db_string(db, frame->name), prefix, sizeof(prefix) - 1))
			return true;
	}
	return false;
}

bool sn_activity_is_synchronizing(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	const char *name = sonde_db_string(db, frame->name);
	return frame->kind == SN_FRAME_GPU_API &&
	       (strstr(name, "ynchronize") || strstr(name, "clFinish") ||
		strstr(name, "clWaitForEvents"));
}

static bool launches_work(const struct sonde_db *db, uint32_t context)
{
	static const char *const metrics[] = {"kernel-time", "copy-time", "fill-time",
					      "graph-time"};
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++) {
		struct sonde_db_summary summary;
		uint32_t metric = sonde_db_metric_by_name(db, metrics[i]);
		if (metric != SONDE_NONE && sonde_db_summary(db, context, metric, &summary) &&
		    summary.inclusive.count > 0)
			return true;
	}
	return false;
}

bool sn_activity_is_dispatching(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	bool may_launch = frame->kind == SN_FRAME_OPERATOR || sn_frame_is_generated(db, frame);
	return frame->kind == SN_FRAME_GPU_API || (may_launch && launches_work(db, context));
}

int sn_activity_walk_window(const struct sn_processes *processes, uint32_t profile,
			    uint64_t from_ns, uint64_t to_ns, unsigned flags, sn_visit_part *visit,
			    void *data, struct sn_error *error)
{
	struct sn_event_window window = {from_ns, to_ns, flags,
					 sn_event_reader_new(processes->trace)};
	size_t count;
	struct sn_activity_lanes *threads = sn_activity_lanes(processes, profile, false, &count);
	int result = threads && window.reader ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < count && !result; i++) {
		struct sn_activity_parts parts;
		struct sn_activity_part part;
		result =
		    sn_activity_parts_init(&parts, processes->trace, threads + i, &window, error);
		while (!result && (result = sn_activity_parts_next(&parts, &part, error)) > 0)
			result = visit(data, &part);
		sn_fail_code(error, result);
		sn_activity_parts_release(&parts);
	}
	sn_activity_lanes_free(threads);
	sonde_event_cursor_free(window.reader);
	return result;
}

int sn_activity_walk(const struct sn_processes *processes, uint32_t profile, unsigned flags,
		     sn_visit_part *visit, void *data, struct sn_error *error)
{
	return sn_activity_walk_window(processes, profile, 0, UINT64_MAX, flags, visit, data,
				       error);
}

bool sn_activity_does_something(const struct sonde_db *db, uint8_t *known, uint32_t context)
{
	enum { UNKNOWN, DOES, WAITS };
	if (known[context] == UNKNOWN)
		known[context] =
		    sn_activity_is_waiting(db, context) || sn_activity_is_synchronizing(db, context)
			? WAITS
			: DOES;
	return known[context] == DOES;
}
