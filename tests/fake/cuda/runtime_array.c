/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's arrays, and textures and surfaces, which read them in kernels: as those compute nothing, they are handles alone. */
#include "runtime.h"

#include <stdlib.h>

struct cudaChannelFormatDesc fake_cudaCreateChannelDesc(int x, int y, int z, int w,
							enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

/* ---- arrays ---- */

cudaError_t fake_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
				   struct cudaExtent extent, unsigned flags)
{
	return fake_error(fake_begin() ? fake_begin()
				       : (cudaError_t)fake_array_new(array, format, extent, flags));
}

cudaError_t fake_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
				 size_t width, size_t height, unsigned flags)
{
	return fake_cudaMalloc3DArray(array, format, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t fake_cudaFreeArray(cudaArray_t array)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (!array)
		return cudaSuccess;
	fake_array_free(array);
	return cudaSuccess;
}

cudaError_t fake_cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
				  unsigned *flags, cudaArray_t array)
{
	if (format)
		*format = array->format;
	if (extent)
		*extent = array->extent;
	if (flags)
		*flags = array->flags;
	return cudaSuccess;
}

cudaError_t fake_cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array)
{
	*format = array->format;
	return cudaSuccess;
}

/* ---- copies ---- */

static cudaError_t copy(const struct fake_rows *to, const struct fake_rows *from, size_t width,
			size_t height, cudaStream_t stream, bool is_async)
{
	if (fake_begin())
		return fake_error(fake_begin());
	if (width > to->pitch || width > from->pitch)
		return fake_error(cudaErrorInvalidPitchValue);
	if (width && height)
		fake_copy_rows(to->start, to->pitch, from->start, from->pitch, width, height,
			       fake_stream_of(stream), is_async);
	return cudaSuccess;
}

static cudaError_t copy_to(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
			   size_t width, size_t height, cudaStream_t stream, bool is_async)
{
	struct fake_rows rows = fake_array_rows(to, x, y, 0), given = {(void *)from, pitch, 0};
	return copy(&rows, &given, width, height, stream, is_async);
}

static cudaError_t copy_from(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
			     size_t width, size_t height, cudaStream_t stream, bool is_async)
{
	struct fake_rows rows = fake_array_rows(from, x, y, 0), wanted = {to, pitch, 0};
	return copy(&wanted, &rows, width, height, stream, is_async);
}

cudaError_t fake_cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from,
				     size_t pitch, size_t width, size_t height,
				     enum cudaMemcpyKind kind)
{
	(void)kind;
	return copy_to(to, x, y, from, pitch, width, height, NULL, false);
}

cudaError_t fake_cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
					  size_t pitch, size_t width, size_t height,
					  enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)kind;
	return copy_to(to, x, y, from, pitch, width, height, stream, true);
}

cudaError_t fake_cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x,
				       size_t y, size_t width, size_t height,
				       enum cudaMemcpyKind kind)
{
	(void)kind;
	return copy_from(to, pitch, from, x, y, width, height, NULL, false);
}

cudaError_t fake_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from,
					    size_t x, size_t y, size_t width, size_t height,
					    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)kind;
	return copy_from(to, pitch, from, x, y, width, height, stream, true);
}

cudaError_t fake_cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
					  cudaArray_const_t from, size_t from_x, size_t from_y,
					  size_t width, size_t height, enum cudaMemcpyKind kind)
{
	struct fake_rows rows = fake_array_rows(to, to_x, to_y, 0),
			 others = fake_array_rows(from, from_x, from_y, 0);
	(void)kind;
	return copy(&rows, &others, width, height, NULL, false);
}

/* ---- textures and surfaces ---- */

static cudaError_t new_object(unsigned long long *object, const struct cudaResourceDesc *of)
{
	struct cudaResourceDesc *kept = malloc(sizeof(*kept));
	*kept = *of;
	*object = (unsigned long long)(uintptr_t)kept;
	return cudaSuccess;
}

static cudaError_t free_object(unsigned long long object)
{
	free((void *)(uintptr_t)object);
	return cudaSuccess;
}

cudaError_t fake_cudaCreateTextureObject(cudaTextureObject_t *texture,
					 const struct cudaResourceDesc *of,
					 const struct cudaTextureDesc *read,
					 const struct cudaResourceViewDesc *view)
{
	(void)read, (void)view;
	return fake_begin() ? fake_error(fake_begin()) : new_object(texture, of);
}

cudaError_t fake_cudaDestroyTextureObject(cudaTextureObject_t texture)
{
	return free_object(texture);
}

cudaError_t fake_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *of,
						  cudaTextureObject_t texture)
{
	*of = *(const struct cudaResourceDesc *)(uintptr_t)texture;
	return cudaSuccess;
}

cudaError_t fake_cudaCreateSurfaceObject(cudaSurfaceObject_t *surface,
					 const struct cudaResourceDesc *of)
{
	return fake_begin() ? fake_error(fake_begin()) : new_object(surface, of);
}

cudaError_t fake_cudaDestroySurfaceObject(cudaSurfaceObject_t surface)
{
	return free_object(surface);
}
