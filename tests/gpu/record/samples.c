/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, which are written as they come and go; and samples of instructions, where SONDE_RECORD_SAMPLES asks for them:
 * "continuous" or "serialized", with "@CYCLES" a period, a power of two. They are asked for and read as the adapter does
 * (docs/design/cuda-samples.md, "Reading"): at the end of a call, and not beside one that loads a module or launches a graph. Each answer
 * is written as it came. A function that fails ends sampling, and all else goes on.
 */
#include "recorder.h"
#include "tool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONTEXTS    16u
#define READ_PCS    1024u
#define RESTING_PCS 4096u
#define REASONS	    128u
#define READ_NS	    250000000u
#define MODULE_NS   300000000u /* nothing is read so soon after a module */
#define WAIT_NS	    100000000u /* for another thread */

static struct {
#define POINTER(name, parameters) sn_cupti_result(*name) parameters;
	SN_CUPTI_SAMPLING_FUNCTIONS(POINTER)
#undef POINTER
} cupti;

/* Instructions and their reasons, in one piece of memory. */
struct batch {
	struct sn_cupti_samples samples;
	size_t capacity;
};

static enum sn_cupti_sampling_mode mode; /* 0: nothing is sampled */
static uint32_t period;			 /* the logarithm of its cycles; 0: CUPTI chooses */
static size_t pc_bytes;

/* Whoever holds it calls CUPTI's functions of samples, and has what is below. It is refused to a thread that has it. */
static pthread_mutex_t reading = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static struct {
	void *handle;	      /* NULL: the place is free */
	struct batch resting; /* CUPTI's, for what comes when a module goes, or sampling ends */
} contexts[CONTEXTS];
static struct batch batch; /* for reading */
static uint8_t *written;   /* an answer as it is written */
static bool has_failed;
static struct {
	uint32_t count, indices[REASONS]; /* those that are asked for */
	uint32_t all; /* how many there are: for so many an instruction has room */
} reasons;

static _Atomic bool is_on;
static _Atomic uint32_t excluding; /* calls that nothing may be read beside */
static __thread uint32_t mine, depth;
static _Atomic uint64_t read_ns, module_ns;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What CUPTI hangs in must not hang the program: with a bound. */
static bool claim_soon(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return !pthread_mutex_timedlock(&reading, &until);
}

static void unclaim(void)
{
	pthread_mutex_unlock(&reading);
}

/* ---- batches ---- */

static struct sn_cupti_pc *pc_at(const struct batch *of, size_t index)
{
	return (struct sn_cupti_pc *)((uint8_t *)of->samples.pcs + index * pc_bytes);
}

static struct sn_cupti_reason *reasons_at(const struct batch *of, size_t index)
{
	return (struct sn_cupti_reason *)((uint8_t *)of->samples.pcs + of->capacity * pc_bytes) +
	       index * reasons.all;
}

static size_t used_of(const struct batch *of)
{
	return of->samples.pc_count < of->capacity ? of->samples.pc_count : of->capacity;
}

/* CUPTI writes how many reasons it found where it is told how many fit. */
static void empty(struct batch *of)
{
	for (size_t index = used_of(of); index-- > 0;)
		pc_at(of, index)->reason_count = reasons.all;
	of->samples.total = of->samples.dropped = of->samples.hidden = 0;
	of->samples.pc_count = of->samples.left_count = 0;
}

static size_t batch_bytes(size_t capacity)
{
	return capacity * (pc_bytes + reasons.all * sizeof(struct sn_cupti_reason));
}

static bool make(struct batch *of, size_t capacity)
{
	void *memory = calloc(1, batch_bytes(capacity));
	if (!memory)
		return false;
	of->capacity = capacity;
	of->samples = (struct sn_cupti_samples){.bytes = sizeof(of->samples),
						.most_pcs = capacity,
						.pc_count = capacity,
						.pcs = memory};
	for (size_t index = 0; index < capacity; index++) {
		pc_at(of, index)->bytes = pc_bytes;
		pc_at(of, index)->reasons = reasons_at(of, index);
	}
	empty(of);
	return true;
}

/* ---- what is written ---- */

static void note(const char *function, struct recording_sampling fields)
{
	record_text(RECORDING_OF_sampling, &fields, sizeof(fields), function);
	has_failed = has_failed || fields.result;
}

static void note_call(const char *function, void *handle, sn_cupti_result result)
{
	note(function, (struct recording_sampling){
			   .context = (uintptr_t)handle, .has_ended = true, .result = result});
}

/* Puts the reasons of an instruction at the end of what is written; how many bytes there are then. */
static size_t put_reasons(const struct batch *of, size_t index, size_t end)
{
	const struct sn_cupti_pc *pc = pc_at(of, index);
	uint64_t *place =
	    (uint64_t *)(written + index * pc_bytes + offsetof(struct sn_cupti_pc, reasons));
	size_t count = pc->reason_count < reasons.all ? pc->reason_count : reasons.all;
	*place = RECORDING_NOWHERE;
	if (pc->reasons != reasons_at(of, index))
		return end;
	*place = end;
	memcpy(written + end, pc->reasons, count * sizeof(*pc->reasons));
	return end + count * sizeof(*pc->reasons);
}

/* Writes an answer and empties the batch. A library whose records lie otherwise writes over where the next one's reasons are. */
static void note_samples(void *handle, struct batch *of, bool is_put_aside, sn_cupti_result result)
{
	size_t count = used_of(of), end = count * pc_bytes;
	struct recording_samples fields = {.context = (uintptr_t)handle,
					   .total = of->samples.total,
					   .dropped = of->samples.dropped,
					   .hidden = of->samples.hidden,
					   .left = of->samples.left_count,
					   .count = count,
					   .record_bytes = (uint32_t)pc_bytes,
					   .is_put_aside = is_put_aside,
					   .result = result};
	memcpy(written, of->samples.pcs, end);
	for (size_t index = 0; index < count; index++) {
		bool lies_as_asked = pc_at(of, index)->reasons == reasons_at(of, index);
		end = put_reasons(of, index, end);
		if (lies_as_asked)
			record_string(pc_at(of, index)->name);
		has_failed = has_failed || !lies_as_asked;
	}
	record_add(RECORDING_OF_samples, &fields, sizeof(fields), written, end);
	empty(of);
}

static void note_resting(uint32_t place)
{
	struct batch *of = &contexts[place].resting;
	if (of->samples.pcs && (of->samples.pc_count || of->samples.dropped))
		note_samples(contexts[place].handle, of, true, SN_CUPTI_SUCCESS);
}

/* ---- reading ---- */

static void read_context(void *handle)
{
	struct sn_cupti_sampling_read parameters = {{sizeof(parameters), NULL, handle},
						    &batch.samples};
	for (bool is_more = true; is_more && !has_failed;) {
		sn_cupti_result result = cupti.cuptiPCSamplingGetData(&parameters);
		is_more = !result && batch.samples.pc_count && batch.samples.left_count;
		note_samples(handle, &batch, false, result);
		/* the device's buffer was full: it goes on */
		has_failed = has_failed || (result && result != SN_CUPTI_ERROR_OUT_OF_MEMORY);
	}
}

static void disable(void *handle)
{
	struct sn_cupti_sampling parameters = {sizeof(parameters), NULL, handle};
	note("cuptiPCSamplingDisable", (struct recording_sampling){.context = (uintptr_t)handle});
	note_call("cuptiPCSamplingDisable", handle, cupti.cuptiPCSamplingDisable(&parameters));
}

/* Waits, with a bound, for excluding calls of other threads. */
static bool is_alone(void)
{
	uint64_t begin_ns = now_ns();
	while (excluding > mine && now_ns() - begin_ns < WAIT_NS)
		nanosleep(&(struct timespec){0, 50000}, NULL);
	return excluding == mine;
}

/* CUPTI may write to what it was given later still: it is not freed. */
static void end_context(uint32_t place)
{
	if (!has_failed && is_alone()) {
		/* the last reading may hang: its answer says that it has not */
		note("cuptiPCSamplingGetData",
		     (struct recording_sampling){.context = (uintptr_t)contexts[place].handle});
		read_context(contexts[place].handle);
	}
	disable(contexts[place].handle);
	note_resting(place);
	contexts[place].handle = NULL;
}

static void end_contexts(void)
{
	for (uint32_t place = 0; place < CONTEXTS; place++)
		if (contexts[place].handle)
			end_context(place);
	is_on = false;
}

static void read_all(void)
{
	read_ns = now_ns();
	for (uint32_t place = 0; place < CONTEXTS && !has_failed; place++) {
		if (!contexts[place].handle)
			continue;
		note_resting(place);
		read_context(contexts[place].handle);
	}
	if (has_failed)
		end_contexts();
}

/* ---- contexts ---- */

static char reason_names[REASONS][SN_CUPTI_REASON_NAME_BYTES];

/* Those of all warps; the others are of cycles in which the scheduler issued nothing. */
static void choose_reasons(const uint32_t *indices, size_t count)
{
	for (size_t at = 0; at < count; at++) {
		struct recording_reason fields = {.index = indices[at]};
		reason_names[at][SN_CUPTI_REASON_NAME_BYTES - 1] = 0;
		record_text(RECORDING_OF_reason, &fields, sizeof(fields), reason_names[at]);
		if (strstr(reason_names[at], "stalled_") &&
		    !strstr(reason_names[at], "_not_issued"))
			reasons.indices[reasons.count++] = indices[at];
	}
}

static bool ask_reasons(void *handle)
{
	static uint32_t indices[REASONS];
	char *names[REASONS];
	size_t count = 0;
	struct sn_cupti_reason_count counting = {{sizeof(counting), NULL, handle}, &count};
	if (reasons.count)
		return true;
	sn_cupti_result result = cupti.cuptiPCSamplingGetNumStallReasons(&counting);
	note(
	    "cuptiPCSamplingGetNumStallReasons",
	    (struct recording_sampling){
		.context = (uintptr_t)handle, .value = count, .has_ended = true, .result = result});
	if (has_failed || !count || count > REASONS)
		return false;
	for (size_t at = 0; at < count; at++)
		names[at] = reason_names[at];
	struct sn_cupti_reason_names naming = {
	    {sizeof(naming), NULL, handle}, count, indices, names};
	note_call("cuptiPCSamplingGetStallReasons", handle,
		  cupti.cuptiPCSamplingGetStallReasons(&naming));
	if (has_failed)
		return false;
	reasons.all = (uint32_t)count;
	choose_reasons(indices, count);
	return reasons.count;
}

static void note_setting(void *handle, const struct sn_cupti_sampling_setting *setting)
{
	bool is_reasons = setting->key == SN_CUPTI_SAMPLING_REASONS;
	struct recording_setting fields = {.context = (uintptr_t)handle,
					   .value = is_reasons ? setting->reasons.count
						    : setting->key == SN_CUPTI_SAMPLING_BUFFER
							? setting->buffer->most_pcs
							: setting->number,
					   .key = setting->key,
					   .status = setting->status};
	record_add(RECORDING_OF_setting, &fields, sizeof(fields), reasons.indices,
		   is_reasons ? reasons.count * sizeof(*reasons.indices) : 0);
}

static void configure(void *handle, struct batch *resting)
{
	struct sn_cupti_sampling_setting settings[4] = {
	    {.key = SN_CUPTI_SAMPLING_MODE, .number = mode},
	    {.key = SN_CUPTI_SAMPLING_REASONS, .reasons = {reasons.count, reasons.indices}},
	    {.key = SN_CUPTI_SAMPLING_BUFFER, .buffer = &resting->samples},
	    {.key = SN_CUPTI_SAMPLING_PERIOD, .number = period}};
	struct sn_cupti_sampling_settings parameters = {
	    {sizeof(parameters), NULL, handle}, period ? 4 : 3, settings};
	sn_cupti_result result = cupti.cuptiPCSamplingSetConfigurationAttribute(&parameters);
	for (size_t at = 0; at < parameters.count; at++)
		note_setting(handle, &settings[at]);
	note_call("cuptiPCSamplingSetConfigurationAttribute", handle, result);
}

static bool have_memory(struct batch *resting)
{
	if (!written)
		written = malloc(batch_bytes(RESTING_PCS));
	return written && (batch.samples.pcs || make(&batch, READ_PCS)) &&
	       (resting->samples.pcs || make(resting, RESTING_PCS));
}

static void begin_context(void *handle, uint32_t place)
{
	struct sn_cupti_sampling parameters = {sizeof(parameters), NULL, handle};
	struct batch *resting = &contexts[place].resting;
	note_call("cuptiPCSamplingEnable", handle, cupti.cuptiPCSamplingEnable(&parameters));
	if (has_failed)
		return;
	if (ask_reasons(handle) && have_memory(resting))
		configure(handle, resting);
	else
		has_failed = true;
	if (has_failed) {
		disable(handle);
		return;
	}
	contexts[place].handle = handle;
	is_on = true;
}

static uint32_t find_context(const void *handle)
{
	uint32_t place = 0;
	while (place < CONTEXTS && contexts[place].handle != handle)
		place++;
	return place;
}

void record_samples_on_context(uint32_t cbid, void *handle)
{
	bool begins = cbid == SN_CUPTI_CONTEXT_CREATED;
	if (!mode || !handle || !claim_soon())
		return;
	uint32_t place = find_context(begins ? NULL : handle);
	if (place < CONTEXTS && begins && !has_failed)
		begin_context(handle, place);
	else if (place < CONTEXTS && !begins)
		end_context(place);
	unclaim();
}

/* ---- modules ---- */

static void note_module(const struct sn_cupti_module *module, struct recording_module *fields)
{
	struct sn_cupti_crc parameters = {sizeof(parameters), module->bytes, module->cubin, 0};
	fields->number = module->number;
	fields->size = module->bytes;
	if (fields->is_unloaded || !module->cubin || !module->bytes || !cupti.cuptiGetCubinCrc)
		return;
	fields->result = cupti.cuptiGetCubinCrc(&parameters);
	fields->crc = parameters.crc;
	/* one without a CRC is known by its length */
	if (record_is_to_be_held(fields->result ? module->bytes : fields->crc, module->bytes))
		fields->held = module->bytes;
}

void record_samples_on_module(uint32_t cbid, const struct sn_cupti_resource_data *data)
{
	const struct sn_cupti_module *module = data->descriptor;
	struct recording_module fields = {.context = (uintptr_t)data->context,
					  .is_unloaded = cbid == SN_CUPTI_MODULE_UNLOAD_STARTING};
	if (module)
		note_module(module, &fields);
	record_add(RECORDING_OF_module, &fields, sizeof(fields), fields.held ? module->cubin : NULL,
		   fields.held);
	/* what was sampled in a module is read while its names are there */
	if (is_on && fields.is_unloaded && claim_soon()) {
		if (is_alone())
			read_all();
		unclaim();
	}
	module_ns = now_ns();
}

/* ---- calls ---- */

static bool excludes(const char *name)
{
	static const char *const names[] = {"cuModule", "cuLibrary", "cudaLibrary", "cuGraphLaunch",
					    "cudaGraphLaunch"};
	for (size_t at = 0; name && at < sizeof(names) / sizeof(*names); at++)
		if (!strncmp(name, names[at], strlen(names[at])))
			return true;
	return false;
}

void record_samples_before_call(const struct sn_cupti_call *call)
{
	depth++;
	if (!is_on || !excludes(call->name))
		return;
	bool is_claimed = claim_soon();
	mine++;
	excluding++;
	if (is_claimed)
		unclaim();
}

/* As CUPTI demands after each launch, where kernels run one at a time. A call in a call: the outer one's end is soon enough. */
void record_samples_after_call(const struct sn_cupti_call *call)
{
	depth -= depth > 0;
	if (mine && excludes(call->name)) {
		mine--;
		excluding--;
	}
	if (depth || !is_on)
		return;
	uint64_t now = now_ns();
	bool launches = mode == SN_CUPTI_SERIALIZED && call->name && strstr(call->name, "Launch");
	if (!launches && (now - read_ns < READ_NS || now - module_ns < MODULE_NS))
		return;
	if (launches ? !claim_soon() : pthread_mutex_trylock(&reading))
		return;
	if (!excluding)
		read_all();
	unclaim();
}

/* ---- begin and end ---- */

static bool find_functions(void *library)
{
	bool are_all = true;
#define FIND(name, parameters)                                                                     \
	cupti.name = (sn_cupti_result(*) parameters)record_find(library, #name);                   \
	are_all = are_all && cupti.name;
	SN_CUPTI_SAMPLING_FUNCTIONS(FIND)
#undef FIND
	return are_all;
}

void record_samples_begin(void *library, uint32_t version)
{
	const char *asked = getenv("SONDE_RECORD_SAMPLES");
	const char *cycles = asked ? strchr(asked, '@') : NULL;
	bool are_all = find_functions(library);
	if (!asked || !*asked)
		return;
	record_fact("samples", asked);
	if (!are_all)
		return;
	mode = asked[0] == 's' ? SN_CUPTI_SERIALIZED : SN_CUPTI_CONTINUOUS;
	while (cycles && strtoull(cycles + 1, NULL, 10) >> (period + 1))
		period++;
	/* a longer record than the library has would be misread, without an error */
	pc_bytes =
	    version >= SN_CUPTI_VERSION_12_4 ? sizeof(struct sn_cupti_pc) : SN_CUPTI_PC_FIRST_BYTES;
}

void record_samples_end(void)
{
	if (!is_on || !claim_soon())
		return;
	end_contexts();
	unclaim();
}

void record_samples_forget(void)
{
	is_on = false;
	mode = 0;
}
