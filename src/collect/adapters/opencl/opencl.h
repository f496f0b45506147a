/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the OpenCL adapter: the layer (layer.c, enqueue.c) that the program's calls pass
 * through, the operations that are not known to have ended (pending.c), records of queues, kernels
 * and devices (object.c), and device clocks (clock.c). docs/design/opencl.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include "collect/core/adapters.h"

#include <CL/cl_layer.h>

/* Headers before 2025 do not declare initialisation with properties. */
#ifndef CL_LAYER_PROPERTIES_LIST_END
typedef cl_properties cl_layer_properties;
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count,
							  const cl_icd_dispatch *target,
							  cl_uint *count_ret,
							  const cl_icd_dispatch **layer,
							  const cl_layer_properties *properties);
CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);
#endif

/* Calls that get a frame and are timed; the names are what reports show. */
enum sn_cl_api {
#define SN_CL_ENQUEUE(name) SN_CL_##name,
#define SN_CL_QUEUE(name)   SN_CL_##name,
#define SN_CL_CALL(name)    SN_CL_##name,
#include "apis.def"
	SN_CL_API_COUNT
};

/* The next functions, passed by the loader. Complete before the first call. */
extern struct _cl_icd_dispatch sn_cl_real;

/* ---- clocks ---- */

#define SN_CL_CORNERS 48

/* A possible line of the offset: its value at origin_ns minus base_ns, and its slope. */
struct sn_cl_corner {
	double offset, slope;
};

/*
 * Host time (CLOCK_MONOTONIC) = device time + an offset, which changes linearly if the clocks
 * drift. Each operation bounds it: the time at which it was queued, on the device's clock, lies
 * between the host's times before and after the call. Constant memory.
 */
struct sn_cl_clock {
	_Atomic int busy; /* the fields up to corners are in use */
	uint64_t origin_ns;
	int64_t base_ns;
	unsigned corner_count; /* 0: no bound is known */
	struct sn_cl_corner corners[SN_CL_CORNERS];
	_Atomic uint64_t error_ns; /* largest error of a time now; UINT64_MAX unknown */
	_Atomic uint64_t worst_ns; /* the same of all converted times */
	_Atomic int64_t offset_ns; /* of the last converted time */
	_Atomic uint32_t drifted;  /* how often the drift changed and the estimate restarted */
};

/* MT: before others know the clock. */
void sn_cl_clock_init(struct sn_cl_clock *clock);
/* One observation: device_ns lay between the two host times. */
void sn_cl_clock_bound(struct sn_cl_clock *clock, uint64_t device_ns, uint64_t before_ns,
		       uint64_t after_ns);
/* The host time of a device time, in the middle of the possible range; the device's time if no
 * bound is known. */
uint64_t sn_cl_clock_host_ns(struct sn_cl_clock *clock, uint64_t device_ns);

/* ---- objects ---- */

struct sn_cl_device {
	cl_device_id id;
	struct sn_cl_clock clock;
	bool has_timer; /* clGetDeviceAndHostTimer may be called */
	char name[64];
};

#define SN_CL_PROPERTY_MAX 32

struct sn_cl_queue {
	struct sn_cl_device *device;
	bool timed; /* operations of this queue have times */
	bool asked; /* the program itself enabled profiling */
	bool has_list;
	_Atomic uint64_t stream; /* of the trace file: its generation << 32, and number */
	uint32_t list_length;	 /* elements of `list`, its end included */
	cl_queue_properties list[SN_CL_PROPERTY_MAX]; /* as the program passed it */
};

/* Records a new queue. NULL without memory. */
struct sn_cl_queue *sn_cl_queue_add(cl_command_queue queue, cl_device_id device);
/* NULL if it is not known. */
struct sn_cl_queue *sn_cl_queue_find(cl_command_queue queue);

/* The name of a kernel's function; stays valid. NULL if it cannot be read. */
const char *sn_cl_kernel_name(cl_kernel kernel);
/* A kernel was created: removes the record of an earlier one with its handle. */
void sn_cl_kernel_forget(cl_kernel kernel);

/* The number of a device, from 0. */
uint32_t sn_cl_device_number(const struct sn_cl_device *device);
/* Device number `index`, NULL beyond the last. */
const struct sn_cl_device *sn_cl_device_at(uint32_t index);

/* ---- operations ---- */

enum sn_cl_kind { SN_CL_KERNEL, SN_CL_COPY, SN_CL_FILL, SN_CL_MAP, SN_CL_KIND_COUNT };

struct sn_cl_operation {
	enum sn_cl_kind kind;
	const char *name;   /* of copies, fills and maps */
	const char *kernel; /* its name */
	uint64_t bytes;
	uint64_t work_items;
	uint64_t work_group; /* items in a group, 0 if the runtime chose */
};

/* A call through the layer. */
struct sn_cl_call {
	struct sn_thread *thread; /* NULL: not measured */
	uint32_t node;		  /* of the call's frame */
	uint32_t depth;		  /* of its shadow frame */
	uint64_t start_ns;
	uint64_t number; /* for listeners (monitor.h); 0 without */
	enum sn_cl_api api;
	cl_event own; /* receives the event if the program passed no pointer */
};

/* Between these two the real function is called, outside the collector's guard. */
void sn_cl_call_enter(struct sn_cl_call *call, enum sn_cl_api api, uintptr_t stack);
#define sn_cl_call_begin(call, api) sn_cl_call_enter(call, api, SN_CALLER_STACK)
void sn_cl_call_end(struct sn_cl_call *call, bool waits);
/* The end of a call that started an operation; takes one reference to `event`. */
void sn_cl_call_end_operation(struct sn_cl_call *call, cl_command_queue queue, cl_event event,
			      const struct sn_cl_operation *operation);

/* Collects the finished operations of the calling thread and of ended threads. */
void sn_cl_collect(void);
/* References that the collector holds on an event. */
cl_uint sn_cl_references(cl_event event);
/* Collects the remaining operations of all threads, with a bounded wait; then calls OpenCL no more.
 * Between sn_enter and sn_leave of `thread`, the calling one. */
void sn_cl_finish(struct sn_thread *thread);
/* A loader initialises the layer, perhaps again after sn_cl_finish. */
void sn_cl_open(void);
/* To be called when the runtime is certainly initialised: arranges for sn_cl_finish at exit. */
void sn_cl_finish_at_exit(void);
void sn_cl_thread_begin(struct sn_thread *thread);
void sn_cl_thread_end(struct sn_thread *thread);
/* MT: the only thread. */
void sn_cl_pending_after_fork(void);

/* ---- the layer ---- */

/* Enter the functions of their file into the table, if the next function exists. MT: once, as the
 * layer is loaded. */
void sn_cl_fill_enqueue(struct _cl_icd_dispatch *table);
void sn_cl_fill_queue(struct _cl_icd_dispatch *table);
void sn_cl_fill_calls(struct _cl_icd_dispatch *table);

#define SN_CL_FILL(name)                                                                           \
	if (sn_cl_real.name)                                                                       \
		table->name = layer_##name;
