/* SPDX-License-Identifier: Apache-2.0 */
/* What varies across sets; docs/format/compare.md describes the data. */
#include "compare_parts.h"

#include "base/text.h"
#include "show/csv.h"
#include "show/number.h"
#include "show/tree/text.h"

#include <math.h>

static const char *const per_words[] = {
    [SN_PER_SET] = "set", [SN_PER_SECOND] = "second", [SN_PER_TOTAL] = "total"};

/* ---- text ---- */

static void cell(const struct sn_compare_view *view, double value, struct sn_text_table *table)
{
	sn_text_table_cell(table, view->per == SN_PER_TOTAL
				      ? sn_number_part(value, 1).text
				      : sn_number_text(value, view->unit).text);
}

static void print_row(const struct sn_variation *one, const struct sn_compare_view *view,
		      const struct sn_terminal *page, struct sn_text_table *table)
{
	sn_text_table_format(table, "%s%s", sn_number_part(one->range, 1).text,
			     one->varies ? "*" : " ");
	sn_text_table_cell(table, sn_number_text(one->sum, view->unit).text);
	sn_text_table_cell(table, sn_number_part(one->share, 1).text);
	sn_text_table_cell(table, sn_number_counted(one->sets).text);
	cell(view, one->mean, table);
	cell(view, one->deviation, table);
	cell(view, one->least, table);
	cell(view, one->greatest, table);
	sn_compare_print_name(view, one->row, table, page);
}

static void print_heading(const struct sn_variations *variations,
			  const struct sn_compare_view *view, const struct sn_terminal *page)
{
	static const char *const pers[] = {[SN_PER_SET] = "as they are",
					   [SN_PER_SECOND] = "by measured second",
					   [SN_PER_TOTAL] = "as shares of each total"};
	const char *by = sn_compare_by_text(view->rows->by);
	sn_text_styled(page, SN_BOLD, "%s of %zu sets, %s\n", sn_shown(view->metric).text,
		       view->rows->set_count, pers[view->per]);
	if (!view->rows->is_sampled)
		fputs("Values are not samples: nothing tells their noise.\n", page->out);
	else
		fprintf(page->out,
			"* %s of %s %ss vary more than sampling explains: chi-square test,\n"
			"  5%% of them are expected to be there by chance\n",
			sn_number_counted((double)variations->varying).text,
			sn_number_counted((double)variations->tested).text, by);
	if (variations->few)
		fprintf(page->out, "  %s have too few samples for a test\n",
			sn_number_counted((double)variations->few).text);
	putc('\n', page->out);
}

void sn_variations_text(const struct sn_variations *variations, const struct sn_compare_view *view,
			const struct sn_terminal *page)
{
	print_heading(variations, view, page);
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "range ", 7);
	sn_text_table_column(&table, "sum", 7);
	sn_text_table_column(&table, "share", 6);
	sn_text_table_column(&table, "sets", 4);
	sn_text_table_column(&table, "mean", 7);
	sn_text_table_column(&table, "dev", 7);
	sn_text_table_column(&table, "min", 7);
	sn_text_table_column(&table, "max", 7);
	sn_text_end_heads(page, &table, sn_compare_by_text(view->rows->by));
	print_row(&variations->all, view, page, &table);
	for (size_t i = 0; i < sn_compare_shown(view, variations->count); i++)
		print_row(&variations->rows[i], view, page, &table);
	sn_compare_print_rest(view, variations->count, page);
}

/* ---- data ---- */

static void put_row(const struct sn_variation *one, const struct sn_compare_view *view,
		    struct sn_json *json)
{
	sn_compare_put_name(view, one->row, json);
	sn_json_numbers(json, {"sum", one->sum}, {"share", one->share}, {"sets", one->sets},
			{"mean", one->mean}, {"deviation", one->deviation}, {"min", one->least},
			{"max", one->greatest}, {"range", one->range});
	sn_json_put_known(json, "noise", one->noise);
	sn_json_put_known(json, "excess", one->excess);
	sn_json_put_known(json, "chance", one->chance);
	sn_json_put_known(json, "false_rate", one->rate);
	sn_json_put_bool(json, "varies", one->varies);
	sn_json_open(json, "values", '[');
	for (size_t set = 0; set < view->rows->set_count; set++)
		sn_json_number(json, sn_compare_at(view->rows, set, one->row).value);
	sn_json_end(json, ']');
}

void sn_variations_json(const struct sn_variations *variations, const struct sn_compare_view *view,
			FILE *out)
{
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	sn_compare_put_heading(view, &json);
	sn_json_put_text(&json, "per", per_words[view->per]);
	sn_compare_put_sets(view, "sets", 0, view->rows->set_count, &json);
	sn_json_numbers(&json, {"tested", (double)variations->tested},
			{"too_few", (double)variations->few},
			{"varying", (double)variations->varying});
	sn_json_open(&json, "total", '{');
	put_row(&variations->all, view, &json);
	sn_json_end(&json, '}');
	sn_json_open(&json, "rows", '[');
	for (size_t i = 0; i < variations->count; i++) {
		sn_json_begin(&json, '{');
		put_row(&variations->rows[i], view, &json);
		sn_json_end(&json, '}');
	}
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	putc('\n', out);
}

void sn_variations_csv(const struct sn_variations *variations, const struct sn_compare_view *view,
		       FILE *out)
{
	fputs(
	    "name,place,sum,share,sets,mean,deviation,min,max,range,noise,excess,chance,false_rate,"
	    "varies\n",
	    out);
	for (size_t i = 0; i < variations->count; i++) {
		const struct sn_variation *one = &variations->rows[i];
		const double numbers[] = {one->sum,	  one->share,  one->sets,     one->mean,
					  one->deviation, one->least,  one->greatest, one->range,
					  one->noise,	  one->excess, one->chance,   one->rate,
					  one->varies};
		sn_csv_text(out, view->rows->rows[one->row].name);
		putc(',', out);
		sn_csv_text(out, view->rows->rows[one->row].place);
		for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers); n++)
			sn_view_csv_cell(out, numbers[n]);
		putc('\n', out);
	}
}
