/* SPDX-License-Identifier: Apache-2.0 */
/* FAKE_RELEASE is the compiler's: -DFAKE_RELEASE=13_2. */
#include "release.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#define INDEX(name)  INDEX_(name)
#define INDEX_(name) RELEASE_##name

enum {
#define RELEASE(name, ...) INDEX_(name),
#include "releases.def"
#undef RELEASE
};

static const struct fake_release releases[] = {
#define RELEASE(name, ...) [INDEX_(name)] = {__VA_ARGS__},
#include "releases.def"
#undef RELEASE
};

const struct fake_release *const fake_release = &releases[INDEX(FAKE_RELEASE)];

size_t fake_release_bytes(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return fake_fails("short-records") ? 128 : fake_release->kernel;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return fake_release->copy;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(PEER_RECORD);
	case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
		/* a field more since 12.9 */
		return fake_release->version < 28 ? offsetof(MANAGED_RECORD, processors)
						  : sizeof(MANAGED_RECORD);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return fake_release->set;
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return fake_release->wait;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return fake_release->graph;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return fake_release->overhead;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return fake_release->memory;
	case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
		return fake_release->pool;
	case CUPTI_ACTIVITY_KIND_JIT:
		return fake_release->jit;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		return fake_release->device;
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return sizeof(CUpti_ActivityExternalCorrelation);
	default:
		return 0;
	}
}

/* Releases from 13.0 on have lost some. */
bool fake_release_has_kind(unsigned kind)
{
	static const uint8_t gone[] = {6,  7,  14, 15, 16, 21, 23, 24,
				       29, 30, 31, 32, 41, 42, 43, 44};
	if (!kind || kind >= fake_release->kinds)
		return false;
	for (size_t index = 0; fake_release->version >= 130000 && index < sizeof(gone); index++)
		if (gone[index] == kind)
			return false;
	return true;
}

uint32_t fake_release_call(enum fake_domain domain, uint32_t cbid)
{
	if (domain == FAKE_DRIVER)
		return cbid < fake_release->driver_calls ? cbid : 0;
	if (cbid < fake_release->runtime_calls)
		return cbid;
	switch (cbid) {
	case CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000:
		return CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
	case CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000:
		return CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000;
	default:
		return 0;
	}
}

/* ---- without a driver ---- */

/* Where it is to be strict, a driver that is there and not initialised is none. */
static bool has_driver(void)
{
	if (fake_device_has_begun())
		return true;
	const char *error = getenv("FAKE_CUINIT_ERROR");
	if (fake_fails("strict") || (error && *error))
		return false;
	return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

CUptiResult fake_refused(bool is_free)
{
	if (has_driver())
		return CUPTI_SUCCESS;
	switch (fake_release->without_driver) {
	case FAKE_CRASHES:
		raise(SIGSEGV);
		abort();
	case FAKE_ANSWERS_999:
		return CUPTI_ERROR_UNKNOWN;
	case FAKE_SUBSCRIBES_999:
		return is_free ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
	default:
		return is_free ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_INITIALIZED;
	}
}
