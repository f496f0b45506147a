/* SPDX-License-Identifier: Apache-2.0 */
/* The flat report and the one of threads. */
#include "base/sort.h"
#include "base/utf8.h"
#include "flat.h"
#include "rank_sums.h"
#include "show/number.h"
#include "show/source/source.h"
#include "spread.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct order {
	const struct sn_view *view;
	const struct sn_flat *flat;
	const struct sn_derived *derived; /* [row * formula_count + formula] */
};

static int compare_rows(const void *left, const void *right, void *argument)
{
	const struct order *order = argument;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sn_view *view = order->view;
	if (view->sort == SN_SORT_NAME)
		return sn_order_then(
		    sn_view_compare_names(view, order->flat->frames[a], order->flat->frames[b]),
		    SN_ORDER(a, b));
	/* The key looks at one metric alone, and the columns are apart. */
	uint32_t at = view->sort_position;
	struct sn_view one = *view;
	one.sort_position = 0;
	const struct sn_tree_value *values = order->flat->values[at];
	double x =
	    sn_view_sort_key(&one, &values[a], order->derived + (size_t)a * view->formula_count);
	double y =
	    sn_view_sort_key(&one, &values[b], order->derived + (size_t)b * view->formula_count);
	return sn_order_then(SN_ORDER(y, x), sn_order_then(SN_ORDER(values[b].inclusive.sum,
								    values[a].inclusive.sum),
							   SN_ORDER(a, b)));
}

/* Counts mean something to people where every event was measured. */
static bool shows_counts(const struct sn_view *view)
{
	const char *counts = sonde_db_metric_counts(view->db, view->metrics[0]);
	return strcmp(counts, "calls") == 0 || strcmp(counts, "events") == 0;
}

/* What is no call itself has none. */
static void print_counts(const struct sn_view *view, const struct sn_tree_value *value,
			 struct sn_text_table *table)
{
	const struct sonde_db_stat *counted = sn_value_counted(value);
	if (counted->count > 0) {
		sn_text_table_cell(table, sn_number_text(counted->count, "1").text);
		sn_text_cell(view, 0, sonde_db_stat_mean(counted), table);
	} else {
		sn_text_table_cell(table, "-");
		sn_text_table_cell(table, "-");
	}
}

static struct sn_text_table print_flat_heads(const struct sn_view *view,
					     const struct sn_terminal *page)
{
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "self%", 6);
	sn_text_table_column(&table, "self", 9);
	sn_text_table_column(&table, "total%", 6);
	sn_text_table_column(&table, "total", 9);
	if (shows_counts(view)) {
		sn_text_table_column(&table, sonde_db_metric_counts(view->db, view->metrics[0]), 9);
		sn_text_table_column(&table, "mean", 9);
	}
	sn_text_columns(view, 1, &table);
	sn_text_end_heads(page, &table, view->by);
	return table;
}

/* Returns the columns used. */
static int print_flat_numbers(const struct sn_view *view, const struct order *order, uint32_t row,
			      double total, struct sn_text_table *table)
{
	const struct sn_flat *flat = order->flat;
	const struct sn_tree_value *value = &flat->values[0][row];
	sn_text_table_cell(table, sn_number_part(value->exclusive.sum, total).text);
	sn_text_cell(view, 0, value->exclusive.sum, table);
	sn_text_table_cell(table, sn_number_part(value->inclusive.sum, total).text);
	sn_text_cell(view, 0, value->inclusive.sum, table);
	if (shows_counts(view))
		print_counts(view, value, table);
	for (uint32_t m = 1; m < view->metric_count; m++)
		sn_text_cell(view, m, flat->values[m][row].inclusive.sum, table);
	sn_text_formulas(view, order->derived + (size_t)row * view->formula_count, false, table);
	return sn_text_table_rest(table);
}

static bool is_line_table(const struct sn_view *view)
{
	return view->grouping == SN_GROUP_SOURCE_LINE || view->grouping == SN_GROUP_USER_LINE;
}

/* Tables of lines show their source, and so do rows of Python, which go by line. */
static bool shows_source(const struct sn_view *view, uint32_t frame)
{
	const char *kind = sonde_frame_kind_name(sonde_db_frame(view->db, frame)->kind);
	return is_line_table(view) ||
	       (view->grouping == SN_GROUP_AUTO && strcmp(kind, "python") == 0);
}

/* Shortens name and place to the room there is. Returns the columns of blank between them. */
static int fit_columns(const struct sn_view *view, int room, char *name, char *place)
{
	enum { LINE_NAME_COLUMNS = 36, ROOM_FOR_LINES = 60 };
	int gap = 2, wanted = (int)sn_utf8_columns(place) + 2;
	if (view->is_full || room <= 16)
		return gap;
	int least = room / 2 > 24 ? room / 2 : 24;
	bool is_aligned = is_line_table(view) && room > ROOM_FOR_LINES;
	if (is_aligned)
		sn_utf8_elide(name, LINE_NAME_COLUMNS);
	else if ((int)sn_utf8_columns(name) + wanted > room)
		sn_utf8_elide(name, (size_t)(room - wanted > least ? room - wanted : least));
	int columns = (int)sn_utf8_columns(name);
	if (is_aligned)
		gap += LINE_NAME_COLUMNS - columns;
	room -= columns + gap;
	if (room < (int)sn_utf8_columns(place) && room < 24)
		place[0] = '\0';
	sn_utf8_cut(place, room > 8 ? (size_t)room : 8);
	return gap;
}

static void print_flat_row(const struct sn_view *view, const struct sn_terminal *page,
			   struct sn_source *source, const struct order *order, uint32_t row,
			   double total, struct sn_text_table *table)
{
	const struct sn_flat *flat = order->flat;
	char name[SN_LABEL_CHARS], place[SN_LABEL_CHARS];
	uint32_t id = flat->frames[row];
	int room = page->width - print_flat_numbers(view, order, row, total, table);
	if (view->is_full)
		sn_label_full(view->db, view->grouping, id, name);
	else
		sn_label_name(view->db, view->grouping, id, name);
	/* the source stands where the place would */
	if (sn_text_place(view, source, id, shows_source(view, id), place) && is_line_table(view))
		sn_label_line(view->db, id, view->is_full, name);
	int gap = fit_columns(view, room, name, place);
	sn_text_styled(page, sn_label_color(view->db, id), "%s", name);
	if (*place)
		sn_text_styled(page, SN_DIM, "%*s%s", gap, "", place);
	sn_text_table_end(table);
}

static void print_flat_rest(const struct sn_terminal *page, const struct sn_flat *flat,
			    const uint32_t *order, uint32_t shown, double total,
			    struct sn_text_table *table)
{
	double rest = 0;
	for (uint32_t i = shown; i < flat->row_count; i++)
		rest += flat->values[0][order[i]].exclusive.sum;
	if (shown >= flat->row_count)
		return;
	sn_text_style(page, SN_DIM);
	sn_text_table_cell(table, sn_number_part(rest, total).text);
	for (int i = 0; i < 3; i++)
		sn_text_table_cell(table, "");
	sn_text_table_rest(table);
	fprintf(page->out, "%s more", sn_number_counted(flat->row_count - shown).text);
	sn_text_table_end(table);
	sn_text_style(page, SN_PLAIN);
}

/* All formulas of all rows, [row * formula_count + formula]; NULL without memory. */
static struct sn_derived *derive_rows(const struct sn_view *view, struct sn_flat *flat)
{
	struct sn_derived *derived = sn_arena_array(&flat->arena, struct sn_derived,
						    (size_t)flat->row_count * view->formula_count);
	struct sn_tree_value *values =
	    sn_arena_array(&flat->arena, struct sn_tree_value, flat->metric_count);
	uint32_t rows = values && derived && view->formula_count ? flat->row_count : 0;
	for (uint32_t row = 0; row < rows; row++) {
		sn_flat_row(flat, row, values);
		sn_view_derive(view, values, sn_view_flat_across(flat, row),
			       derived + (size_t)row * view->formula_count);
	}
	return values ? derived : NULL;
}

static uint32_t print_flat_rows(const struct sn_view *view, const struct sn_terminal *page,
				const struct order *order, const uint32_t *rows, double total)
{
	const struct sn_flat *flat = order->flat;
	uint32_t shown = 0;
	struct sn_source source;
	struct sn_text_table table = {.out = page->out, .gap = 1};
	sn_source_init(&source, view->db, view->sources, sn_text_measured_ns(view->db));
	if (flat->row_count > 0)
		table = print_flat_heads(view, page);
	else
		fprintf(page->out, "No %s was measured here.\n", view->by);
	for (; shown < flat->row_count && (view->limit == 0 || shown < view->limit); shown++) {
		const struct sn_tree_value *value = &flat->values[0][rows[shown]];
		bool is_small = value->inclusive.sum < view->min_share * total;
		if (is_small && view->sort != SN_SORT_NAME)
			break;
		print_flat_row(view, page, &source, order, rows[shown], total, &table);
	}
	print_flat_rest(page, flat, rows, shown, total, &table);
	sn_source_release(&source);
	return shown;
}

static int print_flat(const struct sn_view *view, const struct sn_terminal *page,
		      const struct sn_tree *tree, struct sn_flat *flat)
{
	uint32_t *rows = sn_arena_array(&flat->arena, uint32_t, flat->row_count);
	struct order order = {view, flat, derive_rows(view, flat)};
	if (!rows || !order.derived)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < flat->row_count; i++)
		rows[i] = i;
	qsort_r(rows, flat->row_count, sizeof(*rows), compare_rows, &order);
	double total = sn_tree_inclusive(tree, 0, 0);
	bool has_any = sn_text_header(view, page, total, tree->values[0][0].inclusive.count);
	if (has_any && print_flat_rows(view, page, &order, rows, total) > 0 && !view->is_full)
		sn_text_footer(view, page, flat->frames[rows[0]]);
	return has_any ? 0 : SN_TEXT_NOTHING;
}

static int text_flat(const struct sn_view *view, const struct sn_terminal *page,
		     struct sn_error *error)
{
	struct sn_tree tree;
	struct sn_flat flat;
	int code = sn_view_tree(view, SN_GROUP_INSTRUCTION, &tree, error);
	if (code != 0)
		return code;
	code = sn_view_flat(view, &tree, &flat, error);
	if (code == 0) {
		code = sn_fail_code(error, print_flat(view, page, &tree, &flat));
		sn_flat_release(&flat);
	}
	sn_tree_release(&tree);
	return code;
}

void sn_view_profile_name(const struct sonde_db *db, uint32_t id, char *text, size_t size)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, id);
	const char *thread = sonde_db_string(db, profile->thread);
	const char *program = sn_label_program(sonde_db_string(db, profile->program));
	char rank[160] = "", raw[768], key[32];
	size_t used = 0;
	snprintf(key, sizeof(key), "run.%u", profile->run);
	const char *run = sonde_db_property(db, "run.1") ? sonde_db_property(db, key) : NULL;
	if (run)
		used = (size_t)snprintf(rank, sizeof(rank), "%.120s: ", run);
	if (profile->rank >= 0)
		snprintf(rank + used, sizeof(rank) - used, "rank %d ", profile->rank);
	if (profile->kind == SONDE_PROFILE_STREAM && *thread)
		snprintf(raw, sizeof(raw), "%s%.200s %llu %.200s", rank, program,
			 (unsigned long long)profile->pid, thread);
	else if (profile->kind == SONDE_PROFILE_STREAM)
		snprintf(raw, sizeof(raw), "%s%.200s %llu device %d stream %d", rank, program,
			 (unsigned long long)profile->pid, (int)profile->device,
			 (int)profile->stream);
	else if (profile->kind == SONDE_PROFILE_PROCESSOR && *thread)
		snprintf(raw, sizeof(raw), "%s%.200s", rank, thread);
	else if (!profile->pid && !profile->tid && *thread == '/') /* a program in a cgroup */
		snprintf(raw, sizeof(raw), "%s%.200s %.400s", rank, program, thread);
	else if (profile->pid == profile->tid)
		snprintf(raw, sizeof(raw), "%s%.200s %llu main thread", rank, program,
			 (unsigned long long)profile->pid);
	else
		snprintf(raw, sizeof(raw), "%s%.200s %llu/%llu %.200s", rank, program,
			 (unsigned long long)profile->pid, (unsigned long long)profile->tid,
			 *thread ? thread : "thread");
	sn_utf8_clean(raw, text, size);
}

/* One row of the threads view. */
struct thread_row {
	uint32_t profile;
	struct sn_tree_value *values;
	struct sn_derived *derived;
};

struct thread_sink {
	struct sn_row_sink sink;
	const struct sn_view *view;
	struct sn_arena arena;
	struct thread_row *rows;
	uint32_t count;
	struct sn_rank_sums ranks; /* of the first metric */
	double sum, most;	   /* of the rows */
};

static int add_thread(struct sn_row_sink *sink, const struct sn_row *row)
{
	struct thread_sink *self = (struct thread_sink *)sink;
	uint32_t metrics = self->view->metric_count, formulas = self->view->formula_count;
	struct thread_row *kept = &self->rows[self->count++];
	kept->profile = row->profile;
	kept->values = sn_arena_array(&self->arena, struct sn_tree_value, metrics);
	kept->derived = sn_arena_array(&self->arena, struct sn_derived, formulas);
	if (self->arena.failed)
		return SN_ERR_MEMORY;
	memcpy(kept->values, row->values, metrics * sizeof(*row->values));
	memcpy(kept->derived, row->derived, formulas * sizeof(*row->derived));
	const struct sonde_db_stat *value = &row->values[0].inclusive;
	sn_rank_sums_add(&self->ranks, row->profile, 0, value);
	self->sum += value->sum;
	self->most = value->sum > self->most ? value->sum : self->most;
	return 0;
}

static int compare_threads(const void *left, const void *right, void *argument)
{
	const struct thread_row *a = left, *b = right;
	const struct sn_view *view = argument;
	int order = view->sort == SN_SORT_NAME
			? 0
			: SN_ORDER(sn_view_sort_key(view, b->values, b->derived),
				   sn_view_sort_key(view, a->values, a->derived));
	return sn_order_then(order, SN_ORDER(a->profile, b->profile));
}

enum { BAR_COLUMNS = 12, WIDTH_FOR_BARS = 100 };

static void print_bar(const struct sn_terminal *page, double share)
{
	int full = (int)lrint(share * BAR_COLUMNS);
	sn_text_style(page, "\033[34m");
	for (int i = 0; i < BAR_COLUMNS; i++)
		fputs(i >= full ? " " : page->is_unicode ? "\xe2\x96\x88" : "#", page->out);
	sn_text_style(page, SN_PLAIN);
}

static void print_thread(const struct thread_sink *self, const struct sn_terminal *page,
			 const struct thread_row *row, struct sn_text_table *table)
{
	const struct sn_view *view = self->view;
	const struct sonde_db_profile *profile = sonde_db_profile(view->db, row->profile);
	double sum = row->values[0].inclusive.sum;
	sn_text_table_cell(table, sn_number_part(sum, self->sum).text);
	sn_text_cell(view, 0, sum, table);
	sn_text_table_own_cell(table);
	if (page->width >= WIDTH_FOR_BARS)
		print_bar(page, self->most > 0 ? sum / self->most : 0);
	for (uint32_t m = 1; m < view->metric_count; m++)
		sn_text_cell(view, m, row->values[m].inclusive.sum, table);
	sn_text_formulas(view, row->derived, false, table);
	sn_text_table_cell(table, sn_number_counted((double)profile->samples).text);
	sn_text_table_cell(table,
			   sn_number_time((double)(profile->end_ns - profile->start_ns)).text);
	sn_text_profile(view, row->profile, page->width - sn_text_table_rest(table), table);
}

static void print_across(const struct thread_sink *self, const struct sn_terminal *page)
{
	struct sonde_db_stat across = sn_rank_sums_set(&self->ranks, 0);
	const struct sn_db_ranks *ranks = &self->ranks.ranks;
	const char *unit = sn_text_unit(self->view, 0);
	double mean = sonde_db_stat_mean(&across);
	fprintf(page->out, "\n %s across %.0f %s%s: min %s, mean %s, max %s\n",
		sn_text_metric(self->view, 0).text, across.count,
		ranks->are_ranks ? "rank" : "thread", across.count == 1 ? "" : "s",
		sn_number_text(across.min, unit).text, sn_number_text(mean, unit).text,
		sn_number_text(across.max, unit).text);
	fprintf(page->out, " coefficient of variation %s, imbalance %s (max / mean - 1)\n",
		sn_number_part(sonde_db_stat_deviation(&across), mean).text,
		sn_number_part(mean > 0 ? across.max / mean - 1 : 0, 1).text);
	if (!ranks->are_all)
		fprintf(page->out, " without what is of no rank (launchers, other programs)\n");
}

static int print_threads(struct thread_sink *self, const struct sn_terminal *page)
{
	const struct sn_view *view = self->view;
	double count = 0;
	for (uint32_t i = 0; i < self->count; i++)
		count += self->rows[i].values[0].inclusive.count;
	if (!sn_text_header(view, page, self->sum, count))
		return SN_TEXT_NOTHING;
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "share", 6);
	sn_text_table_column(&table, sn_text_metric(view, 0).text, sn_text_metric_width(view, 0));
	/* names need the room more where there is little */
	sn_text_table_column(&table, "", page->width < WIDTH_FOR_BARS ? 0 : BAR_COLUMNS);
	sn_text_columns(view, 1, &table);
	sn_text_table_column(&table, "samples", 9);
	sn_text_table_column(&table, "lifetime", 9);
	sn_text_end_heads(page, &table, "thread");
	uint32_t shown = 0;
	for (; shown < self->count && (view->limit == 0 || shown < view->limit); shown++)
		print_thread(self, page, &self->rows[shown], &table);
	if (shown < self->count)
		fprintf(page->out, " %u more\n", self->count - shown);
	if (!view->is_bare)
		print_across(self, page);
	if (!view->is_full)
		sn_text_footer(view, page, SONDE_NONE);
	return 0;
}

static int text_threads(const struct sn_view *view, const struct sn_terminal *page,
			struct sn_error *error)
{
	struct thread_sink self = {.sink = {add_thread}, .view = view};
	self.rows =
	    sn_arena_array(&self.arena, struct thread_row, sonde_db_profile_count(view->db));
	int code = sn_rank_sums_init(&self.ranks, view->db, view->profiles, 1);
	if (code == 0)
		code = self.rows ? sn_view_rows(view, &self.sink, error) : SN_ERR_MEMORY;
	if (code == 0) {
		qsort_r(self.rows, self.count, sizeof(*self.rows), compare_threads, (void *)view);
		code = print_threads(&self, page);
	}
	sn_rank_sums_release(&self.ranks);
	sn_arena_release(&self.arena);
	return sn_fail_code(error, code);
}

int sn_view_text(const struct sn_view *view, const struct sn_terminal *page, struct sn_error *error)
{
	static int (*const views[])(const struct sn_view *, const struct sn_terminal *,
				    struct sn_error *) = {
	    [SN_VIEW_TOP_DOWN] = sn_view_text_top_down,
	    [SN_VIEW_BOTTOM_UP] = sn_view_text_bottom_up,
	    [SN_VIEW_FLAT] = text_flat,
	    [SN_VIEW_THREADS] = text_threads,
	};
	if (view->place)
		return sn_spread_text(view, page, error);
	int code = views[view->kind](view, page, error);
	return code == SN_TEXT_NOTHING ? 0 : code;
}
