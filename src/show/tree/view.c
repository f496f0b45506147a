/* SPDX-License-Identifier: Apache-2.0 */
/* What all forms of a report share, and its rows as data; see view.h. */
#include "view.h"

#include "across.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "callers.h"
#include "flat.h"
#include "format/database/statistics.h"
#include "format/measurement/measurement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double metric_total(const struct sonde_db *db, uint32_t metric)
{
	struct sonde_db_summary summary;
	sonde_db_summary(db, 0, metric, &summary);
	return summary.inclusive.sum;
}

/* The rank of a metric of time on devices, the most useful highest. 0: it is none, as time in the
 * host's API calls. */
static int device_rank(const struct sonde_db *db, uint32_t metric)
{
	static const char *const words[] = {"copy", "device", "gpu", "graph", "kernel"};
	const struct sonde_db_metric *m = sonde_db_metric(db, metric);
	const char *name = sonde_db_string(db, m->name);
	if (m->kind != SN_METRIC_TIME || metric_total(db, metric) <= 0 || strstr(name, "api"))
		return 0;
	for (int i = sizeof(words) / sizeof(*words); i-- > 0;)
		if (strstr(name, words[i]))
			return i + 1;
	return 0;
}

/* The metrics of time on devices, the highest rank first. */
static uint32_t add_device_times(const struct sonde_db *db, uint32_t *metrics, uint32_t used,
				 uint32_t size)
{
	enum { MOST = 2, HIGHEST_RANK = 5 };
	uint32_t most = used + MOST < size ? used + MOST : size;
	for (int rank = HIGHEST_RANK; rank > 0; rank--)
		for (uint32_t i = 0; i < sonde_db_metric_count(db) && used < most; i++)
			if (device_rank(db, i) == rank && (used == 0 || i != metrics[0]))
				metrics[used++] = i;
	return used;
}

/* Of a store of continuous profiling: most threads of a machine wait most of the time. */
static bool is_off_cpu(const struct sonde_db *db, uint32_t metric)
{
	return strcmp(sonde_db_string(db, sonde_db_metric(db, metric)->name), "off-cpu") == 0;
}

static uint32_t greatest_of_kind(const struct sonde_db *db, bool wants_time)
{
	uint32_t best = SONDE_NONE, count = sonde_db_metric_count(db);
	for (uint32_t i = 0; i < count; i++) {
		if (wants_time &&
		    (sonde_db_metric(db, i)->kind != SN_METRIC_TIME || is_off_cpu(db, i)))
			continue;
		if (best == SONDE_NONE || is_off_cpu(db, best) ||
		    (metric_total(db, i) > metric_total(db, best) && !is_off_cpu(db, i)))
			best = i;
	}
	return best;
}

static uint32_t main_metric(const struct sonde_db *db)
{
	/* ours, and what HPCToolkit and exports to it call them */
	static const char *const names[] = {"cpu-time", "CPUTIME (sec)", "real-time",
					    "REALTIME (sec)"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint32_t metric = sonde_db_metric_by_name(db, names[i]);
		if (metric != SONDE_NONE && metric_total(db, metric) > 0)
			return metric;
	}
	uint32_t best = SONDE_NONE;
	add_device_times(db, &best, 0, 1);
	if (best == SONDE_NONE)
		best = greatest_of_kind(db, true);
	return best == SONDE_NONE ? greatest_of_kind(db, false) : best;
}

uint32_t sn_view_default_metrics(const struct sonde_db *db, uint32_t *metrics, uint32_t size)
{
	if (sonde_db_metric_count(db) == 0 || size == 0)
		return 0;
	metrics[0] = main_metric(db);
	return add_device_times(db, metrics, 1, size);
}

uint32_t sn_view_device_metrics(const struct sonde_db *db, uint32_t *metrics, uint32_t size)
{
	return add_device_times(db, metrics, 0, size);
}

const char *sn_view_metric_name(const struct sn_view *view, uint32_t position)
{
	return sonde_db_string(view->db, sonde_db_metric(view->db, view->metrics[position])->name);
}

double sn_view_drop_share(const struct sonde_db *db, const struct sonde_db_drop *drop)
{
	static const char *const of_paths[] = {"unwind-", "python-", "path-"};
	const char *cause = sonde_db_string(db, drop->cause);
	double samples = 0, count = (double)drop->count;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++)
		samples += (double)sonde_db_profile(db, i)->samples;
	if (count > 0 && strncmp(cause, "sample-", 7) == 0)
		return count / (count + samples);
	for (size_t i = 0; i < sizeof(of_paths) / sizeof(*of_paths); i++)
		if (strncmp(cause, of_paths[i], strlen(of_paths[i])) == 0)
			return count == 0 ? 0 : count < samples ? count / samples : 1;
	return -1;
}

void sn_view_derive(const struct sn_view *view, const struct sn_tree_value *values,
		    const struct sn_tree_sets *across, struct sn_derived *derived)
{
	uint32_t columns = sn_view_columns(view);
	for (uint32_t f = 0; f < view->formula_count; f++) {
		const struct sn_formula *formula = view->formulas[f];
		struct sn_formula_place place = {0};
		for (uint32_t i = 0; i < formula->input_count; i++) {
			uint32_t column = 0;
			while (column < columns && view->metrics[column] != formula->inputs[i])
				column++;
			if (column == columns)
				continue;
			place.inclusive[i] = &values[column].inclusive;
			place.exclusive[i] = &values[column].exclusive;
			place.calls[i] = values[column].calls;
			place.across[i] = across ? &across[column].profiles : NULL;
			place.ranks[i] = across ? &across[column].ranks : NULL;
		}
		derived[f].inclusive = sn_formula_evaluate(formula, &place, false);
		derived[f].exclusive = sn_formula_evaluate(formula, &place, true);
	}
}

static bool sorts_exclusive(const struct sn_view *view)
{
	return view->sort == SN_SORT_EXCLUSIVE ||
	       (view->sort == SN_SORT_DEFAULT &&
		(view->kind == SN_VIEW_FLAT || view->kind == SN_VIEW_BOTTOM_UP));
}

double sn_view_sort_key(const struct sn_view *view, const struct sn_tree_value *values,
			const struct sn_derived *derived)
{
	if (view->sort_formula > 0 && derived) {
		const struct sn_derived *by = &derived[view->sort_formula - 1];
		double key = sorts_exclusive(view) ? by->exclusive : by->inclusive;
		return isnan(key) ? -INFINITY : key;
	}
	const struct sn_tree_value *value = &values[view->sort_position];
	if (view->sort == SN_SORT_COUNT)
		return sn_value_counted(value)->count;
	return sorts_exclusive(view) ? value->exclusive.sum : value->inclusive.sum;
}

int sn_view_compare_names(const struct sn_view *view, uint32_t frame_a, uint32_t frame_b)
{
	const struct sonde_db_frame *a = sonde_db_frame(view->db, frame_a);
	const struct sonde_db_frame *b = sonde_db_frame(view->db, frame_b);
	return sn_order_then(
	    strcmp(sonde_db_string(view->db, a->name), sonde_db_string(view->db, b->name)),
	    SN_ORDER(a->line, b->line));
}

int sn_view_tree(const struct sn_view *view, enum sn_grouping grouping, struct sn_tree *tree,
		 struct sn_error *error)
{
	bool needs_across = false;
	bool collapses = view->collapse_recursion &&
			 (view->kind == SN_VIEW_TOP_DOWN || view->kind == SN_VIEW_BOTTOM_UP);
	for (uint32_t f = 0; f < view->formula_count; f++)
		needs_across |= view->formulas[f]->needs_across;
	struct sn_tree_request request = {
	    .grouping = collapses ? view->grouping : grouping,
	    .collapse_recursion = collapses,
	    .metrics = view->metrics,
	    .metric_count = sn_view_columns(view),
	    .needs_across = needs_across && view->kind == SN_VIEW_TOP_DOWN,
	    .where = view->where,
	    .where_count = view->where_count,
	    .profiles = view->profiles,
	    /* callers are functions, not loops */
	    .fold_loops = view->kind == SN_VIEW_BOTTOM_UP,
	    .fold_lines = view->kind == SN_VIEW_BOTTOM_UP && view->grouping == SN_GROUP_FUNCTION,
	};
	return sn_tree_init(tree, view->db, &request, error);
}

int sn_view_flat(const struct sn_view *view, const struct sn_tree *tree, struct sn_flat *flat,
		 struct sn_error *error)
{
	bool needs_across = false, *keep = NULL;
	int code = sn_flat_init(flat, tree, view->grouping, error);
	for (uint32_t f = 0; f < view->formula_count; f++)
		needs_across |= view->formulas[f]->needs_across;
	if (code != 0 || !needs_across)
		return code;
	code = sn_query_select(view->where, view->where_count, view->db, &keep, error);
	if (code == 0)
		code = sn_across_compare(flat, tree, keep, view->profiles, error);
	free(keep);
	if (code != 0)
		sn_flat_release(flat);
	return code;
}

const struct sn_tree_sets *sn_view_flat_across(const struct sn_flat *flat, uint32_t row)
{
	return flat->across ? &flat->across[(size_t)row * flat->metric_count] : NULL;
}

/* Rows are passed on one at a time in the same memory; sinks copy what they keep. */
struct rows {
	const struct sn_view *view;
	struct sn_row_sink *sink;
	struct sn_tree tree;
	double least; /* of the first metric; what has less is left out */
	struct sn_arena arena;
	struct sn_tree_value *values; /* [column] */
	struct sn_derived *derived;   /* [formula] */
};

static int add_row(struct rows *rows, const struct sn_tree_sets *across, struct sn_row row)
{
	row.derived = rows->derived;
	sn_view_derive(rows->view, row.values, across, row.derived);
	return rows->sink->add(rows->sink, &row);
}

static int rows_top_down(struct rows *rows)
{
	const struct sn_tree *tree = &rows->tree;
	int code = 0;
	for (uint32_t node = 0; node < tree->node_count && code == 0;) {
		const struct sn_tree_node *n = &tree->nodes[node];
		if (n->depth > rows->view->max_depth ||
		    (rows->view->min_share > 0 && sn_tree_inclusive(tree, 0, node) < rows->least)) {
			node = n->end;
			continue;
		}
		for (uint32_t m = 0; m < tree->metric_count; m++)
			rows->values[m] = tree->values[m][node];
		code = add_row(
		    rows, tree->across ? &tree->across[(size_t)node * tree->metric_count] : NULL,
		    (struct sn_row){.id = node,
				    .parent = node ? n->parent : SONDE_NONE,
				    .depth = n->depth,
				    .frame = n->frame,
				    .profile = SONDE_NONE,
				    .values = rows->values});
		node++;
	}
	return code;
}

/* Rows of a table and bottom-up entries with what they are sorted by. */
struct keyed {
	double key;
	uint32_t index;
};

SN_SORT_BY(sort_keyed, struct keyed, const void *,
	   SN_ORDER(b->key, a->key) ?: SN_ORDER(a->index, b->index));

static double key_of(struct rows *rows, const struct sn_tree_value *values,
		     const struct sn_tree_sets *across)
{
	sn_view_derive(rows->view, values, across, rows->derived);
	return rows->view->metric_count ? sn_view_sort_key(rows->view, values, rows->derived) : 0;
}

static int rows_flat(struct rows *rows, struct sn_error *error)
{
	struct sn_flat flat;
	int code = sn_view_flat(rows->view, &rows->tree, &flat, error);
	if (code != 0)
		return code;
	struct keyed *order = sn_arena_array(&flat.arena, struct keyed, flat.row_count);
	for (uint32_t i = 0; order && i < flat.row_count; i++) {
		sn_flat_row(&flat, i, rows->values);
		order[i] =
		    (struct keyed){key_of(rows, rows->values, sn_view_flat_across(&flat, i)), i};
	}
	if (order)
		sort_keyed(order, flat.row_count, NULL);
	else
		code = sn_fail_memory(error);
	uint32_t id = 0;
	for (uint32_t i = 0; code == 0 && i < flat.row_count; i++) {
		uint32_t at = order[i].index;
		sn_flat_row(&flat, at, rows->values);
		if (rows->view->min_share > 0 && rows->values[0].inclusive.sum < rows->least)
			continue;
		code = add_row(rows, sn_view_flat_across(&flat, at),
			       (struct sn_row){.id = id++,
					       .parent = SONDE_NONE,
					       .frame = flat.frames[at],
					       .profile = SONDE_NONE,
					       .values = rows->values});
	}
	sn_flat_release(&flat);
	return code;
}

/* Entries of one parent, in their order, while they are gone through. */
struct siblings {
	struct keyed *order;
	uint32_t count, next;
	uint32_t parent; /* the row's id */
};

/* From the functions to where the walk is: recursions are deeper than a stack of calls. */
struct walk {
	struct rows *rows;
	struct sn_callers callers;
	uint32_t next_id;
	struct siblings *path;
	size_t path_count, path_capacity;
};

static int enter(struct walk *walk, uint32_t first, uint32_t count, uint32_t parent)
{
	struct siblings entered = {malloc((count + 1ull) * sizeof(*entered.order)), count, 0,
				   parent};
	if (!entered.order ||
	    sn_vec_push(&walk->path, &walk->path_capacity, &walk->path_count, entered) < 0) {
		free(entered.order);
		return SN_ERR_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		entered.order[i] = (struct keyed){
		    key_of(walk->rows, sn_callers_values(&walk->callers, first + i), NULL),
		    first + i};
	sort_keyed(entered.order, count, NULL);
	return 0;
}

/* One entry's row, and where it is not the last of its path, into its callers. */
static int row_of_entry(struct walk *walk, uint32_t number, uint32_t parent, struct sn_error *error)
{
	const struct sn_view *view = walk->rows->view;
	const struct sn_callers_entry *entry = &walk->callers.entries[number];
	uint32_t metrics = walk->callers.tree->metric_count, depth = entry->depth;
	struct sn_tree_value *values = &walk->callers.values[number * (size_t)metrics];
	if (metrics == 0 || values[0].exclusive.count == 0 ||
	    (values[0].exclusive.sum < walk->rows->least &&
	     (depth > 0 || view->min_share_is_given)))
		return 0;
	uint32_t id = walk->next_id++;
	int code = add_row(walk->rows, NULL,
			   (struct sn_row){.id = id,
					   .parent = parent,
					   .depth = depth,
					   .frame = entry->frame,
					   .profile = SONDE_NONE,
					   .values = values});
	if (code != 0 || depth >= view->max_depth)
		return code;
	code = sn_callers_expand(&walk->callers, number, error);
	entry = &walk->callers.entries[number];
	return code ? code : enter(walk, entry->first_child, entry->child_count, id);
}

static int rows_bottom_up(struct rows *rows, struct sn_error *error)
{
	struct walk walk = {.rows = rows};
	int code = sn_callers_init(&walk.callers, &rows->tree, rows->view->grouping, error);
	if (code != 0)
		return code;
	code = enter(&walk, 0, walk.callers.function_count, SONDE_NONE);
	while (walk.path_count > 0) {
		struct siblings *siblings = &walk.path[walk.path_count - 1];
		if (code == 0 && siblings->next < siblings->count) {
			uint32_t entry = siblings->order[siblings->next++].index;
			code = row_of_entry(&walk, entry, siblings->parent, error);
		} else {
			free(siblings->order);
			walk.path_count--;
		}
	}
	free(walk.path);
	sn_callers_release(&walk.callers);
	return code;
}

/* The value of a profile in one metric, of the contexts that are kept. */
static struct sonde_db_stat profile_value(const struct sonde_db *db, const bool *keep,
					  uint32_t profile, uint32_t metric)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(db, profile, metric);
	struct sonde_db_stat all = {0};
	for (size_t i = 0; i < plane.count; i++) {
		struct sonde_db_stat one;
		if (keep && !keep[plane.ids[i]])
			continue;
		sonde_db_plane_stat(&plane, i, &one);
		sonde_db_stat_merge(&all, &one);
	}
	return all;
}

static int rows_threads(struct rows *rows, struct sn_error *error)
{
	const struct sn_view *view = rows->view;
	struct sn_tree_sets across[SN_COLUMNS_MAX]; /* this profile alone */
	struct sonde_db_stat no_calls = {0};	    /* a thread is not called */
	bool *keep;
	int code = sn_query_select(view->where, view->where_count, view->db, &keep, error);
	for (uint32_t p = 0; p < sonde_db_profile_count(view->db) && code == 0; p++) {
		if (view->profiles && !view->profiles[p])
			continue;
		for (uint32_t m = 0; m < sn_view_columns(view); m++) {
			struct sonde_db_stat value =
			    profile_value(view->db, keep, p, view->metrics[m]);
			bool has_calls =
			    sonde_db_metric_calls(view->db, view->metrics[m]) != SONDE_NONE;
			rows->values[m] =
			    (struct sn_tree_value){value, value, has_calls ? &no_calls : NULL};
			across[m] = (struct sn_tree_sets){0};
			if (value.count > 0)
				across[m].profiles = across[m].ranks = sn_stat_of(value.sum);
		}
		code = add_row(rows, across,
			       (struct sn_row){.id = p,
					       .parent = SONDE_NONE,
					       .frame = SONDE_NONE,
					       .profile = p,
					       .values = rows->values});
	}
	free(keep);
	return code;
}

int sn_view_rows(const struct sn_view *view, struct sn_row_sink *sink, struct sn_error *error)
{
	struct rows rows = {.view = view, .sink = sink};
	bool merges = view->kind == SN_VIEW_TOP_DOWN, is_tree = view->kind != SN_VIEW_THREADS;
	rows.values = sn_arena_array(&rows.arena, struct sn_tree_value, sn_view_columns(view));
	rows.derived = sn_arena_array(&rows.arena, struct sn_derived, view->formula_count);
	int code = rows.arena.failed ? SN_ERR_MEMORY : 0;
	if (code == 0 && is_tree)
		code = sn_view_tree(view, merges ? view->grouping : SN_GROUP_INSTRUCTION,
				    &rows.tree, error);
	if (code == 0 && is_tree && view->metric_count)
		rows.least = view->min_share * sn_tree_inclusive(&rows.tree, 0, 0);
	if (code == 0)
		code = view->kind == SN_VIEW_TOP_DOWN ? rows_top_down(&rows)
		       : view->kind == SN_VIEW_FLAT   ? rows_flat(&rows, error)
		       : is_tree		      ? rows_bottom_up(&rows, error)
						      : rows_threads(&rows, error);
	sn_tree_release(&rows.tree);
	sn_arena_release(&rows.arena);
	return sn_fail_code(error, code);
}
