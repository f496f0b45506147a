/* SPDX-License-Identifier: Apache-2.0 */
/* One place over all profiles, on a terminal: statistics, a plot, and the profiles that are far
 * from the mean. */
#include "spread.h"

#include "base/sort.h"
#include "show/number.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLOT_LINES = 8, MOST_COLUMNS = 200, MOST_BINS = 12, BAR_COLUMNS = 40, LEFT_COLUMNS = 10 };

static const char *metric_unit(const struct sn_spread *spread, uint32_t position)
{
	return sn_text_unit(spread->view, position);
}

static void print_header(const struct sn_spread *spread, const struct sn_terminal *page)
{
	const struct sn_view *view = spread->view;
	char path[1200];
	const char *dot = page->is_unicode ? " \xc2\xb7 " : " | ";
	uint32_t context = view->place->contexts[0];
	sn_text_styled(page, SN_BOLD, "%s %s", sn_text_metric(view, 0).text,
		       sn_number_text(spread->metrics[0].stat.sum, metric_unit(spread, 0)).text);
	fprintf(page->out, "%s%s%s%u of %u profiles%scontext %u", dot,
		view->sort == SN_SORT_EXCLUSIVE ? "own" : "with all it calls", dot, spread->count,
		sonde_db_profile_count(view->db), dot, context);
	if (view->place->count > 1)
		fprintf(page->out, " and %u like it", view->place->count - 1);
	sn_place_path(view->db, context, view->is_full ? 0 : (size_t)page->width - 1, path,
		      sizeof(path));
	fprintf(page->out, "\n%s\n\n", path);
}

static void print_statistics(const struct sn_spread *spread, const struct sn_terminal *page)
{
	const struct sn_view *view = spread->view;
	int width = 9;
	for (uint32_t m = 0; m < view->metric_count; m++)
		width =
		    sn_text_metric_width(view, m) > width ? sn_text_metric_width(view, m) : width;
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "across", -width);
	sn_text_table_column(&table, spread->ranks.are_ranks ? "ranks" : "profiles", 8);
	sn_text_table_column(&table, "min", 9);
	sn_text_table_column(&table, "mean", 9);
	sn_text_table_column(&table, "max", 9);
	sn_text_table_column(&table, "deviation", 9);
	sn_text_table_column(&table, "cv", 7);
	sn_text_end_heads(page, &table, "who has most");
	for (uint32_t m = 0; m < view->metric_count; m++) {
		const struct sn_spread_summary *summary = &spread->metrics[m];
		double values[] = {summary->stat.min, summary->mean, summary->stat.max,
				   summary->deviation};
		if (summary->stat.count == 0)
			continue;
		sn_text_table_cell(&table, sn_text_metric(view, m).text);
		sn_text_table_format(&table, "%.0f", summary->stat.count);
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
			sn_text_table_cell(&table,
					   sn_number_text(values[i], metric_unit(spread, m)).text);
		sn_text_table_cell(&table, sn_number_part(summary->cv, 1).text);
		sn_text_table_rest(&table);
		if (!spread->ranks.are_ranks) {
			sn_text_profile(view, summary->most, page->width - width - 64, &table);
			continue;
		}
		fprintf(page->out, "rank %d", sonde_db_profile(view->db, summary->most)->rank);
		sn_text_table_end(&table);
	}
}

static const char *block(const struct sn_terminal *page, int eighths)
{
	if (page->is_unicode)
		return sn_text_blocks[eighths];
	return eighths >= 4 ? "#" : eighths >= 1 ? "_" : " ";
}

/* The mean and greatest of `count` numbers in each of as many columns as there is room for. */
struct plot {
	int columns;
	double mean[MOST_COLUMNS], most[MOST_COLUMNS];
	double top; /* of the axis */
};

static void fill_plot(struct plot *plot, const double *numbers, uint32_t count, int columns)
{
	plot->columns = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
	if (plot->columns > (int)count)
		plot->columns = (int)count;
	plot->top = 0;
	for (int c = 0; c < plot->columns; c++) {
		uint32_t first = (uint32_t)((uint64_t)count * c / plot->columns);
		uint32_t end = (uint32_t)((uint64_t)count * (c + 1) / plot->columns);
		double sum = 0, most = numbers[first];
		for (uint32_t i = first; i < end; i++) {
			sum += numbers[i];
			most = numbers[i] > most ? numbers[i] : most;
		}
		plot->mean[c] = sum / (end - first);
		plot->most[c] = most;
		plot->top = most > plot->top ? most : plot->top;
	}
}

/* Few profiles get wide columns. */
static int column_width(const struct plot *plot, int room)
{
	int width = plot->columns > 0 ? room / plot->columns : 1;
	return width < 1 ? 1 : width > 6 ? 6 : width;
}

static void print_curve(const struct sn_terminal *page, const struct plot *plot, const char *unit,
			int room)
{
	char label[SN_NUMBER_CHARS];
	int width = column_width(plot, room);
	for (int line = PLOT_LINES; line-- > 0;) {
		label[0] = '\0';
		if (line == PLOT_LINES - 1)
			sn_number_format(plot->top, unit, label);
		else if (line == PLOT_LINES / 2 - 1)
			sn_number_format(plot->top / 2, unit, label);
		fprintf(page->out, "%*s %s", LEFT_COLUMNS, label,
			page->is_unicode ? "\xe2\x94\x82" : "|");
		for (int c = 0; c < plot->columns; c++) {
			double scale = plot->top > 0 ? PLOT_LINES * 8 / plot->top : 0;
			int mean = (int)lrint(plot->mean[c] * scale) - line * 8;
			int most = (int)lrint(plot->most[c] * scale) - line * 8;
			bool has_mark = mean <= 0 && most > 0 && most <= 8;
			int eighths = mean < 0 ? 0 : mean > 8 ? 8 : mean;
			/* a gap between columns that are wide enough */
			for (int i = 0; i < width; i++)
				fputs(width > 2 && i == width - 1 ? " "
				      : has_mark ? (page->is_unicode ? "\xc2\xb7" : ".")
						 : block(page, eighths),
				      page->out);
		}
		putc('\n', page->out);
	}
	fprintf(page->out, "%*s %s", LEFT_COLUMNS, "0", page->is_unicode ? "\xe2\x94\x94" : "+");
	for (int i = 0; i < plot->columns * width; i++)
		fputs(page->is_unicode ? "\xe2\x94\x80" : "-", page->out);
	putc('\n', page->out);
}

static void name_end(const struct sn_spread *spread, uint32_t i, char *text, size_t size)
{
	const struct sonde_db_profile *profile =
	    sonde_db_profile(spread->view->db, spread->profiles[i]);
	if (profile->rank >= 0)
		snprintf(text, size, "rank %d", profile->rank);
	else
		snprintf(text, size, "%llu/%llu", (unsigned long long)profile->pid,
			 (unsigned long long)profile->tid);
}

static void print_histogram(const struct sn_spread *spread, const struct sn_terminal *page)
{
	const struct sonde_db_stat *all = &spread->profile_set;
	uint32_t counts[MOST_BINS] = {0}, most = 0;
	double low = all->min, range = all->max - low;
	const char *unit = metric_unit(spread, 0);
	int bins = range > 0 ? (spread->count < 100 ? 6 : MOST_BINS) : 1;
	for (uint32_t i = 0; i < spread->count; i++) {
		int bin = range > 0 ? (int)((sn_spread_value(spread, i) - low) / range * bins) : 0;
		uint32_t *at = &counts[bin < bins ? bin : bins - 1];
		(*at)++;
		most = *at > most ? *at : most;
	}
	for (int bin = 0; bin < bins; bin++) {
		double eighths = (double)counts[bin] / most * BAR_COLUMNS * 8;
		fprintf(page->out, " %9s to %9s %7s  ",
			sn_number_text(low + range * bin / bins, unit).text,
			sn_number_text(low + range * (bin + 1) / bins, unit).text,
			sn_number_counted(counts[bin]).text);
		for (int i = 0; i < (int)(eighths / 8); i++)
			fputs(page->is_unicode ? "\xe2\x96\x88" : "#", page->out);
		if (counts[bin] && eighths < 8)
			fputs(page->is_unicode ? "\xe2\x96\x8f" : "|", page->out);
		putc('\n', page->out);
	}
}

static int print_plot(const struct sn_spread *spread, const struct sn_terminal *page)
{
	const struct sn_view *view = spread->view;
	struct plot plot;
	char first[64], last[64];
	if (view->plot == SN_PLOT_NONE || spread->count < 2)
		return 0;
	putc('\n', page->out);
	if (view->plot == SN_PLOT_HISTOGRAM) {
		print_histogram(spread, page);
		return 0;
	}
	double *numbers = malloc((spread->count + 1ull) * sizeof(*numbers));
	if (!numbers)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < spread->count; i++)
		numbers[i] = sn_spread_value(spread, i);
	if (view->plot == SN_PLOT_SORTED)
		sn_sort_doubles(numbers, spread->count);
	int room = page->width - LEFT_COLUMNS - 3;
	fill_plot(&plot, numbers, spread->count, room);
	free(numbers);
	print_curve(page, &plot, metric_unit(spread, 0), room);
	name_end(spread, 0, first, sizeof(first));
	name_end(spread, spread->count - 1, last, sizeof(last));
	int width = plot.columns * column_width(&plot, room);
	if (view->plot == SN_PLOT_SORTED)
		snprintf(first, sizeof(first), "least"), snprintf(last, sizeof(last), "most");
	fprintf(page->out, "%*s %s%*s\n", LEFT_COLUMNS + 1, "", first,
		width - (int)strlen(first) > (int)strlen(last) ? width - (int)strlen(first)
							       : (int)strlen(last) + 1,
		last);
	return 0;
}

static int compare_far(const void *left, const void *right, void *argument)
{
	const struct sn_spread *spread = argument;
	double mean = sonde_db_stat_mean(&spread->profile_set);
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return sn_order_then(SN_ORDER(fabs(sn_spread_value(spread, b) - mean),
				      fabs(sn_spread_value(spread, a) - mean)),
			     SN_ORDER(a, b));
}

static int print_far(const struct sn_spread *spread, const struct sn_terminal *page, uint32_t limit)
{
	const struct sn_view *view = spread->view;
	double mean = sonde_db_stat_mean(&spread->profile_set);
	double deviation = sonde_db_stat_deviation(&spread->profile_set);
	uint32_t *order = malloc((spread->count + 1ull) * sizeof(*order));
	if (!order)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < spread->count; i++)
		order[i] = i;
	qsort_r(order, spread->count, sizeof(*order), compare_far, (void *)(uintptr_t)spread);
	struct sn_text_table table = sn_text_begin_heads(page);
	putc('\n', page->out);
	sn_text_table_column(&table, sn_text_metric(view, 0).text, sn_text_metric_width(view, 0));
	sn_text_table_column(&table, "x mean", 8);
	sn_text_table_column(&table, "deviations", 10);
	sn_text_columns(view, 1, &table);
	sn_text_end_heads(page, &table, "furthest from the mean");
	uint32_t columns = sn_view_columns(view), shown = 0;
	for (; shown < spread->count && (limit == 0 || shown < limit); shown++) {
		uint32_t i = order[shown];
		char who[512];
		double value = sn_spread_value(spread, i);
		sn_text_cell(view, 0, value, &table);
		sn_text_table_format(&table, "%.2f", mean > 0 ? value / mean : 0);
		sn_text_table_format(&table, "%+.1f",
				     deviation > 0 ? (value - mean) / deviation : 0);
		for (uint32_t m = 1; m < view->metric_count; m++)
			sn_text_cell(view, m, spread->values[(size_t)i * columns + m].inclusive.sum,
				     &table);
		sn_text_formulas(view, &spread->derived[(size_t)i * view->formula_count], false,
				 &table);
		sn_text_table_rest(&table);
		sn_view_profile_name(view->db, spread->profiles[i], who, sizeof(who));
		fputs(who, page->out);
		sn_text_table_end(&table);
	}
	if (shown < spread->count)
		fprintf(page->out, " %u more\n", spread->count - shown);
	free(order);
	return 0;
}

int sn_spread_text(const struct sn_view *view, const struct sn_terminal *page,
		   struct sn_error *error)
{
	struct sn_spread spread;
	int code = sn_spread_init(&spread, view, error);
	if (code)
		return code;
	char words[SN_SPREAD_WORDS][SN_SPREAD_WORD_CHARS];
	print_header(&spread, page);
	if (spread.count == 0) {
		fputs("No profile has a value here.\n", page->out);
	} else {
		print_statistics(&spread, page);
		code = print_plot(&spread, page);
		uint32_t count = sn_spread_words(&spread, words);
		if (count)
			putc('\n', page->out);
		for (uint32_t i = 0; i < count; i++)
			fprintf(page->out, " %s\n", words[i]);
		uint32_t limit = view->limit == 0 ? 0 : view->limit / 3 > 3 ? view->limit / 3 : 3;
		if (code == 0)
			code = print_far(&spread, page, limit);
	}
	sn_spread_release(&spread);
	return sn_fail_code(error, code);
}
