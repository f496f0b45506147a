/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as JSON and CSV: the rows of view.c with raw numbers. */
#include "view.h"

#include "computation.h"
#include "show/csv.h"
#include "show/label.h"
#include "show/number.h"
#include "rank_sums.h"
#include "spread.h"

#include <math.h>

static const char *const view_names[] = {"top-down", "bottom-up", "flat", "threads"};

void sn_view_json_across(struct sn_json *json, const struct sonde_db_stat *stat)
{
	double mean = sonde_db_stat_mean(stat);
	sn_json_put_stat(json, stat);
	sn_json_numbers(json, {"cv", mean > 0 ? sonde_db_stat_deviation(stat) / mean : 0},
			{"imbalance", mean > 0 ? stat->max / mean - 1 : 0});
}

void sn_view_json_value(struct sn_json *json, const struct sn_tree_value *value)
{
	const struct sonde_db_stat *counted = sn_value_counted(value);
	sn_json_numbers(json, {"count", counted->count}, {"sum", value->inclusive.sum});
	if (counted->count > 0)
		sn_json_numbers(json, {"min", counted->min}, {"max", counted->max},
				{"mean", sonde_db_stat_mean(counted)},
				{"std", sonde_db_stat_deviation(counted)});
}

/* {"inclusive": 0.42, "exclusive": 0.4}; what is empty is not there. */
static void write_derived(struct sn_json *json, const struct sn_formula *formula,
			  const struct sn_derived *derived)
{
	if (isnan(derived->inclusive) && isnan(derived->exclusive))
		return;
	sn_json_open(json, formula->name, '{');
	if (!isnan(derived->inclusive))
		sn_json_put_number(json, "inclusive", derived->inclusive);
	if (!isnan(derived->exclusive))
		sn_json_put_number(json, "exclusive", derived->exclusive);
	sn_json_end(json, '}');
}

static void write_values(const struct sn_view *view, struct sn_json *json, const struct sn_row *row)
{
	const struct sn_tree_value *values = row->values;
	sn_json_open(json, "values", '{');
	for (uint32_t m = 0; m < view->metric_count; m++) {
		if (values[m].inclusive.count == 0 && values[m].exclusive.count == 0)
			continue;
		sn_json_open(json, sn_view_metric_name(view, m), '{');
		sn_json_open(json, "inclusive", '{');
		sn_view_json_value(json, &values[m]);
		sn_json_end(json, '}');
		sn_json_open(json, "exclusive", '{');
		sn_json_put_stat(json, &values[m].exclusive);
		sn_json_end(json, '}');
		sn_json_end(json, '}');
	}
	for (uint32_t f = 0; f < view->formula_count; f++)
		write_derived(json, view->formulas[f], &row->derived[f]);
	sn_json_end(json, '}');
}

static void write_frame(const struct sonde_db *db, struct sn_json *json, uint32_t id)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *file = frame->file == SONDE_NONE ? NULL : sonde_db_string(db, frame->file);
	sn_json_texts(json, {"kind", sonde_frame_kind_name(frame->kind)},
		      {"name", sonde_db_string(db, frame->name)},
		      {"module", sn_label_module(db, frame)}, {"file", file});
	sn_json_put_known(json, "line", frame->line ? frame->line : (double)NAN);
}

/* Of a compiled computation, what the program wrote. */
static void write_operations(const struct sn_view *view, struct sn_json *json, uint32_t frame)
{
	struct sn_computation_part operations[SN_COMPUTATION_PARTS_MAX];
	uint32_t count = sn_computation_parts(view->graph, view->db, frame, operations);
	if (!count)
		return;
	sn_json_open(json, "operations", '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct sn_computation_part *operation = operations + i;
		sn_json_begin(json, '{');
		sn_json_texts(json, {"name", operation->name}, {"path", operation->path},
			      {"type", operation->type}, {"file", operation->file},
			      {"callers", operation->callers});
		sn_json_put_known(json, "line", operation->line ? operation->line : (double)NAN);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void write_profile(const struct sonde_db *db, struct sn_json *json, uint32_t id)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, id);
	char name[512];
	sn_view_profile_name(db, id, name, sizeof(name));
	sn_json_texts(json, {"kind", sonde_profile_kind_name(profile->kind)}, {"name", name},
		      {"module", sonde_db_string(db, profile->program)}, {"file", NULL});
	sn_json_put_known(json, "line", NAN);
	sn_json_put_text(json, "host", sonde_db_string(db, profile->host));
	sn_json_numbers(json, {"rank", profile->rank}, {"pid", profile->pid}, {"tid", profile->tid},
			{"samples", profile->samples});
}

struct json_sink {
	struct sn_row_sink sink;
	const struct sn_view *view;
	struct sn_json json;
	struct sn_rank_sums ranks; /* of the threads view */
};

static int add_json_row(struct sn_row_sink *sink, const struct sn_row *row)
{
	struct json_sink *self = (struct json_sink *)sink;
	struct sn_json *json = &self->json;
	sn_json_begin(json, '{');
	sn_json_put_number(json, "id", row->id);
	sn_json_put_id(json, "parent", row->parent);
	sn_json_put_number(json, "depth", row->depth);
	if (row->frame != SONDE_NONE) {
		write_frame(self->view->db, json, row->frame);
		write_operations(self->view, json, row->frame);
	} else
		write_profile(self->view->db, json, row->profile);
	write_values(self->view, json, row);
	sn_json_end(json, '}');
	putc_unlocked('\n', json->out);
	for (uint32_t m = 0; row->frame == SONDE_NONE && m < self->view->metric_count; m++)
		sn_rank_sums_add(&self->ranks, row->profile, m, &row->values[m].inclusive);
	return ferror(json->out) ? SN_ERR_IO : 0;
}

static void write_across(struct json_sink *self)
{
	struct sn_json *json = &self->json;
	sn_json_open(json, "across", '{');
	for (uint32_t m = 0; m < self->view->metric_count; m++) {
		struct sonde_db_stat across = sn_rank_sums_set(&self->ranks, m);
		if (across.count == 0)
			continue;
		sn_json_open(json, sn_view_metric_name(self->view, m), '{');
		sn_view_json_across(json, &across);
		sn_json_end(json, '}');
	}
	sn_json_end(json, '}');
}

int sn_view_json(const struct sn_view *view, FILE *out, struct sn_error *error)
{
	if (view->place)
		return sn_spread_json(view, out, error);
	struct json_sink self = {.sink = {add_json_row}, .view = view, .json = {.out = out}};
	struct sn_json *json = &self.json;
	int code = sn_rank_sums_init(&self.ranks, view->db, view->profiles, view->metric_count);
	if (code != 0) {
		sn_rank_sums_release(&self.ranks);
		return sn_fail_code(error, code);
	}
	sn_json_begin(json, '{');
	sn_json_put_text(json, "view", view_names[view->kind]);
	sn_json_open(json, "metrics", '[');
	for (uint32_t m = 0; m < view->metric_count; m++) {
		const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metrics[m]);
		sn_json_begin(json, '{');
		sn_json_texts(json, {"name", sonde_db_string(view->db, metric->name)},
			      {"unit", sonde_db_string(view->db, metric->unit)},
			      {"counts", sonde_db_metric_counts(view->db, view->metrics[m])});
		sn_json_end(json, '}');
	}
	for (uint32_t f = 0; f < view->formula_count; f++) {
		sn_json_begin(json, '{');
		sn_json_texts(json, {"name", view->formulas[f]->name},
			      {"unit", view->formulas[f]->unit},
			      {"formula", view->formulas[f]->text});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	sn_json_open(json, "rows", '[');
	putc_unlocked('\n', out);
	code = sn_view_rows(view, &self.sink, error);
	sn_json_end(json, ']');
	if (view->kind == SN_VIEW_THREADS) {
		sn_json_put_text(json, "across_what",
				 self.ranks.ranks.are_ranks ? "ranks" : "threads");
		write_across(&self);
	}
	sn_rank_sums_release(&self.ranks);
	sn_json_end(json, '}');
	putc_unlocked('\n', out);
	return code;
}

struct csv_sink {
	struct sn_row_sink sink;
	const struct sn_view *view;
	FILE *out;
};

static void write_csv_head(const struct sn_view *view, FILE *out)
{
	fputs("id,parent,depth,kind,name,module,file,line", out);
	for (uint32_t m = 0; m < view->metric_count; m++) {
		static const char *const columns[] = {"inclusive", "exclusive", "count", "min",
						      "max"};
		for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
			sn_csv_head(out, sn_view_metric_name(view, m), columns[i]);
	}
	for (uint32_t f = 0; f < view->formula_count; f++) {
		sn_csv_head(out, view->formulas[f]->name, "inclusive");
		sn_csv_head(out, view->formulas[f]->name, "exclusive");
	}
	putc('\n', out);
}

static void write_csv_who(struct csv_sink *self, const struct sn_row *row)
{
	const struct sonde_db *db = self->view->db;
	FILE *out = self->out;
	if (row->frame == SONDE_NONE) {
		char name[512];
		sn_view_profile_name(db, row->profile, name, sizeof(name));
		fprintf(out, "%s,",
			sonde_profile_kind_name(sonde_db_profile(db, row->profile)->kind));
		sn_csv_text(out, name);
		fputs(",,,", out);
		return;
	}
	const struct sonde_db_frame *frame = sonde_db_frame(db, row->frame);
	fprintf(out, "%s,", sonde_frame_kind_name(frame->kind));
	sn_csv_text(out, sonde_db_string(db, frame->name));
	putc(',', out);
	sn_csv_text(out, sn_label_module(db, frame));
	putc(',', out);
	sn_csv_text(out, sonde_db_string(db, frame->file));
	putc(',', out);
	if (frame->line)
		fprintf(out, "%u", frame->line);
}

void sn_view_csv_cell(FILE *out, double value)
{
	char text[SN_NUMBER_CHARS];
	fprintf(out, ",%s", isnan(value) ? "" : sn_number_exact(value, text));
}

static int add_csv_row(struct sn_row_sink *sink, const struct sn_row *row)
{
	struct csv_sink *self = (struct csv_sink *)sink;
	fprintf(self->out, "%u,", row->id);
	if (row->parent != SONDE_NONE)
		fprintf(self->out, "%u", row->parent);
	fprintf(self->out, ",%u,", row->depth);
	write_csv_who(self, row);
	for (uint32_t m = 0; m < self->view->metric_count; m++) {
		char text[SN_NUMBER_CHARS];
		const struct sn_tree_value *value = &row->values[m];
		const struct sonde_db_stat *counted = sn_value_counted(value);
		const double cells[] = {value->inclusive.sum, value->exclusive.sum, counted->count,
					counted->min, counted->max};
		for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
			fprintf(self->out, ",%s", sn_number_exact(cells[i], text));
	}
	for (uint32_t f = 0; f < self->view->formula_count; f++) {
		sn_view_csv_cell(self->out, row->derived[f].inclusive);
		sn_view_csv_cell(self->out, row->derived[f].exclusive);
	}
	putc('\n', self->out);
	return ferror(self->out) ? SN_ERR_IO : 0;
}

int sn_view_csv(const struct sn_view *view, FILE *out, struct sn_error *error)
{
	if (view->place)
		return sn_spread_csv(view, out, error);
	struct csv_sink self = {{add_csv_row}, view, out};
	write_csv_head(view, out);
	return sn_view_rows(view, &self.sink, error);
}
