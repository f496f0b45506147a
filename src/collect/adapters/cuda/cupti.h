/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's binary interface, as far as the adapter uses it. NVIDIA's headers may not be shipped, and are not needed: fields of
 * records have kept their places in all releases from 11.8 to 13.5, and new ones are added at the end. tests/fake/cupti/layout.c
 * compares these declarations with the headers of the release that is installed. So a record may be longer than declared here, and is stepped over by
 * CUPTI itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int sn_cupti_result;
enum {
	SN_CUPTI_SUCCESS = 0,
	SN_CUPTI_ERROR_END = 12, /* of a buffer */
	SN_CUPTI_ERROR_NOT_INITIALIZED = 15,
	SN_CUPTI_ERROR_HARDWARE_BUSY = 26,
	SN_CUPTI_ERROR_VIRTUAL_DEVICE = 33,
	SN_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	SN_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS = 39,
	SN_CUPTI_ERROR_CONFIDENTIAL_COMPUTING = 41,
	SN_CUPTI_ERROR_MIG_DEVICE = 43,
};

enum sn_cupti_kind {
	SN_CUPTI_MEMCPY = 1,
	SN_CUPTI_MEMSET = 2,
	SN_CUPTI_KERNEL = 3,
	SN_CUPTI_DEVICE = 8,
	SN_CUPTI_CONCURRENT_KERNEL = 10,
	SN_CUPTI_OVERHEAD = 17,
	SN_CUPTI_PEER_MEMCPY = 22,
	SN_CUPTI_MANAGED = 25,
	SN_CUPTI_SYNCHRONIZATION = 38,
	SN_CUPTI_MEMORY2 = 49,
	SN_CUPTI_GRAPH_TRACE = 51,
};

/* Attributes of records, which are set for all subscribers. */
enum { SN_CUPTI_HARDWARE_TIMES = 13 };

/* Of kinds 3 and 10. */
struct sn_cupti_kernel {
	uint32_t kind;
	uint8_t cache;
	uint8_t shared_config;
	uint16_t registers;
	uint32_t cache_requested, cache_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name; /* mangled; the module's */
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout[3];
	uint32_t shared_executed;
	uint64_t graph_node;
	uint32_t shared_limit;
	uint32_t graph;
};

struct sn_cupti_memcpy {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

/* Between devices. */
struct sn_cupti_peer_memcpy {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t from_device, from_context, to_device, to_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct sn_cupti_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct sn_cupti_graph_trace {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
};

/* Fields with a comment are of a multiprocessor. */
struct sn_cupti_device {
	uint32_t kind, flags;
	uint64_t bandwidth, memory_bytes;
	uint32_t constant_bytes, cache_bytes;
	uint32_t threads_per_warp, clock_rate, copy_engines, multiprocessors, most_ipc;
	uint32_t warps, blocks, shared_bytes, registers; /* most */
	uint32_t block_registers, block_shared_bytes, block_threads, block_size[3], grid_size[3];
	uint32_t capability_major, capability_minor, id;
};

enum sn_cupti_wait {
	SN_CUPTI_WAIT_EVENT = 1,
	SN_CUPTI_WAIT_STREAM_EVENT, /* a stream's, not the host's */
	SN_CUPTI_WAIT_STREAM,
	SN_CUPTI_WAIT_CONTEXT,
};

struct sn_cupti_synchronization {
	uint32_t kind, type; /* enum sn_cupti_wait */
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
};

/* What takes the host's time and is nobody's work. */
enum sn_cupti_overhead_of {
	SN_CUPTI_OVERHEAD_COMPILER = 1,
	SN_CUPTI_OVERHEAD_FLUSH = 1 << 16,
	SN_CUPTI_OVERHEAD_INSTRUMENTATION = 2 << 16,
	SN_CUPTI_OVERHEAD_RESOURCE = 3 << 16,
	SN_CUPTI_OVERHEAD_MODULE = 4 << 16,
	SN_CUPTI_OVERHEAD_FUNCTION = 5 << 16,
	SN_CUPTI_OVERHEAD_COMMANDS = 6 << 16,
	SN_CUPTI_OVERHEAD_REQUEST = 7 << 16,
	SN_CUPTI_OVERHEAD_MANAGED = 8 << 16,
};

/* Releases before 12.4 end before `correlation`. `details` is NULL or the reader's, from malloc. */
struct sn_cupti_overhead {
	uint32_t kind, of; /* enum sn_cupti_overhead_of */
	uint32_t object_kind, object[3];
	uint64_t start, end;
	uint32_t correlation, reserved;
	void *details;
};

enum { SN_CUPTI_MEMORY_ALLOCATED = 1, SN_CUPTI_MEMORY_RELEASED = 2 };
/* Memory of a device: its own, arrays in it, and what moves between it and the host. */
enum { SN_CUPTI_MEMORY_DEVICE = 3, SN_CUPTI_MEMORY_ARRAY = 4, SN_CUPTI_MEMORY_MANAGED = 5 };

struct sn_cupti_memory {
	uint32_t kind, operation, memory, correlation;
	uint64_t address, bytes, timestamp, pc;
	uint32_t process, device, context, stream;
};

/* Managed memory moves, or a page of it is not there. */
enum sn_cupti_managed_counter {
	SN_CUPTI_HOST_TO_DEVICE = 1,
	SN_CUPTI_DEVICE_TO_HOST,
	SN_CUPTI_HOST_FAULT,   /* `value`: the address of the instruction; there is no end */
	SN_CUPTI_DEVICE_FAULT, /* `value`: how many groups of faults on the page */
	SN_CUPTI_DEVICE_TO_DEVICE = 8,
};

struct sn_cupti_managed {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t from, to; /* devices */
};

enum { SN_CUPTI_ALL_DEVICES = 2 };

struct sn_cupti_managed_setting {
	uint32_t scope, counter, device, is_enabled;
};

/* ---- callbacks ---- */

enum sn_cupti_domain { SN_CUPTI_DRIVER = 1, SN_CUPTI_RUNTIME = 2, SN_CUPTI_RESOURCE = 3 };

/* Of the domain of resources. */
enum sn_cupti_resource { SN_CUPTI_GRAPH_NODE_CREATED = 13, SN_CUPTI_GRAPH_NODE_CLONED = 20 };

struct sn_cupti_resource_data {
	void *context;
	void *stream;
	const void *descriptor; /* of graphs: struct sn_cupti_graph */
};

struct sn_cupti_graph {
	void *graph, *original_graph;
	void *node, *original_node;
};

struct sn_cupti_call {
	uint32_t site; /* 0 enter, 1 exit */
	const char *name;
	const void *parameters;
	void *result;
	const char *symbol; /* of a launch; mangled */
	void *context;
	uint32_t context_number;
	uint64_t *data; /* a word that CUPTI keeps from enter to exit */
	uint32_t correlation;
};

typedef void (*sn_cupti_callback)(void *data, uint32_t domain, uint32_t cbid, const void *call);
typedef void (*sn_cupti_request)(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void (*sn_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				  size_t valid);

/* Of the second form of subscribing. Releases check the size: 13.0 has the structure without `shares`. */
struct sn_cupti_subscriber {
	size_t bytes;
	const char *name;
	char *holder; /* who else is subscribed */
	size_t holder_bytes;
	uint8_t shares, padding[7];
};
#define SN_CUPTI_SUBSCRIBER_FIRST_BYTES offsetof(struct sn_cupti_subscriber, shares)

typedef void (*sn_cupti_request_v2)(uint8_t **buffer, size_t *size, size_t *most_records,
				    void *information);
typedef void (*sn_cupti_complete_v2)(uint8_t *buffer, size_t size, size_t valid, void *information);

/* Functions by the names under which libcupti.so exports them. */
#define SN_CUPTI_FUNCTIONS(X)                                                                      \
	X(cuptiSubscribe, (void **subscriber, sn_cupti_callback callback, void *data))             \
	X(cuptiUnsubscribe, (void *subscriber))                                                    \
	X(cuptiEnableCallback,                                                                     \
	  (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid))                     \
	X(cuptiGetGraphNodeId, (void *node, uint64_t *id))                                         \
	X(cuptiGetCallbackName, (uint32_t domain, uint32_t cbid, const char **name))               \
	X(cuptiActivityEnable, (uint32_t kind))                                                    \
	X(cuptiActivityDisable, (uint32_t kind))                                                   \
	X(cuptiActivityRegisterCallbacks, (sn_cupti_request request, sn_cupti_complete complete))  \
	X(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record))             \
	X(cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))    \
	X(cuptiActivityFlushAll, (uint32_t flags))                                                 \
	X(cuptiGetTimestamp, (uint64_t * time))

/* Those that not all releases have. Several subscribers can share CUPTI where all of these are there (13.3). */
#define SN_CUPTI_SHARING_FUNCTIONS(X)                                                              \
	X(cuptiSubscribe_v2, (void **subscriber, sn_cupti_callback callback, void *data,           \
			      struct sn_cupti_subscriber *parameters))                             \
	X(cuptiActivityEnable_v2, (void *subscriber, uint32_t kind, void *configuration))          \
	X(cuptiActivityDisable_v2, (void *subscriber, uint32_t kind, void *configuration))         \
	X(cuptiActivityRegisterCallbacks_v2,                                                       \
	  (void *subscriber, sn_cupti_request_v2 request, sn_cupti_complete_v2 complete))          \
	X(cuptiActivityGetNextRecord_v2,                                                           \
	  (void *subscriber, uint8_t *buffer, size_t valid, void **record))                        \
	X(cuptiActivityGetNumDroppedRecords_v2,                                                    \
	  (void *subscriber, void *context, uint32_t stream, size_t *dropped))
