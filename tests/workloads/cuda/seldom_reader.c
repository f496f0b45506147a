/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool (CUDA_INJECTION64_PATH) that reads samples of instructions otherwise than Sonde does: once the program ends, READER_ROOM
 * instructions at a time, or with READER_ROOM 0 not at all; then it ends sampling, with room for RESTING_ROOM of them. READER_MODE is
 * CUPTI's number. Prints how many samples it read and found at the end, how many CUPTI says that it dropped, and the CRC of each
 * module's cubin.
 */
#include "collect/adapters/cuda/cupti_samples.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_REASONS 128

static struct {
#define POINTER(name, parameters) sn_cupti_result(*name) parameters;
	SN_CUPTI_FUNCTIONS(POINTER)
	SN_CUPTI_SAMPLING_FUNCTIONS(POINTER)
#undef POINTER
} cupti;

static void *subscriber, *sampled;
static struct sn_cupti_samples resting;
static size_t reason_count;

static size_t number(const char *name)
{
	const char *value = getenv(name);
	return value ? strtoul(value, NULL, 10) : 0;
}

static void check(sn_cupti_result error, const char *what)
{
	if (error)
		printf("%s: error %d\n", what, error);
}

static struct sn_cupti_samples with_room_for(size_t count)
{
	struct sn_cupti_pc *pcs = calloc(count, sizeof(*pcs));
	for (size_t index = 0; index < count; index++) {
		pcs[index].bytes = sizeof(*pcs);
		pcs[index].reason_count = reason_count;
		pcs[index].reasons = calloc(reason_count, sizeof(*pcs->reasons));
	}
	return (struct sn_cupti_samples){
	    .bytes = sizeof(struct sn_cupti_samples), .most_pcs = count, .pcs = pcs};
}

static unsigned long long samples_in(const struct sn_cupti_samples *samples)
{
	unsigned long long count = 0;
	for (size_t index = 0; index < samples->pc_count; index++)
		for (size_t at = 0; at < samples->pcs[index].reason_count; at++)
			count += samples->pcs[index].reasons[at].samples;
	return count;
}

static void begin(void *context)
{
	static uint32_t indices[MOST_REASONS];
	static char text[MOST_REASONS][SN_CUPTI_REASON_NAME_BYTES];
	char *names[MOST_REASONS];
	struct sn_cupti_sampling of = {sizeof(of), NULL, context};
	struct sn_cupti_reason_count counting = {{sizeof(counting), NULL, context}, &reason_count};
	check(cupti.cuptiPCSamplingEnable(&of), "enable");
	check(cupti.cuptiPCSamplingGetNumStallReasons(&counting), "count");
	for (size_t at = 0; at < reason_count && at < MOST_REASONS; at++)
		names[at] = text[at];
	struct sn_cupti_reason_names naming = {
	    {sizeof(naming), NULL, context}, reason_count, indices, names};
	check(cupti.cuptiPCSamplingGetStallReasons(&naming), "reasons");
	resting = with_room_for(number("RESTING_ROOM"));
	struct sn_cupti_sampling_setting settings[2] = {
	    {.key = SN_CUPTI_SAMPLING_MODE, .number = (uint32_t)number("READER_MODE")},
	    {.key = SN_CUPTI_SAMPLING_BUFFER, .buffer = &resting}};
	struct sn_cupti_sampling_settings configuring = {
	    {sizeof(configuring), NULL, context}, 2, settings};
	check(cupti.cuptiPCSamplingSetConfigurationAttribute(&configuring), "configure");
	sampled = context;
}

static void on_callback(void *unused, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct sn_cupti_resource_data *resource = data;
	(void)unused, (void)domain;
	if (cbid == SN_CUPTI_CONTEXT_CREATED) {
		begin(resource->context);
		return;
	}
	const struct sn_cupti_module *module = resource->descriptor;
	struct sn_cupti_crc parameters = {sizeof(parameters), module->bytes, module->cubin, 0};
	check(cupti.cuptiGetCubinCrc(&parameters), "crc");
	printf("module of %zu bytes: %llx\n", module->bytes, (unsigned long long)parameters.crc);
}

static void end(void)
{
	struct sn_cupti_samples samples = with_room_for(number("READER_ROOM"));
	struct sn_cupti_sampling_read reading = {{sizeof(reading), NULL, sampled}, &samples};
	struct sn_cupti_sampling of = {sizeof(of), NULL, sampled};
	unsigned long long read = 0, dropped = 0;
	for (bool is_more = sampled && samples.most_pcs; is_more;) {
		check(cupti.cuptiPCSamplingGetData(&reading), "read");
		read += samples_in(&samples);
		dropped += samples.dropped;
		is_more = samples.left_count;
		for (size_t index = 0; index < samples.pc_count; index++)
			samples.pcs[index].reason_count = reason_count;
		samples.pc_count = 0;
	}
	if (sampled)
		check(cupti.cuptiPCSamplingDisable(&of), "disable");
	printf("read %llu, at the end %llu in %zu instructions, dropped %llu\n", read,
	       samples_in(&resting), resting.pc_count, dropped + resting.dropped);
}

int InitializeInjection(void);
int InitializeInjection(void)
{
	void *library = dlopen("libcupti.so", RTLD_NOW | RTLD_NOLOAD);
#define FIND(name, parameters) cupti.name = (sn_cupti_result(*) parameters)dlsym(library, #name);
	SN_CUPTI_FUNCTIONS(FIND)
	SN_CUPTI_SAMPLING_FUNCTIONS(FIND)
#undef FIND
	check(cupti.cuptiSubscribe(&subscriber, on_callback, NULL), "subscribe");
	if (number("READER_MODE"))
		cupti.cuptiEnableCallback(1, subscriber, SN_CUPTI_RESOURCE,
					  SN_CUPTI_CONTEXT_CREATED);
	cupti.cuptiEnableCallback(1, subscriber, SN_CUPTI_RESOURCE, SN_CUPTI_MODULE_LOADED);
	atexit(end);
	return 1;
}
