/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are linked to sorted sibling lists and printed in pre-order without recursion, so at
 * any depth. Of a chain too long for the line the least important names are left out: fit_chain.
 */
#include "outline.h"

#include "base/sort.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "label.h"
#include "number.h"
#include "frame/alike_name.h"
#include "show/tree/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 64, MAX_SHOWN_PARTS = 5, MAX_PART_COLUMNS = 56 };

void sn_outline_init(struct sn_outline *outline, const struct sn_view *view)
{
	*outline = (struct sn_outline){.view = view, .joint = " > "};
}

void sn_outline_release(struct sn_outline *outline)
{
	free(outline->rows);
	free(outline->frames);
	free(outline->values);
	free(outline->derived);
	*outline = (struct sn_outline){0};
}

uint32_t sn_outline_add(struct sn_outline *outline, uint32_t parent, struct sn_tree_value **values)
{
	uint32_t metrics = sn_view_columns(outline->view);
	uint32_t formulas = outline->view->formula_count;
	size_t rows = outline->row_count + 1ull;
	if (sn_vec_reserve(&outline->rows, &outline->row_capacity, rows) ||
	    sn_vec_reserve(&outline->values, &outline->value_capacity, rows * metrics) ||
	    sn_vec_reserve(&outline->derived, &outline->derived_capacity, rows * formulas))
		return SONDE_NONE;
	uint32_t id = outline->row_count++;
	outline->rows[id] = (struct sn_outline_row){
	    .parent = parent, .frames = outline->frame_count, .values = id * metrics};
	*values = &outline->values[(size_t)id * metrics];
	memset(*values, 0, metrics * sizeof(**values));
	return id;
}

void sn_outline_derive(struct sn_outline *outline, const struct sn_tree_sets *across)
{
	size_t row = outline->row_count - 1;
	sn_view_derive(outline->view, &outline->values[outline->rows[row].values], across,
		       &outline->derived[row * outline->view->formula_count]);
}

int sn_outline_add_frame(struct sn_outline *outline, uint32_t frame, uint32_t alike)
{
	struct sn_outline_frame added = {frame, alike};
	if (sn_vec_push(&outline->frames, &outline->frame_capacity, &outline->frame_count, added))
		return SN_ERR_MEMORY;
	outline->rows[outline->row_count - 1].count++;
	return 0;
}

static int compare_rows(const void *left, const void *right, void *argument)
{
	const struct sn_outline *outline = argument;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct sn_outline_row *a = &outline->rows[l], *b = &outline->rows[r];
	if (outline->view->sort == SN_SORT_NAME) {
		int order = sn_view_compare_names(outline->view, outline->frames[a->frames].frame,
						  outline->frames[b->frames].frame);
		if (order != 0)
			return order;
	}
	size_t formulas = outline->view->formula_count;
	double x = sn_view_sort_key(outline->view, &outline->values[a->values],
				    &outline->derived[l * formulas]);
	double y = sn_view_sort_key(outline->view, &outline->values[b->values],
				    &outline->derived[r * formulas]);
	return sn_order_then(SN_ORDER(y, x), SN_ORDER(l, r));
}

/* Links siblings in order; returns the first row at the margin, or SONDE_NONE where memory ran out.
 */
static uint32_t link_rows(struct sn_outline *outline)
{
	uint32_t *order = malloc(outline->row_count * sizeof(*order));
	if (!order)
		return SONDE_NONE;
	for (uint32_t i = 0; i < outline->row_count; i++) {
		order[i] = i;
		outline->rows[i].first_child = outline->rows[i].next_sibling = SONDE_NONE;
		uint32_t parent = outline->rows[i].parent;
		outline->rows[i].level = parent == SONDE_NONE ? 0 : outline->rows[parent].level + 1;
	}
	qsort_r(order, outline->row_count, sizeof(*order), compare_rows, outline);
	uint32_t first = SONDE_NONE;
	for (uint32_t i = outline->row_count; i-- > 0;) {
		struct sn_outline_row *row = &outline->rows[order[i]];
		uint32_t *head =
		    row->parent == SONDE_NONE ? &first : &outline->rows[row->parent].first_child;
		row->next_sibling = *head;
		*head = order[i];
	}
	free(order);
	return first;
}

/* Returns the columns used. */
static int print_numbers(const struct sn_outline *outline, const struct sn_terminal *page,
			 const struct sn_outline_row *row, struct sn_text_table *table)
{
	const struct sn_view *view = outline->view;
	const struct sn_tree_value *values = &outline->values[row->values];
	double parts[] = {values[0].inclusive.sum, values[0].exclusive.sum};
	bool is_own = outline->shows_exclusive_share;
	size_t number = (size_t)(row - outline->rows);
	table->mark = row->is_hot ? (page->is_unicode ? "\xe2\x96\xb6" : ">") : " ";
	sn_text_style(page, row->is_hot ? "\033[1;31m" : "");
	sn_text_table_cell(table, sn_number_part(parts[is_own], outline->total).text);
	sn_text_style(page, row->is_hot ? SN_PLAIN : "");
	sn_text_cell(view, 0, parts[is_own], table);
	sn_text_cell(view, 0, parts[!is_own], table);
	for (uint32_t m = 1; m < view->metric_count; m++)
		sn_text_cell(view, m, values[m].inclusive.sum, table);
	sn_text_formulas(view, &outline->derived[number * view->formula_count], is_own, table);
	return sn_text_table_rest(table);
}

/* The lines that lead from a row's elders to it. Returns the columns used. */
static int print_guides(const struct sn_outline *outline, const struct sn_terminal *page,
			const struct sn_outline_row *row)
{
	enum { MAX_LEVELS = 24 };
	bool is_open[MAX_LEVELS];
	int count = 0;
	if (row->level == 0)
		return 0;
	for (const struct sn_outline_row *at = row; at->level > 0 && count < MAX_LEVELS;
	     at = &outline->rows[at->parent])
		is_open[count++] = at->next_sibling != SONDE_NONE;
	sn_text_style(page, SN_DIM);
	for (int i = count - 1; i > 0; i--)
		fputs(!is_open[i] ? "  " : page->is_unicode ? "\xe2\x94\x82 " : "| ", page->out);
	if (page->is_unicode)
		fputs(is_open[0] ? "\xe2\x94\x9c " : "\xe2\x94\x94 ", page->out);
	else
		fputs(is_open[0] ? "+ " : "` ", page->out);
	sn_text_style(page, SN_PLAIN);
	return 2 * count;
}

/* A chain of frames: its names, their weights, and which of them are shown. */
struct chain {
	uint32_t count;
	uint32_t frames[MAX_PARTS];
	int weights[MAX_PARTS];
	bool shown[MAX_PARTS];
	bool last_may_go;    /* rows below show where it leads, or it is the outermost caller */
	size_t part_columns; /* what is longer is shortened to this */
	char labels[MAX_PARTS][SN_LABEL_CHARS];
};

/* "nn.Module: DecoderLayer_* (24 alike)". Returns its weight: what was folded is said. */
static int label_alike(const struct sonde_db *db, const struct sn_outline_frame *part,
		       char label[SN_LABEL_CHARS])
{
	enum { STAYS = 100 };
	char name[SN_LABEL_CHARS];
	if (sn_alike_name(db, part->frame, name, sizeof(name))) {
		sn_utf8_clean(name, label, SN_LABEL_CHARS - 24);
		snprintf(label + strlen(label), 24, " (%u alike)", part->alike);
	}
	return STAYS;
}

static void fill_chain(const struct sn_outline *outline, const struct sn_outline_row *row,
		       struct chain *chain)
{
	const struct sn_view *view = outline->view;
	chain->count = row->count < MAX_PARTS ? row->count : MAX_PARTS;
	for (uint32_t i = 0; i < chain->count; i++) {
		/* The middle of a longer chain is never shown. */
		uint32_t at = i < MAX_PARTS / 2 ? i : row->count - (chain->count - i);
		const struct sn_outline_frame *part = &outline->frames[row->frames + at];
		chain->frames[i] = part->frame;
		chain->weights[i] = sn_label_weight(view->db, chain->frames[i]);
		chain->shown[i] = true;
		if (view->is_full)
			sn_label_full(view->db, view->grouping, chain->frames[i], chain->labels[i]);
		else
			sn_label_name(view->db, view->grouping, chain->frames[i], chain->labels[i]);
		if (part->alike > 1)
			chain->weights[i] = label_alike(view->db, part, chain->labels[i]);
	}
	chain->part_columns = SN_LABEL_CHARS;
}

static size_t chain_columns(const struct sn_outline *outline, const struct chain *chain)
{
	size_t columns = 0, joint = strlen(outline->joint);
	for (uint32_t i = 0; i < chain->count; i++) {
		bool is_gap = !chain->shown[i];
		if (is_gap && i > 0 && !chain->shown[i - 1])
			continue;
		size_t part = is_gap ? 1 : sn_utf8_columns(chain->labels[i]);
		columns +=
		    (i > 0 ? joint : 0) + (part < chain->part_columns ? part : chain->part_columns);
	}
	return columns;
}

/* The part of least weight, of equal ones the first; SONDE_NONE if all must stay. */
static uint32_t least_part(const struct chain *chain)
{
	uint32_t least = SONDE_NONE;
	for (uint32_t i = 0; i < chain->count - !chain->last_may_go; i++)
		if (chain->shown[i] &&
		    (least == SONDE_NONE || chain->weights[i] < chain->weights[least]))
			least = i;
	return least;
}

/* Takes parts that weigh less than `weight` out until the chain fits. One part always stays. */
static bool drop_parts(const struct sn_outline *outline, struct chain *chain, size_t room,
		       int weight)
{
	uint32_t shown = 0;
	for (uint32_t i = 0; i < chain->count; i++)
		shown += chain->shown[i];
	for (;; shown--) {
		if (chain_columns(outline, chain) <= room && shown <= MAX_SHOWN_PARTS)
			return true;
		uint32_t least = shown > 1 ? least_part(chain) : SONDE_NONE;
		if (least == SONDE_NONE || chain->weights[least] >= weight)
			return false;
		chain->shown[least] = false;
	}
}

/* Drops the parts of little weight, then shortens long names, then drops others; names get the room
 * that is left. The last part stays if it has weight or the row is a leaf. */
static void fit_chain(const struct sn_outline *outline, struct chain *chain, size_t room)
{
	static const size_t steps[] = {0, 36, 30, 24};
	enum { STEPS = sizeof(steps) / sizeof(*steps) };
	enum { TELLING = 3, ANY = 100, FOR_PLACE = 11 /* "  [operator]" */ };
	size_t longest = chain->count > 1 ? MAX_PART_COLUMNS : SN_LABEL_CHARS;
	bool fits = false;
	if (chain->count == 1 && room > 3 * FOR_PLACE)
		room -= FOR_PLACE;
	for (int i = 0; i < STEPS && !fits; i++) {
		chain->part_columns = i ? steps[i] : longest;
		fits = drop_parts(outline, chain, room, TELLING);
	}
	if (!fits)
		drop_parts(outline, chain, room, ANY);
	for (chain->part_columns = longest;
	     chain->part_columns > 8 && chain_columns(outline, chain) > room;)
		chain->part_columns--;
}

static void print_chain(const struct sn_outline *outline, const struct sn_terminal *page,
			const struct chain *chain, bool is_hot)
{
	char label[SN_LABEL_CHARS];
	for (uint32_t i = 0; i < chain->count; i++) {
		bool is_gap = !chain->shown[i];
		if (is_gap && i > 0 && !chain->shown[i - 1])
			continue;
		if (i > 0) {
			sn_text_styled(page, SN_DIM, "%s", outline->joint);
		}
		if (is_gap) {
			fputs(page->is_unicode ? "\xe2\x80\xa6" : "~", page->out);
			continue;
		}
		if (is_hot)
			sn_text_style(page, SN_BOLD);
		snprintf(label, sizeof(label), "%s", chain->labels[i]);
		sn_utf8_elide(label, chain->part_columns);
		sn_text_styled(page, sn_label_color(outline->view->db, chain->frames[i]), "%s",
			       label);
	}
}

/* What the last frame is, or the source line of the user's code, where there is room for it. */
static void print_place(const struct sn_outline *outline, const struct sn_terminal *page,
			const struct chain *chain, int room)
{
	const struct sn_view *view = outline->view;
	uint32_t id = chain->frames[chain->count - 1];
	const struct sonde_db_frame *frame = sonde_db_frame(view->db, id);
	char text[SN_LABEL_CHARS];
	bool wants_line = view->grouping != SN_GROUP_FUNCTION &&
			  (frame->line == frame->function_line || view->grouping != SN_GROUP_AUTO ||
			   strcmp(sonde_frame_kind_name(frame->kind), "python") == 0);
	bool is_source = sn_text_place(view, outline->source, id, wants_line, text);
	if (*text == '\0')
		return;
	if (!view->is_full) {
		/* Half a name is of no use, the beginning of a line of source is. */
		if (room < (int)sn_utf8_columns(text) && (!is_source || room < 16))
			return;
		sn_utf8_cut(text, (size_t)room);
	}
	sn_text_styled(page, SN_DIM, "  %s", text);
}

static void print_row(const struct sn_outline *outline, const struct sn_terminal *page,
		      const struct sn_outline_row *row, struct sn_text_table *table)
{
	static struct chain chain; /* 70 KiB: too much for the stack of a thread one day */
	int used = print_numbers(outline, page, row, table);
	int room = page->width - used - print_guides(outline, page, row);
	fill_chain(outline, row, &chain);
	chain.last_may_go = outline->shows_exclusive_share ||
			    (row->first_child != SONDE_NONE && chain.weights[chain.count - 1] <= 1);
	if (!outline->view->is_full)
		fit_chain(outline, &chain, room > 16 ? (size_t)room : 16);
	print_chain(outline, page, &chain, row->is_hot);
	if (chain.shown[chain.count - 1])
		print_place(outline, page, &chain, room - (int)chain_columns(outline, &chain) - 2);
	sn_text_table_end(table);
}

static void print_rows(const struct sn_outline *outline, const struct sn_terminal *page,
		       uint32_t at, struct sn_text_table *table)
{
	while (at != SONDE_NONE) {
		const struct sn_outline_row *row = &outline->rows[at];
		print_row(outline, page, row, table);
		if (row->first_child != SONDE_NONE) {
			at = row->first_child;
			continue;
		}
		while (at != SONDE_NONE && outline->rows[at].next_sibling == SONDE_NONE)
			at = outline->rows[at].parent;
		if (at != SONDE_NONE)
			at = outline->rows[at].next_sibling;
	}
}

int sn_outline_print(struct sn_outline *outline, const struct sn_terminal *page,
		     const char *heading)
{
	if (outline->row_count == 0)
		return 0;
	uint32_t at = link_rows(outline);
	if (at == SONDE_NONE)
		return SN_ERR_MEMORY;
	struct sn_text_table table = sn_text_begin_heads(page);
	sn_text_table_column(&table, "share", 6);
	sn_text_table_column(&table, outline->shows_exclusive_share ? "self" : "total", 9);
	sn_text_table_column(&table, outline->shows_exclusive_share ? "total" : "self", 9);
	sn_text_columns(outline->view, 1, &table);
	sn_text_end_heads(page, &table, heading);
	print_rows(outline, page, at, &table);
	return 0;
}
