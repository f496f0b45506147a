/* SPDX-License-Identifier: Apache-2.0 */
/* A user's own tool of rocprofiler-sdk, which ROCP_TOOL_LIBRARIES names: it says how many calls it has heard, and how many
 * records it has got. With FORCED it makes itself one, as plugins do that a program loads. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct record {
	uint64_t context, thread, correlation[3];
	uint32_t kind;
	int32_t operation;
	uint32_t phase;
	void *payload;
};

int rocprofiler_create_context(uint64_t *context);
int rocprofiler_start_context(uint64_t context);
int rocprofiler_configure_callback_tracing_service(
    uint64_t context, int kind, const int32_t *operations, size_t count,
    void (*callback)(struct record, uint64_t *, void *), void *data);

int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
			      void (*callback)(uint64_t, uint64_t, void **, size_t, void *,
					       uint64_t),
			      void *data, uint64_t *buffer);
int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
						 const int32_t *operations, size_t count,
						 uint64_t buffer);
int rocprofiler_flush_buffer(uint64_t buffer);

static _Atomic int calls;
static _Atomic size_t records;
static uint64_t buffer;

static void on_call(struct record record, uint64_t *word, void *data)
{
	(void)word, (void)data;
	calls += record.phase == 1;
}

static void on_records(uint64_t context, uint64_t of, void **headers, size_t count, void *data,
		       uint64_t dropped)
{
	(void)context, (void)of, (void)headers, (void)data, (void)dropped;
	records += count;
}

static int initialize(void (*finalizer)(void), void *data)
{
	uint64_t context = 0;
	(void)finalizer, (void)data;
	return rocprofiler_create_context(&context) ||
	       rocprofiler_create_buffer(context, 4 << 20, 2 << 20, 2, on_records, NULL, &buffer) ||
	       rocprofiler_configure_buffer_tracing_service(context, 11, NULL, 0, buffer) ||
	       rocprofiler_configure_buffer_tracing_service(context, 10, NULL, 0, buffer) ||
	       rocprofiler_configure_callback_tracing_service(context, 5, NULL, 0, on_call, NULL) ||
	       rocprofiler_start_context(context);
}

static void finalize(void *data)
{
	(void)data;
	rocprofiler_flush_buffer(buffer);
	printf("the tool has heard %d calls and got %zu records\n", calls, records);
}

struct tool {
	size_t size;
	int (*initialize)(void (*)(void), void *);
	void (*finalize)(void *);
	void *data;
};

struct tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
				   void *client);
struct tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
				   void *client)
{
	static struct tool tool = {sizeof(tool), initialize, finalize, NULL};
	(void)version, (void)text, (void)priority, (void)client;
	return &tool;
}

#ifdef FORCED
int rocprofiler_force_configure(struct tool *(*configure)(uint32_t, const char *, uint32_t,
							  void *));

__attribute__((constructor)) static void force(void)
{
	rocprofiler_force_configure(rocprofiler_configure);
}
#endif
