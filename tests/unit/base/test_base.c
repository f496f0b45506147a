/* SPDX-License-Identifier: Apache-2.0 */
/* The ground floor: tables, searches, heaps, buffers, spills, sorting, threads, escapes, arenas. */
#include "../allocation_faults.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/escape.h"
#include "base/file_at.h"
#include "base/fixed_table.h"
#include "base/heap.h"
#include "base/intern.h"
#include "base/output.h"
#include "base/pool.h"
#include "base/external_sort.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/spill.h"
#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct failing nothing;

/* The same numbers in each run (Knuth's MMIX generator). */
static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

/* ---- tables ---- */

enum { KEYS = 20000 };

/* Pairs, few of whose bits differ, as of contexts; and keys that differ in the upper bits alone. */
static uint64_t key_of(uint32_t number)
{
	return number % 2 ? sn_table_pair(number / 200, number % 200) : (uint64_t)number << 40;
}

static void test_table_numbers(void **state)
{
	struct sn_table table = {0};
	assert_int_equal(sn_table_find(&table, 0), SN_TABLE_NONE);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < KEYS; i++)
			assert_int_equal(sn_table_add(&table, key_of(i)), i);
		for (uint32_t i = 0; i < KEYS; i++) {
			assert_int_equal(sn_table_add(&table, key_of(i)), i);
			assert_int_equal(sn_table_find(&table, key_of(i)), i);
		}
		assert_int_equal(table.count, KEYS);
		assert_int_equal(sn_table_find(&table, UINT64_MAX), SN_TABLE_NONE);
		sn_table_clear(&table);
		assert_int_equal(sn_table_find(&table, key_of(1)), SN_TABLE_NONE);
	}
	sn_table_release(&table);
	assert_false(sn_table_remove(&table, 1));
}

/* Slots wrap around at the end of the table: small tables have many that do. */
static void test_table_removes(void **state)
{
	for (uint32_t count = 1; count < 400; count++) {
		struct sn_table table = {0};
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(sn_table_put(&table, key_of(i), 7 * i), 0);
		uint32_t most = table.room + table.count;
		for (uint32_t i = 0; i < count; i += 3)
			assert_true(sn_table_remove(&table, key_of(i)));
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(sn_table_find(&table, key_of(i)),
					 i % 3 ? 7 * i : SN_TABLE_NONE);
		assert_false(sn_table_remove(&table, key_of(0)));
		assert_int_equal(table.room + table.count, most);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(sn_table_put(&table, key_of(i), i), 0);
		assert_int_equal(table.count, count);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(sn_table_find(&table, key_of(i)), i);
		sn_table_release(&table);
	}
}

SN_FIXED_TABLE(few, uint64_t, uint8_t, 7);
SN_FIXED_TABLE(one, uint32_t, uint8_t, 0);

/* All keys that fit are told apart, however they hash, and those that are there are found in a full
 * table. */
static void test_fixed_table(void **state)
{
	struct few table;
	struct one single;
	memset(&table, 0xff, sizeof(table));
	for (int round = 0; round < 2; round++) {
		few_clear(&table);
		for (int again = 0; again < 2; again++)
			for (uint32_t i = 0; i < 128; i++)
				assert_int_equal(few_add(&table, key_of(i)), i);
		assert_int_equal(few_add(&table, key_of(128)), SN_FIXED_TABLE_NONE);
		assert_int_equal(table.count, 128);
		assert_true(table.keys[127] == key_of(127));
	}
	one_clear(&single);
	assert_int_equal(one_add(&single, UINT32_MAX), 0);
	assert_int_equal(one_add(&single, 0), SN_FIXED_TABLE_NONE);
	assert_int_equal(one_add(&single, UINT32_MAX), 0);
}

/* ---- order ---- */

static void test_intern_items(void **state)
{
	struct sn_intern names = {0};
	struct item {
		int count, first;
	} *items = NULL;
	size_t capacity = 0;
	for (int i = 0; i < 100; i++) {
		int key = i % 40;
		uint32_t number =
		    sn_intern_item(&names, &key, sizeof(key), &items, &capacity, {.first = i});
		assert_int_equal(number, key);
		items[number].count++;
	}
	assert_int_equal(names.count, 40);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(items[i].first, i);
		assert_int_equal(items[i].count, i < 20 ? 3 : 2);
	}
	sn_intern_release(&names);
	free(items);
}

static void test_search(void **state)
{
	const uint32_t numbers[] = {2, 4, 4, 4, 9};
	const struct {
		uint64_t start;
		int other;
	} items[] = {{2, 0}, {4, 0}, {4, 0}, {4, 0}, {9, 0}};
	const size_t first[] = {0, 0, 0, 1, 1, 4, 4, 4, 4, 4, 5};
	const size_t behind[] = {0, 0, 1, 1, 4, 4, 4, 4, 4, 5, 5};
	for (uint32_t value = 0; value <= 10; value++) {
		const uint32_t count = 5;
		assert_int_equal(sn_search(i, count, numbers[i] < value), first[value]);
		assert_int_equal(sn_search(i, count, items[i].start <= value), behind[value]);
		assert_int_equal(sn_search_from(i, 4, count, numbers[i] < value),
				 value > 9 ? 5 : 4);
	}
	assert_int_equal(sn_search(i, (size_t)0, numbers[i] < 1), 0);
	/* no index overflows */
	assert_int_equal(sn_search(i, UINT32_MAX, i < UINT32_MAX - 1), UINT32_MAX - 1);
}

struct interval {
	uint64_t end;
	uint32_t number;
};
SN_HEAP(ends, struct interval, const void *, a->end < b->end);
SN_HEAP(feeds, uint32_t, const uint64_t *, of[*a] < of[*b]);

static void test_heap(void **state)
{
	struct interval heap[300];
	uint64_t random = 1, last = 0;
	size_t count = 0;
	for (uint32_t i = 0; i < 300; i++)
		ends_push(heap, &count, (struct interval){next_number(&random) % 100, i}, NULL);
	for (size_t left = 300; left; left--) {
		assert_int_equal(count, left);
		assert_true(heap[0].end >= last);
		last = heap[0].end;
		ends_pop(heap, &count, NULL);
	}
	assert_int_equal(count, 0);
}

/* Five feeds: the multiples of 2, 3, 5, 7, 11 below 1000, merged. */
static void test_heap_merges(void **state)
{
	const uint64_t steps[] = {2, 3, 5, 7, 11};
	uint64_t heads[] = {2, 3, 5, 7, 11}, last = 0;
	uint32_t heap[] = {4, 3, 2, 1, 0};
	size_t count = 5, merged = 0;
	feeds_build(heap, count, heads);
	for (; count; merged++) {
		uint64_t *head = heads + heap[0];
		assert_true(*head >= last);
		last = *head;
		*head += steps[heap[0]];
		if (*head < 1000)
			feeds_sink(heap, count, 0, heads);
		else
			feeds_pop(heap, &count, heads);
	}
	assert_int_equal(merged, 499 + 333 + 199 + 142 + 90);
}

static int compare(const void *left, const void *right)
{
	return SN_ORDER(*(const uint64_t *)left, *(const uint64_t *)right);
}

static void test_sort(void **state)
{
	static uint64_t numbers[5000], expected[5000], other[5000];
	const size_t counts[] = {0, 1, 2, 255, 256, 5000};
	uint64_t random = 2;
	for (size_t c = 0; c < 6; c++) {
		size_t count = counts[c];
		for (size_t i = 0; i < count; i++)
			numbers[i] = expected[i] = next_number(&random) << i % 20;
		qsort(expected, count, sizeof(*expected), compare);
		sn_sort_u64(numbers, count);
		assert_memory_equal(numbers, expected, count * sizeof(*numbers));
		/* few upper halves, so that order of arrival shows */
		for (size_t i = 0; i < count; i++)
			numbers[i] = expected[i] = (next_number(&random) % 50) << 32 | i;
		qsort(expected, count, sizeof(*expected), compare);
		sn_sort_keys(numbers, other, count);
		assert_memory_equal(numbers, expected, count * sizeof(*numbers));
	}
	uint64_t twice[] = {1, 1, 2, 5, 5, 5, 8};
	assert_int_equal(sn_sort_unique(twice, 7), 4);
	assert_memory_equal(twice, ((uint64_t[]){1, 2, 5, 8}), 4 * sizeof(*twice));
	assert_int_equal(sn_sort_unique(twice, 0), 0);
	assert_true(sn_sort_median((double[]){3, -1, 2}, 3) == 2);
	assert_true(sn_sort_median((double[]){4, 3, -1, 2}, 4) == 2.5);
	assert_int_equal(SN_ORDER(1, 2.5), -1);
	/* by the first field in which they differ, also within a part; equal in all that are named
	 */
	struct ordered {
		struct {
			double least;
		} range;
		uint64_t f[22];
	} a = {.f = {[21] = 1}}, b = {.f = {[0] = 1, [19] = 1}};
	assert_int_equal(SN_ORDER_BY(&a, &b, f[1]), 0);
	assert_int_equal(SN_ORDER_BY(&a, &b, f[1], f[0], f[21]), -1);
	assert_int_equal(SN_ORDER_BY(&a, &b, f[1], f[21], f[0]), 1);
	assert_int_equal(SN_ORDER_BY(&a, &b, f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9],
				     f[10], f[11], f[12], f[13], f[14], f[15], f[16], f[17], f[18],
				     f[20], f[19]),
			 -1);
	b.range.least = -0.5;
	assert_int_equal(SN_ORDER_BY(&a, &b, range.least, f[0]), 1);
	assert_int_equal(sn_order_then(0, -1), -1);
	assert_int_equal(sn_order_then(1, -1), 1);
}

SN_SORT_BY(sort_intervals, struct interval, const void *,
	   SN_ORDER(b->end, a->end) ?: SN_ORDER(a->number, b->number));
SN_SORT_BY(sort_numbers, uint32_t, const struct interval *, SN_ORDER(of[*a].end, of[*b].end));

static void test_sort_by(void **state)
{
	struct interval intervals[] = {{5, 1}, {9, 2}, {7, 3}, {9, 0}, {1, 4}};
	const uint32_t expected[] = {0, 2, 3, 1, 4};
	uint32_t numbers[] = {0, 1, 2, 3, 4};
	sort_numbers(numbers, 3, intervals);
	assert_memory_equal(numbers, ((uint32_t[]){0, 2, 1, 3, 4}), sizeof(numbers));
	sort_intervals(intervals, 5, NULL);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(intervals[i].number, expected[i]);
	sort_intervals(NULL, 0, NULL);
}

SN_MERGE_SORT(merge_intervals, struct interval, const void *, b->end < a->end);

static void test_merge_sort(void **state)
{
	enum { COUNT = 1000 };
	for (uint64_t kinds = 1; kinds <= 2 * COUNT; kinds *= 5) { /* many equal ones, then few */
		uint64_t random = kinds;
		struct interval *items = calloc(COUNT, sizeof(*items));
		for (uint32_t i = 0; i < COUNT; i++)
			items[i] = (struct interval){next_number(&random) % kinds, i};
		assert_int_equal(merge_intervals(&items, COUNT, NULL), 0);
		for (size_t i = 1; i < COUNT; i++)
			assert_true(items[i - 1].end < items[i].end ||
				    (items[i - 1].end == items[i].end &&
				     items[i - 1].number < items[i].number));
		struct interval *before = items;
		allowed = 0;
		assert_int_equal(merge_intervals(&items, COUNT, NULL), SN_ERR_MEMORY);
		allowed = -1;
		assert_ptr_equal(items, before);
		free(items);
	}
	struct interval *none = NULL;
	assert_int_equal(merge_intervals(&none, 0, NULL), 0);
	assert_null(none);
}

static void expect_sorted(size_t memory_bytes, size_t count, size_t runs_at_least)
{
	struct sn_external_sort sort;
	struct sn_error error = {""};
	uint64_t random = 3, sum = 0, record[3], last[3] = {0};
	size_t read = 0;
	sn_external_sort_init(&sort, 3, 2, memory_bytes);
	for (size_t i = 0; i < count; i++) {
		uint64_t added[] = {next_number(&random) % 100, next_number(&random), i};
		sum += i;
		assert_int_equal(sn_external_sort_add(&sort, added, &error), 0);
	}
	assert_int_equal(sn_external_sort_finish(&sort, &error), 0);
	assert_true(sort.run_count >= runs_at_least);
	assert_int_equal(sort.total, count);
	for (; sn_external_sort_next(&sort, record, &error) > 0; read++) {
		assert_true(
		    sn_order_then(SN_ORDER(last[0], record[0]), SN_ORDER(last[1], record[1])) <= 0);
		memcpy(last, record, sizeof(last));
		sum -= record[2];
	}
	assert_int_equal(read, count);
	assert_int_equal(sum, 0);
	sn_external_sort_release(&sort);
}

static void test_runs(void **state)
{
	expect_sorted(1 << 20, 0, 0);
	expect_sorted(1 << 20, 1000, 1);
	/* more than a buffer holds of each */
	expect_sorted(128 << 10, 50000, 10);
}

/* ---- bytes ---- */

static void test_buffer(void **state)
{
	struct sn_buffer buffer = {0};
	assert_string_equal(sn_buffer_string(&buffer), "");
	sn_buffer_varint(&buffer, 0);
	sn_buffer_varint(&buffer, 300);
	sn_buffer_varint(&buffer, UINT64_MAX);
	sn_buffer_number(&buffer, 0x1234567, 3);
	sn_buffer_align(&buffer, 8);
	sn_buffer_align(&buffer, 8);
	sn_buffer_patch(&buffer, 14, 0x89ab, 2);
	static const unsigned char expected[] = {0,    0xac, 2,	   0xff, 0xff, 0xff, 0xff, 0xff,
						 0xff, 0xff, 0xff, 0xff, 1,    0x67, 0xab, 0x89};
	assert_int_equal(buffer.count, sizeof(expected));
	assert_memory_equal(buffer.bytes, expected, sizeof(expected));
	sn_buffer_cut(&buffer, 0);
	for (unsigned i = 0; i < 1000; i++) {
		sn_buffer_print(&buffer, "%u,", i);
		sn_buffer_byte(&buffer, ' ');
		sn_buffer_text(&buffer, i % 2 ? "odd" : "even");
	}
	assert_int_equal(strncmp(sn_buffer_string(&buffer), "0, even1, odd2, even", 20), 0);
	assert_int_equal(strlen(sn_buffer_string(&buffer)), buffer.count);
	assert_int_equal(buffer.count, 10 + 2 * 90 + 3 * 900 + 2 * 1000 + 4 * 500 + 3 * 500);
	sn_buffer_print(&buffer, "%5000d", 1);
	char *text = sn_buffer_detach(&buffer);
	assert_string_equal(text + strlen(text) - 4, "   1");
	free(text);
	assert_null(buffer.bytes);
	text = sn_buffer_detach(&buffer);
	assert_string_equal(text, "");
	free(text);
}

static void test_cursor(void **state)
{
	static uint8_t bytes[] = {0x34, 0x12, 0xe5, 0x8e, 0x26, 0x80, 0x7f, 2, 'a', 0, 'b'};
	struct sn_bytes all = {bytes, sizeof(bytes)};
	struct sn_cursor cursor = sn_cursor_at(all, 0);
	assert_int_equal(sn_cursor_u16(&cursor), 0x1234);
	assert_int_equal(sn_cursor_uleb(&cursor), 624485);
	assert_int_equal(sn_cursor_sleb(&cursor), -128);
	struct sn_cursor part = sn_cursor_slice(&cursor, sn_cursor_u8(&cursor));
	assert_string_equal(sn_cursor_string(&part), "a");
	assert_int_equal(sn_cursor_left(&part), 0);
	assert_int_equal(sn_cursor_u8(&part), 0);
	assert_true(part.failed);
	assert_false(cursor.failed);
	/* of what there is too little both have failed, and a string that does not end is none */
	part = cursor;
	assert_null(sn_cursor_string(&part));
	part = sn_cursor_slice(&cursor, 2);
	assert_true(part.failed && cursor.failed);
	assert_int_equal(sn_cursor_left(&part), 0);
	assert_true(sn_cursor_at(all, sizeof(bytes) + 1).failed);

	assert_int_equal(sn_bytes_slice(all, 8, 3).size, 3);
	assert_ptr_equal(sn_bytes_slice(all, 8, 3).data, bytes + 8);
	assert_null(sn_bytes_slice(all, 8, 4).data);
	assert_null(sn_bytes_slice(all, 12, 0).data);
	assert_null(sn_bytes_slice(all, 1, UINT64_MAX).data);
	assert_string_equal(sn_bytes_string((struct sn_bytes){bytes + 8, 2}, 0), "a");
	assert_null(sn_bytes_string((struct sn_bytes){bytes + 8, 2}, 2));
}

static void test_buffer_remembers_failure(void **state)
{
	struct sn_buffer buffer = {0};
	sn_buffer_text(&buffer, "kept");
	assert_null(sn_buffer_room(&buffer, SIZE_MAX));
	assert_null(sn_buffer_room(&buffer, SIZE_MAX / 2));
	sn_buffer_text(&buffer, "lost or not");
	assert_true(buffer.failed);
	assert_null(sn_buffer_detach(&buffer));
	assert_false(buffer.failed);
}

static void test_escape(void **state)
{
	static const char text[] = "a<b c=\"&\\\">\x1b\n\xc3\xa9\xff\xe2\x80\xae.";
	static const char *const expected[] = {
	    [SN_ESCAPE_SHOWN] = "a<b c=\"&\\\">? \xc3\xa9?\\u202e.",
	    [SN_ESCAPE_QUOTED] = "a<b c=\\\"&\\\\\\\">? \xc3\xa9?\\\\u202e.",
	    [SN_ESCAPE_CELL] = "a<b c=\"\"&\\\"\">? \xc3\xa9?\\u202e.",
	    [SN_ESCAPE_MARKUP] = "a&lt;b c=&quot;&amp;\\&quot;&gt;? \xc3\xa9?\\u202e.",
	    [SN_ESCAPE_JSON] = "a<b c=\\\"&\\\\\\\">\\u001b\\u000a\xc3\xa9\\ufffd\\u202e.",
	};
	for (int how = SN_ESCAPE_SHOWN; how <= SN_ESCAPE_JSON; how++) {
		struct sn_buffer put = {0};
		char *written = NULL, shown[SN_ESCAPED], quoted[200];
		size_t length = 0;
		snprintf(quoted, sizeof(quoted), "\"%s\"%s", expected[how], expected[how]);
		FILE *out = open_memstream(&written, &length);
		sn_quote_write(out, (enum sn_escape)how, text);
		sn_escape_write(out, (enum sn_escape)how, text);
		fclose(out);
		assert_string_equal(written, quoted);
		sn_quote_put(&put, (enum sn_escape)how, text);
		for (const char *at = text; *at; sn_buffer_text(&put, shown))
			at += sn_escape_next((enum sn_escape)how, at, shown);
		assert_string_equal(sn_buffer_string(&put), quoted);
		free(written);
		sn_buffer_release(&put);
	}
}

static void test_output_stream(void **state)
{
	char path[64], text[32] = "";
	struct sn_output output;
	struct sn_error error = {""};
	snprintf(path, sizeof(path), "/tmp/sonde-test-output-%d", (int)getpid());
	assert_int_equal(sn_output_open(&output, path, &error), 0);
	FILE *stream = sn_output_stream(&output);
	assert_non_null(stream);
	fprintf(stream, "%d and %s", 7, "more");
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(sn_output_commit(&output, &error), 0);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, "7 and more");
	fclose(file);
	unlink(path);
	assert_int_equal(sn_output_open(&output, "/dev/full", &error), 0);
	stream = sn_output_stream(&output);
	for (int i = 0; i < 100000; i++)
		fputs("0123456789", stream);
	assert_int_not_equal(fclose(stream), 0);
	assert_int_equal(sn_output_commit(&output, &error), SN_ERR_IO);
}

static void test_arena(void **state)
{
	struct sn_arena arena = {0};
	for (int round = 0; round < 2; round++) {
		char *first = sn_arena_text(&arena, "first");
		for (size_t bytes = 1; bytes < 60000; bytes += bytes / 2 + 1) {
			unsigned char *piece = sn_arena_allocate(&arena, bytes);
			assert_int_equal((uintptr_t)piece % 8, 0);
			for (size_t i = 0; i < bytes; i++)
				assert_int_equal(piece[i], 0);
			memset(piece, 0xff, bytes);
		}
		uint64_t *numbers = sn_arena_array(&arena, uint64_t, 10);
		assert_int_equal(numbers[9], 0);
		assert_string_equal(sn_arena_print(&arena, "%s-%d", first, 12), "first-12");
		assert_string_equal(sn_arena_copy(&arena, "cut off", 3), "cut");
		assert_null(sn_arena_text(&arena, NULL));
		assert_string_equal(first, "first");
		assert_false(arena.failed);
		sn_arena_clear(&arena);
	}
	assert_null(sn_arena_allocate(&arena, SIZE_MAX));
	assert_null(sn_arena_array(&arena, uint64_t, SIZE_MAX / 4));
	assert_true(arena.failed);
	sn_arena_release(&arena);
	assert_false(arena.failed);
}

static void test_text(void **state)
{
	char name[3000];
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = 0;
	assert_string_equal(sn_shown("a\nb\xff").text, "a b?");
	assert_true(strlen(sn_shown(name).text) > 1000);
	assert_true(sn_text_begins("abc", "ab") && sn_text_begins("abc", ""));
	assert_false(sn_text_begins("a", "ab"));
	assert_true(sn_text_ends("a.db", ".db") && sn_text_ends("a.db", ""));
	assert_false(sn_text_ends("b", ".db"));
	assert_string_equal(sn_text_base_name("/usr/lib/x.so"), "x.so");
	assert_string_equal(sn_text_base_name("x.so"), "x.so");
	assert_string_equal(sn_text_base_name("lib/"), "");
}

static void test_vec(void **state)
{
	struct interval *items = NULL;
	size_t capacity = 0;
	uint32_t count = 0;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(sn_vec_push(&items, &capacity, &count, (struct interval){i, 7}),
				 0);
	assert_int_equal(count, 1000);
	assert_int_equal(items[999].end, 999);
	assert_int_equal(items[0].number, 7);
	/* what it grows by is zero, what was there stays */
	assert_int_equal(sn_vec_reserve_zeroed(&items, &capacity, 3 * capacity), 0);
	for (size_t i = 2 * capacity / 3; i < capacity; i++)
		assert_true(!items[i].end && !items[i].number);
	assert_int_equal(items[999].end, 999);
	assert_int_equal(sn_vec_reserve_zeroed(&items, &capacity, SIZE_MAX / 4), -1);
	free(items);
}

static void test_error(void **state)
{
	struct sn_error error = {""};
	assert_int_equal(sn_fail_code(&error, 0), 0);
	assert_int_equal(sn_fail_code(&error, SN_ERR_IO), SN_ERR_IO);
	assert_string_equal(error.text, "");
	assert_int_equal(sn_fail_code(&error, SN_ERR_MEMORY), SN_ERR_MEMORY);
	assert_string_equal(error.text, "out of memory");
	assert_int_equal(sn_fail_memory(NULL), SN_ERR_MEMORY);
}

/* ---- files and threads ---- */

static void test_file_at(void **state)
{
	int fd = memfd_create("file_at", MFD_CLOEXEC), pipes[2];
	char got[8] = "";
	assert_true(fd >= 0);
	assert_int_equal(sn_write_at(fd, "sonde", 5, 3), 0);
	assert_int_equal(sn_write_at(fd, NULL, 0, 100), 0);
	assert_int_equal(sn_read_at(fd, got, 8, 0), 0);
	assert_memory_equal(got, "\0\0\0sonde", 8);
	assert_int_equal(sn_read_at(fd, got, 3, 5), 0);
	assert_memory_equal(got, "nde", 3);
	assert_int_equal(sn_read_at(fd, got, 2, 7), ENODATA);
	close(fd);
	assert_int_equal(sn_read_at(fd, got, 1, 0), EBADF);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(sn_write_at(pipes[1], "x", 1, 0), ESPIPE);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_spill(void **state)
{
	struct sn_spill spill = {.folder = sn_spill_folder(NULL), .fd = -1};
	struct sn_error error = {""};
	enum { WORDS = 100000, LARGE = 40000 }; /* 800,000 bytes, then 320,000 at once */
	static uint32_t large[LARGE * 2], read[LARGE * 2];
	for (uint64_t i = 0; i < WORDS; i++)
		sn_spill_write(&spill, &i, sizeof(i));
	for (uint32_t i = 0; i < LARGE * 2; i++)
		large[i] = i * 3;
	sn_spill_write(&spill, large, sizeof(large));
	sn_spill_write(&spill, "end", 3);
	assert_int_equal(sn_spill_finish(&spill, &error), 0);
	assert_int_equal(spill.length, WORDS * 8 + sizeof(large) + 3);
	uint64_t word = 0;
	for (uint64_t i = 0; i < WORDS; i += 777) {
		assert_int_equal(sn_spill_read(&spill, &word, 8, i * 8, &error), 0);
		assert_int_equal(word, i);
	}
	assert_int_equal(sn_spill_read(&spill, read, sizeof(read), WORDS * 8, &error), 0);
	assert_memory_equal(read, large, sizeof(large));
	assert_int_equal(sn_spill_read(&spill, &word, 4, spill.length - 3, &error), SN_ERR_IO);
	assert_string_equal(error.text, "cannot read a temporary file: it is shorter than it was");
	sn_spill_close(&spill);
}

static void test_spill_remembers_failure(void **state)
{
	struct sn_spill spill = {.folder = "/nonexistent", .fd = -1};
	struct sn_error error = {""};
	sn_spill_write(&spill, "a", 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sn_spill_finish(&spill, &error), SN_ERR_IO);
	assert_string_equal(
	    error.text,
	    "cannot write a temporary file in '/nonexistent': No such file or directory");
	sn_spill_close(&spill);
	assert_int_equal(sn_spill_open_beside(&spill, "/nonexistent/out", &error), SN_ERR_IO);
	assert_string_equal(error.text,
			    "cannot write '/nonexistent/out': No such file or directory");
	sn_spill_close(&spill);
	/* beside a device nothing can be */
	assert_int_equal(sn_spill_open_beside(&spill, "/dev/null", &error), 0);
	sn_spill_close(&spill);
}

struct sharing {
	struct sn_spill spill;
	uint64_t offsets[200];
	uint64_t by_worker[4];
};

static int append_one(void *context, unsigned worker, size_t item)
{
	struct sharing *sharing = context;
	uint64_t words[50];
	for (size_t i = 0; i < 50; i++)
		words[i] = item * 1000 + i;
	sharing->by_worker[worker]++;
	return sn_spill_append(&sharing->spill, words, sizeof(words), sharing->offsets + item,
			       NULL);
}

static void test_pool_appends_to_spill(void **state)
{
	struct sharing sharing = {.spill.fd = -1};
	char path[] = "/tmp/sonde-test-base-out";
	uint64_t words[50], sum = 0;
	assert_int_equal(sn_spill_open_beside(&sharing.spill, path, NULL), 0);
	assert_int_equal(sn_pool_run(4, 200, append_one, &sharing), 0);
	for (size_t item = 0; item < 200; item++) {
		assert_int_equal(sn_spill_read(&sharing.spill, words, sizeof(words),
					       sharing.offsets[item], NULL),
				 0);
		assert_int_equal(words[0], item * 1000);
		assert_int_equal(words[49], item * 1000 + 49);
	}
	for (int i = 0; i < 4; i++)
		sum += sharing.by_worker[i];
	assert_int_equal(sum, 200);
	sn_spill_close(&sharing.spill);
}

static int fail_at(void *context, unsigned worker, size_t item)
{
	uint64_t *runs = context;
	runs[worker]++;
	return item == 10 ? SN_ERR_FORMAT : 0;
}

static int run_inner(void *context, unsigned worker, size_t item)
{
	uint64_t runs[2] = {0}, *sum = context;
	sn_pool_run(2, 5, fail_at, runs);
	sum[worker] += runs[0] + runs[1];
	return 0;
}

static void test_pool(void **state)
{
	uint64_t runs[8] = {0}, sum[3] = {0};
	assert_int_equal(sn_pool_run(1, 1000, fail_at, runs), SN_ERR_FORMAT);
	assert_int_equal(runs[0], 11);
	assert_int_equal(sn_pool_run(8, 1000000, fail_at, runs), SN_ERR_FORMAT);
	assert_int_equal(sn_pool_run(8, 0, fail_at, NULL), 0);
	assert_int_equal(sn_pool_run(3, 30, run_inner, sum), 0);
	assert_int_equal(sum[0] + sum[1] + sum[2], 150);
	assert_int_equal(sn_pool_threads(7), 7);
	assert_true(sn_pool_threads(0) >= 1);
	assert_int_equal(sn_pool_threads(100000), SN_POOL_THREADS);
}

/* ---- lack of memory ---- */

static int use_tables(void)
{
	struct sn_table table = {0};
	int result = 0;
	for (uint32_t i = 0; i < 1000 && !result; i++)
		if (sn_table_add(&table, key_of(i)) != i)
			result = SN_ERR_MEMORY;
	for (uint32_t i = 0; i < table.count; i++)
		assert_int_equal(sn_table_find(&table, key_of(i)), i);
	sn_table_release(&table);
	return result;
}

static int use_buffers(void)
{
	struct sn_buffer buffer = {0};
	struct sn_arena arena = {0};
	for (int i = 0; i < 1000; i++) {
		sn_buffer_print(&buffer, "%d ", i);
		sn_escape_put(&buffer, SN_ESCAPE_MARKUP, "<>");
		sn_arena_print(&arena, "%0100d", i);
	}
	bool failed = arena.failed || buffer.failed;
	sn_arena_release(&arena);
	char *text = sn_buffer_detach(&buffer);
	failed |= !text;
	free(text);
	return failed ? SN_ERR_MEMORY : 0;
}

static int use_runs(void)
{
	struct sn_external_sort sort;
	uint64_t random = 4, record[2];
	int result = 0;
	sn_external_sort_init(&sort, 2, 1, 64 << 10);
	for (int i = 0; i < 10000 && !result; i++)
		result = sn_external_sort_add(&sort, (uint64_t[]){next_number(&random), 1}, NULL);
	if (!result)
		result = sn_external_sort_finish(&sort, NULL);
	for (int i = 0; i < 10000 && result >= 0; i++)
		result = sn_external_sort_next(&sort, record, NULL);
	sn_external_sort_release(&sort);
	return result < 0 ? result : 0;
}

static void test_lack_of_memory(void **state)
{
	/* 64 slots, which double up to 2048 */
	assert_int_equal(fail_each(use_tables, &nothing), 6);
	assert_true(fail_each(use_buffers, &nothing) > 10);
	assert_true(fail_each(use_runs, &nothing) > 6);
}

/* Sorting does without. */
static void test_sorting_without_memory(void **state)
{
	static uint64_t numbers[1000];
	uint64_t random = 5;
	for (size_t i = 0; i < 1000; i++)
		numbers[i] = next_number(&random);
	allowed = 0;
	refused = 0;
	sn_sort_u64(numbers, 1000);
	allowed = -1;
	assert_int_equal(refused, 1);
	for (size_t i = 1; i < 1000; i++)
		assert_true(numbers[i - 1] <= numbers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table_numbers),
	    cmocka_unit_test(test_table_removes),
	    cmocka_unit_test(test_fixed_table),
	    cmocka_unit_test(test_intern_items),
	    cmocka_unit_test(test_search),
	    cmocka_unit_test(test_heap),
	    cmocka_unit_test(test_heap_merges),
	    cmocka_unit_test(test_sort),
	    cmocka_unit_test(test_sort_by),
	    cmocka_unit_test(test_merge_sort),
	    cmocka_unit_test(test_runs),
	    cmocka_unit_test(test_buffer),
	    cmocka_unit_test(test_cursor),
	    cmocka_unit_test(test_buffer_remembers_failure),
	    cmocka_unit_test(test_escape),
	    cmocka_unit_test(test_output_stream),
	    cmocka_unit_test(test_arena),
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_vec),
	    cmocka_unit_test(test_error),
	    cmocka_unit_test(test_file_at),
	    cmocka_unit_test(test_spill),
	    cmocka_unit_test(test_spill_remembers_failure),
	    cmocka_unit_test(test_pool_appends_to_spill),
	    cmocka_unit_test(test_pool),
	    cmocka_unit_test(test_lack_of_memory),
	    cmocka_unit_test(test_sorting_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
