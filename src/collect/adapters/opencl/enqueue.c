/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that start an operation on a device: its kind, size, and the event with its times. Every
 * function passes its arguments on unchanged but for the event: if the program passes none, an
 * event of the adapter; else the adapter keeps a reference to the program's.
 */
#include "opencl.h"

#define COPY_IN	    "copy host->device"
#define COPY_OUT    "copy device->host"
#define COPY_INSIDE "copy device->device"

static cl_event *event_slot(struct sn_cl_call *call, cl_event *wanted)
{
	return wanted || !call->thread ? wanted : &call->own;
}

static void finish(struct sn_cl_call *call, cl_int status, cl_command_queue queue,
		   const cl_event *wanted, const struct sn_cl_operation *operation)
{
	if (!call->thread)
		return;
	if (status != CL_SUCCESS) {
		sn_cl_call_end(call, false);
		return;
	}
	cl_event event = call->own;
	if (wanted) {
		event = *wanted;
		if (sn_cl_real.clRetainEvent(event))
			event = NULL;
	}
	sn_cl_call_end_operation(call, queue, event, operation);
}

/* ---- sizes ---- */

static uint64_t product(const size_t *sizes, cl_uint count)
{
	uint64_t result = 1;
	for (cl_uint i = 0; sizes && i < count; i++)
		result *= sizes[i];
	return result;
}

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
	size_t element_bytes = 0;
	if (sn_cl_real.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element_bytes),
				      &element_bytes, NULL))
		return 0;
	return element_bytes * product(region, 3);
}

static uint64_t memory_bytes(const cl_mem *objects, cl_uint count)
{
	uint64_t total = 0;
	for (cl_uint i = 0; i < count; i++) {
		size_t bytes = 0;
		if (!sn_cl_real.clGetMemObjectInfo(objects[i], CL_MEM_SIZE, sizeof(bytes), &bytes,
						   NULL))
			total += bytes;
	}
	return total;
}

static uint64_t sum(const size_t *sizes, cl_uint count)
{
	uint64_t total = 0;
	for (cl_uint i = 0; sizes && i < count; i++)
		total += sizes[i];
	return total;
}

/* ---- calls that end with a wait list and an event ---- */

#define ARGUMENTS(...) __VA_ARGS__

/*
 * A call by which `operation` begins, of which `rest` is found out once it has succeeded. `result`
 * is what it returns of `type`; it sets `status`, directly or through its last argument.
 */
#define ENQUEUE_AS(type, function, parameters, after, call_real, operation_of, rest)               \
	static type CL_API_CALL layer_##function(cl_command_queue queue, ARGUMENTS parameters,     \
						 cl_uint wait_count, const cl_event *waits,        \
						 cl_event *event ARGUMENTS after)                  \
	{                                                                                          \
		struct sn_cl_call call;                                                            \
		cl_int status = CL_SUCCESS;                                                        \
		sn_cl_call_begin(&call, SN_CL_##function);                                         \
		type result = call_real;                                                           \
		struct sn_cl_operation operation = {ARGUMENTS operation_of};                       \
		if (call.thread && status == CL_SUCCESS) {                                         \
			rest;                                                                      \
		}                                                                                  \
		finish(&call, status, queue, event, &operation);                                   \
		return result;                                                                     \
	}

#define ENQUEUE_OPERATION(function, parameters, arguments, operation_of, rest)                     \
	ENQUEUE_AS(cl_int, function, parameters, (),                                               \
		   status = sn_cl_real.function(queue, ARGUMENTS arguments, wait_count, waits,     \
						event_slot(&call, event)),                         \
		   operation_of, rest)

#define ENQUEUE(function, parameters, arguments, what, label, size)                                \
	ENQUEUE_OPERATION(function, parameters, arguments, (.kind = what, .name = label),          \
			  operation.bytes = size)

/* A map, which returns the address. */
#define ENQUEUE_MAP(function, parameters, arguments, size)                                         \
	ENQUEUE_AS(void *, function, parameters, (, cl_int * error),                               \
		   sn_cl_real.function(queue, ARGUMENTS arguments, wait_count, waits,              \
				       event_slot(&call, event), &status);                         \
		   if (error) *error = status, (.kind = SN_CL_MAP, .name = "map"),                 \
		   operation.bytes = size)

ENQUEUE_OPERATION(clEnqueueNDRangeKernel,
		  (cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
		   const size_t *local),
		  (kernel, dimensions, offset, global, local),
		  (.kind = SN_CL_KERNEL, .name = "unknown kernel"),
		  operation.kernel = sn_cl_kernel_name(kernel);
		  operation.work_items = global ? product(global, dimensions) : 0;
		  operation.work_group = local ? product(local, dimensions) : 0)

ENQUEUE_OPERATION(clEnqueueTask, (cl_kernel kernel), (kernel),
		  (.kind = SN_CL_KERNEL, .name = "unknown kernel", .work_items = 1,
		   .work_group = 1),
		  operation.kernel = sn_cl_kernel_name(kernel))

ENQUEUE(clEnqueueReadBuffer,
	(cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, void *pointer),
	(buffer, blocking, offset, bytes, pointer), SN_CL_COPY, COPY_OUT, bytes)

ENQUEUE(clEnqueueWriteBuffer,
	(cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, const void *pointer),
	(buffer, blocking, offset, bytes, pointer), SN_CL_COPY, COPY_IN, bytes)

ENQUEUE(clEnqueueCopyBuffer,
	(cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes),
	(from, to, from_offset, to_offset, bytes), SN_CL_COPY, COPY_INSIDE, bytes)

ENQUEUE(clEnqueueReadBufferRect,
	(cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin,
	 const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
	 size_t host_slice, void *pointer),
	(buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
	 host_slice, pointer),
	SN_CL_COPY, COPY_OUT, product(region, 3))

ENQUEUE(clEnqueueWriteBufferRect,
	(cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin,
	 const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
	 size_t host_slice, const void *pointer),
	(buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
	 host_slice, pointer),
	SN_CL_COPY, COPY_IN, product(region, 3))

ENQUEUE(clEnqueueCopyBufferRect,
	(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
	 const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),
	(from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice),
	SN_CL_COPY, COPY_INSIDE, product(region, 3))

ENQUEUE(clEnqueueReadImage,
	(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
	 size_t slice, void *pointer),
	(image, blocking, origin, region, row, slice, pointer), SN_CL_COPY, COPY_OUT,
	image_bytes(image, region))

ENQUEUE(clEnqueueWriteImage,
	(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
	 size_t slice, const void *pointer),
	(image, blocking, origin, region, row, slice, pointer), SN_CL_COPY, COPY_IN,
	image_bytes(image, region))

ENQUEUE(clEnqueueCopyImage,
	(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
	 const size_t *region),
	(from, to, from_origin, to_origin, region), SN_CL_COPY, COPY_INSIDE,
	image_bytes(from, region))

ENQUEUE(clEnqueueCopyImageToBuffer,
	(cl_mem image, cl_mem buffer, const size_t *origin, const size_t *region, size_t offset),
	(image, buffer, origin, region, offset), SN_CL_COPY, COPY_INSIDE,
	image_bytes(image, region))

ENQUEUE(clEnqueueCopyBufferToImage,
	(cl_mem buffer, cl_mem image, size_t offset, const size_t *origin, const size_t *region),
	(buffer, image, offset, origin, region), SN_CL_COPY, COPY_INSIDE,
	image_bytes(image, region))

ENQUEUE(clEnqueueFillBuffer,
	(cl_mem buffer, const void *pattern, size_t pattern_bytes, size_t offset, size_t bytes),
	(buffer, pattern, pattern_bytes, offset, bytes), SN_CL_FILL, "fill", bytes)

ENQUEUE(clEnqueueFillImage,
	(cl_mem image, const void *color, const size_t *origin, const size_t *region),
	(image, color, origin, region), SN_CL_FILL, "fill", image_bytes(image, region))

/* What an unmapping moves is not told by the call; it was counted when it was mapped. */
ENQUEUE(clEnqueueUnmapMemObject, (cl_mem object, void *pointer), (object, pointer), SN_CL_MAP,
	"unmap", 0)

ENQUEUE(clEnqueueMigrateMemObjects,
	(cl_uint count, const cl_mem *objects, cl_mem_migration_flags flags),
	(count, objects, flags), SN_CL_COPY, "migrate", memory_bytes(objects, count))

ENQUEUE(clEnqueueSVMMemFill,
	(void *pointer, const void *pattern, size_t pattern_bytes, size_t bytes),
	(pointer, pattern, pattern_bytes, bytes), SN_CL_FILL, "fill", bytes)

ENQUEUE(clEnqueueSVMMap, (cl_bool blocking, cl_map_flags flags, void *pointer, size_t bytes),
	(blocking, flags, pointer, bytes), SN_CL_MAP, "map", bytes)

ENQUEUE(clEnqueueSVMUnmap, (void *pointer), (pointer), SN_CL_MAP, "unmap", 0)

ENQUEUE(clEnqueueSVMMemcpy, (cl_bool blocking, void *to, const void *from, size_t bytes),
	(blocking, to, from, bytes), SN_CL_COPY, "copy shared", bytes)

ENQUEUE(clEnqueueSVMMigrateMem,
	(cl_uint count, const void **pointers, const size_t *sizes, cl_mem_migration_flags flags),
	(count, pointers, sizes, flags), SN_CL_COPY, "migrate", sum(sizes, count))

ENQUEUE(clEnqueueNativeKernel,
	(void(CL_CALLBACK * function)(void *), void *data, size_t data_bytes, cl_uint count,
	 const cl_mem *objects, const void **places),
	(function, data, data_bytes, count, objects, places), SN_CL_KERNEL, "native kernel", 0)

ENQUEUE_MAP(clEnqueueMapBuffer,
	    (cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t bytes),
	    (buffer, blocking, flags, offset, bytes), bytes)

ENQUEUE_MAP(clEnqueueMapImage,
	    (cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *origin,
	     const size_t *region, size_t *row, size_t *slice),
	    (image, blocking, flags, origin, region, row, slice), image_bytes(image, region))

void sn_cl_fill_enqueue(struct _cl_icd_dispatch *table)
{
#define SN_CL_ENQUEUE(name) SN_CL_FILL(name)
#include "apis.def"
}
