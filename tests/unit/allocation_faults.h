/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fails allocations of what is tested, one after the other. Included once, by the test itself; the
 * linker puts these functions in front of the C library's (wrap_allocation in meson.build).
 */
#ifndef ALLOCATION_FAULTS_H
#define ALLOCATION_FAULTS_H

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How many allocations still succeed; negative: all. */
static long allowed = -1;
static unsigned long refused;
static bool only_one; /* fails; else all that follow as well */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static bool is_refused(void)
{
	if (allowed < 0)
		return false;
	if (allowed-- > 0)
		return false;
	refused++;
	allowed = only_one ? -1 : 0;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return is_refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return is_refused() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return is_refused() ? NULL : __real_realloc(memory, bytes);
}

/* Around each try; both may be NULL. */
struct failing {
	void (*begin)(void);
	void (*expect)(void); /* after a failure */
};

static unsigned long fail_each_one_way(int (*action)(void), const struct failing *failing)
{
	for (long n = 0;; n++) {
		if (failing->begin)
			failing->begin();
		allowed = n;
		refused = 0;
		int result = action();
		allowed = -1;
		if (!refused) {
			assert_int_equal(result, 0);
			return (unsigned long)n;
		}
		if (result != SN_ERR_MEMORY)
			fail_msg("allocation %ld: result %d", n, result);
		if (failing->expect)
			failing->expect();
	}
}

/* Fails each allocation of the action alone, then with all that follow; how many there are. */
static unsigned long fail_each(int (*action)(void), const struct failing *failing)
{
	only_one = true;
	unsigned long count = fail_each_one_way(action, failing);
	only_one = false;
	assert_int_equal(fail_each_one_way(action, failing), count);
	return count;
}

#endif
