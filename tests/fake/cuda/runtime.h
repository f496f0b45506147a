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

/* The memory of an array, from an element on; an element's bytes. */
FAKE_LOCAL struct fake_rows fake_array_rows(cudaArray_const_t array, struct cudaPos at);
FAKE_LOCAL size_t fake_array_element(cudaArray_const_t array);

#endif
