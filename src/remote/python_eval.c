/* SPDX-License-Identifier: Apache-2.0 */
/* See python_eval.h. */
#include "python_eval.h"

enum { EVAL_MOST = 1 << 20 };

/* Whether the image has such an evaluation loop: its addresses come from a process that may be anything. */
static bool is_in_image(const struct sn_module *module, uintptr_t start, uint64_t bytes)
{
	for (uint32_t range = 0; range < module->readable_count; range++)
		if (start >= module->readable[range].start && start < module->readable[range].end &&
		    bytes <= module->readable[range].end - start)
			return bytes && bytes <= EVAL_MOST;
	return false;
}

uint32_t sn_python_eval_ranges(const struct sn_recorded_image *image, uintptr_t place,
			       uint64_t eval, uint64_t bytes,
			       struct sn_address_range ranges[SN_EVAL_RANGES])
{
	uint32_t count = 1;
	ranges[0] = (struct sn_address_range){eval, eval + bytes};
	/* its parts are looked for in the image itself, which others may truncate unless it is permanent */
	if (!image || !image->module.is_permanent || !is_in_image(&image->module, place, bytes))
		return count;
	struct sn_module module = image->module;
	module.start = (uintptr_t)image->memory;
	module.end = module.start + image->bytes;
	ranges[0] = (struct sn_address_range){place, place + bytes};
	sn_python_eval_parts(&module, ranges, &count);
	for (uint32_t range = 0; range < count; range++) {
		ranges[range].start += eval - place;
		ranges[range].end += eval - place;
	}
	return count;
}
