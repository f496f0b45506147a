/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While an autograd node is evaluated, its thread's path continues below the path of the forward
 * operator that created the node, with an operator frame for the node. Nodes nest: a checkpoint
 * runs a forward and a backward pass inside its own node.
 *
 * Leaves (AccumulateGrad) have no forward operator; their path is that of the call of backward, which may be another thread's (engine.c).
 */
#include "graph.h"

#include "collect/record/trace.h"

#define NOT_PUSHED	 UINT32_MAX
#define NAME_BYTES	 512u
/* An upper bound of the size of sn_torch_evaluate's stack frame. */
#define HOOK_FRAME_BYTES 512u

/* Drops our shadow frames below `stack`: their functions have been left by an exception. */
static void drop_stale(struct sn_torch_thread *self, uintptr_t stack)
{
	for (struct sn_shadow *top;
	     (top = sn_shadow_top(self->thread)) && sn_torch_is_ours(top) && top->stack <= stack;)
		sn_torch_exact_pop(self);
}

static uint32_t prefix_of(struct sn_torch_thread *self, uintptr_t task,
			  const struct sn_torch_node *node)
{
	uint32_t prefix = SN_NODE_NONE;
	if (node->sequence != SN_TORCH_NO_SEQUENCE)
		prefix = sn_torch_forward_context(self, node->torch_id, node->sequence);
	if (prefix == SN_NODE_NONE && (node->unproved || node->sequence != SN_TORCH_NO_SEQUENCE))
		sn_drop(self->thread, SN_DROP_FORWARD_UNKNOWN, 1);
	return prefix == SN_NODE_NONE ? sn_torch_engine_context(self, task) : prefix;
}

static uint32_t push(struct sn_torch_thread *self, uintptr_t task, const struct sn_torch_node *node,
		     uint32_t name, uintptr_t stack, uintptr_t pc)
{
	struct sn_frame frame = {.kind = SN_FRAME_OPERATOR, .flags = SN_FRAME_BACKWARD, .id = name};
	uint32_t prefix = prefix_of(self, task, node);
	uint32_t depth = self->thread->shadow_depth;
	struct sn_shadow *shadow = sn_shadow_push(self->thread, &frame, stack);
	if (!shadow)
		return depth;
	shadow->prefix = prefix;
	shadow->user = SN_TORCH_SHADOW_IDLE;
	if (node->sequence != SN_TORCH_NO_SEQUENCE)
		shadow->link = sn_torch_link(node->torch_id, node->sequence);
	if (sn_torch_exact_metric() != SN_ID_NONE) {
		shadow->node = sn_context(self->thread, stack, pc, true);
		shadow->start_ns = sn_now_ns();
		sn_trace_enters(self->thread, SN_TRACE_SOURCE_OPERATORS, shadow->start_ns);
	}
	return depth;
}

uint32_t sn_torch_backward_begin(uintptr_t task, const void *node, uintptr_t stack, uintptr_t pc)
{
	struct sn_torch_node read;
	char storage[NAME_BYTES];
	if (!atomic_load_explicit(&sn_torch_duties.autograd, memory_order_relaxed) ||
	    !sn_thread_self())
		return NOT_PUSHED;
	sn_torch_node_read(node, &read, storage, sizeof(storage));
	struct sn_thread *thread = read.name ? sn_enter() : NULL;
	if (!thread)
		return NOT_PUSHED;
	uint32_t token = NOT_PUSHED;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	if (self) {
		drop_stale(self, stack);
		uint32_t name = read.name == storage
				    ? sn_cct_string(&thread->cct, read.name, read.name_length)
				    : sn_torch_text_id(self, read.name, read.name_length);
		if (name != SN_ID_NONE)
			token = push(self, task, &read, name, stack, pc);
		if (token != NOT_PUSHED && sn_torch_graph_on())
			sn_torch_graph_backward(self, &read, stack);
	}
	sn_leave(thread);
	return token;
}

void sn_torch_backward_end(uint32_t token, uintptr_t stack)
{
	struct sn_thread *thread = token == NOT_PUSHED ? NULL : sn_enter();
	if (!thread)
		return;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	while (self && thread->shadow_depth > token)
		sn_torch_exact_pop(self);
	if (self && sn_torch_graph_on())
		sn_torch_graph_backward_end(self, stack);
	sn_leave(thread);
}

void sn_torch_backward_unwound(uintptr_t sp)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	if (self)
		drop_stale(self, sp + HOOK_FRAME_BYTES);
	sn_leave(thread);
}
