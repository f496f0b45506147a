/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters: what is counted on each device, and what each kernel counted, by the SDK's service for kernels' counters. It has
 * a context of its own, so that all else is measured where counting is refused. docs/design/gpu-counters.md gives reasons.
 */
#include "rocm.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <string.h>

#define SN_ROCPROFILER_COUNTING_POINTER(result, name, parameters) result(*name) parameters;
static struct {
	SN_ROCPROFILER_COUNTING_FUNCTIONS(SN_ROCPROFILER_COUNTING_POINTER)
} sdk;

static struct device {
	uint64_t agent, config;			 /* config 0: nothing is counted */
	uint64_t counters[SN_GPU_COUNTERS_MOST]; /* the SDK's numbers, by our index */
	uint32_t known, ratios;			 /* a bit for each index */
} devices[SN_ROCM_DEVICES];
static uint32_t device_count;

static uint64_t context;
static bool is_counting;
static _Atomic uint64_t begun; /* kernels */
static uint64_t done;	       /* of them; with the lock of finished operations */
static _Atomic bool is_over;   /* what has not come counts as lost; set with that lock */
static char status[512];

const char *sn_rocm_counters_status(void)
{
	return status[0] ? status : NULL;
}

/* The first reason stays. False. */
static bool refuse(const struct device *device, const char *text, const char *more,
		   const char *rest)
{
	struct sn_line line = SN_LINE(status);
	if (status[0])
		return false;
	sn_line_add(&line, "; no counters");
	if (device) {
		sn_line_add(&line, " on HIP device ");
		sn_line_add_number(&line, (uint64_t)(device - devices));
	}
	SN_LINE_ADD(&line, ": ", text, more, rest);
	return false;
}

static const char *text_of(sn_rocprofiler_status error)
{
	const char *text = sdk.rocprofiler_get_status_string(error);
	return text ? text : "an error without a text";
}

/* ---- choosing ---- */

/* A name that its vendor explains by dividing by anything but a number. */
static bool is_ratio(const char *expression)
{
	for (const char *at = expression; at && (at = strchr(at, '/'));) {
		do
			at++;
		while (*at == ' ' || *at == '(');
		if (*at < '0' || *at > '9')
			return true;
	}
	return false;
}

static void note(struct device *device, const struct sn_rocprofiler_counter_info *info)
{
	for (uint32_t index = 0; index < sn_config.gpu_counter_count; index++) {
		if (strcmp(info->name, sn_config.gpu_counters[index]) != 0)
			continue;
		device->counters[index] = info->counter;
		device->known |= 1u << index;
		if (is_ratio(info->expression))
			device->ratios |= 1u << index;
	}
}

static sn_rocprofiler_status on_counters(uint64_t agent, const uint64_t *counters, size_t count,
					 void *device)
{
	(void)agent;
	for (size_t at = 0; at < count; at++) {
		struct sn_rocprofiler_counter_info info = {0};
		if (!sdk.rocprofiler_query_counter_info(counters[at],
							SN_ROCPROFILER_COUNTER_VERSION, &info) &&
		    info.name)
			note(device, &info);
	}
	return 0;
}

/* The name of the first counter of those that the bits leave out; NULL: none. */
static const char *first_without(uint32_t bits)
{
	for (uint32_t index = 0; index < sn_config.gpu_counter_count; index++)
		if (!(bits >> index & 1))
			return sn_config.gpu_counters[index];
	return NULL;
}

/* Why the SDK takes these counters not together: one that it does not take alone, or else that they are too many. */
static bool refuse_together(struct device *device, sn_rocprofiler_status error)
{
	for (uint32_t index = 0; index < sn_config.gpu_counter_count; index++) {
		uint64_t config = 0;
		sn_rocprofiler_status alone = sdk.rocprofiler_create_counter_config(
		    device->agent, &device->counters[index], 1, &config);
		if (alone)
			return refuse(device, sn_config.gpu_counters[index], ": ", text_of(alone));
	}
	return refuse(device, "they need more than one pass: ", text_of(error), NULL);
}

static bool choose(struct device *device)
{
	sn_rocprofiler_status error =
	    sdk.rocprofiler_iterate_agent_supported_counters(device->agent, on_counters, device);
	if (error)
		return refuse(device, text_of(error), NULL, NULL);
	if (first_without(device->known))
		return refuse(device, first_without(device->known), " is none of its counters",
			      NULL);
	if (device->ratios)
		return refuse(device, first_without(~device->ratios),
			      " is a ratio, which cannot be added up over launches", NULL);
	error = sdk.rocprofiler_create_counter_config(device->agent, device->counters,
						      sn_config.gpu_counter_count, &device->config);
	if (!error)
		return true;
	device->config = 0;
	return refuse_together(device, error);
}

/* ---- counting ---- */

static const struct device *device_of(const struct sn_rocprofiler_dispatch *dispatch)
{
	if (!sn_rocm_has_records() || dispatch->size < sizeof(*dispatch))
		return NULL;
	for (uint32_t index = 0; index < device_count; index++)
		if (devices[index].agent == dispatch->agent)
			return devices[index].config ? &devices[index] : NULL;
	return NULL;
}

/* A kernel is about to be put into its queue. On the launching thread, or one of the SDK's. */
static void on_dispatch(struct sn_rocprofiler_dispatch dispatch, uint64_t *config, uint64_t *word,
			void *unused)
{
	const struct device *device = device_of(&dispatch);
	(void)word, (void)unused;
	if (!device)
		return;
	/* seq_cst here and in sn_rocm_counters_give_up: what begins later is not counted, and all else is done or lost */
	atomic_fetch_add(&begun, 1);
	if (!is_over)
		*config = device->config;
}

struct sums {
	double values[SN_GPU_COUNTERS_MOST];
	uint32_t came; /* a bit for each index */
};

/* The index of a record's counter; that of none, where it was not asked for. Numbers of listed counters may say more than those of
 * records: then their names decide. */
static uint32_t index_of(const struct device *device, uint64_t instance)
{
	uint64_t counter;
	struct sn_rocprofiler_counter_info info = {0};
	uint32_t count = sn_config.gpu_counter_count, index = 0;
	if (sdk.rocprofiler_query_record_counter_id(instance, &counter))
		return count;
	while (index < count && device->counters[index] != counter)
		index++;
	if (index < count ||
	    sdk.rocprofiler_query_counter_info(counter, SN_ROCPROFILER_COUNTER_VERSION, &info) ||
	    !info.name)
		return index;
	for (index = 0; index < count; index++)
		if (!strcmp(info.name, sn_config.gpu_counters[index]))
			break;
	return index;
}

/* A counter has a record for each of its instances in the device. */
static void add_up(const struct device *device, const struct sn_rocprofiler_dispatch *dispatch,
		   const struct sn_rocprofiler_counted *records, size_t count, struct sums *sums)
{
	for (size_t at = 0; at < count; at++) {
		/* records do not tell their size: one of another kernel was read at a wrong place */
		if (records[at].dispatch != dispatch->dispatch)
			return;
		uint32_t index = index_of(device, records[at].instance);
		if (index == sn_config.gpu_counter_count)
			continue;
		sums->values[index] += records[at].value;
		sums->came |= 1u << index;
	}
}

/* Between sn_gpu_begin_done and sn_gpu_end_done. */
static void deliver(const struct sn_rocprofiler_dispatch *dispatch, const struct sums *sums)
{
	struct sn_gpu_operation operation = {.interface = &sn_rocm};
	struct sn_gpu_place place;
	sn_rocm_set_kernel(&operation, dispatch->kernel);
	bool has_place = sn_gpu_launch_of(&sn_rocm, (uint32_t)dispatch->correlation, &place);
	for (uint32_t index = 0; index < sn_config.gpu_counter_count; index++) {
		operation.counter.index = index;
		if (has_place && sums->came >> index & 1 &&
		    sn_gpu_counter_whole(sums->values[index], &operation.counter.value))
			sn_gpu_counted(&place, &operation);
		else
			sn_drop(NULL, SN_DROP_GPU_COUNTER_LOST, 1);
	}
}

/* A kernel is done. On a thread of the SDK's. */
static void on_counted(struct sn_rocprofiler_dispatch dispatch,
		       const struct sn_rocprofiler_counted *records, size_t count, uint64_t word,
		       void *unused)
{
	const struct device *device = device_of(&dispatch);
	struct sums sums = {.came = 0};
	(void)word, (void)unused;
	if (!device)
		return;
	add_up(device, &dispatch, records, count, &sums);
	sn_gpu_begin_done();
	if (!is_over) {
		deliver(&dispatch, &sums);
		done++;
	}
	sn_gpu_end_done();
}

/* ---- begin and end ---- */

/* The name of one that the library lacks; NULL: none. */
static const char *find_functions(void *library)
{
#define FIND(result, name, parameters)                                                             \
	sdk.name = (result(*) parameters)sn_real_dlsym(library, #name);                            \
	if (!sdk.name)                                                                             \
		return #name;
	SN_ROCPROFILER_COUNTING_FUNCTIONS(FIND)
#undef FIND
	return NULL;
}

static bool start(void)
{
	sn_rocprofiler_status error = sn_rocprofiler.rocprofiler_create_context(&context);
	if (!error)
		error = sdk.rocprofiler_configure_callback_dispatch_counting_service(
		    context, on_dispatch, NULL, on_counted, NULL);
	if (!error)
		error = sn_rocprofiler.rocprofiler_start_context(context);
	if (!error)
		return true;
	status[0] = '\0'; /* of a device that was left out: now all are */
	return refuse(NULL, "rocprofiler-sdk refuses: ", text_of(error), NULL);
}

void sn_rocm_counters_begin(void *library)
{
	const uint64_t *agents;
	bool is_any = false;
	if (!sn_config.gpu_counter_count)
		return;
	const char *missing = find_functions(library);
	if (missing) {
		refuse(NULL, "rocprofiler-sdk lacks ", missing, NULL);
		return;
	}
	device_count = sn_rocm_devices(&agents);
	for (uint32_t index = 0; index < device_count; index++) {
		devices[index].agent = agents[index];
		is_any |= choose(&devices[index]);
	}
	is_counting = is_any && start();
	if (!status[0]) {
		struct sn_line line = SN_LINE(status);
		sn_line_add(&line, device_count ? ", and counters of each kernel"
						: "; no counters: there is no device");
	}
}

void sn_rocm_counters_give_up(void)
{
	uint64_t missing = 0;
	sn_gpu_begin_done();
	if (!atomic_exchange(&is_over, true))
		missing = begun - done;
	sn_gpu_end_done();
	if (missing)
		sn_drop(NULL, SN_DROP_GPU_COUNTER_LOST, missing * sn_config.gpu_counter_count);
}

void sn_rocm_counters_end(void)
{
	if (!is_counting)
		return;
	sn_rocprofiler.rocprofiler_stop_context(context);
	sn_rocm_counters_give_up();
}
