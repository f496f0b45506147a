/* SPDX-License-Identifier: Apache-2.0 */
/* What all forms of a report share, and its rows as data; see view.h. */
#include "view.h"

#include "across.h"
#include "base/sort.h"
#include "base/vec.h"
#include "callers.h"
#include "flat.h"
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

/* How telling a metric of time on devices is: 0 is none. Time in the host's API calls is none. */
static int device_rank(const struct sonde_db *db, uint32_t metric)
{
	static const char *const words[] = {"copy", "device", "gpu", "kernel"};
	const struct sonde_db_metric *m = sonde_db_metric(db, metric);
	const char *name = sonde_db_string(db, m->name);
	if (m->kind != SN_METRIC_TIME || metric_total(db, metric) <= 0 || strstr(name, "api"))
		return 0;
	for (int i = sizeof(words) / sizeof(*words); i-- > 0;)
		if (strstr(name, words[i]))
			return i + 1;
	return 0;
}

/* The metrics of time on devices, the most telling first. */
static uint32_t add_device_times(const struct sonde_db *db, uint32_t *metrics, uint32_t used,
				 uint32_t size)
{
	enum { MOST = 2, HIGHEST_RANK = 4 };
	uint32_t most = used + MOST < size ? used + MOST : size;
	for (int rank = HIGHEST_RANK; rank > 0; rank--)
		for (uint32_t i = 0; i < sonde_db_metric_count(db) && used < most; i++)
			if (device_rank(db, i) == rank && (used == 0 || i != metrics[0]))
				metrics[used++] = i;
	return used;
}

static uint32_t greatest_of_kind(const struct sonde_db *db, bool wants_time)
{
	uint32_t best = SONDE_NONE, count = sonde_db_metric_count(db);
	for (uint32_t i = 0; i < count; i++) {
		if (wants_time && sonde_db_metric(db, i)->kind != SN_METRIC_TIME)
			continue;
		if (best == SONDE_NONE || metric_total(db, i) > metric_total(db, best))
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
		    const struct sonde_db_stat *across, struct sn_derived *derived)
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
			place.across[i] = across ? &across[column] : NULL;
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
		return value->inclusive.count;
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
	for (uint32_t f = 0; f < view->formula_count; f++)
		needs_across |= view->formulas[f]->needs_across;
	struct sn_tree_request request = {
	    .grouping = grouping,
	    .metrics = view->metrics,
	    .metric_count = sn_view_columns(view),
	    .needs_across = needs_across && view->kind == SN_VIEW_TOP_DOWN,
	    .where = view->where,
	    .where_count = view->where_count,
	    .profiles = view->profiles,
	    /* who calls a function is a question about functions */
	    .fold_loops = view->kind == SN_VIEW_BOTTOM_UP,
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

const struct sonde_db_stat *sn_view_flat_across(const struct sn_flat *flat, uint32_t row)
{
	return flat->across ? &flat->across[(size_t)row * flat->metric_count] : NULL;
}

static double total_of(const struct sn_view *view, const struct sn_tree *tree)
{
	return view->metric_count ? sn_tree_inclusive(tree, 0, 0) : 0;
}

/* Collects one node's values from the tree's columns. */
static void gather(const struct sn_tree *tree, uint32_t node, struct sn_tree_value *values)
{
	for (uint32_t m = 0; m < tree->metric_count; m++)
		values[m] = tree->values[m][node];
}

/* Where the rows are made: one of each is enough, sinks copy what they keep. */
struct room {
	struct sn_tree_value *values; /* [column] */
	struct sn_derived *derived;   /* [formula] */
};

static int rows_top_down(const struct sn_view *view, const struct sn_tree *tree,
			 struct sn_row_sink *sink, const struct room *room)
{
	double least = view->min_share * total_of(view, tree);
	int code = 0;
	for (uint32_t node = 0; node < tree->node_count && code == 0;) {
		const struct sn_tree_node *n = &tree->nodes[node];
		if (n->depth > view->max_depth ||
		    (view->min_share > 0 && sn_tree_inclusive(tree, 0, node) < least)) {
			node = n->end;
			continue;
		}
		gather(tree, node, room->values);
		sn_view_derive(view, room->values,
			       tree->across ? &tree->across[(size_t)node * tree->metric_count]
					    : NULL,
			       room->derived);
		struct sn_row row = {node,	   node ? n->parent : SONDE_NONE,
				     n->depth,	   n->frame,
				     SONDE_NONE,   room->values,
				     room->derived};
		code = sink->add(sink, &row);
		node++;
	}
	return code;
}

/* Rows of a table and bottom-up entries with what they are sorted by. */
struct keyed {
	double key;
	uint32_t index;
};

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;
	return sn_order_then(SN_ORDER(b->key, a->key), SN_ORDER(a->index, b->index));
}

static int rows_flat(const struct sn_view *view, const struct sn_tree *tree,
		     struct sn_row_sink *sink, const struct room *room, struct sn_error *error)
{
	struct sn_tree_value *values = room->values;
	struct sn_flat flat;
	int code = sn_view_flat(view, tree, &flat, error);
	if (code != 0)
		return code;
	struct keyed *order = sn_arena_array(&flat.arena, struct keyed, flat.row_count);
	if (!order)
		code = sn_fail_memory(error);
	for (uint32_t i = 0; code == 0 && i < flat.row_count; i++) {
		sn_flat_row(&flat, i, values);
		sn_view_derive(view, values, sn_view_flat_across(&flat, i), room->derived);
		order[i] = (struct keyed){
		    view->metric_count ? sn_view_sort_key(view, values, room->derived) : 0, i};
	}
	if (code == 0)
		qsort(order, flat.row_count, sizeof(*order), compare_keyed);
	double least = view->min_share * total_of(view, tree);
	uint32_t id = 0;
	for (uint32_t i = 0; code == 0 && i < flat.row_count; i++) {
		uint32_t at = order[i].index;
		sn_flat_row(&flat, at, values);
		if (view->min_share > 0 && values[0].inclusive.sum < least)
			continue;
		sn_view_derive(view, values, sn_view_flat_across(&flat, at), room->derived);
		struct sn_row row = {id++,   SONDE_NONE,   0, flat.frames[at], SONDE_NONE,
				     values, room->derived};
		code = sink->add(sink, &row);
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

struct bottom_up {
	const struct sn_view *view;
	struct sn_callers callers;
	struct sn_row_sink *sink;
	struct sn_derived *derived; /* [formula] */
	double least;
	uint32_t next_id;
	/* From the functions to where the walk is: recursions are deeper than a stack of calls. */
	struct siblings *path;
	size_t path_count, path_capacity;
};

static int enter(struct bottom_up *walk, uint32_t first, uint32_t count, uint32_t parent)
{
	struct sn_callers *callers = &walk->callers;
	struct keyed *order = malloc((count + 1) * sizeof(*order));
	uint32_t metrics = callers->tree->metric_count;
	if (!order || sn_vec_reserve(&walk->path, &walk->path_capacity, walk->path_count + 1) < 0) {
		free(order);
		return SN_ERR_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct sn_tree_value *values =
		    &callers->values[(first + i) * (size_t)metrics];
		sn_view_derive(walk->view, values, NULL, walk->derived);
		order[i] = (struct keyed){
		    metrics ? sn_view_sort_key(walk->view, values, walk->derived) : 0, first + i};
	}
	qsort(order, count, sizeof(*order), compare_keyed);
	walk->path[walk->path_count++] = (struct siblings){order, count, 0, parent};
	return 0;
}

/* One entry's row, and where it is not the last of its path, into its callers. */
static int row_of_entry(struct bottom_up *walk, uint32_t entry, uint32_t parent,
			struct sn_error *error)
{
	struct sn_callers *callers = &walk->callers;
	uint32_t metrics = callers->tree->metric_count, depth = callers->entries[entry].depth;
	struct sn_tree_value *values = &callers->values[entry * (size_t)metrics];
	bool is_small = metrics && values[0].exclusive.sum < walk->least &&
			(depth > 0 || walk->view->min_share_is_given);
	if (metrics == 0 || is_small || values[0].exclusive.count == 0)
		return 0;
	uint32_t id = walk->next_id++;
	sn_view_derive(walk->view, values, NULL, walk->derived);
	struct sn_row row = {id,	 parent, depth,	       callers->entries[entry].frame,
			     SONDE_NONE, values, walk->derived};
	int code = walk->sink->add(walk->sink, &row);
	if (code != 0 || depth >= walk->view->max_depth)
		return code;
	code = sn_callers_expand(callers, entry, error);
	if (code == 0 && enter(walk, callers->entries[entry].first_child,
			       callers->entries[entry].child_count, id) != 0)
		code = sn_fail_memory(error);
	return code;
}

static int rows_of_entries(struct bottom_up *walk, struct sn_error *error)
{
	int code = 0;
	if (enter(walk, 0, walk->callers.function_count, SONDE_NONE) != 0)
		code = sn_fail_memory(error);
	while (walk->path_count > 0) {
		struct siblings *siblings = &walk->path[walk->path_count - 1];
		if (code == 0 && siblings->next < siblings->count) {
			uint32_t entry = siblings->order[siblings->next++].index;
			code = row_of_entry(walk, entry, siblings->parent, error);
		} else {
			free(siblings->order);
			walk->path_count--;
		}
	}
	free(walk->path);
	return code;
}

static int rows_bottom_up(const struct sn_view *view, const struct sn_tree *tree,
			  struct sn_row_sink *sink, const struct room *room, struct sn_error *error)
{
	struct bottom_up walk = {.view = view,
				 .sink = sink,
				 .derived = room->derived,
				 .least = view->min_share * total_of(view, tree)};
	int code = sn_callers_init(&walk.callers, tree, view->grouping, error);
	if (code != 0)
		return code;
	code = rows_of_entries(&walk, error);
	sn_callers_release(&walk.callers);
	return code;
}

void sn_view_profile_value(const struct sn_view *view, const bool *keep, uint32_t profile,
			   uint32_t metric, struct sonde_db_stat *stat)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(view->db, profile, metric);
	*stat = (struct sonde_db_stat){0};
	for (size_t i = 0; i < plane.count; i++) {
		struct sonde_db_stat one;
		if (keep && !keep[plane.ids[i]])
			continue;
		sonde_db_plane_stat(&plane, i, &one);
		sonde_db_stat_merge(stat, &one);
	}
}

static int rows_threads(const struct sn_view *view, struct sn_row_sink *sink,
			const struct room *room, struct sn_error *error)
{
	struct sn_tree_value *values = room->values;
	struct sonde_db_stat across[SN_COLUMNS_MAX]; /* this profile alone */
	uint32_t count = sonde_db_profile_count(view->db);
	bool *keep;
	int code = sn_query_select(view->where, view->where_count, view->db, &keep, error);
	for (uint32_t p = 0; p < count && code == 0; p++) {
		if (view->profiles && !view->profiles[p])
			continue;
		for (uint32_t m = 0; m < sn_view_columns(view); m++) {
			sn_view_profile_value(view, keep, p, view->metrics[m],
					      &values[m].inclusive);
			values[m].exclusive = values[m].inclusive;
			double sum = values[m].inclusive.sum;
			across[m] = (struct sonde_db_stat){0};
			if (values[m].inclusive.count > 0)
				across[m] = sn_stat_of(sum);
		}
		sn_view_derive(view, values, across, room->derived);
		struct sn_row row = {p, SONDE_NONE, 0, SONDE_NONE, p, values, room->derived};
		code = sink->add(sink, &row);
	}
	free(keep);
	return code;
}

int sn_view_rows(const struct sn_view *view, struct sn_row_sink *sink, struct sn_error *error)
{
	struct room room = {calloc(sn_view_columns(view) + 1, sizeof(*room.values)),
			    calloc(view->formula_count + 1, sizeof(*room.derived))};
	struct sn_tree tree = {0};
	int code = 0;
	bool merges = view->kind == SN_VIEW_TOP_DOWN;
	if (!room.values || !room.derived)
		code = sn_fail_memory(error);
	else if (view->kind == SN_VIEW_THREADS)
		code = rows_threads(view, sink, &room, error);
	else
		code = sn_view_tree(view, merges ? view->grouping : SN_GROUP_INSTRUCTION, &tree,
				    error);
	if (code == 0 && view->kind == SN_VIEW_TOP_DOWN)
		code = rows_top_down(view, &tree, sink, &room);
	else if (code == 0 && view->kind == SN_VIEW_FLAT)
		code = rows_flat(view, &tree, sink, &room, error);
	else if (code == 0 && view->kind == SN_VIEW_BOTTOM_UP)
		code = rows_bottom_up(view, &tree, sink, &room, error);
	sn_tree_release(&tree);
	free(room.values);
	free(room.derived);
	return code;
}
