/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's functions about memory. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

static cudaError_t allocate(void **address, size_t bytes, enum fake_place place)
{
	if (fake_begin())
		return fake_error(fake_begin());
	fake_module_use(fake_current_device(), NULL);
	*address = bytes ? fake_memory_new(bytes, place, fake_current_device()) : NULL;
	return *address || !bytes ? cudaSuccess : fake_error(cudaErrorMemoryAllocation);
}

static cudaError_t release(void *address)
{
	return !address || fake_memory_free(address) ? cudaSuccess
						     : fake_error(cudaErrorInvalidValue);
}

cudaError_t fake_cudaMalloc(void **address, size_t bytes)
{
	return allocate(address, bytes, FAKE_DEVICE);
}

cudaError_t fake_cudaMallocManaged(void **address, size_t bytes, unsigned int flags)
{
	(void)flags;
	return allocate(address, bytes, FAKE_MANAGED);
}

cudaError_t fake_cudaMallocHost(void **address, size_t bytes)
{
	return allocate(address, bytes, FAKE_PINNED);
}

cudaError_t fake_cudaHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	(void)flags;
	return allocate(address, bytes, FAKE_PINNED);
}

cudaError_t fake_cudaMallocAsync(void **address, size_t bytes, cudaStream_t stream)
{
	(void)stream;
	return allocate(address, bytes, FAKE_DEVICE);
}

cudaError_t fake_cudaMallocFromPoolAsync(void **address, size_t bytes, cudaMemPool_t pool,
					 cudaStream_t stream)
{
	(void)pool;
	(void)stream;
	return allocate(address, bytes, FAKE_DEVICE);
}

cudaError_t fake_cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + 511) & ~(size_t)511;
	return allocate(address, *pitch * height, FAKE_DEVICE);
}

/* Frees wait for the device. */
cudaError_t fake_cudaFree(void *address)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (address)
		fake_device_wait(fake_current_device());
	return release(address);
}

cudaError_t fake_cudaFreeAsync(void *address, cudaStream_t stream)
{
	(void)stream;
	return release(address);
}

cudaError_t fake_cudaFreeHost(void *address)
{
	return release(address);
}

cudaError_t fake_cudaHostRegister(void *address, size_t bytes, unsigned int flags)
{
	(void)flags;
	fake_memory_pin(address, bytes);
	return cudaSuccess;
}

cudaError_t fake_cudaHostUnregister(void *address)
{
	fake_memory_unpin(address);
	return cudaSuccess;
}

cudaError_t fake_cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
	(void)flags;
	*device = host;
	return cudaSuccess;
}

cudaError_t fake_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	*total = fake_device_memory();
	*free_bytes = *total - fake_device_memory_used(fake_current_device());
	return fake_error(fake_begin());
}

cudaError_t fake_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
					  const void *address)
{
	static const enum cudaMemoryType types[] = {[FAKE_PAGEABLE] = cudaMemoryTypeUnregistered,
						    [FAKE_PINNED] = cudaMemoryTypeHost,
						    [FAKE_DEVICE] = cudaMemoryTypeDevice,
						    [FAKE_MANAGED] = cudaMemoryTypeManaged};
	int device;
	enum fake_place place = fake_memory_place(address, NULL, NULL, &device);
	*attributes = (struct cudaPointerAttributes){.type = types[place], .device = device};
	if (place != FAKE_PAGEABLE)
		attributes->devicePointer = (void *)address;
	if (place != FAKE_DEVICE)
		attributes->hostPointer = (void *)address;
	return cudaSuccess;
}

/* ---- pools: what is set of them is not asked again ---- */

static char the_pool;

cudaError_t fake_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
	(void)properties;
	*pool = malloc(1);
	return cudaSuccess;
}

cudaError_t fake_cudaMemPoolDestroy(cudaMemPool_t pool)
{
	if ((char *)pool == &the_pool)
		return fake_error(cudaErrorInvalidValue);
	free(pool);
	return cudaSuccess;
}

cudaError_t fake_cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access,
				      size_t count)
{
	(void)pool, (void)access, (void)count;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	(void)device;
	(void)pool;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	(void)device;
	*pool = (cudaMemPool_t)&the_pool;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	(void)device;
	*pool = (cudaMemPool_t)&the_pool;
	return cudaSuccess;
}

cudaError_t fake_cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
					 void *value)
{
	(void)pool;
	(void)attribute;
	(void)value;
	return cudaSuccess;
}

cudaError_t fake_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
					 void *value)
{
	(void)pool;
	(void)attribute;
	*(uint64_t *)value = 0;
	return cudaSuccess;
}

cudaError_t fake_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
	(void)pool;
	(void)bytes;
	return cudaSuccess;
}

/* ---- copies and sets ---- */

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaStream_t stream,
			bool is_async)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (bytes)
		fake_copy(to, from, bytes, fake_stream_of(stream), is_async);
	return cudaSuccess;
}

cudaError_t fake_cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	(void)kind;
	return copy(to, from, bytes, NULL, false);
}

cudaError_t fake_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	(void)kind;
	return copy(to, from, bytes, stream, true);
}

cudaError_t fake_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
				size_t bytes)
{
	(void)to_device;
	(void)from_device;
	return copy(to, from, bytes, NULL, false);
}

cudaError_t fake_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
				     size_t bytes, cudaStream_t stream)
{
	(void)to_device;
	(void)from_device;
	return copy(to, from, bytes, stream, true);
}

static cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			     size_t width, size_t height, cudaStream_t stream, bool is_async)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (width > to_pitch || width > from_pitch)
		return fake_error(cudaErrorInvalidPitchValue);
	fake_copy_rows(to, to_pitch, from, from_pitch, width, height, fake_stream_of(stream),
		       is_async);
	return cudaSuccess;
}

cudaError_t fake_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind)
{
	(void)kind;
	return copy_rows(to, to_pitch, from, from_pitch, width, height, NULL, false);
}

cudaError_t fake_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
				   size_t width, size_t height, enum cudaMemcpyKind kind,
				   cudaStream_t stream)
{
	(void)kind;
	return copy_rows(to, to_pitch, from, from_pitch, width, height, stream, true);
}

static cudaError_t set(void *to, int value, size_t bytes, cudaStream_t stream, bool is_async)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (bytes)
		fake_set(to, (uint32_t)value & 0xff, 1, bytes, fake_stream_of(stream), is_async);
	return cudaSuccess;
}

cudaError_t fake_cudaMemset(void *to, int value, size_t bytes)
{
	return set(to, value, bytes, NULL, false);
}

cudaError_t fake_cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	return set(to, value, bytes, stream, true);
}

/* ---- rows and blocks of rows ---- */

static cudaError_t set_rows(void *to, size_t pitch, int value, size_t width, size_t height,
			    cudaStream_t stream)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (height > 1 && width > pitch)
		return fake_error(cudaErrorInvalidValue);
	if (width && height)
		fake_set_rows(to, pitch, (uint32_t)value & 0xff, 1, width, height,
			      fake_stream_of(stream));
	return cudaSuccess;
}

cudaError_t fake_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
	return set_rows(to, pitch, value, width, height, NULL);
}

cudaError_t fake_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
				   cudaStream_t stream)
{
	return set_rows(to, pitch, value, width, height, stream);
}

/* Rows lie one after the other from block to block where a block is as high as its memory. */
cudaError_t fake_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
				   cudaStream_t stream)
{
	return set_rows(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth,
			stream);
}

cudaError_t fake_cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
	return fake_cudaMemset3DAsync(to, value, extent, NULL);
}

cudaError_t fake_cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent)
{
	size_t pitch;
	void *address;
	cudaError_t error =
	    fake_cudaMallocPitch(&address, &pitch, extent.width, extent.height * extent.depth);
	*memory = (struct cudaPitchedPtr){address, pitch, extent.width, extent.height};
	return error;
}

static struct fake_rows rows_in(struct cudaPitchedPtr memory, struct cudaPos at)
{
	return (struct fake_rows){(char *)memory.ptr + (at.z * memory.ysize + at.y) * memory.pitch +
				      at.x,
				  memory.pitch, memory.pitch * memory.ysize};
}

/* Where there is an array, places and widths in a row are in its elements. */
static struct fake_rows rows_of(cudaArray_const_t array, struct cudaPitchedPtr memory,
				struct cudaPos at)
{
	return array ? fake_array_rows(array, at.x * array->element, at.y, at.z)
		     : rows_in(memory, at);
}

static size_t width_of(const struct cudaMemcpy3DParms *what)
{
	cudaArray_const_t array = what->srcArray ? what->srcArray : what->dstArray;
	return what->extent.width * (array ? array->element : 1);
}

static cudaError_t copy_blocks(const struct cudaMemcpy3DParms *what, cudaStream_t stream,
			       bool is_async)
{
	if (fake_begin())
		return fake_error(fake_begin());
	struct fake_rows to = rows_of(what->dstArray, what->dstPtr, what->dstPos),
			 from = rows_of(what->srcArray, what->srcPtr, what->srcPos);
	if (what->extent.width && what->extent.height && what->extent.depth)
		fake_copy_blocks(&to, &from, width_of(what), what->extent.height,
				 what->extent.depth, fake_stream_of(stream), is_async);
	return cudaSuccess;
}

cudaError_t fake_cudaMemcpy3D(const struct cudaMemcpy3DParms *what)
{
	return copy_blocks(what, NULL, false);
}

cudaError_t fake_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *what, cudaStream_t stream)
{
	return copy_blocks(what, stream, true);
}

/* ---- managed memory ---- */

cudaError_t fake_cudaMemAdvise(const void *address, size_t bytes, enum cudaMemoryAdvise advice,
			       struct cudaMemLocation location)
{
	(void)bytes, (void)advice, (void)location;
	return fake_memory_place(address, NULL, NULL, NULL) == FAKE_MANAGED
		   ? cudaSuccess
		   : fake_error(cudaErrorInvalidValue);
}

cudaError_t fake_cudaMemPrefetchAsync(const void *address, size_t bytes,
				      struct cudaMemLocation location, unsigned int flags,
				      cudaStream_t stream)
{
	int device = location.type == cudaMemLocationTypeDevice ? location.id : -1;
	(void)bytes, (void)flags;
	if (fake_begin())
		return fake_error(fake_begin());
	if (fake_memory_place(address, NULL, NULL, NULL) != FAKE_MANAGED)
		return fake_error(cudaErrorInvalidValue);
	fake_memory_move(address, device, false, 0, fake_stream_next_ns(fake_stream_of(stream)));
	return cudaSuccess;
}
