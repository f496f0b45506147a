/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls: which of them are heard, and what CUPTI tells of each. */
#include "managed.h"
#include "pc_sampling.h"
#include "pm_sampling.h"
#include "range_counters.h"

#include "collect/core/line.h"

#include <string.h>

/* `starts` ends with NULL. */
static bool begins_with_one(const char *name, const char *const *starts)
{
	while (*starts && !sn_begins_with(name, *starts))
		starts++;
	return *starts;
}

/* Those that make nodes, each of which is then below its line. */
static bool makes_nodes(const char *name)
{
	return sn_config.gpu_graph_nodes &&
	       (sn_begins_with(name, "cudaGraphAdd") || sn_begins_with(name, "cuGraphAdd"));
}

/* Those beside which samples are not read. */
static bool unloads(const char *name)
{
	return sn_config.gpu_samples &&
	       (sn_begins_with(name, "cuModuleUnload") || sn_begins_with(name, "cuLibraryUnload") ||
		sn_begins_with(name, "cudaLibraryUnload"));
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
					      "cudaLibraryLoad",
					      NULL};
	static const char *const driver[] = {"cuLaunch",	   "cuGraphLaunch",
					     "cuMemcpy",	   "cuMemset",
					     "cuMemAlloc",	   "cuMemFree",
					     "cuCtxSynchronize",   "cuStreamSynchronize",
					     "cuEventSynchronize", "cuGraphInstantiate",
					     "cuModuleLoad",	   "cuLibraryLoad",
					     "cuMemPrefetch",	   NULL};
	return begins_with_one(name, domain == SN_CUPTI_RUNTIME ? runtime : driver) ||
	       makes_nodes(name) || unloads(name) || sn_cuda_counters_want_call(name);
}

/* CUPTI, the runtime or the driver. */
static bool is_of_cuda(uint32_t module)
{
	static struct sn_gpu_modules modules = {.prefixes = {"libcupti", "libcuda"}};
	return sn_gpu_is_inside(&modules, module);
}

struct sn_gpu_interface sn_cuda =
    SN_GPU_INTERFACE(cuda, .device = "CUDA device ", .is_inside = is_of_cuda);

bool sn_cuda_is_launch(const char *name)
{
	static const char *const starts[] = {"cudaLaunchKernel",
					     "__cudaLaunchKernel",
					     "cuLaunchKernel",
					     "cudaLaunchCooperativeKernel",
					     "cuLaunchCooperativeKernel",
					     NULL};
	return begins_with_one(name, starts) && !strstr(name, "MultiDevice");
}

/* Mostly one record comes of them. */
static bool is_copy_set_or_graph(const char *name)
{
	static const char *const starts[] = {"cudaMemcpy", "cudaMemset",      "cuMemcpy",
					     "cuMemset",   "cudaGraphLaunch", "cuGraphLaunch",
					     NULL};
	return begins_with_one(name, starts);
}

#define CALLS 1024u
static uint8_t expected[SN_CUPTI_RUNTIME + 1][CALLS]; /* enum sn_gpu_expectation */

void sn_cuda_note_call(uint32_t domain, uint32_t cbid, const char *name)
{
	sn_cuda_samples_note_call(domain, cbid, name);
	sn_cuda_managed_note_call(domain, cbid, name);
	sn_cuda_counters_note_call(domain, cbid, name);
	sn_cuda_size_note_call(domain, cbid, name);
	if (cbid < CALLS)
		expected[domain][cbid] = sn_cuda_is_launch(name)      ? SN_GPU_CERTAIN
					 : is_copy_set_or_graph(name) ? SN_GPU_PROBABLE
								      : SN_GPU_NOT_EXPECTED;
}

static void enter(const struct sn_cupti_call *call, enum sn_gpu_expectation expectation)
{
	bool is_launch = expectation == SN_GPU_CERTAIN;
	if (is_launch)
		sn_cuda_check_launch(call->correlation);
	sn_gpu_call_enter(&sn_cuda, &(struct sn_gpu_api_call){.name = call->name,
							      .correlation = call->correlation,
							      .object = (uintptr_t)call->parameters,
							      .stack = (uintptr_t)call,
							      .expected = expectation,
							      .is_kernel = is_launch});
}

void sn_cuda_on_call(void *unused, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct sn_cupti_call *call = data;
	(void)unused;
	if (domain == SN_CUPTI_RESOURCE) {
		sn_cuda_samples_on_resource(cbid, data);
		sn_cuda_counters_on_resource(cbid, data);
		sn_cuda_managed_on_resource(cbid, data);
		sn_cuda_on_graph(cbid, data);
		/* the stream is captured: what is launched runs when the graph does */
		if (cbid == SN_CUPTI_GRAPH_NODE_CREATED)
			sn_gpu_call_waits();
		return;
	}
	enum sn_gpu_expectation expectation =
	    cbid < CALLS ? expected[domain][cbid] : SN_GPU_NOT_EXPECTED;
	bool is_sampled = atomic_load_explicit(&sn_cuda_samples_are_on, memory_order_relaxed);
	bool is_counted = atomic_load_explicit(&sn_cuda_counters_are_on, memory_order_relaxed);
	bool is_over_time = atomic_load_explicit(&sn_cuda_metrics_are_on, memory_order_relaxed);
	if (call->site == 0) {
		if (is_over_time)
			sn_cuda_metrics_before_call(call);
		if (expectation == SN_GPU_PROBABLE &&
		    sn_cuda_moves_nothing(domain, cbid, call->parameters))
			expectation = SN_GPU_NOT_EXPECTED;
		enter(call, expectation);
		sn_cuda_managed_on_call(domain, cbid, call);
		if (is_sampled)
			sn_cuda_samples_before_call(domain, cbid);
		if (is_counted)
			sn_cuda_counters_before_call(domain, cbid, call);
		return;
	}
	sn_cuda_managed_on_call(domain, cbid, call);
	if (is_counted)
		sn_cuda_counters_after_call(domain, cbid, call);
	/* cudaError_t and CUresult: 0 is success */
	if (call->result && *(const int *)call->result)
		sn_gpu_expect_none(&sn_cuda, call->correlation);
	sn_gpu_call_exit();
	if (is_sampled)
		sn_cuda_samples_after_call(domain, cbid, call, expectation == SN_GPU_CERTAIN);
	if (is_over_time)
		sn_cuda_metrics_after_call();
}
