/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses of a process are CPython's evaluation loop. */
#pragma once

#include "binary/recorded/recorded_image.h"
#include "unwind/python/eval_parts.h"

/*
 * From where a process has the loop's function, and its size, and where that is in the file's image (place; 0 or image NULL: not known; then, and for a file that others may truncate (sn_recorded_image_open_file), the function alone is taken): the addresses of all parts in the process, into ranges. Their number.
 */
uint32_t sn_python_eval_ranges(const struct sn_recorded_image *image, uintptr_t place,
			       uint64_t eval, uint64_t bytes,
			       struct sn_address_range ranges[SN_EVAL_RANGES]);
