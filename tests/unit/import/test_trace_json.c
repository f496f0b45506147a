/* SPDX-License-Identifier: Apache-2.0 */
/* Files of JSON by any number of threads: the same events in the same order, and of damaged files
 * the same line, wherever the pieces end in which they are parsed. */
#include "import/json/trace_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { EVENTS = 2500 };

static char path[] = "/tmp/test-trace-json-XXXXXX";

/* What a file came to. */
struct seen {
	uint64_t events, members, braces, fail_at;
	int64_t last; /* "ts" of the event before */
	bool is_out_of_order, is_wrong;
};

/* An event's name is a text of many lengths, full of what separates events. */
static size_t name_length(uint64_t i)
{
	return i % 1000 == 500 ? 700000 : i * 7919 % 300;
}

static int see_event(void *context, const struct sn_json_event *event)
{
	static const char filling[] = "}, {\n\"ph\\";
	struct seen *seen = context;
	uint64_t i = seen->events++;
	seen->is_out_of_order |= event->time_ns != (int64_t)i * 1000 || event->phase != 'X';
	seen->is_wrong |= event->name.length != name_length(i) || event->arg_count != 2;
	for (size_t k = 0; k < event->name.length; k++)
		seen->is_wrong |= event->name.text[k] != filling[k % (sizeof(filling) - 1)];
	if (event->arg_count == 2) {
		seen->is_wrong |= event->args[0].value.integer != (int64_t)(i * i);
		for (size_t k = 0; k < event->args[1].value.text.length; k++)
			seen->braces += event->args[1].value.text.text[k] == '{';
	}
	return seen->fail_at && seen->events == seen->fail_at ? SN_ERR_ARGUMENT : 0;
}

static int see_member(void *context, const struct sn_json_member *member)
{
	struct seen *seen = context;
	seen->members++;
	/* one is before all events, one behind them */
	seen->is_out_of_order |= seen->events != (seen->members == 1 ? 0 : EVENTS);
	seen->is_wrong |= member->value.integer != 7;
	return 0;
}

/* Objects within arguments begin as events do, so that they are taken for such at first. */
static void write_events(FILE *file)
{
	static const char filling[] = "}, {\\n\\\"ph\\\\";
	for (uint64_t i = 0; i < EVENTS; i++) {
		fprintf(file, "%s{\"ph\": \"X\", \"ts\": %llu, \"name\": \"", i ? ", " : "",
			(unsigned long long)i);
		/* of nine characters three have an escape */
		for (size_t k = 0, at = 0; k < name_length(i); k++) {
			size_t bytes = filling[at] == '\\' ? 2 : 1;
			fwrite(filling + at, 1, bytes, file);
			at = (at + bytes) % (sizeof(filling) - 1);
		}
		fprintf(file, "\", \"args\": {\"square\": %llu, \"inner\": [{\"ph\": 1}",
			(unsigned long long)(i * i));
		for (uint64_t k = i % 500 == 3 ? 20000 : 1; k; k--)
			fputs(", {\"ph\": 1}", file);
		fputs("]}}", file);
	}
}

static uint64_t braces(void)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < EVENTS; i++)
		count += i % 500 == 3 ? 20001 : 2;
	return count;
}

static long write_file(const char *head, const char *tail)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(head, file);
	write_events(file);
	fputs(tail, file);
	long length = ftell(file);
	fclose(file);
	return length;
}

static int read_file(unsigned threads, struct seen *seen, struct sn_error *error)
{
	struct sn_trace_json_visitor visitor = {see_event, see_member, seen};
	*error = (struct sn_error){""};
	return sn_trace_json_read(path, threads, &visitor, error);
}

static void test_events_in_order(void **state)
{
	(void)state;
	static const char *const heads[] = {"{\"first\": 7, \"traceEvents\": [", "[",
					    "\xef\xbb\xbf [ "};
	static const char *const tails[] = {"], \"last\": 7}\n", "]", ",\n"};
	for (unsigned i = 0; i < 3; i++) {
		write_file(heads[i], tails[i]);
		for (unsigned threads = 1; threads <= 4; threads++) {
			struct seen seen = {0};
			struct sn_error error;
			assert_int_equal(read_file(threads, &seen, &error), 0);
			assert_int_equal(seen.events, EVENTS);
			assert_int_equal(seen.members, i ? 0 : 2);
			assert_int_equal(seen.braces, braces());
			assert_false(seen.is_out_of_order);
			assert_false(seen.is_wrong);
		}
	}
}

static void check_line(const char *line, long at)
{
	char wanted[256];
	snprintf(wanted, sizeof(wanted), "cannot read '%s': %s at byte %ld", path, line, at);
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct seen seen = {0};
		struct sn_error error;
		assert_int_equal(read_file(threads, &seen, &error), SN_ERR_FORMAT);
		assert_string_equal(error.text, wanted);
		assert_false(seen.is_out_of_order);
	}
}

static void test_damaged(void **state)
{
	(void)state;
	long length = write_file("{\"traceEvents\": [", "]} x");
	check_line("more follows its end,", length - 1);
	length = write_file("{\"traceEvents\": [", ", {\"ph\": \"X\" \"ts\": 1}]}");
	check_line("not the JSON of a trace", length - 10); /* a comma is missing */
	length = write_file("{\"traceEvents\": [", "");
	check_line("it ends too early,", length);
	/* within the last event */
	assert_int_equal(truncate(path, length - 10), 0);
	check_line("it ends too early,", length - 10);
}

static void test_visitor_ends(void **state)
{
	(void)state;
	write_file("[", "]");
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct seen seen = {.fail_at = 1234};
		struct sn_error error;
		assert_int_equal(read_file(threads, &seen, &error), SN_ERR_ARGUMENT);
		assert_int_equal(seen.events, 1234);
	}
}

static int count_event(void *context, const struct sn_json_event *event)
{
	*(uint64_t *)context += 1 + event->arg_count;
	return 0;
}

/* Behind a long text comes a long piece; of its many events not all lie in memory at once. */
static void test_many_small(void **state)
{
	(void)state;
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "[{\"name\": \"%02000000d\"}", 0);
	for (unsigned i = 0; i < 500000; i++)
		fputs(i % 100 ? ",{}" : ",{\"args\":{\"a\":1,\"b\":2}}", file);
	fputs("]", file);
	fclose(file);
	for (unsigned threads = 1; threads <= 3; threads++) {
		uint64_t count = 0;
		struct sn_trace_json_visitor visitor = {.event = count_event, .context = &count};
		struct sn_error error = {""};
		assert_int_equal(sn_trace_json_read(path, threads, &visitor, &error), 0);
		assert_int_equal(count, 1 + 500000 + 2 * 5000);
	}
}

static void test_none(void **state)
{
	(void)state;
	struct sn_trace_json_visitor nobody = {NULL, NULL, NULL};
	struct sn_error error = {""};
	write_file("[", "]");
	assert_int_equal(sn_trace_json_read(path, 2, &nobody, &error), 0);
	assert_int_equal(sn_trace_json_read("/nonexistent/x", 2, &nobody, &error), SN_ERR_IO);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(sn_trace_json_read(path, 2, &nobody, &error), SN_ERR_FORMAT);
	assert_non_null(strstr(error.text, "it ends too early, at byte 0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_events_in_order),
	    cmocka_unit_test(test_damaged),
	    cmocka_unit_test(test_visitor_ends),
	    cmocka_unit_test(test_many_small),
	    cmocka_unit_test(test_none),
	};
	int file = mkstemp(path);
	if (file < 0)
		return 1;
	close(file);
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return result;
}
