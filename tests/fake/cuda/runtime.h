/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the runtime share. */
#ifndef FAKE_RUNTIME_H
#define FAKE_RUNTIME_H

#include "../device/kernels.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

/* Starts the driver; its error, every time. */
FAKE_LOCAL cudaError_t fake_begin(void);
/* Keeps it for cudaGetLastError(). */
FAKE_LOCAL cudaError_t fake_error(cudaError_t error);
/* Of an attribute with one number in both interfaces; an error of either. */
int fake_device_attribute(int *value, int attribute, int device);

/* A form of a function of the driver's: by its name without a version, and the version of CUDA that first had it. The generated source has all,
 * in the order of names and the newest first, and after them one without a name. */
struct fake_entry_point {
	const char *name;
	int version;
	bool is_per_thread; /* for the default stream of each thread */
	void *function;
};
FAKE_LOCAL extern const struct fake_entry_point fake_entry_points[];
/* What the driver, once it is loaded, finds for whoever asks; an error of both interfaces. The runtime asks past what programs can see. */
extern int (*fake_find_entry)(const char *name, void **function, int version, uint64_t flags,
			      int *result);

/* A conditional node of either interface, by its numbers, which are the same; NULL where these are wrong. */
const struct fake_node *fake_conditional(struct fake_graph *graph, uint64_t handle, int type,
					 uint32_t bodies, const uint32_t *after,
					 uint32_t after_count);

/* An array of either interface: a CUarray is the same. */
struct cudaArray {
	struct cudaChannelFormatDesc format;
	struct cudaExtent extent; /* as it was given: 0 for a dimension that it has not */
	unsigned flags;
	size_t element, pitch; /* bytes */
	char *memory;
};
/* An error of either interface. */
int fake_array_new(struct cudaArray **array, const struct cudaChannelFormatDesc *format,
		   struct cudaExtent extent, unsigned flags);
/* Waits for the device. */
void fake_array_free(struct cudaArray *array);
/* Its memory from a place on; `x` in bytes. */
struct fake_rows fake_array_rows(const struct cudaArray *array, size_t x, size_t y, size_t z);

/* Where a copy of the driver's goes, and whence it comes. */
FAKE_LOCAL void fake_copy_ends(const CUDA_MEMCPY3D *what, struct fake_rows *to,
			       struct fake_rows *from);

#endif
