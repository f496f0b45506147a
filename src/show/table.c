/* SPDX-License-Identifier: Apache-2.0 */
/* Padding, cutting and wrapping; see table.h. */
#include "table.h"

#include "base/utf8.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const sn_text_blocks[9] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

static void put_blanks(struct sn_text_table *table, int count)
{
	fprintf(table->out, "%*s", count, "");
	table->used += count;
}

static void put_gap(struct sn_text_table *table)
{
	put_blanks(table, table->owed);
	table->owed = 0;
	if (!table->mark) {
		put_blanks(table, table->gap);
		return;
	}
	fputs(table->mark, table->out);
	table->used += sn_text_table_width_of(table->mark, NULL);
	table->mark = NULL;
}

void sn_text_table_cell(struct sn_text_table *table, const char *text)
{
	if (table->at == table->count)
		return;
	int wide = sn_text_table_width_of(text, NULL), width = abs(table->widths[table->at]);
	bool is_left = table->widths[table->at++] < 0;
	put_gap(table);
	if (!is_left && wide < width)
		put_blanks(table, width - wide);
	if (table->cuts && wide > width) {
		table->used += sn_text_table_put(table->out, text, width - 1) + 1;
		fputs("…", table->out);
		return;
	}
	table->used += sn_text_table_put(table->out, text, INT_MAX);
	table->owed = is_left && wide < width ? width - wide : 0;
}

void sn_text_table_column(struct sn_text_table *table, const char *head, int width)
{
	if (table->count == SN_TABLE_COLUMNS)
		return;
	table->widths[table->count++] = width;
	sn_text_table_cell(table, head);
}

void sn_text_table_format(struct sn_text_table *table, const char *format, ...)
{
	char text[64];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	sn_text_table_cell(table, text);
}

void sn_text_table_own_cell(struct sn_text_table *table)
{
	if (table->at == table->count)
		return;
	put_gap(table);
	table->used += abs(table->widths[table->at++]);
}

int sn_text_table_rest(struct sn_text_table *table)
{
	put_blanks(table, table->owed + 2);
	table->owed = 0;
	return table->used;
}

void sn_text_table_end(struct sn_text_table *table)
{
	putc('\n', table->out);
	table->at = 0;
	table->owed = table->used = 0;
	table->mark = NULL;
}

/* ---- texts ---- */

int sn_text_table_width_of(const char *text, const char *end)
{
	int count = 0;
	char shown[SN_UTF8_SHOWN];
	while (end ? text < end : *text != 0) {
		text += sn_utf8_show(text, shown);
		count += (int)sn_utf8_columns(shown);
	}
	return count;
}

int sn_text_table_put(FILE *out, const char *text, int most)
{
	char shown[SN_UTF8_SHOWN];
	int used = 0;
	while (*text) {
		text += sn_utf8_show(text, shown);
		int columns = (int)sn_utf8_columns(shown);
		if (columns > most - used)
			break;
		fputs(shown, out);
		used += columns;
	}
	return used;
}

void sn_text_table_wrap(FILE *out, const char *text, int at, int indent, int width)
{
	bool is_first = true;
	while (*text) {
		size_t length = strcspn(text, " ");
		int wide = sn_text_table_width_of(text, text + length);
		if (!is_first && at + 1 + wide > width) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		} else if (!is_first) {
			putc(' ', out);
			at++;
		}
		is_first = false;
		at += sn_text_table_put(out, text, wide);
		text += length;
		text += strspn(text, " ");
	}
	putc('\n', out);
}
