/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls: each is a frame while it runs, and what it launches is found by its number. */
#include "cuda.h"

#include "collect/core/callpath.h"
#include "collect/record/trace.h"

#include <string.h>

/* A call in a call (the runtime's in the driver) has no frame of its own. */
static __thread struct {
	struct sn_thread *thread;
	uint64_t start_ns;
	uint32_t node, correlation, shadow_depth;
	uint32_t depth;
} current __attribute__((tls_model("initial-exec")));

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Calls that launch something, wait, or take long. What only asks or sets is not heard: that would cost more than the call. */
bool sn_cuda_wants_call(uint32_t domain, const char *name)
{
	static const char *const runtime[] = {"cudaLaunch",
					      "__cudaLaunchKernel",
					      "cudaGraphLaunch",
					      "cudaMemcpy",
					      "cudaMemset",
					      "cudaMalloc",
					      "cudaFree",
					      "cudaHostAlloc",
					      "cudaHostRegister",
					      "cudaDeviceSynchronize",
					      "cudaStreamSynchronize",
					      "cudaEventSynchronize",
					      "cudaGraphInstantiate",
					      "cudaStreamWaitEvent",
					      "cudaMemPrefetch",
					      "cudaLibraryLoad"};
	static const char *const driver[] = {
	    "cuLaunch",		  "cuGraphLaunch",	"cuMemcpy",	    "cuMemset",
	    "cuMemAlloc",	  "cuMemFree",		"cuCtxSynchronize", "cuStreamSynchronize",
	    "cuEventSynchronize", "cuGraphInstantiate", "cuModuleLoad",	    "cuLibraryLoad",
	    "cuMemPrefetch"};
	const char *const *names = domain == SN_CUPTI_RUNTIME ? runtime : driver;
	size_t count = domain == SN_CUPTI_RUNTIME ? sizeof(runtime) / sizeof(*runtime)
						  : sizeof(driver) / sizeof(*driver);
	for (size_t index = 0; index < count; index++)
		if (begins_with(name, names[index]))
			return true;
	return false;
}

/* CUPTI, the runtime or the driver. */
static bool is_of_cuda(uintptr_t pc)
{
	static _Atomic uint64_t known
	    [64]; /* the index of a module + 1, and whether it is, for the last bits of the index */
	uint32_t index = sn_module_find(pc);
	if (index == SN_MODULE_NONE)
		return false;
	uint64_t entry = atomic_load_explicit(&known[index % 64], memory_order_relaxed);
	if (entry >> 1 == (uint64_t)index + 1)
		return entry & 1;
	const char *path = sn_module_at(index)->path, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	bool is = begins_with(name, "libcupti") || begins_with(name, "libcuda");
	atomic_store_explicit(&known[index % 64], ((uint64_t)index + 1) << 1 | is,
			      memory_order_relaxed);
	return is;
}

static void enter(const struct sn_cupti_call *call)
{
	struct sn_thread *thread = sn_enter();
	current.thread = NULL;
	if (!thread)
		return;
	struct sn_cuda_thread *state = sn_cuda_thread(thread);
	/* a runtime that is linked statically is in no library, but has the parameters in its frame */
	struct sn_callpath_call of_call = {is_of_cuda, (uintptr_t)call->parameters, 0};
	uint32_t path = state ? sn_callpath_of_call(thread, &of_call) : SN_NODE_NONE;
	if (path != SN_NODE_NONE) {
		struct sn_frame frame = {
		    .kind = SN_FRAME_GPU_API,
		    .id = sn_cct_string(&thread->cct, call->name, strlen(call->name))};
		current.node = sn_cct_child(&thread->cct, path, &frame);
		if (current.node != SN_NODE_NONE) {
			struct sn_shadow *shadow = sn_shadow_push(
			    thread, &frame, of_call.stack ? of_call.stack : (uintptr_t)call);
			if (shadow)
				shadow->node = current.node;
			current.shadow_depth = thread->shadow_depth;
			current.thread = thread;
			current.correlation = call->correlation;
			sn_cuda_launch(state, call->correlation, current.node);
		}
	}
	sn_leave(thread);
	current.start_ns = sn_now_ns();
}

static void leave(void)
{
	uint64_t end_ns = sn_now_ns();
	struct sn_thread *thread = current.thread;
	if (!thread || !sn_enter())
		return;
	/* with whatever the program's own callbacks left open in between */
	if (thread->shadow_depth >= current.shadow_depth)
		thread->shadow_depth = current.shadow_depth - 1;
	sn_cuda_add_call(thread, current.node, current.correlation, current.start_ns, end_ns);
	sn_cuda_collect(sn_cuda_thread(thread));
	sn_leave(thread);
}

void sn_cuda_on_call(void *unused, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct sn_cupti_call *call = data;
	(void)unused, (void)domain, (void)cbid;
	if (call->site == 0) {
		if (!current.depth++)
			enter(call);
		else if (current.thread)
			sn_cuda_launch(sn_cuda_thread(current.thread), call->correlation,
				       current.node);
	} else if (current.depth && !--current.depth) {
		leave();
	}
}
