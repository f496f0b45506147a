/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in a library of their own, reached through lazily bound PLT entries, for
 * test_unwind_step. */
#include "unwind_step_cases.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int step_library_sort(int seed)
{
	int values[12];
	for (int index = 0; index < 12; index++)
		values[index] = seed = (seed * 1103515245 + 12345) & 0xffff;
	qsort(values, 12, sizeof(values[0]), compare);
	return values[3];
}

int step_library_first(int value)
{
	return step_library_second(value) + 1;
}

int step_library_second(int value)
{
	return value * 3;
}
