/* SPDX-License-Identifier: Apache-2.0 */
/* rocprofiler-sdk's functions of hardware counters, which answer what was recorded, and what was counted. */
#include "sdk.h"

#include <stdio.h>
#include <string.h>

enum { NO_COUNTER = 24, NONE = 39 };

static struct {
	uint64_t context; /* 0: nothing is counted */
	sn_rocprofiler_on_dispatch on_dispatch;
	sn_rocprofiler_on_counted on_counted;
	void *dispatch_data, *counted_data;
} counting;

/* Why nothing can be counted in this replay: once. */
static void say(const char *why)
{
	static _Atomic bool was_said;
	if (!was_said)
		fprintf(stderr, "replay: '%s' %s\n", replay_recording()->path, why);
	was_said = true;
}

/* ---- what there is ---- */

sn_rocprofiler_status
rocprofiler_iterate_agent_supported_counters(uint64_t agent, sn_rocprofiler_on_counters callback,
					     void *data);
sn_rocprofiler_status
rocprofiler_iterate_agent_supported_counters(uint64_t agent, sn_rocprofiler_on_counters callback,
					     void *data)
{
	const struct replay_sdk *recording = replay_sdk();
	uint64_t numbers[REPLAY_COUNTERS];
	size_t count = 0;
	if (!recording->counter_count)
		say("has no hardware counters: record.sh takes them with --counters");
	for (uint32_t index = 0; index < recording->counter_count; index++) {
		const struct recording_counter *counter = recording->counters[index];
		if (counter->agent != agent)
			continue;
		if (!counter->counter)
			return counter->result;
		numbers[count++] = counter->counter;
	}
	return count ? callback(agent, numbers, count, data) : NONE;
}

sn_rocprofiler_status rocprofiler_query_counter_info(uint64_t number, int version, void *info);
sn_rocprofiler_status rocprofiler_query_counter_info(uint64_t number, int version, void *info)
{
	const struct replay_sdk *recording = replay_sdk();
	(void)version;
	for (uint32_t index = 0; index < recording->counter_count; index++) {
		const struct recording_counter *counter = recording->counters[index];
		if (counter->counter != number)
			continue;
		*(struct sn_rocprofiler_counter_info *)info = (struct sn_rocprofiler_counter_info){
		    .counter = number,
		    .name = (const char *)(counter + 1),
		    .expression = (const char *)(uintptr_t)counter->expression};
		return counter->result;
	}
	return NO_COUNTER;
}

const char *rocprofiler_get_status_string(sn_rocprofiler_status status);
const char *rocprofiler_get_status_string(sn_rocprofiler_status status)
{
	const struct replay_sdk *recording = replay_sdk();
	for (uint32_t index = 0; index < recording->status_count; index++)
		if (recording->statuses[index]->status == status)
			return (const char *)(recording->statuses[index] + 1);
	return NULL;
}

/* ---- what is asked for ---- */

sn_rocprofiler_status rocprofiler_create_counter_config(uint64_t agent, uint64_t *counters,
							size_t count, uint64_t *config);
sn_rocprofiler_status rocprofiler_create_counter_config(uint64_t agent, uint64_t *counters,
							size_t count, uint64_t *config)
{
	const struct replay_sdk *recording = replay_sdk();
	for (uint32_t index = 0; index < recording->config_count; index++) {
		const struct recording_configured *configured = recording->configs[index];
		if (configured->agent != agent || configured->count != count ||
		    memcmp(configured + 1, counters, count * sizeof(*counters)) != 0)
			continue;
		*config = configured->config;
		return configured->result;
	}
	say("was counted with other counters, or in another order");
	return NO_COUNTER;
}

sn_rocprofiler_status rocprofiler_configure_callback_dispatch_counting_service(
    uint64_t context, sn_rocprofiler_on_dispatch on_dispatch, void *dispatch_data,
    sn_rocprofiler_on_counted on_counted, void *counted_data);
sn_rocprofiler_status rocprofiler_configure_callback_dispatch_counting_service(
    uint64_t context, sn_rocprofiler_on_dispatch on_dispatch, void *dispatch_data,
    sn_rocprofiler_on_counted on_counted, void *counted_data)
{
	int32_t answer = replay_answer("rocprofiler_configure_callback_dispatch_counting_service",
				       replay_part_of(context), 0, NO_COUNTER);
	if (answer)
		return answer;
	counting.context = context;
	counting.on_dispatch = on_dispatch;
	counting.on_counted = on_counted;
	counting.dispatch_data = dispatch_data;
	counting.counted_data = counted_data;
	return 0;
}

/* ---- what was counted ---- */

/* Of the delivery that the thread is in. */
static __thread const struct recording_counted *delivered;

static const struct sn_rocprofiler_counted *records_of(const struct recording_counted *counted)
{
	return (const void *)((const char *)(counted + 1) + sizeof(struct sn_rocprofiler_dispatch));
}

sn_rocprofiler_status rocprofiler_query_record_counter_id(uint64_t instance, uint64_t *counter);
sn_rocprofiler_status rocprofiler_query_record_counter_id(uint64_t instance, uint64_t *counter)
{
	const struct sn_rocprofiler_counted *records = delivered ? records_of(delivered) : NULL;
	for (uint64_t at = 0; delivered && at < delivered->count; at++)
		if (records[at].instance == instance) {
			const uint64_t *counters = (const void *)(records + delivered->count);
			*counter = counters[at];
			return *counter == RECORDING_NOWHERE ? NO_COUNTER : 0;
		}
	return NO_COUNTER;
}

static void tell_queued(const struct recording_queued *queued)
{
	struct sn_rocprofiler_dispatch dispatch;
	uint64_t config = 0, word = 0;
	memcpy(&dispatch, queued + 1, sizeof(dispatch));
	counting.on_dispatch(dispatch, &config, &word, counting.dispatch_data);
}

static void tell_counted(const struct recording_counted *counted)
{
	struct sn_rocprofiler_dispatch dispatch;
	memcpy(&dispatch, counted + 1, sizeof(dispatch));
	delivered = counted;
	counting.on_counted(dispatch, records_of(counted), counted->count, 0,
			    counting.counted_data);
	delivered = NULL;
}

void replay_tell_counting(const struct recording_head *head)
{
	if (!replay_was_active(counting.context))
		return;
	if (head->kind == RECORDING_OF_queued)
		tell_queued((const void *)(head + 1));
	else if (head->kind == RECORDING_OF_counted)
		tell_counted((const void *)(head + 1));
}
