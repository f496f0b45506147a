/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and curves; see sheets_html.h. */
#include "sheets_html.h"

#include "base/escape.h"
#include "base/output.h"
#include "show/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_ROWS = 15, MOST_ROWS = 400, WIDTH = 960, HEIGHT = 130 };

static const char head[] =
    "<style>\n"
    ":root{--paper:#fff;--ink:#1d2330;--soft:#667085;--line:#e4e7ec;--bar:#cfe0fb;--one:#2f6fdb;"
    "--two:#c2702d;--lead:#f5f7fb}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#14171d;--ink:#e6e9ef;--soft:#98a2b3;"
    "--line:#2b313c;--bar:#27405f;--one:#6ea8fe;--two:#e59a5c;--lead:#1b2029}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:14px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1040px;margin:0 auto;padding:28px 24px 64px}\n"
    "h1{font-size:20px;margin:0 0 14px}\n"
    "h2{font-size:15px;margin:34px 0 8px}\n"
    ".lead{background:var(--lead);border-radius:8px;padding:6px 18px}\n"
    ".lead p{margin:10px 0;font-size:15px;overflow-wrap:anywhere}\n"
    ".lead b{display:block;color:var(--soft);font-size:12px;font-weight:600}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th{color:var(--soft);font-size:12px;font-weight:600;text-align:right;padding:4px 10px;"
    "border-bottom:1px solid var(--line);white-space:nowrap}\n"
    "td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\n"
    "th.t,td.t{text-align:left}\n"
    "td.t{max-width:520px;overflow:hidden;text-overflow:ellipsis}\n"
    "td.s{background:linear-gradient(90deg,var(--bar) var(--w),transparent var(--w))}\n"
    "p.n{color:var(--soft);font-size:12px;margin:6px 0}\n"
    "summary{color:var(--soft);cursor:pointer;padding:6px 10px}\n"
    ".figure{margin:24px 0 0}\n"
    "svg:not(.timeline){display:block;width:100%;height:auto}\n"
    "svg:not(.timeline) text{fill:var(--soft);font:11px system-ui,sans-serif}\n"
    "h2::first-letter{text-transform:uppercase}\n"
    "@media print{main{max-width:none;padding:0}.scroll{overflow:visible}"
    "svg.timeline{max-width:100%;height:auto}td.t{max-width:none;white-space:normal;"
    "overflow-wrap:anywhere}tr{break-inside:avoid}*{print-color-adjust:exact}}\n"
    "</style>\n";

__attribute__((format(printf, 2, 3))) static void put(struct sn_output *out, const char *format,
						      ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length > 0)
		sn_output_write(out, text,
				(size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

static void put_text(struct sn_output *out, const char *text)
{
	char shown[SN_ESCAPED];
	while (*text) {
		text += sn_escape_next(SN_ESCAPE_MARKUP, text, shown);
		sn_output_write(out, shown, strlen(shown));
	}
}

/* "Where the time goes: of ..." with what it answers above it. */
static void put_sentence(struct sn_output *out, const char *text)
{
	const char *colon = strchr(text, ':');
	put(out, "<p>");
	if (colon && colon - text < 40) {
		char what[40];
		snprintf(what, sizeof(what), "%.*s", (int)(colon - text), text);
		put(out, "<b>");
		put_text(out, what);
		put(out, "</b>");
		text = colon + 1 + (colon[1] == ' ');
		/* It begins the sentence here; the name of a node stays as it is. */
		if (!strncmp(text, "of ", 3) || !strncmp(text, "no ", 3)) {
			put(out, "%c", *text - 'a' + 'A');
			text++;
		}
	}
	put_text(out, text);
	put(out, "</p>\n");
}

static void put_cell(struct sn_output *out, const struct sn_column *column,
		     const struct sn_cell *cell)
{
	char text[SN_SHEET_TEXT];
	const char *shown = sn_sheet_format(column, cell, text);
	if (!*column->unit) {
		put(out, "<td class=t title=\"");
		put_text(out, shown);
		put(out, "\">");
	} else if (!strcmp(column->unit, "ratio") && !isnan(cell->number)) {
		double share = cell->number < 0 ? 0 : cell->number > 1 ? 1 : cell->number;
		put(out, "<td class=s style=\"--w:%.1f%%\">", 100 * share);
	} else {
		put(out, "<td>");
	}
	put_text(out, shown);
	put(out, "</td>");
}

static bool is_shown(const struct sn_column *column)
{
	return strcmp(column->unit, "id") != 0;
}

static void put_rows(struct sn_output *out, const struct sn_sheet *sheet, size_t first, size_t end)
{
	put(out, "<div class=scroll><table><thead><tr>");
	for (size_t c = 0; c < sheet->column_count; c++) {
		if (!is_shown(sheet->columns + c))
			continue;
		put(out, "<th%s>", *sheet->columns[c].unit ? "" : " class=t");
		put_text(out, sheet->columns[c].head);
		put(out, "</th>");
	}
	put(out, "</tr></thead><tbody>\n");
	for (size_t r = first; r < end; r++) {
		put(out, "<tr>");
		for (size_t c = 0; c < sheet->column_count; c++)
			if (is_shown(sheet->columns + c))
				put_cell(out, sheet->columns + c,
					 sheet->cells + r * sheet->column_count + c);
		put(out, "</tr>\n");
	}
	put(out, "</tbody></table></div>\n");
}

static void put_table(struct sn_output *out, const struct sn_sheet *sheet)
{
	size_t rows = sn_sheet_rows(sheet);
	size_t first = sn_sheet_is_whole(sheet) || rows <= FIRST_ROWS + 3 ? rows : FIRST_ROWS;
	first = first > MOST_ROWS ? MOST_ROWS : first;
	size_t most = rows < MOST_ROWS ? rows : MOST_ROWS;
	if (!rows)
		return;
	put_rows(out, sheet, 0, first);
	if (most > first) {
		put(out, "<details><summary>%zu more</summary>\n", most - first);
		put_rows(out, sheet, first, most);
		put(out, "</details>\n");
	}
	if (most < rows)
		put(out, "<p class=n>%zu more rows are in the JSON.</p>\n", rows - most);
	if (sheet->left_out)
		put(out, "<p class=n>%zu more rows are left out.</p>\n", sn_sheet_left_out(sheet));
}

static void put_curve(struct sn_output *out, const struct sn_sheet *sheet, size_t column,
		      double most)
{
	size_t rows = sn_sheet_rows(sheet);
	const char *color = column == 1 ? "one" : "two";
	put(out, "<path fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"1.5\" d=\"M", color);
	for (size_t r = 0; r < rows; r++) {
		double value = sheet->cells[r * sheet->column_count + column].number;
		double y = HEIGHT - (most > 0 ? value / most : 0) * (HEIGHT - 14);
		put(out, r ? "V%.1f" : "0,%.1f", y);
		put(out, "H%.1f", (double)WIDTH * (double)(r + 1) / (double)rows);
	}
	put(out, "\"/>\n");
}

/* Steps from left to right, one line for each column; times below. */
static void put_series(struct sn_output *out, const struct sn_sheet *sheet)
{
	size_t rows = sn_sheet_rows(sheet);
	double most = 0;
	char text[SN_SHEET_TEXT];
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 1; c < sheet->column_count; c++)
			most = fmax(most, sheet->cells[r * sheet->column_count + c].number);
	if (rows < 2)
		return;
	put(out, "<svg viewBox=\"0 0 %d %d\" role=img>\n", WIDTH, HEIGHT + 18);
	put(out, "<path d=\"M0,%d.5H%d\" stroke=\"var(--line)\"/>\n", HEIGHT, WIDTH);
	for (size_t c = 1; c < sheet->column_count && c < 3; c++)
		put_curve(out, sheet, c, most);
	struct sn_cell cell = {most, NULL};
	put(out, "<text x=0 y=11>%s", sn_sheet_format(sheet->columns + 1, &cell, text));
	for (size_t c = 1; c < sheet->column_count && c < 3 && sheet->column_count > 2; c++)
		put(out, "<tspan dx=10 fill=\"var(--%s)\">%s</tspan>", c == 1 ? "one" : "two",
		    sheet->columns[c].head);
	put(out, "</text>\n");
	for (int i = 0; i < 5; i++) {
		size_t row = (rows - 1) * (size_t)i / 4;
		cell.number = sheet->cells[row * sheet->column_count].number;
		put(out, "<text x=%d y=%d text-anchor=%s>%s</text>\n", WIDTH * i / 4, HEIGHT + 14,
		    i == 0   ? "start"
		    : i == 4 ? "end"
			     : "middle",
		    sn_sheet_format(sheet->columns, &cell, text));
	}
	put(out, "</svg>\n");
}

static void put_sheet(struct sn_output *out, const struct sn_sheet *sheet)
{
	put(out, "<h2 id=\"%s\">", sheet->key);
	put_text(out, sheet->title ? sheet->title : "");
	put(out, "</h2>\n");
	if (sheet->shape == SN_SHEET_SERIES)
		put_series(out, sheet);
	else
		put_table(out, sheet);
	for (size_t k = 0; k < sheet->note_count; k++) {
		put(out, "<p class=n>");
		put_text(out, sheet->notes[k]);
		put(out, "</p>\n");
	}
}

static void put_head(struct sn_output *out, const struct sn_page *page, const char *title)
{
	put(out, "<!doctype html>\n<html lang=en><meta charset=utf-8><title>");
	put_text(out, title);
	put(out, "</title>\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n");
	sn_output_write(out, head, sizeof(head) - 1);
	put(out, "<main><h1>");
	put_text(out, title);
	put(out, "</h1>\n<div class=lead>\n");
	for (size_t i = 0; i < page->sentence_count; i++)
		put_sentence(out, page->sentences[i]);
	put(out, "</div>\n");
}

int sn_sheets_html(const struct sn_page *page, const char *title, const struct sn_figure *figure,
		   const char *path, struct sn_error *error)
{
	struct sn_output out;
	int result = sn_output_open(&out, path, error);
	if (result)
		return result;
	put_head(&out, page, title);
	put(&out, "<div class=\"scroll figure\">\n");
	result = figure->draw(figure->context, &out, error);
	if (result) {
		sn_output_abandon(&out);
		return result;
	}
	put(&out, "</div>\n");
	size_t series = 0;
	for (size_t i = 0; i < page->count; i++)
		if (page->sheets[i]->shape != SN_SHEET_SERIES || series++ < SN_PAGE_SERIES)
			put_sheet(&out, page->sheets[i]);
	if (sn_page_series_left(page))
		put(&out, "<p class=n>%zu more curves are in the JSON.</p>\n",
		    sn_page_series_left(page));
	put(&out, "</main>\n");
	return sn_output_commit(&out, error);
}
