/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of instructions, where SONDE_RECORD_SAMPLES asks for them, with "@CYCLES" between two: asked for as the adapter does, by hardware
 * where the device has that, else by traps, with dispatches, and in a context of their own. Asking may never return, and all else goes on.
 */
#include "recorder.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES	   64u
#define CYCLES	   ((uint64_t)1 << 20)
#define TIME_US	   ((uint64_t)1000)
#define MOST_OFFER 256u

static struct record_part part = {.part = RECORDING_PART_SAMPLES};
static uint64_t agents[DEVICES];
static uint32_t agent_count;
static uint64_t cycles;
static _Atomic bool is_on, has_given_up;

void record_samples_of(uint64_t agent)
{
	if (agent_count < DEVICES)
		agents[agent_count++] = agent;
}

/* ---- what is asked for ---- */

static uint64_t interval_of(const struct sn_rocprofiler_offer *offer)
{
	uint64_t wanted = offer->unit == SN_ROCPROFILER_TIME ? TIME_US : cycles;
	wanted = offer->most && wanted > offer->most ? offer->most : wanted;
	wanted = wanted < offer->least ? offer->least : wanted;
	if (!(offer->flags & SN_ROCPROFILER_POWERS_OF_2))
		return wanted;
	uint64_t power = (uint64_t)1 << (63 - __builtin_clzll(wanted | 1));
	return power < offer->least ? 2 * power : power;
}

static sn_rocprofiler_status on_offers(const struct sn_rocprofiler_offer *offers, size_t count,
				       void *data)
{
	struct recording_asked *asked = data;
	struct recording_offers fields = {
	    .agent = asked->agent, .count = count, .bytes = count ? (uint32_t)offers->size : 0};
	bool is_known = fields.bytes >= sizeof(*offers) && fields.bytes <= MOST_OFFER;
	fields.count = is_known ? count : 0;
	record_add(RECORDING_OF_offers, &fields, sizeof(fields), offers,
		   fields.count * fields.bytes);
	for (size_t index = 0; index < fields.count; index++) {
		const struct sn_rocprofiler_offer *offer =
		    (const void *)((const char *)offers + index * offers->size);
		bool is_hardware = offer->method == SN_ROCPROFILER_STOCHASTIC;
		bool is_trap = offer->method == SN_ROCPROFILER_HOST_TRAP;
		if ((!is_hardware || asked->method == SN_ROCPROFILER_STOCHASTIC) &&
		    (!is_trap || asked->method))
			continue;
		asked->method = offer->method;
		asked->unit = offer->unit;
		asked->interval = interval_of(offer);
	}
	return 0;
}

static bool ask(uint64_t agent)
{
	struct recording_asked asked = {.agent = agent};
	record_service_begins(&part, "rocprofiler_query_pc_sampling_agent_configurations");
	sn_rocprofiler_status result =
	    record_sdk.rocprofiler_query_pc_sampling_agent_configurations(agent, on_offers, &asked);
	if (result) {
		struct recording_offers fields = {.agent = agent, .result = result};
		record_add(RECORDING_OF_offers, &fields, sizeof(fields), NULL, 0);
	}
	record_service(&part, "rocprofiler_query_pc_sampling_agent_configurations", 0, result);
	if (result || !asked.method)
		return false;
	asked.result = record_sdk.rocprofiler_configure_pc_sampling_service(
	    part.context, agent, asked.method, asked.unit, asked.interval, part.buffer, 0);
	record_add(RECORDING_OF_asked, &asked, sizeof(asked), NULL, 0);
	return !asked.result;
}

/* ---- begin and end ---- */

static void start(void)
{
	bool is_any = false;
	for (uint32_t at = 0; at < agent_count && !has_given_up; at++)
		is_any = ask(agents[at]) || is_any;
	if (is_any && !has_given_up && record_start(&part))
		is_on = true;
}

void record_samples_begin(void)
{
	static const int32_t enqueue = SN_ROCPROFILER_DISPATCH_ENQUEUE;
	const char *wanted = getenv("SONDE_RECORD_SAMPLES");
	const char *period = wanted ? strchr(wanted, '@') : NULL;
	if (!wanted || !*wanted)
		return;
	record_fact("samples", wanted);
	cycles = period ? strtoull(period + 1, NULL, 10) : CYCLES;
	if (!record_sdk.rocprofiler_query_pc_sampling_agent_configurations ||
	    !record_sdk.rocprofiler_configure_pc_sampling_service || !record_create(&part) ||
	    !record_callbacks(&part, SN_ROCPROFILER_CALLBACK_DISPATCH, &enqueue, 1))
		return;
	if (!record_run_bounded(start))
		has_given_up = true;
}

void record_samples_end(void)
{
	if (is_on)
		record_stop(&part);
}
