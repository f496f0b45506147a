/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's arrays, and copies in rows and blocks. */
#define __CUDA_API_VERSION_INTERNAL
#include "runtime.h"

/* ---- arrays ---- */

static const struct {
	CUarray_format format;
	int bits;
	enum cudaChannelFormatKind kind;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

CUresult fake_cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *given)
{
	struct cudaChannelFormatDesc format = {0};
	int *bits[] = {&format.x, &format.y, &format.z, &format.w};
	if (given->NumChannels != 1 && given->NumChannels != 2 && given->NumChannels != 4)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t at = 0; at < FORMATS; at++)
		for (unsigned channel = 0;
		     formats[at].format == given->Format && channel < given->NumChannels;
		     channel++) {
			*bits[channel] = formats[at].bits;
			format.f = formats[at].kind;
		}
	return (CUresult)fake_array_new(
	    (struct cudaArray **)array, &format,
	    (struct cudaExtent){given->Width, given->Height, given->Depth}, given->Flags);
}

CUresult fake_cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *given)
{
	CUDA_ARRAY3D_DESCRIPTOR plane = {.Width = given->Width,
					 .Height = given->Height,
					 .Format = given->Format,
					 .NumChannels = given->NumChannels};
	return fake_cuArray3DCreate_v2(array, &plane);
}

CUresult fake_cuArrayDestroy(CUarray array)
{
	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_array_free((struct cudaArray *)array);
	return CUDA_SUCCESS;
}

CUresult fake_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *told, CUarray given)
{
	const struct cudaArray *array = (const struct cudaArray *)given;
	const struct cudaChannelFormatDesc *format = &array->format;
	*told = (CUDA_ARRAY3D_DESCRIPTOR){.Width = array->extent.width,
					  .Height = array->extent.height,
					  .Depth = array->extent.depth,
					  .NumChannels = 1u + (format->y != 0) + (format->z != 0) +
							 (format->w != 0),
					  .Flags = array->flags};
	for (size_t at = 0; at < FORMATS; at++)
		if (formats[at].bits == format->x && formats[at].kind == format->f)
			told->Format = formats[at].format;
	return CUDA_SUCCESS;
}

CUresult fake_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *told, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR all;
	CUresult error = fake_cuArray3DGetDescriptor_v2(&all, array);
	*told = (CUDA_ARRAY_DESCRIPTOR){all.Width, all.Height, all.Format, all.NumChannels};
	return error;
}

/* ---- copies along an array's rows ---- */

static void *in(CUarray array, size_t offset)
{
	return fake_array_rows((const struct cudaArray *)array, offset, 0, 0).start;
}

static CUresult copy(void *to, const void *from, size_t bytes, CUstream stream, bool is_async)
{
	fake_copy(to, from, bytes, fake_stream_of(stream), is_async);
	return CUDA_SUCCESS;
}

CUresult fake_cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t bytes)
{
	return copy(in(to, offset), from, bytes, NULL, false);
}

CUresult fake_cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t bytes,
				   CUstream stream)
{
	return copy(in(to, offset), from, bytes, stream, true);
}

CUresult fake_cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t bytes)
{
	return copy(to, in(from, offset), bytes, NULL, false);
}

CUresult fake_cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t bytes,
				   CUstream stream)
{
	return copy(to, in(from, offset), bytes, stream, true);
}

CUresult fake_cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
	return copy(in(to, offset), (void *)from, bytes, NULL, false);
}

CUresult fake_cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
	return copy((void *)to, in(from, offset), bytes, NULL, false);
}

CUresult fake_cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
			      size_t bytes)
{
	return copy(in(to, to_offset), in(from, from_offset), bytes, NULL, false);
}

/* ---- rows and blocks ---- */

void fake_copy_ends(const CUDA_MEMCPY3D *what, struct fake_rows *to, struct fake_rows *from)
{
	to->pitch = what->dstPitch;
	to->block_bytes = what->dstPitch * what->dstHeight;
	from->pitch = what->srcPitch;
	from->block_bytes = what->srcPitch * what->srcHeight;
	to->start =
	    what->dstMemoryType == CU_MEMORYTYPE_HOST ? what->dstHost : (void *)what->dstDevice;
	from->start = what->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)what->srcHost
								: (void *)what->srcDevice;
	to->start = (char *)to->start + what->dstZ * to->block_bytes + what->dstY * to->pitch +
		    what->dstXInBytes;
	from->start = (char *)from->start + what->srcZ * from->block_bytes +
		      what->srcY * from->pitch + what->srcXInBytes;
	if (what->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		*to = fake_array_rows((const struct cudaArray *)what->dstArray, what->dstXInBytes,
				      what->dstY, what->dstZ);
	if (what->srcMemoryType == CU_MEMORYTYPE_ARRAY)
		*from = fake_array_rows((const struct cudaArray *)what->srcArray, what->srcXInBytes,
					what->srcY, what->srcZ);
}

static CUresult copy_blocks(const CUDA_MEMCPY3D *what, CUstream stream, bool is_async)
{
	struct fake_rows to, from;
	fake_copy_ends(what, &to, &from);
	if (what->WidthInBytes && what->Height && what->Depth)
		fake_copy_blocks(&to, &from, what->WidthInBytes, what->Height, what->Depth,
				 fake_stream_of(stream), is_async);
	return CUDA_SUCCESS;
}

CUresult fake_cuMemcpy3D_v2(const CUDA_MEMCPY3D *what)
{
	return copy_blocks(what, NULL, false);
}

CUresult fake_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *what, CUstream stream)
{
	return copy_blocks(what, stream, true);
}

/* Rows without a pitch follow each other. */
static CUresult copy_rows(const CUDA_MEMCPY2D *what, CUstream stream, bool is_async)
{
	CUDA_MEMCPY3D block = {
	    .srcXInBytes = what->srcXInBytes,
	    .srcY = what->srcY,
	    .srcMemoryType = what->srcMemoryType,
	    .srcHost = what->srcHost,
	    .srcDevice = what->srcDevice,
	    .srcArray = what->srcArray,
	    .srcPitch = what->srcPitch ? what->srcPitch : what->WidthInBytes,
	    .dstXInBytes = what->dstXInBytes,
	    .dstY = what->dstY,
	    .dstMemoryType = what->dstMemoryType,
	    .dstHost = what->dstHost,
	    .dstDevice = what->dstDevice,
	    .dstArray = what->dstArray,
	    .dstPitch = what->dstPitch ? what->dstPitch : what->WidthInBytes,
	    .WidthInBytes = what->WidthInBytes,
	    .Height = what->Height,
	    .Depth = 1,
	};
	return copy_blocks(&block, stream, is_async);
}

CUresult fake_cuMemcpy2D_v2(const CUDA_MEMCPY2D *what)
{
	return copy_rows(what, NULL, false);
}

CUresult fake_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *what)
{
	return copy_rows(what, NULL, false);
}

CUresult fake_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *what, CUstream stream)
{
	return copy_rows(what, stream, true);
}
