/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters, as CUPTI's range profiler and its host half deliver them, of kernels that compute nothing: the nth launch of a kernel
 * counts VALUE + (n - 1) * STEP, by FAKE_COUNTERS ("PATTERN METRIC VALUE STEP" a line) or else some value that tells kernel, metric
 * and launch apart. A pass has room for four metrics. FAKE_COUNTERS_TABLE gets what was counted: "kernel graph metric value launches
 * lost outside", with tabs. Calls in another order than the headers' comments have it, and structures of other lengths, are refused.
 */
#include "subscribers.h"

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PER_PASS   4
#define MOST	   FAKE_METRICS_MOST
#define NAME_BYTES 16
#define IMAGE	   0x6567616d69726f66u
#define DATA	   0x61746164726f6633u
#define HOST	   0x74736f68726f6635u

/* What adding the last one fails with beside any other, as NVIDIA's own does. */
#define UNADDED CUPTI_ERROR_NOT_SUPPORTED

static const struct {
	const char *name, *unit;
	CUpti_MetricType type;
} metrics[] = {
    {"smsp__inst_executed.sum", "instruction", CUPTI_METRIC_TYPE_COUNTER},
    {"sm__cycles_active.avg", "cycle", CUPTI_METRIC_TYPE_COUNTER},
    {"dram__bytes_read.sum", "byte", CUPTI_METRIC_TYPE_COUNTER},
    {"dram__bytes_write.sum", "byte", CUPTI_METRIC_TYPE_COUNTER},
    {"gpu__time_duration.sum", "nanosecond", CUPTI_METRIC_TYPE_COUNTER},
    {"l1tex__t_sectors.sum", "sector", CUPTI_METRIC_TYPE_COUNTER},
    {"lts__t_sectors.sum", "sector", CUPTI_METRIC_TYPE_COUNTER},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", "%", CUPTI_METRIC_TYPE_COUNTER},
    {"sm__throughput.max", "%", CUPTI_METRIC_TYPE_THROUGHPUT},
    {"dram__bytes_read.sum.per_second", "byte/second", CUPTI_METRIC_TYPE_COUNTER},
    {"sm__inst_executed.avg.per_cycle_active", "instruction", CUPTI_METRIC_TYPE_COUNTER},
    {"pcie__read_bytes.sum", "byte", CUPTI_METRIC_TYPE_COUNTER},
};
enum { METRICS = sizeof(metrics) / sizeof(*metrics) };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* METRICS where there is none. */
static uint32_t metric_of(const char *name)
{
	uint32_t index = 0;
	while (index < METRICS && strcmp(metrics[index].name, name) != 0)
		index++;
	return index;
}

/* ---- what is planned ---- */

struct planned {
	char pattern[256];
	uint32_t metric;
	double value, step;
	struct planned *next;
};

static struct planned *plan;
static const char *table_path;

__attribute__((constructor)) static void read_plan(void)
{
	const char *path = getenv("FAKE_COUNTERS");
	struct planned **last = &plan;
	FILE *file = path && *path ? fopen(path, "r") : NULL;
	char pattern[256], metric[128];
	double value, step;
	table_path = getenv("FAKE_COUNTERS_TABLE");
	while (file && fscanf(file, "%255s %127s %lf %lf", pattern, metric, &value, &step) == 4) {
		struct planned *line = calloc(1, sizeof(*line));
		*line = (struct planned){.metric = metric_of(metric), .value = value, .step = step};
		strcpy(line->pattern, pattern);
		*last = line;
		last = &line->next;
	}
	if (file)
		fclose(file);
}

static double value_of(const char *kernel, uint32_t metric, uint64_t nth)
{
	for (const struct planned *line = plan; line; line = line->next)
		if (line->metric == metric && !fnmatch(line->pattern, kernel, 0))
			return line->value + (double)(nth - 1) * line->step;
	return 10000.0 * (metric + 1) + 100.0 * (double)(strlen(kernel) % 50) + (double)nth;
}

/* ---- the truth ---- */

struct row {
	const char *kernel;
	bool is_of_graph;
	uint64_t launches, lost, outside;
	double values[METRICS];
	struct row *next;
};

static struct row *rows;
static bool was_enabled;
static bool is_counted[METRICS];

static struct row *row_of(const char *kernel, bool is_of_graph)
{
	struct row *row = rows;
	while (row && (row->kernel != kernel || row->is_of_graph != is_of_graph))
		row = row->next;
	if (!row) {
		row = calloc(1, sizeof(*row));
		*row = (struct row){.kernel = kernel, .is_of_graph = is_of_graph, .next = rows};
		rows = row;
	}
	return row;
}

/* A kernel's launches so far, in graphs and alone. */
static uint64_t next_launch(const char *kernel)
{
	static struct launches {
		const char *kernel;
		uint64_t count;
		struct launches *next;
	} * all;
	struct launches *of = all;
	while (of && of->kernel != kernel)
		of = of->next;
	if (!of) {
		of = malloc(sizeof(*of));
		*of = (struct launches){kernel, 0, all};
		all = of;
	}
	return ++of->count;
}

/* ---- contexts ---- */

/* A kernel that ran in a range. */
struct ran {
	const char *kernel;
	bool is_of_graph;
	uint64_t nth;
	struct ran *next;
};

struct range {
	char name[NAME_BYTES];
	struct ran *ran;
};

static struct profiler {
	bool is_enabled, is_configured, is_started, is_stopped;
	int device;
	bool has_range;
	uint32_t count, most;
	struct range *ranges;
	uint8_t *data;
	size_t data_bytes;
	const uint8_t *is_initialized; /* the data that was */
	uint32_t metric_count, chosen[MOST];
} profilers[FAKE_MOST_DEVICES];

static void count(const struct range *range, const struct profiler *of, bool is_lost)
{
	for (const struct ran *ran = range->ran; ran; ran = ran->next) {
		struct row *row = row_of(ran->kernel, ran->is_of_graph);
		row->lost += is_lost;
		row->launches += !is_lost;
		for (uint32_t at = 0; at < of->metric_count && !is_lost; at++)
			row->values[of->chosen[at]] +=
			    value_of(ran->kernel, of->chosen[at], ran->nth);
	}
}

static void forget(struct profiler *of, bool are_lost)
{
	for (uint32_t at = 0; at < of->count; at++) {
		if (are_lost)
			count(&of->ranges[at], of, true);
		for (struct ran *ran = of->ranges[at].ran, *next; ran; ran = next) {
			next = ran->next;
			free(ran);
		}
	}
	of->count = 0;
}

static bool is_written;

/* At the end; again where something is read or lost after that. */
__attribute__((destructor)) static void write_table(void)
{
	char name[4096];
	is_written = true;
	if (!table_path || !*table_path || !was_enabled)
		return;
	snprintf(name, sizeof(name), "%s.%d", table_path, getpid());
	FILE *file = fopen(name, "w");
	for (const struct row *row = rows; row && file; row = row->next)
		for (uint32_t at = 0; at < METRICS; at++)
			if (is_counted[at])
				fprintf(file, "%s\t%d\t%s\t%.17g\t%llu\t%llu\t%llu\n", row->kernel,
					row->is_of_graph, metrics[at].name, row->values[at],
					(unsigned long long)row->launches,
					(unsigned long long)row->lost,
					(unsigned long long)row->outside);
	if (file)
		fclose(file);
}

void fake_range_run(const struct fake_run *run)
{
	struct profiler *of = &profilers[run->device];
	if (run->operation->kind != FAKE_KERNEL || (!table_path && !was_enabled))
		return;
	pthread_mutex_lock(&lock);
	const char *kernel = run->operation->name;
	uint64_t nth = next_launch(kernel);
	if (of->has_range && of->count) {
		struct range *range = &of->ranges[of->count - 1];
		struct ran *ran = malloc(sizeof(*ran));
		*ran = (struct ran){kernel, run->graph, nth, range->ran};
		range->ran = ran;
	} else {
		row_of(kernel, run->graph)->outside++;
	}
	pthread_mutex_unlock(&lock);
}

void fake_range_context_ends(int device)
{
	pthread_mutex_lock(&lock);
	forget(&profilers[device], true);
	free(profilers[device].ranges);
	profilers[device] = (struct profiler){0};
	pthread_mutex_unlock(&lock);
}

/* ---- the host half ---- */

struct host {
	uint64_t kind; /* HOST */
	uint32_t count, chosen[MOST];
};

struct image {
	uint64_t kind; /* IMAGE */
	uint32_t count, chosen[MOST];
};

static struct host *host_of(const void *given)
{
	struct host *host = (struct host *)given;
	return host && host->kind == HOST ? host : NULL;
}

/* Lengths are those of the release, or of the first one that had the structure; `since`: the first that has all of it. */
static bool is_length(size_t given, size_t first, size_t newest, uint32_t since)
{
	return given == first || (given == newest && fake_release->version >= since);
}

#define IS_WHOLE(given, type) ((given)->structSize == type##_STRUCT_SIZE && !(given)->pPriv)
#define LENGTH_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

CUptiResult fake_cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *given)
{
	if (fake_fails("counter-begin"))
		return CUPTI_ERROR_UNKNOWN;
	return IS_WHOLE(given, CUpti_Profiler_Initialize_Params) ? CUPTI_SUCCESS
								 : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *given)
{
	if (fake_fails("counter-chip-name"))
		return CUPTI_ERROR_UNKNOWN;
	if (!IS_WHOLE(given, CUpti_Device_GetChipName_Params) ||
	    given->deviceIndex >= (size_t)fake_device_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	given->pChipName = "GH100";
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *given)
{
	size_t first = LENGTH_TO(CUpti_Profiler_Host_Initialize_Params, pHostObject);
	if (fake_fails("counter-nvperf"))
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!is_length(given->structSize, first, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
		       130200) ||
	    given->profilerType >= CUPTI_PROFILER_TYPE_PROFILER_INVALID || !given->pChipName ||
	    strcmp(given->pChipName, "GH100") != 0 || fake_fails("counter-chip"))
		return CUPTI_ERROR_INVALID_PARAMETER;
	struct host *host = calloc(1, sizeof(*host));
	host->kind = HOST;
	given->pHostObject = (CUpti_Profiler_Host_Object *)host;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *given)
{
	struct host *host = host_of(given->pHostObject);
	if (!host || !IS_WHOLE(given, CUpti_Profiler_Host_Deinitialize_Params))
		return CUPTI_ERROR_INVALID_PARAMETER;
	host->kind = 0;
	free(host);
	return CUPTI_SUCCESS;
}

CUptiResult
fake_cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *given)
{
	size_t first = LENGTH_TO(CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
	if (fake_fails("counter-properties"))
		return CUPTI_ERROR_UNKNOWN;
	if (!is_length(given->structSize, first,
		       CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE, 130200) ||
	    !host_of(given->pHostObject))
		return CUPTI_ERROR_INVALID_PARAMETER;
	uint32_t metric = metric_of(given->pMetricName);
	if (metric == METRICS)
		return CUPTI_ERROR_INVALID_METRIC_NAME;
	given->pDescription = given->pHwUnit = "";
	given->pDimUnit = metrics[metric].unit;
	given->metricType = metrics[metric].type;
	return CUPTI_SUCCESS;
}

static CUptiResult choose(const char **names, size_t number, uint32_t *chosen, uint32_t *count)
{
	for (size_t at = 0; at < number; at++) {
		uint32_t metric = metric_of(names[at]);
		if (metric == METRICS || *count == MOST)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		if (metric == METRICS - 1 && number > 1)
			return UNADDED;
		chosen[(*count)++] = metric;
	}
	return CUPTI_SUCCESS;
}

CUptiResult
fake_cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *given)
{
	struct host *host = host_of(given->pHostObject);
	if (fake_fails("counter-add"))
		return CUPTI_ERROR_UNKNOWN;
	if (!host || !IS_WHOLE(given, CUpti_Profiler_Host_ConfigAddMetrics_Params))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return choose(given->ppMetricNames, given->numMetrics, host->chosen, &host->count);
}

CUptiResult
fake_cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *given)
{
	struct host *host = host_of(given->pHostObject);
	if (fake_fails("counter-image-size"))
		return CUPTI_ERROR_UNKNOWN;
	if (!host || !host->count ||
	    !IS_WHOLE(given, CUpti_Profiler_Host_GetConfigImageSize_Params))
		return CUPTI_ERROR_INVALID_PARAMETER;
	given->configImageSize = sizeof(struct image);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *given)
{
	struct host *host = host_of(given->pHostObject);
	if (fake_fails("counter-image"))
		return CUPTI_ERROR_UNKNOWN;
	if (!host || !IS_WHOLE(given, CUpti_Profiler_Host_GetConfigImage_Params) ||
	    given->configImageSize < sizeof(struct image) || !given->pConfigImage)
		return CUPTI_ERROR_INVALID_PARAMETER;
	struct image image = {.kind = IMAGE, .count = host->count};
	memcpy(image.chosen, host->chosen, sizeof(image.chosen));
	memcpy(given->pConfigImage, &image, sizeof(image));
	return CUPTI_SUCCESS;
}

static bool read_image(const uint8_t *bytes, size_t size, struct image *image)
{
	if (!bytes || size < sizeof(*image))
		return false;
	memcpy(image, bytes, sizeof(*image));
	return image->kind == IMAGE;
}

CUptiResult fake_cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *given)
{
	struct image image;
	if (fake_fails("counter-passes"))
		return CUPTI_ERROR_UNKNOWN;
	if (!IS_WHOLE(given, CUpti_Profiler_Host_GetNumOfPasses_Params) ||
	    !read_image(given->pConfigImage, given->configImageSize, &image))
		return CUPTI_ERROR_INVALID_PARAMETER;
	given->numOfPasses = (image.count + PER_PASS - 1) / PER_PASS;
	return CUPTI_SUCCESS;
}

/* ---- what PM sampling asks of this half ---- */

bool fake_metric_find(const char *name, uint32_t *metric)
{
	*metric = metric_of(name);
	return *metric < METRICS;
}

const char *fake_metric_name(uint32_t metric)
{
	return metrics[metric].name;
}

bool fake_metric_image(const uint8_t *bytes, size_t size, const uint32_t *chosen, uint32_t count)
{
	struct image image;
	return read_image(bytes, size, &image) && image.count == count && count <= PER_PASS &&
	       !memcmp(image.chosen, chosen, count * sizeof(*chosen));
}

/* ---- values ---- */

struct data {
	uint64_t kind; /* DATA */
	uint32_t most, count, metric_count, chosen[MOST];
	/* then of each range its name, and a value for each metric */
};

static size_t range_bytes(uint32_t metric_count)
{
	return fake_fails("counter-large") ? 1u << 20 : NAME_BYTES + metric_count * sizeof(double);
}

static uint8_t *range_at(const uint8_t *bytes, const struct data *data, size_t range)
{
	return (uint8_t *)bytes + sizeof(*data) + range * range_bytes(data->metric_count);
}

/* False where nothing was decoded to it. */
static bool read_data(const uint8_t *bytes, size_t size, struct data *data)
{
	if (!bytes || size < sizeof(*data))
		return false;
	memcpy(data, bytes, sizeof(*data));
	return data->kind == DATA &&
	       size >= sizeof(*data) + data->most * range_bytes(data->metric_count);
}

CUptiResult
fake_cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *given)
{
	struct data data;
	uint32_t chosen[MOST], number = 0;
	if (fake_fails_now("counter-evaluate", 5))
		return CUPTI_ERROR_UNKNOWN;
	if (fake_fails("counter-gives"))
		FAKE_EACH_SUBSCRIBER(of)
	fake_queue_flush(&of->queue, false);
	if (host_of(given->pHostObject) &&
	    IS_WHOLE(given, CUpti_Profiler_Host_EvaluateToGpuValues_Params) &&
	    !choose(given->ppMetricNames, given->numMetrics, chosen, &number) &&
	    fake_metric_evaluate(given->pCounterDataImage, given->counterDataImageSize,
				 given->rangeIndex, chosen, number, given->pMetricValues))
		return CUPTI_SUCCESS;
	number = 0;
	if (!host_of(given->pHostObject) ||
	    !IS_WHOLE(given, CUpti_Profiler_Host_EvaluateToGpuValues_Params) ||
	    !read_data(given->pCounterDataImage, given->counterDataImageSize, &data) ||
	    given->rangeIndex >= data.count ||
	    choose(given->ppMetricNames, given->numMetrics, chosen, &number) ||
	    number != data.metric_count ||
	    memcmp(chosen, data.chosen, number * sizeof(*chosen)) != 0)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memcpy(given->pMetricValues,
	       range_at(given->pCounterDataImage, &data, given->rangeIndex) + NAME_BYTES,
	       number * sizeof(double));
	return CUPTI_SUCCESS;
}

CUptiResult
fake_cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *given)
{
	struct data data;
	if (fake_fails("counter-info"))
		return CUPTI_ERROR_UNKNOWN;
	if (!IS_WHOLE(given, CUpti_RangeProfiler_GetCounterDataInfo_Params) ||
	    !read_data(given->pCounterDataImage, given->counterDataImageSize, &data))
		return CUPTI_ERROR_INVALID_PARAMETER;
	given->numTotalRanges = data.count;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *given)
{
	struct data data;
	if (fake_fails_now("counter-name", 5))
		return CUPTI_ERROR_UNKNOWN;
	if (!IS_WHOLE(given, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params) ||
	    !given->rangeDelimiter ||
	    !read_data(given->pCounterDataImage, given->counterDataImageSize, &data) ||
	    given->rangeIndex >= data.count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	given->rangeName =
	    (const char *)range_at(given->pCounterDataImage, &data, given->rangeIndex);
	return CUPTI_SUCCESS;
}

/* ---- on the device ---- */

/* Each begins so; failures are planned by name. What begins and ends no range waits for the device. */
static CUptiResult begin_function(const void *given, const char *failure, struct profiler **of)
{
	bool is_of_range = !strcmp(failure, "counter-push") || !strcmp(failure, "counter-pop");
	*of = NULL;
	for (int device = 0; device < FAKE_MOST_DEVICES; device++)
		if (given == &profilers[device] && profilers[device].is_enabled)
			*of = &profilers[device];
	if (*of && !is_of_range)
		fake_captures_spoil((*of)->device);
	if (fake_fails(failure))
		return CUPTI_ERROR_UNKNOWN;
	return *of ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult fake_cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *given)
{
	size_t first = LENGTH_TO(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
	uint32_t device;
	if (fake_fails("counter-privileges"))
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (fake_fails("counter-enable"))
		return CUPTI_ERROR_UNKNOWN;
	if (!is_length(given->structSize, first, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE,
		       130400) ||
	    !given->ctx || (device = *(uint32_t *)given->ctx) >= FAKE_MOST_DEVICES ||
	    given->ctx != fake_context((int)device) || profilers[device].is_enabled)
		return CUPTI_ERROR_INVALID_PARAMETER;
	profilers[device] = (struct profiler){.is_enabled = true, .device = (int)device};
	given->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)&profilers[device];
	was_enabled = true;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-disable", &of);
	if (error || of->has_range || !IS_WHOLE(given, CUpti_RangeProfiler_Disable_Params))
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	fake_device_serialize(of->device, false);
	pthread_mutex_lock(&lock);
	forget(of, true);
	free(of->ranges);
	*of = (struct profiler){0};
	if (is_written)
		write_table();
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult
fake_cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-data-size", &of);
	if (error || !IS_WHOLE(given, CUpti_RangeProfiler_GetCounterDataSize_Params) ||
	    !given->maxNumOfRanges || given->maxNumRangeTreeNodes < given->maxNumOfRanges)
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	of->metric_count = 0;
	error = choose(given->pMetricNames, given->numMetrics, of->chosen, &of->metric_count);
	of->most = (uint32_t)given->maxNumOfRanges;
	given->counterDataSize = sizeof(struct data) + of->most * range_bytes(of->metric_count);
	return error;
}

CUptiResult fake_cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-data", &of);
	if (error || of->is_started ||
	    !IS_WHOLE(given, CUpti_RangeProfiler_CounterDataImage_Initialize_Params) || !of->most ||
	    !given->pCounterData ||
	    given->counterDataSize !=
		sizeof(struct data) + of->most * range_bytes(of->metric_count))
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	struct data data = {.kind = DATA, .most = of->most, .metric_count = of->metric_count};
	memcpy(data.chosen, of->chosen, sizeof(data.chosen));
	memcpy(given->pCounterData, &data, sizeof(data));
	of->is_initialized = given->pCounterData;
	return CUPTI_SUCCESS;
}

static bool is_right_config(const CUpti_RangeProfiler_SetConfig_Params *given,
			    const struct profiler *of)
{
	struct image image;
	return IS_WHOLE(given, CUpti_RangeProfiler_SetConfig_Params) && !of->is_started &&
	       read_image(given->pConfig, given->configSize, &image) &&
	       image.count == of->metric_count && image.count <= PER_PASS &&
	       !memcmp(image.chosen, of->chosen, image.count * sizeof(*image.chosen)) &&
	       given->pCounterDataImage == of->is_initialized && of->is_initialized &&
	       given->range == CUPTI_UserRange && given->replayMode == CUPTI_UserReplay &&
	       given->maxRangesPerPass == of->most && given->numNestingLevels == 1 &&
	       given->minNestingLevel == 1 && given->targetNestingLevel == 1 && !given->passIndex;
}

CUptiResult fake_cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-config", &of);
	if (error || !is_right_config(given, of))
		return error ? error : CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	forget(of, true);
	of->ranges = realloc(of->ranges, of->most * sizeof(*of->ranges));
	of->data = given->pCounterDataImage;
	of->data_bytes = given->counterDataImageSize;
	of->is_initialized = NULL;
	of->is_configured = true;
	of->is_stopped = false;
	for (uint32_t at = 0; at < of->metric_count; at++)
		is_counted[of->chosen[at]] = true;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-start", &of);
	if (error || !IS_WHOLE(given, CUpti_RangeProfiler_Start_Params) || !of->is_configured ||
	    of->is_started || of->is_stopped)
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	fake_device_serialize(of->device, true);
	of->is_started = true;
	return CUPTI_SUCCESS;
}

/* One level of ranges: what is pushed within another is refused. */
CUptiResult fake_cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-push", &of);
	if (error || !IS_WHOLE(given, CUpti_RangeProfiler_PushRange_Params) || !of->is_started ||
	    of->has_range || of->count == of->most)
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&lock);
	struct range *range = &of->ranges[of->count++];
	*range = (struct range){.ran = NULL};
	snprintf(range->name, sizeof(range->name), "%s", given->pRangeName);
	of->has_range = true;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-pop", &of);
	if (of)
		of->has_range = false;
	return error || IS_WHOLE(given, CUpti_RangeProfiler_PopRange_Params)
		   ? error
		   : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult fake_cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *given)
{
	struct profiler *of;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-stop", &of);
	if (error || !IS_WHOLE(given, CUpti_RangeProfiler_Stop_Params) || !of->is_started ||
	    of->has_range)
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	of->is_started = false;
	of->is_stopped = true;
	given->isAllPassSubmitted = !fake_fails("counter-pass");
	return CUPTI_SUCCESS;
}

static void fill(const struct profiler *of, const struct range *range, const struct data *data)
{
	uint8_t *at = range_at(of->data, data, data->count);
	double values[MOST] = {0};
	for (const struct ran *ran = range->ran; ran; ran = ran->next)
		for (uint32_t metric = 0; metric < of->metric_count; metric++)
			values[metric] += value_of(ran->kernel, of->chosen[metric], ran->nth);
	memcpy(at, range->name, NAME_BYTES);
	memcpy(at + NAME_BYTES, values, of->metric_count * sizeof(double));
}

/* In the order of their names as text, which is not that in which they were pushed. */
static int by_name(const void *one, const void *other)
{
	return strcmp(((const struct range *)one)->name, ((const struct range *)other)->name);
}

/* The first decoding takes FAKE_DECODE_MS. */
static void take_time(void)
{
	static _Atomic bool was_taken;
	const char *text = getenv("FAKE_DECODE_MS");
	if (text && !atomic_exchange(&was_taken, true))
		usleep(1000 * (unsigned)atoi(text));
}

CUptiResult fake_cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *given)
{
	struct profiler *of;
	struct data data;
	CUptiResult error = begin_function(given->pRangeProfilerObject, "counter-decode", &of);
	if (error || !IS_WHOLE(given, CUpti_RangeProfiler_DecodeData_Params) || !of->is_stopped ||
	    !read_data(of->data, of->data_bytes, &data))
		return error ? error : CUPTI_ERROR_INVALID_OPERATION;
	take_time();
	fake_device_wait(of->device);
	fake_captures_spoil(of->device);
	pthread_mutex_lock(&lock);
	given->numOfRangeDropped = 0;
	qsort(of->ranges, of->count, sizeof(*of->ranges), by_name);
	for (uint32_t at = 0; at < of->count; at++) {
		bool is_lost = fake_fails_now("counter-drop", 5);
		count(&of->ranges[at], of, is_lost);
		given->numOfRangeDropped += is_lost;
		if (is_lost)
			continue;
		fill(of, &of->ranges[at], &data);
		data.count++;
	}
	forget(of, false);
	memcpy(of->data, &data, sizeof(data));
	if (is_written)
		write_table();
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}
