/* SPDX-License-Identifier: Apache-2.0 */
/* A causal analysis in words and tables; see causal_answer.h. */
#include "causal_answer.h"

#include "show/number.h"

#include <math.h>
#include <string.h>

/* Causes that the first sentence names. */
#define NAMED 3

static const char *name_of(const struct sn_causal *causal, uint32_t variable)
{
	return causal->table->columns[causal->prepared.columns[variable]].name;
}

/* ---- sentences ---- */

/* 1 or -1; 0 where there is no effect, or its interval holds 0. */
static int sign_of(const struct sn_effect *effect)
{
	return effect->low > 0 ? 1 : effect->high < 0 ? -1 : 0;
}

static void say_cause(const struct sn_causal *causal, const struct sn_target_cause *total,
		      bool is_first, struct sn_page *page)
{
	static const char *const more[] = {"; more of it is less", "", "; more of it is more"};
	sn_page_sentence(page, "%s%s%s%s explains %s of its variance%s (in %s of %u samples).",
			 is_first ? name_of(causal, causal->target) : "",
			 is_first ? " depends most on " : "Then ", name_of(causal, total->from),
			 is_first ? ", which" : "", sn_number_part(total->effect.share, 1).text,
			 more[1 + sign_of(&total->effect)],
			 sn_number_part(total->frequency, 1).text, causal->samples);
}

static void say_target(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_discovery *found = &causal->found;
	if (causal->target == UINT32_MAX)
		return;
	if (!found->total_count)
		sn_page_sentence(
		    page,
		    "Nothing found: no column is a cause of %s in half of %u samples of the rows.",
		    name_of(causal, causal->target), causal->samples);
	for (uint32_t number = 0; number < found->total_count && number < NAMED; number++)
		say_cause(causal, &found->totals[number], !number, page);
}

static void say_edges(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_discovery *found = &causal->found;
	uint32_t open = 0;
	for (uint32_t number = 0; number < found->edge_count; number++)
		open += !found->edges[number].is_directed;
	if (!found->edge_count)
		sn_page_sentence(
		    page, "No two of the %u columns depend on each other as far as %zu rows tell.",
		    causal->prepared.count, causal->prepared.rows);
	else if (open)
		sn_page_sentence(page, "Of %u edges the rows do not tell the direction of %u.",
				 found->edge_count, open);
}

static void say_left_out(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_prepared *prepared = &causal->prepared;
	uint32_t same = 0, screened = prepared->candidates - prepared->count;
	for (uint32_t number = 0; number < prepared->left_count; number++)
		same += prepared->left[number].why == SN_LEFT_SAME;
	if (prepared->left_count > screened)
		sn_page_sentence(page,
				 "%u of %u columns are compared: %u say the same as another one, "
				 "%u say nothing.",
				 prepared->candidates, causal->table->column_count, same,
				 prepared->left_count - same - screened);
	if (screened)
		sn_page_sentence(page,
				 "%u of these %u columns are not in the graph: they say nothing of "
				 "%s beyond what the %u others say.",
				 screened, prepared->candidates, name_of(causal, causal->target),
				 prepared->count - 1);
	if (prepared->rows < causal->table->row_count)
		sn_page_sentence(page, "%zu of %zu rows are left out, as they lack a value.",
				 causal->table->row_count - prepared->rows,
				 causal->table->row_count);
}

/* ---- tables ---- */

static void add_interval(struct sn_sheet *sheet, const struct sn_effect *effect)
{
	sn_sheet_numbers(sheet, effect->value, effect->low, effect->high);
}

static void show_totals(const struct sn_causal *causal, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"share", "share", "ratio"},
						   {"effect", "effect", "1"},
						   {"low", "from", "1"},
						   {"high", "to", "1"},
						   {"frequency", "found in", "ratio"},
						   {"cause", "cause", ""}};
	const struct sn_discovery *found = &causal->found;
	if (causal->target == UINT32_MAX || !found->total_count)
		return;
	struct sn_sheet *sheet = sn_page_table(page, "causes", columns, "What %s depends on",
					       name_of(causal, causal->target));
	for (uint32_t number = 0; number < found->total_count; number++) {
		const struct sn_target_cause *total = &found->totals[number];
		sn_sheet_number(sheet, total->effect.share);
		add_interval(sheet, &total->effect);
		sn_sheet_number(sheet, total->frequency);
		sn_sheet_text(sheet, name_of(causal, total->from));
	}
	sn_sheet_note(sheet, "share: of the variance; effect: over all ways, in standard "
			     "deviations, with 95%% of the samples' ones.");
}

static void add_edge(const struct sn_causal *causal, struct sn_sheet *sheet,
		     const struct sn_causal_edge *edge)
{
	sn_sheet_numbers(sheet, edge->effect.share);
	add_interval(sheet, &edge->effect);
	sn_sheet_numbers(sheet, edge->frequency, edge->directed);
	sn_sheet_text(sheet, name_of(causal, edge->from));
	sn_sheet_text(sheet, edge->is_directed ? "->" : "--");
	sn_sheet_text(sheet, name_of(causal, edge->to));
}

/* Whether the target depends on a variable in at least half of the samples; all are of interest where there is no target. */
static bool leads_to_target(const struct sn_causal *causal, uint32_t variable)
{
	const struct sn_discovery *found = &causal->found;
	bool leads = causal->target == UINT32_MAX || causal->target == variable;
	for (uint32_t number = 0; !leads && number < found->total_count; number++)
		leads = found->totals[number].from == variable;
	return leads;
}

/* The target's own edges first. */
static void show_edges(const struct sn_causal *causal, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"share", "share", "ratio"},
						   {"effect", "effect", "1"},
						   {"low", "from", "1"},
						   {"high", "to", "1"},
						   {"frequency", "found in", "ratio"},
						   {"directed", "directed so", "ratio"},
						   {"from", "one", ""},
						   {"arrow", "", ""},
						   {"to", "other", ""}};
	const struct sn_discovery *found = &causal->found;
	uint32_t aside = 0;
	if (!found->edge_count)
		return;
	struct sn_sheet *sheet = sn_page_table(page, "graph", columns, "The graph: direct effects");
	for (uint32_t number = 0; number < found->edge_count; number++)
		if (found->edges[number].to == causal->target)
			add_edge(causal, sheet, &found->edges[number]);
	for (uint32_t number = 0; number < found->edge_count; number++) {
		const struct sn_causal_edge *edge = &found->edges[number];
		if (edge->to == causal->target)
			continue;
		if (leads_to_target(causal, edge->from) && leads_to_target(causal, edge->to))
			add_edge(causal, sheet, edge);
		else
			aside++;
	}
	if (aside)
		sn_sheet_note(sheet,
			      "%u edges are of columns that %s does not depend on: --format json.",
			      aside, name_of(causal, causal->target));
	sn_sheet_note(sheet,
		      "effect: of one standard deviation, the other direct causes held; found in: "
		      "part of %u samples of the rows, and of these samples in such a direction.",
		      causal->samples);
}

static void show_baselines(const struct sn_causal *causal, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"edges", "edges", "count"},
						   {"same_pairs", "same pairs", "count"},
						   {"same_directions", "same directions", "count"},
						   {"score", "score", "1"},
						   {"name", "graph", ""}};
	static const char *const names[SN_BASELINES] = {
	    "the one found", "no edges", "causes before effects by the columns' variances",
	    "causes before effects by how well all others predict a column"};
	struct sn_sheet *sheet =
	    sn_page_table(page, "baselines", columns, "Beside graphs that need no insight");
	for (unsigned number = 0; number < SN_BASELINES; number++) {
		const struct sn_baseline *baseline = &causal->baselines[number];
		sn_sheet_numbers(sheet, baseline->edges, baseline->same_pairs,
				 baseline->same_directions,
				 baseline->score - causal->baselines[1].score);
		sn_sheet_text(sheet, names[number]);
	}
	sn_sheet_note(
	    sheet,
	    "score: logarithm of the likelihood with its penalty, above that without edges.");
}

/* ---- columns that are not compared ---- */

static const char *why_left(enum sn_left_out why)
{
	static const char *const whys[] = {[SN_LEFT_CONSTANT] = "constant",
					   [SN_LEFT_SPARSE] = "sparse",
					   [SN_LEFT_DISTINCT] = "distinct",
					   [SN_LEFT_SAME] = "same",
					   [SN_LEFT_SCREENED] = "screened"};
	return whys[why];
}

static void show_left_out(const struct sn_causal *causal, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"column", "column", ""}, {"why", "why", ""}};
	static const char *const whys[] = {[SN_LEFT_CONSTANT] = "has one value",
					   [SN_LEFT_SPARSE] = "too many values are missing",
					   [SN_LEFT_DISTINCT] = "text that is of many rows each",
					   [SN_LEFT_SCREENED] =
					       "says nothing of the target beyond others"};
	const struct sn_prepared *prepared = &causal->prepared;
	if (!prepared->left_count)
		return;
	struct sn_sheet *sheet =
	    sn_page_table(page, "left_out", columns, "Columns that are not compared");
	for (uint32_t number = 0; number < prepared->left_count; number++) {
		const struct sn_left_column *left = &prepared->left[number];
		char why[256];
		if (left->why == SN_LEFT_SAME)
			snprintf(why, sizeof(why), "says the same as %s",
				 causal->table->columns[left->same_as].name);
		else
			snprintf(why, sizeof(why), "%s", whys[left->why]);
		sn_sheet_text(sheet, causal->table->columns[left->column].name);
		sn_sheet_text(sheet, why);
	}
}

void sn_causal_show(const struct sn_causal *causal, struct sn_page *page)
{
	say_target(causal, page);
	say_edges(causal, page);
	say_left_out(causal, page);
	show_totals(causal, page);
	show_edges(causal, page);
	show_baselines(causal, page);
	show_left_out(causal, page);
}

/* ---- JSON ---- */

static void put_effect(struct sn_json *json, const struct sn_effect *effect)
{
	sn_json_put_number(json, "sign", sign_of(effect));
	sn_json_put_known(json, "effect", effect->value);
	sn_json_put_known(json, "effect_low", effect->low);
	sn_json_put_known(json, "effect_high", effect->high);
	sn_json_put_known(json, "same_sign", effect->same_sign);
	sn_json_put_known(json, "share", effect->share);
}

static void put_ends(const struct sn_causal *causal, struct sn_json *json,
		     const struct sn_causal_edge *edge)
{
	sn_json_put_text(json, "from", name_of(causal, edge->from));
	sn_json_put_text(json, "to", name_of(causal, edge->to));
}

static void put_edges(const struct sn_causal *causal, struct sn_json *json)
{
	sn_json_open(json, "edges", '[');
	for (uint32_t number = 0; number < causal->found.edge_count; number++) {
		const struct sn_causal_edge *edge = &causal->found.edges[number];
		sn_json_begin(json, '{');
		put_ends(causal, json, edge);
		sn_json_put_bool(json, "directed", edge->is_directed);
		put_effect(json, &edge->effect);
		sn_json_numbers(json, {"frequency", edge->frequency},
				{"direction_frequency", edge->directed},
				{"reverse_frequency", edge->reversed});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_undetermined(const struct sn_causal *causal, struct sn_json *json,
			     const struct sn_causal_edge *edge, const char *what)
{
	sn_json_begin(json, '{');
	put_ends(causal, json, edge);
	sn_json_put_text(json, "undetermined", what);
	sn_json_put_number(json, "frequency", edge->frequency);
	sn_json_end(json, '}');
}

static void put_all_undetermined(const struct sn_causal *causal, struct sn_json *json)
{
	const struct sn_discovery *found = &causal->found;
	sn_json_open(json, "undetermined", '[');
	for (uint32_t number = 0; number < found->edge_count; number++)
		if (!found->edges[number].is_directed)
			put_undetermined(causal, json, &found->edges[number], "direction");
	for (uint32_t number = 0; number < found->doubtful_count; number++)
		put_undetermined(causal, json, &found->doubtful[number], "edge");
	sn_json_end(json, ']');
}

static void put_causes(const struct sn_causal *causal, struct sn_json *json)
{
	sn_json_open(json, "causes", '[');
	for (uint32_t number = 0; number < causal->found.total_count; number++) {
		const struct sn_target_cause *total = &causal->found.totals[number];
		sn_json_begin(json, '{');
		sn_json_put_text(json, "cause", name_of(causal, total->from));
		put_effect(json, &total->effect);
		sn_json_put_number(json, "frequency", total->frequency);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_baselines(const struct sn_causal *causal, struct sn_json *json)
{
	sn_json_open(json, "baselines", '{');
	for (unsigned number = 0; number < SN_BASELINES; number++) {
		const struct sn_baseline *baseline = &causal->baselines[number];
		sn_json_open(json, baseline->name, '{');
		sn_json_numbers(
		    json, {"edges", baseline->edges}, {"same_pairs", baseline->same_pairs},
		    {"same_directions", baseline->same_directions}, {"score", baseline->score});
		sn_json_end(json, '}');
	}
	sn_json_end(json, '}');
}

static void put_left_out(const struct sn_causal *causal, struct sn_json *json)
{
	sn_json_open(json, "left_out", '[');
	for (uint32_t number = 0; number < causal->prepared.left_count; number++) {
		const struct sn_left_column *left = &causal->prepared.left[number];
		sn_json_begin(json, '{');
		sn_json_put_text(json, "column", causal->table->columns[left->column].name);
		sn_json_put_text(json, "why", why_left(left->why));
		if (left->why == SN_LEFT_SAME) {
			sn_json_put_text(json, "same_as",
					 causal->table->columns[left->same_as].name);
			sn_json_put_known(json, "correlation", left->correlation);
		}
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

void sn_causal_json(const struct sn_causal *causal, struct sn_json *json)
{
	sn_json_open(json, "nodes", '[');
	for (uint32_t variable = 0; variable < causal->prepared.count; variable++)
		sn_json_string(json, name_of(causal, variable));
	sn_json_end(json, ']');
	put_edges(causal, json);
	put_all_undetermined(causal, json);
	put_baselines(causal, json);
	sn_json_put_text(json, "target",
			 causal->target == UINT32_MAX ? NULL : name_of(causal, causal->target));
	put_causes(causal, json);
	put_left_out(causal, json);
	sn_json_numbers(json, {"rows", (double)causal->prepared.rows},
			{"samples", causal->samples});
}
