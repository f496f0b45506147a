/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that are built node by node, with a child, changed while executable, cloned, updated and captured from two streams. */
#include <cstdio>
#include <vector>
__global__ void a(float *x) { x[0] = 1; }
__global__ void b(float *x) { x[0] = 2; }
__global__ void c(float *x, int n) { x[n] = 3; }
static int host_calls;
static void CUDART_CB host(void *) { host_calls++; }
#define TRY(call) do { cudaError_t err_ = call; if (err_) { printf("%s: %s\n", #call, cudaGetErrorName(err_)); cudaGetLastError(); } } while (0)
static float *x, *y;
static cudaKernelNodeParams kernel(void (*f)(float *), unsigned blocks)
{
	static void *args[] = {&x};
	cudaKernelNodeParams p = {};
	p.func = reinterpret_cast<void *>(f);
	p.gridDim = dim3(blocks);
	p.blockDim = dim3(32);
	p.kernelParams = args;
	return p;
}
static cudaGraph_t child()
{
	cudaGraph_t g;
	cudaGraphNode_t n, m;
	TRY(cudaGraphCreate(&g, 0));
	auto p = kernel(b, 3);
	TRY(cudaGraphAddKernelNode(&n, g, nullptr, 0, &p)); // of the child
	TRY(cudaGraphAddKernelNode(&m, g, &n, 1, &p)); // second of the child
	return g;
}
static void built(cudaStream_t s)
{
	static float hosted[1000];
	cudaGraph_t g, inner = child();
	cudaGraphNode_t k, cp, st, h, e, ch, back;
	cudaGraphExec_t exec;
	TRY(cudaGraphCreate(&g, 0));
	TRY(cudaGraphAddMemcpyNode1D(&cp, g, nullptr, 0, x, hosted, 4000, cudaMemcpyHostToDevice));
	cudaMemsetParams ms = {};
	ms.dst = y;
	ms.elementSize = 4;
	ms.width = 100;
	ms.height = 1;
	TRY(cudaGraphAddMemsetNode(&st, g, nullptr, 0, &ms));
	cudaGraphNode_t both[] = {cp, st};
	auto p = kernel(a, 2);
	TRY(cudaGraphAddKernelNode(&k, g, both, 2, &p));
	cudaHostNodeParams hp = {host, nullptr};
	TRY(cudaGraphAddHostNode(&h, g, &k, 1, &hp));
	TRY(cudaGraphAddEmptyNode(&e, g, &h, 1));
	TRY(cudaGraphAddChildGraphNode(&ch, g, &e, 1, inner));
	TRY(cudaGraphAddMemcpyNode1D(&back, g, nullptr, 0, hosted, y, 400, cudaMemcpyDeviceToHost));
	TRY(cudaGraphAddDependencies(g, &ch, &back, nullptr, 1));
	TRY(cudaGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 6; i++)
		TRY(cudaGraphLaunch(exec, s)); // built
	auto q = kernel(b, 7);
	TRY(cudaGraphExecKernelNodeSetParams(exec, k, &q));
	for (int i = 0; i < 3; i++)
		TRY(cudaGraphLaunch(exec, s)); // changed
	TRY(cudaGraphNodeSetEnabled(exec, st, 0));
	TRY(cudaGraphLaunch(exec, s)); // disabled
	cudaGraph_t clone;
	cudaGraphExec_t other;
	TRY(cudaGraphClone(&clone, g));
	TRY(cudaGraphDestroy(g));
	TRY(cudaGraphDestroy(inner));
	TRY(cudaGraphInstantiate(&other, clone, 0));
	TRY(cudaGraphLaunch(other, s)); // clone
	TRY(cudaGraphExecDestroy(exec));
	TRY(cudaGraphLaunch(other, s)); // clone again
	TRY(cudaStreamSynchronize(s));
	TRY(cudaGraphExecDestroy(other));
	TRY(cudaGraphDestroy(clone));
}
static cudaGraph_t captured(cudaStream_t s, cudaStream_t t, int n, bool with_third)
{
	cudaEvent_t fork, join;
	cudaGraph_t g;
	cudaEventCreate(&fork);
	cudaEventCreate(&join);
	TRY(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	a<<<1, 32, 0, s>>>(x); // captured a
	TRY(cudaEventRecord(fork, s));
	TRY(cudaStreamWaitEvent(t, fork, 0));
	for (int i = 0; i < n; i++)
		c<<<1, 32, 0, t>>>(x, i); // captured c
	b<<<1, 32, 0, s>>>(x); // captured b
	cudaMemsetAsync(y, 0, 64, t);
	if (with_third)
		cudaMemcpyAsync(y, x, 128, cudaMemcpyDeviceToDevice, t);
	cudaLaunchHostFunc(t, host, nullptr);
	TRY(cudaEventRecord(join, t));
	TRY(cudaStreamWaitEvent(s, join, 0));
	a<<<1, 32, 0, s>>>(x); // captured last
	TRY(cudaStreamEndCapture(s, &g));
	return g;
}
int main()
{
	cudaStream_t s, t;
	cudaMalloc(&x, 4096);
	cudaMalloc(&y, 4096);
	cudaStreamCreate(&s);
	cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
	built(s);
	cudaGraph_t one = captured(s, t, 3, false), two = captured(s, t, 3, false), three = captured(s, t, 4, true);
	cudaGraphExec_t exec;
	TRY(cudaGraphInstantiate(&exec, one, 0));
	TRY(cudaGraphLaunch(exec, s)); // one
	cudaGraphExecUpdateResultInfo info;
	TRY(cudaGraphExecUpdate(exec, two, &info));
	for (int i = 0; i < 4; i++)
		TRY(cudaGraphLaunch(exec, t)); // two
	printf("update %d %d\n", cudaGraphExecUpdate(exec, three, &info) != cudaSuccess, (int)info.result);
	cudaGetLastError();
	cudaStreamSynchronize(t);
	TRY(cudaGraphExecDestroy(exec));
	for (int i = 0; i < 3; i++) {
		TRY(cudaGraphInstantiate(&exec, three, 0));
		TRY(cudaGraphUpload(exec, s));
		TRY(cudaGraphLaunch(exec, s)); // three
		TRY(cudaGraphLaunch(exec, 0)); // three, default stream
		cudaStreamSynchronize(s);
		TRY(cudaGraphExecDestroy(exec));
	}
	c<<<1, 32, 0, t>>>(x, 1);
	cudaGraph_t empty;
	TRY(cudaGraphCreate(&empty, 0));
	TRY(cudaGraphInstantiate(&exec, empty, 0));
	TRY(cudaGraphLaunch(exec, s)); // empty
	printf("%d %s\n", host_calls, cudaGetErrorString(cudaDeviceSynchronize()));
	printf("%d %s\n", host_calls, cudaGetErrorString(cudaGetLastError()));
}
