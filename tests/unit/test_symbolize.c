/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to functions, on this test's own program and on damaged copies of it. */
#include "binary/symbolize.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

int sn_test_landmark(int x);
__attribute__((noinline)) int sn_test_landmark(int x)
{
	return x * 3;
}

static uint64_t own_bias(void)
{
	return _r_debug.r_map->l_addr;
}

static struct sn_symbolizer *new_symbolizer(void)
{
	struct sn_symbolizer *symbolizer;
	struct sn_symbolizer_options options = {.cache_folder = ""};
	assert_int_equal(sn_symbolizer_new(&options, &symbolizer, NULL), 0);
	return symbolizer;
}

static void finds_an_own_function(void **state)
{
	struct sn_symbolizer *symbolizer = new_symbolizer();
	struct sn_symbol_location location;
	uint32_t module;
	uint64_t start = (uint64_t)(uintptr_t)sn_test_landmark - own_bias(), address = start + 1;
	assert_int_equal(sn_symbolizer_module(symbolizer, "/proc/self/exe", NULL, 0, 0, &module),
			 0);
	assert_int_equal(sn_symbolizer_lookup(symbolizer, module, &address, 1, &location), 0);
	assert_string_equal(location.frames[0].name, "sn_test_landmark");
	assert_int_equal(location.function_start, start);
	sn_symbolizer_free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_an_own_function),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
