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
/* The newest version of a function, by the name that is in documentation; NULL where there is none. */
void *fake_driver_function(void *driver, const char *name);

/* The memory of an array, from an element on; an element's bytes. */
FAKE_LOCAL struct fake_rows fake_array_rows(cudaArray_const_t array, struct cudaPos at);
FAKE_LOCAL size_t fake_array_element(cudaArray_const_t array);

#endif
