/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact operators, on request: a callback at the start and the end of every operator. Each operator
 * is a shadow frame while it runs. When it ends, its exclusive time is added to its context, and
 * the length of the whole call, so that counts are exact. This costs several times as much as
 * sampling.
 *
 * By default the same callback is only used for operators without an entry point on the stack:
 * custom ones, and all that are called boxed, as from Python's torch.ops. Each is a shadow frame
 * without a context or time of its own.
 *
 * The callback is registered through at::addGlobalCallback, whose argument is a small structure
 * passed by value. The C++ parts that matter are stable: the start function returns an owning
 * pointer, which by the ABI is returned through a hidden first argument, and which stays empty.
 */
#include "graph.h"

#include "collect/interface/monitor.h"
#include "collect/record/trace.h"

#include <errno.h>
#include <string.h>

static const char *(*name_of)(const void *function);
static _Atomic uint32_t metric = SN_ID_NONE, calls_metric = SN_ID_NONE;
static enum sn_torch_exactness exactness;
static bool is_started, has_values;
/* Whether the operator that this thread is about to announce has no entry point on the stack. */
static __thread bool is_unnamed __attribute__((tls_model("initial-exec")));

/* announcements that backward.c handles with a frame of its own */
#define NODE_PREFIX "autograd::engine::evaluate_function"

uint32_t sn_torch_exact_metric(void)
{
	return atomic_load_explicit(&metric, memory_order_relaxed);
}

static struct sn_shadow *nearest_operator(struct sn_thread *thread)
{
	uint32_t depth = sn_shadow_count(thread);
	while (depth--)
		if (sn_torch_is_ours(&thread->shadows[depth]))
			return &thread->shadows[depth];
	return NULL;
}

uint64_t sn_torch_link(uint64_t torch_id, uint64_t sequence)
{
	/* both count from 0; up to 2^28 nodes of one thread may exist at once */
	return SN_TRACE_LINK_SEQUENCE + ((torch_id & 0xfff) << 28 | (sequence & 0xfffffff));
}

void sn_torch_exact_link(struct sn_torch_thread *self, uint64_t sequence)
{
	struct sn_shadow *shadow = nearest_operator(self->thread);
	if (shadow && !(shadow->frame.flags & SN_FRAME_BACKWARD))
		shadow->link = sn_torch_link(self->torch_id, sequence);
}

static void add_call(struct sn_thread *thread, uint32_t node, uint64_t length_ns)
{
	sn_cct_add(&thread->cct, node,
		   sn_metric_once(&calls_metric, "operator-time" SN_METRIC_CALLS_SUFFIX, "ns",
				  "torch", SN_METRIC_CALLS),
		   length_ns);
}

/* Counts a call that has ended. An operator that only calls another overload of itself is one call,
 * as in PyTorch's own table; whether it calls anything else is known when it ends. */
static void end_call(struct sn_thread *thread, const struct sn_shadow *shadow,
		     struct sn_shadow *outer, uint64_t length_ns)
{
	if (outer && outer->again_node != SN_NODE_NONE) {
		add_call(thread, outer->again_node, outer->again_ns);
		outer->again_node = SN_NODE_NONE;
	}
	bool is_again = outer && outer->callees++ == 0 && outer->frame.id == shadow->frame.id &&
			outer->frame.flags == shadow->frame.flags;
	if (is_again) {
		outer->again_node = shadow->node;
		outer->again_ns = length_ns;
	} else {
		add_call(thread, shadow->node, length_ns);
	}
}

void sn_torch_exact_pop(struct sn_torch_thread *self)
{
	struct sn_shadow *shadow = sn_shadow_pop(self->thread);
	uint32_t exact = sn_torch_exact_metric();
	if (!shadow || !sn_torch_is_ours(shadow) || exact == SN_ID_NONE || !shadow->start_ns)
		return;
	/* the prefetch overlaps with reading the clock */
	if (shadow->node != SN_NODE_NONE)
		sn_cct_prefetch_value(&self->thread->cct, shadow->node);
	uint64_t end_ns = sn_now_ns(), duration = end_ns - shadow->start_ns;
	struct sn_shadow *outer = nearest_operator(self->thread);
	if (outer)
		outer->children_ns += duration;
	uint64_t own = duration > shadow->children_ns ? duration - shadow->children_ns : 0;
	if (shadow->user == SN_TORCH_SHADOW_IDLE)
		return;
	if (shadow->node != SN_NODE_NONE && sn_trace_wants(SN_TRACE_SOURCE_OPERATORS))
		SN_TRACE_ADD(self->thread, .kind = SN_TRACE_INTERVAL, .context = shadow->node,
			     .start_ns = shadow->start_ns, .end_ns = end_ns, .link = shadow->link);
	if (shadow->node == SN_NODE_NONE) {
		sn_drop(self->thread, SN_DROP_SAMPLE_MEMORY, 1);
		return;
	}
	sn_cct_add(&self->thread->cct, shadow->node, exact, own);
	end_call(self->thread, shadow, outer, duration);
}

/* An address in the frame of the operator's function: that of the object which announces it. */
static uintptr_t entry_stack(const struct sn_thread *thread, const void *function,
			     uintptr_t otherwise)
{
	uintptr_t address = (uintptr_t)function;
	bool on_stack =
	    address > otherwise && (!thread->stack_high || address < thread->stack_high);
	return on_stack ? address : otherwise;
}

/* Whether the thread, at `stack`, is inside an operator or an autograd node. */
static bool is_inside(const struct sn_thread *thread, uintptr_t stack)
{
	uint32_t depth = sn_shadow_count(thread);
	/* frames below `stack` were left by an exception */
	while (depth--)
		if (sn_torch_is_ours(&thread->shadows[depth]) &&
		    thread->shadows[depth].stack > stack)
			return true;
	return false;
}

enum sn_torch_wish sn_torch_exact_wish(const struct sn_torch_thread *self, uintptr_t stack,
				       uintptr_t pc)
{
	if (!is_started)
		return SN_TORCH_WISH_NOTHING;
	if (exactness == SN_TORCH_SAMPLED)
		is_unnamed = pc && !sn_torch_operator_is_named(pc);
	bool is_wanted = exactness == SN_TORCH_SAMPLED ? is_unnamed
			 : exactness == SN_TORCH_NODES ? !self || !is_inside(self->thread, stack)
						       : true;
	if (!is_wanted)
		return SN_TORCH_WISH_NOTHING;
	return has_values ? SN_TORCH_WISH_TENSORS : SN_TORCH_WISH_EVENT;
}

static void begin(struct sn_torch_thread *self, const void *function, const char *name,
		  uintptr_t stack, uintptr_t pc)
{
	struct sn_thread *thread = self->thread;
	uint32_t id = sn_torch_name_id(self, name);
	struct sn_frame frame = {.kind = SN_FRAME_OPERATOR, .id = id};
	if (id == SN_ID_NONE)
		return;
	struct sn_shadow *shadow =
	    sn_shadow_push(thread, &frame, entry_stack(thread, function, stack));
	if (!shadow)
		return;
	shadow->user = SN_TORCH_SHADOW;
	if (exactness == SN_TORCH_SAMPLED)
		return;
	shadow->node = sn_context(self->thread, stack, pc, true);
	if (shadow->node != SN_NODE_NONE)
		sn_cct_prefetch_node(&thread->cct, shadow->node);
	shadow->start_ns = sn_now_ns();
	sn_trace_enters(thread, SN_TRACE_SOURCE_OPERATORS, shadow->start_ns);
}

/* The tensors of one operator; too large for the program's stack. */
struct sn_torch_values {
	struct sn_torch_tensor tensors[SN_TORCH_TENSORS];
	struct sonde_value values[SN_TORCH_TENSORS];
};

static struct sn_torch_values *values_of_thread(void)
{
	struct sn_thread *thread = sn_enter();
	struct sn_torch_thread *self = thread ? sn_torch_thread(thread) : NULL;
	struct sn_torch_values *values = self ? SN_PAGES_ONCE(self->values) : NULL;
	if (thread)
		sn_leave(thread);
	return values;
}

static void add_values(struct sonde_event *event, const void *function)
{
	struct sn_torch_values *room = values_of_thread();
	if (!room)
		return;
	event->value_count = event->kind == SONDE_OPERATOR_BEGIN
				 ? sn_torch_inputs(function, event->name, room->tensors)
				 : sn_torch_outputs(function, room->tensors);
	for (uint32_t i = 0; i < event->value_count; i++) {
		const struct sn_torch_tensor *tensor = &room->tensors[i];
		room->values[i] = (struct sonde_value){.index = tensor->index,
						       .value = tensor->impl,
						       .storage = tensor->storage,
						       .bytes = tensor->bytes};
	}
	event->values = room->values;
}

/* Reports an operator to tools that listen (sonde/monitor.h), if all operators are announced. */
static void report(enum sonde_event_kind kind, const void *function)
{
	if (exactness == SN_TORCH_SAMPLED)
		return;
	const char *name = sn_monitor_wants(SONDE_FRAMEWORK) ? name_of(function) : NULL;
	if (!name)
		return;
	struct sonde_event event = {.domain = SONDE_FRAMEWORK,
				    .kind = kind,
				    .name = name,
				    .name_length = (uint32_t)strlen(name)};
	if (has_values)
		add_values(&event, function);
	sn_monitor_emit(event);
}

/* Compares the first characters first, because most names begin with "aten::". */
static inline bool is_node(const char *name)
{
	return name[0] == NODE_PREFIX[0] && name[1] == NODE_PREFIX[1] &&
	       !strncmp(name, NODE_PREFIX, sizeof(NODE_PREFIX) - 1);
}

/* Whether the callback was registered for the operator. Others are announced as well if somebody
 * else has a callback. */
static bool is_for_us(const struct sn_torch_thread *self, const char *name, uintptr_t stack)
{
	if (is_node(name))
		return false;
	return exactness != SN_TORCH_NODES || !is_inside(self->thread, stack);
}

static void *on_start(void **context, const void *function)
{
	*context = NULL;
	/* the flag is for this announcement only */
	bool is_without_name = is_unnamed;
	is_unnamed = false;
	if (exactness == SN_TORCH_SAMPLED && !is_without_name)
		return context;
	const char *name = name_of(function);
	struct sn_thread *thread = name ? sn_enter() : NULL;
	if (!thread)
		return context;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	if (self && is_for_us(self, name, SN_CALLER_STACK))
		begin(self, function, name, SN_CALLER_STACK,
		      (uintptr_t)__builtin_return_address(0));
	sn_leave(thread);
	report(SONDE_OPERATOR_BEGIN, function);
	return context;
}

/* Marks the node whose frame backward.c has pushed as running, so that its time counts. */
void sn_torch_exact_node_runs(struct sn_thread *thread)
{
	struct sn_shadow *node = nearest_operator(thread);
	if (node && node->user == SN_TORCH_SHADOW_IDLE)
		node->user = SN_TORCH_SHADOW;
}

static void *on_node(void **context, const void *function)
{
	*context = NULL;
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return context;
	sn_torch_exact_node_runs(thread);
	sn_leave(thread);
	return context;
}

/* Ends the operator that `function` announced, and those left open inside it. An operator that ends
 * in another thread than it began is left to the thread in which it began. */
static void on_end(const void *function, void *context)
{
	report(SONDE_OPERATOR_END, function);
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	uintptr_t stack = entry_stack(thread, function, SN_CALLER_STACK);
	uint32_t depth = sn_shadow_count(thread);
	while (self && depth--) {
		const struct sn_shadow *shadow = &thread->shadows[depth];
		if (!sn_torch_is_ours(shadow))
			break;
		if (shadow->stack != stack)
			continue;
		while (thread->shadow_depth > depth)
			sn_torch_exact_pop(self);
		break;
	}
	sn_leave(thread);
}

int sn_torch_exact_start(enum sn_torch_exactness of)
{
	struct sn_torch_callback callback = {
	    .start = on_start, .end = on_end, .sampling_probability = 1.0};
	name_of = (const char *(*)(const void *))sn_torch_symbol("_ZNK2at14RecordFunction4nameEv");
	exactness = of;
	has_values = of != SN_TORCH_SAMPLED && sn_monitor_wants_values(SONDE_FRAMEWORK) &&
		     sn_torch_tensor_init();
	callback.needs_inputs = callback.needs_outputs = has_values;
	callback.scopes[SN_TORCH_SCOPE_FUNCTION] = 1;
	if (!name_of || sn_torch_callbacks_add(callback))
		return -ENOTSUP;
	if (of != SN_TORCH_SAMPLED)
		atomic_store(&metric, sn_metric("operator-time", "ns", "torch", SN_METRIC_TIME, 0));
	is_started = true;
	return 0;
}

void sn_torch_exact_announce_nodes(void)
{
	struct sn_torch_callback callback = {.start = on_node, .sampling_probability = 1.0};
	callback.scopes[SN_TORCH_SCOPE_BACKWARD_FUNCTION] = 1;
	if (!sn_torch_callbacks_known())
		sn_torch_callbacks_add(callback);
}
