/* SPDX-License-Identifier: Apache-2.0 */
/* perf-PID.map: what holds where code was replaced, names taken apart, lines of any form. */
#include "binary/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct sn_perf_map *map;
static struct sn_string_pool pool;

static void open_map(const char *text)
{
	char path[] = "/tmp/sonde-test-perf-map-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(sn_perf_map_open(path, &map), 0);
	unlink(path);
}

static int close_map(void **state)
{
	(void)state;
	sn_perf_map_free(map);
	map = NULL;
	sn_string_pool_release(&pool);
	pool = (struct sn_string_pool){0};
	return 0;
}

static void assert_at(uint64_t address, const char *name, const char *file, uint32_t line)
{
	struct sn_symbol_frame frame = {0};
	uint64_t start = 0;
	bool found = sn_perf_map_find(map, address, &pool, &frame, &start);
	assert_int_equal(found, name != NULL);
	if (!name)
		return;
	assert_string_equal(frame.name, name);
	assert_int_equal(frame.file != NULL, file != NULL);
	if (file)
		assert_string_equal(frame.file, file);
	assert_int_equal(frame.function_line, line);
	assert_true(start <= address);
}

static void test_ranges(void **state)
{
	(void)state;
	open_map("2000 100 second\n1000 80 first one\n3000 10 short\n");
	assert_at(0xfff, NULL, NULL, 0);
	assert_at(0x1000, "first one", NULL, 0);
	assert_at(0x107f, "first one", NULL, 0);
	assert_at(0x1080, NULL, NULL, 0);
	assert_at(0x20ff, "second", NULL, 0);
	assert_at(0x3010, NULL, NULL, 0);
}

static void test_later_lines_hold(void **state)
{
	(void)state;
	open_map("1000 100 old\n1000 40 new\n1080 10 inside\n");
	assert_at(0x1010, "new", NULL, 0);
	assert_at(0x1050, "old", NULL, 0);
	assert_at(0x1085, "inside", NULL, 0);
	assert_at(0x1095, "old", NULL, 0);
}

static void test_names_of_scripts(void **state)
{
	(void)state;
	open_map(
	    "1000 10 JS:*inner /a b/work.js:3:5\n1010 10 JS:~ file:///x.mjs:12:1\n"
	    "1020 10 LazyCompile:^get native array.js:7:2\n1030 10 JS:*odd\n"
	    "1040 10 Lcom/example/Main;::run\n1050 10 JS:*name file:x:1x\n"
	    "1060 10 LazyCompile:~outer /tmp/work.js:7\n1070 10 LazyCompile:~ node:internal/a:12\n"
	    "1080 10 JS:*name :3:4\n1090 10 JS:*name 3\n");
	assert_at(0x1000, "inner", "/a b/work.js", 3);
	assert_at(0x1010, "(anonymous)", "file:///x.mjs", 12);
	assert_at(0x1020, "get", "native array.js", 7);
	assert_at(0x1030, "JS:*odd", NULL, 0);
	assert_at(0x1040, "Lcom/example/Main;::run", NULL, 0);
	assert_at(0x1050, "JS:*name file:x:1x", NULL, 0);
	assert_at(0x1060, "outer", "/tmp/work.js", 7); /* Node 18 tells no column */
	assert_at(0x1070, "(anonymous)", "node:internal/a", 12);
	assert_at(0x1080, "JS:*name :3:4", NULL, 0);
	assert_at(0x1090, "JS:*name 3", NULL, 0);
}

static void test_damaged(void **state)
{
	(void)state;
	open_map(
	    "\nzz 10 no\n1000\n1000 \n1000 10\n1000 10 \n1000 0 empty\nffffffffffffffff 10 round\n"
	    "5000 10 good\n6000 10 cut off in this li");
	assert_at(0x1000, NULL, NULL, 0);
	assert_at(0x5005, "good", NULL, 0);
	assert_at(0x6000, NULL, NULL, 0);
	struct sn_perf_map *none = NULL;
	assert_int_equal(sn_perf_map_open("/nonexistent", &none), SN_ERR_IO);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_ranges, close_map),
	    cmocka_unit_test_teardown(test_later_lines_hold, close_map),
	    cmocka_unit_test_teardown(test_names_of_scripts, close_map),
	    cmocka_unit_test_teardown(test_damaged, close_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
