/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's binary interface for samples of program counters, as far as the adapter uses it; see cupti.h. Here lengths matter: a
 * structure tells its own, and a library refuses one that is longer than its release has it. So those declared here are of the
 * oldest release, and a longer one is used where the release has it. tests/fake/cupti/layout.c compares them with six releases.
 */
#pragma once

#include "cupti.h"

/* The first also where the device's buffer of samples is full. */
enum { SN_CUPTI_ERROR_OUT_OF_MEMORY = 8, SN_CUPTI_ERROR_NOT_SUPPORTED = 27 };

enum sn_cupti_sampling_mode { SN_CUPTI_CONTINUOUS = 1, SN_CUPTI_SERIALIZED = 2 };

/* The first release (by cuptiGetVersion) whose samples tell the launch. */
#define SN_CUPTI_VERSION_12_4 22u

struct sn_cupti_reason {
	uint32_t index, samples;
};

struct sn_cupti_pc {
	size_t bytes;
	uint64_t crc;	   /* of the cubin */
	uint64_t pc;	   /* from the begin of the function's section */
	uint32_t function; /* its symbol in the cubin */
	uint32_t pad;
	char *name;	     /* the function's, mangled; CUPTI's */
	size_t reason_count; /* found; room for how many */
	struct sn_cupti_reason *reasons;
	uint32_t correlation; /* from 12.4; 0: not known */
};
#define SN_CUPTI_PC_FIRST_BYTES offsetof(struct sn_cupti_pc, correlation)

struct sn_cupti_samples {
	size_t bytes;
	size_t most_pcs; /* room for how many */
	uint64_t total, dropped;
	size_t pc_count, left_count; /* in it; that did not fit */
	uint64_t range;
	struct sn_cupti_pc *pcs;
	uint64_t hidden; /* in kernels of which no places are told: NVIDIA's own */
};

/* What each function is given begins so: its length, nothing, and the context. */
struct sn_cupti_sampling {
	size_t bytes;
	void *nothing;
	void *context;
};

struct sn_cupti_sampling_read {
	struct sn_cupti_sampling of;
	struct sn_cupti_samples *samples;
};

struct sn_cupti_reason_count {
	struct sn_cupti_sampling of;
	size_t *count;
};

#define SN_CUPTI_REASON_NAME_BYTES 128u

struct sn_cupti_reason_names {
	struct sn_cupti_sampling of;
	size_t count;
	uint32_t *indices;
	char **names; /* each of SN_CUPTI_REASON_NAME_BYTES */
};

enum sn_cupti_sampling_key {
	SN_CUPTI_SAMPLING_PERIOD = 1, /* the logarithm of so many cycles, from 5 to 31 */
	SN_CUPTI_SAMPLING_REASONS = 2,
	SN_CUPTI_SAMPLING_MODE = 5,
	SN_CUPTI_SAMPLING_CONTROL = 6, /* 1: from Start to Stop alone */
	SN_CUPTI_SAMPLING_BUFFER = 8,  /* for what comes when a module goes, or sampling ends */
};

struct sn_cupti_sampling_setting {
	uint32_t key;
	sn_cupti_result status;
	union {
		uint64_t words[3];
		uint32_t number;
		struct {
			size_t count;
			uint32_t *indices;
		} reasons;
		struct sn_cupti_samples *buffer;
	};
};

struct sn_cupti_sampling_settings {
	struct sn_cupti_sampling of;
	size_t count;
	struct sn_cupti_sampling_setting *settings;
};

struct sn_cupti_crc {
	size_t bytes;
	size_t cubin_bytes;
	const void *cubin;
	uint64_t crc;
};

/* Of a callback about a module, in sn_cupti_resource_data.descriptor. */
struct sn_cupti_module {
	uint32_t number;
	size_t bytes;
	const void *cubin; /* while the callback runs */
};

enum sn_cupti_sampling_resource {
	SN_CUPTI_CONTEXT_CREATED = 1,
	SN_CUPTI_CONTEXT_DESTROY_STARTING = 2,
	SN_CUPTI_MODULE_LOADED = 6,
	SN_CUPTI_MODULE_UNLOAD_STARTING = 7,
};

/* Functions by the names under which libcupti.so exports them. */
#define SN_CUPTI_SAMPLING_FUNCTIONS(X)                                                             \
	X(cuptiGetVersion, (uint32_t * version))                                                   \
	X(cuptiGetCubinCrc, (struct sn_cupti_crc * parameters))                                    \
	X(cuptiPCSamplingEnable, (struct sn_cupti_sampling * parameters))                          \
	X(cuptiPCSamplingDisable, (struct sn_cupti_sampling * parameters))                         \
	X(cuptiPCSamplingGetData, (struct sn_cupti_sampling_read * parameters))                    \
	X(cuptiPCSamplingGetNumStallReasons, (struct sn_cupti_reason_count * parameters))          \
	X(cuptiPCSamplingGetStallReasons, (struct sn_cupti_reason_names * parameters))             \
	X(cuptiPCSamplingSetConfigurationAttribute,                                                \
	  (struct sn_cupti_sampling_settings * parameters))

/* Those for ranges. */
#define SN_CUPTI_SAMPLING_RANGE_FUNCTIONS(X)                                                       \
	X(cuptiPCSamplingStart, (struct sn_cupti_sampling * parameters))                           \
	X(cuptiPCSamplingStop, (struct sn_cupti_sampling * parameters))
