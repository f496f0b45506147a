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

/* Whether the name has one of the texts in it, or begins with one. */
static bool has_any(const char *name, const char *const *texts, size_t count, bool at_begin)
{
	for (size_t i = 0; i < count; i++)
		if (at_begin ? sn_text_begins(name, texts[i]) : strstr(name, texts[i]) != NULL)
			return true;
	return false;
}

#define HAS_ANY(name, texts, at_begin)                                                             \
	has_any(name, texts, sizeof(texts) / sizeof(*(texts)), at_begin)

/* By names of the calls of CUDA, HIP, Level Zero and their like, OpenCL, SYCL's two runtimes, and
 * HSA. What only queues a wait on the device, as cudaStreamWaitEvent, is none. */
bool sn_activity_is_synchronizing(const struct sonde_db *db, uint32_t context)
{
	static const char *const begins[] = {
	    "clFinish",	     "clWaitForEvents", "urQueueFinish",    "urEventWait",
	    "piQueueFinish", "piEventsWait",	"hsa_signal_wait_", "hsa_amd_signal_wait"};
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	const char *name = sonde_db_string(db, frame->name);
	return frame->kind == SN_FRAME_GPU_API &&
	       (strstr(name, "ynchronize") || HAS_ANY(name, begins, true));
}

bool sn_activity_is_asking(const struct sonde_db *db, uint32_t context)
{
	static const char *const parts[] = {"EventQuery",     "StreamQuery",	"QueryStatus",
					    "clGetEventInfo", "urEventGetInfo", "piEventGetInfo",
					    "hsa_signal_load"};
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	return frame->kind == SN_FRAME_GPU_API &&
	       HAS_ANY(sonde_db_string(db, frame->name), parts, false);
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

/* A launch is told by what it launched, or, where that was not recorded, by its name: what prepares
 * a launch, or puts anything else into a queue, counts too. */
static bool is_launching_call(const struct sonde_db *db, uint32_t context)
{
	static const char *const parts[] = {"Launch",
					    "emcpy",
					    "emset",
					    "Enqueue",
					    "Append",
					    "ExecuteCommandLists",
					    "KernelArg",
					    "SetArg",
					    "SetGroupSize",
					    "Flush",
					    "CallConfiguration",
					    "EventRecord",
					    "WaitEvent"};
	return HAS_ANY(sn_context_name(db, context), parts, false) || launches_work(db, context);
}

bool sn_activity_is_dispatching(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	bool is_call = frame->kind == SN_FRAME_GPU_API;
	if (is_call && is_launching_call(db, context))
		return true;
	/* what else an operator asks of the interface is part of its way to the launch */
	for (; is_call && context; context = sonde_db_context(db, context)->parent) {
		frame = sn_context_frame(db, context);
		is_call = frame->kind == SN_FRAME_GPU_API;
	}
	bool may_launch = frame->kind == SN_FRAME_OPERATOR || sn_frame_is_generated(db, frame);
	return may_launch && launches_work(db, context);
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
