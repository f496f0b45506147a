/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool for HIP that measures nothing: it asks rocprofiler-sdk for what Sonde's adapter asks for, of all functions of HIP, and writes down
 * all that the SDK delivers (docs/format/recording.md), so that it can be played elsewhere (tests/fake/replay). The SDK loads it by
 * ROCP_TOOL_LIBRARIES. SONDE_RECORD names a folder; SONDE_RECORD_MIB the most that a process writes; SONDE_RECORD_SAMPLES that instructions are
 * sampled (samples.c); SONDE_RECORD_COUNTERS what is counted (counters.c). It needs a C compiler, and no header of AMD's.
 */
#include "recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)4 << 20)
#define WATERMARK    (BUFFER_BYTES / 2)
/* What the SDK shows says how long it is. No more is believed. */
#define MOST_PAYLOAD 1024u
#define MOST_RECORD  1024u
#define MOST_AGENT   4096u
#define MOST_NODES   64
#define OPERATIONS   2048 /* of HIP */

struct record_sdk record_sdk;

static struct record_part main_part = {.part = RECORDING_PART_RECORDS};
static bool is_subscribed;

/* ---- the recorder's own calls ---- */

bool record_service(const struct record_part *of, const char *name, int32_t kind,
		    sn_rocprofiler_status result)
{
	struct recording_service fields = {
	    .part = of->part, .kind = kind, .has_ended = true, .result = result};
	record_text(RECORDING_OF_service, &fields, sizeof(fields), name);
	return !result;
}

void record_service_begins(const struct record_part *of, const char *name)
{
	struct recording_service fields = {.part = of->part};
	record_text(RECORDING_OF_service, &fields, sizeof(fields), name);
}

/* Where one is missing that is needed, nothing is asked for. */
static bool find_functions(void *library)
{
	bool are_all = true;
#define FIND(name, parameters)                                                                     \
	record_sdk.name = (sn_rocprofiler_status(*) parameters)record_find(library, #name);        \
	are_all = are_all && record_sdk.name;
	SN_ROCPROFILER_FUNCTIONS(FIND)
#undef FIND
#define FIND(name, parameters)                                                                     \
	record_sdk.name = (sn_rocprofiler_status(*) parameters)record_find(library, #name);
	SN_ROCPROFILER_SAMPLING_FUNCTIONS(FIND)
#undef FIND
	record_counters_find(library);
	return are_all;
}

/* ---- callbacks ---- */

static uint8_t memory[OPERATIONS]; /* enum sn_rocprofiler_memory */

static void note_memory(int32_t operation, const char *name)
{
#define HIP_MEMORY(function, does)                                                                 \
	if (!strcmp(name, #function))                                                              \
		memory[operation] = does;
#include "../../../../src/collect/adapters/rocm/memory.def"
#undef HIP_MEMORY
}

static void record_pointed(uint64_t address, size_t bytes)
{
	struct recording_pointed fields = {.address = address};
	record_add(RECORDING_OF_pointed, &fields, sizeof(fields), (const void *)(uintptr_t)address,
		   bytes);
}

/* What a function that has allocated memory gives the program. */
static void note_allocated(int32_t operation, const struct sn_rocprofiler_arguments *arguments)
{
	uint8_t does = operation >= 0 && operation < OPERATIONS ? memory[operation] : 0;
	if (!does || does == SN_ROCPROFILER_FREES || sn_rocprofiler_result(arguments))
		return;
	record_pointed(arguments->words[0], does == SN_ROCPROFILER_ALLOCATES_PLANES
						? 2 * sizeof(uint64_t)
						: sizeof(uint64_t));
	if (does == SN_ROCPROFILER_ALLOCATES_ROWS)
		record_pointed(arguments->words[1], sizeof(uint64_t));
}

/* What the SDK shows begins with its size. */
static size_t length_of(const void *shown, size_t most)
{
	uint64_t size = shown ? *(const uint64_t *)shown : 0;
	return !shown ? 0 : size < sizeof(size) ? sizeof(size) : size < most ? size : most;
}

/* What the payload points at. */
static void note_names(const struct sn_rocprofiler_call *call, size_t bytes)
{
	const struct sn_rocprofiler_symbol *symbol = call->payload;
	const struct sn_rocprofiler_code_object *loaded = call->payload;
	if (call->kind != SN_ROCPROFILER_CALLBACK_CODE_OBJECT)
		return;
	if (call->operation == SN_ROCPROFILER_KERNEL_SYMBOL && bytes >= sizeof(*symbol))
		record_string(symbol->name);
	if (call->operation == SN_ROCPROFILER_CODE_OBJECT_LOAD && bytes >= sizeof(*loaded) &&
	    call->phase == SN_ROCPROFILER_ENTER)
		record_code(loaded);
}

static void on_call(struct sn_rocprofiler_call call, uint64_t *word, void *unused)
{
	int saved_errno = errno;
	size_t bytes = length_of(call.payload, MOST_PAYLOAD);
	struct recording_traced fields = {.thread = call.thread,
					  .correlation = call.correlation,
					  .external = call.external,
					  .ancestor = call.ancestor,
					  .kind = call.kind,
					  .operation = call.operation,
					  .phase = call.phase,
					  .payload_bytes = (uint32_t)bytes};
	(void)word, (void)unused;
	note_names(&call, bytes);
	if (call.kind == SN_ROCPROFILER_CALLBACK_HIP && call.phase == SN_ROCPROFILER_EXIT && bytes)
		note_allocated(call.operation, call.payload);
	record_add(RECORDING_OF_traced, &fields, sizeof(fields), call.payload, bytes);
	errno = saved_errno;
}

/* ---- records ---- */

static size_t room_of(const struct sn_rocprofiler_header *header)
{
	return sizeof(struct recording_record) +
	       (length_of(header->record, MOST_RECORD) + 7) / 8 * 8;
}

static void put_record(uint8_t *at, const struct sn_rocprofiler_header *header)
{
	struct recording_record record = {.category = header->category,
					  .kind = header->kind,
					  .bytes = length_of(header->record, MOST_RECORD)};
	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), header->record, record.bytes);
}

static void on_records(uint64_t context, uint64_t buffer, struct sn_rocprofiler_header **headers,
		       size_t count, void *data, uint64_t dropped)
{
	const struct record_part *of = data;
	struct recording_records fields = {.count = count, .dropped = dropped, .part = of->part};
	size_t bytes = 0, at = 0;
	(void)context, (void)buffer;
	for (size_t index = 0; index < count; index++)
		bytes += room_of(headers[index]);
	uint8_t *packed = calloc(1, bytes + 1);
	if (!packed)
		return;
	for (size_t index = 0; index < count; at += room_of(headers[index++]))
		put_record(packed + at, headers[index]);
	record_clock(record_sdk.rocprofiler_get_timestamp);
	record_add(RECORDING_OF_records, &fields, sizeof(fields), packed, bytes);
	free(packed);
}

/* ---- asking, as the adapter does ---- */

bool record_create(struct record_part *part)
{
	return record_service(part, "rocprofiler_create_context", 0,
			      record_sdk.rocprofiler_create_context(&part->context)) &&
	       record_service(part, "rocprofiler_create_buffer", 0,
			      record_sdk.rocprofiler_create_buffer(
				  part->context, BUFFER_BYTES, WATERMARK, SN_ROCPROFILER_BLOCKS,
				  on_records, part, &part->buffer));
}

bool record_callbacks(const struct record_part *of, int kind, const int32_t *operations,
		      size_t count)
{
	return record_service(of, "rocprofiler_configure_callback_tracing_service", kind,
			      record_sdk.rocprofiler_configure_callback_tracing_service(
				  of->context, kind, operations, count, on_call, NULL));
}

static bool records(int kind)
{
	return record_service(&main_part, "rocprofiler_configure_buffer_tracing_service", kind,
			      record_sdk.rocprofiler_configure_buffer_tracing_service(
				  main_part.context, kind, NULL, 0, main_part.buffer));
}

bool record_start(const struct record_part *of)
{
	record_service_begins(of, "rocprofiler_start_context");
	return record_service(of, "rocprofiler_start_context", 0,
			      record_sdk.rocprofiler_start_context(of->context));
}

void record_stop(const struct record_part *of)
{
	record_service_begins(of, "rocprofiler_stop_context");
	record_service(of, "rocprofiler_stop_context", 0,
		       record_sdk.rocprofiler_stop_context(of->context));
	record_service_begins(of, "rocprofiler_flush_buffer");
	record_service(of, "rocprofiler_flush_buffer", 0,
		       record_sdk.rocprofiler_flush_buffer(of->buffer));
}

static int add_name(int kind, int32_t operation, void *unused)
{
	struct recording_name fields = {.domain = (uint32_t)kind, .cbid = (uint32_t)operation};
	const char *name = NULL;
	uint64_t length = 0;
	(void)unused;
	if (!record_sdk.rocprofiler_query_callback_tracing_kind_operation_name(kind, operation,
									       &name, &length) &&
	    name) {
		record_text(RECORDING_OF_name, &fields, sizeof(fields), name);
		if (operation >= 0 && operation < OPERATIONS)
			note_memory(operation, name);
	}
	return 0;
}

static sn_rocprofiler_status on_agents(int version, const void **agents, size_t count, void *unused)
{
	(void)version, (void)unused;
	for (size_t index = 0; index < count; index++) {
		const struct sn_rocprofiler_agent *agent = agents[index];
		struct recording_agent fields = {.size = length_of(agent, MOST_AGENT)};
		record_add(RECORDING_OF_agent, &fields, sizeof(fields), agent, fields.size);
		if (fields.size < sizeof(*agent) || agent->type != SN_ROCPROFILER_AGENT_GPU)
			continue;
		record_samples_of(agent->id);
		record_counters_of(agent->id);
	}
	return 0;
}

static void ask_what_there_is(void)
{
	record_sdk.rocprofiler_iterate_callback_tracing_kind_operations(SN_ROCPROFILER_CALLBACK_HIP,
									add_name, NULL);
	record_service(&main_part, "rocprofiler_query_available_agents", 0,
		       record_sdk.rocprofiler_query_available_agents(
			   SN_ROCPROFILER_AGENT_VERSION, on_agents,
			   sizeof(struct sn_rocprofiler_agent), NULL));
	record_clock(record_sdk.rocprofiler_get_timestamp);
}

static bool subscribe(void)
{
	static const int32_t set = SN_ROCPROFILER_STREAM_SET;
	bool is_asked =
	    record_create(&main_part) &&
	    record_callbacks(&main_part, SN_ROCPROFILER_CALLBACK_HIP, NULL, 0) &&
	    record_callbacks(&main_part, SN_ROCPROFILER_CALLBACK_CODE_OBJECT, NULL, 0) &&
	    records(SN_ROCPROFILER_BUFFER_KERNEL) && records(SN_ROCPROFILER_BUFFER_COPY);
	/* not all releases tell of streams */
	if (is_asked)
		record_callbacks(&main_part, SN_ROCPROFILER_CALLBACK_STREAM, &set, 1);
	return is_asked && record_start(&main_part);
}

/* ---- a tool of the SDK ---- */

/* Not 0: what was configured is to be forgotten. */
static int initialize(void (*finalizer)(void), void *unused)
{
	(void)finalizer, (void)unused;
	ask_what_there_is();
	is_subscribed = subscribe();
	if (is_subscribed) {
		record_counters_begin();
		record_samples_begin();
	} else {
		record_close();
	}
	return is_subscribed ? 0 : -1;
}

static void release(void)
{
	record_counters_end();
	record_stop(&main_part);
	record_samples_end();
}

/* When the process exits, before the SDK itself ends. */
static void finalize(void *unused)
{
	(void)unused;
	if (is_subscribed)
		record_finish(release);
	is_subscribed = false;
}

static void in_child(void)
{
	is_subscribed = false;
	record_forget();
}

/* As the driver names its nodes, which are processors and devices. */
static void note_nodes(void)
{
	char key[32], path[128];
	record_line_of("driver", "/sys/module/amdgpu/version");
	for (int node = 0; node < MOST_NODES; node++) {
		snprintf(key, sizeof(key), "node.%d.name", node);
		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%d/name", node);
		record_line_of(key, path);
	}
}

/* The library that a place in its code is of. */
static void *library_of(const void *place)
{
	Dl_info at;
	if (!dladdr(place, &at) || !at.dli_fname)
		return NULL;
	record_fact("rocprofiler.path", at.dli_fname);
	return dlopen(at.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

/* The SDK calls it of each of its tools. NULL: it forgets this one. */
struct sn_rocprofiler_tool *rocprofiler_configure(uint32_t version, const char *text,
						  uint32_t priority,
						  struct sn_rocprofiler_client *client);
struct sn_rocprofiler_tool *rocprofiler_configure(uint32_t version, const char *text,
						  uint32_t priority,
						  struct sn_rocprofiler_client *client)
{
	static struct sn_rocprofiler_tool tool = {sizeof(tool), initialize, finalize, NULL};
	static _Atomic bool was_called;
	char number[32];
	(void)priority;
	if (atomic_exchange(&was_called, true) || !record_begin())
		return NULL;
	pthread_atfork(NULL, NULL, in_child);
	record_facts();
	note_nodes();
	snprintf(number, sizeof(number), "%u", version);
	record_fact("rocprofiler.version", number);
	record_fact("rocprofiler.text", text ? text : "");
	void *library = library_of(__builtin_return_address(0));
	/* structures of another major version are others */
	if (!library || !find_functions(library) || version / 10000 != SN_ROCPROFILER_MAJOR) {
		record_close();
		return NULL;
	}
	client->name = "Sonde's recorder";
	return &tool;
}
