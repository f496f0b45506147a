/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters of kernels, where SONDE_RECORD_COUNTERS names some: asked for as the adapter does, by their names on each device, in a
 * context of their own, with what the SDK tells of each counter that it lists.
 */
#include "recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES	 64u
#define COUNTERS 32u   /* that are asked for */
#define KNOWN	 8192u /* of which something was written */

#define RECORD_POINTER(result, name, parameters) static result(*name##_) parameters;
SN_ROCPROFILER_COUNTING_FUNCTIONS(RECORD_POINTER)
#undef RECORD_POINTER

static struct record_part part = {.part = RECORDING_PART_COUNTERS};
static struct device {
	uint64_t agent, config; /* config 0: nothing is counted */
	uint64_t counters[COUNTERS];
	uint32_t found;
} devices[DEVICES];
static uint32_t device_count;
static char *names[COUNTERS];
static uint32_t name_count;
static bool is_on;

void record_counters_find(void *library)
{
#define FIND(result, name, parameters) name##_ = (result(*) parameters)record_find(library, #name);
	SN_ROCPROFILER_COUNTING_FUNCTIONS(FIND)
#undef FIND
}

void record_counters_of(uint64_t agent)
{
	if (device_count < DEVICES)
		devices[device_count++].agent = agent;
}

/* ---- what there is ---- */

static void note_status(sn_rocprofiler_status status)
{
	struct recording_status fields = {.status = status};
	const char *text = status ? rocprofiler_get_status_string_(status) : NULL;
	if (text)
		record_text(RECORDING_OF_status, &fields, sizeof(fields), text);
}

/* Whether the number is new. */
static bool is_first(uint64_t counter)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t known[KNOWN];
	static uint32_t count;
	uint32_t at = 0;
	pthread_mutex_lock(&lock);
	while (at < count && known[at] != counter)
		at++;
	bool is_new = at == count && count < KNOWN;
	if (is_new)
		known[count++] = counter;
	pthread_mutex_unlock(&lock);
	return is_new;
}

/* Writes what the SDK tells of a counter. Its name; NULL. */
static const char *describe(uint64_t agent, uint64_t counter)
{
	struct sn_rocprofiler_counter_info info = {0};
	struct recording_counter fields = {.agent = agent, .counter = counter};
	fields.result =
	    rocprofiler_query_counter_info_(counter, SN_ROCPROFILER_COUNTER_VERSION, &info);
	if (fields.result)
		info = (struct sn_rocprofiler_counter_info){0};
	is_first(counter);
	record_string(info.expression);
	fields.expression = (uintptr_t)info.expression;
	record_text(RECORDING_OF_counter, &fields, sizeof(fields), info.name ? info.name : "");
	return info.name;
}

static sn_rocprofiler_status on_counters(uint64_t agent, const uint64_t *counters, size_t count,
					 void *data)
{
	struct device *device = data;
	for (size_t at = 0; at < count; at++) {
		const char *name = describe(agent, counters[at]);
		for (uint32_t index = 0; index < name_count && name; index++)
			if (!strcmp(name, names[index])) {
				device->counters[index] = counters[at];
				device->found |= 1u << index;
			}
	}
	return 0;
}

/* ---- asking ---- */

static sn_rocprofiler_status configure(const struct device *device, uint32_t first, uint32_t count,
				       uint64_t *config)
{
	struct recording_configured fields = {.agent = device->agent, .count = count};
	fields.result = rocprofiler_create_counter_config_(
	    device->agent, (uint64_t *)(uintptr_t)&device->counters[first], count, config);
	fields.config = fields.result ? 0 : *config;
	record_add(RECORDING_OF_configured, &fields, sizeof(fields), &device->counters[first],
		   count * sizeof(*device->counters));
	note_status(fields.result);
	return fields.result;
}

/* Where all are refused together, each by itself, as the adapter does to say which. */
static bool ask(struct device *device)
{
	uint64_t config;
	struct recording_counter none = {.agent = device->agent};
	none.result =
	    rocprofiler_iterate_agent_supported_counters_(device->agent, on_counters, device);
	note_status(none.result);
	if (none.result)
		record_text(RECORDING_OF_counter, &none, sizeof(none), "");
	if (none.result || device->found != (1u << name_count) - 1)
		return false;
	if (!configure(device, 0, name_count, &device->config))
		return true;
	device->config = 0;
	for (uint32_t index = 0; index < name_count; index++)
		configure(device, index, 1, &config);
	return false;
}

/* ---- what is counted ---- */

static const struct device *device_of(uint64_t agent)
{
	for (uint32_t index = 0; index < device_count; index++)
		if (devices[index].agent == agent)
			return &devices[index];
	return NULL;
}

static void on_dispatch(struct sn_rocprofiler_dispatch dispatch, uint64_t *config, uint64_t *word,
			void *unused)
{
	const struct device *device = device_of(dispatch.agent);
	struct recording_queued fields = {.config = device ? device->config : 0};
	(void)word, (void)unused;
	if (fields.config)
		*config = fields.config;
	record_add(RECORDING_OF_queued, &fields, sizeof(fields), &dispatch, sizeof(dispatch));
}

static uint64_t counter_of(uint64_t instance)
{
	uint64_t counter;
	if (rocprofiler_query_record_counter_id_(instance, &counter))
		return RECORDING_NOWHERE;
	if (is_first(counter))
		describe(0, counter);
	return counter;
}

static void on_counted(struct sn_rocprofiler_dispatch dispatch,
		       const struct sn_rocprofiler_counted *records, size_t count, uint64_t word,
		       void *unused)
{
	struct recording_counted fields = {.count = count};
	size_t bytes = sizeof(dispatch) + count * (sizeof(*records) + sizeof(uint64_t));
	uint8_t *packed = malloc(bytes);
	(void)word, (void)unused;
	if (!packed)
		return;
	uint64_t *counters = (uint64_t *)(packed + sizeof(dispatch) + count * sizeof(*records));
	memcpy(packed, &dispatch, sizeof(dispatch));
	memcpy(packed + sizeof(dispatch), records, count * sizeof(*records));
	for (size_t at = 0; at < count; at++)
		counters[at] = counter_of(records[at].instance);
	record_add(RECORDING_OF_counted, &fields, sizeof(fields), packed, bytes);
	free(packed);
}

/* ---- begin and end ---- */

static bool has_functions(void)
{
#define IS_THERE(result, name, parameters) &&name##_
	return true SN_ROCPROFILER_COUNTING_FUNCTIONS(IS_THERE);
#undef IS_THERE
}

static void split(char *list)
{
	char *rest = NULL;
	for (char *name = strtok_r(list, ",", &rest); name && name_count < COUNTERS - 1;
	     name = strtok_r(NULL, ",", &rest))
		names[name_count++] = name;
}

void record_counters_begin(void)
{
	const char *wanted = getenv("SONDE_RECORD_COUNTERS");
	bool is_any = false;
	if (!wanted || !*wanted)
		return;
	record_fact("counters", wanted);
	split(strdup(wanted));
	for (uint32_t index = 0; index < device_count && has_functions(); index++)
		is_any = ask(&devices[index]) || is_any;
	if (!is_any || !record_service(&part, "rocprofiler_create_context", 0,
				       record_sdk.rocprofiler_create_context(&part.context)))
		return;
	sn_rocprofiler_status status = rocprofiler_configure_callback_dispatch_counting_service_(
	    part.context, on_dispatch, NULL, on_counted, NULL);
	note_status(status);
	is_on = record_service(&part, "rocprofiler_configure_callback_dispatch_counting_service", 0,
			       status) &&
		record_start(&part);
}

void record_counters_end(void)
{
	if (!is_on)
		return;
	record_service_begins(&part, "rocprofiler_stop_context");
	record_service(&part, "rocprofiler_stop_context", 0,
		       record_sdk.rocprofiler_stop_context(part.context));
}
