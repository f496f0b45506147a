/* SPDX-License-Identifier: Apache-2.0 */
/* What the devices did: CUPTI's buffers of records, and what becomes of each. */
#include "managed.h"
#include "pc_sampling.h"

#include "collect/record/checkpoint.h"

#include <stdlib.h>

#define BUFFER_BYTES (1u << 20)
#define BUFFERS	     32u

/* ---- buffers: a few, used again and again ---- */

static struct {
	_Atomic(uint8_t *) bytes;
	_Atomic bool is_used;
	_Atomic uint64_t given_ns;
} buffers[BUFFERS];

/* CUPTI delivers a buffer when it is full. So as much of one is given as fills in about FILL_NS: what a snapshot has is not much older. The whole
 * where CUPTI has several already, for it may be late. */
#define FILL_NS	     250000000u
#define LEAST_BYTES  (1u << 16)
#define SEVERAL	     4u
/* No record is longer. */
#define RECORD_BYTES 1024u

static _Atomic size_t given_bytes = LEAST_BYTES;

static void adapt(size_t size, size_t valid, uint64_t filled_ns)
{
	size_t now = atomic_load_explicit(&given_bytes, memory_order_relaxed), next = now;
	if (size != now || valid + RECORD_BYTES < size)
		return; /* of before, or asked for */
	if (filled_ns < FILL_NS && now < BUFFER_BYTES)
		next = 2 * now;
	else if (filled_ns > 4 * (uint64_t)FILL_NS && now > LEAST_BYTES)
		next = now / 2;
	atomic_store_explicit(&given_bytes, next, memory_order_relaxed);
}

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
		atomic_store_explicit(&buffers[index].given_ns, sn_now_ns(), memory_order_relaxed);
		*buffer = bytes;
		*size = index < SEVERAL ? atomic_load_explicit(&given_bytes, memory_order_relaxed)
					: BUFFER_BYTES;
		if (!bytes)
			*size = 0;
	}
}

static void give_back(uint8_t *buffer, size_t size, size_t valid)
{
	for (uint32_t index = 0; index < BUFFERS; index++) {
		if (atomic_load_explicit(&buffers[index].bytes, memory_order_relaxed) != buffer)
			continue;
		adapt(size, valid,
		      sn_now_ns() -
			  atomic_load_explicit(&buffers[index].given_ns, memory_order_relaxed));
		/* release: it was read */
		atomic_store_explicit(&buffers[index].is_used, false, memory_order_release);
	}
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

/* What operations of streams have in common, from records that have it in different places. */
#define OF_STREAM(record)                                                                          \
	.device = (uint16_t)(record)->device, .stream = (record)->stream,                          \
	.correlation = (record)->correlation, .start_ns = (record)->start,                         \
	.end_ns = (record)->end, .graph = (record)->graph

static struct sn_gpu_operation of_kernel(const struct sn_cupti_kernel *kernel)
{
	return (struct sn_gpu_operation){.kind = SN_GPU_KERNEL,
					 OF_STREAM(kernel),
					 .name = kernel->name,
					 .graph_node = kernel->graph_node,
					 .shape = shape_of(kernel)};
}

/* Of either record. */
#define OF_COPY(copied)                                                                            \
	(struct sn_gpu_operation)                                                                  \
	{                                                                                          \
		.kind = SN_GPU_COPY, OF_STREAM(copied), .name = copy_name((copied)->copy),         \
		.bytes = (copied)->bytes, .graph_node = (copied)->graph_node                       \
	}

static struct sn_gpu_operation of_set(const struct sn_cupti_memset *set)
{
	return (struct sn_gpu_operation){
	    .kind = SN_GPU_SET, OF_STREAM(set), .bytes = set->bytes, .graph_node = set->graph_node};
}

/* From the start of its first operation to the end of its last. */
static struct sn_gpu_operation of_graph(const struct sn_cupti_graph_trace *graph)
{
	return (struct sn_gpu_operation){.kind = SN_GPU_GRAPH, OF_STREAM(graph)};
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

#define KINDS 64u

/* Of records by their kinds, from when one was followed by another on. With the lock of finished operations. */
static size_t lengths[KINDS];

/* False where it is of no call, as those of older releases are, or has no times. */
static bool read_overhead(const struct sn_cupti_overhead *overhead,
			  struct sn_gpu_operation *operation)
{
	static const char *const of_cupti[] = {"compiling for the device",
					       "CUPTI: giving a buffer",
					       "CUPTI: instrumentation",
					       "CUPTI: resources",
					       "loading a module",
					       "loading a function",
					       "waiting for room for commands",
					       "CUPTI: asking for a buffer",
					       "CUPTI: managed memory"};
	uint32_t number = overhead->of == SN_CUPTI_OVERHEAD_COMPILER ? 0 : overhead->of >> 16;
	bool is_known = overhead->of && number < sizeof(of_cupti) / sizeof(*of_cupti);
	if (lengths[SN_CUPTI_OVERHEAD] < sizeof(*overhead))
		return false;
	free(overhead->details);
	*operation = (struct sn_gpu_operation){.kind = SN_GPU_OVERHEAD,
					       .correlation = overhead->correlation,
					       .name = is_known ? of_cupti[number] : "overhead",
					       .start_ns = overhead->start,
					       .end_ns = overhead->end};
	return overhead->correlation && overhead->start;
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
		*operation = OF_COPY((const struct sn_cupti_memcpy *)record);
		return true;
	case SN_CUPTI_PEER_MEMCPY:
		*operation = OF_COPY((const struct sn_cupti_peer_memcpy *)record);
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
	case SN_CUPTI_OVERHEAD:
		return read_overhead(record, operation);
	case SN_CUPTI_DEVICE:
		sn_cuda_device_record(record);
		return false;
	default:
		return false;
	}
}

/* ---- a buffer ---- */

static sn_cupti_result next_record(uint8_t *buffer, size_t valid, void **record)
{
	return sn_cupti.shares ? sn_cupti.cuptiActivityGetNextRecord_v2(sn_cupti.subscriber, buffer,
									valid, record)
			       : sn_cupti.cuptiActivityGetNextRecord(buffer, valid, record);
}

/* Of the record at `record`: as far as the next one, or the buffer's end, where a part of another one may lie. */
static size_t length_of(uint8_t *buffer, size_t valid, void *record)
{
	void *next = record;
	if (next_record(buffer, valid, &next))
		return (size_t)(buffer + valid - (uint8_t *)record) / 8 * 8;
	return (size_t)((uint8_t *)next - (uint8_t *)record);
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

/* Samples are divided by times: a launch that has none counts little. */
static uint64_t sampled_for_ns(const struct sn_gpu_operation *operation, bool has_times)
{
	if (!sn_config.gpu_samples)
		return 0;
	if (!has_times)
		return 1;
	return operation->is_placeless ? operation->end_ns - operation->start_ns
				       : sn_cuda_samples_ns(operation->start_ns, operation->end_ns);
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
	if (has_times) {
		operation.start_ns += offset_ns;
		operation.end_ns += offset_ns;
	}
	uint64_t sampled_ns = sampled_for_ns(&operation, has_times);
	sn_gpu_done(&operation);
	struct sn_gpu_place place;
	if (sampled_ns && operation.kind == SN_GPU_KERNEL &&
	    sn_gpu_launch_of(&sn_cuda, operation.correlation, &place)) {
		place.graph_node = operation.graph_node;
		sn_cuda_samples_note_kernel(operation.name, &place, sampled_ns);
	}
}

/* CUPTI could be given the collector's clock, but not twice in a process: that spoils the records of who does it the second time, maybe
 * the program. */
uint64_t sn_cuda_clock_offset(void)
{
	return sn_gpu_clock_offset(sn_cupti.cuptiGetTimestamp);
}

/* Where the one after `record` begins; NULL: that is not known. */
static const uint8_t *end_of(const uint8_t *record)
{
	uint32_t kind = *(const uint32_t *)record;
	return kind < KINDS && lengths[kind] ? record + lengths[kind] : NULL;
}

static void note_length(const uint8_t *record, const uint8_t *next)
{
	if (record && *(const uint32_t *)record < KINDS)
		lengths[*(const uint32_t *)record] = (size_t)(next - record);
}

/* A buffer may end inside a record, which CUPTI does not tell. What it was of is lost. */
static void lose_part(const uint8_t *part, const uint8_t *end)
{
	if (!part || end < part + sizeof(uint32_t))
		return;
	struct sn_gpu_operation operation = {.interface = &sn_cuda};
	switch (*(const uint32_t *)part) {
	case SN_CUPTI_KERNEL:
	case SN_CUPTI_CONCURRENT_KERNEL:
		operation.kind = SN_GPU_KERNEL;
		break;
	case SN_CUPTI_MEMCPY:
	case SN_CUPTI_PEER_MEMCPY:
		operation.kind = SN_GPU_COPY;
		break;
	case SN_CUPTI_MEMSET:
		operation.kind = SN_GPU_SET;
		break;
	case SN_CUPTI_GRAPH_TRACE:
		operation.kind = SN_GPU_GRAPH;
		break;
	default:
		return;
	}
	sn_gpu_lose_operation(&operation);
}

/* After a record of a kind that is not known the rest cannot be read: at least one is lost. */
static void read_buffer(uint8_t *buffer, size_t valid)
{
	void *record = NULL, *last = NULL;
	uint64_t offset_ns = sn_cuda_clock_offset();
	sn_cupti_result error = SN_CUPTI_SUCCESS;
	bool is_right = check(buffer, valid, offset_ns);
	while (!(error = next_record(buffer, valid, &record))) {
		void *next = record;
		note_length(last, record);
		if (*(uint32_t *)record == SN_CUPTI_OVERHEAD && !end_of(record) &&
		    !next_record(buffer, valid, &next))
			note_length(record, next);
		take(record, offset_ns, is_right);
		last = record;
	}
	if (error == SN_CUPTI_ERROR_END)
		lose_part(last ? end_of(last) : buffer, buffer + valid);
	else if (valid)
		sn_gpu_lose(&sn_cuda, 1);
}

_Atomic uint32_t sn_cuda_progress;

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;
	sn_gpu_begin_done();
	/* acquire: all that attaching has set */
	if (atomic_load_explicit(&sn_cuda_is_taking, memory_order_acquire)) {
		sn_cuda_names_begin();
		read_buffer(buffer, valid);
		sn_cuda_names_end();
		sn_cuda_samples_divide(false);
		sn_cupti_result error =
		    sn_cupti.shares
			? sn_cupti.cuptiActivityGetNumDroppedRecords_v2(sn_cupti.subscriber,
									context, stream, &dropped)
			: sn_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
		if (!error && dropped)
			sn_gpu_lose(&sn_cuda, dropped);
	}
	atomic_fetch_add_explicit(&sn_cuda_progress, 1, memory_order_relaxed);
	sn_gpu_end_done();
	give_back(buffer, size, valid);
	/* a program that waits for its device has few samples, which write checkpoints else */
	sn_checkpoint_if_due(sn_now_ns());
}

void sn_cuda_complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	complete(context, stream, buffer, size, valid);
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
	(void)information;
	complete(NULL, 0, buffer, size, valid);
}
