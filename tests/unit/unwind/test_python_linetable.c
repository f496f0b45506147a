/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's line tables: tables written by hand from the format's description, with what each
 * means, and every cut and every byte of them changed, which must do no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/python/linetable.h"

static const unsigned char lnotab[] = {0, 1, 6, 1, 50, 5, 6, 0xff, 255, 0, 45, 127, 0, 73};

static void lnotab_lines(void **state)
{
	static const struct {
		int offset, line;
	} expected[] = {{-1, 10}, {0, 11},  {5, 11},   {6, 12},	   {55, 12},   {56, 17},
			{61, 17}, {62, 16}, {361, 16}, {362, 216}, {9999, 216}};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(sn_linetable_line(SN_LINETABLE_LNOTAB, lnotab, sizeof(lnotab), 10,
						   expected[i].offset),
				 expected[i].line);
	assert_int_equal(sn_linetable_line(SN_LINETABLE_LNOTAB, NULL, 0, 10, 4), 10);
}

static const unsigned char ranges[] = {4, 0, 6, 2, 8, 0x80, 2, 0xff, 254, 127, 10, 127};

static void ranges_lines(void **state)
{
	static const struct {
		int offset, line;
	} expected[] = {{-2, 7}, {0, 7},  {3, 7},    {4, 9},	 {9, 9},     {10, 0},
			{17, 0}, {18, 8}, {20, 135}, {273, 135}, {274, 262}, {284, 0}};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(sn_linetable_line(SN_LINETABLE_RANGES, ranges, sizeof(ranges), 7,
						   expected[i].offset),
				 expected[i].line);
}

static const unsigned char locations[] = {
    0x80 | 15 << 3 | 0,				 /* 1 unit without a location */
    0x80 | 0 << 3 | 1,	0x12,			 /* 2 units on line 100 */
    0x80 | 11 << 3 | 7, 3,	  9,		 /* 8 units, one line on */
    0x80 | 14 << 3 | 0, 0x40 | 8, 0x02, 1, 2, 3, /* 1 unit, +68 (136 = 8 + 2 * 64), long form */
    0x80 | 13 << 3 | 2, 7,			 /* 3 units, -3, no columns */
    0x80 | 12 << 3 | 0, 5,	  6,		 /* 1 unit, two lines on */
};

static void location_lines(void **state)
{
	static const struct {
		int offset, line;
	} expected[] = {{-2, 100}, {0, 0},    {2, 100},	 {5, 100},  {6, 101},  {20, 101},
			{21, 101}, {22, 169}, {24, 166}, {28, 166}, {30, 168}, {32, 0}};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(sn_linetable_line(SN_LINETABLE_LOCATION, locations,
						   sizeof(locations), 100, expected[i].offset),
				 expected[i].line);
}

static void every_offset(enum sn_linetable_format format, const unsigned char *table, size_t bytes)
{
	for (int offset = -2; offset < 600; offset++)
		sn_linetable_line(format, table, bytes, 5, offset);
}

static void damaged(void **state)
{
	static const struct {
		const unsigned char *table;
		size_t bytes;
	} tables[] = {
	    {lnotab, sizeof(lnotab)}, {ranges, sizeof(ranges)}, {locations, sizeof(locations)}};

	for (unsigned format = 0; format < 3; format++) {
		for (size_t cut = 0; cut <= tables[format].bytes; cut++) {
			/* exact heap size: a sanitizer sees a read beyond the end */
			unsigned char *copy = malloc(cut ? cut : 1);
			memcpy(copy, tables[format].table, cut);
			every_offset(format, copy, cut);
			for (size_t i = 0; i < cut; i++) {
				copy[i] ^= 0xff;
				every_offset(format, copy, cut);
				copy[i] ^= 0xff;
			}
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lnotab_lines),
	    cmocka_unit_test(ranges_lines),
	    cmocka_unit_test(location_lines),
	    cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
