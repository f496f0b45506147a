/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP: work of the worker threads of a parallel region is below the code that started it. The
 * adapter need not attach: regions are detected by the functions that start them (gomp.c) or
 * reported by the runtime (ompt.c). SONDE_OPENMP=0 disables this.
 */
#include "openmp.h"

#include "collect/core/adapters.h"
#include "collect/core/line.h"

#include <errno.h>
#include <stdlib.h>

static _Atomic int wish; /* 0 not read yet, 1 yes, 2 no */

bool sn_openmp_wanted(void)
{
	int now = atomic_load_explicit(&wish, memory_order_relaxed);
	if (__builtin_expect(!now, 0)) {
		const char *value = getenv("SONDE_OPENMP");
		now = value && *value == '0' ? 2 : 1;
		atomic_store_explicit(&wish, now, memory_order_relaxed);
	}
	return now == 1;
}

static int openmp_attach(void)
{
	return sn_openmp_wanted() ? 0 : -ENOTSUP;
}

static const char *openmp_status(void)
{
	static char storage[256];
	struct sn_line line = SN_LINE(storage);
	const char *tool = sn_ompt_runtime();
	if (!sn_openmp_wanted())
		return "off: SONDE_OPENMP is 0";
	if (!tool && !sn_gomp_count())
		return "no OpenMP in this process";
	SN_LINE_ADD(&line, "workers below the code that starts their regions: ", tool,
		    tool && sn_gomp_count() ? ", " : NULL, sn_gomp_count() ? "libgomp" : NULL);
	return storage;
}

const struct sn_adapter sn_adapter_openmp = {
    .name = "openmp",
    .attach = openmp_attach,
    .status = openmp_status,
};
