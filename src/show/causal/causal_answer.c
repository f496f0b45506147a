/* SPDX-License-Identifier: Apache-2.0 */
/* A causal analysis in words and tables; see causal_answer.h. */
#include "causal_answer.h"

#include "base/buffer.h"
#include "causal_words.h"
#include "show/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scores that differ by less, as a part of them, are one: sums in another order. */
#define SCORE_NEARLY 1e-9

/* Causes that the first sentence names. */
#define NAMED 3

/* ---- sentences ---- */

/* By most of what it explains. Nothing where it neither turns nor rises nor falls, as of a cause that is text. */
static const char *way_of(const struct sn_effect *effect)
{
	static const char *const ways[] = {"; more of it is less", "", "; more of it is more"};
	if (fabs(effect->turning) > effect->share / 2)
		return effect->turning < 0 ? "; it is most in the middle of that"
					   : "; it is least in the middle of that";
	return ways[1 + sn_causal_sign(effect)];
}

static void say_cause(const struct sn_causal *causal, const struct sn_target_cause *total,
		      bool is_first, struct sn_page *page)
{
	sn_page_sentence(page, "%s%s%s%s explains %s of its variance%s (in %s of %u samples).",
			 is_first ? sn_causal_name(causal, causal->target) : "",
			 is_first ? " depends most on " : "Then ",
			 sn_causal_name(causal, total->from), is_first ? ", which" : "",
			 sn_number_part(total->effect.share, 1).text, way_of(&total->effect),
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
		    sn_causal_name(causal, causal->target), causal->samples);
	for (uint32_t number = 0; number < found->total_count && number < NAMED; number++)
		say_cause(causal, &found->totals[number], !number, page);
}

/* Whether a deviation can be a part of the mean: values that lie on both sides of 0 may have a mean near it. */
static bool has_part_of_mean(const struct sn_repeats *repeats)
{
	bool is_positive = true, is_negative = true;
	for (size_t number = 0; number < repeats->count; number++) {
		is_positive &= repeats->items[number].least >= 0;
		is_negative &= repeats->items[number].greatest <= 0;
	}
	return is_positive || is_negative;
}

/* What no setting can explain. */
static void say_repeats(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_repeats *repeats = &causal->repeats;
	if (!repeats->count)
		return;
	double half = sn_repeats_variation(repeats, 0.5), most = sn_repeats_variation(repeats, 0.9);
	const char *target = sn_causal_name(causal, causal->target);
	if (!has_part_of_mean(repeats))
		sn_page_sentence(page, "%zu of %zu configurations were measured more than once.",
				 repeats->count, repeats->configurations);
	else if (!isnan(half))
		sn_page_sentence(
		    page,
		    "%zu of %zu configurations were measured more than once: in half of these %s "
		    "deviates by %s of its mean or less, in a tenth by %s or more.",
		    repeats->count, repeats->configurations, target, sn_number_part(half, 1).text,
		    sn_number_part(most, 1).text);
	sn_page_sentence(page,
			 "%s of the variance of %s lies within configurations, where no setting "
			 "explains it.",
			 sn_number_part(repeats->within, 1).text, target);
}

/* In how many of the edges that were found it has one as well. */
static void say_second(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_discovery *found = &causal->found;
	uint32_t same = 0;
	for (uint32_t number = 0; number < found->edge_count; number++)
		same += sn_pc_edge_between(&causal->second, found->edges[number].from,
					   found->edges[number].to) != NULL;
	if (found->edge_count && same == found->edge_count)
		sn_page_sentence(
		    page, "A second method, tests of independence (PC), has all %u edges as well.",
		    found->edge_count);
	else if (found->edge_count)
		sn_page_sentence(
		    page, "A second method, tests of independence (PC), has %u of the %u edges.",
		    same, found->edge_count);
}

/* Where directions are also told by what no score sees. */
static void say_non_normal(const struct sn_causal *causal, struct sn_page *page)
{
	if (causal->non_normal.holds && causal->found.edge_count)
		sn_page_sentence(
		    page, "What is not explained of the columns is not normal, and independent, so "
			  "directions are told by that as well (DirectLiNGAM).");
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

/* Columns that are not compared, by why. */
static void say_not_compared(const struct sn_causal *causal, struct sn_page *page)
{
	static const char *const whys[][2] = {
	    [SN_LEFT_CONSTANT] = {"has one value", "have one value"},
	    [SN_LEFT_SPARSE] = {"lacks too many values", "lack too many values"},
	    [SN_LEFT_DISTINCT] = {"is text that few rows share", "are text that few rows share"},
	    [SN_LEFT_SAME] = {"says the same as another one", "say the same as another one"},
	    [SN_LEFT_CLUSTER] = {NULL, NULL},
	    [SN_LEFT_IDENTITY] = {"has one value in each " SN_IDENTITY_COLUMN,
				  "have one value in each " SN_IDENTITY_COLUMN},
	    [SN_LEFT_SCREENED] = {NULL, NULL}};
	enum { WHYS = sizeof(whys) / sizeof(*whys) };
	const struct sn_prepared *prepared = &causal->prepared;
	uint32_t counts[WHYS] = {0}, all = causal->table->column_count;
	char text[256] = "";
	for (uint32_t number = 0; number < prepared->left_count; number++)
		counts[prepared->left[number].why]++;
	for (int why = 0; why < WHYS; why++)
		if (counts[why] && whys[why][0])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u %s",
				 *text ? ", " : "", counts[why], whys[why][counts[why] > 1]);
	if (*text)
		sn_page_sentence(page, "%u of %u columns are compared; %s.", prepared->candidates,
				 all - (causal->cluster != UINT32_MAX), text);
	if (counts[SN_LEFT_IDENTITY])
		sn_page_sentence(
		    page,
		    "Where each " SN_IDENTITY_COLUMN
		    " has one value of a setting, what the setting does cannot be told from what "
		    "the " SN_IDENTITY_COLUMN " does, which stands for it.");
	if (counts[SN_LEFT_SPARSE])
		sn_page_sentence(page,
				 "What a column that lacks too many values causes may seem to be "
				 "caused by others.");
}

static void say_left_out(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_prepared *prepared = &causal->prepared;
	uint32_t screened = prepared->candidates - prepared->count;
	say_not_compared(causal, page);
	if (screened)
		sn_page_sentence(page,
				 "%u of these %u columns are not in the graph: they say nothing of "
				 "%s beyond what the %u others say.",
				 screened, prepared->candidates,
				 sn_causal_name(causal, causal->target), prepared->count - 1);
	size_t lacking = causal->table->row_count - prepared->rows;
	if (lacking)
		sn_page_sentence(page, "%zu of %zu rows %s.", lacking, causal->table->row_count,
				 lacking == 1 ? "is left out, as it lacks a value"
					      : "are left out, as they lack a value");
}

static void say_clusters(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_prepared *prepared = &causal->prepared;
	if (prepared->clusters.kind == SN_CLUSTERS_REPEATS)
		sn_page_sentence(page,
				 "The %zu rows are repeats of %u settings, and are not taken as "
				 "independent: samples are drawn of settings.",
				 prepared->rows, prepared->clusters.count);
	else if (prepared->repeats.of)
		sn_page_sentence(page,
				 "Samples are drawn of %u stretches of rows that follow each "
				 "other, and by turns of their %u settings, as rows of one may be "
				 "alike.",
				 prepared->clusters.count, prepared->repeats.count);
	else if (prepared->clusters.kind == SN_CLUSTERS_STRETCHES)
		sn_page_sentence(page,
				 "Samples are drawn of %u stretches of rows that follow each "
				 "other, as these may be alike.",
				 prepared->clusters.count);
	else if (prepared->clusters.are_single)
		sn_page_sentence(page,
				 "The %zu rows are of as many clusters by %s, so that rows are "
				 "taken as independent.",
				 prepared->rows, causal->table->columns[causal->cluster].name);
	else if (prepared->clusters.of)
		sn_page_sentence(page,
				 "The %zu rows are of %u clusters by %s: those of one are drawn "
				 "together, and not taken as independent.",
				 prepared->rows, prepared->clusters.count,
				 causal->table->columns[causal->cluster].name);
	if (!sn_clusters_have_means(&prepared->clusters) || prepared->strata.count > 1)
		return;
	uint32_t clusters = prepared->clusters.count;
	if (clusters < SN_MEANS_LEAST && prepared->strata.of[0].within)
		sn_page_sentence(page,
				 "What differs between clusters is not compared, as %u are too few "
				 "to tell it from chance; what differs within them is.",
				 clusters);
	else if (prepared->rows - clusters < SN_WITHIN_LEAST)
		sn_page_sentence(
		    page,
		    "What differs within clusters is not compared: only %zu rows are more "
		    "than there are clusters.",
		    prepared->rows - clusters);
}

/* ---- tables ---- */

/* What add_interval() fills, behind the share. */
static const struct sn_column effects[] = {{"share", "share", "ratio"},
					   {"effect", "effect", "1"},
					   {"low", "from", "1"},
					   {"high", "to", "1"}};

static void add_interval(struct sn_sheet *sheet, const struct sn_effect *effect)
{
	sn_sheet_numbers(sheet, effect->value, effect->low, effect->high);
}

static void add_change_columns(struct sn_sheet *sheet, const char *unit)
{
	struct sn_column changes[] = {{"change", "change", ""},
				      {"change_low", "at least", ""},
				      {"change_high", "at most", ""}};
	_Static_assert(sizeof(changes->unit) > SN_SHOWN_UNIT_MOST, "columns take all units");
	for (size_t number = 0; number < sizeof(changes) / sizeof(*changes); number++)
		snprintf(changes[number].unit, sizeof(changes->unit), "%s", unit);
	sn_sheet_columns(sheet, changes, sizeof(changes) / sizeof(*changes));
}

static void show_totals(const struct sn_causal *causal, struct sn_page *page)
{
	static const struct sn_column last[] = {{"frequency", "found in", "ratio"},
						{"cause", "cause", ""}};
	const struct sn_discovery *found = &causal->found;
	const struct sn_adjusted_cause *adjusted = causal->adjusted;
	if (causal->target == UINT32_MAX || !found->total_count)
		return;
	const char *target = sn_causal_name(causal, causal->target);
	struct sn_sheet *sheet =
	    sn_page_table(page, "causes", effects, "What %s depends on", target);
	if (adjusted)
		add_change_columns(sheet, sn_causal_unit(causal, causal->target));
	sn_sheet_columns(sheet, last, 2);
	for (uint32_t number = 0; number < found->total_count; number++) {
		const struct sn_target_cause *total = &found->totals[number];
		sn_sheet_number(sheet, total->effect.share);
		add_interval(sheet, &total->effect);
		if (adjusted)
			sn_sheet_numbers(sheet, adjusted[number].change,
					 adjusted[number].change_low, adjusted[number].change_high);
		sn_sheet_number(sheet, total->frequency);
		sn_sheet_text(sheet, sn_causal_name(causal, total->from));
	}
	sn_sheet_note(sheet, "share: of the variance; effect: over all ways, in standard "
			     "deviations, with 95%% of the samples' ones.");
	if (adjusted)
		sn_sheet_note(
		    sheet,
		    "change: of %s in its unit for one standard deviation of the cause, by "
		    "double machine learning, with its 95%% interval.",
		    target);
}

/* What was set from outside and is no cause: its effect is known all the same. */
static void show_main_effects(const struct sn_causal *causal, struct sn_page *page)
{
	static const struct sn_column last[] = {{"frequency", "found in", "ratio"},
						{"column", "column", ""}};
	const struct sn_discovery *found = &causal->found;
	struct sn_sheet *sheet = NULL;
	for (uint32_t number = 0; number < found->main_effect_count; number++) {
		const struct sn_target_cause *main = &found->main_effects[number];
		if (main->frequency >= SN_FREQUENT)
			continue;
		if (!sheet)
			sheet = sn_sheet_columns(
			    sn_page_table(page, "main_effects", effects,
					  "Set from outside, and no cause of %s in most samples",
					  sn_causal_name(causal, causal->target)),
			    last, 2);
		sn_sheet_number(sheet, main->effect.share);
		add_interval(sheet, &main->effect);
		sn_sheet_number(sheet, main->frequency);
		sn_sheet_text(sheet, sn_causal_name(causal, main->from));
	}
}

static void add_edge(const struct sn_causal *causal, struct sn_sheet *sheet,
		     const struct sn_causal_edge *edge)
{
	sn_sheet_numbers(sheet, edge->effect.share);
	add_interval(sheet, &edge->effect);
	sn_sheet_numbers(sheet, edge->frequency, edge->directed);
	sn_sheet_text(sheet, sn_causal_second(causal, edge));
	sn_sheet_text(sheet, sn_causal_name(causal, edge->from));
	sn_sheet_text(sheet, edge->is_directed ? "->" : "--");
	sn_sheet_text(sheet, sn_causal_name(causal, edge->to));
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
						   {"directed", "directed", "ratio"},
						   {"pc", "PC", "", 1},
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
		sn_sheet_note(sheet, "%u %s of columns that %s does not depend on: --format json.",
			      aside, aside == 1 ? "edge is" : "edges are",
			      sn_causal_name(causal, causal->target));
	sn_sheet_note(sheet,
		      "effect: of one standard deviation, the other direct causes held; found in: "
		      "part of %u samples of the rows, and of these samples in such a direction; "
		      "PC, where lines have room for it: what that method has there.",
		      causal->samples);
}

static const char *setting_text(const struct sn_causal_column *column, size_t row,
				char number[SN_NUMBER_CHARS])
{
	double value = column->values[row];
	if (isnan(value))
		return "missing";
	return column->levels ? column->level_names[(size_t)value] : sn_number_exact(value, number);
}

/* "gridX 128, kind fast" */
static void print_settings(const struct sn_causal *causal, const struct sn_repeated *repeated,
			   struct sn_buffer *text)
{
	const struct sn_repeats *repeats = &causal->repeats;
	sn_buffer_cut(text, 0);
	for (uint32_t place = 0; place < repeats->setting_count; place++) {
		char number[SN_NUMBER_CHARS];
		const struct sn_causal_column *column =
		    &causal->table->columns[repeats->settings[place]];
		sn_buffer_print(text, "%s%s %s", place ? ", " : "", column->name,
				setting_text(column, repeated->first_row, number));
	}
}

static void show_repeats(const struct sn_causal *causal, struct sn_page *page)
{
	const struct sn_repeats *repeats = &causal->repeats;
	bool is_part = has_part_of_mean(repeats);
	const struct sn_column columns[] = {
	    is_part ? (struct sn_column){"variation", "deviates by", "ratio"}
		    : (struct sn_column){"deviation", "deviates by", "1"},
	    {"count", "times", "count"},
	    {"mean", "mean", "1"},
	    {"q50", "median", "1"},
	    {"greatest", "most", "1"},
	    {"configuration", "configuration", ""}};
	struct sn_buffer text = {0};
	if (!repeats->count)
		return;
	struct sn_sheet *sheet = sn_page_table(page, "repeats", columns, "%s in each configuration",
					       sn_causal_name(causal, causal->target));
	for (size_t number = 0; number < repeats->count && number < SN_SHEET_ROWS; number++) {
		const struct sn_repeated *one = &repeats->items[number];
		print_settings(causal, one, &text);
		sn_sheet_numbers(sheet, is_part ? sn_repeated_variation(one) : one->deviation,
				 (double)one->count, one->mean, one->q50, one->greatest);
		sn_sheet_text(sheet, sn_buffer_string(&text));
	}
	sn_sheet_note(sheet, "deviates by: the standard deviation of its values%s.",
		      is_part ? ", as part of their mean" : "");
	sn_buffer_release(&text);
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
		double above = baseline->score - causal->baselines[1].score;
		bool is_none = fabs(above) < SCORE_NEARLY * fabs(baseline->score);
		sn_sheet_numbers(sheet, baseline->edges, baseline->same_pairs,
				 baseline->same_directions, is_none ? 0 : above);
		sn_sheet_text(sheet, names[number]);
	}
	sn_sheet_note(
	    sheet,
	    "score: logarithm of the likelihood with its penalty, above that without edges.");
}

/* ---- columns that are not compared ---- */

static void show_left_out(const struct sn_causal *causal, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"column", "column", ""}, {"why", "why", ""}};
	static const char *const whys[] = {
	    [SN_LEFT_CONSTANT] = "has one value",
	    [SN_LEFT_SPARSE] = "too many values are missing",
	    [SN_LEFT_DISTINCT] = "text that is of many rows each",
	    [SN_LEFT_CLUSTER] = "tells which rows belong together",
	    [SN_LEFT_IDENTITY] = "each " SN_IDENTITY_COLUMN " has one value of it",
	    [SN_LEFT_SCREENED] = "says nothing of the target beyond others"};
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
	say_repeats(causal, page);
	say_edges(causal, page);
	say_second(causal, page);
	say_non_normal(causal, page);
	say_clusters(causal, page);
	say_left_out(causal, page);
	show_totals(causal, page);
	show_main_effects(causal, page);
	show_edges(causal, page);
	show_repeats(causal, page);
	show_baselines(causal, page);
	show_left_out(causal, page);
}

/* ---- what if ---- */

static const char *why_not(enum sn_do_status status)
{
	static const char *const whys[] = {
	    [SN_DO_NO_EFFECT] = "the graph has no way from it to the target",
	    [SN_DO_UNDETERMINED] =
		"the rows do not tell the direction of an edge at it (--tier or --require may)",
	    [SN_DO_NO_OVERLAP] = "with what has to be held it hardly ever has that value",
	    [SN_DO_DETERMINED] = "what has to be held determines it",
	    [SN_DO_FEW] = "too few rows have that value",
	    [SN_DO_BEYOND] = "no row has a value as far out",
	    [SN_DO_MANY] = "too many columns have to be held"};
	return whys[status];
}

/* ", with A, B and 3 others held" */
static void name_held(const struct sn_causal *causal, const struct sn_do *asked, FILE *out)
{
	for (uint32_t number = 0; number < asked->held_count && number < NAMED; number++)
		fprintf(out, "%s%s",
			number ? ", " : "; held: ", sn_causal_name(causal, asked->held[number]));
	if (asked->held_count > NAMED)
		fprintf(out, " and %u more", asked->held_count - NAMED);
}

void sn_causal_say_do(const struct sn_causal *causal, const struct sn_do *asked,
		      struct sn_page *page)
{
	const char *column = causal->table->columns[asked->column].name;
	const char *target = sn_causal_name(causal, causal->target);
	const char *unit = sn_causal_unit(causal, causal->target);
	char *held = NULL;
	size_t length;
	FILE *out = open_memstream(&held, &length);
	if (out) {
		name_held(causal, asked, out);
		fclose(out);
	}
	if (asked->status == SN_DO_FOUND)
		sn_page_sentence(
		    page,
		    "If %s were %s in all rows, %s would change by %s on average (95%%: "
		    "%s to %s), from a mean of %s%s%s.",
		    column, asked->value, target, sn_number_text(asked->change, unit).text,
		    sn_number_text(asked->change_low, unit).text,
		    sn_number_text(asked->change_high, unit).text,
		    sn_number_text(asked->mean, unit).text,
		    asked->is_curve ? ", along a curve through the rows" : "", held ? held : "");
	else if (asked->status == SN_DO_NO_EFFECT)
		sn_page_sentence(page, "If %s were %s, nothing says that %s would change: %s.",
				 column, asked->value, target, why_not(asked->status));
	else
		sn_page_sentence(page, "What %s would be if %s were %s cannot be identified: %s.",
				 target, column, asked->value, why_not(asked->status));
	free(held);
}

const char *sn_causal_do_status(enum sn_do_status status)
{
	static const char *const statuses[] = {[SN_DO_FOUND] = "identified",
					       [SN_DO_NO_EFFECT] = "no-effect",
					       [SN_DO_UNDETERMINED] = "undetermined",
					       [SN_DO_NO_OVERLAP] = "no-overlap",
					       [SN_DO_DETERMINED] = "determined",
					       [SN_DO_FEW] = "few-rows",
					       [SN_DO_BEYOND] = "beyond",
					       [SN_DO_MANY] = "too-many-held"};
	return statuses[status];
}
