/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's functions about streams and events. */
#include "runtime.h"

#include <stdlib.h>

cudaError_t fake_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
					      int priority)
{
	if (fake_begin())
		return fake_error(fake_begin());
	*stream = (cudaStream_t)fake_stream_new(fake_current_device(), (int)flags, priority);
	return cudaSuccess;
}

cudaError_t fake_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	return fake_cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t fake_cudaStreamCreate(cudaStream_t *stream)
{
	return fake_cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t fake_cudaStreamDestroy(cudaStream_t stream)
{
	if ((uintptr_t)stream <= 2)
		return fake_error(cudaErrorInvalidResourceHandle);
	fake_stream_free(fake_stream_of(stream));
	return cudaSuccess;
}

cudaError_t fake_cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	*priority = fake_stream_priority(fake_stream_of(stream));
	return cudaSuccess;
}

cudaError_t fake_cudaStreamGetDevice(cudaStream_t stream, int *device)
{
	*device = fake_stream_device(fake_stream_of(stream));
	return cudaSuccess;
}

cudaError_t fake_cudaStreamQuery(cudaStream_t stream)
{
	return fake_stream_is_done(fake_stream_of(stream)) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t fake_cudaStreamSynchronize(cudaStream_t stream)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (fake_capture_of(fake_stream_of(stream), NULL, NULL))
		return fake_error(cudaErrorStreamCaptureUnsupported);
	fake_stream_wait(fake_stream_of(stream));
	return cudaSuccess;
}

cudaError_t fake_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	(void)flags;
	fake_event_precedes((struct fake_event *)event, fake_stream_of(stream));
	return cudaSuccess;
}

/* ---- functions of the host ---- */

cudaError_t fake_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	struct fake_operation operation = {
	    .kind = FAKE_HOST, .host = function, .data = data, .peer = -1};
	fake_enqueue(fake_stream_of(stream), &operation);
	return cudaSuccess;
}

struct callback {
	cudaStream_t stream;
	cudaStreamCallback_t function;
	void *data;
};

static void call_back(void *data)
{
	struct callback callback = *(struct callback *)data;
	free(data);
	callback.function(callback.stream, cudaSuccess, callback.data);
}

cudaError_t fake_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
				       void *data, unsigned int flags)
{
	(void)flags;
	struct callback *callback = malloc(sizeof(*callback));
	*callback = (struct callback){stream, function, data};
	return fake_cudaLaunchHostFunc(stream, call_back, callback);
}

/* ---- events ---- */

cudaError_t fake_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	(void)flags;
	if (fake_begin())
		return fake_error(fake_begin());
	*event = (cudaEvent_t)fake_event_new();
	return cudaSuccess;
}

cudaError_t fake_cudaEventCreate(cudaEvent_t *event)
{
	return fake_cudaEventCreateWithFlags(event, 0);
}

cudaError_t fake_cudaEventDestroy(cudaEvent_t event)
{
	fake_event_free((struct fake_event *)event);
	return cudaSuccess;
}

cudaError_t fake_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
					  unsigned int flags)
{
	(void)flags;
	fake_event_record((struct fake_event *)event, fake_stream_of(stream));
	return cudaSuccess;
}

cudaError_t fake_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return fake_cudaEventRecordWithFlags(event, stream, 0);
}

cudaError_t fake_cudaEventQuery(cudaEvent_t event)
{
	return fake_event_is_done((struct fake_event *)event) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t fake_cudaEventSynchronize(cudaEvent_t event)
{
	fake_event_wait((struct fake_event *)event);
	return cudaSuccess;
}

cudaError_t fake_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	uint64_t start_ns = fake_event_ns((struct fake_event *)start),
		 end_ns = fake_event_ns((struct fake_event *)end);
	if (!start_ns || !end_ns)
		return fake_error(cudaErrorInvalidResourceHandle);
	if (!fake_event_is_done((struct fake_event *)start) ||
	    !fake_event_is_done((struct fake_event *)end))
		return cudaErrorNotReady;
	*ms = (float)((double)(int64_t)(end_ns - start_ns) / 1e6);
	return cudaSuccess;
}
