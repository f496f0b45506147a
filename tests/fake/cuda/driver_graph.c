/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's public functions about graphs, as far as a stream is captured and replayed. */
#define __CUDA_API_VERSION_INTERNAL
#include "runtime.h"

CUresult fake_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)mode;
	struct fake_graph *graph = fake_graph_new();
	if ((uintptr_t)stream > 2 && fake_capture_begin(fake_stream_of(stream), graph))
		return CUDA_SUCCESS;
	fake_graph_free(graph);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult fake_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	*graph = (CUgraph)fake_capture_end(fake_stream_of(stream));
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult fake_cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
					  unsigned long long flags)
{
	(void)flags;
	*executable = (CUgraphExec)fake_executable_new((struct fake_graph *)graph);
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
	fake_executable_run((struct fake_executable *)executable, fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphExecDestroy(CUgraphExec executable)
{
	fake_executable_free((struct fake_executable *)executable);
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphDestroy(CUgraph graph)
{
	fake_graph_free((struct fake_graph *)graph);
	return CUDA_SUCCESS;
}
