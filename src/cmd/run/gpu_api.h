/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's description of an accelerator's interface, for devices that Sonde has no adapter of: which functions of which
 * library are calls of it, by their C declarations (sonde-gpu-api(5)). A declaration says where each argument is passed,
 * which the collector needs to call the function from in between, and marks say what arguments mean.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

/*
 * Reads a description and writes it for the collector (adapters/configured/description.h). 0, or a negative enum sn_err with
 * a message that has the file's name and the line.
 */
int sn_gpu_api_read(const char *path, struct sn_buffer *out, struct sn_error *error);
