/* SPDX-License-Identifier: Apache-2.0 */
/* rocprofiler-sdk's functions of sampled instructions, which answer what was recorded. What was sampled is among the deliveries (sdk.c). */
#include "sdk.h"

#include <stdio.h>

enum { NOT_FOUND = 2, NOT_IMPLEMENTED = 17, NOT_AVAILABLE = 37 };

/* Why nothing can be sampled in this replay: once. */
static void say(const char *why)
{
	static _Atomic bool was_said;
	if (!was_said)
		fprintf(stderr, "replay: '%s' %s\n", replay_recording()->path, why);
	was_said = true;
}

sn_rocprofiler_status
rocprofiler_query_pc_sampling_agent_configurations(uint64_t agent,
						   sn_rocprofiler_on_offers callback, void *data);
sn_rocprofiler_status
rocprofiler_query_pc_sampling_agent_configurations(uint64_t agent,
						   sn_rocprofiler_on_offers callback, void *data)
{
	const struct replay_sdk *recording = replay_sdk();
	const struct recording_offers *offers = NULL;
	int32_t answer = replay_answer("rocprofiler_query_pc_sampling_agent_configurations",
				       RECORDING_PART_SAMPLES, 0, NOT_IMPLEMENTED);
	for (uint32_t index = 0; index < recording->offer_count; index++)
		if (recording->offers[index]->agent == agent)
			offers = recording->offers[index];
	if (!offers) {
		say("has no samples of instructions: record.sh takes them with --samples");
		return answer ? answer : NOT_IMPLEMENTED;
	}
	if (offers->result)
		return offers->result;
	return callback((const struct sn_rocprofiler_offer *)(offers + 1), offers->count, data);
}

sn_rocprofiler_status rocprofiler_configure_pc_sampling_service(uint64_t context, uint64_t agent,
								int method, int unit,
								uint64_t interval, uint64_t buffer,
								int flags);
sn_rocprofiler_status rocprofiler_configure_pc_sampling_service(uint64_t context, uint64_t agent,
								int method, int unit,
								uint64_t interval, uint64_t buffer,
								int flags)
{
	const struct replay_sdk *recording = replay_sdk();
	const struct recording_asked *asked = NULL;
	(void)flags;
	for (uint32_t index = 0; index < recording->asked_count; index++)
		if (recording->asked[index]->agent == agent)
			asked = recording->asked[index];
	if (!asked || asked->method != method || asked->unit != unit ||
	    asked->interval != interval) {
		say("was sampled by another method, or at another interval");
		return NOT_AVAILABLE;
	}
	if (asked->result)
		return asked->result;
	return replay_sample_into(context, buffer) ? 0 : NOT_FOUND;
}
