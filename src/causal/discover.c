/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of samples of the rows, and what they have in common; see discover.h. */
#include "discover.h"

#include "base/pool.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "cholesky.h"
#include "correlations.h"
#include "discrete_score.h"
#include "gaussian_score.h"
#include "order_search.h"
#include "random.h"

#include <math.h>

#define STARTS		    3u
#define DISTURBANCES	    57u
/* Of a sample: its graphs are many, and their differences are what is asked for. */
#define SAMPLE_STARTS	    2u
#define SAMPLE_DISTURBANCES 6u

struct effect {
	uint32_t from, to;
	double value, share; /* of the variance */
};

/* What one sample of the rows says; number 0 is all rows. */
struct sample {
	struct sn_pdag graph; /* completed */
	struct effect *effects;
	uint32_t effect_count;
	size_t effect_capacity;
};

struct discovering {
	const struct sn_prepared *prepared;
	const struct sn_discovery_options *options;
	struct sample *samples;
};

/* ---- one sample ---- */

/* The rows of a sample, and what is computed of them. */
struct drawn {
	const struct sn_prepared *prepared;
	uint32_t *times; /* how often each row is in it; NULL: once */
	uint8_t **categories;
	double *correlations;
	double *room; /* for a factor of them */
};

static void forget(struct drawn *drawn)
{
	for (uint32_t variable = 0; drawn->categories && variable < drawn->prepared->count;
	     variable++)
		free(drawn->categories[variable]);
	free(drawn->categories);
	free(drawn->times);
	free(drawn->correlations);
	free(drawn->room);
	*drawn = (struct drawn){0};
}

static int draw_times(struct drawn *drawn, uint64_t seed, size_t number)
{
	size_t rows = drawn->prepared->rows;
	struct sn_random random;
	drawn->times = calloc(rows + 1, sizeof(*drawn->times));
	if (!drawn->times)
		return SN_ERR_MEMORY;
	sn_random_begin(&random, seed, number);
	for (size_t row = 0; row < rows; row++)
		drawn->times[sn_random_below(&random, (uint32_t)rows)]++;
	return 0;
}

static int copy_categories(struct drawn *drawn)
{
	const struct sn_prepared *prepared = drawn->prepared;
	drawn->categories = calloc(prepared->count + 1, sizeof(*drawn->categories));
	for (uint32_t variable = 0; variable < prepared->count; variable++) {
		const uint8_t *from = prepared->categories[variable];
		uint8_t *to = drawn->categories ? malloc(prepared->rows + 1) : NULL;
		if (!to)
			return SN_ERR_MEMORY;
		drawn->categories[variable] = to;
		for (size_t row = 0; row < prepared->rows; row++)
			for (uint32_t time = 0; time < (drawn->times ? drawn->times[row] : 1);
			     time++)
				*to++ = from[row];
	}
	return 0;
}

static int draw(struct drawn *drawn, const struct sn_prepared *prepared, uint64_t seed,
		size_t number)
{
	uint32_t dimensions = prepared->first[prepared->count];
	*drawn = (struct drawn){.prepared = prepared};
	int result = number ? draw_times(drawn, seed, number) : 0;
	if (!result && prepared->is_discrete)
		result = copy_categories(drawn);
	drawn->correlations = malloc((size_t)dimensions * dimensions * sizeof(double) + 1);
	drawn->room = malloc((size_t)dimensions * (dimensions + 1) / 2 * sizeof(double) + 1);
	if (result || !drawn->correlations || !drawn->room)
		return SN_ERR_MEMORY;
	return sn_correlations(prepared->values, dimensions, prepared->rows, drawn->times,
			       drawn->correlations);
}

/* The directed graph of a sample. */
static int search(struct drawn *drawn, const struct sn_discovery_options *options, size_t number,
		  struct sn_pdag *graph)
{
	const struct sn_prepared *prepared = drawn->prepared;
	struct sn_discrete_table table = {prepared->count, prepared->rows,
					  (const uint8_t *const *)drawn->categories,
					  prepared->levels};
	struct sn_discrete_score discrete = {0};
	struct sn_gaussian_score gaussian = {0};
	struct sn_order_search asked = {.count = prepared->count,
					.knowledge = options->knowledge,
					.starts = number ? SAMPLE_STARTS : STARTS,
					.disturbances = number ? SAMPLE_DISTURBANCES : DISTURBANCES,
					.seed = options->seed + number};
	int result;
	if (prepared->is_discrete) {
		result = sn_discrete_score_init(&discrete, &table);
		asked.score = (struct sn_score){sn_discrete_score_of, &discrete};
	} else {
		result = sn_gaussian_score_init(&gaussian, drawn->correlations, prepared->first,
						prepared->count, prepared->rows);
		/* the extended criterion: edges that may be are more with the columns */
		gaussian.penalty = 1 + 2 * log(prepared->count) / log((double)prepared->rows);
		asked.score = (struct sn_score){sn_gaussian_score_of, &gaussian};
	}
	result = result ? result : sn_order_search(&asked, graph, NULL);
	sn_discrete_score_release(&discrete);
	sn_gaussian_score_release(&gaussian);
	return result;
}

/* Into `chosen` the dimensions of all causes of `to` but `from`, then theirs. Their number. */
static uint32_t choose(const struct sn_prepared *prepared, const struct sn_pdag *graph,
		       uint32_t from, uint32_t to, uint32_t *chosen)
{
	uint32_t count = 0;
	SN_BITS_EACH(graph->in + to * graph->words, graph->words, cause)
	for (uint32_t dimension = prepared->first[cause];
	     cause != from && dimension < prepared->first[cause + 1]; dimension++)
		chosen[count++] = dimension;
	chosen[count++] = prepared->first[from];
	chosen[count++] = prepared->first[to];
	return count;
}

/* The effect of each cause on what it causes, where both are ordered. */
static int measure(struct drawn *drawn, const struct sn_pdag *graph, struct sample *sample)
{
	const struct sn_prepared *prepared = drawn->prepared;
	uint32_t dimensions = prepared->first[prepared->count];
	uint32_t *chosen = malloc((dimensions + 2) * sizeof(*chosen));
	int result = chosen ? 0 : SN_ERR_MEMORY;
	const struct sn_cholesky cholesky = {drawn->correlations, dimensions, chosen, drawn->room};
	for (uint32_t to = 0; !result && to < prepared->count; to++)
		SN_BITS_EACH(graph->in + to * graph->words, graph->words, cause)
		{
			uint32_t from = (uint32_t)cause;
			if (!prepared->is_ordered[from] || !prepared->is_ordered[to])
				continue;
			uint32_t count = choose(prepared, graph, from, to, chosen);
			for (uint32_t row = 0; row < count; row++)
				sn_cholesky_add(&cholesky, row);
			double own = drawn->room[sn_cholesky_at(count - 2, count - 2)];
			double shared = drawn->room[sn_cholesky_at(count - 1, count - 2)];
			struct effect effect = {from, to, own > 0 ? shared / own : 0,
						shared * shared};
			if (sn_vec_push(&sample->effects, &sample->effect_capacity,
					&sample->effect_count, effect))
				result = SN_ERR_MEMORY;
		}
	free(chosen);
	return result;
}

static int work_sample(void *context, unsigned worker, size_t number)
{
	struct discovering *discovering = context;
	struct sample *sample = &discovering->samples[number];
	struct drawn drawn;
	(void)worker;
	int result = draw(&drawn, discovering->prepared, discovering->options->seed, number);
	result = result ? result : sn_pdag_init(&sample->graph, discovering->prepared->count);
	result = result ? result : search(&drawn, discovering->options, number, &sample->graph);
	result = result ? result : measure(&drawn, &sample->graph, sample);
	result =
	    result ? result : sn_pdag_to_class(&sample->graph, discovering->options->knowledge);
	forget(&drawn);
	return result;
}

/* ---- what samples have in common ---- */

static uint32_t with_direction(const struct discovering *discovering, uint32_t from, uint32_t to)
{
	uint32_t count = 0;
	for (uint32_t number = 1; number <= discovering->options->samples; number++)
		count += sn_pdag_is_directed(&discovering->samples[number].graph, from, to);
	return count;
}

static uint32_t without_direction(const struct discovering *discovering, uint32_t a, uint32_t b)
{
	uint32_t count = 0;
	for (uint32_t number = 1; number <= discovering->options->samples; number++)
		count += sn_pdag_is_undirected(&discovering->samples[number].graph, a, b);
	return count;
}

SN_SORT_BY(sort_effects, double, const void *, SN_ORDER(*a, *b));

static const struct effect *effect_in(const struct sample *sample, uint32_t from, uint32_t to)
{
	for (uint32_t number = 0; number < sample->effect_count; number++)
		if (sample->effects[number].from == from && sample->effects[number].to == to)
			return &sample->effects[number];
	return NULL;
}

/* Of the samples that direct it so, or leave it open and were directed so. `room` has one number for each sample. */
static void sum_effects(const struct discovering *discovering, struct sn_causal_edge *edge,
			double *room)
{
	const struct effect *whole = effect_in(&discovering->samples[0], edge->from, edge->to);
	uint32_t count = 0, same = 0;
	for (uint32_t number = 1; number <= discovering->options->samples; number++) {
		const struct effect *effect =
		    effect_in(&discovering->samples[number], edge->from, edge->to);
		if (effect)
			room[count++] = effect->value;
	}
	edge->effect = edge->effect_low = edge->effect_high = edge->share = NAN;
	if (!count)
		return;
	sort_effects(room, count, NULL);
	edge->effect = room[count / 2];
	edge->effect_low = room[(uint32_t)(0.025 * (count - 1) + 0.5)];
	edge->effect_high = room[(uint32_t)(0.975 * (count - 1) + 0.5)];
	for (uint32_t number = 0; number < count; number++)
		same += (room[number] > 0) == (edge->effect > 0);
	edge->same_sign = (double)same / count;
	if (whole)
		edge->share = whole->share;
}

static struct sn_causal_edge edge_of(const struct discovering *discovering, uint32_t a, uint32_t b)
{
	double samples = discovering->options->samples;
	uint32_t forward = with_direction(discovering, a, b),
		 backward = with_direction(discovering, b, a),
		 open = without_direction(discovering, a, b);
	bool is_forward = forward >= backward;
	uint32_t more = is_forward ? forward : backward;
	return (struct sn_causal_edge){.from = is_forward ? a : b,
				       .to = is_forward ? b : a,
				       .is_directed = 2 * more >= forward + backward + open,
				       .frequency = (forward + backward + open) / samples,
				       .directed = more / samples,
				       .reversed = (is_forward ? backward : forward) / samples};
}

SN_SORT_BY(sort_edges, struct sn_causal_edge, const void *,
	   SN_ORDER(a->to, b->to) ?: SN_ORDER(b->frequency, a->frequency)
				      ?: SN_ORDER(a->from, b->from));

static int collect(struct sn_discovery *discovery, const struct discovering *discovering)
{
	size_t capacity = 0;
	double *room = malloc((discovering->options->samples + 1) * sizeof(*room));
	int result = room ? 0 : SN_ERR_MEMORY;
	for (uint32_t b = 0; !result && b < discovering->prepared->count; b++)
		for (uint32_t a = 0; !result && a < b; a++) {
			struct sn_causal_edge edge = edge_of(discovering, a, b);
			if (edge.frequency < 0.5)
				continue;
			sum_effects(discovering, &edge, room);
			result =
			    sn_vec_push(&discovery->edges, &capacity, &discovery->edge_count, edge);
		}
	sort_edges(discovery->edges, discovery->edge_count, NULL);
	free(room);
	return result;
}

void sn_discovery_release(struct sn_discovery *discovery)
{
	sn_pdag_release(&discovery->graph);
	free(discovery->edges);
	*discovery = (struct sn_discovery){0};
}

int sn_discover(struct sn_discovery *discovery, const struct sn_prepared *prepared,
		const struct sn_discovery_options *options, struct sn_error *error)
{
	struct discovering discovering = {.prepared = prepared, .options = options};
	size_t all = (size_t)options->samples + 1;
	*discovery = (struct sn_discovery){0};
	discovering.samples = calloc(all, sizeof(*discovering.samples));
	int result = discovering.samples ? sn_pool_run(sn_pool_threads(options->threads), all,
						       work_sample, &discovering)
					 : SN_ERR_MEMORY;
	result = result ? result : collect(discovery, &discovering);
	for (size_t number = 0; discovering.samples && number < all; number++) {
		if (!result && !number)
			discovery->graph = discovering.samples[number].graph;
		else
			sn_pdag_release(&discovering.samples[number].graph);
		free(discovering.samples[number].effects);
	}
	free(discovering.samples);
	return sn_fail_code(error, result);
}
