/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool for CUDA that measures nothing: it subscribes to CUPTI as Sonde's adapter does, and writes down all that CUPTI delivers
 * (docs/format/recording.md), so that it can be played elsewhere (tests/fake/replay). The driver loads it by CUDA_INJECTION64_PATH.
 * SONDE_RECORD names a folder; SONDE_RECORD_KINDS the kinds of records, as numbers; SONDE_RECORD_MIB the most that a process writes;
 * SONDE_RECORD_SAMPLES that instructions are sampled, "serialized@1024" (samples.c).
 * It needs a C compiler, and no header of NVIDIA's.
 */
#include "../../../src/collect/adapters/cuda/cupti.h"
#include "recorder.h"
#include "tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BUFFER_BYTES (1u << 20)
#define BUFFERS	     64u
#define MOST_CBIDS   2048u
/* What Sonde's adapter asks for. */
#define USUAL_KINDS  "10,1,2,38,49,8,51"

static struct {
#define POINTER(name, parameters) sn_cupti_result(*name) parameters;
	SN_CUPTI_FUNCTIONS(POINTER)
	SN_CUPTI_SHARING_FUNCTIONS(POINTER)
#undef POINTER
	sn_cupti_result (*cuptiGetVersion)(uint32_t *version);
	sn_cupti_result (*cuptiEnableDomain)(uint32_t enable, void *subscriber, uint32_t domain);
	void *subscriber;
} cupti;

static bool is_subscribed;

/* ---- CUPTI's functions ---- */

static void *open_library(void)
{
	static const char *const names[] = {"libcupti.so.13",
					    "libcupti.so.12",
					    "libcupti.so.11.8",
					    "libcupti.so",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
					    "/usr/local/cuda/lib64/libcupti.so"};
	void *library = NULL;
	size_t count = sizeof(names) / sizeof(*names);
	for (size_t index = 0; index < count && !library; index++)
		library = dlopen(names[index], RTLD_NOW | RTLD_NOLOAD);
	for (size_t index = 0; index < count && !library; index++)
		library = dlopen(names[index], RTLD_NOW);
	return library;
}

/* False where one is missing that is needed. */
static bool find_functions(void *library)
{
	bool are_all = true;
#define FIND(name, parameters)                                                                     \
	cupti.name = (sn_cupti_result(*) parameters)record_find(library, #name);                   \
	are_all = are_all && cupti.name;
	SN_CUPTI_FUNCTIONS(FIND)
	FIND(cuptiGetVersion, (uint32_t *))
	FIND(cuptiEnableDomain, (uint32_t, void *, uint32_t))
#undef FIND
#define FIND(name, parameters)                                                                     \
	cupti.name = (sn_cupti_result(*) parameters)record_find(library, #name);
	SN_CUPTI_SHARING_FUNCTIONS(FIND)
#undef FIND
	return are_all;
}

/* ---- callbacks ---- */

static void on_node(uint32_t cbid, const struct sn_cupti_graph *graph)
{
	struct recording_node fields = {
	    .node = (uintptr_t)graph->node, .graph = (uintptr_t)graph->graph, .cbid = cbid};
	fields.result = cupti.cuptiGetGraphNodeId(graph->node, &fields.node_id);
	if (cbid == SN_CUPTI_GRAPH_NODE_CLONED) {
		fields.original = (uintptr_t)graph->original_node;
		cupti.cuptiGetGraphNodeId(graph->original_node, &fields.original_id);
	}
	record_add(RECORDING_OF_node, &fields, sizeof(fields), NULL, 0);
}

static void on_resource(uint32_t cbid, const struct sn_cupti_resource_data *data)
{
	struct recording_resource fields = {
	    .context = (uintptr_t)data->context, .stream = (uintptr_t)data->stream, .cbid = cbid};
	bool is_context =
	    cbid == SN_CUPTI_CONTEXT_CREATED || cbid == SN_CUPTI_CONTEXT_DESTROY_STARTING;
	bool is_module = cbid == SN_CUPTI_MODULE_LOADED || cbid == SN_CUPTI_MODULE_UNLOAD_STARTING;
	if (cbid == SN_CUPTI_GRAPH_NODE_CREATED || cbid == SN_CUPTI_GRAPH_NODE_CLONED)
		on_node(cbid, data->descriptor);
	else if (!is_module)
		record_add(RECORDING_OF_resource, &fields, sizeof(fields), NULL, 0);
	if (is_module)
		record_samples_on_module(cbid, data);
	else if (is_context)
		record_samples_on_context(cbid, data->context);
}

/* Of other calls it says nothing. */
static const char *symbol_of(const struct sn_cupti_call *call)
{
	return call->name && strstr(call->name, "LaunchKernel") ? call->symbol : NULL;
}

static void on_callback(void *unused, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct sn_cupti_call *call = data;
	int saved_errno = errno;
	(void)unused;
	if (domain == SN_CUPTI_RESOURCE) {
		on_resource(cbid, data);
		errno = saved_errno;
		return;
	}
	struct recording_callback fields = {
	    .context = (uintptr_t)call->context,
	    .name = (uintptr_t)call->name,
	    .symbol = (uintptr_t)symbol_of(call),
	    .domain = domain,
	    .cbid = cbid,
	    .site = call->site,
	    .correlation = call->correlation,
	    .context_number = call->context_number,
	    .result = call->site && call->result ? *(const int *)call->result : 0};
	record_string(call->name);
	record_string(symbol_of(call));
	/* what is read and what excludes reading are written in the order in which they were */
	if (!call->site)
		record_samples_before_call(call);
	record_add(RECORDING_OF_callback, &fields, sizeof(fields), NULL, 0);
	if (call->site)
		record_samples_after_call(call);
	errno = saved_errno;
}

/* ---- buffers ---- */

static struct {
	uint8_t *_Atomic bytes;
	_Atomic bool is_used;
} buffers[BUFFERS];

static void request(uint8_t **buffer, size_t *size, size_t *most_records)
{
	struct recording_request fields = {0};
	*most_records = 0;
	for (uint32_t index = 0; index < BUFFERS && !fields.address; index++) {
		if (atomic_exchange(&buffers[index].is_used, true))
			continue;
		if (!buffers[index].bytes) {
			void *bytes = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			buffers[index].bytes = bytes == MAP_FAILED ? NULL : bytes;
		}
		fields.address = (uintptr_t)buffers[index].bytes;
		fields.size = fields.address ? BUFFER_BYTES : 0;
	}
	*buffer = (uint8_t *)(uintptr_t)fields.address;
	*size = fields.size;
	record_add(RECORDING_OF_request, &fields, sizeof(fields), NULL, 0);
}

/* How long a record of a kind is: noted when it is first seen. */
static void note_length(uint32_t kind, size_t length)
{
	static _Atomic uint32_t lengths[64];
	struct recording_length fields = {.kind = kind, .length = (uint32_t)length};
	if (kind >= 64 || lengths[kind] == length)
		return;
	lengths[kind] = (uint32_t)length;
	record_add(RECORDING_OF_length, &fields, sizeof(fields), NULL, 0);
}

/* What the records point at, and how long they are. The result of the last step. */
static sn_cupti_result look_through(uint8_t *buffer, size_t valid)
{
	void *record = NULL;
	sn_cupti_result result = cupti.cuptiActivityGetNextRecord(buffer, valid, &record);
	while (!result) {
		void *next = record;
		result = cupti.cuptiActivityGetNextRecord(buffer, valid, &next);
		uint32_t kind = *(const uint32_t *)record;
		size_t length =
		    (size_t)((result ? buffer + valid : (uint8_t *)next) - (uint8_t *)record);
		size_t name = offsetof(struct sn_cupti_kernel, name);
		/* where a buffer ends within its last record, that says nothing */
		if (!result || result == SN_CUPTI_ERROR_END)
			note_length(kind, length);
		if ((kind == SN_CUPTI_KERNEL || kind == SN_CUPTI_CONCURRENT_KERNEL) &&
		    length >= name + sizeof(char *))
			record_string(((const struct sn_cupti_kernel *)record)->name);
		record = next;
	}
	return result;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;
	struct recording_buffer fields = {.address = (uintptr_t)buffer,
					  .context = (uintptr_t)context,
					  .size = size,
					  .valid = valid,
					  .stream = stream};
	sn_cupti_result result = look_through(buffer, valid);
	if (result != SN_CUPTI_ERROR_END && valid)
		record_step("cuptiActivityGetNextRecord", true, result);
	fields.dropped_result = cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
	fields.dropped = dropped;
	record_clock(cupti.cuptiGetTimestamp);
	record_add(RECORDING_OF_buffer, &fields, sizeof(fields), buffer, valid);
	for (uint32_t index = 0; index < BUFFERS; index++)
		if (buffers[index].bytes == buffer)
			buffers[index].is_used = false;
}

/* ---- subscribing, as the adapter does ---- */

static void enable_kinds(void)
{
	const char *kinds = getenv("SONDE_RECORD_KINDS");
	for (const char *at = kinds && *kinds ? kinds : USUAL_KINDS; *at;) {
		struct recording_enabled fields = {.kind = (uint32_t)strtoul(at, NULL, 10)};
		fields.result = cupti.cuptiActivityEnable(fields.kind);
		record_add(RECORDING_OF_enabled, &fields, sizeof(fields), NULL, 0);
		at += strcspn(at, ",");
		at += *at == ',';
	}
}

static void enable_callbacks(void)
{
	static const uint32_t domains[] = {SN_CUPTI_DRIVER, SN_CUPTI_RUNTIME, SN_CUPTI_RESOURCE};
	const char *name;
	for (size_t index = 0; index < sizeof(domains) / sizeof(*domains); index++) {
		struct recording_domain fields = {.domain = domains[index]};
		struct recording_name of = {.domain = domains[index], .cbid = 1};
		/* also those behind a number that has none */
		for (; of.cbid < MOST_CBIDS; of.cbid++)
			if (!cupti.cuptiGetCallbackName(of.domain, of.cbid, &name) && name)
				record_text(RECORDING_OF_name, &of, sizeof(of), name);
		fields.result = cupti.cuptiEnableDomain(1, cupti.subscriber, domains[index]);
		record_add(RECORDING_OF_domain, &fields, sizeof(fields), NULL, 0);
	}
}

/* By the newer form, which tells who is subscribed already. */
static sn_cupti_result subscribe_first(char *holder, size_t holder_bytes)
{
	struct sn_cupti_subscriber parameters = {.bytes = SN_CUPTI_SUBSCRIBER_FIRST_BYTES,
						 .name = "Sonde's recorder",
						 .holder = holder,
						 .holder_bytes = holder_bytes};
	if (!cupti.cuptiSubscribe_v2)
		return cupti.cuptiSubscribe(&cupti.subscriber, on_callback, NULL);
	return cupti.cuptiSubscribe_v2(&cupti.subscriber, on_callback, NULL, &parameters);
}

static void subscribe(void)
{
	char holder[128] = "";
	sn_cupti_result result = subscribe_first(holder, sizeof(holder));
	if (*holder)
		record_fact("cupti.holder", holder);
	record_step("cuptiSubscribe", true, result);
	if (result)
		return;
	is_subscribed = true;
	result = cupti.cuptiActivityRegisterCallbacks(request, complete);
	record_step("cuptiActivityRegisterCallbacks", true, result);
	enable_kinds();
	record_clock(cupti.cuptiGetTimestamp);
	enable_callbacks();
}

/* ---- the end ---- */

static void release(void)
{
	record_samples_end();
	for (uint32_t flags = 0; flags < 2; flags++) {
		record_step("cuptiActivityFlushAll", false, 0);
		record_step("cuptiActivityFlushAll", true, cupti.cuptiActivityFlushAll(flags));
	}
	record_step("cuptiUnsubscribe", false, 0);
	record_step("cuptiUnsubscribe", true, cupti.cuptiUnsubscribe(cupti.subscriber));
}

static void end(void)
{
	if (is_subscribed)
		record_finish(release);
	is_subscribed = false;
	record_close();
}

static void in_child(void)
{
	is_subscribed = false;
	record_samples_forget();
	record_forget();
}

/* ---- attaching ---- */

static void attach(void)
{
	void *library = open_library();
	uint32_t version = 0;
	char text[32];
	Dl_info at;
	record_facts();
	record_driver();
	if (!library || !find_functions(library)) {
		record_fact("cupti.missing", library ? "a function" : "no libcupti.so");
		return;
	}
	if (dladdr((void *)cupti.cuptiSubscribe, &at) && at.dli_fname)
		record_fact("cupti.path", at.dli_fname);
	record_step("cuptiGetVersion", true, cupti.cuptiGetVersion(&version));
	snprintf(text, sizeof(text), "%u", version);
	record_fact("cupti.version", text);
	record_samples_begin(library, version);
	subscribe();
}

/* The driver calls it at the end of cuInit. 1 for success. */
int InitializeInjection(void);
int InitializeInjection(void)
{
	static _Atomic bool was_called;
	if (atomic_exchange(&was_called, true) || !record_begin())
		return 1;
	attach();
	pthread_atfork(NULL, NULL, in_child);
	atexit(end);
	return 1;
}
