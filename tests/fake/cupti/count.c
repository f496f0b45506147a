/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the half of CUPTI's counters that needs no device, NVIDIA's or the fake's, by the adapter's own declarations and code
 * (counter_list.c), and prints "bytes IMAGE" or why a list cannot be counted.
 * Usage: count LIBRARY CHIP [--over-time] NAME... for the chip of that name; --over-time: as PM sampling wants it.
 */
#include "collect/adapters/cuda/counter_list.h"
#include "collect/core/counter_limits.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *chip;
static const char *names[SN_GPU_COUNTERS_MOST], *units[SN_GPU_COUNTERS_MOST];

/* ---- what counter_list.c needs of the collector ---- */

void *sn_pages_map(size_t bytes)
{
	return calloc(1, bytes);
}

void sn_pages_unmap(void *pages, size_t bytes)
{
	(void)bytes;
	free(pages);
}

void *sn_real_dlsym(void *library, const char *name)
{
	return dlsym(library, name);
}

/* ---- who asks ---- */

static void tell_unit(uint32_t index, const char *unit)
{
	units[index] = unit;
}

static bool refuse(const char *why, const char *of_what, const char *how)
{
	printf("%s%s%s\n", why, of_what, how);
	return false;
}

/* Without a driver no device tells its chip. */
static sn_cupti_result chip_name(struct sn_cupti_chip *parameters)
{
	parameters->name = chip;
	return SN_CUPTI_SUCCESS;
}

static sn_cupti_result initialize(struct sn_cupti_sized *parameters)
{
	(void)parameters;
	return SN_CUPTI_SUCCESS;
}

int main(int argc, char **argv)
{
	bool is_over_time = argc > 3 && !strcmp(argv[3], "--over-time");
	static struct sn_cuda_counter_wish wish = {
	    .names = names, .tell_unit = tell_unit, .refuse = refuse};
	void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "usage: count LIBRARY CHIP [--over-time] NAME...: %s\n",
			argc > 3 ? dlerror() : "");
		return 129;
	}
	wish.type = is_over_time ? SN_CUPTI_PM_SAMPLING : SN_CUPTI_RANGE_PROFILER;
	wish.is_added = !is_over_time;
	wish.one_pass =
	    is_over_time ? " passes, and a moment has one" : " passes, and no kernel is run twice";
	chip = argv[2];
	for (int at = 3 + is_over_time; at < argc && wish.count < SN_GPU_COUNTERS_MOST; at++)
		names[wish.count++] = argv[at];
	if (!sn_cuda_counter_lists_begin(library, &wish))
		return 1;
	sn_cupti_counters.cuptiDeviceGetChipName = chip_name;
	sn_cupti_counters.cuptiProfilerInitialize = initialize;
	const struct sn_cuda_counter_list *list = sn_cuda_counter_list(0);
	if (!list)
		return 1;
	printf("bytes %zu\n", list->image_bytes);
	for (uint32_t at = 0; at < wish.count; at++)
		printf("%s %s\n", names[at], units[at]);
	sn_cuda_counter_lists_end();
	return 0;
}
