/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of program counters, as the SDK delivers them: from a device that offers it by hardware, which tells why a wave stalls, else by
 * traps from the host. Each tells its dispatch and the call that launched it, so kernels run as they would. What is refused or never answered
 * leaves all else as it is.
 */
#include "pc_sampling.h"

#include "collect/core/hash.h"
#include "collect/core/line.h"
#include "collect/interface/region.h"

#include <dlfcn.h>
#include <stdlib.h>

#define BUFFER_BYTES ((size_t)4 << 20) /* some 40,000 samples */
#define WATERMARK    (BUFFER_BYTES / 4)
/* Between samples, where the user says nothing else: as many cycles as AMD recommends to begin with. */
#define CYCLES	     ((uint64_t)1 << 20)
#define TIME_US	     ((uint64_t)1000)
#define DISPATCHES   (1u << 17)
#define KERNEL_BITS  17u /* as many kernels have names */
#define BATCH	     4096u
#define NOT_SAMPLED  "; instructions are not sampled: "
#define BETA	     "ROCPROFILER_PC_SAMPLING_BETA_ENABLED"

#define SN_ROCPROFILER_SAMPLING_POINTER(name, parameters) sn_rocprofiler_status(*name) parameters;
static struct {
	SN_ROCPROFILER_SAMPLING_FUNCTIONS(SN_ROCPROFILER_SAMPLING_POINTER)
} sdk;

static uint64_t context, buffer;
static char said[480];
static _Atomic bool is_on, has_given_up;
static _Atomic bool was_chosen; /* a kernel was launched in a region that is sampled */

/* What a device is asked for. */
struct choice {
	int32_t method, unit; /* method 0: nothing */
	uint64_t interval;
};

/* Written by the thread that configures, read when it has ended. */
static struct {
	uint32_t devices, sampled;
	struct choice first;	       /* of the first that is sampled */
	sn_rocprofiler_status refusal; /* the first */
} outcome;

bool sn_rocm_samples_are_on(void)
{
	return atomic_load_explicit(&is_on, memory_order_acquire);
}

/* ---- what is said ---- */

/* Of those who sample regions alone. */
static const char *why_none(void)
{
	static char text[400];
	struct sn_line line = SN_LINE(text);
	const char *name = sn_config.gpu_samples_in;
	if (sn_region_chosen_came())
		SN_LINE_ADD(&line, NOT_SAMPLED, "no kernel was launched in a region '", name, "'");
	else
		SN_LINE_ADD(&line, NOT_SAMPLED, "no region '", name, "' began");
	return text;
}

const char *sn_rocm_samples_said(void)
{
	bool has_none = sn_rocm_samples_are_on() && sn_config.gpu_samples_in &&
			!atomic_load_explicit(&was_chosen, memory_order_relaxed);
	return has_none ? why_none() : said;
}

static void refuse(const char *reason)
{
	struct sn_line line = SN_LINE(said);
	SN_LINE_ADD(&line, NOT_SAMPLED, reason);
}

/* NULL: its number tells as much. */
static const char *reason_of(sn_rocprofiler_status status)
{
	const char *beta = getenv(BETA);
	switch (status) {
	case SN_ROCPROFILER_ERROR:
		return "the amdgpu driver refuses, or another tool of the program samples";
	case SN_ROCPROFILER_ERROR_NOT_IMPLEMENTED:
		return beta && *beta ? NULL
				     : "it needs " BETA "=1, by which the user accepts that a "
				       "device may freeze";
	case SN_ROCPROFILER_ERROR_OLD_DRIVER:
		return "the amdgpu driver is too old for it";
	case SN_ROCPROFILER_ERROR_NOT_AVAILABLE:
		return "no device offers it, or a debugger or another process uses it";
	case SN_ROCPROFILER_ERROR_PERMISSION:
		return "the amdgpu driver does not permit it";
	default:
		return NULL;
	}
}

static void refuse_by_status(sn_rocprofiler_status status)
{
	const char *reason = reason_of(status);
	struct sn_line line = SN_LINE(said);
	SN_LINE_ADD(&line, NOT_SAMPLED, reason ? reason : "rocprofiler-sdk refuses with status ");
	if (!reason)
		sn_line_add_number(&line, (uint64_t)status);
}

static void say_plan(void)
{
	static const char *const units[] = {"", " instructions", " cycles", " us"};
	const struct choice *choice = &outcome.first;
	struct sn_line line = SN_LINE(said);
	bool is_hardware = choice->method == SN_ROCPROFILER_STOCHASTIC;
	SN_LINE_ADD(&line, "; instructions sampled (", is_hardware ? "stochastic" : "host traps",
		    ", once in ");
	sn_line_add_number(&line, choice->interval);
	sn_line_add(&line, (uint32_t)choice->unit < 4 ? units[choice->unit] : "");
	if (outcome.sampled < outcome.devices) {
		sn_line_add(&line, ", on ");
		sn_line_add_number(&line, outcome.sampled);
		sn_line_add(&line, " of ");
		sn_line_add_number(&line, outcome.devices);
		sn_line_add(&line, " devices");
	}
	sn_line_add(&line, ")");
	if (sn_config.gpu_samples_in)
		SN_LINE_ADD(&line, " of kernels that are launched in regions '",
			    sn_config.gpu_samples_in, "'");
	if (sn_config.gpu_samples == SN_GPU_SAMPLES_SERIALIZED)
		sn_line_add(&line, ", not one kernel at a time: samples tell their launch");
}

/* ---- configuring ---- */

/* Of what the device takes, what is next to what is wanted. */
static uint64_t interval_of(const struct sn_rocprofiler_offer *offer)
{
	uint64_t wanted =
	    sn_config.gpu_sample_period ? (uint64_t)1 << sn_config.gpu_sample_period : CYCLES;
	if (offer->unit == SN_ROCPROFILER_TIME)
		wanted = TIME_US;
	if (offer->most && wanted > offer->most)
		wanted = offer->most;
	if (wanted < offer->least)
		wanted = offer->least;
	if (!(offer->flags & SN_ROCPROFILER_POWERS_OF_2))
		return wanted;
	uint64_t power = (uint64_t)1 << (63 - __builtin_clzll(wanted));
	return power < offer->least ? 2 * power : power;
}

static sn_rocprofiler_status on_offers(const struct sn_rocprofiler_offer *offers, size_t count,
				       void *data)
{
	struct choice *choice = data;
	for (size_t index = 0; index < count && offers->size >= sizeof(*offers); index++) {
		const struct sn_rocprofiler_offer *offer =
		    (const void *)((const char *)offers + index * offers->size);
		bool is_hardware = offer->method == SN_ROCPROFILER_STOCHASTIC;
		if ((is_hardware && choice->method != SN_ROCPROFILER_STOCHASTIC) ||
		    (offer->method == SN_ROCPROFILER_HOST_TRAP && !choice->method))
			*choice = (struct choice){offer->method, offer->unit, interval_of(offer)};
	}
	return 0;
}

/* A device that another process samples offers what that has chosen: between question and answer it may have begun. */
static sn_rocprofiler_status configure_device(uint64_t agent, struct choice *choice)
{
	sn_rocprofiler_status status = SN_ROCPROFILER_ERROR_NOT_AVAILABLE;
	for (int tries = 0; tries < 2 && status == SN_ROCPROFILER_ERROR_NOT_AVAILABLE; tries++) {
		*choice = (struct choice){0};
		status = sdk.rocprofiler_query_pc_sampling_agent_configurations(agent, on_offers,
										choice);
		if (status)
			return status;
		if (!choice->method)
			return SN_ROCPROFILER_ERROR_NOT_AVAILABLE;
		status = sdk.rocprofiler_configure_pc_sampling_service(
		    context, agent, choice->method, choice->unit, choice->interval, buffer, 0);
	}
	return status;
}

static bool is_still_wanted(void)
{
	return !atomic_load_explicit(&has_given_up, memory_order_relaxed);
}

/* On a thread of its own: all that asks the driver. */
static void start(void)
{
	const uint64_t *agents;
	outcome.devices = sn_rocm_devices(&agents);
	for (uint32_t device = 0; device < outcome.devices && is_still_wanted(); device++) {
		struct choice choice;
		sn_rocprofiler_status status = configure_device(agents[device], &choice);
		if (!status && !outcome.sampled++)
			outcome.first = choice;
		if (status && !outcome.refusal)
			outcome.refusal = status;
	}
	if (!outcome.sampled || !is_still_wanted())
		return;
	sn_rocprofiler_status status = sn_rocprofiler.rocprofiler_start_context(context);
	if (status) {
		outcome.sampled = 0;
		outcome.refusal = status;
		return;
	}
	if (!is_still_wanted()) {
		sn_rocprofiler.rocprofiler_stop_context(context);
		return;
	}
	atomic_store_explicit(&is_on, true, memory_order_release);
}

/* ---- which kernel a dispatch runs ---- */

/* DISPATCHES _Atomic uint64_t, by the last bits of their numbers: the first bits, whether it is to be sampled, and the kernel. */
static _Atomic(void *) dispatches;
#define IS_CHOSEN ((uint64_t)1 << KERNEL_BITS)

/* Kernels run, and are sampled, whatever region the program is in: what they are kept by is where they were launched. */
static bool is_chosen_now(void)
{
	if (!sn_config.gpu_samples_in)
		return true;
	bool is_open = sn_region_chosen_is_open();
	if (is_open)
		atomic_store_explicit(&was_chosen, true, memory_order_relaxed);
	return is_open;
}

/* Before the device has it, so before any sample. */
static void on_dispatch(struct sn_rocprofiler_call call, uint64_t *word, void *unused)
{
	const struct sn_rocprofiler_enqueued *of = call.payload;
	(void)word, (void)unused;
	if (call.phase != SN_ROCPROFILER_ENTER || !of || of->size < sizeof(*of) ||
	    of->kernel >> KERNEL_BITS)
		return;
	_Atomic uint64_t *all = sn_pages_once(&dispatches, DISPATCHES * sizeof(*all));
	if (all)
		atomic_store_explicit(&all[of->dispatch % DISPATCHES],
				      of->dispatch / DISPATCHES << (KERNEL_BITS + 1) |
					  (is_chosen_now() ? IS_CHOSEN : 0) | of->kernel,
				      memory_order_relaxed);
}

/* What is known of it (still); 0: nothing. */
static uint64_t known_of(uint64_t dispatch)
{
	_Atomic uint64_t *all = atomic_load_explicit(&dispatches, memory_order_acquire);
	uint64_t word =
	    all ? atomic_load_explicit(&all[dispatch % DISPATCHES], memory_order_relaxed) : 0;
	return word >> (KERNEL_BITS + 1) == dispatch / DISPATCHES ? word : 0;
}

/* NULL where it is not known. */
static const char *kernel_of(uint64_t dispatch)
{
	uint64_t word = known_of(dispatch);
	return word ? sn_rocm_kernel_name(word & (IS_CHOSEN - 1)) : NULL;
}

/* ---- samples: those that are the same are counted, one delivery at a time ---- */

enum { ISSUED = UINT8_MAX }; /* or the wave may have: traps do not tell */

struct counted {
	uint64_t dispatch, correlation, code_object, offset;
	uint32_t count; /* 0: the place is free */
	uint8_t reason;
};

static struct counts {
	struct counted at[BATCH]; /* with linear probing */
} * batch;
static uint32_t batch_count;

/* Why a wave did not issue: the SDK's numbers are their order. */
static uint32_t metric_of(uint8_t reason)
{
	static const char *const names[] = {
	    "stall-unknown",	     "stall-no-instruction-available", "stall-alu-dependency",
	    "stall-waitcnt",	     "stall-internal-instruction",     "stall-barrier-wait",
	    "stall-arbiter-not-win", "stall-arbiter-win-ex-stall",     "stall-other-wait",
	    "stall-sleep-wait"};
	static _Atomic uint32_t metrics[] = {[0 ... sizeof(names) / sizeof(*names) - 1] =
						 SN_ID_NONE};
	if (reason == ISSUED)
		return SN_ID_NONE;
	size_t known = reason < sizeof(names) / sizeof(*names) ? reason : 0;
	return sn_metric_once(&metrics[known], names[known], "1", sn_rocm.name, SN_METRIC_COUNT);
}

static void give(const struct counted *counted)
{
	struct sn_rocm_code code = sn_rocm_find_code(counted->code_object);
	struct sn_gpu_place place;
	struct sn_gpu_operation operation = {.interface = &sn_rocm,
					     .name = kernel_of(counted->dispatch)};
	operation.sample = (struct sn_gpu_sample){.module = code.module,
						  .reason = metric_of(counted->reason),
						  .address = counted->offset + code.bias,
						  .count = counted->count};
	if (!sn_gpu_launch_of(&sn_rocm, (uint32_t)counted->correlation, &place))
		place = (struct sn_gpu_place){.state = sn_gpu_any_thread(), .call = SN_NODE_ROOT};
	if (place.state)
		sn_gpu_sampled(&place, &operation);
	else
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_LOST, counted->count);
}

static void give_all(void)
{
	for (uint32_t at = 0; at < BATCH && batch_count; at++) {
		if (!batch->at[at].count)
			continue;
		give(&batch->at[at]);
		batch->at[at].count = 0;
		batch_count--;
	}
}

static bool is_same(const struct counted *one, const struct counted *other)
{
	return one->dispatch == other->dispatch && one->correlation == other->correlation &&
	       one->code_object == other->code_object && one->offset == other->offset &&
	       one->reason == other->reason;
}

static void add(const struct counted *one)
{
	uint64_t hash = sn_hash_mix(sn_hash_mix(one->dispatch, one->offset),
				    one->code_object << 8 ^ one->reason);
	if (batch_count >= BATCH / 4 * 3)
		give_all();
	for (;; hash++) {
		struct counted *place = &batch->at[hash % BATCH];
		if (place->count && !is_same(place, one))
			continue;
		if (!place->count) {
			*place = *one;
			batch_count++;
		}
		place->count++;
		return;
	}
}

/* From the record of either method, which has these fields in different places. */
#define COUNTED(sample, why)                                                                       \
	(struct counted)                                                                           \
	{                                                                                          \
		.dispatch = (sample)->dispatch, .correlation = (sample)->correlation,              \
		.code_object = (sample)->code_object, .offset = (sample)->offset, .reason = (why)  \
	}

/* False for what is invalid, or shorter than any release has it: a size of 0 marks one whose code the SDK did not find. */
static bool read_sample(const struct sn_rocprofiler_header *header, struct counted *one)
{
	const struct sn_rocprofiler_sample *trap = header->record;
	const struct sn_rocprofiler_stochastic *wave = header->record;
	if (header->kind == SN_ROCPROFILER_SAMPLE_HOST_TRAP && trap->size >= sizeof(*trap))
		*one = COUNTED(trap, ISSUED);
	else if (header->kind == SN_ROCPROFILER_SAMPLE_STOCHASTIC && wave->size >= sizeof(*wave))
		*one = COUNTED(
		    wave, wave->issued & 1 ? ISSUED : wave->snapshot & SN_ROCPROFILER_REASON_MASK);
	else
		return false;
	return true;
}

static void take(const struct sn_rocprofiler_header *header)
{
	struct counted one;
	if (header->category != SN_ROCPROFILER_CATEGORY_SAMPLES)
		return;
	bool is_read = read_sample(header, &one) && SN_PAGES_ONCE(batch);
	uint64_t known = is_read && sn_config.gpu_samples_in ? known_of(one.dispatch) : IS_CHOSEN;
	if (!is_read || !known)
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_LOST, 1);
	else if (known & IS_CHOSEN)
		add(&one);
}

static void on_samples(uint64_t of_context, uint64_t of_buffer,
		       struct sn_rocprofiler_header **headers, size_t count, void *unused,
		       uint64_t dropped)
{
	static uint64_t dropped_before; /* under the lock; the SDK counts from its start */
	(void)of_context, (void)of_buffer, (void)unused;
	if (!sn_rocm_has_records() || !sn_rocm_samples_are_on())
		return;
	sn_gpu_begin_done();
	for (size_t index = 0; index < count; index++)
		take(headers[index]);
	give_all();
	if (dropped > dropped_before) {
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_LOST, dropped - dropped_before);
		dropped_before = dropped;
	}
	sn_gpu_end_done();
}

/* ---- begin and end ---- */

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
	sdk.name = (sn_rocprofiler_status(*) parameters)dlsym(library, #name);                     \
	if (!sdk.name)                                                                             \
		return false;
	SN_ROCPROFILER_SAMPLING_FUNCTIONS(FIND)
#undef FIND
	return true;
}

/* A context of its own: what is refused there leaves the other as it is. */
static bool create(void)
{
	static const int32_t enqueue = SN_ROCPROFILER_DISPATCH_ENQUEUE;
	return !sn_rocprofiler.rocprofiler_create_context(&context) &&
	       !sn_rocprofiler.rocprofiler_create_buffer(context, BUFFER_BYTES, WATERMARK,
							 SN_ROCPROFILER_BLOCKS, on_samples, NULL,
							 &buffer) &&
	       !sn_rocprofiler.rocprofiler_configure_callback_tracing_service(
		   context, SN_ROCPROFILER_CALLBACK_DISPATCH, &enqueue, 1, on_dispatch, NULL);
}

void sn_rocm_samples_begin(void *library)
{
	if (!sn_config.gpu_samples)
		return;
	if (!find_functions(library)) {
		refuse("rocprofiler-sdk has no samples");
	} else if (!create()) {
		refuse("rocprofiler-sdk refuses a context for it");
	} else if (!sn_rocm_run_bounded(start)) {
		atomic_store_explicit(&has_given_up, true, memory_order_relaxed);
		refuse("rocprofiler-sdk did not answer in 3 seconds");
	} else if (outcome.sampled) {
		say_plan();
	} else {
		refuse_by_status(outcome.refusal ? outcome.refusal
						 : SN_ROCPROFILER_ERROR_NOT_AVAILABLE);
	}
}

void sn_rocm_samples_end(void)
{
	if (!sn_rocm_samples_are_on())
		return;
	sn_rocprofiler.rocprofiler_stop_context(context);
	sn_rocprofiler.rocprofiler_flush_buffer(buffer);
}
