/* SPDX-License-Identifier: Apache-2.0 */
/* Code of devices, kept in the measurement once for all its processes: analysis reads lines, inlined calls and loops from it. */
#include "gpu.h"

#include "collect/core/keep.h"
#include "collect/core/line.h"
#include "collect/record/own_file.h"
#include "collect/unwind/module_list.h"

#define MOST_KEPT ((uint64_t)1 << 30) /* bytes of code in the measurement, by one process */

static _Atomic uint64_t kept_bytes;

/* Of the budget: so much more, or nothing. */
static bool take(uint64_t bytes)
{
	if (atomic_fetch_add_explicit(&kept_bytes, bytes, memory_order_relaxed) + bytes <=
	    MOST_KEPT)
		return true;
	atomic_fetch_sub_explicit(&kept_bytes, bytes, memory_order_relaxed);
	return false;
}

uint32_t sn_gpu_keep_binary(const void *binary, size_t bytes, uint64_t number, const char *suffix)
{
	char name[64];
	struct sn_line line = SN_LINE(name);
	sn_line_add_in_base(&line, number, 16);
	sn_line_add(&line, suffix);
	if (!take(bytes))
		return SN_ID_NONE;
	int error = sn_own_text_leave(name, binary, bytes);
	if (error)
		atomic_fetch_sub_explicit(&kept_bytes, bytes, memory_order_relaxed);
	/* it may have been kept for another device, or by another process */
	if (error && error != -EEXIST)
		return SN_ID_NONE;
	/* on the program's stack there is no room for a path */
	size_t path_bytes = strlen(sn_config.output) + sizeof(name) + 1;
	struct sn_line path = {sn_keep(path_bytes), path_bytes, 0};
	if (!path.text)
		return SN_ID_NONE;
	SN_LINE_ADD(&path, sn_config.output, "/", name);
	uint32_t module = sn_module_add_file(path.text);
	return module == SN_MODULE_NONE ? SN_ID_NONE : module;
}
