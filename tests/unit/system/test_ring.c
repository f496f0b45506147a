/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a ring as they are, wherever its end is. */
#include "system/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BYTES = 4096, LONG = 240, SHORT = 24, RECORDS = 9 };

static struct perf_event_mmap_page page;
static unsigned char data[BYTES];

/* What was seen and taken, one behind the other. */
static unsigned char written[RECORDS * LONG], taken[RECORDS * LONG];
static size_t written_count, taken_count, pieces;
static uint32_t seen, seen_bytes[RECORDS];

static void put(struct sn_ring *ring, uint32_t number, uint16_t size)
{
	unsigned char record[LONG];
	const struct perf_event_header header = {number, 0, size};
	memset(record, (int)number, sizeof(record));
	memcpy(record, &header, sizeof(header));
	for (uint16_t at = 0; at < size; at++)
		data[(page.data_head + at) & (ring->bytes - 1)] = record[at];
	memcpy(written + written_count, record, size);
	written_count += size;
	page.data_head += size;
}

static void see(void *context, const struct perf_event_header *header, const unsigned char *bytes,
		size_t count)
{
	(void)context;
	assert_int_equal(header->type, seen);
	for (size_t at = 0; at < count; at++)
		assert_int_equal(bytes[at], seen);
	seen_bytes[seen++] = (uint32_t)count;
}

static int take(void *context, const void *bytes, size_t count)
{
	memcpy(taken + taken_count, bytes, count);
	taken_count += count;
	pieces++;
	return *(int *)context;
}

static struct sn_ring ring_from(uint64_t start)
{
	page = (struct perf_event_mmap_page){.data_head = start, .data_tail = start};
	written_count = taken_count = pieces = seen = 0;
	return (struct sn_ring){
	    .page = &page, .data = data, .bytes = BYTES, .head = start, .tail = start};
}

/* From each place, so that the end of the ring is once in each byte of a header and of a body. */
static void test_each_place(void **state)
{
	(void)state;
	for (uint64_t start = 0; start < BYTES; start++) {
		struct sn_ring ring = ring_from(5 * (uint64_t)BYTES + start);
		int result = 0;
		for (uint32_t number = 0; number < RECORDS; number++)
			put(&ring, number, number % 2 ? LONG : SHORT);
		sn_ring_look(&ring);
		sn_ring_see(&ring, see, NULL);
		assert_int_equal(seen, RECORDS);
		assert_int_equal(seen_bytes[0], SHORT - sizeof(struct perf_event_header));
		assert_int_equal(seen_bytes[1], 64);
		assert_int_equal(sn_ring_take(&ring, take, &result), 0);
		assert_int_equal(taken_count, written_count);
		assert_memory_equal(taken, written, written_count);
		assert_true(pieces <= 2);
		assert_true(page.data_tail == page.data_head);
	}
}

/* What comes after the look is neither seen nor taken until the next one. */
static void test_what_comes_meanwhile(void **state)
{
	struct sn_ring ring = ring_from(0);
	int result = 0;
	(void)state;
	put(&ring, 0, SHORT);
	sn_ring_look(&ring);
	put(&ring, 1, SHORT);
	sn_ring_see(&ring, see, NULL);
	assert_int_equal(sn_ring_take(&ring, take, &result), 0);
	assert_true(seen == 1 && taken_count == SHORT && page.data_tail == SHORT);
	sn_ring_look(&ring);
	sn_ring_see(&ring, see, NULL);
	assert_int_equal(sn_ring_take(&ring, take, &result), 0);
	assert_true(seen == 2 && taken_count == 2 * SHORT);
}

/* A size that cannot be ends it, and a taker that fails is heard. */
static void test_damage(void **state)
{
	struct sn_ring ring = ring_from(0);
	int result = -7;
	(void)state;
	put(&ring, 0, SHORT);
	put(&ring, 1, SHORT);
	memset(data + SHORT + offsetof(struct perf_event_header, size), 0, 2);
	sn_ring_look(&ring);
	sn_ring_see(&ring, see, NULL);
	assert_int_equal(seen, 1);
	assert_int_equal(sn_ring_take(&ring, take, &result), -7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_place),
	    cmocka_unit_test(test_what_comes_meanwhile),
	    cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
