/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and operations as metrics of a thread's tree, and as events where they are traced. */
#include "gpu.h"

#include "collect/core/line.h"
#include "collect/record/trace.h"

#include <string.h>

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} metrics[SN_GPU_METRIC_COUNT] = {
    [SN_GPU_API_TIME] = {"gpu-api-time", "ns", SN_METRIC_TIME},
    [SN_GPU_KERNEL_TIME] = {"kernel-time", "ns", SN_METRIC_TIME},
    [SN_GPU_COPY_TIME] = {"copy-time", "ns", SN_METRIC_TIME},
    [SN_GPU_SET_TIME] = {"fill-time", "ns", SN_METRIC_TIME},
    [SN_GPU_COPY_BYTES] = {"copy-bytes", "bytes", SN_METRIC_BYTES},
    [SN_GPU_SET_BYTES] = {"fill-bytes", "bytes", SN_METRIC_BYTES},
};

static void add(struct sn_gpu_interface *interface, struct sn_thread *thread, uint32_t node,
		enum sn_gpu_metric metric, uint64_t value)
{
	uint32_t number =
	    sn_metric_once(&interface->metrics[metric], metrics[metric].name, metrics[metric].unit,
			   interface->name, metrics[metric].kind);
	if (number != SN_ID_NONE)
		sn_cct_add(&thread->cct, node, number, value);
}

/* Numbers of calls differ between interfaces. */
static uint64_t link_of(const struct sn_gpu_interface *interface, uint32_t correlation)
{
	return SN_TRACE_LINK_CALL + ((uint64_t)interface->number << 32) + correlation;
}

void sn_gpu_add_call(struct sn_gpu_interface *interface, struct sn_thread *thread, uint32_t node,
		     uint32_t correlation, uint64_t start_ns, uint64_t end_ns)
{
	add(interface, thread, node, SN_GPU_API_TIME, end_ns - start_ns);
	if (sn_trace_wants(SN_TRACE_SOURCE_API))
		SN_TRACE_ADD(thread, .kind = SN_TRACE_INTERVAL, .context = node,
			     .start_ns = start_ns, .end_ns = end_ns,
			     .link = link_of(interface, correlation));
}

static uint32_t node_of(struct sn_thread *thread, const struct sn_gpu_operation *operation)
{
	static const char *const unnamed[] = {"[kernel]", "copy", "set"};
	const char *name = operation->name ? operation->name : unnamed[operation->kind];
	struct sn_frame frame = {.kind = operation->kind == SN_GPU_KERNEL ? SN_FRAME_KERNEL
									  : SN_FRAME_GPU_OP,
				 .id = sn_cct_string(&thread->cct, name, strlen(name))};
	uint32_t node = sn_cct_child(&thread->cct, operation->call, &frame);
	if (node != SN_NODE_NONE)
		add(operation->interface, thread, node, SN_GPU_KERNEL_TIME + operation->kind,
		    operation->end_ns - operation->start_ns);
	return node;
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

/* An operation at its own time, in its stream. `thread` is the one that launched it, which the calling one may not be. */
static void trace(struct sn_thread *thread, uint32_t node, const struct sn_gpu_operation *operation)
{
	struct sn_thread *self = sn_thread_self();
	uint32_t stream = stream_of(operation);
	struct sn_trace_attribute bytes = {.key = SN_TRACE_KEY_BYTES, .value = operation->bytes};
	if (!self || stream == SN_ID_NONE)
		return;
	SN_TRACE_ADD(self, .kind = SN_TRACE_INTERVAL, .has_stream = true, .stream = stream,
		     .has_owner = thread != self, .owner = thread->index, .context = node,
		     .start_ns = operation->start_ns, .end_ns = operation->end_ns,
		     .link = link_of(operation->interface, operation->correlation),
		     .attributes = &bytes, .attribute_count = operation->bytes ? 1 : 0);
}

void sn_gpu_record(struct sn_thread *thread, const struct sn_gpu_operation *operation)
{
	if (operation->end_ns < operation->start_ns || !operation->start_ns) {
		sn_drop(thread, SN_DROP_GPU_UNTIMED, 1);
		return;
	}
	uint32_t node = node_of(thread, operation);
	if (node == SN_NODE_NONE) {
		sn_drop(thread, SN_DROP_GPU_LOST, 1);
		return;
	}
	if (operation->bytes)
		add(operation->interface, thread, node,
		    operation->kind == SN_GPU_COPY ? SN_GPU_COPY_BYTES : SN_GPU_SET_BYTES,
		    operation->bytes);
	if (!operation->is_placeless && sn_trace_wants(SN_TRACE_SOURCE_GPU))
		trace(thread, node, operation);
}
