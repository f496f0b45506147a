/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of copy and set of both interfaces, also with arrays of the driver's: of something, and of nothing, of which there is no operation.
 * What comes back of an array is what was sent. With "runtime" or "driver" that one's alone. */
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

static int failures;
#define TRY(call) do { int err_ = call; if (err_) { printf("%s: %d\n", #call, err_); failures++; } } while (0)

enum { WIDTH = 64, HEIGHT = 16, DEPTH = 4, BYTES = WIDTH * HEIGHT * DEPTH };

__device__ char symbol[BYTES];
static char host[BYTES];

/* `n` is the size, or 0. */
static void of_runtime(char *device, char *other, cudaStream_t stream, size_t n)
{
	size_t rows = n ? HEIGHT : 0;
	TRY(cudaMemcpy(device, host, n, cudaMemcpyHostToDevice));
	TRY(cudaMemcpyAsync(host, device, n, cudaMemcpyDeviceToHost, stream));
	TRY(cudaMemcpyToSymbol(symbol, host, n));
	TRY(cudaMemcpyFromSymbolAsync(host, symbol, n, 0, cudaMemcpyDeviceToHost, stream));
	TRY(cudaMemcpyPeer(other, 0, device, 0, n));
	TRY(cudaMemcpyPeerAsync(other, 0, device, 0, n, stream));
	TRY(cudaMemcpy2D(device, WIDTH, host, WIDTH, n, HEIGHT, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy2DAsync(device, WIDTH, host, WIDTH, WIDTH, rows, cudaMemcpyHostToDevice, stream));
	TRY(cudaMemset(device, 0, n));
	TRY(cudaMemsetAsync(device, 1, n, stream));
	TRY(cudaMemset2D(device, WIDTH, 0, WIDTH, rows));
	TRY(cudaMemset2DAsync(device, WIDTH, 0, n, HEIGHT, stream));
	TRY(cudaMemset3D(make_cudaPitchedPtr(device, WIDTH, WIDTH, HEIGHT), 0, make_cudaExtent(WIDTH, HEIGHT, n ? DEPTH : 0)));
	cudaMemcpy3DParms block = {};
	block.srcPtr = make_cudaPitchedPtr(host, WIDTH, WIDTH, HEIGHT);
	block.dstPtr = make_cudaPitchedPtr(device, WIDTH, WIDTH, HEIGHT);
	block.extent = make_cudaExtent(WIDTH, HEIGHT, n ? DEPTH : 0);
	block.kind = cudaMemcpyHostToDevice;
	TRY(cudaMemcpy3D(&block));
	block.extent = make_cudaExtent(n, HEIGHT, DEPTH);
	TRY(cudaMemcpy3DAsync(&block, stream));
}

static void arrays_of_runtime(cudaStream_t stream, char *device, size_t n)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<char>();
	cudaArray_t array, other;
	TRY(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
	TRY(cudaMallocArray(&other, &format, WIDTH, HEIGHT));
	TRY(cudaMemcpy2DToArray(array, 0, 0, host, WIDTH, n, HEIGHT, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, WIDTH, n ? HEIGHT : 0, cudaMemcpyDeviceToDevice));
	TRY(cudaMemcpy2DFromArrayAsync(device, WIDTH, other, 0, 0, n, HEIGHT, cudaMemcpyDeviceToDevice, stream));
	TRY(cudaFreeArray(array));
	TRY(cudaFreeArray(other));
}

static void of_driver(CUdeviceptr device, CUdeviceptr other, CUstream stream, size_t n)
{
	TRY(cuMemcpyHtoD(device, host, n));
	TRY(cuMemcpyDtoHAsync(host, device, n, stream));
	TRY(cuMemcpyDtoD(other, device, n));
	TRY(cuMemcpy(other, device, n));
	TRY(cuMemcpyAsync(other, device, n, stream));
	TRY(cuMemcpyPeer(other, nullptr, device, nullptr, n));
	TRY(cuMemsetD8(device, 0, n));
	TRY(cuMemsetD16Async(device, 0, n / 2, stream));
	TRY(cuMemsetD32(device, 0, n / 4));
	TRY(cuMemsetD2D8(device, WIDTH, 0, n, HEIGHT));
	TRY(cuMemsetD2D32Async(device, WIDTH, 0, WIDTH / 4, n ? HEIGHT : 0, stream));
}

static void arrays_of_driver(CUdeviceptr device, CUstream stream, size_t n)
{
	CUDA_ARRAY_DESCRIPTOR plane = {WIDTH / 4, HEIGHT, CU_AD_FORMAT_FLOAT, 1}, told;
	CUDA_ARRAY3D_DESCRIPTOR cube = {WIDTH / 8, HEIGHT, DEPTH, CU_AD_FORMAT_HALF, 4, 0};
	CUarray array, other;
	static char sent[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH];
	for (int i = 0; i < BYTES; i++)
		reinterpret_cast<char *>(sent)[i] = static_cast<char>(i);
	TRY(cuArrayCreate(&array, &plane));
	TRY(cuArrayGetDescriptor(&told, array));
	TRY(memcmp(&plane, &told, sizeof(told)));
	TRY(cuArray3DCreate(&other, &cube));
	TRY(cuMemcpyHtoA(array, 0, sent, n));
	TRY(cuMemcpyHtoAAsync(array, 8, sent, n / 2, stream));
	TRY(cuMemcpyAtoH(back, array, 0, n));
	TRY(cuMemcpyAtoD(device, array, 0, n));
	TRY(cuMemcpyDtoA(array, 0, device, n));
	TRY(cuMemcpyAtoA(other, 0, array, 0, n));
	CUDA_MEMCPY2D rows = {};
	rows.srcMemoryType = CU_MEMORYTYPE_HOST, rows.srcHost = sent, rows.srcPitch = WIDTH;
	rows.dstMemoryType = CU_MEMORYTYPE_ARRAY, rows.dstArray = array;
	rows.dstY = 1, rows.dstXInBytes = WIDTH / 2;
	rows.WidthInBytes = n ? WIDTH / 2 : 0, rows.Height = HEIGHT - 1;
	TRY(cuMemcpy2D(&rows));
	rows.Height = n ? HEIGHT - 1 : 0;
	TRY(cuMemcpy2DAsync(&rows, stream));
	TRY(cuMemcpy2DUnaligned(&rows));
	CUDA_MEMCPY3D block = {};
	block.srcMemoryType = CU_MEMORYTYPE_HOST, block.srcHost = sent, block.srcPitch = WIDTH, block.srcHeight = HEIGHT;
	block.dstMemoryType = CU_MEMORYTYPE_ARRAY, block.dstArray = other;
	block.WidthInBytes = WIDTH, block.Height = HEIGHT, block.Depth = n ? DEPTH : 0;
	TRY(cuMemcpy3D(&block));
	block.srcMemoryType = CU_MEMORYTYPE_ARRAY, block.srcArray = other;
	block.dstMemoryType = CU_MEMORYTYPE_HOST, block.dstHost = back, block.dstPitch = WIDTH, block.dstHeight = HEIGHT;
	TRY(cuMemcpy3DAsync(&block, stream));
	TRY(cuStreamSynchronize(stream));
	if (n)
		TRY(memcmp(sent, back, sizeof(sent)));
	TRY(cuArrayDestroy(array));
	TRY(cuArrayDestroy(other));
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	char *device, *other;
	cudaStream_t stream;
	TRY(cudaMalloc(&device, BYTES));
	TRY(cudaMalloc(&other, BYTES));
	TRY(cudaStreamCreate(&stream));
	for (size_t n : {size_t(WIDTH), size_t(0), size_t(0)}) {
		if (strcmp(which, "driver")) {
			of_runtime(device, other, stream, n);
			arrays_of_runtime(stream, device, n);
		}
		if (strcmp(which, "runtime")) {
			of_driver(reinterpret_cast<CUdeviceptr>(device), reinterpret_cast<CUdeviceptr>(other), stream, n);
			arrays_of_driver(reinterpret_cast<CUdeviceptr>(device), stream, n);
		}
	}
	TRY(cudaDeviceSynchronize());
	printf("failures %d\n", failures);
}
