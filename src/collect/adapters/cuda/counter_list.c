/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host half of CUPTI's counters: whether a device's chip knows the names of the user's list, whether they can be added, whether one
 * pass counts them, and the image that sets the device up for that. It runs without a device, so it is tested with NVIDIA's own library.
 */
#include "counter_list.h"

#include "collect/core/line.h"
#include "collect/intercept/intercept.h"

#include <string.h>

#define DEVICES		 16u
/* Of a few counters it has some kilobytes. */
#define MOST_IMAGE_BYTES (4u << 20)

struct sn_cupti_counters sn_cupti_counters;
static const struct sn_cuda_counter_wish *wish;

static struct {
	struct sn_cuda_counter_list list;
	bool was_tried;
} devices[DEVICES];

/* ---- what is said ---- */

bool sn_cuda_counters_fail(const char *function, sn_cupti_result error)
{
	char number[24];
	struct sn_line line = SN_LINE(number);
	if (error == SN_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
		return wish->refuse(
		    "the driver lets only administrators do so (RmProfilingAdminOnly)", "", "");
	sn_line_add_number(&line, (uint64_t)error);
	return wish->refuse(function, " fails with error ", number);
}

sn_cupti_result sn_cuda_counters_call(sn_cupti_result (*function)(struct sn_cupti_of *),
				      void *object)
{
	struct sn_cupti_of parameters = SN_CUPTI_OF(struct sn_cupti_of, object, object);
	return function(&parameters);
}

/* ---- a list ---- */

/* Names are NAME.sum, .avg, .min or .max, over the units of a chip; more after that is a rate or a share, which does not add. */
static bool is_sum(const char *name)
{
	static const char *const ends[] = {".sum", ".avg", ".min", ".max"};
	const char *end = strchr(name, '.');
	for (size_t at = 0; end && at < sizeof(ends) / sizeof(*ends); at++)
		if (!strcmp(end, ends[at]))
			return true;
	return false;
}

static const char *unit_of(const char *told)
{
	return sn_begins_with(told, "byte")	    ? "bytes"
	       : sn_begins_with(told, "nanosecond") ? "ns"
						    : "1";
}

static bool check_metric(void *host, const char *chip, uint32_t index)
{
	const char *name = wish->names[index];
	struct sn_cupti_metric metric = {.of = SN_CUPTI_OF(struct sn_cupti_metric, type, host),
					 .name = name};
	if (wish->is_added && !is_sum(name))
		return wish->refuse(
		    name, " is no sum, average, least or greatest, so it does not add", "");
	sn_cupti_result error = sn_cupti_counters.cuptiProfilerHostGetMetricProperties(&metric);
	if (error == SN_CUPTI_ERROR_INVALID_METRIC_NAME)
		return wish->refuse(name, " is no counter of the chip ", chip);
	if (error)
		return sn_cuda_counters_fail("cuptiProfilerHostGetMetricProperties", error);
	if (wish->is_added && metric.type != SN_CUPTI_METRIC_COUNTER)
		return wish->refuse(name, " is a ratio, so it does not add", "");
	wish->tell_unit(index, unit_of(metric.unit));
	return true;
}

static sn_cupti_result new_host(const char *chip, void **host)
{
	struct sn_cupti_host parameters = {
	    .of = {SN_CUPTI_LENGTH(struct sn_cupti_host, host), NULL},
	    .type = wish->type,
	    .chip = chip};
	sn_cupti_result error = sn_cupti_counters.cuptiProfilerHostInitialize(&parameters);
	*host = error ? NULL : parameters.host;
	return error;
}

static void free_host(void *host)
{
	if (host)
		sn_cuda_counters_call(sn_cupti_counters.cuptiProfilerHostDeinitialize, host);
}

static sn_cupti_result add(void *host, uint32_t first, uint32_t count)
{
	struct sn_cupti_add_metrics adding = {
	    .of = SN_CUPTI_OF(struct sn_cupti_add_metrics, count, host),
	    .names = &wish->names[first],
	    .count = count};
	return sn_cupti_counters.cuptiProfilerHostConfigAddMetrics(&adding);
}

static sn_cupti_result try_some(const char *chip, uint32_t first, uint32_t count)
{
	void *host;
	sn_cupti_result error = new_host(chip, &host);
	if (!error)
		error = add(host, first, count);
	free_host(host);
	return error;
}

static bool refuse_one(uint32_t index, const char *how, sn_cupti_result error)
{
	char number[24];
	struct sn_line line = SN_LINE(number);
	sn_line_add_number(&line, (uint64_t)error);
	return wish->refuse(wish->names[index], how, number);
}

/* CUPTI does not say which it refuses: the first that it does not take alone, or else beside those before it. False. */
static bool refuse_list(const char *chip, sn_cupti_result error)
{
	sn_cupti_result of_one;
	for (uint32_t index = 0; index < wish->count; index++)
		if ((of_one = try_some(chip, index, 1)))
			return refuse_one(
			    index, " is refused by cuptiProfilerHostConfigAddMetrics with error ",
			    of_one);
	for (uint32_t index = 1; index < wish->count; index++)
		if ((of_one = try_some(chip, 0, index + 1)))
			return refuse_one(index,
					  " is refused beside those before it, by "
					  "cuptiProfilerHostConfigAddMetrics with error ",
					  of_one);
	return sn_cuda_counters_fail("cuptiProfilerHostConfigAddMetrics", error);
}

/* CUPTI may tell an unknown name only here. */
static bool add_metrics(void *host, const char *chip)
{
	for (uint32_t index = 0; index < wish->count; index++)
		if (!check_metric(host, chip, index))
			return false;
	sn_cupti_result error = add(host, 0, wish->count);
	return error ? refuse_list(chip, error) : true;
}

static bool make_image(struct sn_cuda_counter_list *list)
{
	struct sn_cupti_image_size size = {
	    .of = SN_CUPTI_OF(struct sn_cupti_image_size, image_bytes, list->host)};
	sn_cupti_result error = sn_cupti_counters.cuptiProfilerHostGetConfigImageSize(&size);
	if (error || !size.image_bytes || size.image_bytes > MOST_IMAGE_BYTES)
		return sn_cuda_counters_fail("cuptiProfilerHostGetConfigImageSize",
					     error ? error : SN_CUPTI_ERROR_END);
	list->image = sn_pages_map(size.image_bytes);
	if (!list->image)
		return wish->refuse("there is no memory for CUPTI's image", "", "");
	list->image_bytes = size.image_bytes;
	struct sn_cupti_image image = {.of = SN_CUPTI_OF(struct sn_cupti_image, image, list->host),
				       .image_bytes = list->image_bytes,
				       .image = list->image};
	error = sn_cupti_counters.cuptiProfilerHostGetConfigImage(&image);
	return error ? sn_cuda_counters_fail("cuptiProfilerHostGetConfigImage", error) : true;
}

static bool is_one_pass(const struct sn_cuda_counter_list *list)
{
	char number[24];
	struct sn_line line = SN_LINE(number);
	struct sn_cupti_passes passes = {
	    .of = {SN_CUPTI_LENGTH(struct sn_cupti_passes, passes), NULL},
	    .image_bytes = list->image_bytes,
	    .image = list->image};
	sn_cupti_result error = sn_cupti_counters.cuptiProfilerHostGetNumOfPasses(&passes);
	if (error)
		return sn_cuda_counters_fail("cuptiProfilerHostGetNumOfPasses", error);
	sn_line_add_number(&line, passes.passes);
	return passes.passes <= 1 || wish->refuse("the list needs ", number, wish->one_pass);
}

static bool make_host(struct sn_cuda_counter_list *list, const char *chip)
{
	sn_cupti_result error = new_host(chip, &list->host);
	if (error == SN_CUPTI_ERROR_NOT_INITIALIZED)
		return wish->refuse("CUPTI does not find libnvperf_host.so, which lies beside it",
				    "", "");
	return error ? wish->refuse("CUPTI does not know the chip ", chip, "") : true;
}

static void end_list(struct sn_cuda_counter_list *list)
{
	free_host(list->host);
	if (list->image)
		sn_pages_unmap(list->image, list->image_bytes);
	*list = (struct sn_cuda_counter_list){0};
}

static bool make(struct sn_cuda_counter_list *list, uint32_t device)
{
	struct sn_cupti_sized nothing = {SN_CUPTI_LENGTH(struct sn_cupti_sized, nothing), NULL};
	struct sn_cupti_chip chip = {.of = {SN_CUPTI_LENGTH(struct sn_cupti_chip, name), NULL},
				     .device = device};
	sn_cupti_result error = sn_cupti_counters.cuptiProfilerInitialize(&nothing);
	if (error)
		return sn_cuda_counters_fail("cuptiProfilerInitialize", error);
	error = sn_cupti_counters.cuptiDeviceGetChipName(&chip);
	if (error || !chip.name)
		return sn_cuda_counters_fail("cuptiDeviceGetChipName",
					     error ? error : SN_CUPTI_ERROR_END);
	return make_host(list, chip.name) && add_metrics(list->host, chip.name) &&
	       make_image(list) && is_one_pass(list);
}

const struct sn_cuda_counter_list *sn_cuda_counter_list(uint32_t device)
{
	if (device >= DEVICES)
		return NULL;
	struct sn_cuda_counter_list *list = &devices[device].list;
	if (!devices[device].was_tried && !make(list, device))
		end_list(list);
	devices[device].was_tried = true;
	return list->host ? list : NULL;
}

bool sn_cuda_counters_evaluate(uint32_t device, const uint8_t *data, size_t data_bytes,
			       size_t range, double *values)
{
	const struct sn_cuda_counter_list *list = sn_cuda_counter_list(device);
	if (!list)
		return false;
	struct sn_cupti_evaluation parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_evaluation, values, list->host),
	    .data = data,
	    .data_bytes = data_bytes,
	    .range = range,
	    .names = wish->names,
	    .count = wish->count,
	    .values = values};
	return !sn_cupti_counters.cuptiProfilerHostEvaluateToGpuValues(&parameters);
}

bool sn_cuda_counter_lists_begin(void *library, const struct sn_cuda_counter_wish *wanted)
{
	wish = wanted;
#define FIND(name, parameters)                                                                     \
	sn_cupti_counters.name = (sn_cupti_result(*) parameters)sn_real_dlsym(library, #name);     \
	if (!sn_cupti_counters.name)                                                               \
		return wish->refuse(#name, " is missing, which CUPTI has from 12.6 on", "");
	SN_CUPTI_COUNTER_FUNCTIONS(FIND)
#undef FIND
	return true;
}

void sn_cuda_counter_lists_end(void)
{
	for (uint32_t device = 0; device < DEVICES; device++)
		end_list(&devices[device].list);
}

void sn_cuda_counter_lists_forget(void)
{
	memset(devices, 0, sizeof(devices));
}
