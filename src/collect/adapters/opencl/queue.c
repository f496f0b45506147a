/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and events as the program sees them: every queue is created with profiling, and calls that
 * ask about queues and events answer as if it were not, unless the program itself asked for it.
 */
#include "opencl.h"

#include <string.h>

#define PROFILING ((cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE)

/* ---- making queues ---- */

static void remember(cl_command_queue handle, cl_device_id device, bool asked, bool timed,
		     const cl_queue_properties *list, uint32_t length)
{
	struct sn_cl_queue *queue = sn_cl_queue_add(handle, device);
	sn_cl_finish_at_exit();
	if (!queue)
		return;
	queue->asked = asked;
	queue->timed = timed;
	queue->has_list = list != NULL;
	queue->list_length = length;
	if (list)
		memcpy(queue->list, list, length * sizeof(*list));
}

static cl_command_queue CL_API_CALL layer_clCreateCommandQueue(cl_context context,
							       cl_device_id device,
							       cl_command_queue_properties wanted,
							       cl_int *error)
{
	struct sn_cl_call call;
	sn_cl_call_begin(&call, SN_CL_clCreateCommandQueue);
	bool asked = wanted & PROFILING, timed = asked;
	cl_command_queue queue = NULL;
	if (!asked && call.thread) {
		queue = sn_cl_real.clCreateCommandQueue(context, device, wanted | PROFILING, error);
		timed = queue != NULL;
	}
	if (!queue)
		queue = sn_cl_real.clCreateCommandQueue(context, device, wanted, error);
	if (queue)
		remember(queue, device, asked, timed, NULL, 0);
	sn_cl_call_end(&call, false);
	return queue;
}

/*
 * Copies a property list, its end included, with profiling added; its length, or 0 where it is too
 * long or of a queue on the device, which cannot be observed here. `asked` tells what it said.
 */
static uint32_t add_profiling(const cl_queue_properties *list, cl_queue_properties *copy,
			      bool *asked)
{
	uint32_t length = 0;
	bool has_properties = false;
	*asked = false;
	for (; list && list[length]; length += 2) {
		if (length + 5 > SN_CL_PROPERTY_MAX)
			return 0;
		copy[length] = list[length];
		copy[length + 1] = list[length + 1];
		if (list[length] != CL_QUEUE_PROPERTIES)
			continue;
		has_properties = true;
		*asked = list[length + 1] & PROFILING;
		if (list[length + 1] & CL_QUEUE_ON_DEVICE)
			return 0;
		copy[length + 1] |= PROFILING;
	}
	if (!has_properties) {
		copy[length++] = CL_QUEUE_PROPERTIES;
		copy[length++] = PROFILING;
	}
	copy[length] = 0;
	return length + 1;
}

static uint32_t list_length(const cl_queue_properties *list)
{
	uint32_t length = 0;
	while (list[length])
		length += 2;
	return length + 1;
}

static cl_command_queue CL_API_CALL layer_clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties *list, cl_int *error)
{
	struct sn_cl_call call;
	sn_cl_call_begin(&call, SN_CL_clCreateCommandQueueWithProperties);
	cl_queue_properties copy[SN_CL_PROPERTY_MAX];
	bool asked;
	uint32_t length = add_profiling(list, copy, &asked);
	bool timed = asked;
	cl_command_queue queue = NULL;
	if (!asked && length && call.thread) {
		queue = sn_cl_real.clCreateCommandQueueWithProperties(context, device, copy, error);
		timed = queue != NULL;
	}
	if (!queue)
		queue = sn_cl_real.clCreateCommandQueueWithProperties(context, device, list, error);
	if (queue && length)
		remember(queue, device, asked, timed, list, list ? list_length(list) : 0);
	sn_cl_call_end(&call, false);
	return queue;
}

/* Deprecated since OpenCL 1.1; a runtime that still obeys may take profiling away. */
static cl_int CL_API_CALL layer_clSetCommandQueueProperty(cl_command_queue handle,
							  cl_command_queue_properties properties,
							  cl_bool enable,
							  cl_command_queue_properties *old)
{
	cl_int status = sn_cl_real.clSetCommandQueueProperty(handle, properties, enable, old);
	struct sn_cl_queue *queue = status ? NULL : sn_cl_queue_find(handle);
	if (!queue)
		return status;
	if (old && !queue->asked)
		*old &= ~PROFILING;
	if (properties & PROFILING)
		queue->asked = queue->timed = enable;
	return status;
}

/* ---- asking about them ---- */

/* The program's own list where it made the queue with one; else an empty one, as it is allowed. */
static cl_int list_of(const struct sn_cl_queue *queue, size_t size, void *value, size_t *size_ret)
{
	size_t bytes = queue->has_list ? queue->list_length * sizeof(*queue->list) : 0;
	if (value && size < bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, queue->list, bytes);
	if (size_ret)
		*size_ret = bytes;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL layer_clGetCommandQueueInfo(cl_command_queue handle,
						      cl_command_queue_info name, size_t size,
						      void *value, size_t *size_ret)
{
	if (name == CL_QUEUE_REFERENCE_COUNT)
		sn_cl_collect(); /* events that we hold may hold the queue */
	const struct sn_cl_queue *queue = sn_cl_queue_find(handle);
	if (queue && !queue->asked && name == CL_QUEUE_PROPERTIES_ARRAY) {
		cl_int known = sn_cl_real.clGetCommandQueueInfo(handle, name, 0, NULL, NULL);
		return known ? known : list_of(queue, size, value, size_ret);
	}
	cl_int status = sn_cl_real.clGetCommandQueueInfo(handle, name, size, value, size_ret);
	if (!status && value && queue && !queue->asked && name == CL_QUEUE_PROPERTIES) {
		cl_command_queue_properties properties;
		memcpy(&properties, value, sizeof(properties));
		properties &= ~PROFILING;
		memcpy(value, &properties, sizeof(properties));
	}
	return status;
}

static cl_int CL_API_CALL layer_clGetEventProfilingInfo(cl_event event, cl_profiling_info name,
							size_t size, void *value, size_t *size_ret)
{
	cl_command_queue handle = NULL;
	const struct sn_cl_queue *queue = NULL;
	if (!sn_cl_real.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle,
				       NULL) &&
	    handle)
		queue = sn_cl_queue_find(handle);
	if (queue && queue->timed && !queue->asked)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return sn_cl_real.clGetEventProfilingInfo(event, name, size, value, size_ret);
}

static cl_int CL_API_CALL layer_clGetEventInfo(cl_event event, cl_event_info name, size_t size,
					       void *value, size_t *size_ret)
{
	cl_int status = sn_cl_real.clGetEventInfo(event, name, size, value, size_ret);
	if (status || name != CL_EVENT_REFERENCE_COUNT || !value)
		return status;
	cl_uint count;
	memcpy(&count, value, sizeof(count));
	cl_uint ours = sn_cl_references(event);
	count -= ours < count ? ours : 0;
	memcpy(value, &count, sizeof(count));
	return status;
}

void sn_cl_fill_queue(struct _cl_icd_dispatch *table)
{
#define SN_CL_QUEUE(name)	SN_CL_FILL(name)
#define SN_CL_QUEUE_QUIET(name) SN_CL_FILL(name)
#include "apis.def"
}
