/* SPDX-License-Identifier: Apache-2.0 */
/* What programs of XLA are called: collect/adapters/xla/label.c. */
#include "collect/adapters/xla/xla.h"

#include "collect/core/keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Stands for the collector's; never freed, as that. */
static void *kept[4096];
static size_t kept_count;

void *sn_keep(size_t bytes)
{
	assert_true(kept_count < sizeof(kept) / sizeof(*kept));
	return kept[kept_count++] = calloc(1, bytes);
}

/* The text of a program with operations of `function` in `file` at two lines, and of another one. */
static void write_program(char *text, size_t size, const char *file, const char *function,
			  unsigned first, unsigned last)
{
	snprintf(
	    text, size,
	    "HloModule jit_x, is_scheduled=true\n\nFileNames\n1 \"other.py\"\n2 \"%s\"\n\n"
	    "FunctionNames\n1 \"<module>\"\n2 \"%s.<locals>.inner\"\n3 \"%s\"\n\nFileLocations\n"
	    "1 {file_name_id=1 function_name_id=1 line=5 end_line=5}\n"
	    "2 {file_name_id=2 function_name_id=3 line=%u end_line=%u}\n"
	    "3 {file_name_id=2 function_name_id=3 line=%u end_line=%u}\n"
	    "4 {file_name_id=2 function_name_id=2 line=1 end_line=1}\n\n"
	    "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n%%f (a: f32[]) {\n",
	    file, function, function, last, last, first, first);
}

static void expect(const char *name, const char *file, const char *function, unsigned first,
		   unsigned last, const char *expected)
{
	char text[2048];
	write_program(text, sizeof(text), file, function, first, last);
	const struct sn_xla_text *label = sn_xla_label((struct sn_xla_text){strlen(name), name},
						       (struct sn_xla_text){strlen(text), text});
	assert_non_null(label);
	assert_int_equal(label->length, strlen(expected));
	assert_memory_equal(label->text, expected, label->length);
}

static void test_places(void **state)
{
	expect("jit_step", "/a/train.py", "make.<locals>.step", 40, 44, "jit_step");
	expect("jit_step", "/a/train.py", "step", 60, 61, "jit_step@train.py:60");
	/* for other shapes: lines that overlap, and extend what is known */
	expect("jit_step", "/a/train.py", "make.<locals>.step", 44, 50, "jit_step");
	expect("jit_step", "/a/train.py", "make.<locals>.step", 48, 48, "jit_step");
	expect("jit_step", "/a/train.py", "make.<locals>.step", 52, 52, "jit_step@train.py:52");
	expect("jit_step", "/b/my model,1.py", "step", 60, 61, "jit_step@my_model_1.py:60");
	/* of another name */
	expect("pmap_step", "/a/train.py", "step", 60, 61, "pmap_step");
}

static void test_names(void **state)
{
	expect("jit__lambda", "a.py", "<lambda>", 1, 1, "jit__lambda");
	expect("jit__lambda", "a.py", "f.<locals>.<lambda>", 9, 9, "jit__lambda@a.py:9");
	expect("jit__lambda_", "a.py", "<lambda>", 1, 1, "jit__lambda_");
	expect("jit__lambda_", "a.py", "<lambda>", 3, 3, "jit__lambda_@a.py:3");
	/* a function that the text does not have */
	expect("jit_sin", "a.py", "sine", 1, 1, "jit_sin");
	expect("jit_sin", "b.py", "cosine", 7, 8, "jit_sin");
	expect("jit_", "a.py", "f", 1, 1, "jit_");
	expect("main", "a.py", "main", 1, 1, "main");
}

/* Each beginning of a text, in memory of just its length. */
static void test_cut(void **state)
{
	char text[2048];
	write_program(text, sizeof(text), "c.py", "cut", 3, 4);
	for (size_t length = 0; length <= strlen(text); length++) {
		char *exact = malloc(length + !length);
		memcpy(exact, text, length);
		assert_non_null(sn_xla_label((struct sn_xla_text){7, "jit_cut"},
					     (struct sn_xla_text){length, exact}));
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_places),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
