/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees, tables, callers and exporters on a database with a recursion, and the small parts that
 * reports are made of.
 *
 *   root ─┬─ f 10 ── g 20 ── f 40 ── g 80
 *         └─ h 5 ─── f 100
 */
#include "../db_fixture.h"

#include "base/escape.h"
#include "base/utf8.h"
#include "export/exporter.h"
#include "format/measurement/measurement.h"
#include "show/tree/callers.h"
#include "show/csv.h"
#include "show/tree/flat.h"
#include "show/json.h"
#include "show/label.h"
#include "show/number.h"
#include "show/tree/query.h"
#include "show/sheet.h"
#include "show/source/source.h"
#include "show/source/source_roots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/sonde-report-XXXXXX";
static struct sonde_db *db;
static const uint32_t first_metric = 0;

static uint32_t add(struct sn_db_builder *builder, uint32_t parent, const char *name,
		    uint64_t offset, double own)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_NATIVE,
				       .name = sn_db_builder_string(builder, name),
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE,
				       .offset = offset};
	uint32_t context =
	    sn_db_builder_context(builder, parent, sn_db_builder_frame(builder, &frame));
	struct sonde_db_stat stat = {1, own, own, own, own * own};
	sn_db_builder_value(builder, 0, context, 0, &stat);
	return context;
}

static int setup(void **state)
{
	char path[128];
	assert_non_null(mkdtemp(folder));
	struct sn_db_builder *b = sn_db_builder_new();
	sn_db_builder_set_root(b, sn_db_builder_named_frame(b, SN_FRAME_THREAD, "root"));
	struct sonde_db_metric metric = {.name = sn_db_builder_string(b, "cost"),
					 .unit = sn_db_builder_string(b, "1"),
					 .source = sn_db_builder_string(b, "test"),
					 .kind = SN_METRIC_COUNT};
	sn_db_builder_metric(b, &metric);
	struct sonde_db_profile profile = {.host = sn_db_builder_string(b, "host"),
					   .program = sn_db_builder_string(b, "program"),
					   .thread = SONDE_NONE,
					   .rank = -1};
	sn_db_builder_profile(b, &profile);
	uint32_t f = add(b, 0, "f", 0x10, 10), g = add(b, f, "g", 0x20, 20);
	add(b, add(b, g, "f", 0x11, 40), "g", 0x21, 80);
	add(b, add(b, 0, "h", 0x30, 5), "f", 0x12, 100);
	snprintf(path, sizeof(path), "%s/x.sdb", folder);
	struct sn_error error;
	struct sonde_db_error open_error;
	assert_int_equal(sn_db_builder_write(b, path, &error), 0);
	sn_db_builder_free(b);
	assert_int_equal(sonde_db_open(path, &db, &open_error), 0);
	unlink(path);
	return 0;
}

static int teardown(void **state)
{
	sonde_db_close(db);
	return rmdir(folder);
}

static void make_tree(struct sn_tree *tree, enum sn_grouping grouping)
{
	struct sn_tree_request request = {
	    .grouping = grouping, .metrics = &first_metric, .metric_count = 1};
	assert_int_equal(sn_tree_init(tree, db, &request, NULL), 0);
}

static const char *name_of(uint32_t frame)
{
	return sonde_db_string(db, sonde_db_frame(db, frame)->name);
}

static void test_tree(void **state)
{
	struct sn_tree tree;
	make_tree(&tree, SN_GROUP_INSTRUCTION);
	assert_int_equal(tree.node_count, 7);
	assert_true(sn_tree_inclusive(&tree, 0, 0) == 255);
	for (uint32_t i = 1; i < tree.node_count; i++) {
		const struct sonde_db_context *context = sonde_db_context(db, i);
		assert_int_equal(tree.nodes[i].parent, context->parent);
		assert_int_equal(tree.nodes[i].end, context->end);
		assert_int_equal(tree.nodes[i].depth, context->depth);
	}
	sn_tree_release(&tree);
}

/* Siblings that are the same function at other instructions become one. */
static void test_tree_merges(void **state)
{
	struct sn_db_builder *b = sn_db_builder_new();
	sn_db_builder_set_root(b, sn_db_builder_named_frame(b, SN_FRAME_THREAD, "root"));
	struct sonde_db_metric metric = {.name = sn_db_builder_string(b, "cost"),
					 .unit = sn_db_builder_string(b, "1"),
					 .source = sn_db_builder_string(b, "test"),
					 .kind = SN_METRIC_COUNT};
	sn_db_builder_metric(b, &metric);
	struct sonde_db_profile profile = {
	    .host = SONDE_NONE, .program = SONDE_NONE, .thread = SONDE_NONE};
	sn_db_builder_profile(b, &profile);
	add(b, add(b, 0, "f", 1, 1), "x", 1, 2);
	add(b, add(b, 0, "f", 2, 4), "x", 1, 8);
	add(b, 0, "e", 3, 16);
	char path[128];
	snprintf(path, sizeof(path), "%s/y.sdb", folder);
	struct sonde_db *merged;
	assert_int_equal(sn_db_builder_write(b, path, NULL), 0);
	sn_db_builder_free(b);
	assert_int_equal(sonde_db_open(path, &merged, NULL), 0);
	unlink(path);
	struct sn_tree tree;
	struct sn_tree_request request = {
	    .grouping = SN_GROUP_FUNCTION, .metrics = &first_metric, .metric_count = 1};
	assert_int_equal(sn_tree_init(&tree, merged, &request, NULL), 0);
	assert_int_equal(tree.node_count, 4);
	double f_total = 0, x_own = 0;
	for (uint32_t i = 1; i < tree.node_count; i++) {
		const struct sonde_db_frame *frame = sonde_db_frame(merged, tree.nodes[i].frame);
		const char *name = sonde_db_string(merged, frame->name);
		if (strcmp(name, "f") == 0)
			f_total = sn_tree_inclusive(&tree, 0, i);
		if (strcmp(name, "x") == 0)
			x_own = sn_tree_exclusive(&tree, 0, i);
	}
	assert_true(f_total == 15 && x_own == 10);
	sn_tree_release(&tree);
	sonde_db_close(merged);
}

static void test_flat_counts_recursion_once(void **state)
{
	static const struct {
		const char *name;
		double own, total;
	} expected[] = {{"f", 150, 250}, {"g", 100, 140}, {"h", 5, 105}, {"root", 0, 255}};
	struct sn_tree tree;
	struct sn_flat flat;
	make_tree(&tree, SN_GROUP_INSTRUCTION);
	assert_int_equal(sn_flat_init(&flat, &tree, SN_GROUP_FUNCTION, NULL), 0);
	assert_int_equal(flat.row_count, 4);
	for (uint32_t i = 0; i < flat.row_count; i++) {
		for (size_t j = 0; j < 4; j++) {
			if (strcmp(expected[j].name, name_of(flat.frames[i])) != 0)
				continue;
			assert_true(flat.values[0][i].exclusive.sum == expected[j].own);
			assert_true(flat.values[0][i].inclusive.sum == expected[j].total);
		}
	}
	sn_flat_release(&flat);
	sn_tree_release(&tree);
}

static uint32_t find_entry(const struct sn_callers *callers, uint32_t first, uint32_t count,
			   const char *name)
{
	for (uint32_t i = first; i < first + count; i++)
		if (strcmp(name_of(callers->entries[i].frame), name) == 0)
			return i;
	fail_msg("no entry %s", name);
	return 0;
}

static void test_callers(void **state)
{
	struct sn_tree tree;
	struct sn_callers callers;
	make_tree(&tree, SN_GROUP_INSTRUCTION);
	assert_int_equal(sn_callers_init(&callers, &tree, SN_GROUP_FUNCTION, NULL), 0);
	uint32_t f = find_entry(&callers, 0, callers.function_count, "f");
	assert_true(sn_callers_values(&callers, f)->exclusive.sum == 150);
	assert_true(sn_callers_values(&callers, f)->inclusive.sum == 250);
	assert_int_equal(sn_callers_expand(&callers, f, NULL), 0);
	uint32_t first = callers.entries[f].first_child, count = callers.entries[f].child_count;
	assert_int_equal(count, 2); /* the root is no caller */
	uint32_t g = find_entry(&callers, first, count, "g");
	uint32_t h = find_entry(&callers, first, count, "h");
	assert_true(sn_callers_values(&callers, g)->exclusive.sum == 40);
	assert_true(sn_callers_values(&callers, g)->inclusive.sum == 0); /* within the outer f */
	assert_true(sn_callers_values(&callers, h)->exclusive.sum == 100);
	assert_int_equal(sn_callers_expand(&callers, g, NULL), 0);
	assert_int_equal(callers.entries[g].child_count, 1);
	sn_callers_release(&callers);
	sn_tree_release(&tree);
}

/* What Callgrind's readers make of the file: own costs plus those of all calls. */
static void test_callgrind_counts_recursion_once(void **state)
{
	const struct sn_exporter *exporter = NULL;
	for (size_t i = 0; sn_exporters[i]; i++)
		if (strcmp(sn_exporters[i]->name, "callgrind") == 0)
			exporter = sn_exporters[i];
	assert_non_null(exporter);
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	struct sn_export_request request = {db, "x.sdb", &first_metric, 1};
	assert_int_equal(exporter->write(&request, out, NULL), 0);
	fclose(out);
	double total[16] = {0};
	char names[16][8] = {""};
	unsigned current = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned id = 0, position;
		double cost;
		char name[8] = "";
		int is_function = sscanf(line, "fn=(%u) %7s", &id, name);
		if (is_function > 0)
			current = id;
		if (is_function == 2 || sscanf(line, "cfn=(%u) %7s", &id, name) == 2)
			strcpy(names[id], name);
		if (sscanf(line, "%u %lf", &position, &cost) == 2)
			total[current] += cost;
	}
	free(text);
	for (unsigned i = 0; i < 16; i++) {
		if (strcmp(names[i], "f") == 0)
			assert_true(total[i] == 250);
		else if (strcmp(names[i], "g") == 0)
			assert_true(total[i] == 140);
		else if (strcmp(names[i], "h") == 0)
			assert_true(total[i] == 105);
		else if (strcmp(names[i], "root") == 0)
			assert_true(total[i] == 255);
		else
			assert_string_equal(names[i], "");
	}
}

static void test_query(void **state)
{
	static const struct {
		const char *text;
		const char
		    *kept; /* a digit for each context: the database's are root f g f g h f */
	} cases[] = {
	    {"f", "0111101"},
	    {"g", "0011100"},
	    {"f > g", "0011100"},
	    {"f > f", "0001100"},
	    {"f>f", "0001100"},
	    {"!<lambda>", "1111111"},
	    {"<f>", "0000000"},
	    {"vector<pair<f>>::g", "0000000"},
	    {"h > f", "0000001"},
	    {"g > h", "0000000"},
	    {"!f", "1000010"},
	    {"name:h", "0000011"},
	    {"kind:native name:g", "0011100"},
	    {"kind:python", "0000000"},
	    {"!kind:python", "1111111"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_query *query;
		bool keep[7];
		memset(keep, 1, sizeof(keep));
		assert_int_equal(sn_query_parse(cases[i].text, &query, NULL), 0);
		assert_int_equal(sn_query_restrict(query, db, keep, NULL), 0);
		char kept[8] = "";
		for (int j = 0; j < 7; j++)
			kept[j] = keep[j] ? '1' : '0';
		assert_string_equal(kept, cases[i].kept);
		sn_query_free(query);
	}
}

static void test_shorten(void **state)
{
	static const char *const cases[][2] = {
	    {"main", "main"},
	    {"at::native::add(at::Tensor const&, int)", "at::native::add"},
	    {"void foo<int>(int)", "foo<int>"},
	    {"main::work[abi:v1][abi:c8tJTI](double)", "main::work"},
	    {"(anonymous namespace)::run()", "(anonymous namespace)::run()"},
	    {"a::(anonymous namespace)::run(int)", "a::run"},
	    {"a::b::operator()(int) const", "a::b::operator()"},
	    {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>"},
	    {"std::operator<<char, std::char_traits<char>, std::allocator<char> >",
	     "std::operator<<\xe2\x80\xa6>"},
	    {"std::__cxx11::basic_string<char>::size() const", "std::basic_string<char>::size"},
	    {"a::operator new(unsigned long)", "a::operator new"},
	    {"std::vector<std::pair<int, std::string>, std::allocator<int> >::push_back(int&&)",
	     "std::vector<\xe2\x80\xa6>::push_back"},
	    {"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
	     "<alloc::vec::Vec<T> as core::ops::Drop>::drop"},
	    {"f(int)::{lambda(int)#1}::operator()(int) const", "f::{lambda(int)#1}::operator()"},
	    {"a::f(int) const::{lambda()#2}::run()", "a::f::{lambda()#2}::run"},
	    {"a::operator bool() const", "a::operator bool"},
	    {"a::operator new[](unsigned long)", "a::operator new[]"},
	    {"Foo::operator->() const", "Foo::operator->"},
	    {"bad<name(", "bad<name("},
	    {"(", "("},
	    {"", ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[256];
		sn_label_shorten(cases[i][0], text, sizeof(text));
		assert_string_equal(text, cases[i][1]);
	}
}

static void test_numbers(void **state)
{
	static const struct {
		double value;
		const char *unit, *text;
	} cases[] = {
	    {0, "ns", "0 ns"},
	    {1, "ns", "1.00 ns"},
	    {999, "ns", "999 ns"},
	    {999.6, "ns", "1.00 us"},
	    {1234, "ns", "1.23 us"},
	    {12345678, "ns", "12.3 ms"},
	    {999.9e6, "ns", "1.00 s"},
	    {123.4e9, "ns", "123 s"},
	    {1200e9, "ns", "20.0 min"},
	    {7.2e12, "ns", "2.00 h"},
	    {0, "bytes", "0 B"},
	    {1023, "bytes", "1023 B"},
	    {1536, "bytes", "1.50 KiB"},
	    {4.5 * 1048576, "bytes", "4.50 MiB"},
	    {12345, "1", "12.3k"},
	    {999, "1", "999"},
	    {999999, "1", "1.00M"},
	    {2.5, "1", "2.50"},
	    {1500, "joules", "1.50k joules"},
	};
	char text[SN_NUMBER_CHARS];
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(sn_number_format(cases[i].value, cases[i].unit, text),
				    cases[i].text);
	assert_string_equal(sn_number_count(1234567, text), "1,234,567");
	assert_string_equal(sn_number_count(12, text), "12");
	assert_string_equal(sn_number_share(0.4211, text), "42.1%");
	assert_string_equal(sn_number_share(0.0001, text), "<0.1%");
	assert_string_equal(sn_number_exact(0.1, text), "0.1");
	assert_string_equal(sn_number_exact(123456789012345, text), "123456789012345");
	assert_string_equal(sn_number_exact(-1200, text), "-1200");
	assert_string_equal(sn_number_exact(0, text), "0");
	assert_true(strtod(sn_number_exact(1.0 / 3, text), NULL) == 1.0 / 3);
}

/* Whatever a message quotes, it stays one line that a terminal obeys nothing of. */
static void test_error_text(void **state)
{
	struct sn_error error;
	char marks[] = "\xe2\x80\xae \xd8\x9c \xe2\x82\xac";
	sn_one_line(marks);
	assert_string_equal(marks, "??? ?? \xe2\x82\xac");
	assert_int_equal(sn_fail(&error, SN_ERR_FORMAT, "no '%s'",
				 "a\n\x1b[2J\xc2\x9b"
				 "b\xc3\xa9"),
			 SN_ERR_FORMAT);
	assert_string_equal(error.text, "no 'a??[2J??b\xc3\xa9'");
	sn_fail_prefix(&error, SN_ERR_FORMAT, "in '%s'", "\r\x7f\xc2");
	assert_string_equal(error.text, "in '??"
					"?': no 'a??[2J??b\xc3\xa9'");
}

static void test_utf8(void **state)
{
	char text[64];
	sn_utf8_clean("\xc2\x9b"
		      "1m\xc2\xa0\x1b[0m\x7f",
		      text, sizeof(text));
	assert_string_equal(text, "?1m\xc2\xa0?[0m?"); /* nothing that a terminal obeys */
	sn_utf8_clean("a\x01\xff\xc3\xa9\xed\xa0\x80", text, sizeof(text));
	assert_string_equal(text, "a??\xc3\xa9???");
	strcpy(text, "0123456789");
	sn_utf8_elide(text, 10);
	assert_string_equal(text, "0123456789");
	for (size_t columns = 1; columns < 10; columns++) {
		strcpy(text, "0123456789");
		sn_utf8_elide(text, columns);
		assert_true(sn_utf8_columns(text) <= columns);
		assert_true(sn_utf8_columns(text) + 1 >= columns);
		strcpy(text, "0123456789");
		sn_utf8_cut(text, columns);
		assert_true(sn_utf8_columns(text) <= columns);
		strcpy(text, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
			     "\xa9\xc3\xa9");
		sn_utf8_elide(text, columns);
		assert_true(sn_utf8_columns(text) <= columns);
		for (const char *c = text; *c; c += sn_utf8_length(c))
			assert_true(sn_utf8_length(c) > 0);
	}
}

/* What each character is, at the edges of what is hidden. */
static void test_hidden(void **state)
{
	char clean[32];
	static const struct {
		const char *text;
		uint32_t code;
		const char *shown;
	} cases[] = {
	    {"\x01", 1, "?"},
	    {"\t", 9, " "},
	    {"\x1b", 0x1b, "?"},
	    {" ", 0, " "},
	    {"~", 0, "~"},
	    {"\x7f", 0x7f, "?"},
	    {"\xc2\x80", 0x80, "?"},
	    {"\xc2\x9f", 0x9f, "?"},
	    {"\xc2\xa0", 0, "\xc2\xa0"},
	    {"\xd8\x9c", 0x61c, "\\u061c"},
	    {"\xe2\x80\x8d", 0, "\xe2\x80\x8d"},
	    {"\xe2\x80\x8e", 0x200e, "\\u200e"},
	    {"\xe2\x80\x8f", 0x200f, "\\u200f"},
	    {"\xe2\x80\x90", 0, "\xe2\x80\x90"},
	    {"\xe2\x80\xa9", 0, "\xe2\x80\xa9"},
	    {"\xe2\x80\xaa", 0x202a, "\\u202a"},
	    {"\xe2\x80\xae", 0x202e, "\\u202e"},
	    {"\xe2\x80\xaf", 0, "\xe2\x80\xaf"},
	    {"\xe2\x81\xa5", 0, "\xe2\x81\xa5"},
	    {"\xe2\x81\xa6", 0x2066, "\\u2066"},
	    {"\xe2\x81\xa9", 0x2069, "\\u2069"},
	    {"\xe2\x81\xaa", 0, "\xe2\x81\xaa"},
	    {"\xf0\x9f\x98\x80", 0, "\xf0\x9f\x98\x80"},
	    {"\xff", 0, "?"},
	    {"\x9b", 0, "?"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char shown[SN_UTF8_SHOWN], markup[SN_ESCAPED];
		size_t bytes = strlen(cases[i].text);
		assert_int_equal(sn_utf8_hidden(cases[i].text), cases[i].code);
		assert_int_equal(sn_utf8_show(cases[i].text, shown), bytes);
		assert_string_equal(shown, cases[i].shown);
		assert_int_equal(sn_escape_next(SN_ESCAPE_MARKUP, cases[i].text, markup), bytes);
		assert_string_equal(markup, cases[i].shown);
		sn_utf8_clean(cases[i].text, clean, sizeof(clean));
		assert_string_equal(clean, cases[i].shown);
	}
	assert_int_equal(sn_utf8_hidden(""), 0);
	sn_utf8_clean("\xd8\x9c\xd8\x9c\xd8\x9c\xd8\x9c\xff\xff", clean, sizeof(clean));
	assert_string_equal(clean, "\\u061c\\u061c\\u061c\\u061c??");
}

static char *text_of(void (*write)(FILE *, const char *), const char *text)
{
	char *found = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&found, &length);
	write(out, text);
	fclose(out);
	return found;
}

static void test_json(void **state)
{
	static const char *const cases[][2] = {
	    {"a\"\\\n\x7f\xc3\xa9\xff", "\"a\\\"\\\\\\u000a\\u007f\xc3\xa9\\ufffd\""},
	    {"\xc2\x9b\xe2\x80\xae\xd8\x9c", "\"\\u009b\\u202e\\u061c\""},
	    {"\xf0\x9f\x98\x80\xe2\x82", "\"\xf0\x9f\x98\x80\\ufffd\\ufffd\""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = text_of(sn_json_quote, cases[i][0]);
		assert_string_equal(text, cases[i][1]);
		free(text);
	}
}

/* A text that is wider as it is shown, cut and whole. */
static void test_sheet(void **state)
{
	char *text = NULL;
	size_t length = 0;
	struct sn_page page = {0};
	static const struct sn_column columns[] = {{"name", "name", ""},
						   {"count", "count", "count"}};
	struct sn_sheet *sheet = sn_page_table(&page, "x", columns, "of %s", "\x1b[1m");
	sn_sheet_text(sheet, "\xe2\x80\xae"
			     "abcdefghijklmnopqrstuvwxyz");
	sn_sheet_number(sheet, 5);
	sn_sheet_note(sheet, "%s", "\xff\x1b\n a");
	FILE *out = open_memstream(&text, &length);
	sn_page_print(&page, 0, 100, false, out);
	sn_page_print(&page, 0, 29, false, out);
	fclose(out);
	assert_string_equal(text, "\nof ?[1m\n"
				  "  name                              count\n"
				  "  \\u202eabcdefghijklmnopqrstuvwxyz      5\n"
				  "  ??  a\n"
				  "\nof ?[1m\n"
				  "  name                count\n"
				  "  \\u202eabcdefghijk\xe2\x80\xa6      5\n"
				  "  ??  a\n");
	free(text);
	sn_page_release(&page);
}

static void test_csv(void **state)
{
	static const char *const cases[][3] = {
	    /* text, as a cell, as a cell that always has quotes */
	    {"", "", "\"\""},
	    {"a b", "a b", "\"a b\""},
	    {"a,b", "\"a,b\"", "\"a,b\""},
	    {"a\"b", "\"a\"\"b\"", "\"a\"\"b\""},
	    {"a\nb\x1b\xc2\x9b", "a b??", "\"a b??\""},
	    {"\xe2\x80\xae=1", "\\u202e=1", "\"\\u202e=1\""},
	    {"=1+1", "'=1+1", "\"'=1+1\""},
	    {"=A,\"B\"", "\"'=A,\"\"B\"\"\"", "\"'=A,\"\"B\"\"\""},
	    {"@a", "'@a", "\"'@a\""},
	    {"\t=1", "' =1", "\"' =1\""},
	    {"\r\n =1", "'   =1", "\"'   =1\""},
	    {"\xef\xbc\x9d"
	     "1",
	     "'\xef\xbc\x9d"
	     "1",
	     "\"'\xef\xbc\x9d"
	     "1\""},
	    {"-1", "-1", "\"-1\""},
	    {"+1.5e-3", "+1.5e-3", "\"+1.5e-3\""},
	    {"-.5", "-.5", "\"-.5\""},
	    {"-", "'-", "\"'-\""},
	    {"-1+2", "'-1+2", "\"'-1+2\""},
	    {"+1e", "'+1e", "\"'+1e\""},
	    {"-.", "'-.", "\"'-.\""},
	    {"-0x10", "'-0x10", "\"'-0x10\""},
	    {"a=1", "a=1", "\"a=1\""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = text_of(sn_csv_text, cases[i][0]);
		assert_string_equal(text, cases[i][1]);
		free(text);
		text = text_of(sn_csv_quoted, cases[i][0]);
		assert_string_equal(text, cases[i][2]);
		free(text);
	}
	char *nothing = text_of(sn_csv_text, NULL);
	assert_string_equal(nothing, "");
	free(nothing);
}

static void test_csv_parts(void **state)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	sn_csv_head(out, "cpu-time", "sum");
	sn_csv_head(out, "=a,b", "max");
	fputs(",\"", out);
	sn_csv_part(out, "a;\"b\"\x1b", ';');
	sn_csv_part(out, ";=1", 0);
	fputc('"', out);
	fclose(out);
	assert_string_equal(text, ",cpu-time:sum,\"'=a,b:max\",\"a:\"\"b\"\"?;=1\"");
	free(text);
	assert_true(sn_csv_is_formula("-1"));
	assert_false(sn_csv_is_formula(""));
	assert_false(sn_csv_is_formula(" a"));
}

static void test_source(void **state)
{
	char path[128], text[64];
	snprintf(path, sizeof(path), "%s/a.py", folder);
	FILE *file = fopen(path, "w");
	fputs("import x\n\n    y = \t1  \nlast", file);
	fclose(file);
	struct stat status;
	stat(path, &status);
	uint64_t changed_ns =
	    (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
	struct sn_source source;
	struct sn_source_roots roots = {0};
	sn_source_init(&source, db, NULL, changed_ns); /* no folder is allowed */
	assert_false(sn_source_line(&source, path, 1, text, sizeof(text)));
	sn_source_release(&source);
	assert_int_equal(sn_source_roots_add(&roots, folder, NULL), 0);
	sn_source_init(&source, db, &roots, changed_ns);
	assert_true(sn_source_line(&source, path, 1, text, sizeof(text)));
	assert_string_equal(text, "import x");
	assert_true(sn_source_line(&source, path, 3, text, sizeof(text)));
	assert_string_equal(text, "y =  1  ");
	assert_true(sn_source_line(&source, path, 4, text, sizeof(text)));
	assert_string_equal(text, "last");
	assert_false(sn_source_line(&source, path, 2, text, sizeof(text)));
	assert_false(sn_source_line(&source, path, 5, text, sizeof(text)));
	assert_false(sn_source_line(&source, path, 0, text, sizeof(text)));
	assert_false(sn_source_line(&source, "/nowhere/b.py", 1, text, sizeof(text)));
	assert_false(sn_source_line(&source, "/dev/zero", 1, text, sizeof(text)));
	sn_source_release(&source);
	/* A file that was changed after the measurement is another file. */
	sn_source_init(&source, db, &roots, changed_ns - 1);
	assert_false(sn_source_line(&source, path, 1, text, sizeof(text)));
	sn_source_release(&source);
	sn_source_roots_release(&roots);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tree),
	    cmocka_unit_test(test_tree_merges),
	    cmocka_unit_test(test_flat_counts_recursion_once),
	    cmocka_unit_test(test_callers),
	    cmocka_unit_test(test_callgrind_counts_recursion_once),
	    cmocka_unit_test(test_query),
	    cmocka_unit_test(test_shorten),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_error_text),
	    cmocka_unit_test(test_utf8),
	    cmocka_unit_test(test_hidden),
	    cmocka_unit_test(test_json),
	    cmocka_unit_test(test_sheet),
	    cmocka_unit_test(test_csv),
	    cmocka_unit_test(test_csv_parts),
	    cmocka_unit_test(test_source),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
