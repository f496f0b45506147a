/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of samples of the rows, and what they have in common; see discover.h. */
#include "discover.h"

#include "base/pool.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "cholesky.h"
#include "levels.h"
#include "search/subset_search.h"
#include "row_sample.h"

#include <math.h>

#define STARTS		    3u
#define DISTURBANCES	    57u
/* Of a sample: its graphs are many, and their differences are what is asked for. */
#define SAMPLE_STARTS	    2u
#define SAMPLE_DISTURBANCES 6u

struct measured {
	uint32_t from, to;
	double value, share, turning;
};

/* What one sample of the rows says; number 0 is all rows. */
struct sample {
	struct sn_pdag graph; /* completed */
	double score;
	struct measured *direct; /* of each edge of the directed graph, by `to`, then `from` */
	uint32_t direct_count;
	size_t direct_capacity;
	struct measured *totals; /* on the target, by `from` */
	uint32_t total_count;
	size_t total_capacity;
};

struct discovering {
	const struct sn_prepared *prepared;
	const struct sn_discovery_options *options;
	struct sample *samples;
	/* Of each number that was set from outside, else NULL: the groups of its rows, and how many these are. */
	uint8_t **levels;
	uint32_t *level_counts;
};

/* ---- effects in one sample ---- */

struct measuring {
	const struct sn_row_sample *rows;
	const struct sn_pdag *graph; /* directed */
	uint32_t *chosen;	     /* dimensions of the regression; room for all */
	double *factor;
};

/* A variable's dimensions, the first one last. */
static uint32_t choose(const struct measuring *measuring, uint32_t variable, uint32_t count)
{
	const uint32_t *first = measuring->rows->prepared->first;
	for (uint32_t dimension = first[variable + 1]; dimension-- > first[variable];)
		measuring->chosen[count++] = dimension;
	return count;
}

/* The causes of a variable, but one. */
static uint32_t choose_causes(const struct measuring *measuring, uint32_t variable, uint32_t but)
{
	const struct sn_pdag *graph = measuring->graph;
	uint32_t count = 0;
	SN_BITS_EACH(graph->in + variable * graph->words, graph->words, cause)
	if (cause != but)
		count = choose(measuring, (uint32_t)cause, count);
	return count;
}

/* The part of a row's variance that some columns explain beyond those before. */
static double share_of(const double *factor, uint32_t row, uint32_t column, uint32_t end)
{
	double share = 0;
	for (; column < end; column++)
		share += factor[sn_cholesky_at(row, column)] * factor[sn_cholesky_at(row, column)];
	return share;
}

/* The regression of `to` on `held` dimensions that were chosen and on `from`. The share of a cause of several dimensions is their sum; of a category
 * the mean of its own. */
static struct measured regress(const struct measuring *measuring, uint32_t held, uint32_t from,
			       uint32_t to)
{
	const struct sn_prepared *prepared = measuring->rows->prepared;
	const struct sn_cholesky cholesky = {measuring->rows->correlations,
					     prepared->first[prepared->count], measuring->chosen,
					     measuring->factor};
	struct measured measured = {from, to, NAN, 0, NAN};
	uint32_t causes = choose(measuring, from, held), all = causes;
	if (prepared->is_ordered[to])
		measuring->chosen[all++] = prepared->first[to]; /* the rank alone */
	else
		all = choose(measuring, to, causes);
	for (uint32_t row = 0; row < all; row++)
		sn_cholesky_add(&cholesky, row);
	for (uint32_t row = causes; row < all; row++)
		measured.share += share_of(measuring->factor, row, held, causes) / (all - causes);
	if (prepared->is_ordered[from] && prepared->is_ordered[to]) {
		uint32_t rank = causes - 1;
		measured.turning = 0;
		if (rank > held)
			measured.turning =
			    copysign(share_of(measuring->factor, causes, held, rank),
				     measuring->factor[sn_cholesky_at(causes, held)]);
		measured.value = measuring->factor[sn_cholesky_at(causes, rank)] *
				 measuring->factor[sn_cholesky_at(rank, rank)];
	}
	return measured;
}

static int measure_edges(const struct measuring *measuring, struct sample *sample)
{
	const struct sn_pdag *graph = measuring->graph;
	int result = 0;
	for (uint32_t to = 0; !result && to < graph->count; to++)
		SN_BITS_EACH(graph->in + to * graph->words, graph->words, from)
		{
			uint32_t held = choose_causes(measuring, to, (uint32_t)from);
			if (sn_vec_push(&sample->direct, &sample->direct_capacity,
					&sample->direct_count,
					regress(measuring, held, (uint32_t)from, to)))
				result = SN_ERR_MEMORY;
		}
	return result;
}

/* Adds to `found` all that leads to it. `found` has the target alone. */
static void find_ancestors(const struct sn_pdag *graph, uint64_t *found)
{
	bool has_grown = true;
	while (has_grown) {
		has_grown = false;
		for (uint32_t variable = 0; variable < graph->count; variable++)
			for (size_t word = 0; sn_bits_has(found, variable) && word < graph->words;
			     word++) {
				uint64_t added =
				    graph->in[variable * graph->words + word] & ~found[word];
				found[word] |= added;
				has_grown |= added != 0;
			}
	}
}

/* By the back-door criterion a variable's own causes are all that has to be held; what was set from outside has none. */
static struct measured measure_total(const struct discovering *discovering,
				     const struct measuring *measuring, uint32_t from,
				     uint32_t target)
{
	const struct sn_prepared *prepared = discovering->prepared;
	uint32_t held = choose_causes(measuring, from, UINT32_MAX);
	struct measured measured = regress(measuring, held, from, target);
	if (discovering->levels[from] && prepared->is_ordered[target])
		measured.share =
		    sn_levels_share(discovering->levels[from], discovering->level_counts[from],
				    prepared->values + prepared->first[target] * prepared->rows,
				    prepared->rows, measuring->rows->times);
	if (fabs(measured.turning) > measured.share)
		measured.turning = copysign(measured.share, measured.turning);
	return measured;
}

/* The effect of each variable that leads to the target. */
static int measure_totals(const struct discovering *discovering, const struct measuring *measuring,
			  struct sample *sample)
{
	const struct sn_pdag *graph = measuring->graph;
	uint32_t target = discovering->options->target;
	uint64_t *found = calloc(graph->words + 1, sizeof(*found));
	if (!found)
		return SN_ERR_MEMORY;
	int result = 0;
	sn_bits_add(found, target);
	find_ancestors(graph, found);
	sn_bits_remove(found, target);
	SN_BITS_EACH(found, graph->words, from)
	if (sn_vec_push(&sample->totals, &sample->total_capacity, &sample->total_count,
			measure_total(discovering, measuring, (uint32_t)from, target)))
		result = SN_ERR_MEMORY;
	free(found);
	return result;
}

static int measure(const struct discovering *discovering, const struct sn_row_sample *rows,
		   struct sample *sample)
{
	uint32_t dimensions = rows->prepared->first[rows->prepared->count];
	struct measuring measuring = {
	    .rows = rows,
	    .graph = &sample->graph,
	    .chosen = malloc((2 * (size_t)dimensions + 1) * sizeof(uint32_t)),
	    .factor = malloc((size_t)(dimensions + 1) * (dimensions + 2) / 2 * sizeof(double) + 1)};
	int result = measuring.chosen && measuring.factor ? 0 : SN_ERR_MEMORY;
	result = result ? result : measure_edges(&measuring, sample);
	if (!result && discovering->options->target != UINT32_MAX)
		result = measure_totals(discovering, &measuring, sample);
	free(measuring.chosen);
	free(measuring.factor);
	return result;
}

/*
 * Makes the sample's directed graph the completed one of its class, in which residuals may direct some more; effects are those along a graph of
 * that class.
 */
static int complete(const struct discovering *discovering, const struct sn_row_sample *rows,
		    struct sample *sample)
{
	const struct sn_discovery_options *options = discovering->options;
	struct sn_pdag class = {0};
	if (!options->non_normal || !options->non_normal->holds) {
		int result = measure(discovering, rows, sample);
		return result ? result : sn_pdag_to_class(&sample->graph, options->knowledge);
	}
	int result = sn_pdag_to_class(&sample->graph, options->knowledge);
	result = result ? result
			: sn_non_normal_direct(options->non_normal, rows->times, options->knowledge,
					       &sample->graph);
	result = result ? result : sn_pdag_copy(&sample->graph, &class);
	result = result ? result : sn_pdag_to_member(&sample->graph, options->knowledge);
	result = result ? result : measure(discovering, rows, sample);
	sn_pdag_release(&sample->graph);
	sample->graph = class;
	return result;
}

static int work_sample(void *context, unsigned worker, size_t number)
{
	struct discovering *discovering = context;
	const struct sn_discovery_options *options = discovering->options;
	struct sample *sample = &discovering->samples[number];
	size_t words = sn_bits_words(discovering->prepared->count);
	const uint64_t *among = options->chosen ? options->chosen + number * words : NULL;
	struct sn_row_sample rows;
	(void)worker;
	int result = sn_row_sample_draw(&rows, discovering->prepared, options->seed, number);
	struct sn_order_search search = {.count = discovering->prepared->count,
					 .knowledge = options->knowledge,
					 .score = rows.score,
					 .starts = number ? SAMPLE_STARTS : STARTS,
					 .disturbances =
					     number ? SAMPLE_DISTURBANCES : DISTURBANCES,
					 .seed = options->seed + number};
	result = result ? result : sn_pdag_init(&sample->graph, discovering->prepared->count);
	result = result ? result : sn_subset_search(&search, among, &sample->graph, &sample->score);
	result = result ? result : complete(discovering, &rows, sample);
	sn_row_sample_release(&rows);
	return result;
}

/* ---- what samples have in common ---- */

SN_SORT_BY(sort_numbers, double, const void *, SN_ORDER(*a, *b));

static double percentile(const double *sorted, uint32_t count, double part)
{
	return sorted[(uint32_t)(part * (count - 1) + 0.5)];
}

/* Of the values in `numbers`, which it sorts. */
static void sum_values(double *numbers, uint32_t count, struct sn_effect *effect)
{
	uint32_t same = 0;
	if (!count)
		return;
	sort_numbers(numbers, count, NULL);
	effect->value = percentile(numbers, count, 0.5);
	effect->low = percentile(numbers, count, 0.025);
	effect->high = percentile(numbers, count, 0.975);
	for (uint32_t number = 0; number < count; number++)
		same += (numbers[number] > 0) == (effect->value > 0);
	effect->same_sign = (double)same / count;
}

/* Room for a number of each sample. */
struct room {
	double *values, *shares;
	uint32_t value_count, share_count;
};

static void note(struct room *room, const struct measured *measured)
{
	if (!isnan(measured->value))
		room->values[room->value_count++] = measured->value;
	room->shares[room->share_count++] = measured->share;
}

static struct sn_effect sum_effects(struct room *room, const struct measured *whole)
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

static const struct measured *measured_in(const struct measured *items, uint32_t count,
					  uint32_t from, uint32_t to)
{
	for (uint32_t number = 0; number < count; number++)
		if (items[number].from == from && items[number].to == to)
			return &items[number];
	return NULL;
}

static const struct measured *direct_in(const struct sample *sample, uint32_t from, uint32_t to)
{
	return measured_in(sample->direct, sample->direct_count, from, to);
}

static struct sn_causal_edge edge_of(const struct discovering *discovering, uint32_t a, uint32_t b)
{
	double samples = discovering->options->samples;
	uint32_t forward = 0, backward = 0, open = 0;
	for (uint32_t number = 1; number <= discovering->options->samples; number++) {
		const struct sn_pdag *graph = &discovering->samples[number].graph;
		forward += sn_pdag_is_directed(graph, a, b);
		backward += sn_pdag_is_directed(graph, b, a);
		open += sn_pdag_is_undirected(graph, a, b);
	}
	bool is_forward = forward >= backward;
	uint32_t more = is_forward ? forward : backward, all = forward + backward + open;
	return (struct sn_causal_edge){.from = is_forward ? a : b,
				       .to = is_forward ? b : a,
				       .is_directed = 2 * more >= all,
				       .frequency = all / samples,
				       .directed = more / samples,
				       .reversed = (is_forward ? backward : forward) / samples};
}

static void sum_edge(const struct discovering *discovering, struct sn_causal_edge *edge,
		     struct room *room)
{
	for (uint32_t number = 1; number <= discovering->options->samples; number++) {
		const struct measured *measured =
		    direct_in(&discovering->samples[number], edge->from, edge->to);
		if (measured)
			note(room, measured);
	}
	edge->effect = sum_effects(room, direct_in(&discovering->samples[0], edge->from, edge->to));
}

SN_SORT_BY(sort_edges, struct sn_causal_edge, const void *,
	   SN_ORDER(a->to, b->to) ?: SN_ORDER(b->frequency, a->frequency)
				      ?: SN_ORDER(a->from, b->from));

static int collect_edges(struct sn_discovery *discovery, const struct discovering *discovering,
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

static int collect_totals(struct sn_discovery *discovery, const struct discovering *discovering,
			  struct room *room)
{
	size_t capacity = 0;
	uint32_t samples = discovering->options->samples, target = discovering->options->target;
	int result = 0;
	for (uint32_t from = 0; !result && from < discovering->prepared->count; from++) {
		uint32_t count = 0;
		for (uint32_t number = 0; number <= samples; number++) {
			const struct sample *sample = &discovering->samples[number];
			const struct measured *measured =
			    measured_in(sample->totals, sample->total_count, from, target);
			if (!number || !measured)
				continue;
			note(room, measured);
			count++;
		}
		const struct sample *whole = &discovering->samples[0];
		struct sn_target_cause total = {
		    from, (double)count / samples,
		    sum_effects(room,
				measured_in(whole->totals, whole->total_count, from, target))};
		if (total.frequency >= SN_FREQUENT)
			result = sn_vec_push(&discovery->totals, &capacity, &discovery->total_count,
					     total);
	}
	sort_totals(discovery->totals, discovery->total_count, NULL);
	return result;
}

static int collect(struct sn_discovery *discovery, const struct discovering *discovering)
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
	*discovery = (struct sn_discovery){0};
}

static int make_levels(struct discovering *discovering)
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

/* All but the graph of all rows, which goes to the caller where there is one to. */
static void release(struct discovering *discovering, struct sn_discovery *discovery)
{
	for (size_t number = 0; discovering->samples && number <= discovering->options->samples;
	     number++) {
		struct sample *sample = &discovering->samples[number];
		if (discovery && !number)
			discovery->graph = sample->graph;
		else
			sn_pdag_release(&sample->graph);
		free(sample->direct);
		free(sample->totals);
	}
	for (uint32_t variable = 0; discovering->levels && variable < discovering->prepared->count;
	     variable++)
		free(discovering->levels[variable]);
	free(discovering->levels);
	free(discovering->level_counts);
	free(discovering->samples);
}

int sn_discover(struct sn_discovery *discovery, const struct sn_prepared *prepared,
		const struct sn_discovery_options *options, struct sn_error *error)
{
	struct discovering discovering = {.prepared = prepared, .options = options};
	size_t all = (size_t)options->samples + 1;
	*discovery = (struct sn_discovery){0};
	discovering.samples = calloc(all, sizeof(*discovering.samples));
	int result = discovering.samples ? make_levels(&discovering) : SN_ERR_MEMORY;
	result =
	    result ? result
		   : sn_pool_run(sn_pool_threads(options->threads), all, work_sample, &discovering);
	result = result ? result : collect(discovery, &discovering);
	if (!result)
		discovery->score = discovering.samples[0].score;
	release(&discovering, result ? NULL : discovery);
	return sn_fail_code(error, result);
}
