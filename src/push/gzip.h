/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in the format of gzip, for a body that travels. */
#pragma once

#include "base/buffer.h"

/* Appends them. False in a build without zlib, or without memory: nothing was appended. */
bool sn_gzip(const void *bytes, size_t length, struct sn_buffer *out);
