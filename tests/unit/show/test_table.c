/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and paragraphs on a terminal: what is padded, cut and wrapped, character by character. */
#include "show/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static char *text;
static size_t length;

static FILE *begin(void)
{
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	return out;
}

static void end(FILE *out, const char *expected)
{
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void test_texts_left_and_numbers_right(void **unused)
{
	struct sn_text_table table = {.out = begin(), .gap = 2};
	sn_text_table_column(&table, "who", -6);
	sn_text_table_column(&table, "± dev.", 8);
	sn_text_table_end(&table);
	sn_text_table_cell(&table, "rank 0");
	sn_text_table_format(&table, "%.1f", 1.5);
	sn_text_table_end(&table);
	sn_text_table_cell(&table, "two");
	sn_text_table_cell(&table, "");
	assert_int_equal(sn_text_table_rest(&table), 2 + 6 + 2 + 8 + 2);
	fputs("rest", table.out);
	sn_text_table_end(&table);
	end(table.out, "  who       ± dev.\n"
		       "  rank 0       1.5\n"
		       "  two               rest\n");
}

/* A text that ends its row has no blanks behind it; what is behind the last column is nobody's. */
static void test_a_row_ends_without_blanks(void **unused)
{
	struct sn_text_table table = {.out = begin(), .gap = 1};
	sn_text_table_column(&table, "n", 3);
	sn_text_table_column(&table, "name", -8);
	sn_text_table_end(&table);
	table.mark = ">";
	sn_text_table_cell(&table, "7");
	sn_text_table_cell(&table, "a\nb");
	sn_text_table_cell(&table, "lost");
	sn_text_table_end(&table);
	end(table.out, "   n name\n>  7 a b\n");
}

static void test_wide_cells(void **unused)
{
	struct sn_text_table table = {.out = begin(), .gap = 1};
	sn_text_table_column(&table, "a", -4);
	sn_text_table_column(&table, "b", 2);
	sn_text_table_end(&table);
	sn_text_table_cell(&table, "abcdef");
	sn_text_table_cell(&table, "123");
	assert_int_equal(table.used, 1 + 6 + 1 + 3);
	sn_text_table_end(&table);
	table.cuts = true;
	sn_text_table_cell(&table, "äbcdef");
	sn_text_table_own_cell(&table);
	fputs("##", table.out);
	assert_int_equal(table.used, 1 + 4 + 1 + 2);
	sn_text_table_end(&table);
	end(table.out, " a     b\n abcdef 123\n äbc… ##\n");
}

static void test_words_wrap(void **unused)
{
	FILE *out = begin();
	sn_text_table_wrap(out, "one two three  four", 0, 4, 8);
	sn_text_table_wrap(out, "unbreakable x", 2, 2, 6);
	end(out, "one two\n    three\n    four\nunbreakable\n  x\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_texts_left_and_numbers_right),
	    cmocka_unit_test(test_a_row_ends_without_blanks),
	    cmocka_unit_test(test_wide_cells),
	    cmocka_unit_test(test_words_wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
