/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as JSON and CSV: the rows of view.c with raw numbers. */
#include "view.h"

#include "show/csv.h"
#include "show/json.h"
#include "show/number.h"
#include "spread.h"

#include <math.h>
#include <string.h>

static const char *const view_names[] = {"top-down", "bottom-up", "flat", "threads"};

static const char *module_path(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	if (frame->module == SONDE_NONE)
		return NULL;
	return sonde_db_string(db, sonde_db_module(db, frame->module)->path);
}

static void write_key_string(struct sn_json *json, const char *key, const char *text)
{
	sn_json_key(json, key);
	sn_json_string(json, text);
}

static void write_key_number(struct sn_json *json, const char *key, double value)
{
	sn_json_key(json, key);
	sn_json_number(json, value);
}

static void write_stat(struct sn_json *json, const struct sonde_db_stat *stat)
{
	sn_json_begin(json, '{');
	sn_json_key(json, "count");
	sn_json_number(json, stat->count);
	sn_json_key(json, "sum");
	sn_json_number(json, stat->sum);
	sn_json_key(json, "min");
	sn_json_number(json, stat->min);
	sn_json_key(json, "max");
	sn_json_number(json, stat->max);
	sn_json_key(json, "mean");
	sn_json_number(json, sonde_db_stat_mean(stat));
	sn_json_key(json, "std");
	sn_json_number(json, sonde_db_stat_deviation(stat));
	sn_json_end(json, '}');
}

/* {"inclusive": 0.42, "exclusive": 0.4}; what is empty is not there. */
static void write_derived(struct sn_json *json, const struct sn_formula *formula,
			  const struct sn_derived *derived)
{
	if (isnan(derived->inclusive) && isnan(derived->exclusive))
		return;
	sn_json_key(json, formula->name);
	sn_json_begin(json, '{');
	if (!isnan(derived->inclusive))
		write_key_number(json, "inclusive", derived->inclusive);
	if (!isnan(derived->exclusive))
		write_key_number(json, "exclusive", derived->exclusive);
	sn_json_end(json, '}');
}

static void write_values(const struct sn_view *view, struct sn_json *json, const struct sn_row *row)
{
	const struct sn_tree_value *values = row->values;
	sn_json_key(json, "values");
	sn_json_begin(json, '{');
	for (uint32_t m = 0; m < view->metric_count; m++) {
		if (values[m].inclusive.count == 0 && values[m].exclusive.count == 0)
			continue;
		uint32_t name = sonde_db_metric(view->db, view->metrics[m])->name;
		sn_json_key(json, sonde_db_string(view->db, name));
		sn_json_begin(json, '{');
		sn_json_key(json, "inclusive");
		write_stat(json, &values[m].inclusive);
		sn_json_key(json, "exclusive");
		write_stat(json, &values[m].exclusive);
		sn_json_end(json, '}');
	}
	for (uint32_t f = 0; f < view->formula_count; f++)
		write_derived(json, view->formulas[f], &row->derived[f]);
	sn_json_end(json, '}');
}

static void write_frame(const struct sonde_db *db, struct sn_json *json, uint32_t id)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	write_key_string(json, "kind", sonde_frame_kind_name(frame->kind));
	write_key_string(json, "name", sonde_db_string(db, frame->name));
	write_key_string(json, "module", module_path(db, frame));
	write_key_string(json, "file",
			 frame->file == SONDE_NONE ? NULL : sonde_db_string(db, frame->file));
	sn_json_key(json, "line");
	if (frame->line)
		sn_json_number(json, frame->line);
	else
		sn_json_null(json);
}

static void write_profile(const struct sonde_db *db, struct sn_json *json, uint32_t id)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, id);
	char name[512];
	sn_view_profile_name(db, id, name, sizeof(name));
	write_key_string(json, "kind", sonde_profile_kind_name(profile->kind));
	write_key_string(json, "name", name);
	write_key_string(json, "module", sonde_db_string(db, profile->program));
	write_key_string(json, "file", NULL);
	sn_json_key(json, "line");
	sn_json_null(json);
	write_key_string(json, "host", sonde_db_string(db, profile->host));
	write_key_number(json, "rank", profile->rank);
	write_key_number(json, "pid", (double)profile->pid);
	write_key_number(json, "tid", (double)profile->tid);
	write_key_number(json, "samples", (double)profile->samples);
}

struct json_sink {
	struct sn_row_sink sink;
	const struct sn_view *view;
	struct sn_json json;
	struct sonde_db_stat across[SN_COLUMNS_MAX];
};

static int take_json(struct sn_row_sink *sink, const struct sn_row *row)
{
	struct json_sink *self = (struct json_sink *)sink;
	struct sn_json *json = &self->json;
	sn_json_begin(json, '{');
	write_key_number(json, "id", row->id);
	sn_json_key(json, "parent");
	if (row->parent == SONDE_NONE)
		sn_json_null(json);
	else
		sn_json_number(json, row->parent);
	write_key_number(json, "depth", row->depth);
	if (row->frame != SONDE_NONE)
		write_frame(self->view->db, json, row->frame);
	else
		write_profile(self->view->db, json, row->profile);
	write_values(self->view, json, row);
	sn_json_end(json, '}');
	putc_unlocked('\n', json->out);
	for (uint32_t m = 0; m < self->view->metric_count; m++) {
		double sum = row->values[m].inclusive.sum;
		struct sonde_db_stat one = {1, sum, sum, sum, sum * sum};
		sonde_db_stat_merge(&self->across[m], &one);
	}
	return ferror(json->out) ? SN_ERR_IO : 0;
}

static void write_across(struct json_sink *self)
{
	struct sn_json *json = &self->json;
	sn_json_key(json, "across");
	sn_json_begin(json, '{');
	for (uint32_t m = 0; m < self->view->metric_count; m++) {
		const struct sonde_db_stat *stat = &self->across[m];
		double mean = sonde_db_stat_mean(stat);
		uint32_t name = sonde_db_metric(self->view->db, self->view->metrics[m])->name;
		if (stat->count == 0)
			continue;
		sn_json_key(json, sonde_db_string(self->view->db, name));
		sn_json_begin(json, '{');
		write_key_number(json, "count", stat->count);
		write_key_number(json, "sum", stat->sum);
		write_key_number(json, "min", stat->min);
		write_key_number(json, "max", stat->max);
		write_key_number(json, "mean", mean);
		write_key_number(json, "std", sonde_db_stat_deviation(stat));
		write_key_number(json, "cv", mean > 0 ? sonde_db_stat_deviation(stat) / mean : 0);
		write_key_number(json, "imbalance", mean > 0 ? stat->max / mean - 1 : 0);
		sn_json_end(json, '}');
	}
	sn_json_end(json, '}');
}

int sn_view_json(const struct sn_view *view, FILE *out, struct sn_error *error)
{
	if (view->place)
		return sn_spread_json(view, out, error);
	struct json_sink self = {.sink = {take_json}, .view = view, .json = {.out = out}};
	struct sn_json *json = &self.json;
	sn_json_begin(json, '{');
	write_key_string(json, "view", view_names[view->kind]);
	sn_json_key(json, "metrics");
	sn_json_begin(json, '[');
	for (uint32_t m = 0; m < view->metric_count; m++) {
		const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metrics[m]);
		sn_json_begin(json, '{');
		write_key_string(json, "name", sonde_db_string(view->db, metric->name));
		write_key_string(json, "unit", sonde_db_string(view->db, metric->unit));
		sn_json_end(json, '}');
	}
	for (uint32_t f = 0; f < view->formula_count; f++) {
		sn_json_begin(json, '{');
		write_key_string(json, "name", view->formulas[f]->name);
		write_key_string(json, "unit", view->formulas[f]->unit);
		write_key_string(json, "formula", view->formulas[f]->text);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	sn_json_key(json, "rows");
	sn_json_begin(json, '[');
	putc_unlocked('\n', out);
	int code = sn_view_rows(view, &self.sink, error);
	sn_json_end(json, ']');
	if (view->kind == SN_VIEW_THREADS)
		write_across(&self);
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
		uint32_t name = sonde_db_metric(view->db, view->metrics[m])->name;
		for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
			sn_csv_head(out, sonde_db_string(view->db, name), columns[i]);
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
	sn_csv_text(out, module_path(db, frame));
	putc(',', out);
	sn_csv_text(out, sonde_db_string(db, frame->file));
	putc(',', out);
	if (frame->line)
		fprintf(out, "%u", frame->line);
}

static void write_derived_cell(FILE *out, double value)
{
	char text[SN_NUMBER_CHARS];
	fprintf(out, ",%s", isnan(value) ? "" : sn_number_exact(value, text));
}

static int take_csv(struct sn_row_sink *sink, const struct sn_row *row)
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
		const double cells[] = {value->inclusive.sum, value->exclusive.sum,
					value->inclusive.count, value->inclusive.min,
					value->inclusive.max};
		for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
			fprintf(self->out, ",%s", sn_number_exact(cells[i], text));
	}
	for (uint32_t f = 0; f < self->view->formula_count; f++) {
		write_derived_cell(self->out, row->derived[f].inclusive);
		write_derived_cell(self->out, row->derived[f].exclusive);
	}
	putc('\n', self->out);
	return ferror(self->out) ? SN_ERR_IO : 0;
}

int sn_view_csv(const struct sn_view *view, FILE *out, struct sn_error *error)
{
	if (view->place)
		return sn_spread_csv(view, out, error);
	struct csv_sink self = {{take_csv}, view, out};
	write_csv_head(view, out);
	return sn_view_rows(view, &self.sink, error);
}
