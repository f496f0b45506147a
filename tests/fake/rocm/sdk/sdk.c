/* SPDX-License-Identifier: Apache-2.0 */
/* Tools and contexts: who is configured, and with what. */
#include "sdk.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT_NOT_FOUND = 2, SERVICE_CONFIGURED = 15, LOCKED = 16, NOT_IMPLEMENTED = 17 };
enum { HIP_RUNTIME = 5, CODE_OBJECT = 10, COPY_RECORD = 10, KERNEL_RECORD = 11, TOOLS = 4 };
enum { KERNEL_DISPATCH = 12, HIP_STREAM = 20 };

struct fake_context fake_contexts[FAKE_CONTEXTS];
uint32_t fake_context_count;
static bool has_begun, has_ended;

bool fake_has_begun(void)
{
	return has_begun;
}

bool fake_has_ended(void)
{
	return has_ended;
}

/* ---- tools ---- */

struct client {
	const char *name;
	uint32_t handle;
};

struct result {
	size_t size;
	int (*initialize)(void (*)(struct client), void *);
	void (*finalize)(void *);
	void *data;
};

typedef struct result *configure(uint32_t version, const char *text, uint32_t priority,
				 struct client *client);

static configure *configures[TOOLS], *forced;
static struct result *results[TOOLS];
static struct client clients[TOOLS];
static uint32_t tool_count;

static void add_tool(configure *function)
{
	for (uint32_t index = 0; index < tool_count; index++)
		if (configures[index] == function)
			return;
	if (function && tool_count < TOOLS)
		configures[tool_count++] = function;
}

/* Every library may have one, whatever the program's own name for it leads to. */
static int add_tool_of(struct dl_phdr_info *module, size_t size, void *unused)
{
	void *library =
	    *module->dlpi_name ? dlopen(module->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	(void)size, (void)unused;
	if (library)
		add_tool((configure *)dlsym(library, "rocprofiler_configure"));
	return 0;
}

static void find_tools(void)
{
	char *names = strdup(getenv("ROCP_TOOL_LIBRARIES") ?: ""), *rest = NULL;
	add_tool(forced);
	for (char *name = strtok_r(names, ":", &rest); name; name = strtok_r(NULL, ":", &rest)) {
		void *library = dlopen(name, RTLD_LOCAL | RTLD_LAZY);
		if (!library) {
			fprintf(stderr, "error dlopening %s\n", name);
			abort();
		}
		add_tool((configure *)dlsym(library, "rocprofiler_configure"));
	}
	add_tool((configure *)dlsym(RTLD_DEFAULT, "rocprofiler_configure"));
	dl_iterate_phdr(add_tool_of, NULL);
	free(names);
}

static void finalizer(struct client client)
{
	(void)client;
}

static void end(void)
{
	fake_records_wait();
	for (uint32_t index = 0; index < tool_count; index++)
		if (results[index] && results[index]->finalize)
			results[index]->finalize(results[index]->data);
	has_ended = true;
	fake_records_end();
}

static void begin(void)
{
	uint32_t version = fake_fails("version") ? 20000 : fake_fails("old") ? 600 : 10000;
	atexit(end);
	find_tools();
	for (uint32_t index = 0; index < tool_count; index++)
		results[index] = configures[index](version, "fake", index, &clients[index]);
	for (uint32_t index = 0; index < tool_count; index++)
		if (results[index] && results[index]->initialize)
			results[index]->initialize(finalizer, results[index]->data);
	fake_records_begin();
	has_begun = true;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

int rocprofiler_force_configure(configure *function)
{
	if (has_begun)
		return LOCKED;
	setenv("ROCPROFILER_REGISTER_FORCE_LOAD", "1", 1);
	forced = function;
	pthread_once(&once, begin);
	return 0;
}

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count)
{
	(void)version, (void)instance;
	pthread_once(&once, begin);
	if (!strcmp(name, "roctx"))
		return count != 3;
	if (strcmp(name, "hip") || count != 1)
		return 1;
	fake_wrap_table(tables[0]);
	return 0;
}

/* ---- contexts ---- */

static struct fake_context *context_of(uint64_t context)
{
	return context && context <= fake_context_count ? &fake_contexts[context - 1] : NULL;
}

int rocprofiler_create_context(uint64_t *context)
{
	if (has_begun)
		return LOCKED;
	if (fake_context_count == FAKE_CONTEXTS)
		return 1;
	*context = ++fake_context_count;
	return 0;
}

static int set_active(uint64_t context, bool is_active)
{
	if (!context_of(context))
		return CONTEXT_NOT_FOUND;
	context_of(context)->is_active = is_active;
	return 0;
}

int rocprofiler_start_context(uint64_t context)
{
	return set_active(context, true);
}

int rocprofiler_stop_context(uint64_t context)
{
	bool is_counting = context_of(context) && context_of(context)->on_counting;
	while (fake_fails("stop") || (is_counting && fake_fails("counter-stop")))
		pause();
	if (is_counting && !fake_fails("counter-late"))
		fake_counters_drain();
	return set_active(context, false);
}

int rocprofiler_context_is_valid(uint64_t context, int *status)
{
	*status = context_of(context) != NULL;
	return 0;
}

int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
						   const int32_t *operations, size_t count,
						   fake_on_call callback, void *data)
{
	struct fake_context *of = context_of(context);
	if (has_begun || fake_fails("refuse"))
		return LOCKED;
	if ((kind == KERNEL_DISPATCH && fake_fails("sdk-pc-context")) ||
	    (kind == HIP_STREAM && fake_fails("no-streams")))
		return NOT_IMPLEMENTED;
	if (of && kind == HIP_STREAM) {
		of->on_stream = callback;
		of->stream_data = data;
		return 0;
	}
	if (of && kind == KERNEL_DISPATCH) {
		of->on_dispatch = callback;
		of->dispatch_data = data;
		return 0;
	}
	if (!of || (kind != HIP_RUNTIME && kind != CODE_OBJECT))
		return of ? NOT_IMPLEMENTED : CONTEXT_NOT_FOUND;
	if (kind == HIP_RUNTIME ? of->on_call != NULL : of->on_code != NULL)
		return SERVICE_CONFIGURED;
	if (kind == CODE_OBJECT) {
		of->on_code = callback;
		of->code_data = data;
		return 0;
	}
	of->on_call = callback;
	of->call_data = data;
	for (int32_t operation = 0; operation < FAKE_FUNCTIONS && !operations; operation++)
		of->wanted[operation] = true;
	for (size_t index = 0; index < count && operations; index++)
		of->wanted[operations[index]] = true;
	return 0;
}

int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
						 const int32_t *operations, size_t count,
						 uint64_t buffer)
{
	struct fake_context *of = context_of(context);
	(void)operations, (void)count;
	if (has_begun || fake_fails("refuse"))
		return LOCKED;
	if (!of || (kind != KERNEL_RECORD && kind != COPY_RECORD))
		return of ? NOT_IMPLEMENTED : CONTEXT_NOT_FOUND;
	*(kind == KERNEL_RECORD ? &of->kernel_buffer : &of->copy_buffer) = buffer;
	return 0;
}

/* ---- names ---- */

int rocprofiler_iterate_callback_tracing_kind_operations(int kind,
							 int (*callback)(int, int32_t, void *),
							 void *data)
{
	for (int32_t operation = 0; operation < FAKE_FUNCTIONS && kind == HIP_RUNTIME; operation++)
		if (fake_function_name(operation) && callback(kind, operation, data))
			break;
	return 0;
}

int rocprofiler_query_callback_tracing_kind_operation_name(int kind, int32_t operation,
							   const char **name, uint64_t *length)
{
	const char *found = kind == HIP_RUNTIME ? fake_function_name(operation) : NULL;
	if (name)
		*name = found;
	if (length)
		*length = found ? strlen(found) : 0;
	return 0;
}

int rocprofiler_iterate_callback_tracing_kinds(int (*callback)(int, void *), void *data)
{
	if (!callback(HIP_RUNTIME, data))
		callback(CODE_OBJECT, data);
	return 0;
}

int rocprofiler_query_callback_tracing_kind_name(int kind, const char **name, uint64_t *length)
{
	static const char hip[] = "HIP_RUNTIME_API", code[] = "CODE_OBJECT";
	const char *found = kind == HIP_RUNTIME ? hip : code;
	if (name)
		*name = found;
	if (length)
		*length = strlen(found);
	return 0;
}

const char *rocprofiler_get_status_string(int status)
{
	return status == 38   ? "Exceeds hardware limits"
	       : status == 40 ? "Permission denied"
	       : status	      ? "an error"
			      : "Success";
}

/* ---- one thread delivers all ---- */

int rocprofiler_create_callback_thread(uint64_t *thread)
{
	*thread = 1;
	return 0;
}

int rocprofiler_assign_callback_thread(uint64_t buffer, uint64_t thread)
{
	(void)buffer, (void)thread;
	return 0;
}

int rocprofiler_configure_external_correlation_id_request_service(uint64_t context,
								  const int *kinds, size_t count,
								  void *callback, void *data)
{
	(void)context, (void)kinds, (void)count, (void)callback, (void)data;
	return NOT_IMPLEMENTED;
}
