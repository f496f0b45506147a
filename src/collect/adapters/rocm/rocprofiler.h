/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface of rocprofiler-sdk 1, as far as the adapter uses it. Declared here, so that nothing of AMD's is needed to
 * build; tests/fake/rocm/layout.cc compares it with the headers where they are installed. Records begin with their size, and
 * grow at their end: a record may be longer than declared here, and is not read where it is shorter.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SN_ROCPROFILER_MAJOR 1u

typedef int sn_rocprofiler_status; /* 0: success */

enum {
	SN_ROCPROFILER_CALLBACK_HIP = 5,
	SN_ROCPROFILER_CALLBACK_CODE_OBJECT = 10,
	SN_ROCPROFILER_CALLBACK_STREAM = 20
};
enum {
	SN_ROCPROFILER_STREAM_SET = 3
}; /* an operation of streams: a call that has one begins and ends */
enum { SN_ROCPROFILER_BUFFER_COPY = 10, SN_ROCPROFILER_BUFFER_KERNEL = 11 };
enum { SN_ROCPROFILER_CATEGORY_TRACING = 1 };
enum { SN_ROCPROFILER_ENTER = 1, SN_ROCPROFILER_EXIT = 2 };
enum { SN_ROCPROFILER_KERNEL_SYMBOL = 2 }; /* an operation of code objects */
enum { SN_ROCPROFILER_BLOCKS = 2 };	   /* a buffer that is full: its writer waits */
enum { SN_ROCPROFILER_AGENT_VERSION = 1, SN_ROCPROFILER_AGENT_GPU = 2 };
enum { SN_ROCPROFILER_COUNTER_VERSION = 1 }; /* of a counter's information */

/* Passed by value. */
struct sn_rocprofiler_call {
	uint64_t context, thread;
	uint64_t correlation, external, ancestor;
	uint32_t kind;
	int32_t operation;
	uint32_t phase;
	const void *payload;
};

/* What a call of HIP has as its payload; of functions' arguments each takes a word, but for those of kernel launches. At its end stands
 * what the function returned, once it has. */
struct sn_rocprofiler_arguments {
	uint64_t size;
	uint64_t words[4];
};
#define SN_ROCPROFILER_RESULT_BYTES 24u

/* Of a call that has ended: not 0 where that is not told. AS-safe: yes. MT: yes. */
static inline int sn_rocprofiler_result(const struct sn_rocprofiler_arguments *arguments)
{
	return arguments->size < sizeof(*arguments) + SN_ROCPROFILER_RESULT_BYTES
		   ? -1
		   : *(const int *)((const char *)arguments + arguments->size -
				    SN_ROCPROFILER_RESULT_BYTES);
}

/* What a function of memory.def does with its arguments. */
enum sn_rocprofiler_memory {
	SN_ROCPROFILER_NO_MEMORY,
	SN_ROCPROFILER_ALLOCATES,      /* where the address goes, bytes */
	SN_ROCPROFILER_ALLOCATES_ROWS, /* where the address goes, where the pitch does, width, height */
	SN_ROCPROFILER_ALLOCATES_PLANES, /* where address and pitch go, width, height, depth */
	SN_ROCPROFILER_FREES		 /* the address */
};

struct sn_rocprofiler_stream {
	uint64_t size, stream; /* 0: the default one */
	uintptr_t handle;
};

struct sn_rocprofiler_symbol {
	uint64_t size, kernel, code_object;
	const char *name; /* mangled, with ".kd" at its end */
};

struct sn_rocprofiler_header {
	uint32_t category, kind;
	void *record;
};

struct sn_rocprofiler_kernel {
	uint64_t size;
	uint32_t kind, operation;
	uint64_t correlation, external;
	uint64_t thread, start, end;
	uint64_t info_size, agent, queue, kernel, dispatch;
	uint32_t private_bytes, group_bytes;
	uint32_t workgroup[3], grid[3];
};

struct sn_rocprofiler_copy {
	uint64_t size;
	uint32_t kind, direction;
	uint64_t correlation, external;
	uint64_t thread, start, end;
	uint64_t to_agent, from_agent;
	uint64_t bytes;
};

/* Of a counter; it does not tell its size. */
struct sn_rocprofiler_counter_info {
	uint64_t counter;
	const char *name, *description, *block;
	const char *expression; /* of one that is computed from others */
	uint8_t flags;
};

/* A kernel that is counted. Passed by value. */
struct sn_rocprofiler_dispatch {
	uint64_t size, correlation, external, start, end;
	uint64_t info_size, agent, queue, kernel, dispatch;
};

/* What one instance of a counter counted in it. An array has them, and they do not tell their size. */
struct sn_rocprofiler_counted {
	uint64_t instance;
	double value;
	uint64_t dispatch, word, agent;
};

struct sn_rocprofiler_agent {
	uint64_t size, id;
	uint32_t type;
};

typedef void (*sn_rocprofiler_on_call)(struct sn_rocprofiler_call call, uint64_t *word, void *data);
typedef void (*sn_rocprofiler_on_records)(uint64_t context, uint64_t buffer,
					  struct sn_rocprofiler_header **headers, size_t count,
					  void *data, uint64_t dropped);
typedef int (*sn_rocprofiler_on_operation)(int kind, int32_t operation, void *data);
typedef sn_rocprofiler_status (*sn_rocprofiler_on_agents)(int version, const void **agents,
							  size_t count, void *data);

typedef sn_rocprofiler_status (*sn_rocprofiler_on_counters)(uint64_t agent,
							    const uint64_t *counters, size_t count,
							    void *data);
typedef void (*sn_rocprofiler_on_dispatch)(struct sn_rocprofiler_dispatch dispatch,
					   uint64_t *config, uint64_t *word, void *data);
typedef void (*sn_rocprofiler_on_counted)(struct sn_rocprofiler_dispatch dispatch,
					  const struct sn_rocprofiler_counted *records,
					  size_t count, uint64_t word, void *data);

/* What a tool returns to be initialised. */
struct sn_rocprofiler_tool {
	size_t size;
	int (*initialize)(void (*finalizer)(void), void *data);
	void (*finalize)(void *data);
	void *data;
};

struct sn_rocprofiler_client {
	const char *name; /* set by the tool */
	uint32_t handle;
};

/* Functions by the names under which librocprofiler-sdk.so exports them. */
#define SN_ROCPROFILER_FUNCTIONS(X)                                                                \
	X(rocprofiler_create_context, (uint64_t * context))                                        \
	X(rocprofiler_start_context, (uint64_t context))                                           \
	X(rocprofiler_stop_context, (uint64_t context))                                            \
	X(rocprofiler_create_buffer,                                                               \
	  (uint64_t context, size_t size, size_t watermark, int policy,                            \
	   sn_rocprofiler_on_records callback, void *data, uint64_t *buffer))                      \
	X(rocprofiler_flush_buffer, (uint64_t buffer))                                             \
	X(rocprofiler_configure_callback_tracing_service,                                          \
	  (uint64_t context, int kind, const int32_t *operations, size_t count,                    \
	   sn_rocprofiler_on_call callback, void *data))                                           \
	X(rocprofiler_configure_buffer_tracing_service,                                            \
	  (uint64_t context, int kind, const int32_t *operations, size_t count, uint64_t buffer))  \
	X(rocprofiler_iterate_callback_tracing_kind_operations,                                    \
	  (int kind, sn_rocprofiler_on_operation callback, void *data))                            \
	X(rocprofiler_query_callback_tracing_kind_operation_name,                                  \
	  (int kind, int32_t operation, const char **name, uint64_t *length))                      \
	X(rocprofiler_query_available_agents,                                                      \
	  (int version, sn_rocprofiler_on_agents callback, size_t agent_size, void *data))         \
	X(rocprofiler_get_timestamp, (uint64_t * now))

/* Those that counting needs beside. */
#define SN_ROCPROFILER_COUNTING_FUNCTIONS(X)                                                       \
	X(sn_rocprofiler_status, rocprofiler_iterate_agent_supported_counters,                     \
	  (uint64_t agent, sn_rocprofiler_on_counters callback, void *data))                       \
	X(sn_rocprofiler_status, rocprofiler_query_counter_info,                                   \
	  (uint64_t counter, int version, void *info))                                             \
	X(sn_rocprofiler_status, rocprofiler_create_counter_config,                                \
	  (uint64_t agent, uint64_t * counters, size_t count, uint64_t * config))                  \
	X(sn_rocprofiler_status, rocprofiler_configure_callback_dispatch_counting_service,         \
	  (uint64_t context, sn_rocprofiler_on_dispatch dispatch, void *dispatch_data,             \
	   sn_rocprofiler_on_counted counted, void *counted_data))                                 \
	X(sn_rocprofiler_status, rocprofiler_query_record_counter_id,                              \
	  (uint64_t instance, uint64_t * counter))                                                 \
	X(const char *, rocprofiler_get_status_string, (sn_rocprofiler_status error))
