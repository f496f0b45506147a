/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward selection among thousands of columns; see neighbours.h. */
#include "neighbours.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "causal/cholesky.h"
#include "causal/correlations.h"
#include "causal/independence/blocks.h"
#include "causal/normal.h"
#include "causal/row_sample.h"
#include "causal/search/gaussian_score.h"
#include "causal/significance.h"

#include <math.h>

#define FALSE_RATE 0.05
#define FIRST_MOST 24u	/* neighbours of the target */
#define NEXT_MOST  8u	/* of each of these */
#define HELD_MOST  128u /* dimensions of one model */
#define LEAST_LEFT 1e-4 /* of a dimension's variance: below that, those held determine it */
#define GAIN	   1e-9

struct choosing {
	const struct sn_neighbours *of;
	const uint32_t *first; /* dimension of each variable */
	uint32_t count, dimensions;
	double rows, penalty;
	const double *values; /* of the sample; value_rows for each dimension */
	double *sampled;      /* the same, or NULL: they are the prepared ones */
	size_t value_rows;
	double **with_all; /* of each dimension its correlations with all, or NULL */
	double **blocks;   /* memory of those */
	size_t block_count, block_capacity;
	double **inner; /* of each variable of several dimensions their correlations, else NULL */
	double *small, *factor; /* room for the covariances of two variables */
};

/* The model of one variable. */
struct model {
	uint32_t variable;
	double *left; /* of each dimension's variance: what those held do not explain */
	double *with; /* of each of the variable's dimensions its covariance with all, likewise */
	double *held; /* rows of the factor: dimensions held x all */
	size_t held_capacity;
	uint32_t held_count, pick_count, most;
	uint32_t first_most;  /* so many are picked among `is_first` alone, if there are any */
	uint32_t first_count; /* of the picks */
	bool *is_first;	      /* of each variable; or NULL */
	uint32_t picks[FIRST_MOST];
	double gains[FIRST_MOST];
	bool is_done;
};

static uint32_t size_of(const struct choosing *choosing, uint32_t variable)
{
	return choosing->first[variable + 1] - choosing->first[variable];
}

/* ---- correlations with all ---- */

/* Makes those that are not there yet, by one product. */
static int fetch(struct choosing *choosing, const uint32_t *variables, uint32_t count)
{
	uint32_t *missing = malloc((choosing->dimensions + 1) * sizeof(*missing)), found = 0;
	if (!missing)
		return SN_ERR_MEMORY;
	/* a mark, so that none is asked for twice */
	double mark;
	for (uint32_t number = 0; number < count; number++)
		for (uint32_t dimension = choosing->first[variables[number]];
		     dimension < choosing->first[variables[number] + 1]; dimension++)
			if (!choosing->with_all[dimension]) {
				choosing->with_all[dimension] = &mark;
				missing[found++] = dimension;
			}
	double *block =
	    found ? malloc((size_t)found * choosing->dimensions * sizeof(*block)) : NULL;
	int result = found && !block ? SN_ERR_MEMORY : 0;
	for (uint32_t place = 0; place < found; place++)
		choosing->with_all[missing[place]] =
		    block ? block + (size_t)place * choosing->dimensions : NULL;
	if (block && sn_vec_push(&choosing->blocks, &choosing->block_capacity,
				 &choosing->block_count, block)) {
		for (uint32_t place = 0; place < found; place++)
			choosing->with_all[missing[place]] = NULL;
		free(block);
		block = NULL;
		result = SN_ERR_MEMORY;
	}
	if (block)
		result = sn_correlations_with(choosing->values, choosing->dimensions,
					      choosing->value_rows, missing, found, block);
	free(missing);
	return result;
}

static int make_inner(struct choosing *choosing)
{
	size_t rows = choosing->value_rows;
	for (uint32_t variable = 0; variable < choosing->count; variable++) {
		uint32_t size = size_of(choosing, variable);
		if (size == 1)
			continue;
		double *inner = malloc((size_t)size * size * sizeof(*inner) + 1);
		choosing->inner[variable] = inner;
		if (!inner)
			return SN_ERR_MEMORY;
		if (sn_correlations(choosing->values + choosing->first[variable] * rows, size, rows,
				    NULL, inner))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* ---- one model ---- */

static void end_model(struct model *model)
{
	free(model->left);
	free(model->with);
	free(model->held);
	free(model->is_first);
	*model = (struct model){0};
}

/* The variable's correlations with all have been made. */
static int begin_model(const struct choosing *choosing, struct model *model, uint32_t variable,
		       uint32_t most)
{
	uint32_t all = choosing->dimensions, size = size_of(choosing, variable);
	*model = (struct model){.variable = variable, .most = most};
	model->left = malloc((all + 1) * sizeof(*model->left));
	model->with = malloc(((size_t)size * all + 1) * sizeof(*model->with));
	if (!model->left || !model->with)
		return SN_ERR_MEMORY;
	for (uint32_t dimension = 0; dimension < all; dimension++)
		model->left[dimension] = 1;
	for (uint32_t own = 0; own < size; own++)
		memcpy(model->with + (size_t)own * all,
		       choosing->with_all[choosing->first[variable] + own],
		       all * sizeof(*model->with));
	return 0;
}

/* The covariance of two dimensions of one variable, without what those held explain. */
static double left_between(const struct choosing *choosing, const struct model *model,
			   uint32_t variable, uint32_t a, uint32_t b)
{
	uint32_t size = size_of(choosing, variable), first = choosing->first[variable];
	if (a == b)
		return model->left[first + a];
	double sum = choosing->inner[variable][(size_t)a * size + b];
	for (uint32_t held = 0; held < model->held_count; held++) {
		const double *row = model->held + (size_t)held * choosing->dimensions + first;
		sum -= row[a] * row[b];
	}
	return sum;
}

/* What one variable adds to the logarithm of the likelihood, where either has several dimensions. */
static double block_gain(const struct choosing *choosing, const struct model *model,
			 uint32_t variable)
{
	uint32_t others = size_of(choosing, variable), own = size_of(choosing, model->variable);
	uint32_t all = others + own, chosen[2 * HELD_MOST];
	double sum = 0;
	for (uint32_t a = 0; a < all; a++)
		for (uint32_t b = 0; b <= a; b++) {
			double value;
			if (a < others)
				value = left_between(choosing, model, variable, a, b);
			else if (b >= others)
				value = left_between(choosing, model, model->variable, a - others,
						     b - others);
			else
				value = model->with[(size_t)(a - others) * choosing->dimensions +
						    choosing->first[variable] + b];
			choosing->small[(size_t)a * all + b] =
			    choosing->small[(size_t)b * all + a] = value;
		}
	for (uint32_t place = 0; place < all; place++)
		chosen[place] = place;
	struct sn_cholesky cholesky = {choosing->small, all, chosen, choosing->factor};
	for (uint32_t row = 0; row < all; row++) {
		double left = sn_cholesky_add(&cholesky, row);
		sum -= row < others ? 0 : log(left);
	}
	cholesky.chosen = chosen + others;
	for (uint32_t row = 0; row < own; row++)
		sum += log(sn_cholesky_add(&cholesky, row));
	return choosing->rows / 2 * sum;
}

/* The design effects of all pairs of a dimension of one and of the other variable. */
static double pairs_of(const struct choosing *choosing, uint32_t a, uint32_t b)
{
	const uint32_t *first = choosing->first;
	return sn_design_sum(&choosing->of->prepared->clusters.design, first[a], first[a + 1],
			     first[b], first[b + 1]);
}

static double gain_of(const struct choosing *choosing, const struct model *model, uint32_t variable)
{
	uint32_t size = size_of(choosing, variable), own = size_of(choosing, model->variable);
	uint32_t dimension = choosing->first[variable];
	double penalty = choosing->penalty * log(choosing->rows) / 2 *
			 pairs_of(choosing, variable, model->variable);
	if (size + own > 2 * HELD_MOST || model->held_count + size > HELD_MOST)
		return -INFINITY;
	if (size > 1 || own > 1)
		return block_gain(choosing, model, variable) - penalty;
	double left = model->left[dimension],
	       of_own = model->left[choosing->first[model->variable]];
	if (left < LEAST_LEFT || of_own < LEAST_LEFT)
		return -INFINITY;
	double square = model->with[dimension] * model->with[dimension] / (left * of_own);
	return -choosing->rows / 2 * log1p(-fmin(square, 1 - SN_CHOLESKY_NOTHING)) - penalty;
}

static bool may_be_neighbour(const struct choosing *choosing, const struct model *model,
			     uint32_t variable)
{
	const struct sn_knowledge *knowledge = choosing->of->knowledge;
	if (variable == model->variable || variable == choosing->of->target)
		return false;
	for (uint32_t pick = 0; pick < model->pick_count; pick++)
		if (model->picks[pick] == variable)
			return false;
	if (sn_knowledge_allows(knowledge, variable, model->variable))
		return true;
	return model->variable != choosing->of->target &&
	       sn_knowledge_allows(knowledge, model->variable, variable);
}

/* Picks the best variable, if any makes the criterion better. */
static void pick(const struct choosing *choosing, struct model *model)
{
	double best = GAIN;
	uint32_t found = UINT32_MAX;
	for (uint32_t variable = 0; variable < choosing->count; variable++) {
		if ((model->is_first && !model->is_first[variable]) ||
		    !may_be_neighbour(choosing, model, variable))
			continue;
		double gain = gain_of(choosing, model, variable);
		if (gain > best) {
			best = gain;
			found = variable;
		}
	}
	model->is_done = found == UINT32_MAX;
	if (model->is_done)
		return;
	model->gains[model->pick_count] = best;
	model->picks[model->pick_count++] = found;
}

/* First among some, then among all. */
static void pick_next(const struct choosing *choosing, struct model *model)
{
	if (model->is_first && model->pick_count < model->first_most) {
		pick(choosing, model);
		if (!model->is_done) {
			model->first_count++;
			return;
		}
	}
	free(model->is_first);
	model->is_first = NULL;
	pick(choosing, model);
}

/* Takes what a dimension explains out of all covariances. */
static int hold_dimension(const struct choosing *choosing, struct model *model, uint32_t dimension)
{
	uint32_t all = choosing->dimensions, first = choosing->first[model->variable];
	double left = model->left[dimension];
	if (left < LEAST_LEFT)
		return 0;
	if (sn_vec_reserve(&model->held, &model->held_capacity,
			   ((size_t)model->held_count + 1) * all) < 0)
		return SN_ERR_MEMORY;
	double *row = model->held + (size_t)model->held_count * all, scale = 1 / sqrt(left);
	memcpy(row, choosing->with_all[dimension], all * sizeof(*row));
	for (uint32_t held = 0; held < model->held_count; held++) {
		const double *other = model->held + (size_t)held * all;
		double part = other[dimension];
		for (uint32_t column = 0; column < all; column++)
			row[column] -= part * other[column];
	}
	for (uint32_t column = 0; column < all; column++) {
		row[column] *= scale;
		model->left[column] -= row[column] * row[column];
	}
	for (uint32_t own = 0; own < size_of(choosing, model->variable); own++) {
		double part = row[first + own], *with = model->with + (size_t)own * all;
		for (uint32_t column = 0; column < all; column++)
			with[column] -= part * row[column];
	}
	model->held_count++;
	return 0;
}

static int hold_last(const struct choosing *choosing, struct model *model)
{
	uint32_t last = model->picks[model->pick_count - 1];
	int result = 0;
	for (uint32_t dimension = choosing->first[last];
	     !result && dimension < choosing->first[last + 1]; dimension++)
		result = hold_dimension(choosing, model, dimension);
	return result;
}

/* All models a step further at once, so that the correlations that they need come of one product. */
static int grow(struct choosing *choosing, struct model *models, uint32_t count)
{
	uint32_t *picked = malloc((count + 1) * sizeof(*picked)), active = count;
	int result = picked ? 0 : SN_ERR_MEMORY;
	while (!result && active) {
		active = 0;
		for (uint32_t number = 0; number < count; number++) {
			struct model *model = &models[number];
			model->is_done |= model->pick_count == model->most;
			if (!model->is_done)
				pick_next(choosing, model);
			if (!model->is_done)
				picked[active++] = model->picks[model->pick_count - 1];
		}
		result = fetch(choosing, picked, active);
		for (uint32_t number = 0; !result && number < count; number++)
			if (!models[number].is_done)
				result = hold_last(choosing, &models[number]);
	}
	free(picked);
	return result;
}

/* ---- dropping ---- */

/* Of a model's variable and its picks. */
#define COPIED_MOST (3 * HELD_MOST)

/* The correlations of the picks, the first ones, and the model's variable; and how alike they are within clusters, if there are any. */
static int copy_picks(const struct choosing *choosing, const struct model *model, uint32_t *first,
		      double **correlations, double alike[COPIED_MOST])
{
	const double *all_alike = choosing->of->prepared->clusters.alike;
	uint32_t dimensions[COPIED_MOST], count = 0;
	for (uint32_t place = 0; place <= model->pick_count; place++) {
		uint32_t variable =
		    place < model->pick_count ? model->picks[place] : model->variable;
		first[place] = count;
		for (uint32_t dimension = choosing->first[variable];
		     dimension < choosing->first[variable + 1]; dimension++)
			dimensions[count++] = dimension;
	}
	first[model->pick_count + 1] = count;
	*correlations = malloc((size_t)count * count * sizeof(**correlations) + 1);
	if (!*correlations)
		return SN_ERR_MEMORY;
	for (uint32_t place = 0; all_alike && place < count; place++)
		alike[place] = all_alike[dimensions[place]];
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++)
			(*correlations)[(size_t)a * count + b] =
			    choosing->with_all[dimensions[a]][dimensions[b]];
	return 0;
}

/* The place in `kept`, from `first` on, of what is best left out; `count`: none. */
static uint32_t worst(struct sn_gaussian_score *score, uint32_t variable, const uint32_t *kept,
		      uint32_t first, uint32_t count)
{
	double best = sn_gaussian_score_of(score, variable, kept, count) + GAIN;
	uint32_t found = count, others[FIRST_MOST];
	for (uint32_t place = first; place < count; place++) {
		uint32_t other_count = 0;
		for (uint32_t other = 0; other < count; other++)
			if (other != place)
				others[other_count++] = kept[other];
		double without = sn_gaussian_score_of(score, variable, others, other_count);
		if (without > best) {
			best = without;
			found = place;
		}
	}
	return found;
}

/* Appends picks to the kept ones, and drops of those what is better dropped. The number that is kept then. */
static uint32_t keep_best(struct sn_gaussian_score *score, const struct model *model,
			  uint32_t first, uint32_t end, uint32_t *kept, uint32_t kept_before)
{
	uint32_t count = kept_before, place;
	for (place = first; place < end; place++)
		kept[count++] = place;
	while ((place = worst(score, model->pick_count, kept, kept_before, count)) < count) {
		memmove(kept + place, kept + place + 1, (count - place - 1) * sizeof(*kept));
		count--;
	}
	return count;
}

/* The first picks by themselves: many effects of a variable would else say all that a common cause of it and the target says. */
static int shrink(const struct choosing *choosing, struct model *model)
{
	uint32_t first[FIRST_MOST + 2], kept[FIRST_MOST], count;
	struct sn_gaussian_score score = {0};
	double *correlations = NULL, alike[COPIED_MOST];
	const struct sn_clusters *clusters = &choosing->of->prepared->clusters;
	if (!model->pick_count)
		return 0;
	int result = copy_picks(choosing, model, first, &correlations, alike);
	result = result ? result
			: sn_gaussian_score_init(&score, correlations, first, model->pick_count + 1,
						 (size_t)choosing->rows);
	score.penalty = choosing->penalty;
	score.design = (struct sn_design){clusters->design.rows, clusters->of ? alike : NULL};
	if (!result) {
		uint32_t first_count = keep_best(&score, model, 0, model->first_count, kept, 0);
		count = keep_best(&score, model, model->first_count, model->pick_count, kept,
				  first_count);
		for (uint32_t place = 0; place < count; place++) {
			model->picks[place] = model->picks[kept[place]];
			model->gains[place] = model->gains[kept[place]];
		}
		model->first_count = first_count;
		model->pick_count = count;
	}
	sn_gaussian_score_release(&score);
	free(correlations);
	return result;
}

/* ---- whether anything depends on the target ---- */

static double block_probability(const struct choosing *choosing, uint32_t variable,
				double *correlations)
{
	uint32_t target = choosing->of->target, own = size_of(choosing, variable);
	uint32_t all = own + size_of(choosing, target), first[3] = {0, own, all}, given = 0;
	const struct sn_clusters *clusters = &choosing->of->prepared->clusters;
	struct sn_blocks blocks;
	double probability = SN_INDEPENDENCE_MEMORY, alike[2 * HELD_MOST];
	for (uint32_t place = 0; clusters->of && place < all; place++)
		alike[place] = clusters->alike[place < own ? choosing->first[variable] + place
							   : choosing->first[target] + place - own];
	for (uint32_t a = 0; a < all; a++)
		for (uint32_t b = 0; b < all; b++) {
			uint32_t low = a < b ? a : b, high = a < b ? b : a;
			double *value = &correlations[(size_t)a * all + b];
			if (a == b)
				*value = 1;
			else if (high < own)
				*value = choosing->inner[variable][(size_t)a * own + b];
			else
				*value =
				    choosing
					->with_all[choosing->first[target] + high - own]
						  [low < own ? choosing->first[variable] + low
							     : choosing->first[target] + low - own];
		}
	if (!sn_blocks_init(&blocks, correlations, first, 2, (size_t)choosing->rows)) {
		struct sn_independence test = sn_blocks_test(&blocks);
		blocks.design =
		    (struct sn_design){clusters->design.rows, clusters->of ? alike : NULL};
		probability = test.of(test.context, 0, 1, &given, 0);
	}
	sn_blocks_release(&blocks);
	return probability;
}

static double probability_of(const struct choosing *choosing, uint32_t variable)
{
	uint32_t target = choosing->of->target;
	if (size_of(choosing, variable) > 1 || size_of(choosing, target) > 1)
		return block_probability(choosing, variable, choosing->small);
	double correlation = choosing->with_all[choosing->first[target]][choosing->first[variable]];
	double rows = choosing->rows / pairs_of(choosing, variable, target);
	return sn_normal_two_sided(sqrt(fmax(rows - 3, 0)) *
				   atanh(fmin(fabs(correlation), 1 - SN_CHOLESKY_NOTHING)));
}

/* 1 if a variable depends on the target, 0 if none does, or SN_ERR_MEMORY. */
static int depends_on_any(const struct choosing *choosing)
{
	double *probabilities = malloc((choosing->count + 1) * sizeof(*probabilities));
	double harmonic = 0, threshold = -1;
	uint32_t count = 0;
	int result = probabilities ? 0 : SN_ERR_MEMORY;
	for (uint32_t variable = 0; !result && variable < choosing->count; variable++) {
		if (variable == choosing->of->target)
			continue;
		double probability = probability_of(choosing, variable);
		if (probability == SN_INDEPENDENCE_MEMORY)
			result = SN_ERR_MEMORY;
		probabilities[count++] = probability;
		harmonic += 1.0 / count;
	}
	if (!result)
		threshold = sn_discovery_threshold(probabilities, count, FALSE_RATE / harmonic);
	free(probabilities);
	return result ? result : threshold >= 0;
}

/* ---- all of it ---- */

struct neighbour {
	uint32_t variable;
	bool is_first;
	double gain;
};

SN_SORT_BY(sort_neighbours, struct neighbour, const void *,
	   SN_ORDER(b->is_first, a->is_first) ?: SN_ORDER(b->gain, a->gain)
						     ?: SN_ORDER(a->variable, b->variable));

/* Those of the models, the largest gain first, as far as there is room. */
static void take(const struct model *models, uint32_t count, uint32_t taken, uint64_t *chosen)
{
	struct neighbour found[FIRST_MOST * FIRST_MOST];
	uint32_t all = 0;
	for (uint32_t number = 0; number < count; number++)
		for (uint32_t place = 0; place < models[number].pick_count; place++)
			found[all++] = (struct neighbour){models[number].picks[place],
							  place < models[number].first_count,
							  models[number].gains[place]};
	sort_neighbours(found, all, NULL);
	for (uint32_t place = 0; place < all && taken < SN_NEIGHBOURS_MOST; place++) {
		taken += !sn_bits_has(chosen, found[place].variable);
		sn_bits_add(chosen, found[place].variable);
	}
}

/* Whether the target depends on a variable beside what another one says of it, by the first dimensions of all three. A common cause of
 * the other one and of the target is such a variable; what the other one alone causes is not. */
static bool says_more(const struct choosing *choosing, uint32_t variable, uint32_t other)
{
	const double *held = choosing->with_all[choosing->first[other]];
	uint32_t target = choosing->first[choosing->of->target], first = choosing->first[variable];
	double with_target = choosing->with_all[target][first] - held[target] * held[first];
	double left = (1 - held[first] * held[first]) * (1 - held[target] * held[target]);
	if (left < LEAST_LEFT)
		return false;
	double square = fmin(with_target * with_target / left, 1 - SN_CHOLESKY_NOTHING);
	return -choosing->rows * log1p(-square) >
	       choosing->penalty * log(choosing->rows) *
		   sn_design_effect(&choosing->of->prepared->clusters.design, target, first);
}

static int begin_next(const struct choosing *choosing, struct model *model, uint32_t variable)
{
	int result = begin_model(choosing, model, variable, 2 * NEXT_MOST);
	model->is_first = calloc(choosing->count + 1, sizeof(*model->is_first));
	model->first_most = NEXT_MOST;
	if (!model->is_first)
		return SN_ERR_MEMORY;
	for (uint32_t other = 0; other < choosing->count; other++)
		model->is_first[other] = says_more(choosing, other, variable);
	return result;
}

static int choose_next(struct choosing *choosing, const struct model *target, uint64_t *chosen)
{
	struct model models[FIRST_MOST] = {0};
	uint32_t count = target->pick_count;
	int result = 0;
	for (uint32_t number = 0; !result && number < count; number++)
		result = begin_next(choosing, &models[number], target->picks[number]);
	result = result ? result : grow(choosing, models, count);
	for (uint32_t number = 0; !result && number < count; number++)
		result = shrink(choosing, &models[number]);
	if (!result)
		take(models, count, target->pick_count, chosen);
	for (uint32_t number = 0; number < count; number++)
		end_model(&models[number]);
	return result;
}

static int choose(struct choosing *choosing, uint64_t *chosen)
{
	uint32_t target = choosing->of->target;
	struct model model = {0};
	int result = fetch(choosing, &target, 1);
	result = result ? result : make_inner(choosing);
	sn_bits_add(chosen, target);
	int depends = result ? result : depends_on_any(choosing);
	if (depends <= 0)
		return depends;
	result = begin_model(choosing, &model, target, FIRST_MOST);
	result = result ? result : grow(choosing, &model, 1);
	result = result ? result : shrink(choosing, &model);
	if (!result)
		take(&model, 1, 0, chosen);
	result = result ? result : choose_next(choosing, &model, chosen);
	end_model(&model);
	return result;
}

static int begin(struct choosing *choosing)
{
	const struct sn_prepared *prepared = choosing->of->prepared;
	size_t room = (size_t)(2 * HELD_MOST) * (2 * HELD_MOST + 1);
	choosing->with_all = calloc(choosing->dimensions + 1, sizeof(*choosing->with_all));
	choosing->inner = calloc(choosing->count + 1, sizeof(*choosing->inner));
	choosing->small = malloc(room * sizeof(*choosing->small));
	choosing->factor = malloc(room * sizeof(*choosing->factor));
	choosing->values = prepared->values;
	choosing->value_rows = prepared->rows;
	if (!choosing->with_all || !choosing->inner || !choosing->small || !choosing->factor)
		return SN_ERR_MEMORY;
	if (!choosing->of->times)
		return 0;
	choosing->sampled =
	    sn_correlations_sample(prepared->values, choosing->dimensions, prepared->rows,
				   choosing->of->times, &choosing->value_rows);
	choosing->values = choosing->sampled;
	return choosing->sampled ? 0 : SN_ERR_MEMORY;
}

int sn_neighbours_choose(const struct sn_neighbours *of, uint64_t *chosen)
{
	const struct sn_prepared *prepared = of->prepared;
	struct choosing choosing = {.of = of,
				    .first = prepared->first,
				    .count = prepared->count,
				    .dimensions = prepared->first[prepared->count],
				    .rows = (double)sn_row_sample_count(of->times, prepared->rows),
				    .penalty = sn_prepared_penalty(prepared)};
	int result = begin(&choosing);
	result = result ? result : choose(&choosing, chosen);
	for (size_t block = 0; block < choosing.block_count; block++)
		free(choosing.blocks[block]);
	for (uint32_t variable = 0; choosing.inner && variable < choosing.count; variable++)
		free(choosing.inner[variable]);
	free(choosing.blocks);
	free(choosing.inner);
	free(choosing.with_all);
	free(choosing.sampled);
	free(choosing.small);
	free(choosing.factor);
	return result;
}
