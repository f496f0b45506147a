/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding CUPTI, subscribing, and ending that. The driver loads the library that CUDA_INJECTION64_PATH names at the end of cuInit, and
 * calls InitializeInjection there: before, CUPTI may not be called, for some of its releases crash then.
 */
#include "managed.h"
#include "pc_sampling.h"
#include "pm_sampling.h"
#include "range_counters.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

struct sn_cupti sn_cupti;
_Atomic bool sn_cuda_is_taking;
static _Atomic bool is_attached;
static _Atomic bool was_tried;
static const char *hardware_times = "";
static uint64_t attached_ns; /* when */

uint64_t sn_cuda_attached_ns(void)
{
	return sn_now_ns() - attached_ns;
}

/* ---- the library ---- */

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
	sn_cupti.name = (sn_cupti_result(*) parameters)sn_real_dlsym(library, #name);              \
	if (!sn_cupti.name)                                                                        \
		return false;
	SN_CUPTI_FUNCTIONS(FIND)
#undef FIND
	return true;
}

/* True where all of them are there. */
static bool find_sharing_functions(void *library)
{
	bool are_all = true;
#define FIND(name, parameters)                                                                     \
	sn_cupti.name = (sn_cupti_result(*) parameters)sn_real_dlsym(library, #name);              \
	are_all = are_all && sn_cupti.name;
	SN_CUPTI_SHARING_FUNCTIONS(FIND)
#undef FIND
	return are_all;
}

/* ---- subscribing ---- */

static void subscribe_calls(uint32_t domain)
{
	const char *name;
	for (uint32_t cbid = 1; !sn_cupti.cuptiGetCallbackName(domain, cbid, &name) && name; cbid++)
		if (sn_cuda_wants_call(domain, name)) {
			sn_cuda_note_call(domain, cbid, name);
			sn_cupti.cuptiEnableCallback(1, sn_cupti.subscriber, domain, cbid);
		}
}

static const char *reason(sn_cupti_result error)
{
	switch (error) {
	case SN_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		return "the driver lets only administrators profile (RmProfilingAdminOnly)";
	case SN_CUPTI_ERROR_NOT_INITIALIZED:
		return "the driver is not initialised";
	case SN_CUPTI_ERROR_HARDWARE_BUSY:
		return "another tool has the device's performance monitors";
	case SN_CUPTI_ERROR_VIRTUAL_DEVICE:
		return "CUPTI does not profile a virtual GPU (vGPU)";
	case SN_CUPTI_ERROR_CONFIDENTIAL_COMPUTING:
		return "CUPTI does not profile while confidential computing is on";
	case SN_CUPTI_ERROR_MIG_DEVICE:
		return "CUPTI does not profile an instance of a divided GPU (MIG)";
	default:
		return "CUPTI refuses";
	}
}

/* The last ones are of use, but a release may not have them. */
static const uint32_t kinds[] = {
    SN_CUPTI_CONCURRENT_KERNEL, SN_CUPTI_MEMCPY,  SN_CUPTI_MEMSET, SN_CUPTI_PEER_MEMCPY,
    SN_CUPTI_SYNCHRONIZATION,	SN_CUPTI_MEMORY2, SN_CUPTI_DEVICE, SN_CUPTI_OVERHEAD};
enum { NEEDED_KINDS = 3 };

sn_cupti_result sn_cuda_enable(uint32_t kind)
{
	return sn_cupti.shares ? sn_cupti.cuptiActivityEnable_v2(sn_cupti.subscriber, kind, NULL)
			       : sn_cupti.cuptiActivityEnable(kind);
}

static void disable(uint32_t kind)
{
	if (sn_cupti.shares)
		sn_cupti.cuptiActivityDisable_v2(sn_cupti.subscriber, kind, NULL);
	else
		sn_cupti.cuptiActivityDisable(kind);
}

/* Before any record is asked for, and before the program has a context: so it is decided without knowing the device. */
static const char *enable_hardware_times(void *library)
{
	sn_cupti_result (*enable)(uint8_t) = sn_real_dlsym(library, "cuptiActivityEnableHWTrace");
	sn_cupti_result (*set)(void *, uint32_t, size_t *, void *) =
	    sn_real_dlsym(library, "cuptiActivitySetAttribute_v2");
	uint8_t on = 1;
	size_t bytes = sizeof(on);
	sn_cupti_result error = SN_CUPTI_ERROR_NOT_INITIALIZED;
	if (!sn_config.gpu_hardware_times)
		return "";
	if (sn_cupti.shares && set)
		error = set(sn_cupti.subscriber, SN_CUPTI_HARDWARE_TIMES, &bytes, &on);
	else if (enable)
		error = enable(on);
	return error ? "; no times by events of the hardware: CUPTI refuses"
		     : "; times by events of the hardware";
}

/* The first error: a driver may refuse records to a subscriber that it has let in. */
static sn_cupti_result enable_records(void)
{
	sn_cupti_result error = SN_CUPTI_SUCCESS;
	for (size_t index = 0; index < sizeof(kinds) / sizeof(*kinds) && !error; index++) {
		/* its reader frees what it points to: with several, nobody says which of them */
		if (kinds[index] == SN_CUPTI_OVERHEAD && sn_cupti.shares)
			continue;
		sn_cupti_result one = sn_cuda_enable(kinds[index]);
		error = index < NEEDED_KINDS ? one : SN_CUPTI_SUCCESS;
	}
	return error;
}

static void disable_records(void)
{
	for (size_t index = 0; index < sizeof(kinds) / sizeof(*kinds); index++)
		disable(kinds[index]);
	disable(SN_CUPTI_GRAPH_TRACE);
	disable(SN_CUPTI_MANAGED);
}

/* With others where that is possible; else alone. CUPTI may tell who is subscribed already. */
static sn_cupti_result subscribe_as(char *holder, size_t holder_bytes)
{
	if (sn_cuda_is_held())
		return SN_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS;
	struct sn_cupti_subscriber parameters = {.bytes = SN_CUPTI_SUBSCRIBER_FIRST_BYTES,
						 .name = "Sonde",
						 .holder = holder,
						 .holder_bytes = holder_bytes};
	if (!sn_cupti.cuptiSubscribe_v2)
		return sn_cupti.cuptiSubscribe(&sn_cupti.subscriber, sn_cuda_on_call, NULL);
	if (sn_cupti.shares) {
		parameters.bytes = sizeof(parameters);
		parameters.shares = 1;
	}
	return sn_cupti.cuptiSubscribe_v2(&sn_cupti.subscriber, sn_cuda_on_call, NULL, &parameters);
}

static sn_cupti_result subscribe(void *library, char *holder, size_t holder_bytes)
{
	sn_cupti_result error = subscribe_as(holder, holder_bytes);
	if (error)
		return error;
	atomic_store_explicit(&sn_cuda_is_taking, true, memory_order_release);
	if (sn_cupti.shares)
		sn_cupti.cuptiActivityRegisterCallbacks_v2(
		    sn_cupti.subscriber, sn_cuda_request_buffer_v2, sn_cuda_complete_buffer_v2);
	else
		sn_cupti.cuptiActivityRegisterCallbacks(sn_cuda_request_buffer,
							sn_cuda_complete_buffer);
	hardware_times = enable_hardware_times(library);
	error = enable_records();
	if (error) {
		disable_records(); /* some of them may be on, and not all kinds are a subscriber's */
		atomic_store_explicit(&sn_cuda_is_taking, false, memory_order_relaxed);
		sn_cupti.cuptiUnsubscribe(sn_cupti.subscriber);
		return error;
	}
	sn_cuda_graph_begin();
	sn_cuda_managed_begin(library);
	sn_cuda_samples_begin(library);
	sn_cuda_counters_begin(library);
	sn_cuda_metrics_begin(library);
	subscribe_calls(SN_CUPTI_RUNTIME);
	subscribe_calls(SN_CUPTI_DRIVER);
	sn_cupti.cuptiEnableCallback(1, sn_cupti.subscriber, SN_CUPTI_RESOURCE,
				     SN_CUPTI_GRAPH_NODE_CREATED);
	return SN_CUPTI_SUCCESS;
}

static void attach_cupti(void)
{
	char holder[128] = "";
	void *library = sn_cuda_open_library();
	if (!library || !find_functions(library)) {
		sn_cuda_say(library ? "libcupti.so lacks a function that is needed"
				    : "no libcupti.so was found",
			    NULL);
		return;
	}
	sn_cupti.shares = find_sharing_functions(library);
	sn_cupti_result error = subscribe(library, holder, sizeof(holder));
	if (error == SN_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS)
		sn_cuda_say("another tool holds CUPTI: ", sn_cuda_holder(holder), NULL);
	else if (error)
		sn_cuda_say(reason(error), NULL);
	else
		sn_cuda_say("CUPTI: kernels, copies and sets below the calls that launched them",
			    sn_cuda_graph_status(), hardware_times, sn_cuda_managed_status(),
			    sn_cuda_samples_plan(), sn_cuda_counters_plan(), NULL);
	attached_ns = sn_now_ns();
	atomic_store_explicit(&is_attached, !error, memory_order_release);
}

static void attach(void)
{
	if (atomic_exchange_explicit(&was_tried, true, memory_order_relaxed) || !sn_measuring())
		return;
	attach_cupti();
	if (!atomic_load_explicit(&is_attached, memory_order_relaxed))
		sn_cuda_hear_calls();
}

/* The driver calls it at the end of cuInit. 1 for success. */
SN_EXPORT int InitializeInjection(void);
SN_EXPORT int InitializeInjection(void)
{
	attach();
	return 1;
}

/* ---- ending the subscription ---- */

/* Without anything coming for so long, CUPTI is taken to hang: flushing has been seen not to return. */
#define HANG_NS	      2000000000u
/* So long may records come after it. */
#define LATE_NS	      300000000u
/* Who waits looks so often, and where that took longer, CUPTI's thread may have had no turn either: no more of it counts. */
#define PAUSE_NS      100000u
#define MOST_PAUSE_NS 10000000u

static _Atomic int release_state; /* 0 while it goes on, 1 when it is done, 2 with an error */
/* What is to be said where it does not return. */
static _Atomic(const char *) late;

static const char records_late[] = "CUPTI hung when it was to give what it still had";
static const char samples_late[] = "CUPTI hung when it was to give its last samples";
static const char metrics_late[] = "CUPTI hung when it was to decode its last metrics over time";
static const char counters_late[] = "CUPTI has not given its last counters within 2 seconds";

/* A step is over: what comes next would hang where that is. */
static void goes_on_with(const char *what)
{
	atomic_store_explicit(&late, what, memory_order_relaxed);
	atomic_fetch_add_explicit(&sn_cuda_progress, 1, memory_order_relaxed);
}

static void *release(void *unused)
{
	(void)unused;
	goes_on_with(samples_late);
	sn_cuda_samples_end();
	/* what is done, before counters wait for what is not, and before much is decoded */
	goes_on_with(records_late);
	sn_cupti_result error = sn_cupti.cuptiActivityFlushAll(0);
	goes_on_with(metrics_late);
	sn_cuda_metrics_end();
	goes_on_with(counters_late);
	sn_cuda_counters_end();
	goes_on_with(records_late);
	error = sn_cupti.cuptiActivityFlushAll(0) || error;
	goes_on_with(records_late);
	disable_records();
	/* what is not over as well: it comes without its times */
	error = sn_cupti.cuptiActivityFlushAll(1) || error;
	goes_on_with(records_late);
	sn_cupti.cuptiUnsubscribe(sn_cupti.subscriber);
	sn_cuda_metrics_release();
	atomic_store_explicit(&release_state, error ? 2 : 1, memory_order_release);
	return NULL;
}

/* In a thread that nobody knows, and that may stay where it hangs. False where none can be made. */
static bool begin_release(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
	    sn_real("pthread_create");
	pthread_attr_t attributes;
	pthread_t thread;
	uint64_t all = UINT64_MAX, before;
	if (!create || pthread_attr_init(&attributes))
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	bool began = !create(&thread, &attributes, release, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	pthread_attr_destroy(&attributes);
	return began;
}

/* Until it is done, or nothing has come for so long: not counting what the machine was busy with others, or the process stopped. */
static void wait_while(bool (*goes_on)(void), uint64_t patience_ns)
{
	const struct timespec pause = {0, PAUSE_NS};
	uint64_t last_ns = sn_now_ns(), waited_ns = 0;
	uint32_t seen = atomic_load_explicit(&sn_cuda_progress, memory_order_relaxed);
	while (goes_on() && waited_ns < patience_ns) {
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
		uint64_t now_ns = sn_now_ns(), took_ns = now_ns - last_ns;
		uint32_t now = atomic_load_explicit(&sn_cuda_progress, memory_order_relaxed);
		waited_ns += took_ns < MOST_PAUSE_NS ? took_ns : MOST_PAUSE_NS;
		waited_ns = seen == now ? waited_ns : 0;
		last_ns = now_ns;
		seen = now;
	}
}

static bool is_releasing(void)
{
	return !atomic_load_explicit(&release_state, memory_order_acquire);
}

static bool lacks_any(void)
{
	return sn_gpu_expected(&sn_cuda, SN_GPU_CERTAIN) > 0;
}

bool sn_cuda_release(void)
{
	if (!atomic_exchange_explicit(&is_attached, false, memory_order_acquire))
		return false;
	if (begin_release())
		wait_while(is_releasing, HANG_NS);
	else
		release(NULL);
	/* buffers have been seen to come later; not where the driver has failed */
	if (atomic_load_explicit(&release_state, memory_order_acquire) == 1)
		wait_while(lacks_any, LATE_NS);
	atomic_store_explicit(&sn_cuda_is_taking, false, memory_order_relaxed);
	sn_cuda_metrics_record_rest();
	sn_gpu_begin_done();
	sn_cuda_samples_divide(true);
	sn_gpu_end_done();
	/* giving up counters lets it go on */
	const char *hung = is_releasing() ? late : NULL;
	sn_cuda_counters_give_up();
	/* what copies, sets or replays may have no record: it counts where the driver has failed */
	uint64_t missing = sn_gpu_expected(
	    &sn_cuda, atomic_load_explicit(&release_state, memory_order_acquire) == 1
			  ? SN_GPU_CERTAIN
			  : SN_GPU_PROBABLE);
	sn_gpu_lose(&sn_cuda, missing);
	if (hung)
		sn_cuda_say(hung, NULL);
	else if (missing)
		sn_cuda_say("CUPTI has not given what it still had", NULL);
	return true;
}

/* ---- the adapter ---- */

static void cuda_detach(void)
{
	struct sn_thread *thread = sn_thread_self();
	/* a crash inside the driver holds its locks: then what CUPTI has not delivered is missing */
	if (!sn_ends_in_handler())
		sn_cuda_release();
	atomic_store_explicit(&sn_cuda_is_taking, false, memory_order_relaxed);
	if (thread)
		sn_gpu_collect_all(thread);
}

/* CUPTI and its threads are the parent's. */
static void cuda_after_fork(void)
{
	atomic_store_explicit(&is_attached, false, memory_order_relaxed);
	atomic_store_explicit(&sn_cuda_is_taking, false, memory_order_relaxed);
	sn_cuda_samples_after_fork();
	sn_cuda_counters_after_fork();
	sn_cuda_metrics_after_fork();
}

static const char *cuda_status(void)
{
	if (!sn_cuda_said()) {
		const char *tool = sn_cuda_injected();
		if (sn_module_by_name("libcuda.so") == SN_MODULE_NONE)
			return "no CUDA driver in this process";
		if (!tool)
			return "the program has not initialised CUDA";
		sn_cuda_say("CUDA_INJECTION64_PATH names another tool: ", tool, NULL);
	}
	const char *said = sn_cuda_said();
	return sn_cuda_metrics_status(
	    sn_cuda_counters_status(sn_cuda_samples_status(said ? said : "no memory")));
}

const struct sn_adapter sn_adapter_cuda = {
    .name = "cuda",
    .detach = cuda_detach,
    .after_fork = cuda_after_fork,
    .status = cuda_status,
};
