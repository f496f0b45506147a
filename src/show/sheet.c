/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in memory, as text and as JSON; see sheet.h. */
#include "sheet.h"

#include "base/vec.h"
#include "number.h"
#include "table.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sn_page_release(struct sn_page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		free(page->sheets[i]->notes);
		free(page->sheets[i]->cells);
		free(page->sheets[i]);
	}
	free(page->sentences);
	free(page->sheets);
	sn_arena_release(&page->texts);
	*page = (struct sn_page){0};
}

/* NULL without memory, which the page remembers. */
__attribute__((format(printf, 2, 0))) static const char *keep(struct sn_page *page,
							      const char *format, va_list arguments)
{
	char *text = NULL;
	const char *kept =
	    vasprintf(&text, format, arguments) < 0 ? NULL : sn_arena_text(&page->texts, text);
	free(text);
	page->has_failed |= !kept;
	return kept;
}

void sn_page_sentence(struct sn_page *page, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const char *text = keep(page, format, arguments);
	va_end(arguments);
	if (text && sn_vec_push(&page->sentences, &page->sentence_capacity, &page->sentence_count,
				text) < 0)
		page->has_failed = true;
}

struct sn_sheet *sn_page_sheet(struct sn_page *page, const char *key, const char *format, ...)
{
	static struct sn_sheet unowned;
	struct sn_sheet *sheet = calloc(1, sizeof(*sheet));
	va_list arguments;
	if (!sheet || sn_vec_push(&page->sheets, &page->capacity, &page->count, sheet) < 0) {
		free(sheet);
		page->has_failed = true;
		return &unowned;
	}
	va_start(arguments, format);
	sheet->title = keep(page, format, arguments);
	va_end(arguments);
	sheet->page = page;
	snprintf(sheet->key, sizeof(sheet->key), "%s", key);
	return sheet;
}

struct sn_sheet *sn_sheet_columns(struct sn_sheet *sheet, const struct sn_column *columns,
				  size_t count)
{
	for (size_t i = 0; i < count && sheet->page && sheet->column_count < SN_SHEET_COLUMNS; i++)
		sheet->columns[sheet->column_count++] = columns[i];
	return sheet;
}

static void add_cell(struct sn_sheet *sheet, struct sn_cell cell)
{
	bool is_full = sheet->cell_count == (size_t)SN_SHEET_ROWS * sheet->column_count;
	sheet->left_out += is_full;
	if (sheet->page && !is_full &&
	    sn_vec_push(&sheet->cells, &sheet->cell_capacity, &sheet->cell_count, cell) < 0)
		sheet->page->has_failed = true;
}

void sn_sheet_number(struct sn_sheet *sheet, double value)
{
	add_cell(sheet, (struct sn_cell){value, NULL});
}

void sn_sheet_number_cells(struct sn_sheet *sheet, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sn_sheet_number(sheet, values[i]);
}

void sn_sheet_text(struct sn_sheet *sheet, const char *text)
{
	if (sheet->page)
		add_cell(sheet, (struct sn_cell){NAN, sn_arena_text(&sheet->page->texts, text)});
}

void sn_sheet_note(struct sn_sheet *sheet, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const char *text = sheet->page ? keep(sheet->page, format, arguments) : NULL;
	va_end(arguments);
	if (text && sn_vec_push(&sheet->notes, &sheet->note_capacity, &sheet->note_count, text) < 0)
		sheet->page->has_failed = true;
}

size_t sn_sheet_rows(const struct sn_sheet *sheet)
{
	return sheet->column_count ? sheet->cell_count / sheet->column_count : 0;
}

void sn_sheet_leave_out(struct sn_sheet *sheet, size_t rows)
{
	sheet->left_out += rows * sheet->column_count;
}

size_t sn_sheet_left_out(const struct sn_sheet *sheet)
{
	return sheet->left_out / sheet->column_count;
}

/* Whether all rows are to be shown. */
static bool shows_all(const struct sn_sheet *sheet)
{
	return sheet->is_whole && sn_sheet_rows(sheet) <= SN_SHEET_WHOLE;
}

/* How many series are not drawn. */
static size_t series_left(const struct sn_page *page)
{
	size_t count = 0;
	for (size_t i = 0; i < page->count; i++)
		count += page->sheets[i]->shape == SN_SHEET_SERIES;
	return count > SN_PAGE_SERIES ? count - SN_PAGE_SERIES : 0;
}

enum { TEXT_BYTES = 64 };

/* "12.3 ms", by the column's unit; "" for none. */
static const char *cell_text(const struct sn_column *column, const struct sn_cell *cell,
			     char text[TEXT_BYTES])
{
	char number[SN_NUMBER_CHARS];
	if (!*column->unit)
		return cell->text ? cell->text : "";
	if (isnan(cell->number))
		return "";
	if (!strcmp(column->unit, "ratio"))
		sn_number_share(cell->number, number);
	else if (!strcmp(column->unit, "count") || !strcmp(column->unit, "id"))
		sn_number_count(cell->number, number);
	else
		sn_number_format(cell->number, column->unit, number);
	snprintf(text, TEXT_BYTES, "%s", number);
	return text;
}

/* ---- text ---- */

static bool is_text(const struct sn_column *column)
{
	return !*column->unit;
}

static bool is_printed(const struct sn_column *column)
{
	return strcmp(column->unit, "id") != 0;
}

/* Texts are cut down to this; to the second where that is not enough. */
enum { TEXT_LEAST = 12, TEXT_LEAST_OF_ALL = 8 };

/* Columns as they are printed: their widths, 0 of those that are not. */
struct layout {
	int widths[SN_SHEET_COLUMNS];
	int total;
};

static void measure(const struct sn_sheet *sheet, size_t rows, struct layout *layout)
{
	char text[TEXT_BYTES];
	*layout = (struct layout){.total = 2};
	for (size_t c = 0; c < sheet->column_count; c++) {
		const struct sn_column *column = sheet->columns + c;
		int *own = layout->widths + c;
		if (!is_printed(column))
			continue;
		*own = sn_text_table_width_of(column->head, NULL);
		for (size_t r = 0; r < rows; r++) {
			int wide = sn_text_table_width_of(
			    cell_text(column, sheet->cells + r * sheet->column_count + c, text),
			    NULL);
			*own = wide > *own ? wide : *own;
		}
		*own += !*own; /* a column of nothing is one all the same */
		layout->total += *own + 2;
	}
}

/* Cuts the widest text first. */
static void cut_texts(const struct sn_sheet *sheet, int least, int width, struct layout *layout)
{
	for (; layout->total > width; layout->total--) {
		size_t widest = SN_SHEET_COLUMNS;
		for (size_t c = 0; c < sheet->column_count; c++)
			if (is_text(sheet->columns + c) && layout->widths[c] > least &&
			    (widest == SN_SHEET_COLUMNS ||
			     layout->widths[c] > layout->widths[widest]))
				widest = c;
		if (widest == SN_SHEET_COLUMNS)
			return;
		layout->widths[widest]--;
	}
}

/* The most minor kind of a sheet's columns below `below`; 0: there is none. */
static unsigned most_minor(const struct sn_sheet *sheet, unsigned below)
{
	unsigned most = 0;
	for (size_t c = 0; c < sheet->column_count; c++)
		if (sheet->columns[c].minor > most && sheet->columns[c].minor < below)
			most = sheet->columns[c].minor;
	return most;
}

/* Columns of numbers get the width that they need; texts share the rest. Where that is too little for texts, minor columns are left out. */
static void lay_out(const struct sn_sheet *sheet, size_t rows, int width, struct layout *layout)
{
	unsigned left_out = UINT_MAX;
	for (bool fits = false; !fits;) {
		measure(sheet, rows, layout);
		for (size_t c = 0; c < sheet->column_count; c++)
			if (sheet->columns[c].minor >= left_out && layout->widths[c]) {
				layout->total -= layout->widths[c] + 2;
				layout->widths[c] = 0;
			}
		cut_texts(sheet, TEXT_LEAST, width, layout);
		unsigned next = most_minor(sheet, left_out);
		fits = layout->total <= width || !next;
		left_out = next;
	}
	cut_texts(sheet, TEXT_LEAST_OF_ALL, width, layout);
}

static void print_table(const struct sn_sheet *sheet, size_t rows, int width, FILE *out)
{
	struct sn_text_table table = {.out = out, .gap = 2, .cuts = true};
	char text[TEXT_BYTES];
	struct layout layout;
	lay_out(sheet, rows, width, &layout);
	for (size_t c = 0; c < sheet->column_count; c++)
		if (layout.widths[c])
			sn_text_table_column(&table, sheet->columns[c].head,
					     is_text(sheet->columns + c) ? -layout.widths[c]
									 : layout.widths[c]);
	sn_text_table_end(&table);
	for (size_t r = 0; r < rows; r++) {
		const struct sn_cell *cells = sheet->cells + r * sheet->column_count;
		for (size_t c = 0; c < sheet->column_count; c++)
			if (layout.widths[c])
				sn_text_table_cell(&table,
						   cell_text(sheet->columns + c, cells + c, text));
		sn_text_table_end(&table);
	}
}

/* A line of a series as eighths of blocks, the greatest value of each of `width` parts. */
static void print_line(const struct sn_sheet *sheet, size_t column, int width, FILE *out)
{
	size_t rows = sn_sheet_rows(sheet);
	double most = 0;
	char text[TEXT_BYTES];
	struct sn_cell greatest = {0, NULL};
	for (size_t r = 0; r < rows; r++)
		most = fmax(most, sheet->cells[r * sheet->column_count + column].number);
	int wide = (size_t)width < rows ? width : (int)rows;
	fputs("  ", out);
	for (int i = 0; i < wide; i++) {
		double value = 0;
		for (size_t r = rows * (size_t)i / (size_t)wide;
		     r < rows * (size_t)(i + 1) / (size_t)wide; r++)
			value = fmax(value, sheet->cells[r * sheet->column_count + column].number);
		int level = most > 0 ? (int)ceil(8 * value / most) : 0;
		fputs(sn_text_blocks[level < 0 ? 0 : level], out);
	}
	greatest.number = most;
	fprintf(out, "  up to %s  %s\n", cell_text(sheet->columns + column, &greatest, text),
		sheet->column_count > 2 ? sheet->columns[column].head : "");
}

static void print_sheet(const struct sn_sheet *sheet, size_t limit, int width, bool is_bold,
			FILE *out)
{
	size_t rows = sn_sheet_rows(sheet);
	size_t shown = limit && !shows_all(sheet) && rows > limit ? limit : rows;
	fprintf(out, "\n%s", is_bold ? "\033[1m" : "");
	sn_text_table_wrap(out, sheet->title ? sheet->title : "", 0, 2, width);
	fputs(is_bold ? "\033[0m" : "", out);
	if (sheet->shape == SN_SHEET_SERIES) {
		for (size_t c = 1; c < sheet->column_count && rows; c++)
			print_line(sheet, c, width - 34, out);
	} else if (rows) {
		print_table(sheet, shown, width, out);
		if (shown < rows)
			fprintf(out, "  %zu more: --limit 0\n", rows - shown);
	}
	if (sheet->left_out)
		fprintf(out, "  %zu more are left out\n", sn_sheet_left_out(sheet));
	for (size_t i = 0; i < sheet->note_count; i++) {
		fputs("  ", out);
		sn_text_table_wrap(out, sheet->notes[i], 2, 4, width);
	}
}

void sn_page_print_sentence(const char *text, int width, FILE *out)
{
	sn_text_table_wrap(out, text, 0, 4, width);
}

void sn_page_print(const struct sn_page *page, size_t limit, int width, bool is_bold, FILE *out)
{
	size_t series = 0;
	for (size_t i = 0; i < page->count; i++)
		if (page->sheets[i]->shape != SN_SHEET_SERIES || series++ < SN_PAGE_SERIES)
			print_sheet(page->sheets[i], limit, width, is_bold, out);
	if (series_left(page))
		fprintf(out, "\n%zu more curves: --format json\n", series_left(page));
}

/* ---- JSON ---- */

static void put_texts(const char *key, const char *const *texts, size_t count, struct sn_json *json)
{
	sn_json_open(json, key, '[');
	for (size_t i = 0; i < count; i++)
		sn_json_string(json, texts[i]);
	sn_json_end(json, ']');
}

static void put_cell(const struct sn_column *column, const struct sn_cell *cell,
		     struct sn_json *json)
{
	if (is_text(column))
		sn_json_string(json, cell->text);
	else if (isnan(cell->number))
		sn_json_null(json);
	else
		sn_json_number(json, cell->number);
}

/* Rows as objects, or as arrays of cells in the order of the columns. */
static void put_rows(const struct sn_sheet *sheet, size_t rows, bool are_arrays,
		     struct sn_json *json)
{
	const struct sn_cell *cell = sheet->cells;
	sn_json_open(json, "rows", '[');
	for (size_t r = 0; r < rows; r++) {
		sn_json_begin(json, are_arrays ? '[' : '{');
		for (size_t c = 0; c < sheet->column_count; c++, cell++) {
			if (!are_arrays)
				sn_json_key(json, sheet->columns[c].key);
			put_cell(sheet->columns + c, cell, json);
		}
		sn_json_end(json, are_arrays ? ']' : '}');
	}
	sn_json_end(json, ']');
}

void sn_page_json(const struct sn_page *page, struct sn_json *json)
{
	for (size_t i = 0; i < page->count; i++) {
		const struct sn_sheet *sheet = page->sheets[i];
		sn_json_open(json, sheet->key, '{');
		sn_json_put_text(json, "title", sheet->title);
		put_rows(sheet, sn_sheet_rows(sheet), false, json);
		if (sheet->left_out)
			sn_json_put_number(json, "left_out", (double)sn_sheet_left_out(sheet));
		put_texts("notes", sheet->notes, sheet->note_count, json);
		sn_json_end(json, '}');
	}
}

static void put_shown_sheet(const struct sn_sheet *sheet, struct sn_json *json)
{
	size_t rows = sn_sheet_rows(sheet);
	sn_json_begin(json, '{');
	sn_json_texts(json, {"key", sheet->key}, {"title", sheet->title},
		      {"shape", sheet->shape == SN_SHEET_SERIES ? "series" : "table"});
	sn_json_put_bool(json, "is_whole", shows_all(sheet));
	sn_json_open(json, "columns", '[');
	for (size_t i = 0; i < sheet->column_count; i++) {
		sn_json_begin(json, '{');
		sn_json_texts(json, {"key", sheet->columns[i].key},
			      {"head", sheet->columns[i].head}, {"unit", sheet->columns[i].unit});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	sn_json_put_number(json, "row_count", (double)rows);
	put_rows(sheet, rows < SN_SHEET_SHOWN ? rows : SN_SHEET_SHOWN, true, json);
	sn_json_put_number(json, "left_out",
			   sheet->left_out ? (double)sn_sheet_left_out(sheet) : 0);
	put_texts("notes", sheet->notes, sheet->note_count, json);
	sn_json_end(json, '}');
}

void sn_page_shown_json(const struct sn_page *page, struct sn_json *json)
{
	size_t series = 0;
	put_texts("sentences", page->sentences, page->sentence_count, json);
	sn_json_open(json, "sheets", '[');
	for (size_t i = 0; i < page->count; i++)
		if (page->sheets[i]->shape != SN_SHEET_SERIES || series++ < SN_PAGE_SERIES)
			put_shown_sheet(page->sheets[i], json);
	sn_json_end(json, ']');
	sn_json_put_number(json, "curves_left_out", (double)series_left(page));
}
