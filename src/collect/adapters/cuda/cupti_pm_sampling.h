/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's binary interface for sampling a device's counters over time (PM sampling), as far as the adapter uses it, as
 * cupti_counters.h has it: structures are those of 12.6. tests/fake/cupti/layout_pm_sampling.c compares them with the headers.
 */
#pragma once

#include "cupti_counters.h"

/* What the interval counts: cycles of the clock of the chip's front end, or nanoseconds, which Turing and GA100 cannot. */
enum sn_cupti_trigger { SN_CUPTI_TRIGGER_CYCLES = 0, SN_CUPTI_TRIGGER_TIME = 1 };
/* Why decoding ended: there was no more room, or nothing more. */
enum sn_cupti_decode_end { SN_CUPTI_DECODE_FULL = 1, SN_CUPTI_DECODE_ALL = 2 };

struct sn_cupti_pm_enable {
	struct sn_cupti_sized of;
	size_t device; /* its index */
	void *sampler; /* it makes */
};

struct sn_cupti_pm_config {
	struct sn_cupti_of of;
	size_t image_bytes;
	const uint8_t *image;
	size_t buffer_bytes;
	uint64_t interval;
	uint32_t trigger; /* enum sn_cupti_trigger */
};

struct sn_cupti_pm_data_size {
	struct sn_cupti_of of;
	const char **names;
	size_t count;
	uint32_t most_samples;
	size_t data_bytes;
};

struct sn_cupti_pm_decode {
	struct sn_cupti_of of;
	uint8_t *data;
	size_t data_bytes;
	uint32_t end;	     /* enum sn_cupti_decode_end */
	uint8_t is_overflow; /* the buffer was full */
};

struct sn_cupti_pm_count {
	struct sn_cupti_sized of;
	const uint8_t *data;
	size_t data_bytes;
	size_t room, begun, count; /* samples: that fit, that have a value, that are complete */
};

struct sn_cupti_pm_sample {
	struct sn_cupti_of of;
	const uint8_t *data;
	size_t data_bytes;
	size_t sample;
	uint64_t start_ns, end_ns; /* by the device's clock */
};

/* Functions by the names under which libcupti.so exports them. */
#define SN_CUPTI_PM_FUNCTIONS(X)                                                                   \
	X(cuptiPmSamplingEnable, (struct sn_cupti_pm_enable * parameters))                         \
	X(cuptiPmSamplingDisable, (struct sn_cupti_of * parameters))                               \
	X(cuptiPmSamplingSetConfig, (struct sn_cupti_pm_config * parameters))                      \
	X(cuptiPmSamplingStart, (struct sn_cupti_of * parameters))                                 \
	X(cuptiPmSamplingStop, (struct sn_cupti_of * parameters))                                  \
	X(cuptiPmSamplingGetCounterDataSize, (struct sn_cupti_pm_data_size * parameters))          \
	X(cuptiPmSamplingCounterDataImageInitialize, (struct sn_cupti_data_begin * parameters))    \
	X(cuptiPmSamplingDecodeData, (struct sn_cupti_pm_decode * parameters))                     \
	X(cuptiPmSamplingGetCounterDataInfo, (struct sn_cupti_pm_count * parameters))              \
	X(cuptiPmSamplingCounterDataGetSampleInfo, (struct sn_cupti_pm_sample * parameters))
