/* SPDX-License-Identifier: Apache-2.0 */
/* What the graphs of samples of the rows have in common; see discover.h. */
#include "discover.h"

#include "base/peers/divide.h"
#include "base/pool.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "causal/levels.h"
#include "sample.h"

#include <math.h>
#include <stdlib.h>

SN_SORT_BY(sort_numbers, double, const void *, SN_ORDER(*a, *b));

static double percentile(const double *sorted, uint32_t count, double part)
{
	return sorted[(uint32_t)(part * (count - 1) + 0.5)];
}

/* The place from below, and from above, of the ends of the interval that has 95 % of the next value: of `count` ones that come by chance it is as likely between any two of these. */
static uint32_t end_of(uint32_t count)
{
	uint32_t beyond = (uint32_t)(0.025 * (count + 1));
	return beyond ? beyond - 1 : 0;
}

/* Of the values in `numbers`, which it sorts. */
static void sum_values(double *numbers, uint32_t count, struct sn_effect *effect)
{
	uint32_t same = 0;
	if (!count)
		return;
	sort_numbers(numbers, count, NULL);
	effect->value = percentile(numbers, count, 0.5);
	effect->low = numbers[end_of(count)];
	effect->high = numbers[count - 1 - end_of(count)];
	for (uint32_t number = 0; number < count; number++)
		same += (numbers[number] > 0) == (effect->value > 0);
	effect->same_sign = (double)same / count;
}

/* Room for a number of each sample. */
struct room {
	double *values, *shares;
	uint32_t value_count, share_count;
};

static void note(struct room *room, const struct sn_measured_effect *measured)
{
	if (!isnan(measured->value))
		room->values[room->value_count++] = measured->value;
	room->shares[room->share_count++] = measured->share;
}

static struct sn_effect sum_effects(struct room *room, const struct sn_measured_effect *whole)
{
	struct sn_effect effect = {NAN, NAN, NAN, NAN, NAN, NAN};
	sum_values(room->values, room->value_count, &effect);
	sort_numbers(room->shares, room->share_count, NULL);
	if (whole) {
		effect.share = whole->share;
		effect.turning = whole->turning;
	} else if (room->share_count) {
		effect.share = percentile(room->shares, room->share_count, 0.5);
	}
	room->value_count = room->share_count = 0;
	return effect;
}

static const struct sn_measured_effect *measured_in(const struct sn_measured_effect *items,
						    uint32_t count, uint32_t from, uint32_t to)
{
	for (uint32_t number = 0; number < count; number++)
		if (items[number].from == from && items[number].to == to)
			return &items[number];
	return NULL;
}

static const struct sn_measured_effect *direct_in(const struct sn_graph_sample *sample,
						  uint32_t from, uint32_t to)
{
	return measured_in(sample->direct, sample->direct_count, from, to);
}

/* Of an effect that rises or falls more than it turns: 1 or -1, else 0. */
static int sign_of(const struct sn_measured_effect *measured)
{
	if (!measured || isnan(measured->value) ||
	    2 * fabs(measured->turning) > fabs(measured->share))
		return 0;
	return measured->value < 0 ? -1 : 1;
}

static int sign_between(const struct sn_graph_sample *sample, uint32_t a, uint32_t b)
{
	return sign_of(direct_in(sample, a, b) ?: direct_in(sample, b, a));
}

/* By the samples that have the edge, and do not give it the sign `but`. */
static void count_edge(const struct sn_discovering *discovering, struct sn_causal_edge *edge,
		       int but)
{
	double samples = discovering->options->samples;
	uint32_t forward = 0, backward = 0, open = 0, a = edge->from, b = edge->to;
	for (uint32_t number = 1; number <= discovering->options->samples; number++) {
		const struct sn_pdag *graph = &discovering->samples[number].graph;
		if (but && sign_between(&discovering->samples[number], a, b) == but)
			continue;
		forward += sn_pdag_is_directed(graph, a, b);
		backward += sn_pdag_is_directed(graph, b, a);
		open += sn_pdag_is_undirected(graph, a, b);
	}
	edge->is_directed = 2 * forward >= forward + backward + open;
	edge->frequency = (forward + backward + open) / samples;
	edge->directed = forward / samples;
	edge->reversed = backward / samples;
}

/* `a` and `b` in the more frequent direction. */
static struct sn_causal_edge edge_of(const struct sn_discovering *discovering, uint32_t a,
				     uint32_t b)
{
	struct sn_causal_edge edge = {.from = a, .to = b};
	count_edge(discovering, &edge, 0);
	if (edge.reversed > edge.directed) {
		edge.from = b;
		edge.to = a;
		count_edge(discovering, &edge, 0);
	}
	return edge;
}

/* The sign that speaks against an effect: the other one, unless it turns more than it rises or falls; where rows are independent, none. */
static int other_sign(const struct sn_discovering *discovering, const struct sn_effect *effect)
{
	if (sn_rows_are_independent(&discovering->prepared->clusters) || isnan(effect->value) ||
	    2 * fabs(effect->turning) > effect->share)
		return 0;
	return effect->value < 0 ? 1 : -1;
}

static void sum_edge(const struct sn_discovering *discovering, struct sn_causal_edge *edge,
		     struct room *room)
{
	for (uint32_t number = 1; number <= discovering->options->samples; number++) {
		const struct sn_measured_effect *measured =
		    direct_in(&discovering->samples[number], edge->from, edge->to);
		if (measured)
			note(room, measured);
	}
	edge->effect = sum_effects(room, direct_in(&discovering->samples[0], edge->from, edge->to));
	if (!sn_knowledge_requires(discovering->options->knowledge, edge->from, edge->to))
		count_edge(discovering, edge, other_sign(discovering, &edge->effect));
}

SN_SORT_BY(sort_edges, struct sn_causal_edge, const void *,
	   SN_ORDER(a->to, b->to) ?: SN_ORDER(b->frequency, a->frequency)
				      ?: SN_ORDER(a->from, b->from));

static int collect_edges(struct sn_discovery *discovery, const struct sn_discovering *discovering,
			 struct room *room)
{
	size_t capacity = 0, doubtful_capacity = 0;
	int result = 0;
	for (uint32_t b = 0; !result && b < discovering->prepared->count; b++)
		for (uint32_t a = 0; !result && a < b; a++) {
			struct sn_causal_edge edge = edge_of(discovering, a, b);
			if (edge.frequency < SN_DOUBTFUL)
				continue;
			sum_edge(discovering, &edge, room);
			if (edge.frequency < SN_DOUBTFUL)
				continue;
			result = edge.frequency < SN_FREQUENT
				     ? sn_vec_push(&discovery->doubtful, &doubtful_capacity,
						   &discovery->doubtful_count, edge)
				     : sn_vec_push(&discovery->edges, &capacity,
						   &discovery->edge_count, edge);
		}
	sort_edges(discovery->edges, discovery->edge_count, NULL);
	sort_edges(discovery->doubtful, discovery->doubtful_count, NULL);
	return result;
}

SN_SORT_BY(sort_totals, struct sn_target_cause, const void *,
	   SN_ORDER(b->effect.share, a->effect.share) ?: SN_ORDER(a->from, b->from));

/* NULL where the sample has no such effect, or no way where one is asked for. */
static const struct sn_measured_effect *total_in(const struct sn_graph_sample *sample,
						 uint32_t from, uint32_t target, bool by_a_way)
{
	const struct sn_measured_effect *measured =
	    measured_in(sample->totals, sample->total_count, from, target);
	return measured && by_a_way && !measured->has_way ? NULL : measured;
}

static struct sn_target_cause total_of(const struct sn_discovering *discovering, uint32_t from,
				       bool by_a_way, struct room *room)
{
	uint32_t samples = discovering->options->samples, target = discovering->options->target,
		 count = 0;
	for (uint32_t number = 1; number <= samples; number++) {
		const struct sn_measured_effect *measured =
		    total_in(&discovering->samples[number], from, target, by_a_way);
		if (measured)
			note(room, measured);
	}
	struct sn_target_cause total = {
	    .from = from,
	    .effect =
		sum_effects(room, total_in(&discovering->samples[0], from, target, by_a_way))};
	int but = other_sign(discovering, &total.effect);
	for (uint32_t number = 1; number <= samples; number++) {
		const struct sn_measured_effect *measured =
		    total_in(&discovering->samples[number], from, target, by_a_way);
		count += measured && measured->has_way && !(but && sign_of(measured) == but);
	}
	total.frequency = (double)count / samples;
	return total;
}

static int collect_totals(struct sn_discovery *discovery, const struct sn_discovering *discovering,
			  struct room *room)
{
	const bool *is_set = discovering->options->is_set;
	size_t capacity = 0, main_capacity = 0;
	int result = 0;
	for (uint32_t from = 0; !result && from < discovering->prepared->count; from++) {
		struct sn_target_cause total = total_of(discovering, from, true, room);
		if (total.frequency >= SN_FREQUENT)
			result = sn_vec_push(&discovery->totals, &capacity, &discovery->total_count,
					     total);
		if (!result && is_set && is_set[from] && from != discovering->options->target)
			result = sn_vec_push(&discovery->main_effects, &main_capacity,
					     &discovery->main_effect_count,
					     total_of(discovering, from, false, room));
	}
	sort_totals(discovery->totals, discovery->total_count, NULL);
	sort_totals(discovery->main_effects, discovery->main_effect_count, NULL);
	return result;
}

static int collect(struct sn_discovery *discovery, const struct sn_discovering *discovering)
{
	uint32_t samples = discovering->options->samples;
	struct room room = {.values = malloc((samples + 1) * sizeof(double)),
			    .shares = malloc((samples + 1) * sizeof(double))};
	int result = room.values && room.shares ? 0 : SN_ERR_MEMORY;
	result = result ? result : collect_edges(discovery, discovering, &room);
	if (!result && discovering->options->target != UINT32_MAX)
		result = collect_totals(discovery, discovering, &room);
	free(room.values);
	free(room.shares);
	return result;
}

void sn_discovery_release(struct sn_discovery *discovery)
{
	sn_pdag_release(&discovery->graph);
	free(discovery->edges);
	free(discovery->doubtful);
	free(discovery->totals);
	free(discovery->main_effects);
	*discovery = (struct sn_discovery){0};
}

static int make_levels(struct sn_discovering *discovering)
{
	const struct sn_prepared *prepared = discovering->prepared;
	discovering->levels = calloc(prepared->count + 1, sizeof(*discovering->levels));
	discovering->level_counts = calloc(prepared->count + 1, sizeof(*discovering->level_counts));
	int result = discovering->levels && discovering->level_counts ? 0 : SN_ERR_MEMORY;
	for (uint32_t variable = 0; !result && variable < prepared->count; variable++) {
		if (!discovering->options->is_set || !discovering->options->is_set[variable] ||
		    !prepared->is_ordered[variable])
			continue;
		uint8_t *levels = malloc(prepared->rows + 1);
		discovering->levels[variable] = levels;
		result =
		    levels
			? sn_levels(prepared->values + prepared->first[variable] * prepared->rows,
				    prepared->rows, levels, &discovering->level_counts[variable])
			: SN_ERR_MEMORY;
	}
	return result;
}

static void release(struct sn_discovering *discovering)
{
	if (discovering->samples)
		sn_graph_samples_clear(discovering);
	for (uint32_t variable = 0; discovering->levels && variable < discovering->prepared->count;
	     variable++)
		free(discovering->levels[variable]);
	free(discovering->levels);
	free(discovering->level_counts);
	free(discovering->samples);
}

/* All samples, by the threads of all processes. */
static int find_samples(struct sn_discovering *discovering, const struct sn_peers *peers,
			struct sn_error *error)
{
	const struct sn_discovery_options *options = discovering->options;
	const struct sn_peers_work work = {options->samples + UINT64_C(1), sn_graph_sample_weight,
					   sn_graph_sample_work, discovering};
	const struct sn_peers_merging merging = {sn_graph_samples_pack, sn_graph_samples_add,
						 sn_graph_samples_clear, discovering};
	discovering->samples = calloc(work.count, sizeof(*discovering->samples));
	int result = discovering->samples ? make_levels(discovering) : SN_ERR_MEMORY;
	if (!result)
		result = sn_peers_run(peers, sn_pool_threads(options->threads), &work);
	result = sn_peers_agree(peers, sn_fail_code(error, result), error);
	return result ? result : sn_peers_merge(peers, &merging, error);
}

int sn_discover(struct sn_discovery *discovery, const struct sn_prepared *prepared,
		const struct sn_discovery_options *options, struct sn_error *error)
{
	const struct sn_peers *peers = options->peers ? options->peers : &sn_peers_alone;
	struct sn_discovering discovering = {.prepared = prepared, .options = options};
	*discovery = (struct sn_discovery){0};
	int result = find_samples(&discovering, peers, error);
	if (!result) {
		const struct sn_graph_sample *whole = &discovering.samples[0];
		discovery->score = whole->score;
		result = sn_pdag_copy(&whole->graph, &discovery->graph);
		result = result ? result : collect(discovery, &discovering);
		result = sn_peers_agree(peers, sn_fail_code(error, result), error);
	}
	release(&discovering);
	return result;
}
