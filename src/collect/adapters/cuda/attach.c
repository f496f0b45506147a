/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding CUPTI, and subscribing. The driver loads the library that CUDA_INJECTION64_PATH names at the end of cuInit, and
 * calls InitializeInjection there: before, CUPTI may not be called, for some of its releases crash then.
 */
#include "cuda.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <dlfcn.h>

struct sn_cupti sn_cupti;
static void *subscriber;
static _Atomic bool is_attached;
static _Atomic bool was_tried;
static char status[256];

static void say(const char *text, const char *more)
{
	struct sn_line line = SN_LINE(status);
	sn_line_add(&line, text);
	sn_line_add(&line, more);
}

/* ---- the library ---- */

/* One that the process has loaded: two in one process do not get on. Else that of the runtime's release, and then any. */
static void *open_library(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so"};
	uint32_t loaded = sn_module_by_name("libcupti.so");
	if (loaded != SN_MODULE_NONE)
		return dlopen(sn_module_at(loaded)->path, RTLD_NOW | RTLD_NOLOAD);
	void *library = NULL;
	for (size_t index = 0; index < sizeof(names) / sizeof(*names) && !library; index++)
		library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
	return library;
}

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
	sn_cupti.name = (sn_cupti_result(*) parameters)dlsym(library, #name);                      \
	if (!sn_cupti.name)                                                                        \
		return false;
	SN_CUPTI_FUNCTIONS(FIND)
#undef FIND
	return true;
}

/* ---- subscribing ---- */

static void subscribe_calls(uint32_t domain)
{
	const char *name;
	for (uint32_t cbid = 1; !sn_cupti.cuptiGetCallbackName(domain, cbid, &name) && name; cbid++)
		if (sn_cuda_wants_call(domain, name))
			sn_cupti.cuptiEnableCallback(1, subscriber, domain, cbid);
}

static const char *reason(sn_cupti_result error)
{
	switch (error) {
	case SN_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS:
		return "another tool holds CUPTI";
	case SN_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		return "the driver lets only administrators profile (RmProfilingAdminOnly)";
	case SN_CUPTI_ERROR_NOT_INITIALIZED:
		return "the driver is not initialised";
	default:
		return "CUPTI refuses";
	}
}

/* The first error: a driver may refuse records to a subscriber that it has let in. */
static sn_cupti_result enable_records(void)
{
	static const uint32_t kinds[] = {SN_CUPTI_CONCURRENT_KERNEL, SN_CUPTI_MEMCPY,
					 SN_CUPTI_MEMSET};
	sn_cupti_result error = SN_CUPTI_SUCCESS;
	for (size_t index = 0; index < sizeof(kinds) / sizeof(*kinds) && !error; index++)
		error = sn_cupti.cuptiActivityEnable(kinds[index]);
	/* what else is of use; a release may not have it */
	if (!error) {
		sn_cupti.cuptiActivityEnable(SN_CUPTI_SYNCHRONIZATION);
		sn_cupti.cuptiActivityEnable(SN_CUPTI_MEMORY2);
		sn_cupti.cuptiActivityEnable(SN_CUPTI_DEVICE);
	}
	return error;
}

static sn_cupti_result subscribe(void)
{
	sn_cupti_result error = sn_cupti.cuptiSubscribe(&subscriber, sn_cuda_on_call, NULL);
	if (error)
		return error;
	/* once in a process: registering it again corrupts records */
	sn_cupti.cuptiActivityRegisterTimestampCallback(sn_now_ns);
	sn_cupti.cuptiActivityRegisterCallbacks(sn_cuda_request_buffer, sn_cuda_complete_buffer);
	error = enable_records();
	if (error) {
		sn_cupti.cuptiUnsubscribe(subscriber);
		return error;
	}
	sn_cuda_graph_begin(subscriber);
	subscribe_calls(SN_CUPTI_RUNTIME);
	subscribe_calls(SN_CUPTI_DRIVER);
	return SN_CUPTI_SUCCESS;
}

static void attach(void)
{
	if (atomic_exchange_explicit(&was_tried, true, memory_order_relaxed) || !sn_measuring())
		return;
	void *library = open_library();
	if (!library || !find_functions(library)) {
		say(library ? "libcupti.so lacks a function that is needed"
			    : "no libcupti.so was found",
		    "");
		return;
	}
	sn_cupti_result error = subscribe();
	say(error ? reason(error)
		  : "CUPTI: kernels, copies and sets below the calls that launched them",
	    error ? "" : sn_cuda_graph_status());
	atomic_store_explicit(&is_attached, !error, memory_order_release);
}

/* The driver calls it at the end of cuInit. 1 for success. */
SN_EXPORT int InitializeInjection(void);
SN_EXPORT int InitializeInjection(void)
{
	attach();
	return 1;
}

/* ---- the adapter ---- */

static void cuda_detach(void)
{
	struct sn_thread *thread = sn_thread_self();
	if (!atomic_exchange_explicit(&is_attached, false, memory_order_acquire))
		return;
	/* a crash inside the driver holds its locks: then what CUPTI has not delivered is missing */
	if (!sn_ends_in_handler()) {
		sn_cupti.cuptiActivityFlushAll(0);
		sn_cupti.cuptiUnsubscribe(subscriber);
	}
	if (thread)
		sn_gpu_collect_all(thread);
}

/* CUPTI and its threads are the parent's. */
static void cuda_after_fork(void)
{
	atomic_store_explicit(&is_attached, false, memory_order_relaxed);
}

static const char *cuda_status(void)
{
	if (status[0])
		return status;
	return sn_module_by_name("libcuda.so") == SN_MODULE_NONE
		   ? "no CUDA driver in this process"
		   : "the program has not initialised CUDA";
}

const struct sn_adapter sn_adapter_cuda = {
    .name = "cuda",
    .detach = cuda_detach,
    .after_fork = cuda_after_fork,
    .status = cuda_status,
};
