/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's functions about graphs. */
#include "runtime.h"

#include <stdlib.h>

cudaError_t fake_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	(void)mode;
	struct fake_graph *graph = fake_graph_new();
	if (fake_stream_of(stream) != fake_stream_default(fake_current_device()) &&
	    fake_capture_begin(fake_stream_of(stream), graph))
		return cudaSuccess;
	fake_graph_free(graph);
	return fake_error(cudaErrorStreamCaptureUnsupported);
}

cudaError_t fake_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					       const cudaGraphNode_t *dependencies,
					       const cudaGraphEdgeData *edges, size_t count,
					       enum cudaStreamCaptureMode mode)
{
	(void)dependencies, (void)edges, (void)count, (void)mode;
	return fake_capture_begin(fake_stream_of(stream), (struct fake_graph *)graph)
		   ? cudaSuccess
		   : fake_error(cudaErrorStreamCaptureUnsupported);
}

cudaError_t fake_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	bool is_spoiled;
	*graph = (cudaGraph_t)fake_capture_end(fake_stream_of(stream), &is_spoiled);
	return *graph ? cudaSuccess
		      : fake_error(is_spoiled ? cudaErrorStreamCaptureInvalidated
					      : cudaErrorIllegalState);
}

cudaError_t fake_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	*status = fake_capture_of(fake_stream_of(stream), NULL, NULL)
		      ? cudaStreamCaptureStatusActive
		      : cudaStreamCaptureStatusNone;
	return cudaSuccess;
}

cudaError_t fake_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					  unsigned long long *id, cudaGraph_t *graph,
					  const cudaGraphNode_t **after,
					  const cudaGraphEdgeData **edges, size_t *count)
{
	static __thread cudaGraphNode_t node;
	uint64_t number = 0;
	uint32_t last;
	struct fake_graph *captured = fake_capture_of(fake_stream_of(stream), &number, &last);
	*status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
	node = captured && last != UINT32_MAX ? (cudaGraphNode_t)fake_graph_node(captured, last)
					      : NULL;
	if (id)
		*id = number;
	if (graph)
		*graph = (cudaGraph_t)captured;
	if (after)
		*after = &node;
	if (edges)
		*edges = NULL;
	if (count)
		*count = node ? 1 : 0;
	return cudaSuccess;
}

cudaError_t fake_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	static __thread enum cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
	enum cudaStreamCaptureMode before = current;
	current = *mode;
	*mode = before;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
	(void)flags;
	*graph = (cudaGraph_t)fake_graph_new();
	return cudaSuccess;
}

cudaError_t fake_cudaGraphDestroy(cudaGraph_t graph)
{
	fake_graph_free((struct fake_graph *)graph);
	return cudaSuccess;
}

cudaError_t fake_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	const struct fake_graph *known = (struct fake_graph *)graph;
	size_t all = fake_graph_count(known);
	for (size_t index = 0; nodes && index < all && index < *count; index++)
		nodes[index] = (cudaGraphNode_t)fake_graph_node(known, (uint32_t)index);
	*count = nodes && *count < all ? *count : all;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph,
					       unsigned long long flags)
{
	(void)flags;
	*executable = (cudaGraphExec_t)fake_executable_new((struct fake_graph *)graph);
	return cudaSuccess;
}

cudaError_t fake_cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
				      unsigned long long flags)
{
	return fake_cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t fake_cudaGraphInstantiateWithParams(cudaGraphExec_t *executable, cudaGraph_t graph,
						cudaGraphInstantiateParams *parameters)
{
	parameters->errNode_out = NULL;
	parameters->result_out = cudaGraphInstantiateSuccess;
	return fake_cudaGraphInstantiateWithFlags(executable, graph, parameters->flags);
}

cudaError_t fake_cudaGraphExecDestroy(cudaGraphExec_t executable)
{
	fake_executable_free((struct fake_executable *)executable);
	return cudaSuccess;
}

cudaError_t fake_cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
	if (fake_begin())
		return fake_error(fake_begin());
	fake_executable_run((struct fake_executable *)executable, fake_stream_of(stream));
	return cudaSuccess;
}

cudaError_t fake_cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream)
{
	(void)executable;
	(void)stream;
	return cudaSuccess;
}

/* ---- objects that graphs keep ---- */

cudaError_t fake_cudaUserObjectCreate(cudaUserObject_t *object, void *data, cudaHostFn_t destroy,
				      unsigned int count, unsigned int flags)
{
	(void)data, (void)destroy, (void)count, (void)flags;
	*object = malloc(1);
	return cudaSuccess;
}

cudaError_t fake_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	(void)object;
	(void)count;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
					   unsigned int count, unsigned int flags)
{
	(void)graph, (void)object, (void)count, (void)flags;
	return cudaSuccess;
}
