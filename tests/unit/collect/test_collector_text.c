/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's small texts (line.h): numbers, lists of names, characters, files. */
#include "collect/core/line.h"
#include "unwind/python/unicode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_numbers(void **state)
{
	uint64_t number;
	const char *text = "1990 rest";
	assert_ptr_equal(sn_parse_number(text, 10, &number), text + 4);
	assert_int_equal(number, 1990);
	text = "7fFf-";
	assert_ptr_equal(sn_parse_number(text, 16, &number), text + 4);
	assert_int_equal(number, 0x7fff);
	text = "-1";
	assert_ptr_equal(sn_parse_number(text, 10, &number), text);
	assert_int_equal(number, 0);
	text = "ffffffffffffffff0";
	assert_ptr_equal(sn_parse_number(text, 16, &number), text + 16);
	assert_true(number == UINT64_MAX);
	text = "9999999999999999999"; /* one digit more than surely fits */
	assert_ptr_equal(sn_parse_number(text, 10, &number), text + 18);
}

static void test_names(void **state)
{
	static const char *const names[] = {"python", "operator", "native"};
	assert_int_equal(sn_parse_names("native,python", names, 3), 5);
	assert_int_equal(sn_parse_names("nat,pythons,,operator", names, 3), 2);
	assert_int_equal(sn_parse_names("", names, 3), 0);
}

static void test_characters(void **state)
{
	static const struct {
		uint32_t character;
		const char *bytes;
	} known[] = {{'a', "a"},	  {0x7f, "\x7f"},	    {0x80, "\xc2\x80"},
		     {0x7ff, "\xdf\xbf"}, {0x20ac, "\xe2\x82\xac"}, {0x10ffff, "\xf4\x8f\xbf\xbf"}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char bytes[4];
		size_t length = sn_utf8_encode(known[i].character, bytes);
		assert_int_equal(length, strlen(known[i].bytes));
		assert_memory_equal(bytes, known[i].bytes, length);
	}
}

static void test_inodes(void **state)
{
	uint64_t inode;
	const char *text = "18446744073709551615   /usr/lib/libc.so.6";
	assert_ptr_equal(sn_parse_inode(text, &inode), text + 20);
	assert_true(inode == UINT64_MAX);
}

/* A pipe that somebody takes for a file keeps what is in it. */
static void test_pipes(void **state)
{
	int ends[2];
	char path[32], text[8];
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "hello", 5), 5);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	assert_int_equal(sn_read_text(AT_FDCWD, path, text, sizeof(text)), 0);
	assert_int_equal(read(ends[0], text, sizeof(text)), 5);
	close(ends[0]);
	close(ends[1]);
}

static void test_files(void **state)
{
	char text[8] = "before";
	errno = ENOTTY;
	assert_int_equal(sn_read_text(AT_FDCWD, "/proc/self/no such file", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(sn_read_text(AT_FDCWD, "/proc/self/status", text, sizeof(text)), 7);
	assert_memory_equal(text, "Name:\t", 6);
	assert_int_equal(text[7], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_numbers),    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_characters), cmocka_unit_test(test_inodes),
	    cmocka_unit_test(test_pipes),      cmocka_unit_test(test_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
