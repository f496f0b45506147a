/* SPDX-License-Identifier: Apache-2.0 */
/* A listing: source lines, and below each the instructions that the compiler made of it, with their samples. */
#include "annotate_parts.h"

#include "base/sort_by.h"
#include "base/utf8.h"
#include "show/number.h"
#include "show/tree/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	NEAR = 6,	    /* instructions beside one with samples that are shown as well */
	TEXT_COLUMN = 40,   /* where instructions and source begin */
	HOT_PERCENT = 5,    /* that stands out */
	BLAMED_PERCENT = 2, /* of which it is said what was waited for */
	CULPRITS = 3,	    /* of an instruction, the most likely ones */
};

const char *sn_annotate_unit(const struct sn_annotate_view *view)
{
	return sonde_db_string(view->db, sonde_db_metric(view->db, view->metric)->unit);
}

void sn_annotate_clean(const struct sn_terminal *page, const char *text, int room)
{
	char clean[1024];
	sn_utf8_clean(text, clean, sizeof(clean));
	if (room > 8)
		sn_utf8_elide(clean, (size_t)room);
	fputs(clean, page->out);
}

double sn_annotate_runs(const struct sn_annotated_function *function, double frequency)
{
	return function->samples > 0 ? frequency * function->value / function->samples : 0;
}

const char *sn_annotate_confidence(unsigned confidence)
{
	static const char *const words[] = {[SN_CONFIDENCE_LOW] = "low",
					    [SN_CONFIDENCE_MEDIUM] = "medium",
					    [SN_CONFIDENCE_HIGH] = "high"};
	return words[confidence];
}

static void print_heading(const struct sn_annotation *annotation,
			  const struct sn_annotated_function *function,
			  const struct sn_annotate_view *view, const struct sn_terminal *page)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metric);
	const char *slash = strrchr(function->image, '/');
	const char *dot = page->is_unicode ? " \xc2\xb7 " : " | ";
	sn_text_style(page, SN_BOLD);
	sn_annotate_clean(page, function->name, 0);
	sn_text_style(page, SN_PLAIN);
	fputs("  [", page->out);
	sn_annotate_clean(page, slash ? slash + 1 : function->image, 0);
	fputs("]", page->out);
	fprintf(page->out, "%s%s of %s", dot,
		sn_number_part(function->value, annotation->value).text,
		sonde_db_string(view->db, metric->name));
	fprintf(page->out, ", %s, %s sample%s\n",
		sn_number_text(function->value, sn_annotate_unit(view)).text,
		sn_number_counted(function->samples).text, function->samples == 1 ? "" : "s");
	if (function->file) {
		sn_annotate_clean(page, function->file, 0);
		fprintf(page->out, function->line ? ":%" PRIu32 "\n" : "\n", function->line);
	}
}

/* Which instructions are shown: with samples, and near these. NULL: all. */
static bool *choose(const struct sn_annotated_function *function, bool is_full)
{
	bool *shown = is_full ? NULL : calloc(function->count + 1, sizeof(*shown));
	for (size_t i = 0; shown && i < function->count; i++) {
		if (!(function->instructions[i].samples > 0))
			continue;
		size_t first = i > NEAR ? i - NEAR : 0;
		for (size_t near = first; near <= i + NEAR && near < function->count; near++)
			shown[near] = true;
	}
	return shown;
}

static void print_line(const struct sn_annotate_view *view, const struct sn_terminal *page,
		       const struct sn_annotated_instruction *one)
{
	char text[512] = "", place[256];
	const char *slash = strrchr(one->file, '/');
	snprintf(place, sizeof(place), "%s:%" PRIu32 "%s%s", slash ? slash + 1 : one->file,
		 one->line, one->inlined ? " " : "", one->inlined ? one->inlined : "");
	sn_source_line(view->source, one->file, one->line, text, sizeof(text));
	sn_text_style(page, SN_DIM);
	fprintf(page->out, "%*s", TEXT_COLUMN - 2, "");
	sn_annotate_clean(page, place, 0);
	if (*text) {
		fputs("  ", page->out);
		sn_annotate_clean(
		    page, text,
		    view->is_full ? 0 : page->width - TEXT_COLUMN - (int)sn_utf8_columns(place));
	}
	sn_text_style(page, SN_PLAIN);
	putc('\n', page->out);
}

struct sn_annotate_speed sn_annotate_speed_of(const struct sn_annotated_function *function,
					      const struct sn_annotated_instruction *one)
{
	static const char marks[] = {
	    [SN_CONFIDENCE_LOW] = '?', [SN_CONFIDENCE_MEDIUM] = '~', [SN_CONFIDENCE_HIGH] = ' '};
	struct sn_annotate_speed speed = {"", ""};
	double runs = sn_annotate_runs(function, one->frequency);
	if (runs < 1)
		return speed;
	snprintf(speed.runs, sizeof(speed.runs), "%s%c", sn_number_text(runs, "1").text,
		 marks[one->confidence]);
	if (one->blame.cycles >= 0.005)
		snprintf(speed.cycles, sizeof(speed.cycles), "%.*f",
			 one->blame.cycles < 100 ? 2 : 0, one->blame.cycles);
	return speed;
}

struct sn_annotate_culprits sn_annotate_culprits_of(const struct sn_insn_blame *blame)
{
	struct sn_annotate_culprits culprits = {""};
	char *text = culprits.text;
	size_t length = 0, size = sizeof(culprits.text);
	for (uint32_t i = 0; i < blame->culprit_count && i < CULPRITS; i++) {
		const struct sn_culprit *culprit = &blame->culprits[i];
		if ((double)culprit->share < 0.01 || length >= size)
			break;
		length += (size_t)snprintf(text + length, size - length, "%s%s %.0f-%.0f%%",
					   i ? ", " : "", sn_cause_text(culprit->cause),
					   100 * (double)culprit->min_share,
					   100 * (double)culprit->max_share);
	}
	return culprits;
}

/* What was waited for at an instruction with a good part of the samples. */
static void print_culprits(const struct sn_annotated_function *function,
			   const struct sn_annotated_instruction *one,
			   const struct sn_terminal *page)
{
	struct sn_annotate_culprits culprits = sn_annotate_culprits_of(&one->blame);
	if (one->blame.waits * 100 < BLAMED_PERCENT * function->samples || !*culprits.text)
		return;
	sn_text_style(page, SN_DIM);
	fprintf(page->out, "%15s  waits: ", "");
	sn_annotate_clean(page, culprits.text, page->width - 25);
	sn_text_style(page, SN_PLAIN);
	putc('\n', page->out);
}

static void print_instruction(const struct sn_annotated_function *function,
			      const struct sn_annotated_instruction *one,
			      const struct sn_annotate_view *view, const struct sn_terminal *page)
{
	bool is_hot = one->value * 100 >= HOT_PERCENT * function->value;
	if (one->samples > 0) {
		sn_text_style(page, is_hot ? SN_BOLD : "");
		fprintf(page->out, "%6s %7s", sn_number_part(one->value, function->value).text,
			sn_number_counted(one->samples).text);
	} else {
		fprintf(page->out, "%14s", "");
	}
	struct sn_annotate_speed speed = sn_annotate_speed_of(function, one);
	fprintf(page->out, " %7s%5s %8" PRIx64 " %c ", speed.runs, speed.cycles, one->address,
		one->begins_block ? '>' : ' ');
	sn_annotate_clean(page, *one->text ? one->text : "?",
			  view->is_full ? 0 : page->width - TEXT_COLUMN);
	sn_text_style(page, one->samples > 0 && is_hot ? SN_PLAIN : "");
	putc('\n', page->out);
	print_culprits(function, one, page);
}

struct part {
	const char *text;
	double part;
};

SN_SORT_BY(sort_parts, struct part, const void *, SN_ORDER(b->part, a->part));

/* Where the time of the function goes. */
static void print_parts(const struct sn_annotated_function *function,
			const struct sn_terminal *page)
{
	struct part parts[SN_CAUSE_COUNT + 1];
	double all = function->rest;
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++) {
		parts[cause] =
		    (struct part){sn_cause_text((enum sn_cause)cause), function->parts[cause]};
		all += function->parts[cause];
	}
	parts[SN_CAUSE_COUNT] = (struct part){"unexplained", function->rest};
	if (!(all > 0))
		return;
	sort_parts(parts, SN_CAUSE_COUNT + 1, NULL);
	sn_text_styled(page, SN_BOLD, "where the time of this function may go\n");
	for (size_t i = 0; i <= SN_CAUSE_COUNT && parts[i].part >= 0.01 * all; i++)
		fprintf(page->out, "%6s %s\n", sn_number_part(parts[i].part, all).text,
			parts[i].text);
}

static void print_instructions(const struct sn_annotated_function *function,
			       const struct sn_annotate_view *view, const struct sn_terminal *page)
{
	bool *shown = choose(function, view->is_full);
	size_t skipped = 0;
	const char *file = NULL;
	uint32_t line = 0;
	sn_text_styled(page, SN_BOLD, " self%% samples   freq   CPI   address    instruction\n");
	for (size_t i = 0; i < function->count; i++) {
		const struct sn_annotated_instruction *one = &function->instructions[i];
		if (shown && !shown[i]) {
			skipped++;
			continue;
		}
		if (skipped)
			fprintf(page->out, "%*s... %zu more\n", TEXT_COLUMN - 2, "", skipped);
		if (one->file && (skipped || one->line != line || !file || strcmp(file, one->file)))
			print_line(view, page, one);
		file = one->file;
		line = one->line;
		skipped = 0;
		print_instruction(function, one, view, page);
	}
	if (skipped)
		fprintf(page->out, "%*s... %zu more\n", TEXT_COLUMN - 2, "", skipped);
	free(shown);
}

#define LEAST_GAP 0.001 /* of all; less is not worth a line */

void sn_annotate_print_gaps(const struct sn_annotation *annotation, const struct sn_terminal *page)
{
	enum { SHOWN = 4 };
	if (annotation->no_mca)
		fprintf(page->out, "%s.\n", annotation->no_mca);
	for (size_t i = 0; i < annotation->gap_count && i < SHOWN; i++) {
		const struct sn_annotate_gap *gap = &annotation->gaps[i];
		if (gap->value < LEAST_GAP * annotation->value)
			break;
		fputs("Not shown: ", page->out);
		sn_annotate_clean(page, gap->image, 0);
		fprintf(page->out, ", %s: %s.\n",
			sn_number_part(gap->value, annotation->value).text, gap->why);
	}
	if (annotation->left_out)
		fprintf(page->out, "%s more function%s with %s (--limit)\n",
			sn_number_counted((double)annotation->left_out).text,
			annotation->left_out == 1 ? "" : "s",
			sn_number_part(annotation->not_shown, annotation->value).text);
}

void sn_annotate_text(const struct sn_annotation *annotation, const struct sn_annotate_view *view,
		      const struct sn_terminal *page)
{
	for (size_t i = 0; i < annotation->function_count; i++) {
		print_heading(annotation, &annotation->functions[i], view, page);
		print_instructions(&annotation->functions[i], view, page);
		print_parts(&annotation->functions[i], page);
		putc('\n', page->out);
	}
	sn_annotate_print_gaps(annotation, page);
}
