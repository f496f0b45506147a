/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's interface alone: modules, libraries, launches, copies, a thread, graphs. driver_kernels.cubin lies beside the program. */
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <string>
#include <thread>
#define TRY(call) do { CUresult err_ = call; if (err_) { const char *n_ = "?"; cuGetErrorName(err_, &n_); printf("%s: %s\n", #call, n_); } } while (0)
static std::string folder;
static CUcontext context;
static CUfunction plain_f, typed_f;
static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	fseek(f, 0, SEEK_END);
	long n = ftell(f);
	rewind(f);
	char *data = static_cast<char *>(malloc(n + 1));
	if (fread(data, 1, n, f) != static_cast<size_t>(n))
		exit(9);
	data[n] = 0;
	fclose(f);
	return data;
}
static int called;
static void CUDA_CB host(void *) { called++; }
static void threaded(CUdeviceptr x)
{
	CUstream s;
	int n = 3;
	void *args[] = {&x, &n};
	TRY(cuCtxSetCurrent(context));
	TRY(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 11; i++)
		TRY(cuLaunchKernel(plain_f, 1, 1, 1, 32, 1, 1, 0, s, args, nullptr));
	TRY(cuStreamSynchronize(s));
	TRY(cuStreamDestroy(s));
}
/* A loop of three turns. */
static void loop(CUdeviceptr x, CUstream s)
{
	CUgraph g;
	CUgraphNode node, inside;
	CUgraphExec exec;
	int n = 1;
	void *args[] = {&x, &n};
	CUgraphNodeParams given = {};
	given.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
	TRY(cuGraphCreate(&g, 0));
	TRY(cuGraphConditionalHandleCreate(&given.conditional.handle, g, context, 3, CU_GRAPH_COND_ASSIGN_DEFAULT));
	given.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
	given.conditional.size = 1;
	given.conditional.ctx = context;
	TRY(cuGraphAddNode(&node, g, nullptr, nullptr, 0, &given));
	CUgraphNodeParams kernel = {};
	kernel.type = CU_GRAPH_NODE_TYPE_KERNEL;
	kernel.kernel.func = plain_f;
	kernel.kernel.gridDimX = kernel.kernel.gridDimY = kernel.kernel.gridDimZ = 1;
	kernel.kernel.blockDimX = 32; kernel.kernel.blockDimY = kernel.kernel.blockDimZ = 1;
	kernel.kernel.kernelParams = args;
	TRY(cuGraphAddNode(&inside, given.conditional.phGraph_out[0], nullptr, nullptr, 0, &kernel));
	TRY(cuGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 2; i++)
		TRY(cuGraphLaunch(exec, s));
	TRY(cuStreamSynchronize(s));
}
static void graphs(CUdeviceptr x, CUstream s)
{
	CUgraph g;
	CUgraphNode k, m, e;
	CUgraphExec exec;
	int n = 1;
	void *args[] = {&x, &n};
	TRY(cuGraphCreate(&g, 0));
	CUDA_KERNEL_NODE_PARAMS p = {};
	p.func = plain_f;
	p.gridDimX = 2; p.gridDimY = p.gridDimZ = 1;
	p.blockDimX = 64; p.blockDimY = p.blockDimZ = 1;
	p.kernelParams = args;
	TRY(cuGraphAddKernelNode(&k, g, nullptr, 0, &p));
	CUDA_MEMSET_NODE_PARAMS ms = {};
	ms.dst = x; ms.elementSize = 4; ms.width = 64; ms.height = 1;
	TRY(cuGraphAddMemsetNode(&m, g, &k, 1, &ms, context));
	TRY(cuGraphAddEmptyNode(&e, g, &m, 1));
	p.func = typed_f;
	TRY(cuGraphAddKernelNode(&k, g, &e, 1, &p));
	TRY(cuGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 5; i++)
		TRY(cuGraphLaunch(exec, s));
	TRY(cuStreamSynchronize(s));
	TRY(cuGraphExecDestroy(exec));
	TRY(cuGraphDestroy(g));
	TRY(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < 3; i++)
		TRY(cuLaunchKernel(plain_f, 1, 1, 1, 32, 1, 1, 0, s, args, nullptr));
	TRY(cuMemcpyDtoDAsync(x, x + 2048, 512, s));
	TRY(cuStreamEndCapture(s, &g));
	TRY(cuGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 4; i++)
		TRY(cuGraphLaunch(exec, s));
	TRY(cuStreamSynchronize(s));
}
int main(int, char **argv)
{
	CUdevice device;
	CUmodule module;
	CUlibrary library;
	CUkernel kernel;
	CUfunction coop_f;
	CUstream s;
	CUdeviceptr x, y;
	folder = argv[0];
	folder.resize(folder.rfind('/') + 1);
	TRY(cuInit(0));
	TRY(cuDeviceGet(&device, 0));
	TRY(cuDevicePrimaryCtxRetain(&context, device));
	TRY(cuCtxSetCurrent(context));
	char *image = read_all((folder + "driver_kernels.cubin").c_str());
	TRY(cuModuleLoadData(&module, image));
	TRY(cuModuleGetFunction(&plain_f, module, "plain_kernel"));
	TRY(cuModuleGetFunction(&typed_f, module, "_Z12typed_kernelIfEvPT_"));
	TRY(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
	free(image);
	TRY(cuLibraryGetKernel(&kernel, library, "cooperative_kernel"));
	TRY(cuKernelGetFunction(&coop_f, kernel));
	TRY(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	TRY(cuMemAlloc(&x, 1 << 16));
	TRY(cuMemAllocAsync(&y, 1 << 16, s));
	static char hosted[1 << 16];
	int n = 2;
	void *args[] = {&x, &n};
	for (int i = 0; i < 14; i++)
		TRY(cuLaunchKernel(plain_f, 1, 1, 1, 32, 1, 1, 0, s, args, nullptr));
	for (int i = 0; i < 3; i++)
		TRY(cuLaunchKernel(typed_f, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr));
	TRY(cuLaunchCooperativeKernel(coop_f, 1, 1, 1, 32, 1, 1, 0, s, args));
	TRY(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, s, args, nullptr));
	CUlaunchConfig config = {};
	config.gridDimX = config.gridDimY = config.gridDimZ = 1;
	config.blockDimX = 32; config.blockDimY = config.blockDimZ = 1;
	config.hStream = s;
	TRY(cuLaunchKernelEx(&config, typed_f, args, nullptr));
	TRY(cuMemcpyHtoD(x, hosted, 1000));
	TRY(cuMemcpyDtoH(hosted, x, 1001));
	TRY(cuMemcpyDtoD(y, x, 1002));
	TRY(cuMemcpy(y, x, 1003));
	TRY(cuMemcpyHtoDAsync(x, hosted, 1004, s));
	CUDA_MEMCPY2D two = {};
	two.srcMemoryType = CU_MEMORYTYPE_HOST; two.srcHost = hosted; two.srcPitch = 128;
	two.dstMemoryType = CU_MEMORYTYPE_DEVICE; two.dstDevice = x; two.dstPitch = 256;
	two.WidthInBytes = 100; two.Height = 10;
	TRY(cuMemcpy2D(&two));
	TRY(cuMemcpy2DAsync(&two, s));
	TRY(cuMemsetD8(x, 0, 99));
	TRY(cuMemsetD16(x, 0, 99));
	TRY(cuMemsetD32Async(x, 7, 99, s));
	TRY(cuMemsetD2D8(x, 256, 0, 10, 10));
	TRY(cuLaunchHostFunc(s, host, nullptr));
	CUevent begin, end;
	float ms = -1;
	TRY(cuEventCreate(&begin, 0));
	TRY(cuEventCreate(&end, 0));
	TRY(cuEventRecord(begin, s));
	TRY(cuLaunchKernel(plain_f, 1, 1, 1, 32, 1, 1, 0, s, args, nullptr));
	TRY(cuEventRecord(end, s));
	TRY(cuEventSynchronize(end));
	TRY(cuEventElapsedTime(&ms, begin, end));
	std::thread t(threaded, x);
	t.join();
	graphs(x, s);
	loop(x, s);
	TRY(cuModuleUnload(module));
	TRY(cuMemFreeAsync(y, s));
	TRY(cuStreamDestroy(s));
	TRY(cuCtxSynchronize());
	printf("%d %d\n", called, ms > 0);
}
