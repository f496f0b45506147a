/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported page's data against a database with known numbers, and the page around it. What the
 * page makes of the data is tested in viewer/test and tests/browser.
 */
#include "../db_fixture.h"
#include "export/exporter.h"
#include "export/html/html_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct sn_exporter sn_exporter_html;

struct column {
	char type[16];
	size_t offset, bytes, count;
};

static struct sonde_db *open_built(struct sn_db_builder *builder)
{
	char path[] = "/tmp/test-html-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	struct sonde_db *db = NULL;
	assert_int_equal(sn_db_builder_write(builder, path, NULL), 0);
	assert_int_equal(sonde_db_open(path, &db, NULL), 0);
	sn_db_builder_free(builder);
	unlink(path);
	return db;
}

static size_t header_length(const struct sn_buffer *data)
{
	return data->bytes[12] | data->bytes[13] << 8 | data->bytes[14] << 16;
}

static char *header_of(const struct sn_buffer *data)
{
	return strndup((const char *)data->bytes + 16, header_length(data));
}

static struct column find_column(const char *header, const char *name)
{
	char quoted[64];
	struct column column = {""};
	snprintf(quoted, sizeof(quoted), "\"%s\":[\"", name);
	const char *at = strstr(header, quoted);
	assert_non_null(at);
	assert_int_equal(sscanf(at + strlen(quoted), "%15[^\"]\",%zu,%zu,%zu]", column.type,
				&column.offset, &column.bytes, &column.count),
			 4);
	return column;
}

/* A column's values added up, whichever type it has. */
static double column_sum(const struct sn_buffer *data, const struct column *column)
{
	const unsigned char *at =
	    data->bytes + (16 + header_length(data) + 7) / 8 * 8 + column->offset;
	const unsigned char *end = at + column->bytes;
	assert_true(end <= data->bytes + data->count);
	double sum = 0;
	for (size_t i = 0; i < column->count; i++) {
		double value = 0, scale = 1;
		if (!strcmp(column->type, "f64")) {
			memcpy(&value, at, sizeof(value));
			at += sizeof(value);
		} else {
			for (; *at & 0x80; at++, scale *= 128)
				value += (*at & 0x7f) * scale;
			value += *at++ * scale;
		}
		sum += value;
	}
	assert_ptr_equal(at, end);
	return sum;
}

static void holds_the_values_of_the_database(void **state)
{
	static const struct {
		const char *name;
		size_t count;
		double sum;
	} expected[] = {
	    {"context.frame", 15, -1},
	    {"metric.0.context", 11, -1},
	    {"metric.0.count", 11, 100},
	    {"metric.0.sum", 11, 500 * FIXTURE_MS},
	    {"metric.0.min", 11, 11 * 5 * FIXTURE_MS},
	    {"metric.0.sum_squares", 11, 100 * 25 * FIXTURE_MS * FIXTURE_MS},
	    {"metric.1.count", 1, 3},
	    {"metric.1.sum", 1, 300 * FIXTURE_MS},
	    {"metric.1.min", 1, 50 * FIXTURE_MS},
	    {"metric.1.max", 1, 150 * FIXTURE_MS},
	};
	struct sonde_db *db = open_built(db_fixture_small());
	struct sn_buffer data;
	assert_int_equal(sn_html_data_build(&data, db, &(struct sn_html_shown){.metric = 1}, NULL),
			 0);
	assert_memory_equal(data.bytes, "SONDEHTM\1\0\4\0", 12);
	char *header = header_of(&data);
	assert_memory_equal(header, "{\"metric\":1,", 12);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct column column = find_column(header, expected[i].name);
		assert_int_equal(column.count, expected[i].count);
		double sum = column_sum(&data, &column);
		if (expected[i].sum >= 0)
			assert_true(sum == expected[i].sum);
	}
	free(header);
	sn_buffer_release(&data);
	sonde_db_close(db);
}

static void keeps_fractions_and_negative_numbers(void **state)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(builder, "ratio"),
	    .unit = sn_db_builder_string(builder, "1"),
	    .source = SONDE_NONE,
	};
	uint32_t number = sn_db_builder_metric(builder, &metric);
	struct sonde_db_profile profile = {
	    .host = SONDE_NONE, .program = SONDE_NONE, .thread = SONDE_NONE, .rank = -1};
	uint32_t owner = sn_db_builder_profile(builder, &profile);
	struct sonde_db_stat stat = {2, -0.5, -1, 0.5, 1.25};
	sn_db_builder_value(builder, owner, 0, number, &stat);
	struct sonde_db *db = open_built(builder);
	struct sn_buffer data;
	assert_int_equal(sn_html_data_build(&data, db, &(struct sn_html_shown){.metric = 0}, NULL),
			 0);
	char *header = header_of(&data);
	struct column column = find_column(header, "metric.0.sum");
	assert_string_equal(column.type, "f64");
	assert_true(column_sum(&data, &column) == -0.5);
	column = find_column(header, "metric.0.min");
	assert_string_equal(column.type, "f64");
	assert_true(column_sum(&data, &column) == -1);
	column = find_column(header, "metric.0.count");
	assert_string_equal(column.type, "varint");
	free(header);
	sn_buffer_release(&data);
	sonde_db_close(db);
}

static void escapes_what_it_quotes(void **state)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	sn_db_builder_property(builder, "program", "/bin/<script>&");
	sn_db_builder_property(builder, "command", "a\"b\\c\nd\x01");
	struct sonde_db *db = open_built(builder);
	struct sn_buffer data;
	assert_int_equal(sn_html_data_build(&data, db, &(struct sn_html_shown){.metric = 0}, NULL),
			 0);
	char *header = header_of(&data);
	assert_non_null(strstr(header, "\"command\":\"a\\\"b\\\\c d?\""));
	free(header);
	sn_buffer_release(&data);
	sonde_db_close(db);
}

static void export_page(struct sonde_db *db, char **page, size_t *length)
{
	uint32_t metric = 0;
	FILE *out = open_memstream(page, length);
	struct sn_export_request request = {
	    .db = db, .path = "x.sdb", .metrics = &metric, .metric_count = 1};
	assert_int_equal(sn_exporter_html.write(&request, out, NULL), 0);
	fclose(out);
}

static void fills_every_mark_of_the_page(void **state)
{
	struct sn_db_builder *builder = db_fixture_small();
	sn_db_builder_property(builder, "program", "/bin/<script>&");
	struct sonde_db *db = open_built(builder);
	char *page;
	size_t page_length;
	export_page(db, &page, &page_length);
	assert_memory_equal(page, "<!doctype html>", 15);
	assert_non_null(strstr(page, "<title>&lt;script&gt;&amp; "));
	assert_null(strstr(page, "@TITLE@"));
	assert_null(strstr(page, "@ENCODING@"));
	assert_null(strstr(page, "@DATA@"));
	const char *data = strstr(page, "data-encoding=\"");
	assert_non_null(data);
	data = strchr(data, '>') + 1;
	size_t length =
	    strspn(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
	assert_true(length > 400 && length % 4 == 0);
	assert_memory_equal(data + length, "</script>", 9);
	assert_non_null(strstr(page, "</html>"));
	free(page);
	sonde_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(holds_the_values_of_the_database),
	    cmocka_unit_test(keeps_fractions_and_negative_numbers),
	    cmocka_unit_test(escapes_what_it_quotes),
	    cmocka_unit_test(fills_every_mark_of_the_page),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
