/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls: each is a frame while it runs, and what it launches is found by its number. */
#include "state.h"

#include "collect/core/context.h"

#include <string.h>

/* A call in a call (the runtime's in the driver) has no frame of its own. */
static __thread struct {
	struct sn_thread *thread; /* NULL: the call is not measured */
	struct sn_gpu_past_call call;
	struct sn_gpu_collective part; /* that what it launches is */
	/* the last number that something is launched under, and how deep the outermost call of that interface is */
	struct {
		struct sn_gpu_interface *interface;
		uint32_t correlation, depth;
	} last;
	uintptr_t stack; /* the call's */
	uint32_t depth, shadow_depth;
} current __attribute__((tls_model("initial-exec")));

static void launch(struct sn_gpu_interface *interface, struct sn_gpu_thread *state,
		   uint32_t correlation, enum sn_gpu_expectation expected)
{
	if (correlation)
		sn_gpu_launch(interface, state, correlation, current.call.node, expected);
	current.last.interface = interface;
	current.last.correlation = correlation;
}

static struct sn_gpu_callee *callee_of(struct sn_gpu_thread *state, const char *name, uint32_t path)
{
	uint64_t mixed = ((uint64_t)path << 32 ^ (uintptr_t)name) * 0x9e3779b97f4a7c15u;
	return &state->callees[mixed >> 57];
}
_Static_assert(SN_GPU_CALLEES == 1 << 7, "as many as the hash has values");

/* The call below its path; NULL without memory. */
static struct sn_gpu_callee *find_callee(struct sn_gpu_thread *state,
					 const struct sn_gpu_interface *interface, const char *name,
					 uint32_t path)
{
	struct sn_gpu_callee *callee = callee_of(state, name, path);
	if (callee->interface == interface && callee->name == name && callee->path == path)
		return callee;
	struct sn_cct *cct = &state->thread->cct;
	struct sn_frame frame = {.kind = SN_FRAME_GPU_API,
				 .id = sn_cct_string(cct, name, strlen(name))};
	uint32_t node = path == SN_NODE_NONE || frame.id == SN_ID_NONE
			    ? SN_NODE_NONE
			    : sn_cct_child(cct, path, &frame);
	if (node == SN_NODE_NONE)
		return NULL;
	*callee = (struct sn_gpu_callee){
	    .interface = interface, .name = name, .path = path, .id = frame.id, .node = node};
	return callee;
}

/* The node of what a call at `node` starts: its own where that is not known. */
static uint32_t kernel_of(struct sn_thread *thread, uint32_t node, const char *kernel)
{
	if (!kernel)
		return node;
	struct sn_frame frame = {.kind = SN_FRAME_KERNEL,
				 .id = sn_cct_string(&thread->cct, kernel, strlen(kernel))};
	return sn_cct_child(&thread->cct, node, &frame);
}

static void enter(struct sn_thread *thread, struct sn_gpu_interface *interface,
		  const struct sn_gpu_api_call *call)
{
	/* a runtime that is linked statically is in no library, but has the parameters in its frame */
	struct sn_callpath_call of_call = {interface->is_inside, call->object, 0};
	struct sn_gpu_thread *state = sn_gpu_thread(thread);
	uint32_t path = call->path;
	if (state && path == SN_NODE_ROOT)
		path = sn_context_of_call(thread, (uintptr_t)call->name, &of_call);
	struct sn_gpu_callee *callee =
	    state ? find_callee(state, interface, call->name, path) : NULL;
	uint32_t started = callee ? kernel_of(thread, callee->node, call->kernel) : SN_NODE_NONE;
	if (started == SN_NODE_NONE)
		return;
	/* below it go the samples that fall into the call, as does what the device did */
	struct sn_frame frame = {.kind = SN_FRAME_GPU_API, .id = callee->id};
	struct sn_shadow *shadow =
	    sn_shadow_push(thread, &frame, of_call.stack ? of_call.stack : call->stack);
	if (shadow)
		shadow->node = callee->node;
	current.shadow_depth = thread->shadow_depth;
	current.thread = thread;
	current.part = (struct sn_gpu_collective){0};
	current.call =
	    (struct sn_gpu_past_call){.interface = interface,
				      .time = started == callee->node ? &callee->time : NULL,
				      .node = started,
				      .correlation = call->correlation,
				      .bytes = call->bytes,
				      .stream = call->stream,
				      .has_stream = call->has_stream};
	current.last.depth = current.depth;
	launch(interface, state, call->correlation, call->expected);
}

/* With whatever the program's own callbacks left open in between. Between sn_enter and sn_leave. */
static void pop_shadow(struct sn_thread *thread)
{
	if (thread->shadow_depth >= current.shadow_depth)
		thread->shadow_depth = current.shadow_depth - 1;
}

/* An exception or a long jump may leave a call: what is entered then does not lie further down on the stack. */
static void leave_abandoned(uintptr_t stack)
{
	if (!current.depth || !stack || stack < current.stack)
		return;
	current.depth = 0;
	if (current.thread && sn_enter()) {
		pop_shadow(current.thread);
		sn_leave(current.thread);
	}
}

/* A call does not know the numbers of those inside of it: a moment for each leads from what they started to it. Of a collective only
 * kernels are parts. */
static void note_inside(struct sn_gpu_interface *interface, struct sn_thread *thread,
			uint32_t correlation, bool is_kernel)
{
	uint64_t now_ns = sn_now_ns();
	if (is_kernel && current.part.group) {
		struct sn_gpu_thread *state = sn_gpu_thread(thread);
		uint32_t first = state->message_count - current.part.message_count;
		*sn_gpu_part_of(state, correlation) =
		    (struct sn_gpu_part){interface, correlation, first, current.part};
		/* a second kernel exchanges no other ones */
		current.part.message_count = 0;
	}
	sn_gpu_trace_call(thread, &(struct sn_gpu_past_call){.interface = interface,
							     .node = current.call.node,
							     .correlation = correlation,
							     .start_ns = now_ns,
							     .end_ns = now_ns});
}

/* Under the outer one's number it launches what that is to launch. */
static bool has_other_number(const struct sn_gpu_interface *interface, uint32_t correlation)
{
	return correlation &&
	       (interface != current.last.interface || correlation != current.last.correlation);
}

/* The call that the thread is in launches something else under another number. Where that is a call of the same interface, one of the two
 * has what is launched. */
static void launches(struct sn_gpu_interface *interface, const struct sn_gpu_api_call *call)
{
	bool is_same = interface == current.last.interface && current.last.depth < current.depth;
	if (!current.thread)
		return;
	if (is_same)
		sn_gpu_call_waits();
	else
		current.last.depth = current.depth;
	launch(interface, sn_gpu_thread(current.thread), call->correlation,
	       is_same && call->expected ? SN_GPU_PROBABLE : call->expected);
	if (sn_enter()) {
		note_inside(interface, current.thread, call->correlation, call->is_kernel);
		sn_leave(current.thread);
	}
}

void sn_gpu_call_enter(struct sn_gpu_interface *interface, const struct sn_gpu_api_call *call)
{
	leave_abandoned(call->stack);
	if (current.depth++) {
		if (has_other_number(interface, call->correlation))
			launches(interface, call);
		return;
	}
	current.stack = call->stack;
	current.thread = NULL;
	struct sn_thread *thread = sn_measuring() ? sn_enter() : NULL;
	if (!thread)
		return;
	enter(thread, interface, call);
	sn_leave(thread);
	current.call.start_ns = sn_now_ns();
}

void sn_gpu_call_is_part(const struct sn_gpu_collective *collective)
{
	if (current.depth == 1)
		current.part = *collective;
}

void sn_gpu_note_message(const struct sn_gpu_message *message)
{
	struct sn_thread *thread = sn_enter();
	struct sn_gpu_thread *state = thread ? sn_gpu_thread(thread) : NULL;
	if (state)
		state->messages[state->message_count++ % SN_GPU_MESSAGES] = *message;
	if (thread)
		sn_leave(thread);
}

void sn_gpu_call_fails(void)
{
	if (current.depth == 1)
		current.call.bytes = 0;
}

void sn_gpu_call_waits(void)
{
	if (current.thread)
		sn_gpu_expect_none(current.last.interface, current.last.correlation);
}

bool sn_gpu_call_place(struct sn_gpu_thread **state, uint32_t *node)
{
	if (!current.depth || !current.thread)
		return false;
	if (state)
		*state = sn_gpu_thread(current.thread);
	if (node)
		*node = current.call.node;
	return true;
}

void sn_gpu_call_exit(void)
{
	if (!current.depth || --current.depth)
		return;
	current.call.end_ns = sn_now_ns();
	struct sn_thread *thread = current.thread;
	if (!thread || !sn_enter())
		return;
	pop_shadow(thread);
	sn_gpu_add_call(thread, &current.call);
	sn_gpu_collect_many(sn_gpu_thread(thread), current.call.end_ns);
	sn_leave(thread);
}
