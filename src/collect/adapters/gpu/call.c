/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls: each is a frame while it runs, and what it launches is found by its number. */
#include "gpu.h"

#include "collect/core/callpath.h"

#include <string.h>

/* A call in a call (the runtime's in the driver) has no frame of its own. */
static __thread struct {
	struct sn_gpu_interface *interface;
	struct sn_thread *thread; /* NULL: the call is not measured */
	uint64_t start_ns;
	uint32_t node, correlation, shadow_depth;
	uint32_t depth;
} current __attribute__((tls_model("initial-exec")));

static void launch(struct sn_gpu_interface *interface, struct sn_gpu_thread *state,
		   uint32_t correlation, bool is_expected)
{
	if (correlation)
		sn_gpu_launch(interface, state, correlation, current.node, is_expected);
}

/* The call's node below its path; SN_NODE_NONE without memory. */
static uint32_t node_of(struct sn_thread *thread, const struct sn_gpu_api_call *call,
			struct sn_callpath_call *of_call, struct sn_frame *frame)
{
	uint32_t path = sn_callpath_of_call(thread, of_call);
	if (path == SN_NODE_NONE)
		return path;
	*frame =
	    (struct sn_frame){.kind = SN_FRAME_GPU_API,
			      .id = sn_cct_string(&thread->cct, call->name, strlen(call->name))};
	return sn_cct_child(&thread->cct, path, frame);
}

static void enter(struct sn_thread *thread, struct sn_gpu_interface *interface,
		  const struct sn_gpu_api_call *call)
{
	struct sn_frame frame;
	/* a runtime that is linked statically is in no library, but has the parameters in its frame */
	struct sn_callpath_call of_call = {interface->is_inside, call->object, 0};
	struct sn_gpu_thread *state = sn_gpu_thread(thread);
	current.node = state ? node_of(thread, call, &of_call, &frame) : SN_NODE_NONE;
	if (current.node == SN_NODE_NONE)
		return;
	/* below it go the samples that fall into the call, as does what the device did */
	struct sn_shadow *shadow =
	    sn_shadow_push(thread, &frame, of_call.stack ? of_call.stack : call->stack);
	if (shadow)
		shadow->node = current.node;
	current.shadow_depth = thread->shadow_depth;
	current.interface = interface;
	current.thread = thread;
	current.correlation = call->correlation;
	launch(interface, state, call->correlation, call->is_expected);
}

void sn_gpu_call_enter(struct sn_gpu_interface *interface, const struct sn_gpu_api_call *call)
{
	if (current.depth++) {
		/* it launches what the outer one is to launch */
		if (call->correlation != current.correlation)
			sn_gpu_call_launches(interface, call->correlation);
		return;
	}
	current.thread = NULL;
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	enter(thread, interface, call);
	sn_leave(thread);
	current.start_ns = sn_now_ns();
}

void sn_gpu_call_launches(struct sn_gpu_interface *interface, uint32_t correlation)
{
	if (!current.thread)
		return;
	launch(interface, sn_gpu_thread(current.thread), correlation, false);
	sn_gpu_call_waits();
}

void sn_gpu_call_waits(void)
{
	if (current.thread)
		sn_gpu_expect_none(current.interface, current.correlation);
}

bool sn_gpu_call_place(struct sn_gpu_thread **state, uint32_t *node)
{
	if (!current.depth || !current.thread)
		return false;
	if (state)
		*state = sn_gpu_thread(current.thread);
	if (node)
		*node = current.node;
	return true;
}

void sn_gpu_call_exit(void)
{
	if (!current.depth || --current.depth)
		return;
	uint64_t end_ns = sn_now_ns();
	struct sn_thread *thread = current.thread;
	if (!thread || !sn_enter())
		return;
	/* with whatever the program's own callbacks left open in between */
	if (thread->shadow_depth >= current.shadow_depth)
		thread->shadow_depth = current.shadow_depth - 1;
	sn_gpu_add_call(current.interface, thread, current.node, current.correlation,
			current.start_ns, end_ns);
	sn_gpu_collect(sn_gpu_thread(thread));
	sn_leave(thread);
}
