/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The top-down and the bottom-up report. Both take the most expensive entries first until the lines
 * are used up, so that a screen shows where most of the cost is and not merely the first branches;
 * a chain of entries that hand on nearly all of their cost is one row.
 */
#include "base/heap.h"
#include "base/vec.h"
#include "alike.h"
#include "callers.h"
#include "show/outline.h"
#include "show/source/source.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* A child with this share of its parent's cost continues the parent's row. */
static const double chain_share = 0.98;
/* A child with this share of its parent's cost continues the hot path. */
static const double hot_share = 0.5;

struct candidate {
	double value;
	uint32_t item;	 /* node or entry */
	uint32_t parent; /* row */
	uint32_t depth;	 /* of the row */
};

SN_HEAP(candidates, struct candidate, const void *,
	a->value != b->value ? a->value > b->value : a->item < b->item);

/* Candidates, the greatest value first. */
struct queue {
	struct candidate *items;
	size_t count, capacity;
};

static int queue_push(struct queue *queue, struct candidate item)
{
	if (sn_vec_reserve(&queue->items, &queue->capacity, queue->count + 1) < 0)
		return SN_ERR_MEMORY;
	candidates_push(queue->items, &queue->count, item, NULL);
	return 0;
}

static struct candidate queue_pop(struct queue *queue)
{
	struct candidate top = queue->items[0];
	candidates_pop(queue->items, &queue->count, NULL);
	return top;
}

static uint32_t greatest_child(const struct sn_tree *tree, uint32_t node)
{
	uint32_t best = SONDE_NONE;
	double most = -1;
	for (uint32_t c = node + 1; c < tree->nodes[node].end; c = tree->nodes[c].end) {
		double value = sn_tree_weight(tree, c);
		if (value > most) {
			most = value;
			best = c;
		}
	}
	return best;
}

/* Whether a child has nearly all of its parent's cost, in every metric that matters there. */
static bool hands_on(const struct sn_tree *tree, uint32_t node, uint32_t child)
{
	for (uint32_t m = 0; m < tree->metric_count; m++) {
		double value = sn_tree_inclusive(tree, m, node);
		bool matters = m == 0 || value > 0.05 * sn_tree_inclusive(tree, m, 0);
		if (matters && sn_tree_inclusive(tree, m, child) < chain_share * value)
			return false;
	}
	return true;
}

/* Adds the row of a node and the chain that begins there; *tail is the chain's last node. */
static int add_node_row(struct sn_outline *outline, const struct sn_tree *tree, uint32_t parent,
			uint32_t node, uint32_t *tail)
{
	struct sn_tree_value *values;
	const struct sn_tree_sets *across =
	    tree->across ? &tree->across[(size_t)node * tree->metric_count] : NULL;
	if (sn_outline_add(outline, parent, &values) == SONDE_NONE)
		return SN_ERR_MEMORY;
	for (uint32_t m = 0; m < tree->metric_count; m++)
		values[m].inclusive = tree->values[m][node].inclusive;
	for (;;) {
		for (uint32_t m = 0; m < tree->metric_count; m++)
			sonde_db_stat_merge(&values[m].exclusive, &tree->values[m][node].exclusive);
		/* The root stands for the whole: where it has one child, that is shown instead. */
		uint32_t next = outline->view->is_full ? SONDE_NONE : greatest_child(tree, node);
		bool goes_on = next != SONDE_NONE && hands_on(tree, node, next);
		if (!(node == 0 && goes_on) &&
		    sn_outline_add_frame(outline, tree->nodes[node].frame,
					 tree->nodes[node].alike) != 0)
			return SN_ERR_MEMORY;
		*tail = node;
		if (!goes_on) {
			sn_outline_derive(outline, across);
			return 0;
		}
		node = next;
	}
}

static int push_children(struct queue *queue, const struct sn_tree *tree, uint32_t node,
			 uint32_t row, uint32_t depth, double least)
{
	for (uint32_t c = node + 1; c < tree->nodes[node].end; c = tree->nodes[c].end) {
		double value = sn_tree_weight(tree, c);
		if (value <= 0 || value < least)
			continue;
		if (queue_push(queue, (struct candidate){value, c, row, depth}) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* Marks the rows that lead to where most of the cost is. */
static void mark_hot(struct sn_outline *outline)
{
	uint32_t at = outline->row_count > 0 ? 0 : SONDE_NONE;
	while (at != SONDE_NONE) {
		double value = outline->values[outline->rows[at].values].inclusive.sum;
		uint32_t next = SONDE_NONE;
		outline->rows[at].is_hot = true;
		for (uint32_t i = at + 1; i < outline->row_count && next == SONDE_NONE; i++)
			if (outline->rows[i].parent == at &&
			    outline->values[outline->rows[i].values].inclusive.sum >=
				hot_share * value)
				next = i;
		at = next;
	}
}

static int fill_top_down(struct sn_outline *outline, const struct sn_tree *tree, uint32_t limit)
{
	const struct sn_view *view = outline->view;
	struct queue queue = {0};
	double least = view->min_share;
	int code = queue_push(&queue, (struct candidate){1, 0, SONDE_NONE, 0});
	while (code == 0 && queue.count > 0 && (limit == 0 || outline->row_count < limit)) {
		struct candidate next = queue_pop(&queue);
		uint32_t tail, row = outline->row_count;
		code = add_node_row(outline, tree, next.parent, next.item, &tail);
		if (code == 0 && next.depth < view->max_depth)
			code = push_children(&queue, tree, tail, row, next.depth + 1, least);
	}
	free(queue.items);
	mark_hot(outline);
	return code;
}

int sn_view_text_top_down(const struct sn_view *view, const struct sn_terminal *page,
			  struct sn_error *error)
{
	struct sn_tree tree;
	int code = sn_view_tree(view, view->grouping, &tree, error);
	if (code == 0 && view->grouping == SN_GROUP_AUTO && !view->is_full)
		code = sn_tree_fold(&tree, error);
	if (code != 0) {
		sn_tree_release(&tree);
		return code;
	}
	struct sn_source source;
	struct sn_outline outline;
	sn_source_init(&source, view->db, view->sources, sn_text_measured_ns(view->db));
	sn_outline_init(&outline, view);
	outline.total = sn_tree_inclusive(&tree, 0, 0);
	outline.source = &source;
	bool has_any = sn_text_header(view, page, outline.total, tree.values[0][0].inclusive.count);
	uint32_t limit = view->limit;
	if (has_any && !view->is_full) {
		uint32_t most = limit == 0 ? 10 : limit < 12 ? 3 : limit / 4 > 10 ? 10 : limit / 4;
		code = sn_text_hot_lines(view, page, &source, most, error);
		if (code > 0 && limit > 0)
			limit = limit > (uint32_t)code + 3 ? limit - (uint32_t)code : 3;
	}
	if (!has_any)
		code = SN_TEXT_NOTHING;
	else if (code >= 0)
		code = fill_top_down(&outline, &tree, limit);
	if (code == 0)
		code = sn_outline_print(&outline, page, "call paths");
	if (code == 0 && !view->is_full)
		sn_text_footer(view, page, SONDE_NONE);
	sn_fail_code(error, code);
	sn_outline_release(&outline);
	sn_source_release(&source);
	sn_tree_release(&tree);
	return code;
}

static double own_cost(const struct sn_callers *callers, uint32_t entry)
{
	return sn_callers_values(callers, entry)->exclusive.sum;
}

/* The only caller worth naming, or SONDE_NONE. Expands the entry. */
static int only_caller(struct sn_callers *callers, uint32_t entry, uint32_t *caller,
		       struct sn_error *error)
{
	*caller = SONDE_NONE;
	int code = sn_callers_expand(callers, entry, error);
	if (code != 0)
		return code;
	const struct sn_callers_entry *e = &callers->entries[entry];
	for (uint32_t i = e->first_child; i < e->first_child + e->child_count; i++)
		if (own_cost(callers, i) >= chain_share * own_cost(callers, entry))
			*caller = i;
	return 0;
}

static int add_entry_row(struct sn_outline *outline, struct sn_callers *callers,
			 const struct candidate *candidate, uint32_t *tail, struct sn_error *error)
{
	struct sn_tree_value *values;
	uint32_t entry = candidate->item, metrics = callers->tree->metric_count;
	*tail = entry;
	if (sn_outline_add(outline, candidate->parent, &values) == SONDE_NONE)
		return sn_fail_memory(error);
	memcpy(values, sn_callers_values(callers, entry), metrics * sizeof(*values));
	sn_outline_derive(outline, NULL);
	/* A function stands alone on its row: its callers are the rows below. */
	bool is_chain = candidate->parent != SONDE_NONE && !outline->view->is_full;
	for (;;) {
		if (sn_outline_add_frame(outline, callers->entries[entry].frame, 1) != 0)
			return sn_fail_memory(error);
		*tail = entry;
		uint32_t caller = SONDE_NONE;
		int code = is_chain ? only_caller(callers, entry, &caller, error) : 0;
		if (code != 0 || caller == SONDE_NONE)
			return code;
		entry = caller;
	}
}

static int push_callers(struct queue *queue, struct sn_callers *callers, uint32_t entry,
			uint32_t row, uint32_t depth, double least, struct sn_error *error)
{
	int code = sn_callers_expand(callers, entry, error);
	const struct sn_callers_entry *e = &callers->entries[entry];
	for (uint32_t i = 0; code == 0 && i < e->child_count; i++) {
		double value = own_cost(callers, e->first_child + i);
		/* Callers interest less than functions: a screen shows first who, then from where.
		 */
		struct candidate next = {value * 0.5, e->first_child + i, row, depth};
		if (value > 0 && value >= least)
			code = queue_push(queue, next);
	}
	return code;
}

static int fill_bottom_up(struct sn_outline *outline, struct sn_callers *callers,
			  struct sn_error *error)
{
	const struct sn_view *view = outline->view;
	struct queue queue = {0};
	double least = view->min_share * outline->total;
	int code = 0;
	for (uint32_t i = 0; i < callers->function_count && code == 0; i++) {
		double value = own_cost(callers, i);
		if (value > 0 && value >= least)
			code = queue_push(&queue, (struct candidate){value, i, SONDE_NONE, 0});
	}
	while (code == 0 && queue.count > 0 &&
	       (view->limit == 0 || outline->row_count < view->limit)) {
		struct candidate next = queue_pop(&queue);
		uint32_t tail, row = outline->row_count;
		code = add_entry_row(outline, callers, &next, &tail, error);
		if (code == 0 && next.depth < view->max_depth)
			code =
			    push_callers(&queue, callers, tail, row, next.depth + 1, least, error);
	}
	free(queue.items);
	return code;
}

int sn_view_text_bottom_up(const struct sn_view *view, const struct sn_terminal *page,
			   struct sn_error *error)
{
	struct sn_tree tree;
	struct sn_callers callers;
	int code = sn_view_tree(view, SN_GROUP_INSTRUCTION, &tree, error);
	if (code != 0)
		return code;
	code = sn_callers_init(&callers, &tree, view->grouping, error);
	if (code == 0) {
		struct sn_outline outline;
		sn_outline_init(&outline, view);
		outline.total = sn_tree_inclusive(&tree, 0, 0);
		outline.joint = " < ";
		outline.shows_exclusive_share = true;
		bool has_any =
		    sn_text_header(view, page, outline.total, tree.values[0][0].inclusive.count);
		code = has_any ? fill_bottom_up(&outline, &callers, error) : SN_TEXT_NOTHING;
		if (code == 0)
			code = sn_outline_print(&outline, page, "function, and who calls it");
		if (code == 0 && !view->is_full)
			sn_text_footer(view, page, SONDE_NONE);
		sn_fail_code(error, code);
		sn_outline_release(&outline);
		sn_callers_release(&callers);
	}
	sn_tree_release(&tree);
	return code;
}
