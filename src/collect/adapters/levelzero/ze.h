/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level Zero's binary interface, as far as the adapter uses it: handles are pointers, and the structures below have kept their
 * layout since version 1.0. tests/fake/levelzero/layout.c compares these declarations with the headers of the release that is
 * installed. Functions are found by name in the loader that the program has loaded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint32_t sn_ze_result;
enum {
	SN_ZE_SUCCESS = 0,
	SN_ZE_NOT_READY = 1,
	SN_ZE_ERROR_UNINITIALIZED = 0x78000001,
};

enum sn_ze_structure {
	SN_ZE_DEVICE_PROPERTIES = 0x3,
	SN_ZE_COMMAND_LIST_DESC = 0xf,
	SN_ZE_EVENT_POOL_DESC = 0x10,
	SN_ZE_EVENT_DESC = 0x11,
	SN_ZE_HOST_MEM_ALLOC_DESC = 0x16,
	SN_ZE_DEVICE_PROPERTIES_1_2 = 0x20006,
	SN_ZEL_TRACER_DESC = 0x1,
};

enum sn_ze_pool_flag {
	SN_ZE_POOL_HOST_VISIBLE = 1,
	SN_ZE_POOL_IPC = 2,
	SN_ZE_POOL_TIMESTAMP = 4,
};

enum { SN_ZE_SCOPE_HOST = 4 };

struct sn_ze_event_pool_desc {
	uint32_t type;
	const void *next;
	uint32_t flags, count;
};

struct sn_ze_event_desc {
	uint32_t type;
	const void *next;
	uint32_t index, signal, wait;
};

struct sn_ze_list_desc {
	uint32_t type;
	const void *next;
	uint32_t ordinal, flags;
};

struct sn_ze_queue_desc {
	uint32_t type;
	const void *next;
	uint32_t ordinal, index, flags, mode, priority;
};

struct sn_ze_host_memory_desc {
	uint32_t type;
	const void *next;
	uint32_t flags;
};

struct sn_ze_region {
	uint32_t x, y, z, width, height, depth; /* depth 0: one slice */
};

struct sn_ze_timestamps {
	uint64_t start, end, context_start, context_end;
};

struct sn_ze_device_properties {
	uint32_t type;
	void *next;
	uint32_t kind, vendor, number, flags, subdevice, clock_rate;
	uint64_t most_memory;
	uint32_t contexts, priorities, threads, width, units, subslices, slices;
	uint64_t timer_resolution; /* nanoseconds; of version 1.2, ticks in a second */
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};

/* ---- the tracing layer ---- */

struct sn_zel_tracer_desc {
	uint32_t type;
	const void *next;
	void *data;
};

enum { SN_ZEL_PROLOGUE = 0, SN_ZEL_EPILOGUE = 1 };

/* `parameters` has a pointer to each parameter of the function, which a prologue may change. */
typedef void (*sn_zel_callback)(void **parameters, sn_ze_result result, void *data, void **call);
typedef sn_ze_result (*sn_zel_register)(void *tracer, uint32_t when, sn_zel_callback callback);

enum { SN_ZE_VERSION_1_0 = 0x10000 };

/* What the layer itself has for the loader (zelGetTracerApiProcAddrTable). */
struct sn_zel_tracers {
	sn_ze_result (*create)(const struct sn_zel_tracer_desc *desc, void **tracer);
	sn_ze_result (*destroy)(void *tracer);
	sn_ze_result (*set_prologues)(void *tracer, void *callbacks);
	sn_ze_result (*set_epilogues)(void *tracer, void *callbacks);
	sn_ze_result (*set_enabled)(void *tracer, uint8_t enable);
	void *more[16]; /* of later versions */
};

/* Functions by the names under which the loader exports them. */
#define SN_ZE_FUNCTIONS(X)                                                                         \
	X(zelTracerCreate, (const struct sn_zel_tracer_desc *desc, void **tracer))                 \
	X(zelTracerSetEnabled, (void *tracer, uint8_t enable))                                     \
	X(zeKernelGetName, (void *kernel, size_t *size, char *name))                               \
	X(zeDeviceGetProperties, (void *device, struct sn_ze_device_properties *properties))       \
	X(zeDeviceGetGlobalTimestamps, (void *device, uint64_t *host, uint64_t *ticks))            \
	X(zeEventPoolCreate, (void *context, const struct sn_ze_event_pool_desc *desc,             \
			      uint32_t device_count, void **devices, void **pool))                 \
	X(zeEventPoolDestroy, (void *pool))                                                        \
	X(zeEventCreate, (void *pool, const struct sn_ze_event_desc *desc, void **event))          \
	X(zeEventDestroy, (void *event))                                                           \
	X(zeEventQueryStatus, (void *event))                                                       \
	X(zeEventHostReset, (void *event))                                                         \
	X(zeEventQueryKernelTimestamp, (void *event, struct sn_ze_timestamps *timestamps))         \
	X(zeCommandListCreate,                                                                     \
	  (void *context, void *device, const struct sn_ze_list_desc *desc, void **list))          \
	X(zeCommandListDestroy, (void *list))                                                      \
	X(zeCommandListClose, (void *list))                                                        \
	X(zeCommandListAppendBarrier,                                                              \
	  (void *list, void *signal, uint32_t wait_count, void **waits))                           \
	X(zeCommandListAppendQueryKernelTimestamps,                                                \
	  (void *list, uint32_t count, void **events, void *to, const size_t *offsets,             \
	   void *signal, uint32_t wait_count, void **waits))                                       \
	X(zeCommandListAppendEventReset, (void *list, void *event))                                \
	X(zeCommandListAppendSignalEvent, (void *list, void *event))                               \
	X(zeCommandQueueExecuteCommandLists,                                                       \
	  (void *queue, uint32_t count, void **lists, void *fence))                                \
	X(zeMemAllocHost, (void *context, const struct sn_ze_host_memory_desc *desc, size_t bytes, \
			   size_t alignment, void **memory))                                       \
	X(zeMemFree, (void *context, void *memory))
