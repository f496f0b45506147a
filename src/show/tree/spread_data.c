/* SPDX-License-Identifier: Apache-2.0 */
/* One place over all profiles as JSON and CSV: raw numbers, a row for each profile that has any. */
#include "spread.h"

#include "show/csv.h"
#include "show/json.h"
#include "show/number.h"

#include <math.h>

static void put_string(struct sn_json *json, const char *key, const char *text)
{
	sn_json_key(json, key);
	sn_json_string(json, text);
}

static void put_number(struct sn_json *json, const char *key, double value)
{
	sn_json_key(json, key);
	sn_json_number(json, value);
}

static const char *metric_name(const struct sn_view *view, uint32_t position)
{
	return sonde_db_string(view->db, sonde_db_metric(view->db, view->metrics[position])->name);
}

static void put_place(struct sn_json *json, const struct sn_view *view)
{
	const struct sonde_db *db = view->db;
	uint32_t context = view->place->contexts[0];
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	char path[16384];
	sn_place_path(db, context, 0, path, sizeof(path));
	sn_json_key(json, "context");
	sn_json_begin(json, '{');
	put_number(json, "id", context);
	put_string(json, "kind", sonde_frame_kind_name(frame->kind));
	put_string(json, "name", sonde_db_string(db, frame->name));
	put_string(json, "path", path);
	sn_json_key(json, "contexts");
	sn_json_begin(json, '[');
	for (uint32_t i = 0; i < view->place->count; i++)
		sn_json_number(json, view->place->contexts[i]);
	sn_json_end(json, ']');
	sn_json_end(json, '}');
}

static void put_statistics(struct sn_json *json, const struct sn_spread *spread)
{
	sn_json_key(json, "across");
	sn_json_begin(json, '{');
	for (uint32_t m = 0; m < spread->view->metric_count; m++) {
		const struct sn_spread_summary *summary = &spread->metrics[m];
		if (summary->stat.count == 0)
			continue;
		sn_json_key(json, metric_name(spread->view, m));
		sn_json_begin(json, '{');
		put_number(json, "count", summary->stat.count);
		put_number(json, "sum", summary->stat.sum);
		put_number(json, "min", summary->stat.min);
		put_number(json, "max", summary->stat.max);
		put_number(json, "mean", summary->mean);
		put_number(json, "std", summary->deviation);
		put_number(json, "cv", summary->cv);
		put_number(json, "imbalance", summary->imbalance);
		put_number(json, "min_profile", summary->least);
		put_number(json, "max_profile", summary->most);
		sn_json_end(json, '}');
	}
	sn_json_end(json, '}');
}

static void put_findings(struct sn_json *json, const struct sn_spread *spread)
{
	static const char *const axes[] = {"none", "host", "rank", "process", "profile"};
	char words[SN_SPREAD_WORDS][SN_SPREAD_WORD_CHARS];
	uint32_t count = sn_spread_words(spread, words);
	sn_json_key(json, "findings");
	sn_json_begin(json, '[');
	for (uint32_t i = 0; i < count; i++)
		sn_json_string(json, words[i]);
	sn_json_end(json, ']');
	if (spread->count < 2)
		return;
	sn_json_key(json, "differs_by");
	sn_json_begin(json, '{');
	put_string(json, "axis", axes[spread->cause.axis]);
	put_number(json, "explained", spread->cause.explained);
	put_number(json, "profile", spread->cause.profile);
	put_number(json, "ratio", spread->cause.ratio);
	sn_json_end(json, '}');
}

/* SONDE_NONE stands for "not a device". */
static void put_id(struct sn_json *json, const char *key, uint32_t value)
{
	sn_json_key(json, key);
	if (value == SONDE_NONE)
		sn_json_null(json);
	else
		sn_json_number(json, value);
}

static void put_who(struct sn_json *json, const struct sonde_db *db, uint32_t id)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, id);
	char name[512];
	sn_view_profile_name(db, id, name, sizeof(name));
	put_number(json, "profile", id);
	put_string(json, "kind", sonde_profile_kind_name(profile->kind));
	put_string(json, "name", name);
	put_string(json, "host", sonde_db_string(db, profile->host));
	put_number(json, "rank", profile->rank);
	put_number(json, "pid", (double)profile->pid);
	put_number(json, "tid", (double)profile->tid);
	put_id(json, "device", profile->device);
	put_id(json, "stream", profile->stream);
}

static void put_row(struct sn_json *json, const struct sn_spread *spread, uint32_t i)
{
	const struct sn_view *view = spread->view;
	sn_json_begin(json, '{');
	put_who(json, view->db, spread->profiles[i]);
	sn_json_key(json, "values");
	sn_json_begin(json, '{');
	for (uint32_t m = 0; m < view->metric_count; m++) {
		const struct sonde_db_stat *stat =
		    &spread->values[(size_t)i * sn_view_columns(view) + m].inclusive;
		if (stat->count == 0)
			continue;
		sn_json_key(json, metric_name(view, m));
		sn_json_begin(json, '{');
		put_number(json, "count", stat->count);
		put_number(json, "sum", stat->sum);
		put_number(json, "min", stat->min);
		put_number(json, "max", stat->max);
		put_number(json, "mean", sonde_db_stat_mean(stat));
		put_number(json, "std", sonde_db_stat_deviation(stat));
		sn_json_end(json, '}');
	}
	for (uint32_t f = 0; f < view->formula_count; f++) {
		double value = spread->derived[(size_t)i * view->formula_count + f].inclusive;
		if (!isnan(value))
			put_number(json, view->formulas[f]->name, value);
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
	put_string(&json, "view", "threads");
	put_string(&json, "values", view->sort == SN_SORT_EXCLUSIVE ? "exclusive" : "inclusive");
	put_place(&json, view);
	put_number(&json, "profiles", sonde_db_profile_count(view->db));
	put_statistics(&json, &spread);
	put_findings(&json, &spread);
	sn_json_key(&json, "rows");
	sn_json_begin(&json, '[');
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
	char name[512], text[SN_NUMBER_CHARS];
	sn_view_profile_name(view->db, spread->profiles[i], name, sizeof(name));
	fprintf(out, "%u,%s", spread->profiles[i], sonde_profile_kind_name(profile->kind));
	putc(',', out);
	sn_csv_quoted(out, name);
	putc(',', out);
	sn_csv_quoted(out, sonde_db_string(view->db, profile->host));
	fprintf(out, ",%d,%llu,%llu", profile->rank, (unsigned long long)profile->pid,
		(unsigned long long)profile->tid);
	for (uint32_t m = 0; m < view->metric_count; m++) {
		const struct sonde_db_stat *stat =
		    &spread->values[(size_t)i * sn_view_columns(view) + m].inclusive;
		const double cells[] = {stat->sum, stat->count, stat->min, stat->max};
		for (size_t c = 0; c < sizeof(cells) / sizeof(*cells); c++)
			fprintf(out, ",%s", stat->count > 0 ? sn_number_exact(cells[c], text) : "");
	}
	for (uint32_t f = 0; f < view->formula_count; f++) {
		double value = spread->derived[(size_t)i * view->formula_count + f].inclusive;
		fprintf(out, ",%s", isnan(value) ? "" : sn_number_exact(value, text));
	}
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
			sn_csv_head(out, metric_name(view, m), columns[c]);
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
