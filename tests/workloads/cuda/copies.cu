/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of copy and set, once, between two devices where there are two. */
#include <cstdio>
#include <cstring>
__device__ float symbol[1024];
__constant__ float constants[64];
__global__ void use(float *x) { x[0] = symbol[0] + constants[0]; }
static int failures;
#define TRY(call) do { cudaError_t err_ = call; if (err_) { printf("%s: %s\n", #call, cudaGetErrorName(err_)); failures++; cudaGetLastError(); } } while (0)
int main()
{
	static float host[1 << 16];
	float *x, *y, *pinned, *rows, *other;
	size_t pitch;
	int devices;
	cudaGetDeviceCount(&devices);
	cudaStream_t s;
	TRY(cudaMalloc(&x, 1 << 18));
	TRY(cudaMalloc(&y, 1 << 18));
	TRY(cudaMallocHost(&pinned, 1 << 18));
	TRY(cudaMallocPitch(&rows, &pitch, 400, 100));
	TRY(cudaStreamCreate(&s));
	TRY(cudaMemcpy2D(rows, pitch, host, 400, 400, 100, cudaMemcpyHostToDevice));
	TRY(cudaMemcpy2DAsync(pinned, 400, rows, pitch, 400, 50, cudaMemcpyDeviceToHost, s));
	TRY(cudaMemset2D(rows, pitch, 0, 400, 100));
	TRY(cudaMemset2DAsync(rows, pitch, 0, 400, 30, s));
	TRY(cudaMemcpyToSymbol(symbol, host, 4000));
	TRY(cudaMemcpyToSymbol(constants, host, 100, 100));
	TRY(cudaMemcpyToSymbolAsync(symbol, pinned, 1000, 0, cudaMemcpyHostToDevice, s));
	TRY(cudaMemcpyFromSymbol(host, symbol, 4000));
	TRY(cudaMemcpyFromSymbolAsync(pinned, symbol, 1004, 0, cudaMemcpyDeviceToHost, s));
	TRY(cudaMemcpy(y, x, 1 << 18, cudaMemcpyDefault));
	TRY(cudaMemcpyAsync(y, x, 12345, cudaMemcpyDeviceToDevice, s));
	TRY(cudaMemcpy(host, host + 100, 400, cudaMemcpyHostToHost));
	TRY(cudaMemcpyAsync(x, pinned, 0, cudaMemcpyHostToDevice, s));
	TRY(cudaMemset(x, 1, 0));
	TRY(cudaMemsetAsync(x, 1, 777, s));
	cudaPitchedPtr volume;
	TRY(cudaMalloc3D(&volume, make_cudaExtent(128, 8, 4)));
	TRY(cudaMemset3D(volume, 0, make_cudaExtent(128, 8, 4)));
	cudaMemcpy3DParms p = {};
	p.srcPtr = make_cudaPitchedPtr(host, 128, 128, 8);
	p.dstPtr = volume;
	p.extent = make_cudaExtent(128, 8, 4);
	p.kind = cudaMemcpyHostToDevice;
	TRY(cudaMemcpy3D(&p));
	p.extent = make_cudaExtent(64, 8, 4);
	TRY(cudaMemcpy3DAsync(&p, s));
	if (devices > 1) {
		cudaSetDevice(1);
		TRY(cudaMalloc(&other, 1 << 18));
		cudaSetDevice(0);
		TRY(cudaDeviceEnablePeerAccess(1, 0));
		TRY(cudaMemcpyPeer(other, 1, x, 0, 5000));
		TRY(cudaMemcpyPeerAsync(x, 0, other, 1, 6000, s));
		TRY(cudaMemcpy(other, x, 7000, cudaMemcpyDefault));
	}
	use<<<1, 1>>>(x);
	TRY(cudaDeviceSynchronize());
	TRY(cudaStreamDestroy(s));
	TRY(cudaFree(x));
	TRY(cudaFreeHost(pinned));
	printf("failures %d\n", failures);
}
