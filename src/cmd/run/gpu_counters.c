/* SPDX-License-Identifier: Apache-2.0 */
/* The options --gpu-counters and --gpu-metrics: lists of names, which only the devices' own libraries can check further. */
#include "gpu_counters.h"

#include "base/text.h"
#include "cmd/command.h"
#include "collect/core/counter_limits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong with a name; NULL: nothing. */
static const char *fault_of(const char *name, size_t length)
{
	if (!length)
		return "has an empty name";
	if (length > SN_GPU_COUNTER_NAME_BYTES)
		return "has a name longer than 128 bytes";
	for (size_t at = 0; at < length; at++)
		if (!isalnum((unsigned char)name[at]) && !strchr("_.:[]()=", name[at]))
			return "has a name with another character than letters, digits and "
			       "_.:[]()=";
	return NULL;
}

static bool is_in(const char *name, size_t length, const char *text, const char *end)
{
	for (const char *at = text; at < end; at += strcspn(at, ",") + 1)
		if (strcspn(at, ",") == length && !memcmp(at, name, length))
			return true;
	return false;
}

/* The same of a list, up to a character of `ends` or its end. */
static const char *fault_of_list(const char *text, const char *ends)
{
	uint32_t count = 0;
	size_t list_length = strcspn(text, ends);
	if (!list_length)
		return "needs at least one name";
	for (const char *name = text;; count++) {
		size_t rest = list_length - (size_t)(name - text), length = strcspn(name, ",");
		length = length < rest ? length : rest;
		const char *fault = fault_of(name, length);
		if (fault)
			return fault;
		if (is_in(name, length, text, name))
			return "has a name twice";
		if (count == SN_GPU_COUNTERS_MOST)
			return "has more than 32 names";
		if (length == rest)
			return NULL;
		name += length + 1;
	}
}

int sn_run_gpu_counters(void *context, const struct sn_options *options, const char *text)
{
	const char *fault = fault_of_list(text, "");
	(void)options;
	if (fault)
		return sn_command_fail("cannot count: --gpu-counters '%s' %s", text, fault);
	((struct sn_launch_request *)context)->gpu_counters = text;
	return 0;
}

int sn_run_gpu_metrics(void *context, const struct sn_options *options, const char *text)
{
	const char *fault = fault_of_list(text, "@"), *rate = strchr(text, '@');
	char *end;
	(void)options;
	if (!fault && rate) {
		unsigned long number = strtoul(rate + 1, &end, 10);
		if (!isdigit((unsigned char)rate[1]) || *end || !number ||
		    number > SN_GPU_METRIC_RATE_MOST)
			fault = "has no rate of 1 to 100000 samples a second behind @";
	}
	if (fault)
		return sn_command_fail("cannot sample: --gpu-metrics '%s' %s", text, fault);
	((struct sn_launch_request *)context)->gpu_metrics = text;
	return 0;
}

static int refuse_both(const char *one, const char *other)
{
	return sn_command_fail(
	    "%s and %s exclude each other: both need the devices' performance monitors", one,
	    other);
}

int sn_run_gpu_counters_check(const struct sn_launch_request *launch)
{
	if (launch->gpu_counters && launch->gpu_samples)
		return refuse_both("--gpu-counters", "--gpu-samples");
	if (launch->gpu_metrics && (launch->gpu_samples || launch->gpu_counters))
		return refuse_both("--gpu-metrics",
				   launch->gpu_samples ? "--gpu-samples" : "--gpu-counters");
	return 0;
}

void sn_run_gpu_counters_tell(const struct sn_launch_request *launch)
{
	if (launch->gpu_counters)
		fprintf(stderr, "sonde: --gpu-counters: each kernel runs alone while it is "
				"counted: kernels that overlap otherwise take longer\n");
	if (launch->gpu_metrics)
		fprintf(stderr, "sonde: --gpu-metrics: whole devices are sampled, whoever uses "
				"them; each takes 64 MiB of the host's memory\n");
}

void sn_run_gpu_metrics_tell_none(const struct sn_launch_request *launch, const struct sonde_db *db)
{
	static const char before[] = "; no metrics over time: ";
	const char *cuda = sonde_db_property(db, "adapter.cuda"), *why = "no CUDA was used";
	char name[SN_GPU_COUNTER_NAME_BYTES + 1];
	if (!launch->gpu_metrics)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(launch->gpu_metrics, ",@"),
		 launch->gpu_metrics);
	if (sonde_db_metric_by_name(db, name) != SONDE_NONE)
		return;
	if (cuda)
		why = strstr(cuda, before) ? strstr(cuda, before) + strlen(before) : cuda;
	fprintf(stderr, "sonde: --gpu-metrics: nothing was sampled: %s\n", sn_shown(why).text);
}
