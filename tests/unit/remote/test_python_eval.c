/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an evaluation loop are looked for in files, which others may truncate meanwhile: then the loop's function alone is taken. */
#include "remote/python_eval.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { EVAL = 0x1000000, BYTES = 64 };

static int open_copy(char path[64])
{
	char bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	strcpy(path, "/tmp/sonde-eval-XXXXXX");
	int copy = mkstemp(path);
	assert_true(from >= 0 && copy >= 0);
	for (ssize_t got; (got = read(from, bytes, sizeof(bytes))) > 0;)
		assert_int_equal(write(copy, bytes, (size_t)got), got);
	close(from);
	return copy;
}

static void test_a_file_that_is_truncated(void **state)
{
	struct sn_recorded_image image;
	struct sn_address_range ranges[SN_EVAL_RANGES];
	char path[64];
	int copy = open_copy(path);
	(void)state;
	assert_true(sn_recorded_image_open_file(&image, copy));
	uintptr_t place = image.module.readable[0].start;
	assert_int_equal(ftruncate(copy, 0), 0);
	assert_int_equal(sn_python_eval_ranges(&image, place, EVAL, BYTES, ranges), 1);
	assert_int_equal(ranges[0].start, EVAL);
	assert_int_equal(ranges[0].end, EVAL + BYTES);
	sn_recorded_image_close(&image);
	close(copy);
	unlink(path);
}

static void test_without_an_image(void **state)
{
	struct sn_address_range ranges[SN_EVAL_RANGES];
	(void)state;
	assert_int_equal(sn_python_eval_ranges(NULL, 0, EVAL, BYTES, ranges), 1);
	assert_int_equal(ranges[0].end - ranges[0].start, BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_file_that_is_truncated),
	    cmocka_unit_test(test_without_an_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
