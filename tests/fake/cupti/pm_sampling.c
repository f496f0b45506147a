/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PM sampling, of devices that count nothing: the nth sample of a metric is a known value (fake_metric_value). A device's samples are on
 * a grid of time from its first start on; its buffer has room for one in 4 KiB, and when that is full no more come until sampling starts
 * again. FAKE_METRICS_TABLE gets what was sampled: "device metric start value state" with tabs, the start by CLOCK_MONOTONIC, the state
 * read, lost (the buffer was full) or left (nobody asked). Calls in another order than the headers' comments have it, and structures of
 * other lengths, are refused. Disabling ends all of CUPTI, as has been reported.
 */
#include "subscribers.h"

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORD_BYTES 4096
#define FEW	     50u /* samples fit, where metric-full or metric-full-error is planned */
#define DATA	     0x6174616470736d70u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool was_enabled;

static struct sampler {
	bool is_enabled, is_configured, is_started, is_full;
	uint32_t metric_count, chosen[FAKE_METRICS_MOST];
	uint32_t most; /* in the image */
	uint64_t step_ns, room;
	uint64_t origin_ns; /* of the grid; 0: not started yet */
	uint64_t next;	    /* the first sample that is not decoded */
	uint64_t full_at;   /* the first for which there was no room */
	uint64_t stopped_ns;
	const uint8_t *is_initialized;
} samplers[FAKE_MOST_DEVICES];

/* What became of a sample; the numbers of a device's go on. */
static struct fate {
	int device;
	uint64_t number;
	const char *state;
	struct fate *before;
} * fates;

static void tell(const struct sampler *of, uint64_t number, const char *state)
{
	struct fate *fate = malloc(sizeof(*fate));
	*fate = (struct fate){(int)(of - samplers), number, state, fates};
	fates = fate;
}

double fake_metric_value(uint32_t metric, int device, uint64_t number)
{
	return 10.0 * (metric + 1) + device + (double)(number % 7) + 0.375;
}

/* ---- time ---- */

/* Its own: that of the host's calendar, or with metric-clock another. */
static uint64_t device_ns(uint64_t monotonic_ns)
{
	static uint64_t offset_ns;
	struct timespec now;
	if (!offset_ns) {
		clock_gettime(CLOCK_REALTIME, &now);
		offset_ns =
		    (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - fake_now_ns();
	}
	return monotonic_ns + offset_ns + (fake_fails("metric-clock") ? 3600000000000u : 0);
}

/* The samples that are over at a time. */
static uint64_t over_at(const struct sampler *of, uint64_t ns)
{
	return ns > of->origin_ns ? (ns - of->origin_ns) / of->step_ns : 0;
}

/* Those that there have been until now, with or without room. */
static uint64_t all_of(const struct sampler *of)
{
	return over_at(of, of->is_started ? fake_now_ns() : of->stopped_ns);
}

/* The end of those that there are. From when there was no room for one on there are none until sampling starts again. */
static uint64_t end_of(struct sampler *of)
{
	uint64_t end = all_of(of);
	if (!of->is_full && end > of->next + of->room) {
		of->is_full = true;
		of->full_at = of->next + of->room;
	}
	return of->is_full ? of->full_at : end;
}

/* ---- the table ---- */

static void write_rows(FILE *file, const struct sampler *of, uint64_t number, const char *state)
{
	for (uint32_t at = 0; at < of->metric_count; at++)
		fprintf(file, "%d\t%s\t%llu\t%.17g\t%s\n", (int)(of - samplers),
			fake_metric_name(of->chosen[at]),
			(unsigned long long)(of->origin_ns + number * of->step_ns),
			fake_metric_value(of->chosen[at], (int)(of - samplers), number), state);
}

static bool is_written;

/* At the end; again where something is read after that. */
__attribute__((destructor)) static void write_table(void)
{
	const char *path = getenv("FAKE_METRICS_TABLE");
	char name[4096];
	is_written = true;
	if (!path || !*path || !was_enabled)
		return;
	snprintf(name, sizeof(name), "%s.%d", path, getpid());
	FILE *file = fopen(name, "w");
	for (const struct fate *fate = fates; fate && file; fate = fate->before)
		write_rows(file, &samplers[fate->device], fate->number, fate->state);
	for (struct sampler *of = samplers; of < samplers + FAKE_MOST_DEVICES && file; of++) {
		uint64_t end = of->origin_ns ? end_of(of) : 0, number = of->next;
		for (; number < end; number++)
			write_rows(file, of, number, "left");
		for (end = of->is_full ? all_of(of) : 0; number < end; number++)
			write_rows(file, of, number, "lost");
	}
	if (file)
		fclose(file);
}

/* ---- the image ---- */

struct data {
	uint64_t kind; /* DATA */
	uint32_t most, count, metric_count, chosen[FAKE_METRICS_MOST];
	int device;
	/* then of each sample its times by the device's clock, and its number */
};

struct sample {
	uint64_t start_ns, end_ns, number;
};

static size_t sample_bytes(void)
{
	return fake_fails("metric-large") ? 1u << 18 : sizeof(struct sample);
}

static uint8_t *sample_at(const uint8_t *bytes, size_t sample)
{
	return (uint8_t *)bytes + sizeof(struct data) + sample * sample_bytes();
}

static bool read_data(const uint8_t *bytes, size_t size, struct data *data)
{
	if (!bytes || size < sizeof(*data))
		return false;
	memcpy(data, bytes, sizeof(*data));
	return data->kind == DATA && size >= sizeof(*data) + data->most * sample_bytes();
}

bool fake_metric_evaluate(const uint8_t *bytes, size_t size, size_t number, const uint32_t *chosen,
			  uint32_t count, double *values)
{
	struct data data;
	struct sample sample;
	if (!read_data(bytes, size, &data) || number >= data.count || count != data.metric_count ||
	    memcmp(chosen, data.chosen, count * sizeof(*chosen)) != 0)
		return false;
	memcpy(&sample, sample_at(bytes, number), sizeof(sample));
	for (uint32_t at = 0; at < count; at++)
		values[at] = fake_fails("metric-nan") && sample.number % 5 == 0
				 ? __builtin_nan("")
				 : fake_metric_value(chosen[at], data.device, sample.number);
	return true;
}

/* ---- functions ---- */

#define IS_WHOLE(given, type) ((given)->structSize == type##_STRUCT_SIZE && !(given)->pPriv)
#define LENGTH_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

static CUptiResult begin_function(const void *given, const char *failure, struct sampler **of)
{
	*of = NULL;
	for (int device = 0; device < FAKE_MOST_DEVICES; device++)
		if (given == &samplers[device] && samplers[device].is_enabled)
			*of = &samplers[device];
	if (fake_fails(failure))
		return CUPTI_ERROR_UNKNOWN;
	return *of ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult fake_cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *given)
{
	if (fake_fails("metric-privileges"))
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (fake_fails("metric-unsupported"))
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (fake_fails("metric-busy"))
		return CUPTI_ERROR_HARDWARE_BUSY;
	if (fake_fails("metric-enable"))
		return CUPTI_ERROR_UNKNOWN;
	if (!IS_WHOLE(given, CUpti_PmSampling_Enable_Params) ||
	    given->deviceIndex >= (size_t)fake_device_count() ||
	    given->deviceIndex >= FAKE_MOST_DEVICES)
		return CUPTI_ERROR_INVALID_PARAMETER;
	struct sampler *of = &samplers[given->deviceIndex];
	if (of->is_enabled)
		return CUPTI_ERROR_INVALID_OPERATION;
	*of = (struct sampler){.is_enabled = true};
	given->pPmSamplingObject = (CUpti_PmSampling_Object *)of;
	was_enabled = true;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *given)
{
	struct sampler *of;
	CUptiResult error = begin_function(given->pPmSamplingObject, "metric-disable", &of);
	if (error || of->is_started || !IS_WHOLE(given, CUpti_PmSampling_Disable_Params))
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	of->is_enabled = false;
	/* what was recorded and not delivered is gone */
	return fake_cuptiFinalize();
}

CUptiResult
fake_cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *given)
{
	struct sampler *of;
	CUptiResult error = begin_function(given->pPmSamplingObject, "metric-data-size", &of);
	if (error || !IS_WHOLE(given, CUpti_PmSampling_GetCounterDataSize_Params) ||
	    !given->maxSamples || !given->numMetrics || given->numMetrics > FAKE_METRICS_MOST)
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	of->metric_count = (uint32_t)given->numMetrics;
	for (uint32_t at = 0; at < of->metric_count; at++)
		if (!fake_metric_find(given->pMetricNames[at], &of->chosen[at]))
			return CUPTI_ERROR_INVALID_METRIC_NAME;
	of->most = given->maxSamples;
	given->counterDataSize = sizeof(struct data) + of->most * sample_bytes();
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPmSamplingCounterDataImageInitialize(
    CUpti_PmSampling_CounterDataImage_Initialize_Params *given)
{
	struct sampler *of;
	CUptiResult error = begin_function(given->pPmSamplingObject, "metric-data", &of);
	if (error || !IS_WHOLE(given, CUpti_PmSampling_CounterDataImage_Initialize_Params) ||
	    !of->most || !given->pCounterData ||
	    given->counterDataSize != sizeof(struct data) + of->most * sample_bytes())
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	struct data data = {.kind = DATA,
			    .most = of->most,
			    .metric_count = of->metric_count,
			    .device = (int)(of - samplers)};
	memcpy(data.chosen, of->chosen, sizeof(data.chosen));
	memcpy(given->pCounterData, &data, sizeof(data));
	of->is_initialized = given->pCounterData;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *given)
{
	struct sampler *of;
	bool is_by_time = given->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
	CUptiResult error = begin_function(given->pPmSamplingObject, "metric-config", &of);
	if (error)
		return error;
	if ((given->structSize != CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE &&
	     given->structSize != LENGTH_TO(CUpti_PmSampling_SetConfig_Params, triggerMode)) ||
	    given->pPriv || of->is_started || !given->samplingInterval ||
	    !given->hardwareBufferSize ||
	    !fake_metric_image(given->pConfig, given->configSize, of->chosen, of->metric_count) ||
	    (is_by_time && fake_fails("metric-cycles")))
		return CUPTI_ERROR_INVALID_PARAMETER;
	/* of a clock of 1.25 GHz */
	of->step_ns = is_by_time ? given->samplingInterval : given->samplingInterval * 4 / 5;
	of->room = fake_fails("metric-full") || fake_fails("metric-full-error")
		       ? FEW
		       : given->hardwareBufferSize / RECORD_BYTES;
	of->is_configured = true;
	return CUPTI_SUCCESS;
}

/* What came while it did not sample is lost, if it had begun. */
CUptiResult fake_cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *given)
{
	struct sampler *of;
	CUptiResult error = begin_function(given->pPmSamplingObject, "metric-start", &of);
	if (error || !IS_WHOLE(given, CUpti_PmSampling_Start_Params) || !of->is_configured ||
	    of->is_started)
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&lock);
	uint64_t now_ns = fake_now_ns();
	if (of->origin_ns)
		for (uint64_t begin = over_at(of, now_ns) + 1; of->next < begin;)
			tell(of, of->next++, "lost");
	else
		of->origin_ns = now_ns;
	of->is_full = false;
	of->is_started = true;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *given)
{
	struct sampler *of;
	CUptiResult error = begin_function(given->pPmSamplingObject, "metric-stop", &of);
	if (error || !IS_WHOLE(given, CUpti_PmSampling_Stop_Params) || !of->is_started)
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	of->stopped_ns = fake_now_ns();
	of->is_started = false;
	return CUPTI_SUCCESS;
}

static void decode(struct sampler *of, CUpti_PmSampling_DecodeData_Params *given, struct data *data)
{
	uint64_t end = end_of(of);
	for (; of->next < end && data->count < data->most; of->next++) {
		struct sample sample = {device_ns(of->origin_ns + of->next * of->step_ns),
					device_ns(of->origin_ns + (of->next + 1) * of->step_ns),
					of->next};
		memcpy(sample_at(given->pCounterDataImage, data->count++), &sample, sizeof(sample));
		tell(of, of->next, "read");
	}
	given->overflow = of->is_full;
	given->decodeStopReason = of->next < end
				      ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
				      : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	memcpy(given->pCounterDataImage, data, sizeof(*data));
}

CUptiResult fake_cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *given)
{
	struct sampler *of;
	struct data data;
	CUptiResult error = begin_function(given->pPmSamplingObject, "metric-decode", &of);
	if (error || !IS_WHOLE(given, CUpti_PmSampling_DecodeData_Params) || !of->origin_ns ||
	    given->pCounterDataImage != of->is_initialized ||
	    !read_data(given->pCounterDataImage, given->counterDataImageSize, &data))
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	while (!of->is_started && fake_fails("metric-hangs"))
		pause();
	of->is_initialized = NULL;
	pthread_mutex_lock(&lock);
	uint64_t end = end_of(of);
	if (of->is_full && fake_fails("metric-full-error")) {
		while (of->next < end)
			tell(of, of->next++, "lost");
		error = CUPTI_ERROR_OUT_OF_MEMORY;
	} else {
		decode(of, given, &data);
	}
	if (is_written)
		write_table();
	pthread_mutex_unlock(&lock);
	return error;
}

CUptiResult
fake_cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *given)
{
	struct data data;
	if (fake_fails("metric-info"))
		return CUPTI_ERROR_UNKNOWN;
	if (!IS_WHOLE(given, CUpti_PmSampling_GetCounterDataInfo_Params) ||
	    !read_data(given->pCounterDataImage, given->counterDataImageSize, &data))
		return CUPTI_ERROR_INVALID_PARAMETER;
	given->numTotalSamples = data.most;
	given->numPopulatedSamples = given->numCompletedSamples = data.count;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiPmSamplingCounterDataGetSampleInfo(
    CUpti_PmSampling_CounterData_GetSampleInfo_Params *given)
{
	struct data data;
	struct sample sample;
	if (fake_fails("metric-sample"))
		return CUPTI_ERROR_UNKNOWN;
	if (!IS_WHOLE(given, CUpti_PmSampling_CounterData_GetSampleInfo_Params) ||
	    !given->pPmSamplingObject ||
	    !read_data(given->pCounterDataImage, given->counterDataImageSize, &data) ||
	    given->sampleIndex >= data.count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memcpy(&sample, sample_at(given->pCounterDataImage, given->sampleIndex), sizeof(sample));
	given->startTimestamp = sample.start_ns;
	given->endTimestamp = sample.end_ns;
	return CUPTI_SUCCESS;
}
