/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a database whose every report and export is written, and as an expression of
 * --where. What a database says is checked when it is opened; its names and numbers may be
 * anything. See fuzz_report.sh.
 */
#include "fuzz_file.h"

#include "base/utf8.h"
#include "export/exporter.h"
#include "show/tree/query.h"
#include "show/tree/view.h"
#include "sonde/db.h"

enum { MOST_METRICS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In place of the real one, which would take most of the time. */
extern const char sn_html_page[];
const char sn_html_page[] = "@TITLE@@ENCODING@@DATA@";

static ssize_t discard(void *cookie, const char *bytes, size_t length)
{
	return (ssize_t)length;
}

/* What is made of texts holds nothing that is obeyed, whatever the names. A character that two
 * writes share is not looked at. */
static ssize_t look_at(void *cookie, const char *bytes, size_t length)
{
	char text[4];
	for (size_t i = 0; i < length; i++) {
		memset(text, 0, sizeof(text));
		memcpy(text, bytes + i, length - i < 3 ? length - i : 3);
		if (*text != '\n' && *text != '\t' && (!*text || sn_utf8_hidden(text)))
			abort();
	}
	return (ssize_t)length;
}

static FILE *open_sink(bool is_text)
{
	cookie_io_functions_t functions = {.write = is_text ? look_at : discard};
	return fopencookie(NULL, "w", functions);
}

static void write_views(const struct sonde_db *db, const uint32_t *metrics, uint32_t count,
			unsigned choice, const struct sn_query *query)
{
	FILE *out = open_sink(true), *colored = open_sink(false);
	struct sn_terminal page = {choice & 1 ? colored : out, 20 + (int)(choice % 7) * 20,
				   choice & 1, choice & 2};
	for (int kind = SN_VIEW_TOP_DOWN; kind <= SN_VIEW_THREADS; kind++) {
		struct sn_view view = {
		    .db = db,
		    .path = "x.sdb",
		    .kind = (enum sn_view_kind)kind,
		    .grouping = (enum sn_grouping)(kind == SN_VIEW_FLAT ? choice % 11 : choice % 4),
		    .by = "function",
		    .metrics = metrics,
		    .metric_count = count,
		    .sort = (enum sn_view_sort)(choice % 5),
		    .where = &query,
		    .where_count = query ? 1 : 0,
		    .max_depth = choice & 4 ? 3 : SONDE_NONE,
		    .limit = choice & 8 ? 30 : 0,
		    .is_full = choice & 16,
		};
		sn_view_text(&view, &page, NULL);
		view.min_share = 0.001;
		sn_view_json(&view, out, NULL);
		sn_view_csv(&view, out, NULL);
	}
	fclose(colored);
	fclose(out);
}

static bool is_binary(const char *format)
{
	static const char *const formats[] = {"pprof", "otlp", "perfetto", "gcov"};
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strcmp(format, formats[i]) == 0)
			return true;
	return false;
}

static void write_exports(const struct sonde_db *db, const uint32_t *metrics, uint32_t count)
{
	struct sn_export_request request = {db, "x.sdb", metrics, count};
	for (size_t i = 0; sn_exporters[i]; i++) {
		if (!sn_exporters[i]->write)
			continue; /* writes a folder */
		FILE *out = open_sink(!is_binary(sn_exporters[i]->name));
		sn_exporters[i]->write(&request, out, NULL);
		fclose(out);
	}
}

/* The last bytes of an input, as an expression and as a name. */
static struct sn_query *parse_tail(const uint8_t *data, size_t size)
{
	char text[65] = "", clean[80];
	size_t length = size < 64 ? size : 64;
	struct sn_query *query = NULL;
	memcpy(text, data + size - length, length);
	sn_utf8_clean(text, clean, sizeof(clean));
	for (const char *c = clean; *c; c += sn_utf8_length(c))
		if (sn_utf8_length(c) == 0 || sn_utf8_hidden(c))
			abort();
	sn_utf8_elide(clean, 1 + size % 30);
	if (sn_utf8_columns(clean) > 1 + size % 30)
		abort();
	sn_query_parse(text, &query, NULL);
	return query;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH_MAX];
	struct sonde_db *db;
	uint32_t metrics[MOST_METRICS];
	struct sn_query *query = parse_tail(data, size);
	int file = fuzz_database_file(data, size, NULL, path);
	if (sonde_db_open(path, &db, NULL) == 0) {
		uint32_t count = sn_view_default_metrics(db, metrics, MOST_METRICS);
		if (count > 0) {
			write_views(db, metrics, count, (unsigned)size, NULL);
			write_views(db, metrics, count, (unsigned)size / 2, query);
			write_exports(db, metrics, count);
		}
		sonde_db_close(db);
	}
	sn_query_free(query);
	close(file);
	return 0;
}
