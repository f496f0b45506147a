/* SPDX-License-Identifier: Apache-2.0 */
/* What the libraries of mathematics have in common. All give 0. */
#ifndef FAKE_COMPUTE_H
#define FAKE_COMPUTE_H

#include "../device/kernels.h"

/* As their functions are called that do this; `unused` is there so that all have two parameters. */
int fake_handle_Create(void *handle, void *unused);
int fake_handle_Destroy(void *handle, void *unused);
int fake_handle_SetStream(void *handle, void *stream);
int fake_handle_GetStream(void *handle, void *stream);
/* One kernel of this name in the stream of the handle, or in a stream. */
int fake_compute(void *handle, const char *name);
int fake_compute_in(void *stream, const char *name);

#endif
