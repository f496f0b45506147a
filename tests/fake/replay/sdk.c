/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocprofiler-sdk's functions as Sonde's adapter knows them, which answer what was recorded. run.sh exports those that the recorded SDK had.
 * A tool's first context hears what the recorder's first one heard, and so on; of each it gets what it has asked for.
 */
#include "sdk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_FOUND = 2, NOT_IMPLEMENTED = 17, INVALID_ARGUMENT = 19 };

#define CONTEXTS    8
#define BUFFERS	    8
#define TOOLS	    4
#define MOST_NESTED 16

static struct context {
	struct heard {
		sn_rocprofiler_on_call callback; /* NULL: it hears none of the kind */
		void *data;
		bool operations[REPLAY_OPERATIONS];
	} calls[REPLAY_KINDS];
	uint64_t buffers[REPLAY_KINDS]; /* by kind of records; 0: it gets none */
	uint64_t sample_buffer;
	bool is_active, was_active;
} contexts[CONTEXTS];
static uint32_t context_count;

static struct buffer {
	uint64_t context;
	sn_rocprofiler_on_records callback;
	void *data;
	uint64_t dropped; /* that were told */
	bool was_flushed;
} buffers[BUFFERS];
static uint32_t buffer_count;

static struct context *context_at(uint64_t context)
{
	return context && context <= context_count ? &contexts[context - 1] : NULL;
}

static struct buffer *buffer_at(uint64_t buffer)
{
	return buffer && buffer <= buffer_count ? &buffers[buffer - 1] : NULL;
}

/* Of the recorder's, which a context of the tool's stands for. A tool samples or counts, as the recorder does. */
uint32_t replay_part_of(uint64_t context)
{
	if (context == 1)
		return RECORDING_PART_RECORDS;
	return replay_sdk()->counter_count ? RECORDING_PART_COUNTERS : RECORDING_PART_SAMPLES;
}

bool replay_was_active(uint64_t context)
{
	return context_at(context) && context_at(context)->was_active;
}

/* ---- telling ---- */

static void tell_context(uint64_t number, struct sn_rocprofiler_call call)
{
	const struct context *context = context_at(number);
	const struct heard *heard = &context->calls[call.kind];
	uint64_t word = 0;
	call.context = number;
	bool is_wanted = call.operation >= 0 && call.operation < REPLAY_OPERATIONS &&
			 heard->operations[call.operation];
	if (context->is_active && heard->callback && is_wanted)
		heard->callback(call, &word, heard->data);
}

/* The payload lies on the stack, as the SDK's does, and that of a call in a call lies further down. */
static void tell_call(const struct recording_traced *recorded)
{
	static __thread uint32_t depth;
	uint64_t payloads[MOST_NESTED][REPLAY_PAYLOAD / sizeof(uint64_t)];
	bool is_hip = recorded->kind == SN_ROCPROFILER_CALLBACK_HIP;
	if (is_hip && recorded->phase == SN_ROCPROFILER_EXIT && depth)
		depth--;
	void *payload = payloads[MOST_NESTED - 1 - depth % MOST_NESTED];
	memcpy(payload, recorded + 1, recorded->payload_bytes);
	struct sn_rocprofiler_call call = {.thread = recorded->thread,
					   .correlation = recorded->correlation,
					   .external = recorded->external,
					   .ancestor = recorded->ancestor,
					   .kind = recorded->kind,
					   .operation = recorded->operation,
					   .phase = recorded->phase,
					   .payload = recorded->payload_bytes ? payload : NULL};
	if (is_hip && recorded->phase == SN_ROCPROFILER_ENTER)
		depth++;
	for (uint64_t number = 1; number <= context_count; number++)
		tell_context(number, call);
}

static bool wants(uint64_t buffer, const struct recording_record *record)
{
	const struct context *context = context_at(buffers[buffer - 1].context);
	if (!context->was_active)
		return false;
	if (record->category == SN_ROCPROFILER_CATEGORY_SAMPLES)
		return context->sample_buffer == buffer;
	return record->category == SN_ROCPROFILER_CATEGORY_TRACING && record->kind < REPLAY_KINDS &&
	       context->buffers[record->kind] == buffer;
}

/* Which of the records the buffer wants, one behind the other; how many. */
static size_t choose(uint64_t buffer, const struct recording_records *recorded,
		     struct sn_rocprofiler_header *headers)
{
	const uint8_t *at = (const uint8_t *)(recorded + 1);
	size_t count = 0;
	for (uint64_t index = 0; index < recorded->count; index++) {
		const struct recording_record *record = (const void *)at;
		if (wants(buffer, record))
			headers[count++] = (struct sn_rocprofiler_header){
			    record->category, record->kind, (void *)(uintptr_t)(record + 1)};
		at += sizeof(*record) + (record->bytes + 7) / 8 * 8;
	}
	return count;
}

static void give(uint64_t number, const struct recording_records *recorded)
{
	struct buffer *buffer = buffer_at(number);
	struct sn_rocprofiler_header *headers = calloc(recorded->count + 1, sizeof(*headers));
	struct sn_rocprofiler_header **pointers = calloc(recorded->count + 1, sizeof(*pointers));
	bool is_same_part = replay_part_of(buffer->context) == recorded->part &&
			    context_at(buffer->context)->was_active;
	uint64_t dropped = is_same_part ? recorded->dropped : buffer->dropped;
	if (!headers || !pointers)
		abort();
	size_t count = choose(number, recorded, headers);
	for (size_t index = 0; index < count; index++)
		pointers[index] = &headers[index];
	if (count || dropped != buffer->dropped)
		buffer->callback(buffer->context, number, pointers, count, buffer->data, dropped);
	buffer->dropped = dropped;
	free(headers);
	free(pointers);
}

void replay_tell(const struct replay_event *event)
{
	const void *fields = event->head + 1;
	if (event->head->kind == RECORDING_OF_traced)
		tell_call(fields);
	replay_tell_counting(event->head);
	for (uint64_t number = 1;
	     number <= buffer_count && event->head->kind == RECORDING_OF_records; number++)
		give(number, fields);
}

/* ---- tools ---- */

typedef struct sn_rocprofiler_tool *configure(uint32_t version, const char *text, uint32_t priority,
					      struct sn_rocprofiler_client *client);

static configure *configures[TOOLS];
static struct sn_rocprofiler_tool *tools[TOOLS];
static struct sn_rocprofiler_client clients[TOOLS];
static uint32_t tool_count;

static void add_tool(void *function)
{
	for (uint32_t index = 0; index < tool_count; index++)
		if (configures[index] == (configure *)function)
			return;
	if (function && tool_count < TOOLS)
		configures[tool_count++] = (configure *)function;
}

static void find_tools(void)
{
	const char *named = getenv("ROCP_TOOL_LIBRARIES");
	char *names = strdup(named ? named : ""), *rest = NULL;
	for (char *name = strtok_r(names, ":", &rest); name; name = strtok_r(NULL, ":", &rest)) {
		void *library = dlopen(name, RTLD_LOCAL | RTLD_LAZY);
		add_tool(library ? dlsym(library, "rocprofiler_configure") : NULL);
	}
	add_tool(dlsym(RTLD_DEFAULT, "rocprofiler_configure"));
	free(names);
}

/* By its address the tool finds this library. */
static void finalizer(void)
{
}

static void end(void)
{
	for (uint32_t index = 0; index < tool_count; index++)
		if (tools[index] && tools[index]->finalize)
			tools[index]->finalize(tools[index]->data);
}

static void begin(void)
{
	atexit(end);
	find_tools();
	for (uint32_t index = 0; index < tool_count; index++)
		tools[index] =
		    configures[index](replay_sdk()->version, "replay", index, &clients[index]);
	for (uint32_t index = 0; index < tool_count; index++)
		if (tools[index] && tools[index]->initialize)
			tools[index]->initialize(finalizer, tools[index]->data);
}

/* A runtime shows its table of functions. */
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count);
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)name, (void)version, (void)instance, (void)tables, (void)count;
	pthread_once(&once, begin);
	return 0;
}

/* As HIP does before its first call. No program calls it here, and its table has no functions. */
void replay_attach(void)
{
	static uint64_t table = sizeof(table);
	static void *tables[] = {&table};
	int (*show)(const char *, uint64_t, uint64_t, void **, uint64_t) =
	    (int (*)(const char *, uint64_t, uint64_t, void **, uint64_t))dlsym(
		RTLD_DEFAULT, "rocprofiler_set_api_table");
	show("hip", 0, 0, tables, 1);
}

/* ---- contexts ---- */

sn_rocprofiler_status rocprofiler_create_context(uint64_t *context);
sn_rocprofiler_status rocprofiler_create_context(uint64_t *context)
{
	if (context_count == CONTEXTS)
		return INVALID_ARGUMENT;
	int32_t answer =
	    replay_answer("rocprofiler_create_context", replay_part_of(context_count + 1), 0, 0);
	if (!answer)
		*context = ++context_count;
	return answer;
}

sn_rocprofiler_status rocprofiler_start_context(uint64_t context);
sn_rocprofiler_status rocprofiler_start_context(uint64_t context)
{
	struct context *of = context_at(context);
	if (!of)
		return NOT_FOUND;
	int32_t answer = replay_answer("rocprofiler_start_context", replay_part_of(context), 0, 0);
	of->is_active = of->was_active = !answer;
	return answer;
}

sn_rocprofiler_status rocprofiler_stop_context(uint64_t context);
sn_rocprofiler_status rocprofiler_stop_context(uint64_t context)
{
	if (!context_at(context))
		return NOT_FOUND;
	/* what came while the recorder stopped counting, and after that, comes now */
	uint32_t part = replay_part_of(context);
	if (context_at(context)->is_active && part != RECORDING_PART_SAMPLES)
		replay_deliver(part == RECORDING_PART_COUNTERS ? REPLAY_STOPS_COUNTING
							       : REPLAY_COUNTS_NO_MORE);
	int32_t answer = replay_answer("rocprofiler_stop_context", part, 0, 0);
	context_at(context)->is_active = false;
	return answer;
}

sn_rocprofiler_status
rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
					       const int32_t *operations, size_t count,
					       sn_rocprofiler_on_call callback, void *data);
sn_rocprofiler_status
rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
					       const int32_t *operations, size_t count,
					       sn_rocprofiler_on_call callback, void *data)
{
	if (!context_at(context) || kind < 0 || kind >= REPLAY_KINDS)
		return NOT_FOUND;
	struct heard *heard = &context_at(context)->calls[kind];
	/* where no samples were asked for, dispatches were not either: asking for samples says so */
	int32_t otherwise = kind == SN_ROCPROFILER_CALLBACK_DISPATCH ? 0 : NOT_IMPLEMENTED;
	int32_t answer = replay_answer("rocprofiler_configure_callback_tracing_service",
				       replay_part_of(context), kind, otherwise);
	if (answer)
		return answer;
	heard->callback = callback;
	heard->data = data;
	memset(heard->operations, operations == NULL, sizeof(heard->operations));
	for (size_t index = 0; index < count && operations; index++)
		if (operations[index] >= 0 && operations[index] < REPLAY_OPERATIONS)
			heard->operations[operations[index]] = true;
	return 0;
}

/* ---- buffers ---- */

sn_rocprofiler_status rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark,
						int policy, sn_rocprofiler_on_records callback,
						void *data, uint64_t *buffer);
sn_rocprofiler_status rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark,
						int policy, sn_rocprofiler_on_records callback,
						void *data, uint64_t *buffer)
{
	(void)size, (void)watermark, (void)policy;
	if (!context_at(context) || buffer_count == BUFFERS)
		return NOT_FOUND;
	int32_t answer = replay_answer("rocprofiler_create_buffer", replay_part_of(context), 0, 0);
	if (answer)
		return answer;
	buffers[buffer_count] =
	    (struct buffer){.context = context, .callback = callback, .data = data};
	*buffer = ++buffer_count;
	return 0;
}

sn_rocprofiler_status rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
								   const int32_t *operations,
								   size_t count, uint64_t buffer);
sn_rocprofiler_status rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
								   const int32_t *operations,
								   size_t count, uint64_t buffer)
{
	(void)operations, (void)count;
	if (!context_at(context) || !buffer_at(buffer) || kind < 0 || kind >= REPLAY_KINDS)
		return NOT_FOUND;
	int32_t answer = replay_answer("rocprofiler_configure_buffer_tracing_service",
				       replay_part_of(context), kind, NOT_IMPLEMENTED);
	if (!answer)
		context_at(context)->buffers[kind] = buffer;
	return answer;
}

bool replay_sample_into(uint64_t context, uint64_t buffer)
{
	if (!context_at(context) || !buffer_at(buffer))
		return false;
	context_at(context)->sample_buffer = buffer;
	return true;
}

/* What was delivered while the recorder's buffer was flushed is delivered now. */
sn_rocprofiler_status rocprofiler_flush_buffer(uint64_t buffer);
sn_rocprofiler_status rocprofiler_flush_buffer(uint64_t buffer)
{
	struct buffer *of = buffer_at(buffer);
	if (!of)
		return NOT_FOUND;
	uint32_t part = replay_part_of(of->context);
	if (!of->was_flushed)
		replay_deliver((enum replay_phase)(REPLAY_FLUSH + part));
	of->was_flushed = true;
	return replay_answer("rocprofiler_flush_buffer", part, 0, 0);
}

/* ---- what there is ---- */

sn_rocprofiler_status
rocprofiler_iterate_callback_tracing_kind_operations(int kind, sn_rocprofiler_on_operation callback,
						     void *data);
sn_rocprofiler_status
rocprofiler_iterate_callback_tracing_kind_operations(int kind, sn_rocprofiler_on_operation callback,
						     void *data)
{
	const struct replay_sdk *recording = replay_sdk();
	for (int32_t operation = 0;
	     operation < REPLAY_OPERATIONS && kind == SN_ROCPROFILER_CALLBACK_HIP; operation++)
		if (recording->names[operation] && callback(kind, operation, data))
			break;
	return 0;
}

sn_rocprofiler_status rocprofiler_query_callback_tracing_kind_operation_name(int kind,
									     int32_t operation,
									     const char **name,
									     uint64_t *length);
sn_rocprofiler_status rocprofiler_query_callback_tracing_kind_operation_name(int kind,
									     int32_t operation,
									     const char **name,
									     uint64_t *length)
{
	bool is_known = kind == SN_ROCPROFILER_CALLBACK_HIP && operation >= 0 &&
			operation < REPLAY_OPERATIONS && replay_sdk()->names[operation];
	if (!is_known)
		return NOT_FOUND;
	if (name)
		*name = replay_sdk()->names[operation];
	if (length)
		*length = strlen(replay_sdk()->names[operation]);
	return 0;
}

sn_rocprofiler_status rocprofiler_query_available_agents(int version,
							 sn_rocprofiler_on_agents callback,
							 size_t agent_size, void *data);
sn_rocprofiler_status rocprofiler_query_available_agents(int version,
							 sn_rocprofiler_on_agents callback,
							 size_t agent_size, void *data)
{
	const struct replay_sdk *recording = replay_sdk();
	int32_t answer = replay_answer("rocprofiler_query_available_agents", RECORDING_PART_RECORDS,
				       0, NOT_IMPLEMENTED);
	for (uint32_t index = 0; index < recording->agent_count; index++)
		if (agent_size > recording->agent_sizes[index])
			return INVALID_ARGUMENT;
	return answer ? answer
		      : callback(version, (const void **)recording->agents, recording->agent_count,
				 data);
}

sn_rocprofiler_status rocprofiler_get_timestamp(uint64_t *now);
sn_rocprofiler_status rocprofiler_get_timestamp(uint64_t *now)
{
	*now = replay_time();
	return 0;
}
