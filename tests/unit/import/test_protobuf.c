/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format: fields of every kind, damage of every kind, files through a window. */
#include "import/core/protobuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/sonde-test-protobuf-XXXXXX";

static void put_file(const void *bytes, size_t length)
{
	strcpy(strrchr(path, '-') + 1, "XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void test_fields(void **state)
{
	(void)state;
	static const unsigned char bytes[] = {
	    0x08, 0x96, 0x01,						      /* 1: 150 */
	    0x12, 3,	'a',  'b',  'c',				      /* 2: "abc" */
	    0x1d, 0,	0,    0x80, 0x3f,				      /* 3: 1.0f */
	    0x21, 0,	0,    0,    0,	  0,	0,    0xf0, 0x3f,	      /* 4: 1.0 */
	    0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* 5: -1 */
	    0x32, 3,	1,    0x80, 0x01,				      /* 6: packed 1, 128 */
	    0x3a, 0,							      /* 7: nothing */
	};
	struct sn_proto message = sn_proto_of(bytes, sizeof(bytes));
	struct sn_proto_field field;
	uint64_t value;
	assert_true(sn_proto_next(&message, &field));
	assert_int_equal(field.number, 1);
	assert_int_equal(field.value, 150);
	assert_true(sn_proto_next(&message, &field));
	assert_int_equal(field.wire, SN_PROTO_BYTES);
	assert_int_equal(field.length, 3);
	assert_memory_equal(field.bytes, "abc", 3);
	assert_true(sn_proto_next(&message, &field));
	assert_int_equal(field.value, 0x3f800000); /* 1 as float */
	assert_true(sn_proto_next(&message, &field));
	assert_true(sn_proto_double(field.value) == 1.0);
	assert_true(sn_proto_next(&message, &field));
	assert_true((int64_t)field.value == -1);
	assert_true(sn_proto_next(&message, &field));
	struct sn_proto numbers = sn_proto_enter(&field);
	assert_true(sn_proto_packed(&numbers, &value));
	assert_int_equal(value, 1);
	assert_true(sn_proto_packed(&numbers, &value));
	assert_int_equal(value, 128);
	assert_false(sn_proto_packed(&numbers, &value));
	assert_false(numbers.failed);
	assert_true(sn_proto_next(&message, &field));
	assert_int_equal(field.number, 7);
	assert_int_equal(field.length, 0);
	assert_false(sn_proto_next(&message, &field));
	assert_false(message.failed);
}

/* A message in memory fails at its end, and nothing is read behind it. */
static void assert_fails(const char *bytes, size_t length)
{
	unsigned char *exact = malloc(length ? length : 1);
	assert_non_null(exact);
	memcpy(exact, bytes, length);
	struct sn_proto message = sn_proto_of(exact, length);
	struct sn_proto_field field;
	while (sn_proto_next(&message, &field))
		;
	assert_true(message.failed);
	assert_false(sn_proto_next(&message, &field));
	free(exact);
	put_file(bytes, length);
	struct sn_proto_stream stream;
	struct sn_error error = {""};
	assert_int_equal(sn_proto_stream_open(&stream, path, &error), 0);
	int found;
	while ((found = sn_proto_stream_next(&stream, &field, &error)) > 0)
		;
	assert_int_equal(found, SN_ERR_FORMAT);
	assert_non_null(strstr(error.text, "byte "));
	sn_proto_stream_close(&stream);
	unlink(path);
}

/* Of each number the last one. */
static void test_fields_by_number(void **state)
{
	(void)state;
	static const unsigned char bytes[] = {0x08, 1,	 0x18, 3, 0x08, 7, 0x12,
					      1,    'x', 0x48, 9, 0x0a, 5}; /* 9: beyond; 1: cut */
	struct sn_proto_field fields[4];
	assert_true(SN_PROTO_FIELDS(sn_proto_of(bytes, 11), fields));
	assert_int_equal(fields[0].number, 0);
	assert_int_equal(fields[1].value, 7);
	assert_memory_equal(fields[2].bytes, "x", fields[2].length);
	assert_int_equal(fields[3].value, 3);
	assert_false(SN_PROTO_FIELDS(sn_proto_of(bytes, sizeof(bytes)), fields));
	assert_int_equal(fields[1].value, 7);
}

static void test_damage(void **state)
{
	(void)state;
	assert_fails("\x08", 1);					      /* no number */
	assert_fails("\x08\x80", 2);					      /* half a number */
	assert_fails("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12); /* too long */
	assert_fails("\x00\x01", 2);					      /* field 0 */
	assert_fails("\x0b\x08\x01\x0c", 4);				      /* a group */
	assert_fails("\x0e\x01", 2); /* no such wire type */
	assert_fails("\x0a\x05"
		     "abcd",
		     6);					      /* longer than the message */
	assert_fails("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10); /* much longer */
	assert_fails("\x09\x01\x02\x03", 4);
	assert_fails("\x0d\x01\x02\x03", 4);
}

/* 2 MB in field 1, around which the window has to move, then a message with a message in it. */
static void test_stream(void **state)
{
	(void)state;
	size_t blob = 2u << 20, length = 0;
	unsigned char *bytes = malloc(blob + 64);
	assert_non_null(bytes);
	memcpy(bytes, "\x0a\x80\x80\x80\x01", 5);
	for (size_t i = 0; i < blob; i++)
		bytes[5 + i] = (unsigned char)(i * 7);
	length = 5 + blob;
	memcpy(bytes + length, "\x12\x08\x08\x05\x1a\x02\x08\x09\x10\x07\x18\x2a", 12);
	length += 12;
	put_file(bytes, length);
	struct sn_proto_stream stream;
	struct sn_proto_field field;
	struct sn_error error = {""};
	assert_int_equal(sn_proto_stream_open(&stream, path, &error), 0);
	for (int is_loaded = 0; is_loaded < 2; is_loaded++) {
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
		assert_int_equal(field.length, blob);
		assert_null(field.bytes);
		if (is_loaded) {
			assert_int_equal(sn_proto_stream_load(&stream, &field, &error), 0);
			assert_memory_equal(field.bytes, bytes + 5, blob);
		} else {
			assert_true(stream.capacity < blob);
		}
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
		assert_int_equal(field.number, 2);
		assert_int_equal(sn_proto_stream_enter(&stream, &error), 0);
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
		assert_int_equal(field.value, 5);
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
		assert_int_equal(sn_proto_stream_enter(&stream, &error), 0);
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
		assert_int_equal(field.value, 9);
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 0);
		assert_int_equal(sn_proto_stream_leave(&stream, &error), 0);
		if (is_loaded) { /* what is not read is left as well */
			assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
			assert_int_equal(field.value, 7);
			assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 0);
		}
		assert_int_equal(sn_proto_stream_leave(&stream, &error), 0);
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
		assert_int_equal(field.number, 3);
		assert_int_equal(field.value, 42);
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 0);
		assert_int_equal(sn_proto_stream_rewind(&stream, &error), 0);
	}
	sn_proto_stream_close(&stream);
	free(bytes);
}

/* A field that claims a terabyte: found without the memory for it, whether skipped or loaded. */
static void test_claim(void **state)
{
	(void)state;
	put_file("\x0a\x80\x80\x80\x80\x80\x20"
		 "abc",
		 10);
	struct sn_proto_stream stream;
	struct sn_proto_field field;
	for (int is_loaded = 0; is_loaded < 2; is_loaded++) {
		struct sn_error error = {""};
		assert_int_equal(sn_proto_stream_open(&stream, path, &error), 0);
		assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
		assert_int_equal(field.length, 1ull << 40);
		assert_int_equal(is_loaded ? sn_proto_stream_load(&stream, &field, &error)
					   : sn_proto_stream_next(&stream, &field, &error),
				 SN_ERR_FORMAT);
		assert_true(stream.is_cut);
		assert_true(stream.capacity <= 1u << 20);
		sn_proto_stream_close(&stream);
	}
}

/* A field that leaves the message it is in, while the file goes on. */
static void test_longer_than_message(void **state)
{
	(void)state;
	put_file("\x0a\x03\x12\x05"
		 "abcdefgh",
		 12);
	struct sn_proto_stream stream;
	struct sn_proto_field field;
	struct sn_error error = {""};
	assert_int_equal(sn_proto_stream_open(&stream, path, &error), 0);
	assert_int_equal(sn_proto_stream_next(&stream, &field, &error), 1);
	assert_int_equal(sn_proto_stream_enter(&stream, &error), 0);
	assert_int_equal(sn_proto_stream_next(&stream, &field, &error), SN_ERR_FORMAT);
	assert_false(stream.is_cut);
	assert_non_null(strstr(error.text, "longer than its message"));
	sn_proto_stream_close(&stream);
}

static void test_probe(void **state)
{
	(void)state;
	unsigned char head[16];
	size_t length;
	put_file("\x0a\x03"
		 "abc",
		 5);
	assert_true(sn_proto_probe(path, 1, head, sizeof(head), &length));
	assert_int_equal(length, 5);
	assert_false(sn_proto_probe(path, 2, head, sizeof(head), &length));
	assert_false(sn_proto_probe("/nonexistent", 1, head, sizeof(head), &length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fields),
	    cmocka_unit_test(test_fields_by_number),
	    cmocka_unit_test(test_damage),
	    cmocka_unit_test_teardown(test_stream, remove_file),
	    cmocka_unit_test_teardown(test_claim, remove_file),
	    cmocka_unit_test_teardown(test_longer_than_message, remove_file),
	    cmocka_unit_test_teardown(test_probe, remove_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
