/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's binary interface for hardware counters, as far as the adapter uses it: the host half (cuptiProfilerHost*), which knows a chip's
 * metrics, and the range profiler, which collects them on the device. See cupti.h. Each function has one parameter, a structure that
 * tells its own length to the end of its last field; a library refuses one that is longer than its release has it. So those declared
 * here are of the oldest release that has them (12.6). tests/fake/cupti/layout_counters.c compares them with the headers.
 */
#pragma once

#include "cupti.h"

#define SN_CUPTI_ERROR_INVALID_METRIC_NAME 17

/* To the end of the last field. */
#define SN_CUPTI_LENGTH(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* What each begins with; all of cuptiProfilerInitialize's. */
struct sn_cupti_sized {
	size_t bytes;
	void *nothing;
};

/* What those begin with that want an object of CUPTI's: of the host half, a range profiler or a sampler; and all of those that want
 * nothing else. */
struct sn_cupti_of {
	struct sn_cupti_sized of;
	void *object;
};
#define SN_CUPTI_OF(type, last, what)                                                              \
	{                                                                                          \
		{SN_CUPTI_LENGTH(type, last), NULL}, what                                          \
	}

struct sn_cupti_chip {
	struct sn_cupti_sized of;
	size_t device; /* its index */
	const char *name;
};

/* ---- the host half ---- */

enum sn_cupti_profiler_type { SN_CUPTI_RANGE_PROFILER = 0, SN_CUPTI_PM_SAMPLING = 1 };
enum sn_cupti_metric_type { SN_CUPTI_METRIC_COUNTER = 0 };

struct sn_cupti_host {
	struct sn_cupti_sized of;
	uint32_t type; /* enum sn_cupti_profiler_type */
	const char *chip;
	const uint8_t *availability; /* NULL: all counters of the chip */
	void *host;		     /* it makes */
};

struct sn_cupti_metric {
	struct sn_cupti_of of;
	const char *name;
	const char *description, *hardware, *unit;
	uint32_t type; /* enum sn_cupti_metric_type */
};

struct sn_cupti_add_metrics {
	struct sn_cupti_of of;
	const char **names;
	size_t count;
};

struct sn_cupti_image_size {
	struct sn_cupti_of of;
	size_t image_bytes;
};

struct sn_cupti_image {
	struct sn_cupti_of of;
	size_t image_bytes;
	uint8_t *image;
};

struct sn_cupti_passes {
	struct sn_cupti_sized of;
	size_t image_bytes;
	uint8_t *image;
	size_t passes;
};

struct sn_cupti_evaluation {
	struct sn_cupti_of of;
	const uint8_t *data;
	size_t data_bytes;
	size_t range;
	const char **names;
	size_t count;
	double *values;
};

/* ---- the range profiler ---- */

enum sn_cupti_range_mode { SN_CUPTI_USER_RANGE = 2 };
enum sn_cupti_replay_mode { SN_CUPTI_USER_REPLAY = 3 };

struct sn_cupti_range_enable {
	struct sn_cupti_sized of;
	void *context;
	void *profiler; /* it makes */
};

struct sn_cupti_data_size {
	struct sn_cupti_of of;
	const char **names;
	size_t count;
	size_t most_ranges;
	uint32_t most_nodes;
	size_t data_bytes;
};

struct sn_cupti_data_begin {
	struct sn_cupti_of of;
	size_t data_bytes;
	uint8_t *data;
};

struct sn_cupti_range_config {
	struct sn_cupti_of of;
	size_t image_bytes;
	const uint8_t *image;
	size_t data_bytes;
	uint8_t *data;
	uint32_t range, replay;
	size_t most_ranges;
	uint16_t levels, least_level;
	size_t pass;
	uint16_t level;
};

struct sn_cupti_range_push {
	struct sn_cupti_of of;
	const char *name;
};

struct sn_cupti_range_stop {
	struct sn_cupti_of of;
	size_t pass, level;
	uint8_t is_all; /* no pass is missing */
};

struct sn_cupti_range_decode {
	struct sn_cupti_of of;
	size_t dropped;
};

struct sn_cupti_range_count {
	struct sn_cupti_sized of;
	const uint8_t *data;
	size_t data_bytes;
	size_t count;
};

struct sn_cupti_range_name {
	struct sn_cupti_sized of;
	const uint8_t *data;
	size_t data_bytes;
	size_t range;
	const char *delimiter;
	const char *name;
};

/* Functions by the names under which libcupti.so exports them. */
#define SN_CUPTI_COUNTER_FUNCTIONS(X)                                                              \
	X(cuptiGetDeviceId, (void *context, uint32_t *device))                                     \
	X(cuptiProfilerInitialize, (struct sn_cupti_sized * parameters))                           \
	X(cuptiDeviceGetChipName, (struct sn_cupti_chip * parameters))                             \
	X(cuptiProfilerHostInitialize, (struct sn_cupti_host * parameters))                        \
	X(cuptiProfilerHostDeinitialize, (struct sn_cupti_of * parameters))                        \
	X(cuptiProfilerHostGetMetricProperties, (struct sn_cupti_metric * parameters))             \
	X(cuptiProfilerHostConfigAddMetrics, (struct sn_cupti_add_metrics * parameters))           \
	X(cuptiProfilerHostGetConfigImageSize, (struct sn_cupti_image_size * parameters))          \
	X(cuptiProfilerHostGetConfigImage, (struct sn_cupti_image * parameters))                   \
	X(cuptiProfilerHostGetNumOfPasses, (struct sn_cupti_passes * parameters))                  \
	X(cuptiProfilerHostEvaluateToGpuValues, (struct sn_cupti_evaluation * parameters))         \
	X(cuptiRangeProfilerEnable, (struct sn_cupti_range_enable * parameters))                   \
	X(cuptiRangeProfilerDisable, (struct sn_cupti_of * parameters))                            \
	X(cuptiRangeProfilerGetCounterDataSize, (struct sn_cupti_data_size * parameters))          \
	X(cuptiRangeProfilerCounterDataImageInitialize, (struct sn_cupti_data_begin * parameters)) \
	X(cuptiRangeProfilerSetConfig, (struct sn_cupti_range_config * parameters))                \
	X(cuptiRangeProfilerStart, (struct sn_cupti_of * parameters))                              \
	X(cuptiRangeProfilerPushRange, (struct sn_cupti_range_push * parameters))                  \
	X(cuptiRangeProfilerPopRange, (struct sn_cupti_of * parameters))                           \
	X(cuptiRangeProfilerStop, (struct sn_cupti_range_stop * parameters))                       \
	X(cuptiRangeProfilerDecodeData, (struct sn_cupti_range_decode * parameters))               \
	X(cuptiRangeProfilerGetCounterDataInfo, (struct sn_cupti_range_count * parameters))        \
	X(cuptiRangeProfilerCounterDataGetRangeInfo, (struct sn_cupti_range_name * parameters))
