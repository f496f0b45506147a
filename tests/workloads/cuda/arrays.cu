/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, plane and with layers, and textures and surfaces of them: each kind of copy, in rows and blocks, and what comes back is what was sent. */
#include <cstdio>
#include <cstring>
static int failures;
#define TRY(call) do { cudaError_t err_ = call; if (err_) { printf("%s: %s\n", #call, cudaGetErrorName(err_)); failures++; cudaGetLastError(); } } while (0)

__global__ void read_texture(cudaTextureObject_t texture, float *out)
{
	out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0);
}

__global__ void write_surface(cudaSurfaceObject_t surface)
{
	surf2Dwrite(1.0f, surface, threadIdx.x * 4, 0);
}

enum { WIDTH = 64, HEIGHT = 16, DEPTH = 4 };

static void planes(cudaStream_t stream, float *device)
{
	static float sent[HEIGHT][WIDTH], back[HEIGHT][WIDTH];
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), told;
	cudaExtent extent;
	cudaArray_t array, other;
	unsigned flags;
	for (int i = 0; i < HEIGHT * WIDTH; i++)
		sent[0][i] = (float)i;
	TRY(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
	TRY(cudaMallocArray(&other, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
	TRY(cudaArrayGetInfo(&told, &extent, &flags, other));
	printf("%d bits, %zu x %zu x %zu, flags %u\n", told.x, extent.width, extent.height, extent.depth, flags);
	TRY(cudaMemcpy2DToArray(array, 0, 0, sent, sizeof(*sent), sizeof(*sent), HEIGHT, cudaMemcpyHostToDevice)); // to an array
	TRY(cudaMemcpy2DToArrayAsync(array, 16, 2, device, 256, 128, 4, cudaMemcpyDeviceToDevice, stream));
	TRY(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, sizeof(*sent), HEIGHT, cudaMemcpyDeviceToDevice));
	TRY(cudaMemcpy2DFromArrayAsync(device, 256, other, 0, 0, 256, 8, cudaMemcpyDeviceToDevice, stream));
	TRY(cudaMemcpy2DFromArray(back, sizeof(*back), other, 0, 0, sizeof(*back), HEIGHT, cudaMemcpyDeviceToHost));
	printf("rows %s\n", memcmp(sent, back, sizeof(sent[0]) * 2) ? "differ" : "are equal");

	cudaResourceDesc resource = {};
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	cudaTextureDesc read = {};
	cudaTextureObject_t texture;
	cudaSurfaceObject_t surface;
	TRY(cudaCreateTextureObject(&texture, &resource, &read, nullptr));
	for (int i = 0; i < 5; i++)
		read_texture<<<1, WIDTH, 0, stream>>>(texture, device); // by a texture
	resource.res.array.array = other;
	TRY(cudaCreateSurfaceObject(&surface, &resource));
	for (int i = 0; i < 7; i++)
		write_surface<<<1, WIDTH, 0, stream>>>(surface);
	TRY(cudaDeviceSynchronize());
	TRY(cudaDestroyTextureObject(texture));
	TRY(cudaDestroySurfaceObject(surface));
	TRY(cudaFreeArray(array));
	TRY(cudaFreeArray(other));
}

static void layers(cudaStream_t stream)
{
	static short sent[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH];
	cudaChannelFormatDesc format = cudaCreateChannelDesc<short>();
	cudaArray_t array;
	for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++)
		sent[0][0][i] = (short)i;
	TRY(cudaMalloc3DArray(&array, &format, make_cudaExtent(WIDTH, HEIGHT, DEPTH), cudaArrayLayered));
	cudaMemcpy3DParms to = {};
	to.srcPtr = make_cudaPitchedPtr(sent, sizeof(sent[0][0]), WIDTH, HEIGHT);
	to.dstArray = array;
	to.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
	to.kind = cudaMemcpyHostToDevice;
	TRY(cudaMemcpy3D(&to));
	cudaMemcpy3DParms from = {};
	from.srcArray = array;
	from.dstPtr = make_cudaPitchedPtr(back, sizeof(back[0][0]), WIDTH, HEIGHT);
	from.extent = to.extent;
	from.kind = cudaMemcpyDeviceToHost;
	TRY(cudaMemcpy3DAsync(&from, stream));
	TRY(cudaStreamSynchronize(stream));
	printf("layers %s\n", memcmp(sent, back, sizeof(sent)) ? "differ" : "are equal");
	TRY(cudaFreeArray(array));
}

int main()
{
	float *device;
	cudaStream_t stream;
	TRY(cudaStreamCreate(&stream));
	TRY(cudaMalloc(&device, 1 << 16));
	for (int turn = 0; turn < 3; turn++) {
		planes(stream, device);
		layers(stream);
	}
	TRY(cudaFree(device));
	printf("failures %d\n", failures);
}
