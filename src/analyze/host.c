/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of open calls for each thread; see host.h. */
#include "host.h"

#include "base/vec.h"
#include "event_merge.h"
#include "format/measurement.h"

#include <string.h>

struct call {
	uint64_t start_ns, end_ns, link;
	uint32_t context;
};

/* A thread's calls that are open, as the sweep over its events goes on. */
struct stack {
	struct call *calls;
	size_t depth, capacity;
	uint64_t now_ns; /* until when time has been handed out */
	uint32_t profile;
	sn_host_take take;
	void *data;
};

bool sn_host_is_waiting(const struct sonde_db *db, uint32_t context)
{
	static const char *const names[] = {
	    "acquire", "wait", "_wait_for_tstate_lock", "select", "poll", "epoll", "recv", "sleep",
	    "join",    "get"};
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
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

bool sn_host_is_synchronizing(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	const char *name = sonde_db_string(db, frame->name);
	return frame->kind == SN_FRAME_GPU_API &&
	       (strstr(name, "ynchronize") || strstr(name, "clFinish") ||
		strstr(name, "clWaitForEvents"));
}

bool sn_host_is_same_process(const struct sonde_db *db, uint32_t left, uint32_t right)
{
	const struct sonde_db_profile *a = sonde_db_profile(db, left),
				      *b = sonde_db_profile(db, right);
	return a->run == b->run && a->rank == b->rank && a->host == b->host &&
	       (a->rank >= 0 || a->pid == b->pid);
}

/* Hands out the time up to `time_ns` to the innermost call of each moment. */
static int unwind(struct stack *stack, uint64_t time_ns)
{
	while (stack->depth && stack->now_ns < time_ns) {
		const struct call *top = stack->calls + stack->depth - 1;
		uint64_t end = top->end_ns < time_ns ? top->end_ns : time_ns;
		if (end > stack->now_ns) {
			struct sn_host_part part = {
			    .start_ns = stack->now_ns,
			    .end_ns = end,
			    .call_start_ns = top->start_ns,
			    .call_end_ns = top->end_ns,
			    .link = top->link,
			    .context = top->context,
			    .profile = stack->profile,
			};
			int result = stack->take(stack->data, &part);
			if (result < 0)
				return result;
			stack->now_ns = end;
		}
		if (top->end_ns > time_ns)
			return 0;
		stack->depth--;
	}
	stack->now_ns = time_ns;
	return 0;
}

static int take_call(struct stack *stack, const struct sn_merged_event *event)
{
	int result = unwind(stack, event->start_ns);
	if (result < 0)
		return result;
	if (sn_vec_reserve(&stack->calls, &stack->capacity, stack->depth + 1) < 0)
		return SN_ERR_MEMORY;
	stack->calls[stack->depth++] =
	    (struct call){event->start_ns, event->end_ns, event->link, event->context};
	return 0;
}

static int walk_thread(const struct sonde_trace *trace, const uint32_t *tracks, size_t count,
		       unsigned flags, struct stack *stack, struct sn_error *error)
{
	struct sn_event_merge *merge = sn_event_merge_new(trace, tracks, count, flags);
	struct sn_merged_event event;
	int result = merge ? 1 : SN_ERR_MEMORY;
	stack->depth = 0;
	stack->now_ns = 0;
	while (result > 0 && (result = sn_event_merge_next(merge, &event, error)) > 0) {
		int taken = take_call(stack, &event);
		result = taken < 0 ? taken : 1;
	}
	if (!result)
		result = unwind(stack, UINT64_MAX);
	if (result == SN_ERR_MEMORY)
		sn_fail(error, result, "out of memory");
	sn_event_merge_free(merge);
	return result;
}

int sn_host_walk(const struct sonde_db *db, const struct sonde_trace *trace, uint32_t profile,
		 unsigned flags, sn_host_take take, void *data, struct sn_error *error)
{
	uint32_t track_count = sonde_trace_track_count(trace);
	uint32_t *tracks = malloc((track_count + 1ull) * sizeof(*tracks));
	struct stack stack = {.take = take, .data = data};
	int result = tracks ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t first = 0, next; first < track_count && !result; first = next) {
		size_t count = 0;
		stack.profile = sonde_trace_track(trace, first)->profile;
		for (next = first; next < track_count; next++) {
			const struct sonde_track *track = sonde_trace_track(trace, next);
			if (track->profile != stack.profile)
				break;
			if (track->kind == SONDE_TRACK_INTERVALS)
				tracks[count++] = next;
		}
		if (count && sonde_db_profile(db, stack.profile)->kind == 0 &&
		    (profile == SONDE_NONE || sn_host_is_same_process(db, stack.profile, profile)))
			result = walk_thread(trace, tracks, count, flags, &stack, error);
	}
	free(tracks);
	free(stack.calls);
	return result;
}
