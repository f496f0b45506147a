/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's arrays, and textures and surfaces, which read them in kernels: as those compute nothing, they are handles alone. */
#include "runtime.h"

#include <stdlib.h>

struct cudaArray {
	struct cudaChannelFormatDesc format;
	struct cudaExtent extent; /* as it was given: 0 for a dimension that it has not */
	unsigned flags;
	size_t element, pitch;
	char *memory;
};

struct cudaChannelFormatDesc fake_cudaCreateChannelDesc(int x, int y, int z, int w,
							enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

/* ---- arrays ---- */

static size_t at_least_one(size_t count)
{
	return count ? count : 1;
}

cudaError_t fake_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
				   struct cudaExtent extent, unsigned flags)
{
	if (fake_begin())
		return fake_error(fake_begin());
	size_t element = (size_t)(format->x + format->y + format->z + format->w) / 8;
	if (!element || !extent.width)
		return fake_error(cudaErrorInvalidValue);
	struct cudaArray made = {*format, extent, flags, element, extent.width * element, NULL};
	fake_module_use(fake_current_device(), NULL);
	made.memory =
	    fake_memory_new(made.pitch * at_least_one(extent.height) * at_least_one(extent.depth),
			    FAKE_ARRAY, fake_current_device());
	if (!made.memory)
		return fake_error(cudaErrorMemoryAllocation);
	*array = malloc(sizeof(**array));
	**array = made;
	return cudaSuccess;
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
	fake_device_wait(fake_current_device());
	fake_memory_free(array->memory);
	free(array);
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

struct fake_rows fake_array_rows(cudaArray_const_t array, struct cudaPos at)
{
	size_t block_bytes = array->pitch * at_least_one(array->extent.height);
	return (struct fake_rows){array->memory + at.z * block_bytes + at.y * array->pitch +
				      at.x * array->element,
				  array->pitch, block_bytes};
}

size_t fake_array_element(cudaArray_const_t array)
{
	return array->element;
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

/* `x` in bytes. */
static struct fake_rows rows_at(cudaArray_const_t array, size_t x, size_t y)
{
	struct fake_rows rows = fake_array_rows(array, (struct cudaPos){0, y, 0});
	rows.start = (char *)rows.start + x;
	return rows;
}

static cudaError_t copy_to(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
			   size_t width, size_t height, cudaStream_t stream, bool is_async)
{
	struct fake_rows rows = rows_at(to, x, y), given = {(void *)from, pitch, 0};
	return copy(&rows, &given, width, height, stream, is_async);
}

static cudaError_t copy_from(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
			     size_t width, size_t height, cudaStream_t stream, bool is_async)
{
	struct fake_rows rows = rows_at(from, x, y), wanted = {to, pitch, 0};
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
	struct fake_rows rows = rows_at(to, to_x, to_y), others = rows_at(from, from_x, from_y);
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
