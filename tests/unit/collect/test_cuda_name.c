/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels: another text at an address is another name, but for the time in which one buffer is read. */
#include "collect/adapters/cuda/cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static char text[16];

static const char *name_of(const char *now)
{
	strcpy(text, now);
	return sn_cuda_name(text);
}

static void test_another_text_at_an_address(void **state)
{
	(void)state;
	const char *first = name_of("first");
	assert_string_equal(first, "first");
	assert_string_equal(name_of("second"), "second");
	assert_string_equal(first, "first");
	assert_ptr_equal(name_of("second"), name_of("second"));
	assert_null(sn_cuda_name(NULL));
}

static void test_another_text_in_another_buffer(void **state)
{
	static const char *const texts[] = {"scale", "add", "scale", "span"};
	(void)state;
	for (size_t buffer = 0; buffer < sizeof(texts) / sizeof(*texts); buffer++) {
		sn_cuda_names_begin();
		assert_string_equal(name_of(texts[buffer]), texts[buffer]);
		assert_string_equal(sn_cuda_name(text), texts[buffer]);
		sn_cuda_names_end();
	}
	/* of a module, or of samples: no buffer keeps it as it is */
	assert_string_equal(name_of("between"), "between");
	assert_string_equal(name_of("between two"), "between two");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_another_text_at_an_address),
	    cmocka_unit_test(test_another_text_in_another_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
