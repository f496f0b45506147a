/* SPDX-License-Identifier: Apache-2.0 */
/* One place over all profiles as JSON and CSV: raw numbers, a row for each profile that has any. */
#include "spread.h"

#include "show/csv.h"

#include <math.h>

static void put_place(struct sn_json *json, const struct sn_view *view)
{
	const struct sonde_db *db = view->db;
	uint32_t context = view->place->contexts[0];
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	char path[16384];
	sn_place_path(db, context, 0, path, sizeof(path));
	sn_json_open(json, "context", '{');
	sn_json_put_number(json, "id", context);
	sn_json_texts(json, {"kind", sonde_frame_kind_name(frame->kind)},
		      {"name", sonde_db_string(db, frame->name)}, {"path", path});
	sn_json_open(json, "contexts", '[');
	for (uint32_t i = 0; i < view->place->count; i++)
		sn_json_number(json, view->place->contexts[i]);
	sn_json_end(json, ']');
	sn_json_end(json, '}');
}

static void put_statistics(struct sn_json *json, const struct sn_spread *spread)
{
	sn_json_open(json, "across", '{');
	for (uint32_t m = 0; m < spread->view->metric_count; m++) {
		const struct sn_spread_summary *summary = &spread->metrics[m];
		if (summary->stat.count == 0)
			continue;
		sn_json_open(json, sn_view_metric_name(spread->view, m), '{');
		sn_view_json_across(json, &summary->stat);
		sn_json_numbers(json, {"min_profile", summary->least},
				{"max_profile", summary->most});
		sn_json_end(json, '}');
	}
	sn_json_end(json, '}');
}

static void put_findings(struct sn_json *json, const struct sn_spread *spread)
{
	static const char *const axes[] = {"none", "host", "rank", "process", "profile"};
	char words[SN_SPREAD_WORDS][SN_SPREAD_WORD_CHARS];
	uint32_t count = sn_spread_words(spread, words);
	sn_json_open(json, "findings", '[');
	for (uint32_t i = 0; i < count; i++)
		sn_json_string(json, words[i]);
	sn_json_end(json, ']');
	if (spread->count < 2)
		return;
	sn_json_open(json, "differs_by", '{');
	sn_json_put_text(json, "axis", axes[spread->cause.axis]);
	sn_json_numbers(json, {"explained", spread->cause.explained},
			{"profile", spread->cause.profile}, {"ratio", spread->cause.ratio});
	sn_json_end(json, '}');
}

static void put_who(struct sn_json *json, const struct sonde_db *db, uint32_t id)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, id);
	char name[512];
	sn_view_profile_name(db, id, name, sizeof(name));
	sn_json_put_number(json, "profile", id);
	sn_json_texts(json, {"kind", sonde_profile_kind_name(profile->kind)}, {"name", name},
		      {"host", sonde_db_string(db, profile->host)});
	sn_json_numbers(json, {"rank", profile->rank}, {"pid", profile->pid},
			{"tid", profile->tid});
	sn_json_put_id(json, "device", profile->device);
	sn_json_put_id(json, "stream", profile->stream);
}

static void put_row(struct sn_json *json, const struct sn_spread *spread, uint32_t i)
{
	const struct sn_view *view = spread->view;
	sn_json_begin(json, '{');
	put_who(json, view->db, spread->profiles[i]);
	sn_json_open(json, "values", '{');
	for (uint32_t m = 0; m < view->metric_count; m++) {
		const struct sn_tree_value *value =
		    &spread->values[(size_t)i * sn_view_columns(view) + m];
		if (value->inclusive.count == 0)
			continue;
		sn_json_open(json, sn_view_metric_name(view, m), '{');
		sn_view_json_value(json, value);
		sn_json_end(json, '}');
	}
	for (uint32_t f = 0; f < view->formula_count; f++) {
		double value = spread->derived[(size_t)i * view->formula_count + f].inclusive;
		if (!isnan(value))
			sn_json_put_number(json, view->formulas[f]->name, value);
	}
	sn_json_end(json, '}');
	sn_json_end(json, '}');
	putc_unlocked('\n', json->out);
}

int sn_spread_json(const struct sn_view *view, FILE *out, struct sn_error *error)
{
	struct sn_spread spread;
	struct sn_json json = {.out = out};
	int code = sn_spread_init(&spread, view, error);
	if (code)
		return code;
	sn_json_begin(&json, '{');
	sn_json_put_text(&json, "view", "threads");
	sn_json_put_text(&json, "values",
			 view->sort == SN_SORT_EXCLUSIVE ? "exclusive" : "inclusive");
	put_place(&json, view);
	sn_json_put_number(&json, "profiles", sonde_db_profile_count(view->db));
	put_statistics(&json, &spread);
	put_findings(&json, &spread);
	sn_json_open(&json, "rows", '[');
	putc_unlocked('\n', out);
	for (uint32_t i = 0; i < spread.count && !ferror(out); i++)
		put_row(&json, &spread, i);
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	putc_unlocked('\n', out);
	sn_spread_release(&spread);
	return 0;
}

static void write_csv_row(const struct sn_spread *spread, uint32_t i, FILE *out)
{
	const struct sn_view *view = spread->view;
	const struct sonde_db_profile *profile = sonde_db_profile(view->db, spread->profiles[i]);
	char name[512];
	sn_view_profile_name(view->db, spread->profiles[i], name, sizeof(name));
	fprintf(out, "%u,%s", spread->profiles[i], sonde_profile_kind_name(profile->kind));
	putc(',', out);
	sn_csv_quoted(out, name);
	putc(',', out);
	sn_csv_quoted(out, sonde_db_string(view->db, profile->host));
	fprintf(out, ",%d,%llu,%llu", profile->rank, (unsigned long long)profile->pid,
		(unsigned long long)profile->tid);
	for (uint32_t m = 0; m < view->metric_count; m++) {
		const struct sn_tree_value *value =
		    &spread->values[(size_t)i * sn_view_columns(view) + m];
		const struct sonde_db_stat *stat = sn_value_counted(value);
		const double cells[] = {value->inclusive.sum, stat->count, stat->min, stat->max};
		for (size_t c = 0; c < sizeof(cells) / sizeof(*cells); c++)
			sn_view_csv_cell(out, value->inclusive.count > 0 ? cells[c] : (double)NAN);
	}
	for (uint32_t f = 0; f < view->formula_count; f++)
		sn_view_csv_cell(out,
				 spread->derived[(size_t)i * view->formula_count + f].inclusive);
	putc('\n', out);
}

int sn_spread_csv(const struct sn_view *view, FILE *out, struct sn_error *error)
{
	struct sn_spread spread;
	int code = sn_spread_init(&spread, view, error);
	if (code)
		return code;
	fputs("profile,kind,name,host,rank,pid,tid", out);
	for (uint32_t m = 0; m < view->metric_count; m++) {
		static const char *const columns[] = {"sum", "count", "min", "max"};
		for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++)
			sn_csv_head(out, sn_view_metric_name(view, m), columns[c]);
	}
	for (uint32_t f = 0; f < view->formula_count; f++) {
		putc(',', out);
		sn_csv_text(out, view->formulas[f]->name);
	}
	putc('\n', out);
	for (uint32_t i = 0; i < spread.count && !ferror(out); i++)
		write_csv_row(&spread, i, out);
	sn_spread_release(&spread);
	return 0;
}
