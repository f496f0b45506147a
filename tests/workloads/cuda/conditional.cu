/* SPDX-License-Identifier: Apache-2.0 */
/* A graph with conditional nodes of each kind: a loop of three turns with an if in it, an if and else, and a choice of one of three. On devices
 * that compute, last_turn would count the loop down; the fake does so itself. */
#include <cstdio>
static int failures;
#define TRY(call) do { cudaError_t err_ = call; if (err_) { printf("%s: %s\n", #call, cudaGetErrorName(err_)); failures++; } } while (0)

__global__ void before(void) {}
__global__ void repeated(float *x) { *x = 1; }
__global__ void nested(void) {}
__global__ void taken(void) {}
__global__ void skipped(void) {}
__global__ void chosen(int which) {}
__global__ void after(void) {}

static float *memory;

/* Its bodies are in `bodies`. */
static cudaGraphNode_t add(cudaGraph_t graph, const cudaGraphNode_t *earlier, cudaGraphConditionalNodeType type, unsigned initial, unsigned size,
			   cudaGraph_t **bodies)
{
	cudaGraphNode_t node;
	cudaGraphNodeParams given = {};
	given.type = cudaGraphNodeTypeConditional;
	TRY(cudaGraphConditionalHandleCreate(&given.conditional.handle, graph, initial, cudaGraphCondAssignDefault));
	given.conditional.type = type;
	given.conditional.size = size;
	TRY(cudaGraphAddNode(&node, graph, earlier, nullptr, earlier ? 1 : 0, &given));
	*bodies = given.conditional.phGraph_out;
	return node;
}

template <class Launch> static void fill(cudaGraph_t body, cudaStream_t stream, Launch launch)
{
	cudaGraph_t same;
	TRY(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
	launch();
	TRY(cudaStreamEndCapture(stream, &same));
	failures += same != body;
}

static cudaGraph_t build(cudaStream_t stream)
{
	cudaGraph_t graph, *bodies, *inner;
	cudaGraphNode_t first, loop, choice;
	cudaKernelNodeParams kernel = {};
	kernel.func = reinterpret_cast<void *>(before);
	kernel.gridDim = kernel.blockDim = 1;
	TRY(cudaGraphCreate(&graph, 0));
	TRY(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
	loop = add(graph, &first, cudaGraphCondTypeWhile, 3, 1, &bodies);
	fill(bodies[0], stream, [&] {
		repeated<<<1, 32, 0, stream>>>(memory); // repeated
		repeated<<<1, 32, 0, stream>>>(memory); // again
		cudaMemsetAsync(memory, 0, 64, stream);
	});
	add(bodies[0], nullptr, cudaGraphCondTypeIf, 1, 1, &inner);
	fill(inner[0], stream, [&] { nested<<<1, 32, 0, stream>>>(); });
	choice = add(graph, &loop, cudaGraphCondTypeIf, 7, 2, &bodies);
	fill(bodies[0], stream, [&] { taken<<<1, 32, 0, stream>>>(); });
	fill(bodies[1], stream, [&] { skipped<<<1, 32, 0, stream>>>(); });
	choice = add(graph, &choice, cudaGraphCondTypeSwitch, 2, 3, &bodies);
	for (int which = 0; which < 3; which++)
		fill(bodies[which], stream, [&] { chosen<<<1 + which, 32, 0, stream>>>(which); });
	kernel.func = reinterpret_cast<void *>(after);
	TRY(cudaGraphAddKernelNode(&first, graph, &choice, 1, &kernel));
	return graph;
}

int main()
{
	cudaGraphExec_t executable;
	cudaStream_t stream;
	TRY(cudaMalloc(&memory, 64));
	TRY(cudaStreamCreate(&stream));
	cudaGraph_t graph = build(stream);
	TRY(cudaGraphInstantiate(&executable, graph, 0));
	TRY(cudaGraphDestroy(graph));
	for (int i = 0; i < 4; i++)
		TRY(cudaGraphLaunch(executable, stream)); // replay
	TRY(cudaStreamSynchronize(stream));
	TRY(cudaGraphExecDestroy(executable));
	printf("failures %d\n", failures);
}
