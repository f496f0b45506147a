/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of program counters, as CUPTI delivers them, of kernels that compute nothing: each launch of a kernel gives as many samples of
 * as many instructions as is planned (device/samples.h; the kernel begins with its section), or else of each third instruction of its code.
 * They can be read when the kernel is over. The table's interval is an exponent of 2; 0: none was asked for.
 */
#include "../device/samples.h"
#include "subscribers.h"

#include <cupti_pcsampling.h>
#include <elf.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LATE_NS	  2000000000u
#define INDEX(at) (7 + 3 * (uint32_t)(at)) /* of a reason: no number to take for a place */

static const char *const reasons[] = {"barrier",
				      "branch_resolving",
				      "dispatch_stall",
				      "drain",
				      "imc_miss",
				      "lg_throttle",
				      "long_scoreboard",
				      "math_pipe_throttle",
				      "membar",
				      "mio_throttle",
				      "misc",
				      "no_instructions",
				      "not_selected",
				      "selected",
				      "short_scoreboard",
				      "sleeping",
				      "tex_throttle",
				      "wait"};
enum { REASONS = sizeof(reasons) / sizeof(*reasons), ALL_REASONS = 2 * REASONS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- modules ---- */

struct module {
	uint32_t number;
	uint64_t crc;
	char *image;
	size_t bytes;
	struct module *next;
};

static struct module *modules;

/* NVIDIA's is another one: who uses it asks cuptiGetCubinCrc. */
static uint64_t crc_of(const void *image, size_t bytes)
{
	uint64_t crc = 14695981039346656037u;
	for (size_t at = 0; at < bytes; at++)
		crc = (crc ^ ((const uint8_t *)image)[at]) * 1099511628211u;
	return crc;
}

static const struct module *module_of(uint32_t number)
{
	const struct module *module = modules;
	while (module && module->number != number)
		module = module->next;
	return module;
}

struct code {
	uint64_t crc, bytes;
	uint32_t symbol;
};

/* The symbol and the section's size of a kernel. */
static bool find_code(const struct module *module, const char *kernel, struct code *code)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)module->image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(module->image + head->e_shoff);
	for (int index = 0; index < head->e_shnum; index++) {
		if (sections[index].sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Sym *symbols =
		    (const Elf64_Sym *)(module->image + sections[index].sh_offset);
		const char *names = module->image + sections[sections[index].sh_link].sh_offset;
		for (uint32_t at = 0; at < sections[index].sh_size / sizeof(*symbols); at++)
			if (ELF64_ST_TYPE(symbols[at].st_info) == STT_FUNC &&
			    !strcmp(names + symbols[at].st_name, kernel)) {
				*code = (struct code){module->crc,
						      sections[symbols[at].st_shndx].sh_size, at};
				return true;
			}
	}
	return false;
}

static const struct fake_planned *plan;

__attribute__((constructor)) static void read_plan(void)
{
	plan = fake_samples_plan(reasons, REASONS);
}

/* ---- contexts ---- */

/* An instruction of one launch, sampled in that time. */
struct sampled {
	struct code code;
	const char *kernel;
	uint64_t pc, start_ns, end_ns;
	bool is_outside; /* of a range: it would be sampled if one began */
	uint32_t correlation;
	uint32_t counts[REASONS];
	struct sampled *next;
};

static _Atomic unsigned created; /* and told */
static struct context {
	uint32_t device; /* first: contexts are handles */
	bool is_told, is_enabled;
	_Atomic bool is_configured; /* changes with the lock */
	bool has_ranges, is_started;
	bool is_unread; /* a range has ended, and has not been read since */
	uint64_t range;
	CUpti_PCSamplingCollectionMode mode;
	bool wants[ALL_REASONS];
	CUpti_PCSamplingData *resting;
	struct sampled *first, **last;
	uint64_t dropped;
	unsigned reads;
} contexts[FAKE_MOST_DEVICES];

static struct context *of_handle(CUcontext handle)
{
	for (uint32_t device = 0; device < FAKE_MOST_DEVICES; device++)
		if ((void *)&contexts[device] == (void *)handle && contexts[device].is_told)
			return &contexts[device];
	return NULL;
}

CUcontext fake_context(int device)
{
	return device < FAKE_MOST_DEVICES && contexts[device].is_told ? (CUcontext)&contexts[device]
								      : NULL;
}

static void tell(struct context *context, CUpti_CallbackId cbid, void *descriptor)
{
	CUpti_ResourceData data = {.context = (CUcontext)context, .resourceDescriptor = descriptor};
	fake_tell(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static struct module *add_module(const void *image, size_t bytes, uint32_t number)
{
	struct module *module = calloc(1, sizeof(*module));
	*module = (struct module){number, crc_of(image, bytes), malloc(bytes), bytes, NULL};
	memcpy(module->image, image, bytes);
	pthread_mutex_lock(&lock);
	module->next = modules;
	modules = module;
	pthread_mutex_unlock(&lock);
	return module;
}

/* What a subscriber is shown of a module is there while it is told. */
static void tell_module(struct context *context, const void *image, size_t bytes, uint32_t number,
			bool is_unloaded)
{
	char *shown = malloc(bytes);
	CUpti_ModuleResourceData data = {.moduleId = number, .cubinSize = bytes, .pCubin = shown};
	memcpy(shown, image, bytes);
	tell(context,
	     is_unloaded ? CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING
			 : CUPTI_CBID_RESOURCE_MODULE_LOADED,
	     &data);
	memset(shown, 0xa5, bytes);
	free(shown);
}

void fake_pc_module(int device, const void *image, size_t bytes, uint32_t number, bool is_unloaded)
{
	struct context *context = &contexts[device];
	if (!image && is_unloaded) {
		tell(context, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, NULL);
		fake_range_context_ends(device);
		context->is_told = false;
		return;
	}
	pthread_mutex_lock(&lock);
	bool is_told = context->is_told;
	context->is_told = true;
	context->device = (uint32_t)device;
	pthread_mutex_unlock(&lock);
	if (!is_told) {
		tell(context, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, NULL);
		created++;
	}
	if (!image)
		return;
	if (!is_unloaded)
		add_module(image, bytes, number);
	tell_module(context, image, bytes, number, is_unloaded);
}

/* ---- sampling ---- */

static struct sampled *new_sampled(struct context *context, const struct fake_run *run,
				   const struct code *code, uint64_t pc)
{
	struct sampled *sampled = calloc(1, sizeof(*sampled));
	*sampled = (struct sampled){
	    .code = *code,
	    .kernel = run->operation->name,
	    .pc = pc,
	    .start_ns = run->start_ns,
	    .end_ns = run->end_ns,
	    .is_outside = context->has_ranges && !context->is_started,
	    .correlation = context->mode == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
			       ? run->correlation
			       : 0};
	*context->last = sampled;
	context->last = &sampled->next;
	return sampled;
}

static void sample(struct context *context, const struct fake_run *run, const struct code *code,
		   uint64_t pc, int reason, uint32_t number)
{
	bool is_outside = context->has_ranges && !context->is_started;
	bool is_lost = !is_outside && fake_fails_now("pc-drop", 5);
	if (!is_outside)
		fake_samples_count(run->operation->name, pc, reason, number, is_lost ? number : 0);
	if (is_lost)
		context->dropped += number;
	else
		new_sampled(context, run, code, pc)->counts[reason] = number;
}

static void sample_kernel(struct context *context, const struct fake_run *run)
{
	struct code code;
	const struct module *module = module_of(run->operation->module);
	if (!module || !find_code(module, run->operation->name, &code))
		return;
	for (const struct fake_planned *line = plan; line; line = line->next)
		if (!fnmatch(line->pattern, run->operation->name, 0))
			sample(context, run, &code, line->pc, line->reason, line->count);
	for (uint64_t pc = 0; !plan && pc < code.bytes; pc += 48)
		sample(context, run, &code, pc, (int)(pc / 48 % REASONS), 1 + pc / 16 % 4);
}

void fake_pc_run(const struct fake_run *run)
{
	struct context *context = &contexts[run->device];
	if (!context->is_configured || run->operation->kind != FAKE_KERNEL)
		return;
	pthread_mutex_lock(&lock);
	if (context->is_configured)
		sample_kernel(context, run);
	pthread_mutex_unlock(&lock);
}

/* ---- delivering ---- */

/* Records are as far apart as the subscriber says that they are long, if it does. */
static size_t length_of(const CUpti_PCSamplingData *data)
{
	size_t given = data->pPcData->size;
	return given ? given : fake_release->pc;
}

static CUpti_PCSamplingPCData *record_at(const CUpti_PCSamplingData *data, size_t index)
{
	return (CUpti_PCSamplingPCData *)((char *)data->pPcData + index * length_of(data));
}

static bool is_length_known(const CUpti_PCSamplingData *data)
{
	size_t head = data->size, record = data->pPcData ? data->pPcData->size : 1;
	return (head == offsetof(CUpti_PCSamplingData, hardwareBufferFull) ||
		head == fake_release->pc_data) &&
	       (!record || record == offsetof(CUpti_PCSamplingPCData, correlationId) ||
		record == fake_release->pc);
}

static bool is_same(const CUpti_PCSamplingData *data, const CUpti_PCSamplingPCData *record,
		    const struct sampled *sampled)
{
	bool has_number = length_of(data) > offsetof(CUpti_PCSamplingPCData, correlationId);
	return record->cubinCrc == sampled->code.crc &&
	       record->functionIndex == sampled->code.symbol && record->pcOffset == sampled->pc &&
	       (!has_number || record->correlationId == sampled->correlation);
}

/* The names of functions are the subscriber's to free, and shared by their records. */
static char *name_of(const char *kernel)
{
	static struct name {
		char *text;
		struct name *next;
	} * names;
	struct name *name = names;
	while (name && strcmp(name->text, kernel) != 0)
		name = name->next;
	if (!name) {
		name = malloc(sizeof(*name));
		*name = (struct name){strdup(kernel), names};
		names = name;
	}
	return name->text;
}

static CUpti_PCSamplingPCData *record_for(CUpti_PCSamplingData *data, const struct sampled *sampled,
					  size_t most)
{
	for (size_t index = data->totalNumPcs; index-- > 0;)
		if (is_same(data, record_at(data, index), sampled))
			return record_at(data, index);
	if (data->totalNumPcs >= most)
		return NULL;
	CUpti_PCSamplingPCData *record = record_at(data, data->totalNumPcs++);
	record->cubinCrc = sampled->code.crc;
	record->pcOffset = sampled->pc;
	record->functionIndex = sampled->code.symbol;
	record->functionName = name_of(sampled->kernel);
	record->stallReasonCount = 0;
	if (length_of(data) > offsetof(CUpti_PCSamplingPCData, correlationId))
		record->correlationId = sampled->correlation;
	return record;
}

static void add(CUpti_PCSamplingPCData *record, uint32_t index, uint32_t number)
{
	size_t at = 0;
	while (at < record->stallReasonCount &&
	       record->stallReason[at].pcSamplingStallReasonIndex != index)
		at++;
	if (at == record->stallReasonCount)
		record->stallReason[record->stallReasonCount++] =
		    (CUpti_PCSamplingStallReason){index, 0};
	record->stallReason[at].samples += number;
}

/* Half of the samples, rounded down, are of cycles in which nothing was issued. */
static void fill(const struct context *context, CUpti_PCSamplingData *data,
		 CUpti_PCSamplingPCData *record, const struct sampled *sampled)
{
	for (int reason = 0; reason < REASONS; reason++) {
		uint32_t number = sampled->counts[reason];
		data->totalSamples += number;
		if (number && context->wants[2 * reason])
			add(record, INDEX(2 * reason), number);
		if (number / 2 && context->wants[2 * reason + 1])
			add(record, INDEX(2 * reason + 1), number / 2);
	}
}

/* What is over by then; what does not fit stays and is counted. */
static void deliver(struct context *context, CUpti_PCSamplingData *data, uint64_t now_ns)
{
	struct sampled **at = &context->first;
	bool is_in_parts = fake_fails("pc-parts") && context->is_unread;
	data->totalSamples = data->remainingNumPcs = data->nonUsrKernelsTotalSamples = 0;
	data->droppedSamples = context->dropped;
	data->rangeId = context->range;
	context->dropped = 0;
	while (*at) {
		struct sampled *sampled = *at;
		bool is_over = sampled->end_ns <= now_ns && !sampled->is_outside;
		CUpti_PCSamplingPCData *record =
		    is_over ? record_for(data, sampled, is_in_parts ? 1 : data->collectNumPcs)
			    : NULL;
		data->remainingNumPcs += is_over && !record && !is_in_parts;
		if (!record) {
			at = &sampled->next;
			continue;
		}
		fill(context, data, record, sampled);
		*at = sampled->next;
		free(sampled);
	}
	context->last = at;
	/* as one whose records are longer: what is behind the first lies over the second's reasons */
	if (fake_fails("pc-length") && data->totalNumPcs > 1)
		record_at(data, 1)->stallReason = NULL;
}

static void discard(struct context *context)
{
	for (struct sampled *next; context->first; context->first = next) {
		next = context->first->next;
		for (int reason = 0; reason < REASONS; reason++)
			if (context->first->counts[reason] && !context->first->is_outside) {
				context->dropped += context->first->counts[reason];
				fake_samples_count(context->first->kernel, context->first->pc,
						   reason, 0, context->first->counts[reason]);
			}
		free(context->first);
	}
	context->last = &context->first;
}

/* ---- ranges: of a kernel that is cut, as much is sampled as of its time lies inside ---- */

/* Puts another one behind it, with the samples after this time, rounded up. */
static void split(struct sampled *sampled, uint64_t ns)
{
	struct sampled *rest = malloc(sizeof(*rest));
	*rest = *sampled;
	uint64_t whole_ns = sampled->end_ns - sampled->start_ns, before_ns = ns - sampled->start_ns;
	for (int reason = 0; reason < REASONS; reason++) {
		uint64_t before = sampled->counts[reason] * before_ns / whole_ns;
		rest->counts[reason] = sampled->counts[reason] - (uint32_t)before;
		sampled->counts[reason] = (uint32_t)before;
	}
	sampled->end_ns = rest->start_ns = ns;
	sampled->next = rest;
}

static void put(struct sampled *sampled, bool is_outside)
{
	if (sampled->is_outside == is_outside)
		return;
	sampled->is_outside = is_outside;
	for (int reason = 0; reason < REASONS; reason++)
		if (sampled->counts[reason])
			fake_samples_count(sampled->kernel, sampled->pc, reason,
					   is_outside ? -(int64_t)sampled->counts[reason]
						      : sampled->counts[reason],
					   0);
}

/* From now on what runs is inside, or outside. What has been outside is gone. */
static void cut(struct context *context, uint64_t now_ns, bool is_outside)
{
	struct sampled **at = &context->first;
	while (*at) {
		struct sampled *sampled = *at;
		if (sampled->start_ns < now_ns && sampled->end_ns > now_ns) {
			split(sampled, now_ns);
		} else if (sampled->end_ns <= now_ns && sampled->is_outside) {
			*at = sampled->next;
			free(sampled);
		} else {
			if (sampled->end_ns > now_ns)
				put(sampled, is_outside);
			at = &sampled->next;
		}
	}
	context->last = at;
}

/* ---- functions ---- */

/* Each begins so; failures are planned by name. */
static CUptiResult begin_function(CUcontext handle, const char *failure, struct context **context)
{
	*context = of_handle(handle);
	if (fake_fails(failure))
		return CUPTI_ERROR_UNKNOWN;
	return *context ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *given)
{
	struct context *context;
	CUptiResult error = begin_function(given->ctx, "pc-enable", &context);
	if (fake_fails("pc-privileges"))
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (error || given->size != sizeof(*given) || context->is_enabled)
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	context->is_enabled = true;
	context->mode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
	context->last = &context->first;
	memset(context->wants, true, sizeof(context->wants));
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *given)
{
	struct context *context;
	CUptiResult error = begin_function(given->ctx, "pc-disable", &context);
	if (error || given->size != sizeof(*given) || !context->is_enabled)
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	fake_device_wait((int)context->device);
	fake_device_serialize((int)context->device, false);
	pthread_mutex_lock(&lock);
	if (context->resting)
		deliver(context, context->resting, UINT64_MAX);
	discard(context);
	context->is_enabled = context->is_configured = false;
	context->has_ranges = context->is_started = context->is_unread = false;
	context->resting = NULL;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *given)
{
	struct context *context;
	CUptiResult error = begin_function(given->ctx, "pc-count", &context);
	if (error || given->size != sizeof(*given) || !context->is_enabled)
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	*given->numStallReasons = ALL_REASONS;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *given)
{
	struct context *context;
	CUptiResult error = begin_function(given->ctx, "pc-reasons", &context);
	if (error || given->size != sizeof(*given) || given->numStallReasons < ALL_REASONS)
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	for (int at = 0; at < ALL_REASONS; at++) {
		given->stallReasonIndex[at] = INDEX(at);
		snprintf(given->stallReasons[at], CUPTI_STALL_REASON_STRING_SIZE,
			 "smsp__pcsamp_warps_issue_stalled_%s%s", reasons[at / 2],
			 at % 2 ? "_not_issued" : "");
	}
	return CUPTI_SUCCESS;
}

static CUptiResult choose(struct context *context, const uint32_t *indices, size_t number)
{
	memset(context->wants, false, sizeof(context->wants));
	for (size_t at = 0; at < number; at++) {
		uint32_t place = (indices[at] - INDEX(0)) / 3;
		if (place >= ALL_REASONS || INDEX(place) != indices[at])
			return CUPTI_ERROR_INVALID_PARAMETER;
		context->wants[place] = true;
	}
	return CUPTI_SUCCESS;
}

static CUptiResult set_buffer(struct context *context, CUpti_PCSamplingData *data)
{
	if (!data || !data->collectNumPcs || !is_length_known(data))
		return CUPTI_ERROR_INVALID_PARAMETER;
	context->resting = data;
	context->is_configured = true;
	return CUPTI_SUCCESS;
}

static CUptiResult set_period(uint32_t exponent)
{
	if (exponent < 5 || exponent > 31)
		return CUPTI_ERROR_INVALID_PARAMETER;
	fake_samples_interval = exponent;
	return CUPTI_SUCCESS;
}

static CUptiResult set_ranges(struct context *context, uint32_t value)
{
	if (value > 1)
		return CUPTI_ERROR_INVALID_OPERATION;
	context->has_ranges = value;
	return CUPTI_SUCCESS;
}

static CUptiResult set(struct context *context, CUpti_PCSamplingConfigurationInfo *info)
{
	switch (info->attributeType) {
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
		return set_period(info->attributeData.samplingPeriodData.samplingPeriod);
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON:
		return choose(context, info->attributeData.stallReasonData.pStallReasonIndex,
			      info->attributeData.stallReasonData.stallReasonCount);
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
		context->mode = info->attributeData.collectionModeData.collectionMode;
		fake_device_serialize((int)context->device,
				      context->mode ==
					  CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
		return CUPTI_SUCCESS;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL:
		return set_ranges(
		    context, info->attributeData.enableStartStopControlData.enableStartStopControl);
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
		return set_buffer(context,
				  info->attributeData.samplingDataBufferData.samplingDataBuffer);
	default:
		return CUPTI_ERROR_NOT_SUPPORTED;
	}
}

CUptiResult
fake_cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *given)
{
	struct context *context;
	CUptiResult error = begin_function(given->ctx, "pc-configure", &context);
	if (error || given->size != sizeof(*given) || !context->is_enabled)
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	for (size_t at = 0; at < given->numAttributes && !error; at++) {
		error = set(context, &given->pPCSamplingConfigurationInfo[at]);
		given->pPCSamplingConfigurationInfo[at].attributeStatus = error;
	}
	return error;
}

/* The buffer of the device is full once, at the second reading: what was in it is gone. */
static CUptiResult read_full(struct context *context, CUpti_PCSamplingData *data)
{
	discard(context);
	deliver(context, data, 0);
	if (data->size == sizeof(*data))
		data->hardwareBufferFull = 1;
	return CUPTI_ERROR_OUT_OF_MEMORY;
}

/* The first reading that has anything to read lasts until the creation of a second context has been told, 20 s at most. */
static void read_slowly(const struct context *context)
{
	static _Atomic bool was_slow;
	bool is_slow = context->first && !atomic_exchange(&was_slow, true);
	for (int tenths = 0; is_slow && created < 2 && tenths < 200; tenths++)
		usleep(100000);
}

CUptiResult fake_cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *given)
{
	struct context *context;
	CUpti_PCSamplingData *data = given->pcSamplingData;
	CUptiResult error = begin_function(given->ctx, "pc-data", &context);
	if (error || given->size != sizeof(*given) || !context->is_configured)
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	if (!data || !is_length_known(data) || data->totalNumPcs)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (fake_fails("pc-slow"))
		read_slowly(context);
	pthread_mutex_lock(&lock);
	if (fake_fails("pc-full") && ++context->reads == 2)
		error = read_full(context, data);
	else
		deliver(context, data, fake_now_ns() - (fake_fails("pc-late") ? LATE_NS : 0));
	/* read whole */
	context->is_unread = context->is_unread && fake_fails("pc-parts") && data->totalNumPcs;
	pthread_mutex_unlock(&lock);
	return error;
}

/* A range begins or ends: only where that is configured, in turn, and when the range before it has been read. */
static CUptiResult mark_range(struct context *context, bool begins)
{
	if (!context->is_configured || !context->has_ranges || context->is_started == begins ||
	    (begins && context->is_unread))
		return CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&lock);
	cut(context, fake_now_ns(), !begins);
	context->is_started = begins;
	context->is_unread = !begins;
	context->range += begins;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPCSamplingStart(CUpti_PCSamplingStartParams *given)
{
	struct context *context;
	CUptiResult error = begin_function(given->ctx, "pc-start", &context);
	if (!error && given->size != sizeof(*given))
		error = CUPTI_ERROR_INVALID_PARAMETER;
	return error ? error : mark_range(context, true);
}

CUptiResult fake_cuptiPCSamplingStop(CUpti_PCSamplingStopParams *given)
{
	struct context *context;
	CUptiResult error = begin_function(given->ctx, "pc-stop", &context);
	if (!error && given->size != sizeof(*given))
		error = CUPTI_ERROR_INVALID_PARAMETER;
	return error ? error : mark_range(context, false);
}

CUptiResult fake_cuptiGetCubinCrc(CUpti_GetCubinCrcParams *given)
{
	if (fake_fails("pc-crc"))
		return CUPTI_ERROR_UNKNOWN;
	if (given->size != sizeof(*given) || !given->cubin || !given->cubinSize)
		return CUPTI_ERROR_INVALID_PARAMETER;
	given->cubinCrc = crc_of(given->cubin, given->cubinSize);
	return CUPTI_SUCCESS;
}
