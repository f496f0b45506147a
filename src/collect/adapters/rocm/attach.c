/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Being a tool of rocprofiler-sdk. It calls rocprofiler_configure of all tools in the process when the first runtime of AMD's
 * registers itself, and then initialises them. What is configured there holds until the process ends.
 */
#include "pc_sampling.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <dlfcn.h>

#define BUFFER_BYTES ((size_t)4 << 20) /* some 20,000 kernels */
#define WATERMARK    (BUFFER_BYTES / 2)

struct sn_rocprofiler sn_rocprofiler;
static uint64_t context, buffer;
static _Atomic bool was_tried, is_attached, is_ending, has_table;
static char status[640];
static bool has_samples; /* what becomes of samples is to be said behind it */

static void say(const char *text, const char *more, const char *last)
{
	struct sn_line line = SN_LINE(status);
	has_samples = false;
	SN_LINE_ADD(&line, text, more, last);
}

bool sn_rocm_has_records(void)
{
	return atomic_load_explicit(&is_attached, memory_order_acquire);
}

bool sn_rocm_has_table(void)
{
	return atomic_load_explicit(&has_table, memory_order_relaxed);
}

void sn_rocm_set_table(void)
{
	atomic_store_explicit(&has_table, true, memory_order_relaxed);
}

void sn_rocm_without_records(const char *reason)
{
	if (!status[0])
		say(sn_config.gpu_counter_count
			? "calls only, kernels have no times and no counters: "
			: "calls only, kernels have no times: ",
		    reason, "");
}

/* ---- configuring ---- */

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
	sn_rocprofiler.name = (sn_rocprofiler_status(*) parameters)dlsym(library, #name);          \
	if (!sn_rocprofiler.name)                                                                  \
		return false;
	SN_ROCPROFILER_FUNCTIONS(FIND)
#undef FIND
	return true;
}

/* The library that has this function: there may be several in the process. NULL: it is not one. */
static void *find_library(uintptr_t inside)
{
	uint32_t index = sn_module_find_or_refresh(inside);
	void *library = index == SN_MODULE_NONE
			    ? NULL
			    : dlopen(sn_module_at(index)->path, RTLD_NOW | RTLD_NOLOAD);
	return library && find_functions(library) ? library : NULL;
}

static bool create(void)
{
	return !sn_rocprofiler.rocprofiler_create_context(&context) &&
	       !sn_rocprofiler.rocprofiler_create_buffer(context, BUFFER_BYTES, WATERMARK,
							 SN_ROCPROFILER_BLOCKS, sn_rocm_on_records,
							 NULL, &buffer);
}

static bool configure(void)
{
	size_t count;
	const int32_t *calls = sn_rocm_wanted_calls(&count);
	sn_rocprofiler.rocprofiler_query_available_agents(
	    SN_ROCPROFILER_AGENT_VERSION, sn_rocm_on_agents, sizeof(struct sn_rocprofiler_agent),
	    NULL);
	bool is_done =
	    count &&
	    !sn_rocprofiler.rocprofiler_configure_callback_tracing_service(
		context, SN_ROCPROFILER_CALLBACK_HIP, calls, count, sn_rocm_on_call, NULL) &&
	    !sn_rocprofiler.rocprofiler_configure_callback_tracing_service(
		context, SN_ROCPROFILER_CALLBACK_CODE_OBJECT, NULL, 0, sn_rocm_on_code_object,
		NULL) &&
	    !sn_rocprofiler.rocprofiler_configure_buffer_tracing_service(
		context, SN_ROCPROFILER_BUFFER_KERNEL, NULL, 0, buffer) &&
	    !sn_rocprofiler.rocprofiler_configure_buffer_tracing_service(
		context, SN_ROCPROFILER_BUFFER_COPY, NULL, 0, buffer);
	if (is_done)
		sn_rocm_hear_streams(context);
	return is_done;
}

static void say_what_is_measured(void)
{
	struct sn_line line = SN_LINE(status);
	SN_LINE_ADD(&line,
		    "rocprofiler-sdk: kernels, copies and sets below the calls that launched them",
		    sn_rocm_counters_status(),
		    sn_config.gpu_graph_nodes ? "; graphs node by node"
					      : "; graphs as a whole (--gpu-graphs)",
		    sn_rocm_hears_streams() ? "" : "; streams are queues of the hardware");
	has_samples = true;
}

/* The SDK calls it once. Not 0: what was configured is to be forgotten. */
static int initialize(void (*finalizer)(void), void *unused)
{
	(void)unused;
	void *library = find_library((uintptr_t)finalizer);
	if (!library) {
		sn_rocm_without_records("rocprofiler-sdk lacks a function that is needed");
		return -1;
	}
	if (!create() || !configure() || sn_rocprofiler.rocprofiler_start_context(context)) {
		sn_rocm_without_records("rocprofiler-sdk refuses");
		return -1;
	}
	sn_rocm_counters_begin(library);
	sn_rocm_samples_begin(library);
	say_what_is_measured();
	atomic_store_explicit(&is_attached, true, memory_order_release);
	return 0;
}

/* ---- ending ---- */

static _Atomic bool has_last_records;

static void end_all(void)
{
	sn_rocm_counters_end();
	sn_rocprofiler.rocprofiler_stop_context(context);
	sn_rocprofiler.rocprofiler_flush_buffer(buffer);
	atomic_store_explicit(&has_last_records, true, memory_order_relaxed);
	sn_rocm_samples_end();
}

/* The SDK may never answer: the program ends nevertheless, after some 3 seconds. */
static void end(void)
{
	if (!sn_rocm_has_records() ||
	    atomic_exchange_explicit(&is_ending, true, memory_order_relaxed))
		return;
	if (!sn_rocm_run_bounded(end_all))
		say("rocprofiler-sdk did not deliver its last ",
		    atomic_load_explicit(&has_last_records, memory_order_relaxed)
			? "samples in 3 seconds"
			: "records in 3 seconds",
		    "");
	sn_rocm_graphs_end();
	sn_rocm_counters_give_up();
	atomic_store_explicit(&is_attached, false, memory_order_release);
}

/* When the process exits, before the SDK itself ends: after it there are no records. */
static void finalize(void *unused)
{
	(void)unused;
	end();
}

/* ---- a tool among others ---- */

static bool is_known_version(uint32_t version)
{
	if (version / 10000 == SN_ROCPROFILER_MAJOR)
		return true;
	sn_rocm_without_records("rocprofiler-sdk is of another major version than 1");
	return false;
}

/* NULL: the SDK forgets us. */
SN_PUBLIC(struct sn_rocprofiler_tool *, rocprofiler_configure,
	  (uint32_t version, const char *text, uint32_t priority,
	   struct sn_rocprofiler_client *client))
{
	static struct sn_rocprofiler_tool tool = {sizeof(tool), initialize, finalize, NULL};
	(void)text, (void)priority;
	if (!sn_measuring() || atomic_exchange_explicit(&was_tried, true, memory_order_relaxed) ||
	    !is_known_version(version))
		return NULL;
	client->name = "sonde";
	return &tool;
}

/* ---- the adapter ---- */

static void rocm_detach(void)
{
	struct sn_thread *thread = sn_thread_self();
	atomic_store_explicit(&has_table, false, memory_order_relaxed);
	/* a crash inside the runtime holds its locks: then what the SDK has not delivered is missing */
	if (!sn_ends_in_handler())
		end();
	atomic_store_explicit(&is_attached, false, memory_order_release);
	if (thread)
		sn_gpu_collect_all(thread);
}

/* The SDK's threads are the parent's. */
static void rocm_after_fork(void)
{
	atomic_store_explicit(&is_attached, false, memory_order_relaxed);
}

static const char *rocm_status(void)
{
	static char whole[1200];
	struct sn_line line = SN_LINE(whole);
	if (has_samples) {
		SN_LINE_ADD(&line, status, sn_rocm_samples_said());
		return whole;
	}
	if (status[0])
		return status;
	return sn_module_by_name("libamdhip64") == SN_MODULE_NONE
		   ? "no HIP in this process"
		   : "the program has called nothing of HIP, or its HIP registers with no tools "
		     "(before 6.2)";
}

const struct sn_adapter sn_adapter_rocm = {
    .name = "rocm",
    .detach = rocm_detach,
    .after_fork = rocm_after_fork,
    .status = rocm_status,
};
