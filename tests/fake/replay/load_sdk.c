/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of rocprofiler-sdk. What its payloads point at is made to point into it. */
#include "sdk.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct replay_sdk sdk;

const struct replay_sdk *replay_sdk(void)
{
	replay_recording();
	return &sdk;
}

void replay_load_begin(void)
{
	sdk.version = SN_ROCPROFILER_MAJOR * 10000;
}

/* ---- answers ---- */

static void read_service(const struct recording_head *head)
{
	const struct recording_service *recorded = (const void *)(head + 1);
	struct replay_service *service = replay_new(sizeof(*service));
	*service = (struct replay_service){recorded, replay_text_of(head, sizeof(*recorded)),
					   sdk.services};
	sdk.services = service;
	bool flushes = !strcmp(service->name, "rocprofiler_flush_buffer");
	bool stops = !strcmp(service->name, "rocprofiler_stop_context");
	if (flushes && !recorded->has_ended && recorded->part <= RECORDING_PART_SAMPLES)
		replay_phase = (enum replay_phase)(REPLAY_FLUSH + recorded->part);
	if (stops && recorded->part == RECORDING_PART_COUNTERS)
		replay_phase = (enum replay_phase)(recorded->has_ended ? REPLAY_COUNTS_NO_MORE
								       : REPLAY_STOPS_COUNTING);
}

int32_t replay_answer(const char *name, uint32_t part, int32_t kind, int32_t otherwise)
{
	const struct replay_service *service = replay_sdk()->services;
	while (service && (strcmp(service->name, name) || service->recorded->part != part ||
			   service->recorded->kind != kind))
		service = service->next;
	while (service && !service->recorded->has_ended)
		pause();
	return service ? service->recorded->result : otherwise;
}

static void read_offers(const struct recording_head *head)
{
	const struct recording_offers *recorded = (const void *)(head + 1);
	size_t bytes = replay_rest_of(head, sizeof(*recorded));
	if (recorded->count && (recorded->bytes < sizeof(struct sn_rocprofiler_offer) ||
				recorded->bytes % 8 || recorded->count > bytes / recorded->bytes))
		replay_fail("what an agent offers is longer than its entry");
	if (sdk.offer_count < REPLAY_AGENTS)
		sdk.offers[sdk.offer_count++] = recorded;
}

/* ---- what there is ---- */

static void read_fact(const char *text)
{
	if (!strncmp(text, "rocprofiler.version=", 20))
		sdk.version = (uint32_t)strtoul(text + 20, NULL, 10);
}

static void read_name(const struct recording_head *head)
{
	const struct recording_name *name = (const void *)(head + 1);
	if (name->domain == SN_ROCPROFILER_CALLBACK_HIP && name->cbid < REPLAY_OPERATIONS)
		sdk.names[name->cbid] = replay_text_of(head, sizeof(*name));
}

static void read_agent(const struct recording_head *head)
{
	const struct recording_agent *agent = (const void *)(head + 1);
	if (agent->size > replay_rest_of(head, sizeof(*agent)) || agent->size < sizeof(uint64_t))
		replay_fail("an agent is longer than its entry");
	if (sdk.agent_count == REPLAY_AGENTS)
		return;
	sdk.agent_sizes[sdk.agent_count] = agent->size;
	sdk.agents[sdk.agent_count++] = agent + 1;
}

/* ---- counters ---- */

static void read_counter(const struct recording_head *head)
{
	struct recording_counter *counter = (void *)(uintptr_t)(head + 1);
	replay_text_of(head, sizeof(*counter));
	counter->expression = replay_string_at(counter->expression);
	if (sdk.counter_count < REPLAY_COUNTERS)
		sdk.counters[sdk.counter_count++] = counter;
}

static void read_configured(const struct recording_head *head)
{
	const struct recording_configured *configured = (const void *)(head + 1);
	if (configured->count > replay_rest_of(head, sizeof(*configured)) / sizeof(uint64_t))
		replay_fail("counters are longer than their entry");
	if (sdk.config_count < REPLAY_CONFIGS)
		sdk.configs[sdk.config_count++] = configured;
}

static void read_status(const struct recording_head *head)
{
	const struct recording_status *status = (const void *)(head + 1);
	replay_text_of(head, sizeof(*status));
	if (sdk.status_count < REPLAY_STATUSES)
		sdk.statuses[sdk.status_count++] = status;
}

static void read_queued(const struct recording_head *head)
{
	if (replay_rest_of(head, sizeof(struct recording_queued)) <
	    sizeof(struct sn_rocprofiler_dispatch))
		replay_fail("a dispatch is longer than its entry");
	if (replay_phase == REPLAY_RUNS)
		replay_add_event(head);
}

static void read_counted(const struct recording_head *head)
{
	const struct recording_counted *counted = (const void *)(head + 1);
	size_t bytes = replay_rest_of(head, sizeof(*counted)),
	       each = sizeof(struct sn_rocprofiler_counted) + sizeof(uint64_t);
	if (bytes < sizeof(struct sn_rocprofiler_dispatch) ||
	    counted->count > (bytes - sizeof(struct sn_rocprofiler_dispatch)) / each)
		replay_fail("what was counted is longer than its entry");
	replay_add_event(head);
}

/* ---- code ---- */

static struct code {
	const struct recording_code *recorded;
	struct code *next;
} * codes; /* the last one first */

static void read_code(const struct recording_head *head)
{
	const struct recording_code *recorded = (const void *)(head + 1);
	struct code *code = replay_new(sizeof(*code));
	if (recorded->held > replay_rest_of(head, sizeof(*recorded)) ||
	    (recorded->held && recorded->held != recorded->size))
		replay_fail("code is longer than its entry");
	*code = (struct code){recorded, codes};
	codes = code;
}

/* The bytes of the same code, which are written once. */
static const struct recording_code *held_of(uint64_t id)
{
	const struct code *code = codes, *held = codes;
	while (code && code->recorded->id != id)
		code = code->next;
	while (code && held &&
	       (!held->recorded->held || held->recorded->hash != code->recorded->hash ||
		held->recorded->size != code->recorded->size))
		held = held->next;
	return code && held ? held->recorded : NULL;
}

/* What was in a file is in memory here; what was not written is in neither. */
static void point_at_code(struct sn_rocprofiler_code_object *loaded)
{
	const struct recording_code *held = held_of(loaded->id);
	loaded->uri = (const char *)(uintptr_t)replay_string_at((uintptr_t)loaded->uri);
	loaded->storage = held ? SN_ROCPROFILER_IN_MEMORY : 0;
	loaded->memory_base = held ? (uintptr_t)(held + 1) : 0;
	loaded->memory_size = held ? held->size : 0;
}

/* ---- what calls that allocate give the program ---- */

static void read_pointed(const struct recording_head *head)
{
	const struct recording_pointed *pointed = (const void *)(head + 1);
	if (replay_rest_of(head, sizeof(*pointed)) >= sizeof(uint64_t))
		replay_put_at(pointed->address, pointed);
}

/* What was not written has no address. */
static uint64_t pointed_at(uint64_t address, size_t bytes)
{
	static const uint64_t nothing[2];
	const struct recording_pointed *pointed = replay_at(address);
	const struct recording_head *head = (const void *)pointed;
	return (uintptr_t)(pointed && replay_rest_of(head - 1, sizeof(*pointed)) >= bytes
			       ? (const void *)(pointed + 1)
			       : nothing);
}

static void point_at_allocated(const struct recording_traced *traced,
			       struct sn_rocprofiler_arguments *arguments)
{
	bool is_known = traced->operation >= 0 && traced->operation < REPLAY_OPERATIONS &&
			sdk.names[traced->operation] && traced->payload_bytes >= sizeof(*arguments);
	const char *name = is_known ? sdk.names[traced->operation] : "";
	enum sn_rocprofiler_memory does = SN_ROCPROFILER_NO_MEMORY;
#define HIP_MEMORY(function, what)                                                                 \
	if (!strcmp(name, #function))                                                              \
		does = what;
#include "../../../src/collect/adapters/rocm/memory.def"
#undef HIP_MEMORY
	bool is_row = does == SN_ROCPROFILER_ALLOCATES_ROWS;
	if (does == SN_ROCPROFILER_NO_MEMORY || does == SN_ROCPROFILER_FREES)
		return;
	arguments->words[0] =
	    pointed_at(arguments->words[0], does == SN_ROCPROFILER_ALLOCATES_PLANES ? 16 : 8);
	if (is_row)
		arguments->words[1] = pointed_at(arguments->words[1], 8);
}

/* ---- what is told ---- */

static void point(const struct recording_traced *traced, void *payload)
{
	struct sn_rocprofiler_symbol *symbol = payload;
	if (traced->kind == SN_ROCPROFILER_CALLBACK_HIP && traced->phase == SN_ROCPROFILER_EXIT)
		point_at_allocated(traced, payload);
	if (traced->kind != SN_ROCPROFILER_CALLBACK_CODE_OBJECT)
		return;
	if (traced->operation == SN_ROCPROFILER_KERNEL_SYMBOL &&
	    traced->payload_bytes >= sizeof(*symbol))
		symbol->name = (const char *)(uintptr_t)replay_string_at((uintptr_t)symbol->name);
	if (traced->operation == SN_ROCPROFILER_CODE_OBJECT_LOAD &&
	    traced->payload_bytes >= sizeof(struct sn_rocprofiler_code_object))
		point_at_code(payload);
}

static void read_traced(struct recording_head *head)
{
	struct recording_traced *traced = (void *)(head + 1);
	if (traced->payload_bytes > replay_rest_of(head, sizeof(*traced)) ||
	    traced->payload_bytes > REPLAY_PAYLOAD)
		replay_fail("a payload is longer than its entry");
	point(traced, traced + 1);
	if (traced->kind < REPLAY_KINDS && replay_phase == REPLAY_RUNS)
		replay_add_event(head);
}

static void read_records(const struct recording_head *head)
{
	const struct recording_records *recorded = (const void *)(head + 1);
	const uint8_t *bytes = (const uint8_t *)(recorded + 1);
	size_t left = replay_rest_of(head, sizeof(*recorded));
	for (uint64_t index = 0; index < recorded->count; index++) {
		const struct recording_record *record = (const void *)bytes;
		if (left < sizeof(*record) || record->bytes < sizeof(uint64_t) ||
		    record->bytes > left - sizeof(*record))
			replay_fail("a record is longer than its entry");
		size_t length = sizeof(*record) + (record->bytes + 7) / 8 * 8;
		bytes += length;
		left -= length;
	}
	replay_add_event(head);
}

void replay_load(struct recording_head *head)
{
	switch (head->kind) {
	case RECORDING_OF_fact:
		read_fact(replay_text_of(head, 0));
		break;
	case RECORDING_OF_name:
		read_name(head);
		break;
	case RECORDING_OF_agent:
		read_agent(head);
		break;
	case RECORDING_OF_service:
		read_service(head);
		break;
	case RECORDING_OF_offers:
		read_offers(head);
		break;
	case RECORDING_OF_asked:
		if (sdk.asked_count < REPLAY_AGENTS)
			sdk.asked[sdk.asked_count++] = (const void *)(head + 1);
		break;
	case RECORDING_OF_code:
		read_code(head);
		break;
	case RECORDING_OF_counter:
		read_counter(head);
		break;
	case RECORDING_OF_configured:
		read_configured(head);
		break;
	case RECORDING_OF_status:
		read_status(head);
		break;
	case RECORDING_OF_queued:
		read_queued(head);
		break;
	case RECORDING_OF_counted:
		read_counted(head);
		break;
	case RECORDING_OF_pointed:
		read_pointed(head);
		break;
	case RECORDING_OF_traced:
		read_traced(head);
		break;
	case RECORDING_OF_records:
		read_records(head);
		break;
	default:
		break;
	}
}
