/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables on a terminal: columns of known widths, written row by row, so that a table of any length
 * takes no memory; and paragraphs. All texts are shown as sn_utf8_show has them, and widths are
 * columns of the terminal.
 *
 * Rows are written cell by cell: each column has a gap before it, numbers stand right and texts
 * left. The caller writes the text after the last column, such as a name of any length: see
 * sn_text_table_rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* More columns than a report may have. */
enum { SN_TABLE_COLUMNS = 600 };

/* All zeroes but for `out` and `gap`: without columns. */
struct sn_text_table {
	FILE *out;
	int gap;	  /* blanks before a column */
	bool cuts;	  /* a cell that is too wide ends in an ellipsis; else it takes more room */
	const char *mark; /* in place of the next cell's gap; NULL: blanks */
	int widths[SN_TABLE_COLUMNS]; /* negative ones of texts */
	size_t count;
	size_t at; /* the next cell's column */
	int owed;  /* blanks after the last cell, not written at the end of a row */
	int used;  /* columns of the terminal that the row has taken */
};

/* Adds a column and writes its head: all columns first, then sn_text_table_end. A negative width is
 * that of a text, which stands left. */
void sn_text_table_column(struct sn_text_table *table, const char *head, int width);

void sn_text_table_cell(struct sn_text_table *table, const char *text);
void sn_text_table_format(struct sn_text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The gap before a cell that the caller writes, in that column's width. */
void sn_text_table_own_cell(struct sn_text_table *table);
/* Two blanks before what follows the columns; the columns of the terminal taken so far. */
int sn_text_table_rest(struct sn_text_table *table);
/* The line's end. */
void sn_text_table_end(struct sn_text_table *table);

/* Bars of 0 to 8 eighths of a line. */
extern const char *const sn_text_blocks[9];

/* Columns that a text takes up to `end`; NULL: all of it. */
int sn_text_table_width_of(const char *text, const char *end);
/* At most `most` columns of the text, whole characters; the columns taken. */
int sn_text_table_put(FILE *out, const char *text, int most);
/* Words from column `at` on, in lines that end before column `width`; further lines begin at
 * `indent`. */
void sn_text_table_wrap(FILE *out, const char *text, int at, int indent, int width);
