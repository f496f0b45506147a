/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a sample of the rows, and the effects in it; see sample.h. */
#include "sample.h"

#include "base/vec.h"
#include "causal/cholesky.h"
#include "causal/levels.h"
#include "causal/rows/row_sample.h"
#include "causal/search/subset_search.h"

#include <math.h>
#include <stdlib.h>

#define STARTS		    3u
#define DISTURBANCES	    57u
/* Of a sample: its graphs are many, and their differences are what is asked for. */
#define SAMPLE_STARTS	    2u
#define SAMPLE_DISTURBANCES 6u

struct measuring {
	const struct sn_row_sample *rows;
	const struct sn_pdag *graph; /* directed */
	uint32_t *chosen;	     /* dimensions of the regression; room for all */
	double *factor;
	double *sums, *within; /* of groups of rows: levels.h */
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
static struct sn_measured_effect regress(const struct measuring *measuring, uint32_t held,
					 uint32_t from, uint32_t to)
{
	const struct sn_prepared *prepared = measuring->rows->prepared;
	const struct sn_cholesky cholesky = {measuring->rows->correlations,
					     prepared->first[prepared->count], measuring->chosen,
					     measuring->factor};
	struct sn_measured_effect measured = {from, to, NAN, 0, NAN, false};
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

static int measure_edges(const struct measuring *measuring, struct sn_graph_sample *sample)
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

static bool is_set(const struct sn_discovering *discovering, uint32_t variable)
{
	return discovering->options->is_set && discovering->options->is_set[variable];
}

/*
 * By the back-door criterion a variable's own causes are all that has to be held. What was set from outside has none; but settings that are chosen together are
 * correlated, and those that lead to the target would be taken for it.
 */
static uint32_t choose_held(const struct sn_discovering *discovering,
			    const struct measuring *measuring, uint32_t from, const uint64_t *ways)
{
	uint32_t held = choose_causes(measuring, from, UINT32_MAX);
	if (!is_set(discovering, from))
		return held;
	SN_BITS_EACH(ways, measuring->graph->words, other)
	if (other != from && is_set(discovering, (uint32_t)other))
		held = choose(measuring, (uint32_t)other, held);
	return held;
}

/* Repeats of a configuration say as much as one row where they are alike, and are taken so. */
static double independent_part(const struct sn_prepared *prepared)
{
	const struct sn_clusters *repeats =
	    prepared->repeats.of ? &prepared->repeats : &prepared->clusters;
	return repeats->of && repeats->kind == SN_CLUSTERS_REPEATS
		   ? (double)repeats->count / (double)prepared->rows
		   : 1;
}

/* The share of a number that was set, whose effect need not rise or fall, by the means of its values. */
static double share_of_levels(const struct sn_discovering *discovering,
			      const struct measuring *measuring, uint32_t held, uint32_t from,
			      uint32_t target)
{
	const struct sn_prepared *prepared = discovering->prepared;
	measuring->chosen[held] = prepared->first[target];
	return sn_levels_share(
	    &(struct sn_levels_question){.levels = discovering->levels[from],
					 .level_count = discovering->level_counts[from],
					 .rows = prepared->rows,
					 .times = measuring->rows->times,
					 .part = independent_part(prepared),
					 .chosen = measuring->chosen,
					 .count = held + 1,
					 .dimensions = prepared->first[prepared->count],
					 .values = prepared->values,
					 .correlations = measuring->rows->correlations,
					 .sums = measuring->sums,
					 .within = measuring->within});
}

/* `ways`: the variables that lead to the target. */
static struct sn_measured_effect measure_total(const struct sn_discovering *discovering,
					       const struct measuring *measuring, uint32_t from,
					       uint32_t target, const uint64_t *ways)
{
	const struct sn_prepared *prepared = discovering->prepared;
	uint32_t held = choose_held(discovering, measuring, from, ways);
	struct sn_measured_effect measured = regress(measuring, held, from, target);
	/* the correction for chance does not know how alike rows of given clusters are */
	if (discovering->levels[from] && prepared->is_ordered[target] &&
	    (prepared->clusters.kind != SN_CLUSTERS_GIVEN ||
	     sn_rows_are_independent(&prepared->clusters)))
		measured.share = share_of_levels(discovering, measuring, held, from, target);
	if (fabs(measured.turning) > measured.share)
		measured.turning = copysign(measured.share, measured.turning);
	return measured;
}

/* The effect of each variable that leads to the target, or was set from outside: of these it is known whether or not there is a way. */
static int measure_totals(const struct sn_discovering *discovering,
			  const struct measuring *measuring, struct sn_graph_sample *sample)
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
	for (uint32_t from = 0; !result && from < graph->count; from++) {
		bool has_way = sn_bits_has(found, from);
		if (from == target || (!has_way && !is_set(discovering, from)))
			continue;
		struct sn_measured_effect measured =
		    measure_total(discovering, measuring, from, target, found);
		measured.has_way = has_way;
		result = sn_vec_push(&sample->totals, &sample->total_capacity, &sample->total_count,
				     measured);
	}
	free(found);
	return result;
}

static int measure(const struct sn_discovering *discovering, const struct sn_row_sample *rows,
		   struct sn_graph_sample *sample)
{
	uint32_t dimensions = rows->prepared->first[rows->prepared->count];
	struct measuring measuring = {
	    .rows = rows,
	    .graph = &sample->graph,
	    .chosen = malloc((2 * (size_t)dimensions + 1) * sizeof(uint32_t)),
	    .factor = malloc((size_t)(dimensions + 1) * (dimensions + 2) / 2 * sizeof(double) + 1),
	    .sums = malloc((size_t)(dimensions + 1) * SN_LEVELS_VALUES * sizeof(double)),
	    .within = malloc((size_t)(dimensions + 1) * (dimensions + 1) * sizeof(double))};
	int result = measuring.chosen && measuring.factor && measuring.sums && measuring.within
			 ? 0
			 : SN_ERR_MEMORY;
	result = result ? result : measure_edges(&measuring, sample);
	if (!result && discovering->options->target != UINT32_MAX)
		result = measure_totals(discovering, &measuring, sample);
	free(measuring.chosen);
	free(measuring.factor);
	free(measuring.sums);
	free(measuring.within);
	return result;
}

/*
 * Makes the sample's directed graph the completed one of its class, in which residuals may direct some more; effects are those along a graph of
 * that class.
 */
static int complete(const struct sn_discovering *discovering, const struct sn_row_sample *rows,
		    struct sn_graph_sample *sample)
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

/* ---- samples ---- */

static unsigned starts_of(size_t number)
{
	return number ? SAMPLE_STARTS : STARTS;
}

static unsigned disturbances_of(size_t number)
{
	return number ? SAMPLE_DISTURBANCES : DISTURBANCES;
}

uint64_t sn_graph_sample_weight(const void *context, size_t number)
{
	(void)context;
	return starts_of(number) * (1 + disturbances_of(number));
}

int sn_graph_sample_work(void *context, unsigned worker, size_t number)
{
	struct sn_discovering *discovering = context;
	const struct sn_discovery_options *options = discovering->options;
	struct sn_graph_sample *sample = &discovering->samples[number];
	size_t words = sn_bits_words(discovering->prepared->count);
	const uint64_t *among = options->chosen ? options->chosen + number * words : NULL;
	struct sn_row_sample rows;
	(void)worker;
	int result = sn_row_sample_draw(&rows, discovering->prepared, options->seed, number);
	struct sn_order_search search = {.count = discovering->prepared->count,
					 .knowledge = options->knowledge,
					 .score = rows.score,
					 .starts = starts_of(number),
					 .disturbances = disturbances_of(number),
					 .seed = options->seed + number};
	result = result ? result : sn_pdag_init(&sample->graph, discovering->prepared->count);
	result = result ? result : sn_subset_search(&search, among, &sample->graph, &sample->score);
	result = result ? result : complete(discovering, &rows, sample);
	sn_row_sample_release(&rows);
	return result;
}

void sn_graph_sample_release(struct sn_graph_sample *sample)
{
	sn_pdag_release(&sample->graph);
	free(sample->direct);
	free(sample->totals);
	*sample = (struct sn_graph_sample){0};
}
