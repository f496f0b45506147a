/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and operations as metrics of a thread's tree, and as events where they are traced. */
#include "capture.h"
#include "state.h"

#include "collect/core/line.h"
#include "collect/interface/message.h"
#include "collect/record/trace.h"

#include <string.h>

#define NAMED_STREAMS 1000u

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} metrics[SN_GPU_METRIC_COUNT] = {
    [SN_GPU_API_TIME] = {"gpu-api-time", "ns", SN_METRIC_TIME},
    [SN_GPU_KERNEL_TIME] = {"kernel-time", "ns", SN_METRIC_TIME},
    [SN_GPU_COPY_TIME] = {"copy-time", "ns", SN_METRIC_TIME},
    [SN_GPU_SET_TIME] = {"fill-time", "ns", SN_METRIC_TIME},
    [SN_GPU_GRAPH_TIME] = {"graph-time", "ns", SN_METRIC_TIME},
    [SN_GPU_WAIT_TIME] = {"sync-time", "ns", SN_METRIC_TIME},
    [SN_GPU_OVERHEAD_TIME] = {"gpu-overhead-time", "ns", SN_METRIC_TIME},
    [SN_GPU_COPY_BYTES] = {"copy-bytes", "bytes", SN_METRIC_BYTES},
    [SN_GPU_SET_BYTES] = {"fill-bytes", "bytes", SN_METRIC_BYTES},
    [SN_GPU_ALLOCATE_BYTES] = {"gpu-alloc", "bytes", SN_METRIC_BYTES},
    [SN_GPU_FREE_BYTES] = {"gpu-free", "bytes", SN_METRIC_BYTES},
    [SN_GPU_COMMUNICATION_BYTES] = {"communication-bytes", "bytes", SN_METRIC_BYTES},
    [SN_GPU_BLOCKS] = {"kernel-blocks", "1", SN_METRIC_COUNT},
    [SN_GPU_BLOCK_THREADS] = {"kernel-block-threads", "1", SN_METRIC_COUNT},
    [SN_GPU_REGISTERS] = {"kernel-registers", "1", SN_METRIC_COUNT},
    [SN_GPU_SHARED_BYTES] = {"kernel-shared-bytes", "bytes", SN_METRIC_BYTES},
    [SN_GPU_LOCAL_BYTES] = {"kernel-local-bytes", "bytes", SN_METRIC_BYTES},
    [SN_GPU_WARPS] = {"kernel-warps", "1", SN_METRIC_COUNT},
    [SN_GPU_WARPS_MAX] = {"kernel-warps-max", "1", SN_METRIC_COUNT},
};

static uint32_t metric_number(struct sn_gpu_interface *interface, enum sn_gpu_metric metric)
{
	return sn_metric_once(&interface->metrics[metric], metrics[metric].name,
			      metrics[metric].unit, interface->name, metrics[metric].kind);
}

static void add(struct sn_gpu_interface *interface, struct sn_thread *thread, uint32_t node,
		enum sn_gpu_metric metric, uint64_t value)
{
	uint32_t number = metric_number(interface, metric);
	if (number != SN_ID_NONE)
		sn_cct_add(&thread->cct, node, number, value);
}

/* Numbers of calls differ between interfaces. */
static uint64_t link_of(const struct sn_gpu_interface *interface, uint32_t correlation)
{
	return SN_TRACE_LINK_CALL + ((uint64_t)interface->number << 32) + correlation;
}

void sn_gpu_trace_call(struct sn_thread *thread, const struct sn_gpu_past_call *call)
{
	struct sn_trace_attribute attributes[2];
	uint32_t count = 0;
	if (!sn_trace_wants(SN_TRACE_SOURCE_API))
		return;
	if (call->bytes)
		attributes[count++] =
		    (struct sn_trace_attribute){.key = SN_TRACE_KEY_BYTES, .value = call->bytes};
	if (call->has_stream)
		attributes[count++] =
		    (struct sn_trace_attribute){.key = SN_TRACE_KEY_STREAM, .value = call->stream};
	SN_TRACE_ADD(thread, .kind = SN_TRACE_INTERVAL, .context = call->node,
		     .start_ns = call->start_ns, .end_ns = call->end_ns,
		     .link = call->correlation ? link_of(call->interface, call->correlation) : 0,
		     .attributes = attributes, .attribute_count = count);
}

static void add_call_time(struct sn_thread *thread, const struct sn_gpu_past_call *call)
{
	uint64_t ns = call->end_ns - call->start_ns;
	if (!call->time) {
		add(call->interface, thread, call->node, SN_GPU_API_TIME, ns);
		return;
	}
	uint32_t number =
	    *call->time ? SN_ID_NONE : metric_number(call->interface, SN_GPU_API_TIME);
	if (number != SN_ID_NONE)
		*call->time = sn_cct_value_of(&thread->cct, call->node, number);
	if (*call->time)
		sn_cct_value_add(*call->time, ns);
}

void sn_gpu_add_call(struct sn_thread *thread, const struct sn_gpu_past_call *call)
{
	add_call_time(thread, call);
	if (call->bytes)
		add(call->interface, thread, call->node,
		    call->interface->bytes ? call->interface->bytes : SN_GPU_COPY_BYTES,
		    call->bytes);
	sn_gpu_trace_call(thread, call);
}

/* ---- places ---- */

/* Streams are numbered as they are made; those of a program that makes ever more have one name. */
static void name_stream(struct sn_line *line, uint32_t stream)
{
	sn_line_add(line, "stream");
	if (stream >= NAMED_STREAMS)
		return;
	sn_line_add(line, " ");
	sn_line_add_number(line, stream);
}

static uint32_t child_of(struct sn_gpu_thread *state, uint32_t parent,
			 const struct sn_gpu_operation *operation)
{
	static const char *const unnamed[] = {"[kernel]", "copy", "set", "graph"};
	char of_stream[32];
	struct sn_line line = SN_LINE(of_stream);
	const char *name = operation->name;
	if (!name && operation->kind == SN_GPU_WAIT)
		name_stream(&line, operation->stream);
	if (!name)
		name = operation->kind == SN_GPU_WAIT ? of_stream : unnamed[operation->kind];
	return sn_cct_named_child(&state->thread->cct, parent,
				  operation->kind == SN_GPU_KERNEL ? SN_FRAME_KERNEL
								   : SN_FRAME_GPU_OP,
				  name, strlen(name));
}

static uint32_t find_node(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation,
			  bool *is_unplaced)
{
	uint32_t parent =
	    operation->graph_node ? sn_gpu_capture_path(state, operation) : operation->call;
	*is_unplaced = operation->graph_node && parent == operation->call;
	return child_of(state, parent, operation);
}

static struct sn_gpu_leaf *leaf_of(struct sn_gpu_thread *state,
				   const struct sn_gpu_operation *operation)
{
	return &state->leaves[sn_gpu_spread(operation) % SN_GPU_LEAVES];
}

static bool leaf_is_of(const struct sn_gpu_leaf *leaf, const struct sn_gpu_operation *operation)
{
	return leaf->node && leaf->call == operation->call && leaf->name == operation->name &&
	       leaf->graph_node == operation->graph_node && leaf->kind == operation->kind &&
	       leaf->interface == operation->interface->number &&
	       (leaf->kind != SN_GPU_WAIT || leaf->stream == operation->stream);
}

/* The operation's own place; NULL without memory. Not inlined, as add_values is not: what they keep is no more on the program's stack
 * when the trace is written. */
static struct sn_gpu_leaf *__attribute__((noinline))
place(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	struct sn_gpu_leaf *leaf = leaf_of(state, operation);
	if (!leaf_is_of(leaf, operation)) {
		bool is_unplaced;
		uint32_t node = find_node(state, operation, &is_unplaced);
		if (node == SN_NODE_NONE)
			return NULL;
		*leaf = (struct sn_gpu_leaf){.name = operation->name,
					     .graph_node = operation->graph_node,
					     .stream = operation->stream,
					     .call = operation->call,
					     .node = node,
					     .interface = operation->interface->number,
					     .kind = operation->kind,
					     .is_unplaced = is_unplaced};
	}
	if (leaf->is_unplaced)
		sn_drop(state->thread, SN_DROP_CAPTURE_UNKNOWN, operation->count);
	return leaf;
}

uint32_t sn_gpu_node_of(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	bool is_unplaced;
	const struct sn_gpu_leaf *leaf = leaf_of(state, operation);
	return leaf_is_of(leaf, operation) ? leaf->node : find_node(state, operation, &is_unplaced);
}

/* ---- metrics ---- */

struct sum {
	struct sn_gpu_interface *interface;
	struct sn_thread *thread;
	struct sn_gpu_leaf *leaf;
	uint32_t count; /* of operations */
};

/* `place` of leaf->values is that metric's, for operations of one kind. NULL without memory. */
static struct sn_cct_value *value_at(struct sum *sum, uint32_t place, enum sn_gpu_metric metric)
{
	struct sn_cct_value **value = &sum->leaf->values[place];
	uint32_t number = *value ? 0 : metric_number(sum->interface, metric);
	if (!*value && number != SN_ID_NONE)
		*value = sn_cct_value_of(&sum->thread->cct, sum->leaf->node, number);
	return *value;
}

/* The same amount for each of the operations. */
static void add_amount(struct sum *sum, uint32_t place, enum sn_gpu_metric metric, uint64_t amount)
{
	struct sn_cct_value *value = value_at(sum, place, metric);
	if (value)
		sn_cct_value_add_times(value, amount, sum->count);
}

static void add_constant(struct sum *sum, enum sn_gpu_metric metric, uint64_t amount)
{
	add_amount(sum, 1 + metric - SN_GPU_BLOCKS, metric, amount);
}

static void add_time(struct sum *sum, const struct sn_gpu_operation *operation)
{
	struct sn_cct_value *value = value_at(sum, 0, SN_GPU_KERNEL_TIME + operation->kind);
	if (value)
		sn_cct_value_add_all(
		    value, &(struct sn_value_record){.count = operation->count,
						     .sum = operation->end_ns - operation->start_ns,
						     .min = operation->least_ns,
						     .max = operation->most_ns,
						     .sum_squares = operation->squares});
}

/* How a kernel was launched, as constants are added: once for each launch. */
static void add_shape(struct sum *sum, const struct sn_gpu_shape *shape)
{
	if (!shape->grid[0])
		return;
	add_constant(sum, SN_GPU_BLOCKS,
		     (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2]);
	add_constant(sum, SN_GPU_BLOCK_THREADS,
		     (uint64_t)shape->block[0] * shape->block[1] * shape->block[2]);
	add_constant(sum, SN_GPU_REGISTERS, shape->registers);
	add_constant(sum, SN_GPU_SHARED_BYTES, shape->shared_bytes);
	if (shape->local_bytes)
		add_constant(sum, SN_GPU_LOCAL_BYTES, shape->local_bytes);
	if (!shape->warps_most)
		return;
	add_constant(sum, SN_GPU_WARPS, shape->warps);
	add_constant(sum, SN_GPU_WARPS_MAX, shape->warps_most);
}

_Static_assert(1 + SN_GPU_WARPS_MAX - SN_GPU_BLOCKS < SN_GPU_LEAF_VALUES, "a place for each");

static void __attribute__((noinline)) add_values(struct sn_thread *thread, struct sn_gpu_leaf *leaf,
						 const struct sn_gpu_operation *operation)
{
	struct sum sum = {operation->interface, thread, leaf, operation->count};
	add_time(&sum, operation);
	if (operation->kind == SN_GPU_KERNEL)
		add_shape(&sum, &operation->shape);
	else if (operation->bytes)
		add_amount(&sum, 1,
			   operation->kind == SN_GPU_COPY ? SN_GPU_COPY_BYTES : SN_GPU_SET_BYTES,
			   operation->bytes);
}

/* ---- events ---- */

#define STREAMS 1024u

/* The trace's number of a stream; SN_ID_NONE where it can have none. Threads that race each define one: harmless. */
static uint32_t stream_of(const struct sn_gpu_operation *operation)
{
	static _Atomic uint64_t known[STREAMS]; /* the trace's generation << 32, and its number */
	static _Atomic uint64_t keys[STREAMS];	/* interface << 48 | device << 32 | stream, + 1 */
	uint64_t key = ((uint64_t)operation->interface->number << 48 |
			(uint64_t)operation->device << 32 | operation->stream) +
		       1;
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 54),
		 generation = sn_trace_generation();
	uint64_t value = atomic_load_explicit(&known[slot], memory_order_acquire);
	if (atomic_load_explicit(&keys[slot], memory_order_relaxed) == key &&
	    value >> 32 == generation)
		return (uint32_t)value;
	char name[32];
	struct sn_line line = SN_LINE(name);
	sn_line_add(&line, operation->interface->device);
	sn_line_add_number(&line, operation->device);
	uint32_t number = sn_trace_queue(operation->device, operation->stream, name);
	atomic_store_explicit(&keys[slot], key, memory_order_relaxed);
	atomic_store_explicit(&known[slot], (uint64_t)generation << 32 | number,
			      memory_order_release);
	return number;
}

static uint32_t attribute(struct sn_trace_attribute *attributes, uint32_t count,
			  enum sn_trace_key key, uint64_t value)
{
	attributes[count] = (struct sn_trace_attribute){.key = key, .value = value};
	return count + 1;
}

static uint32_t shape_attributes(struct sn_trace_attribute *attributes, uint32_t count,
				 const struct sn_gpu_shape *shape)
{
	if (!shape->grid[0])
		return count;
	for (uint32_t axis = 0; axis < 3; axis++)
		count = attribute(attributes, count, SN_TRACE_KEY_GRID_X + axis, shape->grid[axis]);
	for (uint32_t axis = 0; axis < 3; axis++)
		count =
		    attribute(attributes, count, SN_TRACE_KEY_BLOCK_X + axis, shape->block[axis]);
	count = attribute(attributes, count, SN_TRACE_KEY_REGISTERS, shape->registers);
	count = attribute(attributes, count, SN_TRACE_KEY_SHARED, shape->shared_bytes);
	return shape->local_bytes
		   ? attribute(attributes, count, SN_TRACE_KEY_LOCAL, shape->local_bytes)
		   : count;
}

/* The collective that it is a part of; NULL: of none. */
static const struct sn_gpu_part *part_of(struct sn_gpu_thread *state,
					 const struct sn_gpu_operation *operation)
{
	const struct sn_gpu_part *part = sn_gpu_part_of(state, operation->correlation);
	bool is_part = operation->kind == SN_GPU_KERNEL && !operation->graph_node &&
		       part->interface == operation->interface &&
		       part->correlation == operation->correlation;
	return is_part ? part : NULL;
}

static uint32_t part_attributes(struct sn_trace_attribute *attributes, uint32_t count,
				struct sn_gpu_thread *state,
				const struct sn_gpu_operation *operation)
{
	const struct sn_gpu_part *part = part_of(state, operation);
	if (!part)
		return count;
	count = attribute(attributes, count, SN_TRACE_KEY_BYTES, part->of.bytes);
	count = attribute(attributes, count, SN_TRACE_KEY_GROUP, part->of.group);
	return part->of.number == SN_GPU_NOT_TOGETHER
		   ? count
		   : attribute(attributes, count, SN_TRACE_KEY_COLLECTIVE, part->of.number);
}

#define ATTRIBUTES 15u

/* What is told of it beside its time. */
static uint32_t attributes_of(struct sn_trace_attribute *attributes, struct sn_gpu_thread *state,
			      const struct sn_gpu_operation *operation)
{
	uint32_t count = part_attributes(attributes, 0, state, operation);
	if (operation->bytes)
		count = attribute(attributes, count, SN_TRACE_KEY_BYTES, operation->bytes);
	if (operation->kind == SN_GPU_KERNEL)
		count = shape_attributes(attributes, count, &operation->shape);
	if (operation->graph)
		count = attribute(attributes, count, SN_TRACE_KEY_GRAPH, operation->graph);
	if (operation->graph_node)
		count =
		    attribute(attributes, count, SN_TRACE_KEY_GRAPH_NODE, operation->graph_node);
	return count;
}

/* An operation at its own time, in its stream. `thread` is the one that launched it, which the calling one may not be. */
static void trace(struct sn_gpu_thread *state, uint32_t node,
		  const struct sn_gpu_operation *operation)
{
	struct sn_thread *self = sn_thread_self(), *thread = state->thread;
	uint32_t stream = stream_of(operation);
	struct sn_trace_attribute attributes[ATTRIBUTES];
	if (!self || stream == SN_ID_NONE)
		return;
	SN_TRACE_ADD(self, .kind = SN_TRACE_INTERVAL, .has_stream = true, .stream = stream,
		     .has_owner = thread != self, .owner = thread->index, .context = node,
		     .start_ns = operation->start_ns, .end_ns = operation->end_ns,
		     .link = link_of(operation->interface, operation->correlation),
		     .attributes = attributes,
		     .attribute_count = attributes_of(attributes, state, operation));
}

/* What a kernel sends or receives, for as long as it runs: a frame below it, for it takes no time of its own. */
static void trace_message(struct sn_gpu_thread *state, uint32_t node, uint32_t stream,
			  const struct sn_gpu_operation *operation, uint64_t group,
			  const struct sn_gpu_message *one)
{
	const char *name = one->is_sent ? "send" : "receive";
	uint32_t place =
	    sn_cct_named_child(&state->thread->cct, node, SN_FRAME_OS, name, strlen(name));
	struct sn_message message = {.communicator = group,
				     .bytes = one->bytes,
				     .number = one->number,
				     .start_ns = operation->start_ns,
				     .end_ns = operation->end_ns,
				     .rank = one->rank,
				     .peer = one->peer,
				     .is_sent = one->is_sent};
	sn_message_record_on(state->thread, place, stream, &message);
}

static void __attribute__((noinline))
trace_messages(struct sn_gpu_thread *state, uint32_t node, const struct sn_gpu_operation *operation)
{
	const struct sn_gpu_part *part = part_of(state, operation);
	uint32_t count = part ? part->of.message_count : 0;
	uint32_t stream = count ? stream_of(operation) : SN_ID_NONE;
	for (uint32_t i = 0; i < count && stream != SN_ID_NONE; i++) {
		uint32_t number = part->first_message + i;
		if (state->message_count - number > SN_GPU_MESSAGES)
			sn_drop(state->thread, SN_DROP_TRACE_SOURCE,
				1); /* another took its place */
		else
			trace_message(state, node, stream, operation, part->of.group,
				      &state->messages[number % SN_GPU_MESSAGES]);
	}
}

void sn_gpu_record(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	struct sn_thread *thread = state->thread;
	if (operation->kind == SN_GPU_SAMPLES) {
		sn_gpu_record_samples(state, operation);
		return;
	}
	if (operation->kind == SN_GPU_COUNTER) {
		sn_gpu_record_counter(state, operation);
		return;
	}
	if (operation->kind == SN_GPU_MIGRATION) {
		sn_gpu_record_migration(state, operation);
		return;
	}
	if (operation->end_ns < operation->start_ns || !operation->start_ns) {
		sn_drop(thread, SN_DROP_GPU_UNTIMED, 1);
		return;
	}
	if (operation->kind > SN_GPU_OVERHEAD) {
		add(operation->interface, thread, operation->call,
		    operation->kind == SN_GPU_ALLOCATE ? SN_GPU_ALLOCATE_BYTES : SN_GPU_FREE_BYTES,
		    operation->bytes);
		return;
	}
	struct sn_gpu_leaf *leaf = place(state, operation);
	if (!leaf) {
		sn_drop(thread, SN_DROP_GPU_LOST, operation->count);
		return;
	}
	add_values(thread, leaf, operation);
	/* several are one since no events were asked for when they came */
	if (sn_gpu_is_of_host(operation) || operation->is_placeless || operation->count > 1)
		return;
	if (sn_trace_wants(SN_TRACE_SOURCE_GPU))
		trace(state, leaf->node, operation);
	if (sn_trace_wants(SN_TRACE_SOURCE_MESSAGES))
		trace_messages(state, leaf->node, operation);
}
