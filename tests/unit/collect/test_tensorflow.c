/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of TensorFlow for tensors, and ranks of its tasks: collect/adapters/tensorflow. */
#include "collect/adapters/tensorflow/tensorflow.h"

#include "collect/interface/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORKER(task) "/job:worker/replica:0/task:" task "/device:CPU:0"
#define PS(task)     "/job:ps/replica:0/task:" task "/device:CPU:0"

/* Stands for the collector's. */
uint64_t sn_message_mix(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15u;
}

static uint32_t rank(const char *device, const char *config)
{
	return sn_tf_rank(device, strlen(device), config);
}

static void test_ranks(void **state)
{
	(void)state;
	const char *config = "{\"task\": {\"type\": \"ps\", \"index\": 1}, \"cluster\" : "
			     "{\"ps\": [\"a:1\", \"b}]:2\"], \"other\":[\"x:1\"],"
			     "\"worker\": [\"c\\\"}:3\", \"d:4\", \"e:5\"], \"chief\": [\"f:6\"]}}";
	assert_int_equal(rank("/job:chief/replica:0/task:0", config), 0);
	assert_int_equal(rank(WORKER("0"), config), 1);
	assert_int_equal(rank(WORKER("2"), config), 3);
	assert_int_equal(rank(PS("0"), config), 4);
	assert_int_equal(rank(PS("1"), config), 5);
	assert_int_equal(rank("/job:other/task:0", config), 6);
	/* a cluster that has no such job, or is not told */
	assert_int_equal(rank(PS("7"), "{\"cluster\": {\"worker\": [\"a:1\"]}}"), 3007);
	assert_int_equal(rank(WORKER("5"), NULL), 2005);
	assert_int_equal(rank(WORKER("5"), "{\"cluster\": {"), 2005);
	assert_int_equal(rank(WORKER("5"), "{\"cluster\": {\"worker\": [\"a"), 5);
	/* no task */
	assert_int_equal(rank("/device:CPU:0", config), UINT32_MAX);
	assert_int_equal(rank("/job:worker/task:x", config), UINT32_MAX);
	assert_int_equal(rank("/job:worker/task:", config), UINT32_MAX);
	assert_int_equal(rank("", config), UINT32_MAX);
}

static unsigned char bytes[1024];
static size_t used;

static void put(unsigned value)
{
	bytes[used++] = (unsigned char)value;
}

static void put_number(unsigned field, unsigned value)
{
	put(field << 3);
	while (value >= 0x80) {
		put((value & 0x7f) | 0x80);
		value >>= 7;
	}
	put(value);
}

static void put_text(unsigned field, const char *text)
{
	put(field << 3 | 2);
	put((unsigned)strlen(text));
	memcpy(bytes + used, text, strlen(text));
	used += strlen(text);
}

static bool decode(bool is_buffer, struct sn_tf_request *request)
{
	/* behind it is memory that must not be looked at */
	unsigned char *copy = malloc(used ? used : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, used);
	bool is_sound = sn_tf_decode(copy, used, is_buffer, request);
	free(copy);
	return is_sound;
}

static void test_buffers(void **state)
{
	(void)state;
	struct sn_tf_request request;
	unsetenv("TF_CONFIG");
	used = 0;
	put_number(1, 300);
	put_text(2, "1:5:0:0:2");
	put_number(3, 131072);
	put(4 << 3 | 1); /* an address */
	for (int i = 0; i < 8; i++)
		put(9);
	put_text(8, WORKER("1"));
	put_text(9, WORKER("0"));
	put_number(10, 77);
	assert_true(decode(true, &request));
	assert_int_equal(request.bytes, 131072);
	assert_int_equal(request.sender, 2001);
	assert_int_equal(request.receiver, 2000);
	uint64_t id = request.id;
	/* what is said of the rest does not change which one it is */
	used = 0;
	put_text(8, WORKER("1"));
	put_text(9, WORKER("0"));
	put_number(10, 77);
	put(0);
	put(0);
	assert_true(decode(true, &request));
	assert_true(request.id == id);
	for (size_t whole = used - 2, cut = 1; cut < whole; cut++) {
		used = cut;
		decode(true, &request);
	}
	used = 3;
	assert_false(decode(true, &request));
	used = 0;
	assert_false(decode(true, &request));
}

static void test_tensors(void **state)
{
	(void)state;
	struct sn_tf_request request;
	uint64_t ids[3];
	for (unsigned i = 0; i < 3; i++) {
		used = 0;
		put_number(1, 5);
		put_text(2, PS("3") ";00000001;" WORKER("4") ";edge_1;0:0");
		put_number(7, i);
		assert_true(decode(false, &request));
		assert_int_equal(request.sender, 3003);
		assert_int_equal(request.receiver, 2004);
		assert_true(request.bytes == UINT64_MAX);
		ids[i] = request.id;
	}
	/* 0 is none: then it is the key and the step */
	assert_true(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
	used = 0;
	put_text(2, PS("3") ";00000001");
	assert_false(decode(false, &request));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ranks),
	    cmocka_unit_test(test_buffers),
	    cmocka_unit_test(test_tensors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
