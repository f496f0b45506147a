/* SPDX-License-Identifier: Apache-2.0 */
/* The search over orders; see order_search.h. */
#include "order_search.h"

#include "base/error.h"
#include "grow_tree.h"
#include "causal/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 4u /* rounds */
#define GAIN	 1e-7

struct search {
	uint32_t count;
	size_t words;
	const struct sn_knowledge *knowledge;
	struct sn_grow_tree *trees; /* of each variable */
	uint64_t *among;
	uint32_t *order, *others, *best;
	double *before, *after; /* scores of those before a place, and of those from it on */
	struct sn_random random;
};

static void end(struct search *search)
{
	for (uint32_t variable = 0; search->trees && variable < search->count; variable++)
		sn_grow_tree_release(&search->trees[variable]);
	free(search->trees);
	free(search->among);
	free(search->order);
	free(search->before);
	*search = (struct search){0};
}

static int begin(struct search *search, const struct sn_order_search *asked)
{
	uint32_t count = asked->count;
	*search = (struct search){
	    .count = count, .words = sn_bits_words(count), .knowledge = asked->knowledge};
	sn_random_begin(&search->random, asked->seed, 0);
	search->trees = calloc((size_t)count + 1, sizeof(*search->trees));
	search->among = calloc(search->words + 1, sizeof(*search->among));
	search->order = calloc(3 * ((size_t)count + 1), sizeof(*search->order));
	search->before = calloc(2 * ((size_t)count + 2), sizeof(*search->before));
	if (!search->trees || !search->among || !search->order || !search->before)
		return SN_ERR_MEMORY;
	search->others = search->order + count + 1;
	search->best = search->others + count + 1;
	search->after = search->before + count + 2;
	for (uint32_t variable = 0; variable < count; variable++)
		sn_grow_tree_init(&search->trees[variable], variable, count, &asked->score,
				  asked->knowledge);
	return 0;
}

static bool has_failed(const struct search *search)
{
	for (uint32_t variable = 0; variable < search->count; variable++)
		if (search->trees[variable].failed)
			return true;
	return false;
}

static double ask(struct search *search, uint32_t variable)
{
	return sn_grow_tree_ask(&search->trees[variable], search->among, NULL, NULL);
}

/* ---- one variable to its best place ---- */

/* The scores of all others, with the variable after them and before them. */
static void score_others(struct search *search, uint32_t variable)
{
	uint32_t count = search->count - 1;
	memset(search->among, 0, search->words * sizeof(*search->among));
	search->before[0] = 0;
	for (uint32_t place = 0; place < count; place++) {
		search->before[place + 1] =
		    search->before[place] + ask(search, search->others[place]);
		sn_bits_add(search->among, search->others[place]);
	}
	sn_bits_add(search->among, variable);
	search->after[count] = 0;
	for (uint32_t place = count; place-- > 0;) {
		sn_bits_remove(search->among, search->others[place]);
		search->after[place] =
		    search->after[place + 1] + ask(search, search->others[place]);
	}
}

/* Between what causes the variable and what it causes, as far as that is required: the first place, and the last one. */
static void allowed_places(const struct search *search, uint32_t variable, uint32_t *first,
			   uint32_t *last)
{
	*first = 0;
	*last = search->count - 1;
	for (uint32_t place = 0; place + 1 < search->count; place++) {
		uint32_t other = search->others[place];
		if (sn_knowledge_requires(search->knowledge, other, variable))
			*first = place + 1;
		if (*last > place && sn_knowledge_requires(search->knowledge, variable, other))
			*last = place;
	}
}

/* The best place among the others, of equal ones any; *gain is what it is better by than `now`. */
static uint32_t best_place(struct search *search, uint32_t variable, uint32_t now, double *gain)
{
	double best = -INFINITY, at_now = -INFINITY;
	uint32_t found = now, equal = 0, first, last;
	allowed_places(search, variable, &first, &last);
	memset(search->among, 0, search->words * sizeof(*search->among));
	for (uint32_t place = 0; place < first; place++)
		sn_bits_add(search->among, search->others[place]);
	for (uint32_t place = first; place <= last; place++) {
		double score = search->before[place] + ask(search, variable) + search->after[place];
		if (place == now)
			at_now = score;
		if (score > best + GAIN)
			equal = 0;
		if (score > best - GAIN && !sn_random_below(&search->random, ++equal)) {
			best = score;
			found = place;
		}
		if (place + 1 < search->count)
			sn_bits_add(search->among, search->others[place]);
	}
	/* rounding is no gain */
	*gain = best - at_now - 1e-12 * fabs(best);
	return found;
}

/* Whether that made the order better. */
static bool move(struct search *search, uint32_t variable)
{
	uint32_t now = 0, count = 0;
	double gain;
	for (uint32_t place = 0; place < search->count; place++) {
		if (search->order[place] == variable)
			now = place;
		else
			search->others[count++] = search->order[place];
	}
	score_others(search, variable);
	uint32_t place = best_place(search, variable, now, &gain);
	memcpy(search->order, search->others, place * sizeof(*search->order));
	search->order[place] = variable;
	memcpy(search->order + place + 1, search->others + place,
	       (count - place) * sizeof(*search->order));
	return gain > GAIN;
}

/*
 * Until for some rounds no move makes the order better. Its score. Orders of one class are equal, and from some of them no single move leads to a
 * better class: so moves to an equal place are made meanwhile.
 */
static double climb(struct search *search)
{
	for (uint32_t rounds = 0; rounds < PATIENCE; rounds++)
		for (uint32_t place = 0; place < search->count; place++)
			if (move(search, place))
				rounds = 0;
	double score = 0;
	memset(search->among, 0, search->words * sizeof(*search->among));
	for (uint32_t place = 0; place < search->count; place++) {
		score += ask(search, search->order[place]);
		sn_bits_add(search->among, search->order[place]);
	}
	return score;
}

/* ---- where it begins ---- */

static void swap(uint32_t *order, uint32_t a, uint32_t b)
{
	uint32_t kept = order[a];
	order[a] = order[b];
	order[b] = kept;
}

/* Puts what is required to cause something before it; else the order stays. `others` is room. */
static void respect_required(struct search *search)
{
	uint32_t count = 0;
	if (!search->knowledge || !search->knowledge->required)
		return;
	memset(search->among, 0, search->words * sizeof(*search->among));
	while (count < search->count)
		for (uint32_t place = 0; place < search->count; place++) {
			uint32_t variable = search->order[place];
			bool may_come = !sn_bits_has(search->among, variable);
			for (uint32_t cause = 0; may_come && cause < search->count; cause++)
				may_come =
				    sn_bits_has(search->among, cause) ||
				    !sn_knowledge_requires(search->knowledge, cause, variable);
			if (!may_come)
				continue;
			search->others[count++] = variable;
			sn_bits_add(search->among, variable);
			break;
		}
	memcpy(search->order, search->others, count * sizeof(*search->order));
}

static void shuffle(struct search *search)
{
	for (uint32_t place = 0; place < search->count; place++)
		search->order[place] = place;
	for (uint32_t place = search->count; place > 1; place--)
		swap(search->order, place - 1, sn_random_below(&search->random, place));
}

/* Some neighbours of the best order change places, of two to a third of all. */
static void disturb(struct search *search)
{
	uint32_t count = search->count, first = sn_random_below(&search->random, count);
	uint32_t length = 2 + sn_random_below(&search->random, count / 3 + 1);
	memcpy(search->order, search->best, count * sizeof(*search->order));
	for (uint32_t step = 0; step < length; step++)
		swap(search->order, (first + step) % count,
		     (first + sn_random_below(&search->random, length)) % count);
}

/* ---- the graph ---- */

static void add_edges(struct search *search, struct sn_pdag *graph)
{
	memset(search->among, 0, search->words * sizeof(*search->among));
	for (uint32_t place = 0; place < search->count; place++) {
		uint32_t variable = search->best[place], count = 0;
		const uint32_t *causes = NULL;
		sn_grow_tree_ask(&search->trees[variable], search->among, &causes, &count);
		for (uint32_t cause = 0; cause < count; cause++)
			sn_pdag_add_directed(graph, causes[cause], variable);
		sn_bits_add(search->among, variable);
	}
}

int sn_order_search(const struct sn_order_search *asked, struct sn_pdag *graph, double *score)
{
	struct search search;
	double best = -INFINITY;
	int result = begin(&search, asked);
	uint32_t rounds = asked->count ? asked->starts + asked->disturbances : 0;
	for (uint32_t round = 0; !result && round < rounds; round++) {
		if (round < asked->starts)
			shuffle(&search);
		else
			disturb(&search);
		respect_required(&search);
		double found = climb(&search);
		if (!round || found > best + GAIN) {
			best = found;
			memcpy(search.best, search.order, search.count * sizeof(*search.best));
		}
		result = has_failed(&search) ? SN_ERR_MEMORY : 0;
	}
	if (!result && asked->count)
		add_edges(&search, graph);
	if (score)
		*score = best;
	end(&search);
	return result;
}
