/* SPDX-License-Identifier: Apache-2.0 */
/* What the devices did: CUPTI's buffers of records, and what becomes of each. */
#include "managed.h"
#include "pc_sampling.h"

#define BUFFER_BYTES (1u << 20)
#define BUFFERS	     32u

/* ---- buffers: a few, used again and again ---- */

static struct {
	_Atomic(uint8_t *) bytes;
	_Atomic bool is_used;
} buffers[BUFFERS];

/* No buffer means that CUPTI drops records, and counts them. */
void sn_cuda_request_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
	*buffer = NULL;
	*size = 0;
	*most_records = 0;
	for (uint32_t index = 0; index < BUFFERS && !*buffer; index++) {
		if (atomic_exchange_explicit(&buffers[index].is_used, true, memory_order_acquire))
			continue;
		uint8_t *bytes = atomic_load_explicit(&buffers[index].bytes, memory_order_relaxed);
		if (!bytes) {
			bytes = sn_pages_map(BUFFER_BYTES);
			atomic_store_explicit(&buffers[index].bytes, bytes, memory_order_relaxed);
		}
		if (!bytes)
			atomic_store_explicit(&buffers[index].is_used, false, memory_order_relaxed);
		*buffer = bytes;
		*size = bytes ? BUFFER_BYTES : 0;
	}
}

static void give_back(uint8_t *buffer)
{
	for (uint32_t index = 0; index < BUFFERS; index++)
		if (atomic_load_explicit(&buffers[index].bytes, memory_order_relaxed) == buffer)
			/* release: it was read */
			atomic_store_explicit(&buffers[index].is_used, false, memory_order_release);
}

/* ---- records ---- */

/* CUPTI's numbers of kinds of copies: 1 host to device, 2 device to host, and so on. */
static const char *copy_name(unsigned kind)
{
	static const char *const names[] = {"copy",
					    "copy host to device",
					    "copy device to host",
					    "copy host to array",
					    "copy array to host",
					    "copy array to array",
					    "copy array to device",
					    "copy device to array",
					    "copy device to device",
					    "copy host to host",
					    "copy between devices"};
	return kind < sizeof(names) / sizeof(*names) ? names[kind] : names[0];
}

static struct sn_gpu_shape shape_of(const struct sn_cupti_kernel *kernel)
{
	struct sn_gpu_shape shape = {.registers = kernel->registers,
				     .shared_bytes = (uint32_t)kernel->static_shared +
						     (uint32_t)kernel->dynamic_shared,
				     .local_bytes = kernel->local_per_thread};
	for (int axis = 0; axis < 3; axis++) {
		shape.grid[axis] = (uint32_t)kernel->grid[axis];
		shape.block[axis] = (uint16_t)kernel->block[axis];
	}
	sn_cuda_occupancy(kernel->device, &shape);
	return shape;
}

static struct sn_gpu_operation of_kernel(const struct sn_cupti_kernel *kernel)
{
	return (struct sn_gpu_operation){.kind = SN_GPU_KERNEL,
					 .device = (uint16_t)kernel->device,
					 .stream = kernel->stream,
					 .correlation = kernel->correlation,
					 .name = kernel->name,
					 .start_ns = kernel->start,
					 .end_ns = kernel->end,
					 .graph = kernel->graph,
					 .graph_node = kernel->graph_node,
					 .shape = shape_of(kernel)};
}

static struct sn_gpu_operation of_copy(const struct sn_cupti_memcpy *copy)
{
	return (struct sn_gpu_operation){.kind = SN_GPU_COPY,
					 .device = (uint16_t)copy->device,
					 .stream = copy->stream,
					 .correlation = copy->correlation,
					 .name = copy_name(copy->copy),
					 .bytes = copy->bytes,
					 .start_ns = copy->start,
					 .end_ns = copy->end,
					 .graph = copy->graph,
					 .graph_node = copy->graph_node};
}

static struct sn_gpu_operation of_peer_copy(const struct sn_cupti_peer_memcpy *copy)
{
	return (struct sn_gpu_operation){.kind = SN_GPU_COPY,
					 .device = (uint16_t)copy->device,
					 .stream = copy->stream,
					 .correlation = copy->correlation,
					 .name = copy_name(copy->copy),
					 .bytes = copy->bytes,
					 .start_ns = copy->start,
					 .end_ns = copy->end,
					 .graph = copy->graph,
					 .graph_node = copy->graph_node};
}

static struct sn_gpu_operation of_set(const struct sn_cupti_memset *set)
{
	return (struct sn_gpu_operation){.kind = SN_GPU_SET,
					 .device = (uint16_t)set->device,
					 .stream = set->stream,
					 .correlation = set->correlation,
					 .bytes = set->bytes,
					 .start_ns = set->start,
					 .end_ns = set->end,
					 .graph = set->graph,
					 .graph_node = set->graph_node};
}

/* From the start of its first operation to the end of its last. */
static struct sn_gpu_operation of_graph(const struct sn_cupti_graph_trace *graph)
{
	return (struct sn_gpu_operation){.kind = SN_GPU_GRAPH,
					 .device = (uint16_t)graph->device,
					 .stream = graph->stream,
					 .correlation = graph->correlation,
					 .start_ns = graph->start,
					 .end_ns = graph->end,
					 .graph = graph->graph};
}

/* False for what is no wait of the host. */
static bool read_wait(const struct sn_cupti_synchronization *wait,
		      struct sn_gpu_operation *operation)
{
	*operation =
	    (struct sn_gpu_operation){.kind = SN_GPU_WAIT,
				      .stream = wait->stream,
				      .correlation = wait->correlation,
				      .name = wait->type == SN_CUPTI_WAIT_STREAM  ? NULL
					      : wait->type == SN_CUPTI_WAIT_EVENT ? "event"
										  : "all streams",
				      .start_ns = wait->start,
				      .end_ns = wait->end};
	return wait->type != SN_CUPTI_WAIT_STREAM_EVENT;
}

/* False for memory of the host. */
static bool read_memory(const struct sn_cupti_memory *memory, struct sn_gpu_operation *operation)
{
	bool is_allocated = memory->operation == SN_CUPTI_MEMORY_ALLOCATED;
	*operation = (struct sn_gpu_operation){.kind = is_allocated ? SN_GPU_ALLOCATE : SN_GPU_FREE,
					       .device = (uint16_t)memory->device,
					       .correlation = memory->correlation,
					       .bytes = memory->bytes,
					       .start_ns = memory->timestamp,
					       .end_ns = memory->timestamp};
	return memory->memory >= SN_CUPTI_MEMORY_DEVICE &&
	       memory->memory <= SN_CUPTI_MEMORY_MANAGED;
}

/* False for records of other kinds. */
static bool read_record(const void *record, struct sn_gpu_operation *operation)
{
	switch (*(const uint32_t *)record) {
	case SN_CUPTI_KERNEL:
	case SN_CUPTI_CONCURRENT_KERNEL:
		*operation = of_kernel(record);
		return true;
	case SN_CUPTI_MEMCPY:
		*operation = of_copy(record);
		return true;
	case SN_CUPTI_PEER_MEMCPY:
		*operation = of_peer_copy(record);
		return true;
	case SN_CUPTI_MEMSET:
		*operation = of_set(record);
		return true;
	case SN_CUPTI_GRAPH_TRACE:
		*operation = of_graph(record);
		return true;
	case SN_CUPTI_SYNCHRONIZATION:
		return read_wait(record, operation);
	case SN_CUPTI_MEMORY2:
		return read_memory(record, operation);
	case SN_CUPTI_DEVICE:
		sn_cuda_device_record(record);
		return false;
	default:
		return false;
	}
}

/* ---- time ---- */

/* What is to be added to CUPTI's times to have the collector's, of several readings that which took least. CUPTI could be given the
 * collector's clock, but not twice in a process: that spoils the records of who does it the second time, maybe the program. */
uint64_t sn_cuda_clock_offset(void)
{
	uint64_t best = 0, least = UINT64_MAX, theirs = 0;
	for (int round = 0; round < 3; round++) {
		uint64_t before = sn_now_ns();
		if (sn_cupti.cuptiGetTimestamp(&theirs))
			continue;
		uint64_t took = sn_now_ns() - before;
		if (took < least) {
			least = took;
			best = before + took / 2 - theirs;
		}
	}
	return best;
}

/* ---- a buffer ---- */

static sn_cupti_result next_record(uint8_t *buffer, size_t valid, void **record)
{
	return sn_cupti.shares ? sn_cupti.cuptiActivityGetNextRecord_v2(sn_cupti.subscriber, buffer,
									valid, record)
			       : sn_cupti.cuptiActivityGetNextRecord(buffer, valid, record);
}

/* Of the record at `record`: as far as the next one, or the buffer's end. */
static size_t length_of(uint8_t *buffer, size_t valid, void *record)
{
	void *next = record;
	return (size_t)((next_record(buffer, valid, &next) ? buffer + valid : (uint8_t *)next) -
			(uint8_t *)record);
}

/* Looks at what comes first in a process, before anything of it is taken. */
static bool check(uint8_t *buffer, size_t valid, uint64_t offset_ns)
{
	bool is_right = true;
	for (void *record = NULL;
	     is_right && !sn_cuda_check_has_ended() && !next_record(buffer, valid, &record);) {
		uint32_t kind = *(const uint32_t *)record;
		if (kind == SN_CUPTI_CONCURRENT_KERNEL || kind == SN_CUPTI_KERNEL)
			is_right = sn_cuda_check_record(record, length_of(buffer, valid, record),
							offset_ns);
	}
	return is_right;
}

static void take(const void *record, uint64_t offset_ns, bool is_right)
{
	struct sn_gpu_operation operation;
	if (*(const uint32_t *)record == SN_CUPTI_MANAGED)
		sn_cuda_managed_record(record, offset_ns);
	if (!read_record(record, &operation))
		return;
	operation.interface = &sn_cuda;
	if (!is_right) {
		sn_gpu_lose_operation(&operation);
		return;
	}
	operation.is_placeless = !sn_cuda_times_are_right();
	if (operation.kind == SN_GPU_KERNEL)
		operation.name = sn_cuda_name(operation.name);
	bool has_times = operation.start_ns && operation.end_ns >= operation.start_ns;
	/* samples are divided by times: a launch that has none counts little */
	uint64_t duration_ns = has_times ? operation.end_ns - operation.start_ns : 1;
	if (has_times) {
		operation.start_ns += offset_ns;
		operation.end_ns += offset_ns;
	}
	sn_gpu_done(&operation);
	struct sn_gpu_place place;
	if (sn_config.gpu_samples && operation.kind == SN_GPU_KERNEL &&
	    sn_gpu_launch_of(&sn_cuda, operation.correlation, &place)) {
		place.graph_node = operation.graph_node;
		sn_cuda_samples_note_kernel(operation.name, &place, duration_ns);
	}
}

/* Where a buffer ends in the middle of a record, at least one is lost. */
static void read_buffer(uint8_t *buffer, size_t valid)
{
	void *record = NULL;
	uint64_t offset_ns = sn_cuda_clock_offset();
	sn_cupti_result error = SN_CUPTI_SUCCESS;
	bool is_right = check(buffer, valid, offset_ns);
	while (!(error = next_record(buffer, valid, &record)))
		take(record, offset_ns, is_right);
	if (error != SN_CUPTI_ERROR_END && valid)
		sn_gpu_lose(&sn_cuda, 1);
}

_Atomic uint32_t sn_cuda_buffers;

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t valid)
{
	size_t dropped = 0;
	sn_gpu_begin_done();
	/* acquire: all that attaching has set */
	if (atomic_load_explicit(&sn_cuda_is_taking, memory_order_acquire)) {
		read_buffer(buffer, valid);
		sn_cuda_samples_divide(false);
		sn_cupti_result error =
		    sn_cupti.shares
			? sn_cupti.cuptiActivityGetNumDroppedRecords_v2(sn_cupti.subscriber,
									context, stream, &dropped)
			: sn_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
		if (!error && dropped)
			sn_gpu_lose(&sn_cuda, dropped);
	}
	atomic_fetch_add_explicit(&sn_cuda_buffers, 1, memory_order_relaxed);
	sn_gpu_end_done();
	give_back(buffer);
}

void sn_cuda_complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	(void)size;
	complete(context, stream, buffer, valid);
}

/* ---- the same for one of several subscribers ---- */

void sn_cuda_request_buffer_v2(uint8_t **buffer, size_t *size, size_t *most_records,
			       void *information)
{
	(void)information;
	sn_cuda_request_buffer(buffer, size, most_records);
}

void sn_cuda_complete_buffer_v2(uint8_t *buffer, size_t size, size_t valid, void *information)
{
	(void)size, (void)information;
	complete(NULL, 0, buffer, valid);
}
