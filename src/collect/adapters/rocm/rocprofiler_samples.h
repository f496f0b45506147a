/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface of rocprofiler-sdk 1 for samples of program counters, and for the code that they lie in, as far as the adapter uses
 * it; see rocprofiler.h. AMD calls it experimental: a library that lacks a function is not asked.
 */
#pragma once

#include "rocprofiler.h"

enum { SN_ROCPROFILER_STOCHASTIC = 1, SN_ROCPROFILER_HOST_TRAP = 2 };
enum { SN_ROCPROFILER_INSTRUCTIONS = 1, SN_ROCPROFILER_CYCLES = 2, SN_ROCPROFILER_TIME = 3 };
enum { SN_ROCPROFILER_POWERS_OF_2 = 1 }; /* a flag: the interval must be one */
enum { SN_ROCPROFILER_CATEGORY_SAMPLES = 2 };
enum {
	SN_ROCPROFILER_SAMPLE_INVALID = 1,
	SN_ROCPROFILER_SAMPLE_HOST_TRAP = 2,
	SN_ROCPROFILER_SAMPLE_STOCHASTIC = 3
};
enum { SN_ROCPROFILER_CALLBACK_DISPATCH = 12, SN_ROCPROFILER_DISPATCH_ENQUEUE = 1 };
enum { SN_ROCPROFILER_CODE_OBJECT_LOAD = 1 }; /* an operation of code objects */
enum { SN_ROCPROFILER_IN_FILE = 1, SN_ROCPROFILER_IN_MEMORY = 2 };
enum {
	SN_ROCPROFILER_ERROR = 1,
	SN_ROCPROFILER_ERROR_NOT_IMPLEMENTED = 17,
	SN_ROCPROFILER_ERROR_OLD_DRIVER = 28,
	SN_ROCPROFILER_ERROR_NOT_AVAILABLE = 37,
	SN_ROCPROFILER_ERROR_PERMISSION = 40
};

/* What a device offers. Intervals are of the unit, times in microseconds. */
struct sn_rocprofiler_offer {
	uint64_t size;
	int32_t method, unit;
	uint64_t least, most, flags;
};

struct sn_rocprofiler_sample {
	uint64_t size, hardware;
	uint64_t code_object, offset; /* from its load_base; code object 0: not known */
	uint64_t mask, time;
	uint64_t dispatch, correlation, external;
	uint32_t workgroup[3], wave;
};

struct sn_rocprofiler_stochastic {
	uint64_t size;
	uint8_t flags, wave;
	uint8_t issued; /* its last bit: whether the wave issued */
	uint64_t hardware;
	uint64_t code_object, offset;
	uint64_t mask;
	uint32_t workgroup[3], wave_count;
	uint64_t time;
	uint64_t dispatch, correlation, external;
	uint32_t snapshot; /* its last 4 bits: why it did not */
	uint32_t counters;
};
#define SN_ROCPROFILER_REASON_MASK 15u

/* What a callback for dispatches has as its payload. */
struct sn_rocprofiler_enqueued {
	uint64_t size, start, end;
	uint64_t info_size, agent, queue, kernel, dispatch;
};

/* What a callback for a code object has. */
struct sn_rocprofiler_code_object {
	uint64_t size, id, agent, hsa_agent;
	const char *uri;
	uint64_t load_base, load_size;
	int64_t load_delta; /* of its addresses in memory to those in the file */
	int32_t storage;
	union {
		int32_t file; /* the program's descriptor */
		struct {
			uint64_t memory_base, memory_size;
		};
	};
};

typedef sn_rocprofiler_status (*sn_rocprofiler_on_offers)(const struct sn_rocprofiler_offer *offers,
							  size_t count, void *data);

#define SN_ROCPROFILER_SAMPLING_FUNCTIONS(X)                                                       \
	X(rocprofiler_query_pc_sampling_agent_configurations,                                      \
	  (uint64_t agent, sn_rocprofiler_on_offers callback, void *data))                         \
	X(rocprofiler_configure_pc_sampling_service,                                               \
	  (uint64_t context, uint64_t agent, int method, int unit, uint64_t interval,              \
	   uint64_t buffer, int flags))
