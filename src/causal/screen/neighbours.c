/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward selection among thousands of columns; see neighbours.h. */
#include "neighbours.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "causal/cholesky.h"
#include "causal/independence/blocks.h"
#include "causal/normal.h"
#include "causal/search/gaussian_score.h"
#include "causal/search/sum_score.h"
#include "causal/significance.h"
#include "part.h"

#include <math.h>

#define FALSE_RATE 0.05
#define FIRST_MOST 24u	/* neighbours of the target */
#define NEXT_MOST  8u	/* of each of these */
#define LEAST_LEFT 1e-4 /* of a dimension's variance: below that, those held determine it */
#define GAIN	   1e-9

struct choosing {
	const struct sn_neighbours *of;
	uint32_t count;
	struct sn_part parts[SN_STRATA_MOST];
	uint32_t part_count;
};

/* What is known of a variable in one part. */
struct view {
	double *left; /* of each dimension's variance: what those held do not explain */
	double *with; /* of each of the variable's dimensions its covariance with all, likewise */
	double *held; /* rows of the factor: dimensions held x all */
	size_t held_capacity;
	uint32_t held_count;
};

/* The model of one variable. */
struct model {
	uint32_t variable;
	struct view views[SN_STRATA_MOST];
	uint32_t pick_count, most;
	uint32_t first_most;  /* so many are picked among `is_first` alone, if there are any */
	uint32_t first_count; /* of the picks */
	bool *is_first;	      /* of each variable; or NULL */
	uint32_t picks[FIRST_MOST];
	double gains[FIRST_MOST];
	bool is_done;
};

static int fetch(struct choosing *choosing, const uint32_t *variables, uint32_t count)
{
	int result = 0;
	for (uint32_t number = 0; !result && number < choosing->part_count; number++)
		result = sn_part_fetch(&choosing->parts[number], variables, count);
	return result;
}

/* ---- one model ---- */

static void end_model(struct model *model)
{
	for (uint32_t number = 0; number < SN_STRATA_MOST; number++) {
		free(model->views[number].left);
		free(model->views[number].with);
		free(model->views[number].held);
	}
	free(model->is_first);
	*model = (struct model){0};
}

static int begin_view(const struct sn_part *part, struct view *view, uint32_t variable)
{
	uint32_t all = part->dimensions, size = sn_part_size(part, variable);
	view->left = malloc((all + 1) * sizeof(*view->left));
	view->with = malloc(((size_t)size * all + 1) * sizeof(*view->with));
	if (!view->left || !view->with)
		return SN_ERR_MEMORY;
	for (uint32_t dimension = 0; dimension < all; dimension++)
		view->left[dimension] = 1;
	for (uint32_t own = 0; own < size; own++)
		memcpy(view->with + (size_t)own * all, part->with_all[part->first[variable] + own],
		       all * sizeof(*view->with));
	return 0;
}

/* The variable's correlations with all have been made. */
static int begin_model(const struct choosing *choosing, struct model *model, uint32_t variable,
		       uint32_t most)
{
	int result = 0;
	*model = (struct model){.variable = variable, .most = most};
	for (uint32_t number = 0; !result && number < choosing->part_count; number++)
		result = begin_view(&choosing->parts[number], &model->views[number], variable);
	return result;
}

/* The covariance of two dimensions of one variable, without what those held explain. */
static double left_between(const struct sn_part *part, const struct view *view, uint32_t variable,
			   uint32_t a, uint32_t b)
{
	uint32_t size = sn_part_size(part, variable), first = part->first[variable];
	if (a == b)
		return view->left[first + a];
	double sum = part->inner[variable][(size_t)a * size + b];
	for (uint32_t held = 0; held < view->held_count; held++) {
		const double *row = view->held + (size_t)held * part->dimensions + first;
		sum -= row[a] * row[b];
	}
	return sum;
}

/* What one variable adds to the logarithm of another one's likelihood, where either has several dimensions. */
static double block_gain(const struct sn_part *part, const struct view *view, uint32_t of,
			 uint32_t variable)
{
	uint32_t others = sn_part_size(part, variable), own = sn_part_size(part, of);
	uint32_t all = others + own, chosen[2 * SN_PART_HELD_MOST];
	double sum = 0;
	for (uint32_t a = 0; a < all; a++)
		for (uint32_t b = 0; b <= a; b++) {
			double value;
			if (a < others)
				value = left_between(part, view, variable, a, b);
			else if (b >= others)
				value = left_between(part, view, of, a - others, b - others);
			else
				value = view->with[(size_t)(a - others) * part->dimensions +
						   part->first[variable] + b];
			part->small[(size_t)a * all + b] = part->small[(size_t)b * all + a] = value;
		}
	for (uint32_t place = 0; place < all; place++)
		chosen[place] = place;
	struct sn_cholesky cholesky = {part->small, all, chosen, part->factor};
	for (uint32_t row = 0; row < all; row++) {
		double left = sn_cholesky_add(&cholesky, row);
		sum -= row < others ? 0 : log(left);
	}
	cholesky.chosen = chosen + others;
	for (uint32_t row = 0; row < own; row++)
		sum += log(sn_cholesky_add(&cholesky, row));
	return part->rows / 2 * sum;
}

static double gain_in(const struct sn_part *part, const struct view *view, uint32_t of,
		      uint32_t variable)
{
	uint32_t size = sn_part_size(part, variable), own = sn_part_size(part, of);
	double penalty = sn_part_penalty(part, variable, of);
	if (!size || !own)
		return 0;
	if (size + own > 2 * SN_PART_HELD_MOST || view->held_count + size > SN_PART_HELD_MOST)
		return -INFINITY;
	if (size > 1 || own > 1)
		return block_gain(part, view, of, variable) - penalty;
	double left = view->left[part->first[variable]], of_own = view->left[part->first[of]];
	double with = view->with[part->first[variable]];
	if (left < LEAST_LEFT || of_own < LEAST_LEFT)
		return -penalty;
	double square = with * with / (left * of_own);
	return -part->rows / 2 * log1p(-fmin(square, 1 - SN_CHOLESKY_NOTHING)) - penalty;
}

static double gain_of(const struct choosing *choosing, const struct model *model, uint32_t variable)
{
	double sum = 0;
	for (uint32_t number = 0; number < choosing->part_count; number++)
		sum += gain_in(&choosing->parts[number], &model->views[number], model->variable,
			       variable);
	return sum;
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
static int hold_dimension(const struct sn_part *part, struct view *view, uint32_t of,
			  uint32_t dimension)
{
	uint32_t all = part->dimensions, first = part->first[of];
	double left = view->left[dimension];
	if (left < LEAST_LEFT)
		return 0;
	if (sn_vec_reserve(&view->held, &view->held_capacity,
			   ((size_t)view->held_count + 1) * all) < 0)
		return SN_ERR_MEMORY;
	double *row = view->held + (size_t)view->held_count * all, scale = 1 / sqrt(left);
	memcpy(row, part->with_all[dimension], all * sizeof(*row));
	for (uint32_t held = 0; held < view->held_count; held++) {
		const double *other = view->held + (size_t)held * all;
		double explained = other[dimension];
		for (uint32_t column = 0; column < all; column++)
			row[column] -= explained * other[column];
	}
	for (uint32_t column = 0; column < all; column++) {
		row[column] *= scale;
		view->left[column] -= row[column] * row[column];
	}
	for (uint32_t own = 0; own < sn_part_size(part, of); own++) {
		double explained = row[first + own], *with = view->with + (size_t)own * all;
		for (uint32_t column = 0; column < all; column++)
			with[column] -= explained * row[column];
	}
	view->held_count++;
	return 0;
}

static int hold_last(const struct choosing *choosing, struct model *model)
{
	uint32_t last = model->picks[model->pick_count - 1];
	int result = 0;
	for (uint32_t number = 0; number < choosing->part_count; number++) {
		const struct sn_part *part = &choosing->parts[number];
		for (uint32_t dimension = part->first[last];
		     !result && dimension < part->first[last + 1]; dimension++)
			result =
			    hold_dimension(part, &model->views[number], model->variable, dimension);
	}
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

/* What is compared of a model's variable, the last one, and its picks. */
struct copied {
	uint32_t first[FIRST_MOST + 2];
	double *correlations;
	bool is_marked[3 * SN_PART_HELD_MOST];
	struct sn_gaussian_score score;
};

static int copy_picks(const struct sn_part *part, const struct model *model, struct copied *copied)
{
	uint32_t dimensions[3 * SN_PART_HELD_MOST], count = 0;
	for (uint32_t place = 0; place <= model->pick_count; place++) {
		uint32_t variable =
		    place < model->pick_count ? model->picks[place] : model->variable;
		copied->first[place] = count;
		for (uint32_t dimension = part->first[variable];
		     dimension < part->first[variable + 1]; dimension++)
			dimensions[count++] = dimension;
	}
	copied->first[model->pick_count + 1] = count;
	copied->correlations = malloc((size_t)count * count * sizeof(double) + 1);
	if (!copied->correlations)
		return SN_ERR_MEMORY;
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++)
			copied->correlations[(size_t)a * count + b] =
			    part->with_all[dimensions[a]][dimensions[b]];
	for (uint32_t place = 0; part->is_marked && place < count; place++)
		copied->is_marked[place] = part->is_marked[dimensions[place]];
	int result = sn_gaussian_score_init(&copied->score, copied->correlations, copied->first,
					    model->pick_count + 1, (size_t)part->rows);
	copied->score.penalty = part->penalty;
	copied->score.penalty_marked = part->penalty_marked;
	copied->score.is_marked = part->is_marked ? copied->is_marked : NULL;
	return result;
}

/* The place in `kept`, from `first` on, of what is best left out; `count`: none. */
static uint32_t worst(const struct sn_score *score, uint32_t variable, const uint32_t *kept,
		      uint32_t first, uint32_t count)
{
	double best = score->of(score->context, variable, kept, count) + GAIN;
	uint32_t found = count, others[FIRST_MOST];
	for (uint32_t place = first; place < count; place++) {
		uint32_t other_count = 0;
		for (uint32_t other = 0; other < count; other++)
			if (other != place)
				others[other_count++] = kept[other];
		double without = score->of(score->context, variable, others, other_count);
		if (without > best) {
			best = without;
			found = place;
		}
	}
	return found;
}

/* Appends picks to the kept ones, and drops of those what is better dropped. The number that is kept then. */
static uint32_t keep_best(const struct sn_score *score, const struct model *model, uint32_t first,
			  uint32_t end, uint32_t *kept, uint32_t kept_before)
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
static void keep_picks(const struct sn_score *score, struct model *model)
{
	uint32_t kept[FIRST_MOST];
	uint32_t first_count = keep_best(score, model, 0, model->first_count, kept, 0);
	uint32_t count =
	    keep_best(score, model, model->first_count, model->pick_count, kept, first_count);
	for (uint32_t place = 0; place < count; place++) {
		model->picks[place] = model->picks[kept[place]];
		model->gains[place] = model->gains[kept[place]];
	}
	model->first_count = first_count;
	model->pick_count = count;
}

static int shrink(const struct choosing *choosing, struct model *model)
{
	struct copied copied[SN_STRATA_MOST] = {0};
	struct sn_sum_score sum = {.count = choosing->part_count};
	int result = 0;
	if (!model->pick_count)
		return 0;
	for (uint32_t number = 0; !result && number < choosing->part_count; number++) {
		result = copy_picks(&choosing->parts[number], model, &copied[number]);
		sum.of[number] =
		    (struct sn_score){.of = sn_gaussian_score_of, .context = &copied[number].score};
	}
	struct sn_score score = sn_sum_score(&sum);
	if (!result)
		keep_picks(&score, model);
	for (uint32_t number = 0; number < choosing->part_count; number++) {
		sn_gaussian_score_release(&copied[number].score);
		free(copied[number].correlations);
	}
	return result;
}

/* ---- whether anything depends on the target ---- */

/* Writes the correlations of a variable and the target, for a test of both. */
static int begin_test(const struct sn_part *part, uint32_t variable, uint32_t target,
		      uint32_t first[3], struct sn_blocks *blocks)
{
	uint32_t own = sn_part_size(part, variable), all = own + sn_part_size(part, target);
	first[0] = 0;
	first[1] = own;
	first[2] = all;
	for (uint32_t a = 0; a < all; a++)
		for (uint32_t b = 0; b < all; b++) {
			uint32_t low = a < b ? a : b, high = a < b ? b : a;
			double *value = &part->small[(size_t)a * all + b];
			if (a == b)
				*value = 1;
			else if (high < own)
				*value = part->inner[variable][(size_t)a * own + b];
			else
				*value =
				    part->with_all[part->first[target] + high - own]
						  [low < own ? part->first[variable] + low
							     : part->first[target] + low - own];
		}
	return sn_blocks_init(blocks, part->small, first, 2, (size_t)part->rows);
}

static double block_probability(const struct choosing *choosing, uint32_t variable)
{
	struct sn_blocks blocks[SN_STRATA_MOST] = {0};
	uint32_t first[SN_STRATA_MOST][3], given = 0;
	int result = 0;
	for (uint32_t number = 0; !result && number < choosing->part_count; number++) {
		result = begin_test(&choosing->parts[number], variable, choosing->of->target,
				    first[number], &blocks[number]);
		if (number)
			blocks[number - 1].also = &blocks[number];
	}
	struct sn_independence test = sn_blocks_test(blocks);
	double probability =
	    result ? SN_INDEPENDENCE_MEMORY : test.of(test.context, 0, 1, &given, 0);
	for (uint32_t number = 0; number < choosing->part_count; number++)
		sn_blocks_release(&blocks[number]);
	/* what cannot be tested speaks for nothing */
	return probability == SN_INDEPENDENCE_UNKNOWN ? 1 : probability;
}

static double probability_of(const struct choosing *choosing, uint32_t variable)
{
	const struct sn_part *part = &choosing->parts[0];
	uint32_t target = choosing->of->target;
	if (choosing->part_count > 1 || sn_part_size(part, variable) != 1 ||
	    sn_part_size(part, target) != 1)
		return block_probability(choosing, variable);
	double correlation = part->with_all[part->first[target]][part->first[variable]];
	return sn_normal_two_sided(sqrt(fmax(part->rows - 3, 0)) *
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

/* What a variable says of the target beside what another one says of it, by the first dimensions of all three: the gain of the criterion, twice. */
static double gain_beside(const struct sn_part *part, uint32_t target, uint32_t variable,
			  uint32_t other)
{
	if (!sn_part_size(part, variable) || !sn_part_size(part, target))
		return 0;
	uint32_t first = part->first[variable];
	const double *of_target = part->with_all[part->first[target]];
	const double *held = sn_part_size(part, other) ? part->with_all[part->first[other]] : NULL;
	double by_own = held ? held[first] : 0, by_target = held ? held[part->first[target]] : 0;
	double with = of_target[first] - by_target * by_own;
	double left = (1 - by_own * by_own) * (1 - by_target * by_target);
	double pair =
	    part->is_marked && part->is_marked[first] && part->is_marked[part->first[target]]
		? part->penalty_marked
		: part->penalty;
	double square = left < LEAST_LEFT ? 0 : fmin(with * with / left, 1 - SN_CHOLESKY_NOTHING);
	return -part->rows * log1p(-square) - 2 * pair;
}

/* A common cause of the other one and of the target says something beside the former; what the other one alone causes does not. */
static bool says_more(const struct choosing *choosing, uint32_t variable, uint32_t other)
{
	double gain = 0;
	for (uint32_t number = 0; number < choosing->part_count; number++)
		gain +=
		    gain_beside(&choosing->parts[number], choosing->of->target, variable, other);
	return gain > 0;
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

int sn_neighbours_choose(const struct sn_neighbours *of, uint64_t *chosen)
{
	const struct sn_prepared *prepared = of->prepared;
	struct choosing choosing = {
	    .of = of, .count = prepared->count, .part_count = prepared->strata.count};
	int result = 0;
	for (uint32_t number = 0; !result && number < choosing.part_count; number++)
		result = sn_part_begin(&choosing.parts[number], prepared, number, of->times);
	result = result ? result : choose(&choosing, chosen);
	for (uint32_t number = 0; number < choosing.part_count; number++)
		sn_part_end(&choosing.parts[number]);
	return result;
}
