/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's functions about kernels: what the compiler's output registers, and launches. */
#include "host_runtime.h"
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

/* ---- registering ---- */

/* What the compiler registers, as it writes it: a wrapper, of which the third word points to a header and entries. */
struct wrapper {
	uint32_t magic, version;
	const void *data;
};

struct fat_header {
	uint32_t magic;
	uint16_t version, bytes;
	uint64_t size;
};

struct fat_entry {
	uint16_t kind, version;
	uint32_t head_bytes;
	uint64_t bytes;
	uint32_t compressed_bytes;
};

#define WRAPPER_MAGIC 0x466243b1u
#define FAT_MAGIC     0xba55ed50u
#define KIND_CUBIN    2

/* The first cubin; NULL where there is none that is not compressed. */
static struct fake_module *module_of_binary(const void *binary)
{
	const struct wrapper *wrapper = binary;
	if (!wrapper || wrapper->magic != WRAPPER_MAGIC)
		return NULL;
	const struct fat_header *head = wrapper->data;
	if (!head || head->magic != FAT_MAGIC)
		return NULL;
	const char *at = (const char *)head + head->bytes, *end = at + head->size;
	while (at + sizeof(struct fat_entry) <= end) {
		const struct fat_entry *entry = (const struct fat_entry *)at;
		if (entry->kind == KIND_CUBIN && fake_image_bytes(at + entry->head_bytes))
			return fake_module_new(at + entry->head_bytes);
		at += entry->head_bytes + entry->bytes;
	}
	return NULL;
}

struct variable {
	void *host;
	struct variable *next;
};

struct registered {
	void *binary;
	struct fake_module *module;
	struct variable *variables;
};

void **fake___cudaRegisterFatBinary(void *binary)
{
	struct registered *registered = malloc(sizeof(*registered));
	*registered = (struct registered){binary, module_of_binary(binary), NULL};
	return (void **)registered;
}

void fake___cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void fake___cudaUnregisterFatBinary(void **handle)
{
	struct registered *registered = (struct registered *)handle;
	while (registered->variables) {
		struct variable *first = registered->variables;
		registered->variables = first->next;
		fake_memory_unpin(first->host);
		free(first);
	}
	free(registered);
}

void fake___cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
				 int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
				 dim3 *grid_size, int *warp_size)
{
	(void)device, (void)thread_limit, (void)thread, (void)block;
	(void)block_size, (void)grid_size, (void)warp_size;
	fake_kernel_add(host, name, ((struct registered *)handle)->module);
}

void fake___cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
			    size_t bytes, int constant, int global)
{
	(void)device, (void)name, (void)external, (void)constant, (void)global;
	struct registered *registered = (struct registered *)handle;
	struct variable *variable = malloc(sizeof(*variable));
	*variable = (struct variable){host, registered->variables};
	registered->variables = variable;
	fake_memory_declare(host, bytes);
}

void fake___cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
				   int external, size_t bytes, int constant, int global)
{
	(void)handle, (void)device, (void)name, (void)external, (void)constant, (void)global;
	*host = fake_memory_new(bytes, FAKE_MANAGED, 0);
}

char fake___cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

/* Of a variable that a program knows by the address of its shadow on the host: that is where it lies. */
cudaError_t fake_cudaGetSymbolAddress(void **address, const void *symbol)
{
	*address = (void *)symbol;
	return cudaSuccess;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaStream_t stream,
			bool is_async)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (bytes)
		fake_copy(to, from, bytes, fake_stream_of(stream), is_async);
	return cudaSuccess;
}

cudaError_t fake_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
				    size_t offset, enum cudaMemcpyKind kind)
{
	(void)kind;
	return copy((char *)symbol + offset, from, bytes, NULL, false);
}

cudaError_t fake_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
					 size_t offset, enum cudaMemcpyKind kind,
					 cudaStream_t stream)
{
	(void)kind;
	return copy((char *)symbol + offset, from, bytes, stream, true);
}

cudaError_t fake_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
				      enum cudaMemcpyKind kind)
{
	(void)kind;
	return copy(to, (const char *)symbol + offset, bytes, NULL, false);
}

cudaError_t fake_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes,
					   size_t offset, enum cudaMemcpyKind kind,
					   cudaStream_t stream)
{
	(void)kind;
	return copy(to, (const char *)symbol + offset, bytes, stream, true);
}

/* ---- launches ---- */

static __thread struct {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} configurations[8];
static __thread unsigned configuration_count;

unsigned fake___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
	if (configuration_count == 8)
		return 1;
	configurations[configuration_count].grid = grid;
	configurations[configuration_count].block = block;
	configurations[configuration_count].shared = shared;
	configurations[configuration_count++].stream = stream;
	return 0;
}

cudaError_t fake___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!configuration_count)
		return fake_error(cudaErrorMissingConfiguration);
	configuration_count--;
	*grid = configurations[configuration_count].grid;
	*block = configurations[configuration_count].block;
	*shared = configurations[configuration_count].shared;
	*(cudaStream_t *)stream = configurations[configuration_count].stream;
	return cudaSuccess;
}

/* What a kernel's first argument points to comes to the device before it runs. */
static void touch(const struct fake_kernel *kernel, void **arguments, struct fake_stream *stream)
{
	if (arguments && fake_kernel_touches(kernel->name))
		fake_memory_move(*(void **)arguments[0], fake_stream_device(stream), true, 0,
				 fake_stream_next_ns(stream));
}

static cudaError_t launch(const struct fake_kernel *kernel, dim3 grid, dim3 block, void **arguments,
			  size_t shared, cudaStream_t stream)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (!kernel)
		return fake_error(cudaErrorInvalidDeviceFunction);
	if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z ||
	    (uint64_t)block.x * block.y * block.z > 1024)
		return fake_error(cudaErrorInvalidConfiguration);
	touch(kernel, arguments, fake_stream_of(stream));
	fake_launch(fake_stream_of(stream), kernel, (uint32_t[]){grid.x, grid.y, grid.z},
		    (uint32_t[]){block.x, block.y, block.z}, shared);
	return cudaSuccess;
}

cudaError_t fake_cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments,
				  size_t shared, cudaStream_t stream)
{
	return launch(fake_kernel_of_host(host), grid, block, arguments, shared, stream);
}

cudaError_t fake_cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block,
					     void **arguments, size_t shared, cudaStream_t stream)
{
	return launch(fake_kernel_of_host(host), grid, block, arguments, shared, stream);
}

/* By the address of a host function or by a kernel's handle. */
static const struct fake_kernel *any_kernel(const void *function)
{
	const struct fake_kernel *kernel = fake_kernel_of_host(function);
	return kernel ? kernel : function;
}

cudaError_t fake_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
				     void **arguments)
{
	return launch(any_kernel(function), config->gridDim, config->blockDim, arguments,
		      config->dynamicSmemBytes, config->stream);
}

cudaError_t fake___cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	*kernel = (cudaKernel_t)fake_kernel_of_host(host);
	return *kernel ? cudaSuccess : fake_error(cudaErrorInvalidDeviceFunction);
}

cudaError_t fake___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
				    size_t shared, cudaStream_t stream)
{
	return launch((struct fake_kernel *)kernel, grid, block, arguments, shared, stream);
}

/* ---- what kernels need ---- */

cudaError_t fake_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	(void)function;
	memset(attributes, 0, sizeof(*attributes));
	attributes->maxThreadsPerBlock = 1024;
	attributes->numRegs = 32;
	attributes->binaryVersion = attributes->ptxVersion = 90;
	attributes->maxDynamicSharedSizeBytes = 49152;
	return cudaSuccess;
}

cudaError_t fake_cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
	(void)function;
	(void)config;
	return cudaSuccess;
}

cudaError_t fake_cudaFuncGetName(const char **name, const void *function)
{
	const struct fake_kernel *kernel = any_kernel(function);
	*name = kernel ? kernel->name : NULL;
	return kernel ? cudaSuccess : fake_error(cudaErrorInvalidDeviceFunction);
}

cudaError_t fake_cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
				      int value)
{
	(void)function;
	(void)attribute;
	(void)value;
	return cudaSuccess;
}

cudaError_t fake_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
									const void *function,
									int size, size_t shared,
									unsigned int flags)
{
	(void)function;
	(void)shared;
	(void)flags;
	*blocks = size > 0 ? 2048 / size : 0;
	*blocks = *blocks > 32 ? 32 : *blocks;
	return cudaSuccess;
}

cudaError_t fake_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
							       int size, size_t shared)
{
	return fake_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, size,
									   shared, 0);
}
