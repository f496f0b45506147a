/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers as sheets: titled tables with named, typed columns and a few sentences, which are shown
 * as text, as JSON or on a page of HTML.
 *
 * A page is a list of sheets. Without memory a sheet stays incomplete and the page's `has_failed`
 * is set; nothing else has to be checked. All texts are copied. Single-threaded.
 */
#pragma once

#include "base/arena.h"
#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_sheet_shape {
	SN_SHEET_TABLE,
	/* A value over time: the first column is the begin of a step in ns, each other one a line.
	 * Not printed as text but for a small picture of the line. */
	SN_SHEET_SERIES,
};

struct sn_column {
	char key[40]; /* of JSON */
	char head[40];
	char unit[12]; /* of sn_number_format; "count"; "" is text; "id" only in JSON */
	/* Of text: columns with the largest number are left out first where lines are too short for all; 0: never. */
	unsigned char minor;
};

enum { SN_SHEET_COLUMNS = 20 };
/* Rows of a sheet that is shown whole; rows that a sheet takes, and those of them that a page of
 * HTML has; series of a page that are drawn. */
enum {
	SN_SHEET_WHOLE = 64,
	SN_SHEET_ROWS = 1000000,
	SN_SHEET_SHOWN = 2000,
	SN_PAGE_SERIES = 32,
};

struct sn_cell {
	double number;	  /* NAN: none */
	const char *text; /* NULL in columns of numbers */
};

struct sn_sheet {
	struct sn_page *page; /* NULL: belongs to no page and stores nothing */
	char key[40];
	const char *title;
	enum sn_sheet_shape shape;
	struct sn_column columns[SN_SHEET_COLUMNS];
	size_t column_count;
	struct sn_cell *cells; /* row by row */
	size_t cell_count, cell_capacity;
	const char **notes; /* whole sentences below the table */
	size_t note_count, note_capacity;
	bool is_whole;	 /* up to SN_SHEET_WHOLE rows are shown, whatever the limit */
	size_t left_out; /* cells: beyond SN_SHEET_ROWS, and of rows that were not added */
};

struct sn_page {
	const char **sentences; /* the answer in short */
	size_t sentence_count, sentence_capacity;
	struct sn_sheet **sheets;
	size_t count, capacity;
	struct sn_arena texts; /* of all of these */
	bool has_failed;
};

/* All zeroes is an empty page. */
void sn_page_release(struct sn_page *page);
void sn_page_sentence(struct sn_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Never NULL: without memory a sheet that stores nothing. Owned by the page. */
struct sn_sheet *sn_page_sheet(struct sn_page *page, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with columns: an array of struct sn_column, then the title as printf has it. */
#define sn_page_table(page, key, columns, ...)                                                     \
	sn_sheet_columns(sn_page_sheet(page, key, __VA_ARGS__), columns,                           \
			 sizeof(columns) / sizeof(*(columns)))
/* Adds them, and returns the sheet. */
struct sn_sheet *sn_sheet_columns(struct sn_sheet *sheet, const struct sn_column *columns,
				  size_t count);

/* Cells from left to right, row after row. */
void sn_sheet_number(struct sn_sheet *sheet, double value);
void sn_sheet_text(struct sn_sheet *sheet, const char *text);
/* Several, of any numeric types. */
#define sn_sheet_numbers(sheet, ...)                                                               \
	sn_sheet_number_cells(sheet, (const double[]){__VA_ARGS__},                                \
			      sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
void sn_sheet_number_cells(struct sn_sheet *sheet, const double *values, size_t count);
void sn_sheet_note(struct sn_sheet *sheet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t sn_sheet_rows(const struct sn_sheet *sheet);
/* Counts rows as left out. */
void sn_sheet_leave_out(struct sn_sheet *sheet, size_t rows);
/* Rows that the sheet did not take. */
size_t sn_sheet_left_out(const struct sn_sheet *sheet);

/* A sentence in lines that are not wider than `width` characters. */
void sn_page_print_sentence(const char *text, int width, FILE *out);
/* The sheets as text, at most `limit` rows of each sheet (0: all), in at most `width` columns. */
void sn_page_print(const struct sn_page *page, size_t limit, int width, bool is_bold, FILE *out);
/* KEY: {"title", "rows": [{...}], "notes": [...]} for each sheet, inside of an open object; all
 * rows. Numbers are in nanoseconds, bytes and shares from 0 to 1. */
void sn_page_json(const struct sn_page *page, struct sn_json *json);
/* The sentences and sheets for a page of HTML, with what it needs to show them, inside of an open
 * object (docs/format/html.md). */
void sn_page_shown_json(const struct sn_page *page, struct sn_json *json);
