/* SPDX-License-Identifier: Apache-2.0 */
/* A causal analysis as JSON; see causal_answer.h. */
#include "causal_answer.h"

#include "causal_words.h"

#include <math.h>

static const char *why_left(enum sn_left_out why)
{
	static const char *const whys[] = {
	    [SN_LEFT_CONSTANT] = "constant", [SN_LEFT_SPARSE] = "sparse",
	    [SN_LEFT_DISTINCT] = "distinct", [SN_LEFT_SAME] = "same",
	    [SN_LEFT_CLUSTER] = "cluster",   [SN_LEFT_IDENTITY] = "identity",
	    [SN_LEFT_SCREENED] = "screened"};
	return whys[why];
}

static void put_effect(struct sn_json *json, const struct sn_effect *effect)
{
	sn_json_put_number(json, "sign", sn_causal_sign(effect));
	sn_json_put_known(json, "effect", effect->value);
	sn_json_put_known(json, "effect_low", effect->low);
	sn_json_put_known(json, "effect_high", effect->high);
	sn_json_put_known(json, "same_sign", effect->same_sign);
	sn_json_put_known(json, "share", effect->share);
	sn_json_put_known(json, "share_turning", effect->turning);
}

static void put_ends(const struct sn_causal *causal, struct sn_json *json,
		     const struct sn_causal_edge *edge)
{
	sn_json_put_text(json, "from", sn_causal_name(causal, edge->from));
	sn_json_put_text(json, "to", sn_causal_name(causal, edge->to));
}

static void put_second(const struct sn_causal *causal, struct sn_json *json,
		       const struct sn_causal_edge *edge)
{
	const struct sn_pc_edge *tested = sn_pc_edge_between(&causal->second, edge->from, edge->to);
	sn_json_put_text(json, "pc", sn_causal_second(causal, edge));
	sn_json_put_known(json, "p", tested ? tested->probability : NAN);
	sn_json_put_known(json, "p_adjusted", tested ? tested->adjusted : NAN);
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
		put_second(causal, json, edge);
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

static void put_adjusted(struct sn_json *json, const struct sn_adjusted_cause *adjusted)
{
	sn_json_key(json, "adjusted");
	if (!adjusted) {
		sn_json_null(json);
		return;
	}
	sn_json_begin(json, '{');
	sn_json_put_text(json, "status", sn_causal_do_status(adjusted->status));
	sn_json_put_known(json, "change", adjusted->change);
	sn_json_put_known(json, "change_low", adjusted->change_low);
	sn_json_put_known(json, "change_high", adjusted->change_high);
	sn_json_put_known(json, "share", adjusted->share);
	sn_json_put_known(json, "share_low", adjusted->share_low);
	sn_json_put_known(json, "share_high", adjusted->share_high);
	sn_json_put_known(json, "p", adjusted->p);
	sn_json_end(json, '}');
}

static void put_main_effects(const struct sn_causal *causal, struct sn_json *json)
{
	sn_json_open(json, "main_effects", '[');
	for (uint32_t number = 0; number < causal->found.main_effect_count; number++) {
		const struct sn_target_cause *effect = &causal->found.main_effects[number];
		sn_json_begin(json, '{');
		sn_json_put_text(json, "column", sn_causal_name(causal, effect->from));
		put_effect(json, &effect->effect);
		sn_json_put_number(json, "frequency", effect->frequency);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_causes(const struct sn_causal *causal, struct sn_json *json)
{
	sn_json_open(json, "causes", '[');
	for (uint32_t number = 0; number < causal->found.total_count; number++) {
		const struct sn_target_cause *total = &causal->found.totals[number];
		sn_json_begin(json, '{');
		sn_json_put_text(json, "cause", sn_causal_name(causal, total->from));
		put_effect(json, &total->effect);
		sn_json_put_number(json, "frequency", total->frequency);
		put_adjusted(json, causal->adjusted ? causal->adjusted + number : NULL);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_repeated(const struct sn_causal *causal, struct sn_json *json,
			 const struct sn_repeated *one)
{
	const struct sn_repeats *repeats = &causal->repeats;
	sn_json_begin(json, '{');
	sn_json_open(json, "configuration", '{');
	for (uint32_t place = 0; place < repeats->setting_count; place++) {
		const struct sn_causal_column *column =
		    &causal->table->columns[repeats->settings[place]];
		double value = column->values[one->first_row];
		if (column->levels && !isnan(value))
			sn_json_put_text(json, column->name, column->level_names[(size_t)value]);
		else
			sn_json_put_known(json, column->name, value);
	}
	sn_json_end(json, '}');
	sn_json_numbers(json, {"count", (double)one->count}, {"mean", one->mean},
			{"std", one->deviation}, {"min", one->least}, {"p50", one->q50},
			{"p99", one->q99}, {"max", one->greatest});
	sn_json_put_known(json, "cv", sn_repeated_variation(one));
	sn_json_end(json, '}');
}

static void put_repeats(const struct sn_causal *causal, struct sn_json *json)
{
	const struct sn_repeats *repeats = &causal->repeats;
	sn_json_key(json, "repeats");
	if (!repeats->count) {
		sn_json_null(json);
		return;
	}
	sn_json_begin(json, '{');
	sn_json_numbers(json, {"configurations", (double)repeats->configurations},
			{"within_share", repeats->within});
	sn_json_put_known(json, "cv_p50", sn_repeats_variation(repeats, 0.5));
	sn_json_put_known(json, "cv_p90", sn_repeats_variation(repeats, 0.9));
	sn_json_open(json, "repeated", '[');
	for (size_t number = 0; number < repeats->count; number++)
		put_repeated(causal, json, &repeats->items[number]);
	sn_json_end(json, ']');
	sn_json_end(json, '}');
}

static void put_non_normal(const struct sn_causal *causal, struct sn_json *json)
{
	const struct sn_non_normal *non_normal = &causal->non_normal;
	sn_json_key(json, "lingam");
	if (!non_normal->is_tested) {
		sn_json_null(json);
		return;
	}
	sn_json_begin(json, '{');
	sn_json_put_bool(json, "holds", non_normal->holds);
	sn_json_numbers(json, {"not_normal", non_normal->not_normal},
			{"dependent_pairs", non_normal->dependent_pairs});
	sn_json_end(json, '}');
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
		sn_json_string(json, sn_causal_name(causal, variable));
	sn_json_end(json, ']');
	put_edges(causal, json);
	put_all_undetermined(causal, json);
	put_baselines(causal, json);
	bool has_target = causal->target != UINT32_MAX;
	sn_json_put_text(json, "target",
			 has_target ? sn_causal_name(causal, causal->target) : NULL);
	sn_json_put_text(json, "target_unit",
			 has_target ? sn_causal_unit(causal, causal->target) : NULL);
	put_causes(causal, json);
	put_main_effects(causal, json);
	put_repeats(causal, json);
	put_non_normal(causal, json);
	put_left_out(causal, json);
	bool has_clusters = causal->prepared.clusters.of;
	sn_json_put_text(
	    json, "cluster",
	    causal->cluster == UINT32_MAX ? NULL : causal->table->columns[causal->cluster].name);
	sn_json_put_known(json, "clusters",
			  has_clusters ? causal->prepared.clusters.count : (double)NAN);
	sn_json_numbers(json, {"rows", (double)causal->prepared.rows},
			{"samples", causal->samples});
}

void sn_causal_do_json(const struct sn_causal *causal, const struct sn_do *asked, size_t count,
		       struct sn_json *json)
{
	sn_json_open(json, "do", '[');
	for (size_t number = 0; number < count; number++) {
		const struct sn_do *one = &asked[number];
		sn_json_begin(json, '{');
		sn_json_put_text(json, "column", causal->table->columns[one->column].name);
		sn_json_put_text(json, "value", one->value);
		sn_json_put_text(json, "status", sn_causal_do_status(one->status));
		if (one->status == SN_DO_FOUND)
			sn_json_put_text(json, "by", one->is_curve ? "curve" : "rows");
		sn_json_put_known(json, "mean", one->mean);
		sn_json_put_known(json, "change", one->change);
		sn_json_put_known(json, "change_low", one->change_low);
		sn_json_put_known(json, "change_high", one->change_high);
		sn_json_open(json, "held", '[');
		for (uint32_t held = 0; held < one->held_count; held++)
			sn_json_string(json, sn_causal_name(causal, one->held[held]));
		sn_json_end(json, ']');
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

void sn_causal_json_object(const struct sn_causal *causal, const struct sn_do *asked, size_t count,
			   const struct sn_page *page, struct sn_json *json)
{
	sn_json_begin(json, '{');
	sn_causal_json(causal, json);
	sn_causal_do_json(causal, asked, count, json);
	sn_json_open(json, "sentences", '[');
	for (size_t number = 0; number < page->sentence_count; number++)
		sn_json_string(json, page->sentences[number]);
	sn_json_end(json, ']');
	sn_json_end(json, '}');
}
