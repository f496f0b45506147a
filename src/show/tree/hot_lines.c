/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hottest lines of the user's own code: every cost belongs to the innermost such line on its
 * path, so that the shares add up and library code does not bury the line that called it.
 */
#include "base/sort_by.h"
#include "base/utf8.h"
#include "flat.h"
#include "show/label.h"
#include "show/number.h"
#include "show/source/source.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Lines below this share in every metric are not worth a line here. */
static const double least_share = 0.005;
/* What lies under no line of the user's is mentioned from this share on. */
static const double least_outside_share = 0.02;

struct hot_lines {
	const struct sn_view *view;
	struct sn_flat flat;
	double *totals;	 /* [position] */
	uint32_t *order; /* rows by importance */
	uint32_t shown;
	int label_width;
};

static double importance(const struct hot_lines *lines, uint32_t row)
{
	double most = 0;
	for (uint32_t m = 0; m < lines->view->metric_count; m++) {
		double share = lines->totals[m] > 0
				   ? lines->flat.values[m][row].exclusive.sum / lines->totals[m]
				   : 0;
		most = share > most ? share : most;
	}
	return most;
}

SN_SORT_BY(sort_rows, uint32_t, const struct sn_tree_value *,
	   SN_ORDER(of[*b].exclusive.sum, of[*a].exclusive.sum) ?: SN_ORDER(*a, *b));

static void choose(struct hot_lines *lines, uint32_t limit)
{
	char label[SN_LABEL_CHARS];
	uint32_t count = 0;
	for (uint32_t i = 0; i < lines->flat.row_count; i++)
		if (importance(lines, i) >= least_share)
			lines->order[count++] = i;
	sort_rows(lines->order, count, lines->flat.values[0]);
	lines->shown = count < limit ? count : limit;
	lines->label_width = 12;
	for (uint32_t i = 0; i < lines->shown; i++) {
		sn_label_line(lines->view->db, lines->flat.frames[lines->order[i]], false, label);
		int columns = (int)sn_utf8_columns(label);
		lines->label_width = columns > lines->label_width ? columns : lines->label_width;
	}
}

/* A row's own cost, or the cost outside of all rows for SONDE_NONE. */
static double cost(const struct hot_lines *lines, uint32_t position, uint32_t row)
{
	return row == SONDE_NONE ? lines->flat.outside[position].sum
				 : lines->flat.values[position][row].exclusive.sum;
}

/* Formulas of a row's own cost. */
static void print_formulas(const struct hot_lines *lines, uint32_t row, struct sn_text_table *table)
{
	const struct sn_view *view = lines->view;
	struct sn_derived derived[SN_FORMULAS_SHOWN_MAX] = {0};
	struct sn_tree_value values[SN_COLUMNS_MAX] = {0};
	if (view->formula_count == 0)
		return;
	for (uint32_t m = 0; m < lines->flat.metric_count; m++)
		values[m].exclusive = row == SONDE_NONE ? lines->flat.outside[m]
							: lines->flat.values[m][row].exclusive;
	sn_view_derive(view, values, NULL, derived);
	sn_text_formulas(view, derived, true, table);
}

/* Returns the columns used. */
static int print_numbers(const struct hot_lines *lines, uint32_t row, struct sn_text_table *table)
{
	double own = cost(lines, 0, row);
	/* a line that only keeps a device busy has no share of the host's time */
	sn_text_table_cell(table, own > 0 && lines->totals[0] > 0
				      ? sn_number_part(own, lines->totals[0]).text
				      : "-");
	for (uint32_t m = 0; m < lines->view->metric_count; m++)
		sn_text_cell(lines->view, m, cost(lines, m, row), table);
	print_formulas(lines, row, table);
	return sn_text_table_rest(table);
}

static void print_line(const struct hot_lines *lines, const struct sn_terminal *page,
		       struct sn_source *source, uint32_t row, struct sn_text_table *table)
{
	const struct sonde_db *db = lines->view->db;
	const struct sonde_db_frame *frame = sonde_db_frame(db, lines->flat.frames[row]);
	char label[SN_LABEL_CHARS], text[512];
	int room = page->width - print_numbers(lines, row, table);
	/* The source text is worth about half of the line. */
	int most = room * 3 / 5 < 44 ? room * 3 / 5 : 44;
	int width = lines->label_width < most ? lines->label_width : most;
	sn_label_line(db, lines->flat.frames[row], false, label);
	sn_utf8_elide(label, width > 8 ? (size_t)width : 8);
	sn_text_styled(page, sn_label_color(db, lines->flat.frames[row]), "%s", label);
	room -= width + 2;
	const char *file = sonde_db_string(db, frame->file);
	if (room >= 10 && sn_source_line(source, file, frame->line, text, sizeof(text))) {
		sn_utf8_cut(text, (size_t)room);
		fprintf(page->out, "%*s%s", width + 2 - (int)sn_utf8_columns(label), "", text);
	}
	sn_text_table_end(table);
}

/* All cost of another program, such as a compiler that the script runs, lies under no line of the
 * script. */
static bool has_other_programs(const struct sonde_db *db)
{
	uint32_t first = SONDE_NONE;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, i);
		if (profile->kind != SONDE_PROFILE_THREAD)
			continue;
		if (first == SONDE_NONE)
			first = profile->program;
		else if (profile->program != first)
			return true;
	}
	return false;
}

/* Returns the lines printed. */
static uint32_t print_outside(const struct hot_lines *lines, const struct sn_terminal *page,
			      struct sn_text_table *table)
{
	if (lines->totals[0] <= 0 ||
	    cost(lines, 0, SONDE_NONE) / lines->totals[0] < least_outside_share)
		return 0;
	sn_text_style(page, SN_DIM);
	int room = page->width - print_numbers(lines, SONDE_NONE, table);
	char text[96];
	snprintf(text, sizeof(text), "under no line of your code: %s",
		 has_other_programs(lines->view->db)
		     ? "other programs, library threads, waiting, ..."
		     : "library threads, waiting, start and end");
	sn_utf8_cut(text, room > 8 ? (size_t)room : 8);
	fputs(text, page->out);
	sn_text_table_end(table);
	sn_text_style(page, SN_PLAIN);
	return 1;
}

/* Returns the lines printed. */
static int print_lines(const struct hot_lines *lines, const struct sn_terminal *page,
		       struct sn_source *source)
{
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "share", 6);
	sn_text_columns(lines->view, 0, &table);
	sn_text_end_heads(page, &table, "hottest lines of your code");
	for (uint32_t i = 0; i < lines->shown; i++)
		print_line(lines, page, source, lines->order[i], &table);
	int count = (int)lines->shown + 2 + (int)print_outside(lines, page, &table);
	putc('\n', page->out);
	return count;
}

int sn_text_hot_lines(const struct sn_view *view, const struct sn_terminal *page,
		      struct sn_source *source, uint32_t limit, struct sn_error *error)
{
	struct hot_lines lines = {.view = view};
	struct sn_tree tree;
	int code = sn_view_tree(view, SN_GROUP_INSTRUCTION, &tree, error);
	if (code != 0)
		return code;
	code = sn_flat_init(&lines.flat, &tree, SN_GROUP_USER_LINE, error);
	lines.order = sn_arena_array(&tree.arena, uint32_t, lines.flat.row_count);
	lines.totals = sn_arena_array(&tree.arena, double, view->metric_count);
	if (code == 0 && tree.arena.failed)
		code = sn_fail_memory(error);
	if (code == 0) {
		for (uint32_t m = 0; m < view->metric_count; m++)
			lines.totals[m] = sn_tree_inclusive(&tree, m, 0);
		choose(&lines, limit);
		if (lines.shown > 0)
			code = print_lines(&lines, page, source);
	}
	sn_flat_release(&lines.flat);
	sn_tree_release(&tree);
	return code;
}
