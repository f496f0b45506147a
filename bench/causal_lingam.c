/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The causal order of columns, and how long it takes: causal-lingam FILE COLUMNS ROWS THREADS. The file has the doubles of one column after the
 * other. Prints the seconds without reading, and the numbers of the columns in their order.
 */
#include "base/clock.h"
#include "causal/lingam/lingam.h"

#include <stdio.h>
#include <stdlib.h>

static int fail(const char *text)
{
	fprintf(stderr, "causal-lingam: %s\n", text);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return fail("causal-lingam FILE COLUMNS ROWS THREADS");
	uint32_t count = (uint32_t)strtoul(argv[2], NULL, 10);
	size_t rows = strtoul(argv[3], NULL, 10);
	double *values = malloc(count * rows * sizeof(double) + 1);
	FILE *file = fopen(argv[1], "rb");
	if (!values || !file || fread(values, sizeof(double), count * rows, file) != count * rows)
		return fail("cannot read the columns");
	fclose(file);
	struct sn_lingam_options options = {.discovery_rate = 0.05,
					    .threads = (unsigned)strtoul(argv[4], NULL, 10)};
	struct sn_lingam lingam;
	struct sn_error error = {0};
	uint64_t start_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	if (sn_lingam(&lingam, values, count, rows, &options, &error))
		return fail(error.text);
	printf("%.6f\n", (double)(sn_clock_now_ns(CLOCK_MONOTONIC) - start_ns) / 1e9);
	for (uint32_t place = 0; place < count; place++)
		printf("%u ", lingam.order[place]);
	printf("\n%u not normal, %u pairs dependent\n", lingam.not_normal, lingam.dependent_pairs);
	sn_lingam_release(&lingam);
	free(values);
	return 0;
}
