/* SPDX-License-Identifier: Apache-2.0 */
/* The option --gpu-counters: a list of names, which only the devices' own libraries can check further. */
#include "gpu_counters.h"

#include "cmd/command.h"
#include "collect/core/counter_limits.h"

#include <ctype.h>
#include <stdio.h>
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

int sn_run_gpu_counters(void *context, const struct sn_options *options, const char *text)
{
	static const char *const refused = "cannot count: --gpu-counters '%s' %s";
	uint32_t count = 0;
	(void)options;
	if (!*text)
		return sn_command_fail(refused, text, "needs at least one name");
	for (const char *name = text;; count++) {
		size_t length = strcspn(name, ",");
		const char *fault = fault_of(name, length);
		if (fault)
			return sn_command_fail(refused, text, fault);
		if (is_in(name, length, text, name))
			return sn_command_fail(refused, text, "has a name twice");
		if (count == SN_GPU_COUNTERS_MOST)
			return sn_command_fail(refused, text, "has more than 32 names");
		name += length;
		if (!*name++)
			break;
	}
	((struct sn_launch_request *)context)->gpu_counters = text;
	return 0;
}

int sn_run_gpu_counters_check(const struct sn_launch_request *launch)
{
	return launch->gpu_counters && launch->gpu_samples
		   ? sn_command_fail("--gpu-counters and --gpu-samples exclude each other: both "
				     "need the devices' performance monitors")
		   : 0;
}

void sn_run_gpu_counters_tell(const struct sn_launch_request *launch)
{
	if (launch->gpu_counters)
		fprintf(stderr, "sonde: --gpu-counters: each kernel runs alone while it is "
				"counted: kernels that overlap otherwise take longer\n");
}
