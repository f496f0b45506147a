/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two sides; docs/format/compare.md describes the data. */
#include "compare_parts.h"

#include "base/text.h"
#include "show/csv.h"
#include "show/number.h"
#include "show/tree/text.h"

#include <math.h>

/* A row that one side has not. */
static const char *fate_of(const struct sn_difference *one)
{
	bool was = one->before.value > 0, is = one->after.value > 0;
	return was && !is ? "gone" : is && !was ? "new" : NULL;
}

/* Of the pace: how much more there is, by what there was; NAN unknown. */
static double growth_of(const struct sn_difference *one)
{
	return one->before.pace > 0 ? one->after.pace / one->before.pace - 1 : NAN;
}

/* ---- text ---- */

/* Time in a second, or so many a second. */
static void put_pace(const struct sn_compare_view *view, double pace, struct sn_text_table *table)
{
	sn_text_table_cell(table, isnan(pace) ? "-" : sn_number_text(pace * 1e9, view->unit).text);
}

/* "+12.3*", in percent. */
static void put_change(double change, bool is_sure, struct sn_text_table *table)
{
	if (isnan(change))
		sn_text_table_cell(table, "- ");
	else
		sn_text_table_format(table, "%+.*f%s", fabs(change) < 9.995 ? 2 : 1, change,
				     is_sure ? "*" : " ");
}

static void print_row(const struct sn_difference *one, const struct sn_compare_view *view,
		      const struct sn_terminal *page, struct sn_text_table *table)
{
	const char *fate = fate_of(one);
	sn_text_table_cell(table, sn_number_part(one->before.share, 1).text);
	sn_text_table_cell(table, sn_number_part(one->after.share, 1).text);
	put_change(one->row == SONDE_NONE ? NAN : 100 * (one->after.share - one->before.share),
		   one->share.is_sure, table);
	put_pace(view, one->before.pace, table);
	put_pace(view, one->after.pace, table);
	put_change(100 * growth_of(one), one->pace.is_sure, table);
	sn_text_table_cell(table, fate ? fate : "");
	sn_compare_print_name(view, one->row, table, page);
}

static void print_side(const char *word, const struct sn_side *side,
		       const struct sn_compare_view *view, size_t first, size_t end,
		       const struct sn_terminal *page)
{
	fprintf(page->out, "%-7s %s", word, sn_number_text(side->value, view->unit).text);
	if (view->rows->is_sampled)
		fprintf(page->out, ", %s samples", sn_number_counted(side->count).text);
	if (end - first > 1)
		fprintf(page->out, ", mean of %zu", end - first);
	fprintf(page->out, ": %s%s\n", sn_shown(view->rows->sets[first].name).text,
		end - first > 1 ? ", ..." : "");
}

static void print_heading(const struct sn_differences *differences,
			  const struct sn_compare_view *view, const struct sn_terminal *page)
{
	size_t sets = view->rows->set_count;
	sn_text_styled(page, SN_BOLD, "%s\n", sn_shown(view->metric).text);
	print_side("before", &differences->all.before, view, 0, view->before, page);
	print_side("after", &differences->all.after, view, view->before, sets, page);
	if (!view->rows->is_sampled && !differences->has_repeats)
		fputs("Values are not samples: without repeats nothing tells what is chance.\n",
		      page->out);
	else
		fprintf(page->out,
			"* %s of %s %ss differ by more than %s;\n"
			"  5%% of them are expected to be there by chance\n",
			sn_number_counted((double)differences->sure).text,
			sn_number_counted((double)differences->count).text,
			sn_compare_by_text(view->rows->by),
			differences->has_repeats ? "repeats do" : "sampling explains");
	putc('\n', page->out);
}

void sn_differences_text(const struct sn_differences *differences,
			 const struct sn_compare_view *view, const struct sn_terminal *page)
{
	print_heading(differences, view, page);
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "before", 6);
	sn_text_table_column(&table, "after", 6);
	sn_text_table_column(&table, "points ", 7);
	sn_text_table_column(&table, "before/s", 8);
	sn_text_table_column(&table, "after/s", 8);
	sn_text_table_column(&table, "percent ", 8);
	sn_text_table_column(&table, "", 4);
	sn_text_end_heads(page, &table, sn_compare_by_text(view->rows->by));
	print_row(&differences->all, view, page, &table);
	for (size_t i = 0; i < sn_compare_shown(view, differences->count); i++)
		print_row(&differences->rows[i], view, page, &table);
	sn_compare_print_rest(view, differences->count, page);
}

/* ---- data ---- */

static void put_side(const char *key, const struct sn_side *side, struct sn_json *json)
{
	sn_json_open(json, key, '{');
	sn_json_numbers(json, {"value", side->value}, {"share", side->share},
			{"samples", side->count}, {"effective_samples", side->samples});
	sn_json_put_known(json, "per_second", side->pace * 1e9);
	sn_json_end(json, '}');
}

static void put_sureness(const char *key, double change, const struct sn_sureness *sureness,
			 struct sn_json *json)
{
	sn_json_open(json, key, '{');
	sn_json_put_known(json, "change", change);
	sn_json_put_known(json, "chance", sureness->chance);
	sn_json_put_known(json, "false_rate", sureness->rate);
	sn_json_put_bool(json, "significant", sureness->is_sure);
	sn_json_end(json, '}');
}

static void put_row(const struct sn_difference *one, const struct sn_compare_view *view,
		    struct sn_json *json)
{
	sn_compare_put_name(view, one->row, json);
	sn_json_put_text(json, "fate", fate_of(one));
	put_side("before", &one->before, json);
	put_side("after", &one->after, json);
	put_sureness("share", one->after.share - one->before.share, &one->share, json);
	put_sureness("per_second", (one->after.pace - one->before.pace) * 1e9, &one->pace, json);
}

void sn_differences_json(const struct sn_differences *differences,
			 const struct sn_compare_view *view, FILE *out)
{
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	sn_compare_put_heading(view, &json);
	sn_compare_put_sets(view, "before", 0, view->before, &json);
	sn_compare_put_sets(view, "after", view->before, view->rows->set_count, &json);
	sn_json_put_number(&json, "significant", (double)differences->sure);
	sn_json_open(&json, "total", '{');
	put_row(&differences->all, view, &json);
	sn_json_end(&json, '}');
	sn_json_open(&json, "rows", '[');
	for (size_t i = 0; i < differences->count; i++) {
		sn_json_begin(&json, '{');
		put_row(&differences->rows[i], view, &json);
		sn_json_end(&json, '}');
	}
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	putc('\n', out);
}

void sn_differences_csv(const struct sn_differences *differences,
			const struct sn_compare_view *view, FILE *out)
{
	fputs("name,place,fate,before,after,before_share,after_share,before_samples,after_samples,"
	      "before_per_second,after_per_second,share_chance,share_false_rate,per_second_chance,"
	      "per_second_false_rate\n",
	      out);
	for (size_t i = 0; i < differences->count; i++) {
		const struct sn_difference *one = &differences->rows[i];
		const double numbers[] = {
		    one->before.value,	    one->after.value,	   one->before.share,
		    one->after.share,	    one->before.count,	   one->after.count,
		    one->before.pace * 1e9, one->after.pace * 1e9, one->share.chance,
		    one->share.rate,	    one->pace.chance,	   one->pace.rate};
		sn_csv_text(out, view->rows->rows[one->row].name);
		putc(',', out);
		sn_csv_text(out, view->rows->rows[one->row].place);
		putc(',', out);
		sn_csv_text(out, fate_of(one));
		for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers); n++)
			sn_view_csv_cell(out, numbers[n]);
		putc('\n', out);
	}
}
