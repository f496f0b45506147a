/* SPDX-License-Identifier: Apache-2.0 */
/* perf-PID.map: what holds where code was replaced, names taken apart, lines of any form. */
#include "binary/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct sn_perf_map *map;
static struct sn_string_pool pool;

static char path[64];

static void write_map(const char *text, size_t length)
{
	strcpy(path, "/tmp/sonde-test-perf-map-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	close(fd);
}

static void open_map(const char *text)
{
	write_map(text, strlen(text));
	assert_int_equal(sn_perf_map_open(path, &map), SN_SYMBOL_SYMBOLS);
	unlink(path);
}

static int close_map(void **state)
{
	(void)state;
	sn_perf_map_free(map);
	map = NULL;
	unlink(path);
	rmdir(path);
	sn_string_pool_release(&pool);
	pool = (struct sn_string_pool){0};
	return 0;
}

static void assert_at(uint64_t address, const char *name, const char *file, uint32_t line)
{
	struct sn_perf_map_name found;
	assert_int_equal(sn_perf_map_find(map, &address, 1, &pool, &found), 0);
	if (!name) {
		assert_null(found.frame.name);
		return;
	}
	assert_string_equal(found.frame.name, name);
	assert_int_equal(found.frame.file != NULL, file != NULL);
	if (file)
		assert_string_equal(found.frame.file, file);
	assert_int_equal(found.frame.function_line, line);
	assert_true(found.start <= address);
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
	assert_at(0xffffffffffffffff, NULL, NULL, 0);
}

/* Against the rule itself, line by line: the latest that holds the address names it. */
static void test_many_at_once(void **state)
{
	(void)state;
	enum { LINES = 3000, SPACE = 4000 };
	static char text[LINES * 32];
	static int expected[SPACE]; /* the line, from 1 */
	static uint64_t addresses[SPACE];
	static struct sn_perf_map_name found[SPACE];
	size_t length = 0;
	uint32_t random = 12345;
	for (int line = 1; line <= LINES; line++) {
		random = random * 1103515245 + 12345;
		unsigned start = random >> 16 & 4095,
			 bytes = 1 + (random >> 8) % (line % 7 ? 9 : 900);
		length += (size_t)sprintf(text + length, "%x %x n%d\n", start, bytes, line);
		for (unsigned at = start; at < start + bytes && at < SPACE; at++)
			expected[at] = line;
	}
	open_map(text);
	for (int i = 0; i < SPACE; i++)
		addresses[i] = (uint64_t)i;
	assert_int_equal(sn_perf_map_find(map, addresses, SPACE, &pool, found), 0);
	for (int i = 0; i < SPACE; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%d", expected[i]);
		if (expected[i])
			assert_string_equal(found[i].frame.name, name);
		else
			assert_null(found[i].frame.name);
	}
}

/* Names longer than a block are cut; the line behind is found. One without an end counts nothing.
 */
static void test_long_lines(void **state)
{
	(void)state;
	enum { LONG = 1000000 };
	char *text = malloc(2 * LONG + 100);
	int head = sprintf(text, "1000 10 ");
	memset(text + head, 'x', LONG);
	int tail = sprintf(text + head + LONG, "\n2000 10 next\n3000 10 ") + head + LONG;
	memset(text + tail, 'y', LONG);
	text[tail + LONG] = 0;
	open_map(text);
	free(text);
	uint64_t addresses[] = {0x1005, 0x2005, 0x3005};
	struct sn_perf_map_name found[3];
	assert_int_equal(sn_perf_map_find(map, addresses, 3, &pool, found), 0);
	assert_in_range(strlen(found[0].frame.name), 4000, 4095);
	assert_string_equal(found[1].frame.name, "next");
	assert_null(found[2].frame.name);
}

/* A hole of 1 TB costs whoever makes it nothing. */
static void test_huge(void **state)
{
	(void)state;
	static const char text[] = "1000 10 first\n";
	write_map(text, sizeof(text) - 1);
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	assert_int_equal(sn_perf_map_open(path, &map), SN_SYMBOL_PARTIAL);
	assert_at(0x1000, "first", NULL, 0);
}

static void test_shrinks(void **state)
{
	(void)state;
	static const char text[] = "1000 10 first\n2000 10 second\n";
	write_map(text, sizeof(text) - 1);
	assert_int_equal(sn_perf_map_open(path, &map), SN_SYMBOL_SYMBOLS);
	assert_int_equal(truncate(path, 14), 0);
	assert_at(0x1000, "first", NULL, 0);
	assert_at(0x2000, NULL, NULL, 0);
}

static void test_no_files(void **state)
{
	(void)state;
	strcpy(path, "/tmp/sonde-test-perf-map-XXXXXX");
	assert_non_null(mkdtemp(path));
	assert_int_equal(sn_perf_map_open("/nonexistent", &map), SN_SYMBOL_NOT_FOUND);
	assert_int_equal(sn_perf_map_open(path, &map), SN_SYMBOL_NOT_FOUND);
	assert_int_equal(sn_perf_map_open("/dev/zero", &map), SN_SYMBOL_NOT_FOUND);
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sn_perf_map_open(path, &map), SN_SYMBOL_NOT_FOUND);
	unlink(path);
	assert_int_equal(symlink("/proc/self/maps", path), 0);
	assert_int_equal(sn_perf_map_open(path, &map), SN_SYMBOL_NOT_FOUND);
	assert_null(map);
}

static void test_of_another_user(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	write_map("1000 10 name\n", 13);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(sn_perf_map_open(path, &map), SN_SYMBOL_FOREIGN);
	assert_null(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_ranges, close_map),
	    cmocka_unit_test_teardown(test_later_lines_hold, close_map),
	    cmocka_unit_test_teardown(test_names_of_scripts, close_map),
	    cmocka_unit_test_teardown(test_damaged, close_map),
	    cmocka_unit_test_teardown(test_many_at_once, close_map),
	    cmocka_unit_test_teardown(test_long_lines, close_map),
	    cmocka_unit_test_teardown(test_huge, close_map),
	    cmocka_unit_test_teardown(test_shrinks, close_map),
	    cmocka_unit_test_teardown(test_no_files, close_map),
	    cmocka_unit_test_teardown(test_of_another_user, close_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
