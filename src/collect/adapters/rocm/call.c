/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls: which of them are heard, and what the SDK tells of each. */
#include "rocm.h"

#include "collect/core/line.h"

#include <string.h>

#define CALLS 1024u /* HIP has some 500 functions */

static const char *names[CALLS];
static uint8_t units[CALLS]; /* bytes for each of what the third argument counts; 0: it does not */
static bool is_kernel[CALLS], replays[CALLS];
static int32_t wanted[CALLS];
static size_t wanted_count;

/* Calls that launch something, wait, or take long. What only asks or sets is not heard: that would cost more than the call. */
static bool wants_call(const char *name)
{
	static const char *const prefixes[] = {"hipLaunchKernel",
					       "hipLaunchCooperative",
					       "hipLaunchByPtr",
					       "hipModuleLaunch",
					       "hipExtLaunch",
					       "hipExtModuleLaunch",
					       "hipHccModuleLaunch",
					       "hipDrvLaunch",
					       "hipGraphLaunch",
					       "hipGraphInstantiate",
					       "hipMemcpy",
					       "hipDrvMemcpy",
					       "hipMemset",
					       "hipMemPrefetch",
					       "hipMalloc",
					       "hipExtMalloc",
					       "hipFree",
					       "hipHostMalloc",
					       "hipHostAlloc",
					       "hipHostFree",
					       "hipHostRegister",
					       "hipMemAlloc",
					       "hipDeviceSynchronize",
					       "hipCtxSynchronize",
					       "hipStreamSynchronize",
					       "hipEventSynchronize",
					       "hipStreamWait",
					       "hipStreamWriteValue",
					       "hipModuleLoad",
					       "hipLibraryLoad"};
	for (size_t index = 0; index < sizeof(prefixes) / sizeof(*prefixes); index++)
		if (sn_begins_with(name, prefixes[index]))
			return true;
	return false;
}

/* ---- what a call copies or sets: the devices' records of fill kernels and copy kernels do not tell ---- */

/* Of functions whose third argument counts it. */
static uint8_t unit_of(const char *name)
{
	static const struct {
		const char *name;
		uint8_t bytes;
	} counted[] = {
	    {"hipMemset", 1},	       {"hipMemsetAsync", 1},	  {"hipMemset_spt", 1},
	    {"hipMemsetAsync_spt", 1}, {"hipMemsetD8", 1},	  {"hipMemsetD8Async", 1},
	    {"hipMemsetD16", 2},       {"hipMemsetD16Async", 2},  {"hipMemsetD32", 4},
	    {"hipMemsetD32Async", 4},  {"hipMemcpy", 1},	  {"hipMemcpyAsync", 1},
	    {"hipMemcpy_spt", 1},      {"hipMemcpyAsync_spt", 1}, {"hipMemcpyWithStream", 1},
	    {"hipMemcpyDtoD", 1},      {"hipMemcpyDtoDAsync", 1}, {"hipMemcpyHtoD", 1},
	    {"hipMemcpyHtoDAsync", 1}, {"hipMemcpyDtoH", 1},	  {"hipMemcpyDtoHAsync", 1}};
	for (size_t index = 0; index < sizeof(counted) / sizeof(*counted); index++)
		if (!strcmp(name, counted[index].name))
			return counted[index].bytes;
	return 0;
}

#define AMOUNTS	    (1u << 14)
#define AMOUNT_BITS 44u /* 16 TB; above them the number's first bits */

static _Atomic uint64_t amounts[AMOUNTS];

static void keep_bytes(uint32_t correlation, uint64_t bytes)
{
	uint64_t first = (uint64_t)(correlation / AMOUNTS) << AMOUNT_BITS;
	bool fits = bytes < (uint64_t)1 << AMOUNT_BITS;
	atomic_store_explicit(&amounts[correlation % AMOUNTS], fits ? first | bytes : 0,
			      memory_order_relaxed);
}

uint64_t sn_rocm_take_bytes(uint32_t correlation)
{
	_Atomic uint64_t *amount = &amounts[correlation % AMOUNTS];
	uint64_t word = atomic_load_explicit(amount, memory_order_relaxed);
	if (word >> AMOUNT_BITS != correlation / AMOUNTS ||
	    !atomic_compare_exchange_strong_explicit(amount, &word, 0, memory_order_relaxed,
						     memory_order_relaxed))
		return 0;
	return word & (((uint64_t)1 << AMOUNT_BITS) - 1);
}

/* ---- what records do not tell of their call ---- */

#define NOTES SN_GPU_LAUNCHES

/* NOTES _Atomic uint64_t, by the last bits of its number: the number << 32, the stream << 1, and whether it replays a graph. */
static _Atomic(void *) notes;
static bool hears_streams;
/* That of the call that the thread is about to make, + 1. */
static __thread uint32_t stream_of_next __attribute__((tls_model("initial-exec")));

/* Before the call is heard, and after: of functions that have a stream. */
static void on_stream(struct sn_rocprofiler_call call, uint64_t *word, void *unused)
{
	const struct sn_rocprofiler_stream *told = call.payload;
	(void)word, (void)unused;
	if (told && told->size >= sizeof(*told))
		stream_of_next =
		    call.phase == SN_ROCPROFILER_ENTER ? (uint32_t)told->stream + 1 : 0;
}

void sn_rocm_hear_streams(uint64_t context)
{
	static const int32_t set = SN_ROCPROFILER_STREAM_SET;
	hears_streams = !sn_rocprofiler.rocprofiler_configure_callback_tracing_service(
	    context, SN_ROCPROFILER_CALLBACK_STREAM, &set, 1, on_stream, NULL);
}

bool sn_rocm_hears_streams(void)
{
	return hears_streams;
}

static void note(uint32_t correlation, bool is_replay)
{
	_Atomic uint64_t *all = sn_pages_once(&notes, NOTES * sizeof(*all));
	uint64_t stream = stream_of_next ? stream_of_next - 1 : 0;
	if (all)
		atomic_store_explicit(&all[correlation % NOTES],
				      (uint64_t)correlation << 32 | (stream & INT32_MAX) << 1 |
					  is_replay,
				      memory_order_relaxed);
}

struct sn_rocm_note sn_rocm_note_of(uint32_t correlation)
{
	_Atomic uint64_t *all = atomic_load_explicit(&notes, memory_order_acquire);
	uint64_t word =
	    all ? atomic_load_explicit(&all[correlation % NOTES], memory_order_relaxed) : 0;
	if (word >> 32 != correlation)
		word = 0;
	return (struct sn_rocm_note){.stream = (uint32_t)word >> 1, .replays = word & 1};
}

/* ---- calls ---- */

static int add_operation(int kind, int32_t operation, void *unused)
{
	const char *name = NULL;
	uint64_t length = 0;
	(void)unused;
	if (operation < 0 || (uint32_t)operation >= CALLS || wanted_count >= CALLS ||
	    sn_rocprofiler.rocprofiler_query_callback_tracing_kind_operation_name(kind, operation,
										  &name, &length) ||
	    !name || !wants_call(name))
		return 0;
	names[operation] = name; /* a constant of the SDK's */
	units[operation] = unit_of(name);
	/* hipLaunchKernel, hipExtModuleLaunchKernel, and not graphs */
	is_kernel[operation] = strstr(name, "Launch") && !sn_begins_with(name, "hipGraph");
	replays[operation] = sn_begins_with(name, "hipGraphLaunch");
	sn_rocm_memory_note_call((uint32_t)operation, name);
	wanted[wanted_count++] = operation;
	return 0;
}

const int32_t *sn_rocm_wanted_calls(size_t *count)
{
	wanted_count = 0;
	sn_rocprofiler.rocprofiler_iterate_callback_tracing_kind_operations(
	    SN_ROCPROFILER_CALLBACK_HIP, add_operation, NULL);
	*count = wanted_count;
	return wanted;
}

/* HIP, what it stands on, and the SDK. */
static bool is_of_rocm(uint32_t module)
{
	static struct sn_gpu_modules modules = {
	    .prefixes = {"libamdhip64", "libhsa-runtime64", "librocprofiler"}};
	return sn_gpu_is_inside(&modules, module);
}

struct sn_gpu_interface sn_rocm =
    SN_GPU_INTERFACE(rocm, .device = "HIP device ", .is_inside = is_of_rocm);

static void enter(const struct sn_rocprofiler_call *call)
{
	const struct sn_rocprofiler_arguments *arguments = call->payload;
	uint32_t operation = (uint32_t)call->operation;
	if (units[operation] && arguments && arguments->size >= sizeof(*arguments))
		keep_bytes((uint32_t)call->correlation, arguments->words[2] * units[operation]);
	note((uint32_t)call->correlation, replays[operation]);
	sn_gpu_call_enter(&sn_rocm,
			  &(struct sn_gpu_api_call){.name = names[operation],
						    .correlation = (uint32_t)call->correlation,
						    .stack = (uintptr_t)call->payload,
						    .is_kernel = is_kernel[operation]});
	sn_rocm_memory_before_call(operation, arguments);
}

void sn_rocm_on_call(struct sn_rocprofiler_call call, uint64_t *word, void *unused)
{
	(void)word, (void)unused;
	if ((uint32_t)call.operation >= CALLS || !names[call.operation])
		return;
	if (call.phase == SN_ROCPROFILER_ENTER && sn_rocm_has_records())
		enter(&call);
	if (call.phase != SN_ROCPROFILER_EXIT)
		return;
	sn_rocm_memory_after_call((uint32_t)call.operation, call.payload);
	sn_gpu_call_exit();
}
