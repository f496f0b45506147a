/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report: what to show of a database, and its forms. The command fills in a struct sn_view; all
 * functions write to the given stream.
 */
#pragma once

#include "lib/db/formula.h"
#include "flat.h"
#include "show/json.h"
#include "tree.h"

#include <stdio.h>

enum sn_view_kind { SN_VIEW_TOP_DOWN, SN_VIEW_BOTTOM_UP, SN_VIEW_FLAT, SN_VIEW_THREADS };
enum sn_view_sort {
	SN_SORT_DEFAULT, /* inclusive for top-down and threads, exclusive for the others */
	SN_SORT_INCLUSIVE,
	SN_SORT_EXCLUSIVE,
	SN_SORT_COUNT,
	SN_SORT_NAME,
};

/* The plot of a place over all profiles: in order, sorted, or as a histogram.
 */
enum sn_plot { SN_PLOT_ORDER, SN_PLOT_SORTED, SN_PLOT_HISTOGRAM, SN_PLOT_NONE };

struct sn_place;
struct sonde_graph;
struct sn_source_roots;

struct sn_view {
	const struct sonde_db *db;
	const char *path;		 /* of the database, as the user gave it */
	const struct sonde_graph *graph; /* what computations are made of; NULL: not known */
	enum sn_view_kind kind;
	enum sn_grouping grouping; /* of the rows; AUTO and so on, FLAT takes all of them */
	const char *by;		   /* the grouping's name, for headings */
	uint32_t metric_count;
	const uint32_t *metrics; /* the first decides shares and order */
	/* Metrics that only formulas need follow in `metrics`. */
	uint32_t hidden_count;
	const struct sn_formula *const *formulas; /* shown beside the metrics */
	uint32_t formula_count;
	uint32_t sort_formula; /* of formulas, plus 1: sorted by it; 0: by a metric */
	enum sn_view_sort sort;
	uint32_t sort_position; /* of the metric to sort by */
	const struct sn_query *const *where;
	size_t where_count;
	const bool *profiles;	 /* NULL: all */
	double min_share;	 /* 0 to 1, of the first metric; rows below are left out */
	bool min_share_is_given; /* else functions are never left out of the bottom-up view */
	uint32_t max_depth;	 /* SONDE_NONE: any */
	uint32_t limit;		 /* lines of a text report; 0: any */
	const struct sn_place
	    *place; /* threads: this one over all profiles (spread.h); NULL: all */
	enum sn_plot plot;
	struct sn_source_roots *sources; /* where source lines may be read; NULL: nowhere */
	bool is_full;			 /* text: nothing collapsed, names whole */
	bool is_bare;			 /* text: rows and their heads alone */
	bool collapse_recursion;	 /* top-down and bottom-up: see sn_tree_request */
	bool is_restricted;		 /* --where or --thread is in force */
};

/* The terminal of a text report. */
struct sn_terminal {
	FILE *out;
	int width;
	bool has_color;
	bool is_unicode;
};

int sn_view_text(const struct sn_view *view, const struct sn_terminal *page,
		 struct sn_error *error);
int sn_view_json(const struct sn_view *view, FILE *out, struct sn_error *error);
int sn_view_csv(const struct sn_view *view, FILE *out, struct sn_error *error);

/* The metrics to show if the user names none: CPU time or the best substitute, and the time on
 * devices. Writes at most `size` numbers and returns how many. */
uint32_t sn_view_default_metrics(const struct sonde_db *db, uint32_t *metrics, uint32_t size);

/* Only those of time on devices, the kernels' first; none if nothing ran on a device. */
uint32_t sn_view_device_metrics(const struct sonde_db *db, uint32_t *metrics, uint32_t size);

/* The share of a drop: lost samples of all samples, flawed call paths of the samples; negative for
 * other drops, whose whole is not known. */
double sn_view_drop_share(const struct sonde_db *db, const struct sonde_db_drop *drop);

/* Shared by the forms. */

/* Metrics shown and hidden: what rows have values of. */
static inline uint32_t sn_view_columns(const struct sn_view *view)
{
	return view->metric_count + view->hidden_count;
}

enum { SN_FORMULAS_SHOWN_MAX = 16, SN_COLUMNS_MAX = 512 };

/* A formula at a row; NaN: empty. */
struct sn_derived {
	double inclusive, exclusive;
};
/* All formulas at a row: derived[formula]. values[column]; across[column] is the profiles'
 * inclusive sums as sets, NULL where they are not known. */
void sn_view_derive(const struct sn_view *view, const struct sn_tree_value *values,
		    const struct sn_tree_sets *across, struct sn_derived *derived);

/* A row of any view as data. */
struct sn_row {
	uint32_t id, parent; /* parent: SONDE_NONE without one */
	uint32_t depth;
	uint32_t frame;		      /* SONDE_NONE in the threads view */
	uint32_t profile;	      /* SONDE_NONE in all others */
	struct sn_tree_value *values; /* [position] */
	struct sn_derived *derived;   /* [formula] */
};
struct sn_row_sink {
	int (*add)(struct sn_row_sink *sink, const struct sn_row *row);
};
/* Passes all rows to the sink, parents before children. */
int sn_view_rows(const struct sn_view *view, struct sn_row_sink *sink, struct sn_error *error);

/* The tree with the view's restrictions; top-down merges by the view's grouping, the others do not.
 * */
int sn_view_tree(const struct sn_view *view, enum sn_grouping grouping, struct sn_tree *tree,
		 struct sn_error *error);

/* The rows of a table of that tree, by the view's grouping, with the values that its formulas need.
 * */
int sn_view_flat(const struct sn_view *view, const struct sn_tree *tree, struct sn_flat *flat,
		 struct sn_error *error);
/* For sn_view_derive: how profiles differ at a row, NULL if no formula needs it. */
const struct sn_tree_sets *sn_view_flat_across(const struct sn_flat *flat, uint32_t row);

/* The key to sort by: greater keys first, empty ones last. Names are compared with
 * sn_view_compare_names. `derived` may be NULL without formulas. */
double sn_view_sort_key(const struct sn_view *view, const struct sn_tree_value *values,
			const struct sn_derived *derived);
int sn_view_compare_names(const struct sn_view *view, uint32_t frame_a, uint32_t frame_b);

/* The name of a metric that is shown, as the database has it. */
const char *sn_view_metric_name(const struct sn_view *view, uint32_t position);

/* Statistics as members of an open object; those of profiles include how much they differ, those of
 * a value are the inclusive sum and what is counted. */
void sn_view_json_value(struct sn_json *json, const struct sn_tree_value *value);
void sn_view_json_across(struct sn_json *json, const struct sonde_db_stat *stat);
/* A comma and a number; NAN: an empty cell. */
void sn_view_csv_cell(FILE *out, double value);

/* "python3 4711 worker", "rank 3 ...", "gpu 0 stream 7", "CPU 2": a profile's name; of several runs
 * "RUN: ...". */
void sn_view_profile_name(const struct sonde_db *db, uint32_t profile, char *text, size_t size);

int sn_view_text_top_down(const struct sn_view *view, const struct sn_terminal *page,
			  struct sn_error *error);
int sn_view_text_bottom_up(const struct sn_view *view, const struct sn_terminal *page,
			   struct sn_error *error);
