/* SPDX-License-Identifier: Apache-2.0 */
/* Header, footer and hottest lines of text reports; see text.h. */
#include "text.h"

#include "report/flat.h"
#include "report/label.h"
#include "report/number.h"
#include "report/source.h"
#include "report/utf8.h"

#include <stdlib.h>
#include <string.h>

void sn_text_style(const struct sn_page *page, const char *sequence)
{
	if (page->has_color)
		fputs(sequence, page->out);
}

void sn_text_value(double value, const char *unit, char *text)
{
	if (value == 0)
		memcpy(text, "-", 2);
	else
		sn_number_format(value, unit, text);
}

const char *sn_text_unit(const struct sn_view *view, uint32_t position)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metrics[position]);
	return sonde_db_string(view->db, metric->unit);
}

const char *sn_text_metric(const struct sn_view *view, uint32_t position)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metrics[position]);
	return sonde_db_string(view->db, metric->name);
}

int sn_text_metric_width(const struct sn_view *view, uint32_t position)
{
	int width = (int)strlen(sn_text_metric(view, position));
	return width < 9 ? 9 : width;
}

uint64_t sn_text_measured_ns(const struct sonde_db *db)
{
	uint64_t end = 0;
	uint32_t count = sonde_db_profile_count(db);
	for (uint32_t i = 0; i < count; i++)
		if (sonde_db_profile(db, i)->end_ns > end)
			end = sonde_db_profile(db, i)->end_ns;
	return end;
}

/* What the drops come to, as shares of the samples; those below a thousandth are left to `info`. */
static void print_missing(const struct sn_view *view, const struct sn_page *page)
{
	const struct sonde_db *db = view->db;
	double samples = 0;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++)
		samples += (double)sonde_db_profile(db, i)->samples;
	const char *lead = "Missing: ";
	bool has_any = false;
	for (uint32_t i = 0; i < sonde_db_drop_count(db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		double share = (double)drop->count / ((double)drop->count + samples);
		if (drop->count == 0 || share < 0.001)
			continue;
		char text[SN_NUMBER_CHARS], cause[64];
		sn_utf8_clean(sonde_db_string(db, drop->cause), cause, sizeof(cause));
		sn_text_style(page, has_any ? "" : "\033[33m");
		fprintf(page->out, "%s%s %s", has_any ? ", " : lead, sn_number_share(share, text),
			cause);
		has_any = true;
	}
	const char *complete = sonde_db_property(db, "complete");
	if (complete && strcmp(complete, "true") != 0) {
		sn_text_style(page, has_any ? "" : "\033[33m");
		fprintf(page->out,
			"%swhat came after the last checkpoint of a process that did not "
			"end in order",
			has_any ? "; " : lead);
		has_any = true;
	}
	if (has_any) {
		sn_text_style(page, "\033[0m");
		char path[256];
		sn_utf8_clean(view->path, path, sizeof(path));
		fprintf(page->out, " (see sonde info %s)\n", path);
	}
}

static void print_command(const struct sn_view *view, const struct sn_page *page, int room)
{
	const char *command = sonde_db_property(view->db, "command");
	if (!command)
		command = sonde_db_property(view->db, "program");
	if (!command)
		command = sn_label_base(view->path);
	char text[1024];
	sn_utf8_clean(command, text, sizeof(text));
	if (room > 10)
		sn_utf8_elide(text, (size_t)room);
	fputs(text, page->out);
}

bool sn_text_header(const struct sn_view *view, const struct sn_page *page, double total,
		    double count)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metrics[0]);
	const char *dot = page->is_unicode ? " \xc2\xb7 " : " | ";
	char value[SN_NUMBER_CHARS], counted[SN_NUMBER_CHARS], line[512];
	sn_number_format(total, sn_text_unit(view, 0), value);
	sn_number_count(count, counted);
	uint32_t threads = sonde_db_profile_count(view->db);
	snprintf(line, sizeof(line), "%s%s %s%s%s%u thread%s%s", dot, counted,
		 metric->period ? "samples" : "measured",
		 view->is_restricted ? " in the selection" : "", dot, threads,
		 threads == 1 ? "" : "s", dot);
	sn_text_style(page, "\033[1m");
	fprintf(page->out, "%s %s", sn_text_metric(view, 0), value);
	sn_text_style(page, "\033[0m");
	fputs(line, page->out);
	size_t columns =
	    strlen(sn_text_metric(view, 0)) + 1 + strlen(value) + sn_utf8_columns(line);
	print_command(view, page, view->is_full ? 0 : page->width - (int)columns);
	putc('\n', page->out);
	print_missing(view, page);
	putc('\n', page->out);
	if (total != 0)
		return true;
	fputs(view->is_restricted
		  ? "Nothing was measured in this selection.\n"
		  : "Nothing was measured: the program ended before its first sample, or "
		    "did not use what this metric counts.\n",
	      page->out);
	return false;
}

void sn_text_footer(const struct sn_view *view, const struct sn_page *page)
{
	static const char *const next[] = {
	    [SN_VIEW_TOP_DOWN] = "report %s --view bottom-up",
	    [SN_VIEW_BOTTOM_UP] = "report %s --view flat --by line",
	    [SN_VIEW_FLAT] = "report %s --where 'NAME' to see who calls it",
	    [SN_VIEW_THREADS] = "report %s --thread 'NAME' to see one of them",
	};
	char name[512];
	sn_utf8_clean(view->path, name, sizeof(name));
	sn_text_style(page, "\033[2m");
	fputs("\nNext: sonde ", page->out);
	fprintf(page->out, next[view->kind], name);
	if (view->kind == SN_VIEW_TOP_DOWN)
		fprintf(page->out, ", or sonde export --to html %s -o report.html", name);
	sn_text_style(page, "\033[0m");
	putc('\n', page->out);
}

static int compare_hot(const void *left, const void *right, void *argument)
{
	const struct sn_flat *flat = argument;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	double x = flat->values[0][a].exclusive.sum, y = flat->values[0][b].exclusive.sum;
	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void print_hot_line(const struct sn_view *view, const struct sn_page *page,
			   struct sn_source *source, const struct sn_flat *flat, uint32_t row,
			   double total, int label_width)
{
	char share[SN_NUMBER_CHARS], value[SN_NUMBER_CHARS], label[SN_LABEL_CHARS], text[512];
	const struct sonde_db_frame *frame = sonde_db_frame(view->db, flat->frames[row]);
	double sum = flat->values[0][row].exclusive.sum;
	sn_number_share(sum / total, share);
	sn_number_format(sum, sn_text_unit(view, 0), value);
	sn_label_name(view->db, SN_GROUP_LINE, flat->frames[row], label);
	if (strcmp(sonde_frame_kind_name(frame->kind), "python") != 0) {
		char name[SN_LABEL_CHARS];
		memcpy(name, label, sizeof(name));
		snprintf(label, SN_LABEL_CHARS, "%.60s:%u %.900s",
			 sn_label_base(sonde_db_string(view->db, frame->file)), frame->line, name);
	}
	sn_utf8_elide(label, (size_t)label_width);
	fprintf(page->out, " %6s %9s  ", share, value);
	sn_text_style(page, sn_label_color(view->db, flat->frames[row]));
	fputs(label, page->out);
	sn_text_style(page, "\033[0m");
	int room = page->width - 19 - label_width - 2;
	const char *file = sonde_db_string(view->db, frame->file);
	if (room >= 10 && sn_source_line(source, file, frame->line, text, sizeof(text))) {
		sn_utf8_cut(text, (size_t)room);
		fprintf(page->out, "%*s%s", label_width + 2 - (int)sn_utf8_columns(label), "",
			text);
	}
	putc('\n', page->out);
}

int sn_text_hot_lines(const struct sn_view *view, const struct sn_page *page,
		      struct sn_source *source, uint32_t limit, struct sn_error *error)
{
	struct sn_tree tree;
	struct sn_flat flat = {0};
	int code = sn_view_tree(view, SN_GROUP_INSTRUCTION, &tree, error);
	if (code != 0)
		return code;
	code = sn_flat_init(&flat, &tree, SN_GROUP_USER_LINE, error);
	double total = sn_tree_inclusive(&tree, 0, 0);
	uint32_t *order = code == 0 ? malloc((flat.row_count + 1) * sizeof(*order)) : NULL;
	uint32_t shown = 0;
	if (order && total > 0) {
		for (uint32_t i = 0; i < flat.row_count; i++)
			order[i] = i;
		qsort_r(order, flat.row_count, sizeof(*order), compare_hot, &flat);
		while (shown < flat.row_count && shown < limit &&
		       flat.values[0][order[shown]].exclusive.sum >= 0.005 * total)
			shown++;
	}
	int width = 12;
	for (uint32_t i = 0; i < shown; i++) {
		char label[SN_LABEL_CHARS];
		sn_label_name(view->db, SN_GROUP_LINE, flat.frames[order[i]], label);
		int columns = (int)sn_utf8_columns(label);
		width = columns > width ? columns : width;
	}
	int most = page->width < 100 ? 34 : 44;
	width = width > most ? most : width;
	if (shown > 0) {
		sn_text_style(page, "\033[1m");
		fprintf(page->out, " %6s %9s  %s\n", "share", sn_text_metric(view, 0),
			"hottest lines of your code");
		sn_text_style(page, "\033[0m");
	}
	for (uint32_t i = 0; i < shown; i++)
		print_hot_line(view, page, source, &flat, order[i], total, width);
	if (shown > 0)
		putc('\n', page->out);
	free(order);
	sn_flat_release(&flat);
	sn_tree_release(&tree);
	return code == 0 ? (int)shown + 2 * (shown > 0) : code;
}
