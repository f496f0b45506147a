/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's samples of program counters: each context is sampled from its creation on, and what has been sampled is read now and then
 * by a thread that leaves one of its calls. On devices, reading has been seen to crash beside a module that is loaded or unloaded, and
 * to hang beside a graph's launch: so neither is done while the other is. If a function fails, sampling ends, and all else goes on.
 * Where it is asked for in regions alone, it is started and stopped in all contexts at once, before a kernel is launched.
 */
#include "pc_batch.h"
#include "pc_sampling.h"

#include "collect/core/keep.h"
#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "collect/interface/region.h"
#include "collect/intercept/intercept.h"

#include <string.h>

#define CONTEXTS     16u
#define READ_PCS     1024u
/* What does not fit when sampling ends is gone. */
#define RESTING_PCS  4096u
#define REASONS	     128u
#define READ_NS	     250000000u
/* After a module has come or gone, CUPTI may still hold its names. */
#define MODULE_NS    300000000u
/* So long may samples come after it has been stopped. */
#define LATE_NS	     1000000000u
#define CLAIM_PAUSES 2000u /* each takes some 50 us */
#define CALLS	     1024u

#define SN_CUPTI_SAMPLING_POINTER(name, parameters) sn_cupti_result(*name) parameters;
static struct {
	SN_CUPTI_SAMPLING_FUNCTIONS(SN_CUPTI_SAMPLING_POINTER)
	SN_CUPTI_SAMPLING_RANGE_FUNCTIONS(SN_CUPTI_SAMPLING_POINTER)
} cupti;

static struct {
	_Atomic(void *) handle;	      /* NULL: the place is free */
	struct sn_cuda_batch resting; /* CUPTI's, from when the context is configured on */
	bool is_started;	      /* in a region */
} contexts[CONTEXTS];
/* Those that were created while another thread had the claim, for that one to begin. */
static _Atomic(void *) waiting[CONTEXTS];
/* Of regions: whether samples are taken, in all contexts; whether they ever were; and when they were stopped. */
static _Atomic bool is_started, was_started;
static _Atomic uint64_t stopped_ns;
static _Atomic uint32_t unsampled; /* contexts for which there was no place */

_Atomic bool sn_cuda_samples_are_on;
static _Atomic bool has_failed, has_ended;
static _Atomic(const char *) failure; /* the first; set before has_failed */
static size_t pc_bytes = SN_CUPTI_PC_FIRST_BYTES;
static struct sn_cuda_batch batch; /* for reading */

/* Whoever holds it calls the functions above, and has what is below. */
static _Atomic bool is_claimed;
/* Calls that no reading may be beside: of modules and graphs. */
static _Atomic uint32_t excluding;
static uint64_t excluding_calls[SN_CUPTI_RUNTIME + 1][CALLS / 64],
    graph_launches[SN_CUPTI_RUNTIME + 1][CALLS / 64], launches[SN_CUPTI_RUNTIME + 1][CALLS / 64];
static _Atomic uint64_t read_ns, module_ns; /* when it was last */

/* Those that are sampled: of all warps, a reason each. */
static struct {
	uint32_t count;
	uint32_t indices[REASONS];
	uint32_t metrics[REASONS]; /* SN_ID_NONE: the warp issued */
	uint32_t asked;		   /* for how many a batch has room */
} reasons;

/* ---- what is said ---- */

#define SAMPLED	      "; instructions sampled"
#define ONE_AT_A_TIME ", kernels one at a time"

static bool is_serialized(void)
{
	return sn_config.gpu_samples == SN_GPU_SAMPLES_SERIALIZED;
}

/* In regions alone. */
static bool is_ranged(void)
{
	return sn_config.gpu_samples_in != NULL;
}

static char plan[512]; /* written once */

const char *sn_cuda_samples_plan(void)
{
	struct sn_line line = SN_LINE(plan);
	if (has_failed || !cupti.cuptiPCSamplingEnable)
		return "";
	sn_line_add(&line, SAMPLED);
	if (is_ranged())
		SN_LINE_ADD(&line, " in regions '", sn_config.gpu_samples_in, "'");
	sn_line_add(&line, is_serialized() ? ONE_AT_A_TIME : "");
	return plan;
}

static void add_unsampled(struct sn_line *line)
{
	sn_line_add(line, "; contexts beyond ");
	sn_line_add_number(line, CONTEXTS);
	sn_line_add(line, " at a time are not sampled (");
	sn_line_add_number(line, unsampled);
	sn_line_add(line, ")");
}

static void add_why_none(struct sn_line *line)
{
	const char *name = sn_config.gpu_samples_in;
	sn_line_add(line, "; instructions are not sampled: ");
	if (has_failed)
		sn_line_add(line, atomic_load(&failure));
	else if (sn_region_chosen_came())
		SN_LINE_ADD(line, "no kernel was launched in a region '", name, "'");
	else
		SN_LINE_ADD(line, "no region '", name, "' began");
}

/* What was planned is no more; all else is as it is. */
const char *sn_cuda_samples_status(const char *status)
{
	static char text[1024];
	struct sn_line line = SN_LINE(text);
	const char *at = *plan ? strstr(status, plan) : NULL;
	bool is_none = has_failed || (at && is_ranged() && !was_started);
	if (!is_none && !(at && unsampled))
		return status;
	sn_line_add(&line, status);
	if (is_none && at) {
		line.length = (size_t)(at - status);
		sn_line_add(&line, at + strlen(plan));
	}
	if (is_none)
		add_why_none(&line);
	else
		add_unsampled(&line);
	return text;
}

static bool fail_as(const char *function, const char *how, uint64_t error)
{
	char text[160];
	struct sn_line line = SN_LINE(text);
	const char *none = NULL;
	SN_LINE_ADD(&line, function, how);
	if (error)
		sn_line_add_number(&line, error);
	const char *kept = sn_keep_name(text, line.length);
	atomic_compare_exchange_strong(&failure, &none, kept ? kept : function);
	has_failed = true;
	atomic_store_explicit(&sn_cuda_samples_are_on, false, memory_order_relaxed);
	return false;
}

static bool fail(const char *function, sn_cupti_result error)
{
	return error == SN_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
		   ? fail_as("the driver", " lets only administrators do so (RmProfilingAdminOnly)",
			     0)
		   : fail_as(function, " fails with error ", (uint64_t)error);
}

/* ---- one at a time ---- */

static bool claim(void)
{
	return !atomic_exchange_explicit(&is_claimed, true, memory_order_acquire);
}

static bool claim_soon(void)
{
	for (uint32_t tries = 0; tries < CLAIM_PAUSES; tries++) {
		if (claim())
			return true;
		sn_lock_pause();
	}
	return false;
}

static void begin_waiting(void);
static bool any_waits(void);

/* seq_cst, as where a context is put to wait: whoever comes in vain is seen here, or finds the claim free */
static void unclaim(void)
{
	do {
		begin_waiting();
		atomic_store(&is_claimed, false);
	} while (any_waits() && claim());
}

/* ---- what was sampled ---- */

/* A launch that has just ended, where the release does not tell of which a sample is. */
struct launch {
	uint32_t correlation;
	const char *symbol; /* NULL: a graph's, of any kernel */
};

/* The launch's place; false where it is not known. */
static bool find_launch(const struct sn_cupti_pc *pc, const struct sn_cuda_code *code,
			const struct launch *last, struct sn_gpu_place *place)
{
	uint32_t correlation = pc_bytes > SN_CUPTI_PC_FIRST_BYTES ? pc->correlation : 0;
	if (!correlation && last->correlation &&
	    (!last->symbol || (code->kernel && !strcmp(last->symbol, code->kernel))))
		correlation = last->correlation;
	return sn_gpu_launch_of(&sn_cuda, correlation, place);
}

static uint32_t metric_of(uint32_t index, bool *is_known)
{
	for (uint32_t at = 0; at < reasons.count; at++)
		if (reasons.indices[at] == index) {
			*is_known = true;
			return reasons.metrics[at];
		}
	*is_known = false;
	return SN_ID_NONE;
}

static void take_pc(const struct sn_cupti_pc *pc, const struct launch *last)
{
	struct sn_cuda_code code = sn_cuda_cubin_find(pc->crc, pc->function, pc->name);
	struct sn_gpu_place place;
	bool is_placed = find_launch(pc, &code, last, &place);
	for (size_t at = 0; at < pc->reason_count && at < reasons.asked; at++) {
		bool is_known;
		struct sn_gpu_operation operation = {.interface = &sn_cuda, .name = code.kernel};
		operation.sample =
		    (struct sn_gpu_sample){.module = code.module,
					   .reason = metric_of(pc->reasons[at].index, &is_known),
					   .address = code.start + pc->pc,
					   .count = pc->reasons[at].samples};
		if (!is_known || !operation.sample.count)
			continue;
		if (is_placed)
			sn_gpu_sampled(&place, &operation);
		else
			sn_cuda_samples_of_kernel(code.kernel, &operation.sample);
	}
}

static bool take(struct sn_cuda_batch *of, const struct launch *last)
{
	size_t count = sn_cuda_batch_count(of);
	for (size_t index = 0; index < count; index++)
		if (!sn_cuda_batch_lies_as_asked(of, index))
			return fail_as("cuptiPCSamplingGetData",
				       " gives records of an unknown length", 0);
	sn_gpu_begin_done();
	for (size_t index = 0; index < count; index++)
		take_pc(sn_cuda_batch_pc(of, index), last);
	sn_gpu_end_done();
	if (of->samples.dropped)
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_LOST, of->samples.dropped);
	if (of->samples.hidden)
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_HIDDEN, of->samples.hidden);
	sn_cuda_batch_empty(of);
	return true;
}

/* What CUPTI has put aside when a module went, or sampling ended. */
static void take_resting(struct sn_cuda_batch *of)
{
	if (of->samples.pcs && (of->samples.pc_count || of->samples.dropped))
		take(of, &(struct launch){0});
}

/* A range is over, and is read until nothing comes: CUPTI was seen to have more than it tells of. */
static bool is_stopped(void)
{
	return is_ranged() && !is_started;
}

/* All that a context has. With the claim. */
static void read_context(void *handle, const struct launch *last)
{
	struct sn_cupti_sampling_read parameters = {{sizeof(parameters), NULL, handle},
						    &batch.samples};
	for (;;) {
		sn_cupti_result error = cupti.cuptiPCSamplingGetData(&parameters);
		/* the device's buffer was full: how much is lost may not be told */
		if (error == SN_CUPTI_ERROR_OUT_OF_MEMORY && !batch.samples.dropped)
			batch.samples.dropped = 1;
		else if (error && error != SN_CUPTI_ERROR_OUT_OF_MEMORY)
			fail("cuptiPCSamplingGetData", error);
		bool is_more =
		    !error && batch.samples.pc_count && (batch.samples.left_count || is_stopped());
		if ((error && error != SN_CUPTI_ERROR_OUT_OF_MEMORY) || !take(&batch, last) ||
		    !is_more)
			return;
	}
}

/* ---- contexts ---- */

static uint32_t find_context(const void *handle)
{
	for (uint32_t at = 0; at < CONTEXTS; at++)
		if (contexts[at].handle == handle)
			return at;
	return CONTEXTS;
}

static char reason_names[REASONS][SN_CUPTI_REASON_NAME_BYTES];

/* "smsp__pcsamp_warps_issue_stalled_long_scoreboard" is stall-long-scoreboard; that the warp was selected is none. */
static uint32_t new_metric(const char *reason)
{
	size_t length = strlen(reason);
	char *name = sn_keep(length + sizeof("stall-"));
	if (!strcmp(reason, "selected") || !name)
		return SN_ID_NONE;
	memcpy(name, "stall-", 6);
	for (size_t at = 0; at < length; at++)
		name[6 + at] = reason[at] == '_' ? '-' : reason[at];
	return sn_metric(name, "1", "cuda", SN_METRIC_COUNT, 0);
}

/* Each is there twice: of all warps, and of those in cycles in which the scheduler issued nothing. The first are all samples. */
static void choose_reasons(const uint32_t *indices, size_t count)
{
	reasons.count = 0;
	for (size_t at = 0; at < count; at++) {
		reason_names[at][SN_CUPTI_REASON_NAME_BYTES - 1] = 0;
		const char *name = strstr(reason_names[at], "stalled_");
		if (!name || strstr(name, "_not_issued"))
			continue;
		reasons.indices[reasons.count] = indices[at];
		reasons.metrics[reasons.count++] = new_metric(name + strlen("stalled_"));
	}
}

static bool ask_reasons(void *handle)
{
	static uint32_t indices[REASONS];
	static char *names[REASONS]; /* only who has the claim is here */
	size_t count = 0;
	struct sn_cupti_reason_count counting = {{sizeof(counting), NULL, handle}, &count};
	if (reasons.count)
		return true;
	sn_cupti_result error = cupti.cuptiPCSamplingGetNumStallReasons(&counting);
	if (error || !count || count > REASONS)
		return fail("cuptiPCSamplingGetNumStallReasons",
			    error ? error : SN_CUPTI_ERROR_END);
	for (size_t at = 0; at < count; at++)
		names[at] = reason_names[at];
	struct sn_cupti_reason_names naming = {
	    {sizeof(naming), NULL, handle}, count, indices, names};
	error = cupti.cuptiPCSamplingGetStallReasons(&naming);
	if (!error)
		choose_reasons(indices, count);
	if (error || !reasons.count)
		return fail("cuptiPCSamplingGetStallReasons", error ? error : SN_CUPTI_ERROR_END);
	reasons.asked = (uint32_t)count;
	return true;
}

static bool configure(void *handle, struct sn_cuda_batch *resting)
{
	uint32_t count = 3;
	struct sn_cupti_sampling_setting settings[5] = {
	    {.key = SN_CUPTI_SAMPLING_MODE,
	     .number = is_serialized() ? SN_CUPTI_SERIALIZED : SN_CUPTI_CONTINUOUS},
	    {.key = SN_CUPTI_SAMPLING_REASONS, .reasons = {reasons.count, reasons.indices}},
	    {.key = SN_CUPTI_SAMPLING_BUFFER, .buffer = &resting->samples}};
	/* without one, CUPTI chooses it by the device */
	if (sn_config.gpu_sample_period)
		settings[count++] = (struct sn_cupti_sampling_setting){
		    .key = SN_CUPTI_SAMPLING_PERIOD, .number = sn_config.gpu_sample_period};
	if (is_ranged())
		settings[count++] = (struct sn_cupti_sampling_setting){
		    .key = SN_CUPTI_SAMPLING_CONTROL, .number = 1};
	struct sn_cupti_sampling_settings parameters = {
	    {sizeof(parameters), NULL, handle}, count, settings};
	sn_cupti_result error = cupti.cuptiPCSamplingSetConfigurationAttribute(&parameters);
	return error ? fail("cuptiPCSamplingSetConfigurationAttribute", error) : true;
}

static bool disable(void *handle)
{
	struct sn_cupti_sampling parameters = {sizeof(parameters), NULL, handle};
	sn_cupti_result error = cupti.cuptiPCSamplingDisable(&parameters);
	return error ? fail("cuptiPCSamplingDisable", error) : true;
}

/* Where that fails, sampling ends. */
static bool start_or_stop(void *handle, bool starts)
{
	struct sn_cupti_sampling parameters = {sizeof(parameters), NULL, handle};
	sn_cupti_result error = starts ? cupti.cuptiPCSamplingStart(&parameters)
				       : cupti.cuptiPCSamplingStop(&parameters);
	return error ? fail(starts ? "cuptiPCSamplingStart" : "cuptiPCSamplingStop", error) : true;
}

/* How many of the excluding calls that run are this thread's. */
static __thread uint32_t mine __attribute__((tls_model("initial-exec")));

/* With the claim: waits, with a bound, for excluding calls of other threads. */
static bool is_alone(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t tries = 0; atomic_load(&excluding) > mine; tries++) {
		if (tries == CLAIM_PAUSES)
			return false;
		sn_lock_pause();
	}
	return true;
}

/* The claim, while no excluding call of another thread runs. Those wait for whoever has the claim, so it is given back meanwhile. After
 * a wait in vain each launch tries once, for a while. */
static bool claim_alone(void)
{
	static _Atomic uint64_t gave_up_ns;
	uint32_t most = sn_now_ns() - gave_up_ns < READ_NS ? 1 : CLAIM_PAUSES;
	for (uint32_t tries = 0; tries < most; tries++) {
		if (claim()) {
			atomic_thread_fence(memory_order_seq_cst);
			if (atomic_load(&excluding) <= mine)
				return true;
			unclaim();
		}
		sn_lock_pause();
	}
	gave_up_ns = sn_now_ns();
	return false;
}

/* CUPTI may put what comes late into the batch that it was given, so that stays where disabling has failed. */
static void end_context(uint32_t place)
{
	void *handle = contexts[place].handle;
	if (!handle)
		return;
	if (!has_failed && contexts[place].is_started)
		start_or_stop(handle, false);
	if (!has_failed && is_alone())
		read_context(handle, &(struct launch){0});
	bool is_whole = !has_failed, is_disabled = disable(handle);
	if (is_whole)
		take_resting(&contexts[place].resting);
	contexts[place].handle = NULL;
	if (is_disabled)
		sn_cuda_batch_release(&contexts[place].resting);
	else
		contexts[place].resting = (struct sn_cuda_batch){0};
}

static void end_contexts(void)
{
	for (uint32_t at = 0; at < CONTEXTS; at++)
		end_context(at);
	atomic_store_explicit(&sn_cuda_samples_are_on, false, memory_order_relaxed);
}

/* Where that fails, nothing stays enabled. */
static void read_all(const struct launch *last)
{
	atomic_store_explicit(&read_ns, sn_now_ns(), memory_order_relaxed);
	for (uint32_t at = 0; at < CONTEXTS && !has_failed; at++) {
		void *handle = contexts[at].handle;
		if (!handle)
			continue;
		take_resting(&contexts[at].resting);
		read_context(handle, last);
	}
	if (has_failed)
		end_contexts();
}

/* ---- regions ---- */

static bool set_started(bool starts)
{
	for (uint32_t at = 0; at < CONTEXTS && !has_failed; at++)
		if (contexts[at].handle && contexts[at].is_started != starts &&
		    start_or_stop(contexts[at].handle, starts))
			contexts[at].is_started = starts;
	is_started = starts;
	return !has_failed;
}

static void start_all(void)
{
	was_started = true;
	if (!is_started)
		sn_cuda_samples_note_range(true, sn_now_ns());
	if (!set_started(true))
		end_contexts();
}

/* CUPTI demands to be read when a range ends. */
static void stop_all(void)
{
	set_started(false);
	stopped_ns = sn_now_ns();
	sn_cuda_samples_note_range(false, stopped_ns);
	read_all(&(struct launch){0});
}

/* Before a kernel is launched. */
static void follow_regions(void)
{
	if (is_started == sn_region_chosen_is_open() || !claim_alone())
		return;
	bool starts = sn_region_chosen_is_open();
	if (starts && !is_started)
		start_all();
	else if (!starts && is_started)
		stop_all();
	unclaim();
}

/* ---- contexts that begin ---- */

static void begin_context(void *handle)
{
	struct sn_cupti_sampling parameters = {sizeof(parameters), NULL, handle};
	uint32_t place = find_context(NULL);
	if (has_failed || has_ended)
		return;
	if (place == CONTEXTS) {
		unsampled++;
		return;
	}
	struct sn_cuda_batch *resting = &contexts[place].resting;
	sn_cupti_result error = cupti.cuptiPCSamplingEnable(&parameters);
	if (error) {
		fail("cuptiPCSamplingEnable", error);
		return;
	}
	if (!ask_reasons(handle) ||
	    !(batch.samples.pcs || sn_cuda_batch_init(&batch, READ_PCS, pc_bytes, reasons.asked)) ||
	    !sn_cuda_batch_init(resting, RESTING_PCS, pc_bytes, reasons.asked) ||
	    !configure(handle, resting)) {
		disable(handle);
		sn_cuda_batch_release(resting);
		return;
	}
	contexts[place].handle = handle;
	contexts[place].is_started = false;
	atomic_store_explicit(&sn_cuda_samples_are_on, true, memory_order_release);
	if (is_ranged() && (is_started || sn_region_chosen_is_open()))
		start_all();
}

static bool any_waits(void)
{
	for (uint32_t at = 0; at < CONTEXTS; at++)
		if (atomic_load(&waiting[at]))
			return true;
	return false;
}

/* With the claim. */
static void begin_waiting(void)
{
	for (uint32_t at = 0; at < CONTEXTS; at++) {
		void *handle = atomic_exchange(&waiting[at], NULL);
		if (handle)
			begin_context(handle);
	}
}

/* Puts a handle into the place of another, or of none. */
static bool replace_waiting(void *before, void *after)
{
	for (uint32_t at = 0; at < CONTEXTS; at++) {
		void *expected = before;
		if (atomic_compare_exchange_strong(&waiting[at], &expected, after))
			return true;
	}
	return false;
}

/* ---- callbacks ---- */

static void on_module(const struct sn_cupti_module *module)
{
	struct sn_cupti_crc parameters = {sizeof(parameters), module->bytes, module->cubin, 0};
	if (!module->cubin || !module->bytes)
		return;
	sn_cupti_result error = cupti.cuptiGetCubinCrc(&parameters);
	if (error)
		fail("cuptiGetCubinCrc", error);
	else
		sn_cuda_cubin_loaded(module->cubin, module->bytes, parameters.crc);
}

static void on_context_created(void *handle)
{
	if (!claim_soon()) {
		if (!replace_waiting(NULL, handle))
			unsampled++;
		/* else whoever has it begins this one */
		if (!claim())
			return;
	} else {
		begin_context(handle);
	}
	unclaim();
}

static void on_context_destroyed(void *handle)
{
	bool is_mine = claim_soon();
	uint32_t place = find_context(handle);
	replace_waiting(handle, NULL);
	if (is_mine && place < CONTEXTS)
		end_context(place);
	else if (place < CONTEXTS)
		contexts[place].handle = NULL; /* nobody begins to read it any more */
	if (is_mine)
		unclaim();
}

void sn_cuda_samples_on_resource(uint32_t cbid, const struct sn_cupti_resource_data *data)
{
	if (!cupti.cuptiPCSamplingEnable)
		return;
	if (cbid == SN_CUPTI_CONTEXT_CREATED && data->context)
		on_context_created(data->context);
	if (cbid == SN_CUPTI_CONTEXT_DESTROY_STARTING && data->context)
		on_context_destroyed(data->context);
	if (cbid != SN_CUPTI_MODULE_LOADED && cbid != SN_CUPTI_MODULE_UNLOAD_STARTING)
		return;
	if (cbid == SN_CUPTI_MODULE_LOADED && !has_failed && data->descriptor)
		on_module(data->descriptor);
	if (cbid == SN_CUPTI_MODULE_LOADED && has_failed)
		sn_cuda_samples_end();
	/* what was sampled in a module is read while its names are there */
	if (cbid == SN_CUPTI_MODULE_UNLOAD_STARTING &&
	    atomic_load_explicit(&sn_cuda_samples_are_on, memory_order_relaxed) && claim_soon()) {
		if (is_alone())
			read_all(&(struct launch){0});
		unclaim();
	}
	atomic_store_explicit(&module_ns, sn_now_ns(), memory_order_relaxed);
}

void sn_cuda_samples_note_call(uint32_t domain, uint32_t cbid, const char *name)
{
	static const char *const names[] = {"cuModule", "cuLibrary", "cudaLibrary", "cuGraphLaunch",
					    "cudaGraphLaunch"};
	for (size_t at = 0; at < sizeof(names) / sizeof(*names) && cbid < CALLS; at++)
		if (sn_begins_with(name, names[at]))
			excluding_calls[domain][cbid / 64] |= (uint64_t)1 << cbid % 64;
	if (cbid < CALLS && strstr(name, "GraphLaunch"))
		graph_launches[domain][cbid / 64] |= (uint64_t)1 << cbid % 64;
	if (cbid < CALLS && strstr(name, "Launch"))
		launches[domain][cbid / 64] |= (uint64_t)1 << cbid % 64;
}

static bool excludes(uint32_t domain, uint32_t cbid)
{
	return cbid < CALLS && excluding_calls[domain][cbid / 64] >> cbid % 64 & 1;
}

/* seq_cst here and in read_beside_none: of both, one sees the other's mark */
void sn_cuda_samples_before_call(uint32_t domain, uint32_t cbid)
{
	if (is_ranged() && !mine && cbid < CALLS && launches[domain][cbid / 64] >> cbid % 64 & 1)
		follow_regions();
	if (!excludes(domain, cbid))
		return;
	mine++;
	atomic_fetch_add(&excluding, 1);
	for (uint32_t tries = 0; atomic_load(&is_claimed) && tries < CLAIM_PAUSES; tries++)
		sn_lock_pause();
}

static void read_beside_none(const struct launch *last)
{
	bool is_mine = last->correlation ? claim_soon() : claim();
	if (!is_mine)
		return;
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load(&excluding))
		read_all(last);
	unclaim();
}

void sn_cuda_samples_after_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call,
				bool is_launch)
{
	struct launch last = {0};
	uint64_t now = sn_now_ns();
	if (excludes(domain, cbid) && mine) {
		mine--;
		atomic_fetch_sub(&excluding, 1);
	}
	/* a call in a call: the outer one's end is soon enough */
	if (sn_gpu_call_place(NULL, NULL))
		return;
	/* as CUPTI demands where kernels run one at a time. Releases that do not tell of which launch a sample is: of the last */
	bool is_graph = cbid < CALLS && graph_launches[domain][cbid / 64] >> cbid % 64 & 1;
	if (is_stopped() && now - stopped_ns > LATE_NS)
		return;
	if (is_serialized() && (is_launch || is_graph) && !is_stopped())
		last = (struct launch){call->correlation, is_launch ? call->symbol : NULL};
	else if (now - atomic_load_explicit(&read_ns, memory_order_relaxed) < READ_NS ||
		 now - atomic_load_explicit(&module_ns, memory_order_relaxed) < MODULE_NS)
		return;
	read_beside_none(&last);
}

/* ---- begin and end ---- */

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
	cupti.name = (sn_cupti_result(*) parameters)sn_real_dlsym(library, #name);                 \
	if (!cupti.name)                                                                           \
		return fail_as(#name, " is missing", 0);
	SN_CUPTI_SAMPLING_FUNCTIONS(FIND)
	if (!is_ranged())
		return true;
	SN_CUPTI_SAMPLING_RANGE_FUNCTIONS(FIND)
#undef FIND
	return true;
}

void sn_cuda_samples_begin(void *library)
{
	static const uint32_t callbacks[] = {
	    SN_CUPTI_CONTEXT_CREATED, SN_CUPTI_CONTEXT_DESTROY_STARTING, SN_CUPTI_MODULE_LOADED,
	    SN_CUPTI_MODULE_UNLOAD_STARTING};
	uint32_t version = 0;
	if (!sn_config.gpu_samples || !find_functions(library))
		return;
	/* by the version: a longer record than the library has would be misread, without an error */
	if (!cupti.cuptiGetVersion(&version) && version >= SN_CUPTI_VERSION_12_4)
		pc_bytes = sizeof(struct sn_cupti_pc);
	for (size_t at = 0; at < sizeof(callbacks) / sizeof(*callbacks); at++)
		sn_cupti.cuptiEnableCallback(1, sn_cupti.subscriber, SN_CUPTI_RESOURCE,
					     callbacks[at]);
}

void sn_cuda_samples_end(void)
{
	has_ended = true;
	if (!cupti.cuptiPCSamplingEnable || !claim_soon())
		return;
	end_contexts();
	/* not unclaim: no context begins any more */
	atomic_store(&is_claimed, false);
}

void sn_cuda_samples_after_fork(void)
{
	memset(contexts, 0, sizeof(contexts));
	memset(waiting, 0, sizeof(waiting));
	unsampled = 0;
	has_ended = is_started = was_started = false;
	atomic_store_explicit(&sn_cuda_samples_are_on, false, memory_order_relaxed);
	atomic_store_explicit(&is_claimed, false, memory_order_relaxed);
	atomic_store_explicit(&excluding, 0, memory_order_relaxed);
	mine = 0;
	sn_cuda_samples_forget();
}
