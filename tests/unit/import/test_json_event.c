/* SPDX-License-Identifier: Apache-2.0 */
/* Events of JSON: numbers and times in all their forms; and that what is known of earlier events
 * changes nothing of what is read, whole or damaged. */
#include "import/json/json_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TEXT_BYTES 16384

/* A text in memory as a window has it. */
struct text {
	struct sn_json_window window;
	size_t length;
};

static void open_text(struct text *text, const char *content, size_t length)
{
	*text = (struct text){.length = length};
	/* to the byte, so that reading further is found */
	text->window.buffer = calloc(length + SN_JSON_SLACK, 1);
	text->window.scratch_capacity = length + 1;
	text->window.scratch = malloc(length + 1);
	assert_non_null(text->window.buffer);
	assert_non_null(text->window.scratch);
	memcpy(text->window.buffer, content, length);
}

static void close_text(struct text *text)
{
	free(text->window.buffer);
	free(text->window.scratch);
}

static enum sn_json_result read_event(struct text *text, struct sn_json_shapes *shapes,
				      struct sn_json_arg *args, struct sn_json_event *event,
				      size_t *taken)
{
	struct sn_json_parse parse = {&text->window, text->window.buffer,
				      text->window.buffer + text->length};
	text->window.scratch_count = 0;
	enum sn_json_result result = sn_json_event(&parse, shapes, args, event);
	*taken = (size_t)(parse.at - text->window.buffer);
	return result;
}

/* ---- numbers and times ---- */

static void test_digits(void **state)
{
	(void)state;
	char text[40 + SN_JSON_SLACK] = {0};
	static const char *const behind[] = {"", ".", "/", ":", "e", ",", "}", "\xff", "\n0"};
	for (unsigned i = 0; i < 19 * sizeof(behind) / sizeof(*behind); i++) {
		unsigned count, length = i % 19 + 1;
		snprintf(text, 40, "%.*s%s", (int)length, "9081726354908172635", behind[i / 19]);
		const char *at = text;
		assert_true(sn_json_digits(&at, &count) == strtoull(text, NULL, 10));
		assert_int_equal(count, length);
		assert_ptr_equal(at, text + length);
	}
	unsigned count;
	const char *at = "x12345678";
	assert_true(sn_json_digits_8(at, &count) == 0 && count == 0);
}

static void test_times(void **state)
{
	(void)state;
	static const struct {
		const char *written;
		bool is_time;
		int64_t ns;
	} times[] = {{"0", true, 0},
		     {"1661203462584767", true, 1661203462584767000},
		     {"1661203462584767.123", true, 1661203462584767123},
		     {"1661203462584767.1239999", true, 1661203462584767123},
		     {"0.5", true, 500},
		     {"7.", true, 7000},
		     {"-3.25", true, -3250},
		     {"1.5e3", true, 1500000},
		     {"4000000000000001", true, 4000000000000001000},
		     {"99999999999999999", false, 0},
		     {"123456789012345678901234", false, 0},
		     {"\"12.5\"", true, 12500},
		     {"\"soon\"", false, 0},
		     {"null", false, 0},
		     {"[1]", false, 0}};
	static struct sn_json_arg args[SN_JSON_ARGS_MAX];
	struct sn_json_shapes shapes = {0};
	struct sn_json_event event;
	/* the first time a shape is learned, the second it is known */
	for (size_t i = 0; i < 2 * sizeof(times) / sizeof(*times); i++) {
		char content[128];
		size_t taken;
		struct text text;
		int length = snprintf(content, sizeof(content), "{\"ts\": %s, \"dur\":%s}",
				      times[i / 2].written, times[i / 2].written);
		open_text(&text, content, (size_t)length);
		assert_int_equal(read_event(&text, &shapes, args, &event, &taken), SN_JSON_DONE);
		assert_int_equal(event.has_time, times[i / 2].is_time);
		assert_int_equal(event.has_duration, times[i / 2].is_time);
		assert_true(!event.has_time || event.time_ns == times[i / 2].ns);
		assert_true(!event.has_time || event.duration_ns == times[i / 2].ns);
		close_text(&text);
	}
	sn_json_shapes_release(&shapes);
}

/* ---- events by shape and without ---- */

static bool are_same_texts(struct sn_json_text a, struct sn_json_text b)
{
	return a.length == b.length && !a.text == !b.text &&
	       (!a.length || !memcmp(a.text, b.text, a.length));
}

static void check_values(const struct sn_json_value *a, const struct sn_json_value *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_true(are_same_texts(a->text, b->text));
	if (a->kind == SN_JSON_INTEGER || a->kind == SN_JSON_BOOL)
		assert_true(a->integer == b->integer);
}

static void check_events(const struct sn_json_event *a, const struct sn_json_event *b)
{
	assert_int_equal(a->phase, b->phase);
	assert_true(are_same_texts(a->name, b->name));
	assert_true(are_same_texts(a->category, b->category));
	check_values(&a->pid, &b->pid);
	check_values(&a->tid, &b->tid);
	check_values(&a->id, &b->id);
	check_values(&a->stack, &b->stack);
	assert_int_equal(a->has_time, b->has_time);
	assert_int_equal(a->has_duration, b->has_duration);
	assert_true(!a->has_time || a->time_ns == b->time_ns);
	assert_true(!a->has_duration || a->duration_ns == b->duration_ns);
	assert_int_equal(a->arg_count, b->arg_count);
	assert_int_equal(a->args_lost, b->args_lost);
	for (size_t i = 0; i < a->arg_count; i++) {
		assert_true(are_same_texts(a->args[i].name, b->args[i].name));
		check_values(&a->args[i].value, &b->args[i].value);
	}
}

static uint32_t seed = 1;

/* Below `bound`, the same in every run. */
static unsigned choose(unsigned bound)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % bound;
}

#define ONE_OF(texts) texts[choose(sizeof(texts) / sizeof(*texts))]

static size_t put(char *to, size_t used, const char *text)
{
	size_t length = strlen(text);
	assert_true(used + length < TEXT_BYTES);
	memcpy(to + used, text, length + 1);
	return used + length;
}

static size_t put_value(char *to, size_t used)
{
	static const char *const values[] = {"1",
					     "-17",
					     "123456789",
					     "1661203462584767",
					     "0.25",
					     "1e3",
					     "99999999999999999999",
					     "\"\"",
					     "\"aten::mm\"",
					     "\"a\\\"b\\u00e9\\n\"",
					     "\"a text of more than sixteen bytes\"",
					     "[]",
					     "[[1, 2], \"]\", {}]",
					     "{\"a\": {\"b\": \"}\\\"\"}}",
					     "true",
					     "null",
					     "NaN",
					     "-Infinity"};
	return put(to, used, ONE_OF(values));
}

/* Members of few names and orders, as programs write them, among them some twice. */
static size_t make_event(char *to)
{
	static const char *const names[] = {"pid", "tid", "id",	   "ts",   "dur",      "name",
					    "cat", "sf",  "other", "args", "p\\u0069d"};
	static const char *const arg_names[] = {"External id", "stream", "a\\tb", "",
						"an argument whose name is longer than most are"};
	static const char *const phases[] = {"\"X\"", "\"i\"", "\"\"", "3"};
	static const char *const spaces[] = {"", " ", "\n    "};
	const char *space = ONE_OF(spaces);
	size_t used = put(to, 0, "{\"ph\": ");
	used = put(to, used, ONE_OF(phases));
	for (unsigned i = choose(7); i; i--) {
		const char *name = ONE_OF(names);
		used = put(to, put(to, used, ","), space);
		used = put(to, used, "\"");
		used = put(to, used, name);
		used = put(to, used, "\":");
		if (strcmp(name, "args") || !choose(4)) {
			used = put_value(to, put(to, used, choose(2) ? " " : ""));
			continue;
		}
		used = put(to, used, "{");
		for (unsigned k = choose(5) ? choose(6) : choose(160); k; k--) {
			used = put(to, used, "\"");
			used = put(to, used, ONE_OF(arg_names));
			used = put_value(to, put(to, used, "\": "));
			used = put(to, used, k > 1 ? "," : "");
		}
		used = put(to, used, "}");
	}
	return put(to, used, choose(2) ? "}" : "\n  }");
}

static void check_same(struct sn_json_shapes *shapes, const char *content, size_t length)
{
	static struct sn_json_arg known_args[SN_JSON_ARGS_MAX], plain_args[SN_JSON_ARGS_MAX];
	static struct sn_json_event known, plain;
	struct text first, second;
	size_t first_taken, second_taken;
	open_text(&first, content, length);
	open_text(&second, content, length);
	enum sn_json_result result = read_event(&second, NULL, plain_args, &plain, &second_taken);
	assert_int_equal(read_event(&first, shapes, known_args, &known, &first_taken), result);
	assert_int_equal(first_taken, second_taken);
	if (!result)
		check_events(&known, &plain);
	close_text(&first);
	close_text(&second);
}

static void test_same_as_without(void **state)
{
	(void)state;
	struct sn_json_shapes shapes = {0};
	char *content = malloc(TEXT_BYTES);
	assert_non_null(content);
	for (unsigned i = 0; i < 20000; i++) {
		if (i % 2000 == 0) /* so that it is not always full */
			sn_json_shapes_release(&shapes);
		size_t length = make_event(content);
		check_same(&shapes, content, length);
		check_same(&shapes, content, choose((unsigned)length)); /* cut off */
		content[choose((unsigned)length)] = (char)choose(256);
		check_same(&shapes, content, length);
	}
	assert_true(shapes.count > 100 && shapes.count <= SN_JSON_STEPS_MAX);
	sn_json_shapes_release(&shapes);
	free(content);
}

static void test_known_again(void **state)
{
	(void)state;
	static const char *const contents[] = {
	    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", \"args\": {\"stream\": 7}}",
	    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"b\", \"args\": {\"stream\": 20}}",
	    "{\"ph\": \"i\", \"cat\": \"kernel\", \"name\": \"b\", \"args\": {\"stream\": 7}}"};
	struct sn_json_shapes shapes = {0};
	static struct sn_json_arg args[SN_JSON_ARGS_MAX];
	struct sn_json_event event;
	size_t taken, counts[3];
	uint32_t steps[3];
	for (unsigned i = 0; i < 3; i++) {
		struct text text;
		open_text(&text, contents[i], strlen(contents[i]));
		assert_int_equal(read_event(&text, &shapes, args, &event, &taken), SN_JSON_DONE);
		assert_int_equal(event.arg_count, 1);
		counts[i] = shapes.count;
		steps[i] = event.args[0].step;
		close_text(&text);
	}
	/* the root, up to the name, up to the stream, to the end */
	assert_int_equal(counts[0], 4);
	assert_int_equal(counts[1], 4);
	assert_int_equal(counts[2], 7);
	assert_int_equal(steps[0], 0); /* not known yet */
	assert_int_not_equal(steps[1], 0);
	assert_int_equal(steps[2], 0);
	sn_json_shapes_release(&shapes);
}

/* Zeroes behind a text are what stops a search for one that is known: none with zeroes is learned.
 */
static void test_zeroes_are_not_learned(void **state)
{
	(void)state;
	enum { BEFORE = 19, ZEROES = 40, CUT = BEFORE + 5 };
	static const char event[BEFORE + ZEROES + 3] = "{\"name\":\"x\",\"cat\":\"";
	char whole[sizeof(event)];
	memcpy(whole, event, sizeof(event));
	memcpy(whole + BEFORE + ZEROES, "\"}", 2);
	struct sn_json_shapes shapes = {0};
	struct sn_json_arg args[SN_JSON_ARGS_MAX];
	struct sn_json_event found;
	struct text text;
	size_t taken;
	open_text(&text, whole, BEFORE + ZEROES + 2);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(read_event(&text, &shapes, args, &found, &taken), SN_JSON_DONE);
	text.length = CUT; /* behind it lies what was there before, as in a buffer used again */
	assert_int_equal(read_event(&text, &shapes, args, &found, &taken), SN_JSON_SHORT);
	assert_true(taken <= CUT);
	close_text(&text);
	sn_json_shapes_release(&shapes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_digits),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_same_as_without),
	    cmocka_unit_test(test_known_again),
	    cmocka_unit_test(test_zeroes_are_not_learned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
