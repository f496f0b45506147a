/* SPDX-License-Identifier: Apache-2.0 */
/* Header and footer of text reports; see text.h. */
#include "text.h"

#include "report/label.h"
#include "report/number.h"
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

/* What --where would select the frame by; "NAME" where it cannot be written simply. */
static void make_pattern(const struct sn_view *view, uint32_t id, char *text, size_t size)
{
	enum { LONGEST = 48 };
	snprintf(text, size, "NAME");
	if (id == SONDE_NONE)
		return;
	const struct sonde_db_frame *frame = sonde_db_frame(view->db, id);
	const char *name = sonde_db_string(view->db, frame->name);
	char pattern[256];
	sn_utf8_clean(name, pattern, sizeof(pattern));
	if (strcmp(sonde_frame_kind_name(frame->kind), "python") == 0 && frame->line > 0)
		snprintf(pattern, sizeof(pattern), "%.200s:%u",
			 sn_label_base(sonde_db_string(view->db, frame->file)), frame->line);
	if (*pattern && strlen(pattern) <= LONGEST && !strpbrk(pattern, "'\"*?[<>! ("))
		snprintf(text, size, "%s", pattern);
}

void sn_text_footer(const struct sn_view *view, const struct sn_page *page, uint32_t frame)
{
	char name[512], pattern[256];
	sn_utf8_clean(view->path, name, sizeof(name));
	make_pattern(view, frame, pattern, sizeof(pattern));
	sn_text_style(page, "\033[2m");
	fprintf(page->out, "\nNext: sonde report %s ", name);
	switch (view->kind) {
	case SN_VIEW_TOP_DOWN:
		fprintf(page->out, "--view bottom-up, or sonde export --to html %s", name);
		break;
	case SN_VIEW_BOTTOM_UP:
		fputs("--by line, or --by operator", page->out);
		break;
	case SN_VIEW_FLAT:
		fprintf(page->out, "--where '%s' to see how it is reached", pattern);
		break;
	case SN_VIEW_THREADS:
		fputs("--thread TID to see one of them", page->out);
		break;
	}
	sn_text_style(page, "\033[0m");
	putc('\n', page->out);
}
