/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: what is copied to them, in rows without gaps. */
#include "runtime.h"

#include <stdlib.h>

static size_t at_least_one(size_t count)
{
	return count ? count : 1;
}

int fake_array_new(struct cudaArray **array, const struct cudaChannelFormatDesc *format,
		   struct cudaExtent extent, unsigned flags)
{
	size_t element = (size_t)(format->x + format->y + format->z + format->w) / 8;
	if (!element || !extent.width)
		return CUDA_ERROR_INVALID_VALUE;
	struct cudaArray made = {*format, extent, flags, element, extent.width * element, NULL};
	fake_module_use(fake_current_device(), NULL);
	made.memory =
	    fake_memory_new(made.pitch * at_least_one(extent.height) * at_least_one(extent.depth),
			    FAKE_ARRAY, fake_current_device());
	if (!made.memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*array = malloc(sizeof(**array));
	**array = made;
	return CUDA_SUCCESS;
}

void fake_array_free(struct cudaArray *array)
{
	fake_device_wait(fake_current_device());
	fake_memory_free(array->memory);
	free(array);
}

struct fake_rows fake_array_rows(const struct cudaArray *array, size_t x, size_t y, size_t z)
{
	size_t block_bytes = array->pitch * at_least_one(array->extent.height);
	return (struct fake_rows){array->memory + z * block_bytes + y * array->pitch + x,
				  array->pitch, block_bytes};
}
