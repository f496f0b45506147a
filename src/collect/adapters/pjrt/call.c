/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured of each function of a plugin. Each does the plugin's work with the program's record, untouched.
 *
 *	compilations	a region, and below it one of the program's name with its time
 *	executions	an operator of the executable's name, below it the call, below that what devices took for it
 *	copies, waits	calls, with bytes and times
 */
#include "pjrt.h"

#include "collect/adapters/xla/xla.h"
#include "collect/interface/operator.h"
#include "collect/interface/region.h"
#include "collect/record/trace.h"

#include <string.h>

#define EXECUTION 0x706a7274u /* the `user` of a shadow */

static uint32_t next_correlation(void)
{
	static _Atomic uint32_t last;
	uint32_t next = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	return next ? next : 1; /* 0 is none */
}

/* ---- calls ---- */

/* The operator that the calling thread is in, which is of that user; NULL where it is in none. */
static const struct sn_shadow *operator_of(struct sn_thread *thread, uint32_t user)
{
	const struct sn_shadow *top = thread ? sn_shadow_top(thread) : NULL;
	return top && top->user == user ? top : NULL;
}

static void begin_call(const struct sn_pjrt_call *call, const char *name, uint32_t correlation,
		       uint64_t bytes)
{
	struct sn_thread *thread = sn_thread_self();
	const struct sn_shadow *jax = operator_of(thread, SN_XLA_CALL);
	const struct sn_shadow *whole = jax ? jax : operator_of(thread, EXECUTION);
	struct sn_gpu_api_call begun = {
	    .name = name,
	    .correlation = correlation,
	    .bytes = bytes,
	    /* frames of the runtime between JAX's operator and this call are below both */
	    .stack = jax ? jax->stack : call->stack,
	    .path = whole && whole->node != SN_NODE_NONE ? whole->node : SN_NODE_ROOT};
	sn_gpu_call_enter(&sn_pjrt_interface, &begun);
}

static void *plain_call(const struct sn_pjrt_call *call, const char *name, uint64_t bytes)
{
	begin_call(call, name, 0, bytes);
	void *error = call->real(call->record);
	sn_gpu_call_exit();
	return error;
}

/* ---- executions ---- */

/* An operator of the executable's name, unless JAX's call is one. A token for sn_operator_end. */
static uint32_t begin_operator(const struct sn_pjrt_call *call,
			       const struct sn_pjrt_executable *executable)
{
	if (!executable || operator_of(sn_thread_self(), SN_XLA_CALL))
		return SN_OPERATOR_NONE;
	struct sn_operator_start start = {.name = executable->name,
					  .length = executable->length,
					  .stack = call->stack,
					  .pc = call->pc,
					  .user = EXECUTION};
	return sn_operator_begin(&start);
}

static void follow(const struct sn_pjrt_call *call, const struct sn_pjrt_executable *executable,
		   uint32_t correlation, uint64_t start_ns)
{
	const struct sn_pjrt_execute *record = call->record;
	if (!SN_PJRT_HAS(record, complete) || !record->complete)
		return;
	struct sn_pjrt_execution execution = {.plugin = call->plugin,
					      .executable = executable,
					      .start_ns = start_ns,
					      .correlation = correlation,
					      .number = call->number};
	bool is_elsewhere = SN_PJRT_HAS(record, device) && record->device;
	for (size_t i = 0; i < record->device_count; i++) {
		if (is_elsewhere)
			execution.device = sn_pjrt_device(call->plugin, record->device);
		else
			execution.device = executable && i < executable->device_count
					       ? executable->devices[i]
					       : (uint16_t)i;
		if (record->complete[i])
			sn_pjrt_follow(&execution, record->complete[i]);
	}
}

static void *execute(const struct sn_pjrt_call *call)
{
	const struct sn_pjrt_execute *record = call->record;
	const struct sn_pjrt_executable *executable =
	    SN_PJRT_HAS(record, executable) ? sn_pjrt_executable(call->plugin, record->executable)
					    : NULL;
	uint32_t correlation = next_correlation();
	uint32_t token = begin_operator(call, executable);
	begin_call(call, "PJRT_LoadedExecutable_Execute", correlation, 0);
	uint64_t start_ns = sn_now_ns();
	void *error = call->real(call->record);
	/* whose call is not known is not asked about */
	if (!error && sn_gpu_call_place(NULL, NULL))
		follow(call, executable, correlation, start_ns);
	sn_gpu_call_exit();
	sn_operator_end(token, EXECUTION);
	return error;
}

/* ---- compilations ---- */

static _Atomic uint32_t compile_metric = SN_ID_NONE;

/* Below the region one of the program's name, with the time. */
static void add_compilation(struct sn_thread *thread, uint32_t node, uint64_t start_ns,
			    uint64_t end_ns, void *data)
{
	const struct sn_pjrt_executable *executable = data;
	if (node == SN_NODE_NONE)
		return;
	if (executable)
		node = sn_cct_named_child(&thread->cct, node, SN_FRAME_REGION, executable->name,
					  executable->length);
	uint32_t metric =
	    sn_metric_once(&compile_metric, "compile-time", "ns", "pjrt", SN_METRIC_TIME);
	if (node == SN_NODE_NONE)
		return;
	if (metric != SN_ID_NONE)
		sn_cct_add(&thread->cct, node, metric, end_ns - start_ns);
	if (sn_trace_wants(SN_TRACE_SOURCE_REGIONS))
		sn_trace_interval(thread, node, start_ns, end_ns);
}

/* `loaded` is where the record gets the executable; NULL: it gets none that can be executed. */
static void *measure_compile(const struct sn_pjrt_call *call, const char *name, void *const *loaded)
{
	uint32_t token = SN_REGION_BEGIN(.name = name, .length = strlen(name), .stack = call->stack,
					 .origin = SN_REGION_NATIVE, .user = SN_REGION_COMPILE);
	void *error = call->real(call->record);
	const struct sn_pjrt_executable *executable = NULL;
	if (!error && loaded && *loaded) {
		sn_pjrt_executable_forget(*loaded);
		executable = sn_pjrt_executable(call->plugin, *loaded);
	}
	if (token)
		sn_region_end_traced(SN_REGION_COMPILE, token, add_compilation, (void *)executable);
	if (!error && loaded && *loaded)
		sn_pjrt_program_keep(call->plugin, *loaded);
	return error;
}

static void *compile_loaded(const struct sn_pjrt_call *call)
{
	struct sn_pjrt_compile *record = call->record;
	return measure_compile(call, "compile",
			       SN_PJRT_HAS(record, executable) ? &record->executable : NULL);
}

static void *load(const struct sn_pjrt_call *call)
{
	struct sn_pjrt_load *record = call->record;
	return measure_compile(call, "load compiled",
			       SN_PJRT_HAS(record, executable) ? &record->executable : NULL);
}

/* ---- copies and waits ---- */

/* Of an element as the host has it: those of less than a byte have one. */
static uint64_t element_bytes(int type)
{
	static const unsigned char bytes[] = {
	    0, 1, 1, 2,	 4, 8, 1, 2, 4, 8, 2, 4, /* none, PRED, S8-S64, U8-U64, F16, F32 */
	    8, 2, 8, 16, 1, 1, 1, 1, 1, 1, 1, /* F64, BF16, C64, C128, F8 of five kinds, S4, U4 */
	    0, 1, 1, 1,	 1, 1, 1, 1, 1};      /* token, S2, U2, F8 of three kinds, F4, S1, U1 */
	return type >= 0 && (size_t)type < sizeof(bytes) ? bytes[type] : 0;
}

static void *from_host(const struct sn_pjrt_call *call)
{
	const struct sn_pjrt_from_host *record = call->record;
	uint64_t bytes = SN_PJRT_HAS(record, size_count) ? element_bytes(record->type) : 0;
	for (size_t i = 0; bytes && i < record->size_count; i++)
		if (record->sizes[i] < 0 ||
		    __builtin_mul_overflow(bytes, (uint64_t)record->sizes[i], &bytes))
			bytes = 0;
	return plain_call(call, "PJRT_Client_BufferFromHostBuffer", bytes);
}

static void *to_host(const struct sn_pjrt_call *call)
{
	const struct sn_pjrt_to_host *record = call->record;
	/* a question of the size is no copy */
	if (!SN_PJRT_HAS(record, to_bytes) || !record->to)
		return call->real(call->record);
	return plain_call(call, "PJRT_Buffer_ToHostBuffer", record->to_bytes);
}

static void *raw_to_host(const struct sn_pjrt_call *call)
{
	const struct sn_pjrt_raw_to_host *record = call->record;
	int64_t bytes = SN_PJRT_HAS(record, transferred_bytes) ? record->transferred_bytes : 0;
	return plain_call(call, "PJRT_Buffer_CopyRawToHost", bytes > 0 ? (uint64_t)bytes : 0);
}

static void *transfer(const struct sn_pjrt_call *call)
{
	const struct sn_pjrt_transfer *record = call->record;
	int64_t bytes = SN_PJRT_HAS(record, transferred_bytes) ? record->transferred_bytes : 0;
	return plain_call(call, "PJRT_AsyncHostToDeviceTransferManager_TransferData",
			  bytes > 0 ? (uint64_t)bytes : 0);
}

static void *to_another(const struct sn_pjrt_call *call, const char *name)
{
	const struct sn_pjrt_object *record = call->record;
	struct sn_pjrt_about about = SN_PJRT_NEW(sn_pjrt_about, .object = record->object);
	bool is_known = sn_pjrt_ask(call->plugin, SN_PJRT_AT_BUFFER_BYTES, &about);
	return plain_call(call, name, is_known ? about.result.bytes : 0);
}

static void *await(const struct sn_pjrt_call *call)
{
	struct sn_gpu_operation wait = {.interface = &sn_pjrt_interface,
					.kind = SN_GPU_WAIT,
					.name = "event",
					.correlation = next_correlation()};
	begin_call(call, "PJRT_Event_Await", wait.correlation, 0);
	wait.start_ns = sn_now_ns();
	void *error = call->real(call->record);
	wait.end_ns = sn_now_ns();
	if (sn_gpu_call_place(NULL, NULL)) {
		sn_gpu_begin_done();
		sn_gpu_done(&wait);
		sn_gpu_end_done();
	}
	sn_gpu_call_exit();
	return error;
}

static void *forget(const struct sn_pjrt_call *call)
{
	sn_pjrt_executable_forget(((const struct sn_pjrt_object *)call->record)->object);
	return call->real(call->record);
}

void *sn_pjrt_measured(const struct sn_pjrt_call *call, enum sn_pjrt_wrapped function)
{
	switch (function) {
	case SN_PJRT_AWAIT:
		return await(call);
	case SN_PJRT_COMPILE:
		return compile_loaded(call);
	case SN_PJRT_COMPILE_AHEAD:
		return measure_compile(call, "compile", NULL);
	case SN_PJRT_LOAD:
		return load(call);
	case SN_PJRT_EXECUTE:
		return execute(call);
	case SN_PJRT_FORGET:
		return forget(call);
	case SN_PJRT_FROM_HOST:
		return from_host(call);
	case SN_PJRT_TO_HOST:
		return to_host(call);
	case SN_PJRT_RAW_TO_HOST:
		return raw_to_host(call);
	case SN_PJRT_TRANSFER:
		return transfer(call);
	case SN_PJRT_TO_DEVICE:
		return to_another(call, "PJRT_Buffer_CopyToDevice");
	case SN_PJRT_TO_MEMORY:
		return to_another(call, "PJRT_Buffer_CopyToMemory");
	default:
		return call->real(call->record);
	}
}
