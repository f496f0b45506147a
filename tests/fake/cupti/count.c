/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the half of CUPTI's counters that needs no device, NVIDIA's or the fake's, by the adapter's own declarations and code
 * (counter_list.c), and prints "bytes IMAGE" or why a list cannot be counted.
 * Usage: count LIBRARY CHIP NAME... for the chip of that name.
 */
#include "collect/adapters/cuda/range_counters.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sn_config sn_config;
struct sn_cupti_counters sn_cupti_counters;
static const char *chip;
static const char *units[SN_GPU_COUNTERS_MOST];

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

void sn_gpu_counter_is_in(uint32_t index, const char *unit)
{
	units[index] = unit;
}

bool sn_cuda_counters_refuse(const char *why, const char *of_what, const char *how)
{
	printf("%s%s%s\n", why, of_what, how);
	return false;
}

bool sn_cuda_counters_fail(const char *function, sn_cupti_result error)
{
	printf("%s fails with error %d\n", function, error);
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
	void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "usage: count LIBRARY CHIP NAME...: %s\n",
			argc > 3 ? dlerror() : "");
		return 129;
	}
#define FIND(name, parameters)                                                                     \
	sn_cupti_counters.name = (sn_cupti_result(*) parameters)dlsym(library, #name);             \
	if (!sn_cupti_counters.name)                                                               \
		return printf(#name " is missing\n"), 1;
	SN_CUPTI_COUNTER_FUNCTIONS(FIND)
	sn_cupti_counters.cuptiDeviceGetChipName = chip_name;
	sn_cupti_counters.cuptiProfilerInitialize = initialize;
	chip = argv[2];
	for (int at = 3; at < argc && at < 3 + (int)SN_GPU_COUNTERS_MOST; at++)
		sn_config.gpu_counters[sn_config.gpu_counter_count++] = argv[at];
	const struct sn_cuda_counter_list *list = sn_cuda_counter_list(0);
	if (!list)
		return 1;
	printf("bytes %zu\n", list->image_bytes);
	for (uint32_t at = 0; at < sn_config.gpu_counter_count; at++)
		printf("%s %s\n", sn_config.gpu_counters[at], units[at]);
	sn_cuda_counter_lists_end();
	return 0;
}
