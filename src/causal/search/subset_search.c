/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of a subset under numbers of their own; see subset_search.h. */
#include "subset_search.h"

#include "base/error.h"

#include <stdlib.h>

struct subset {
	const struct sn_order_search *asked;
	uint32_t count, *members;  /* their numbers among all */
	uint32_t *parents, *added; /* room */
	uint16_t *tiers;
	uint64_t *forbidden, *required;
};

static const uint32_t *name(const struct subset *subset, const uint32_t *own, uint32_t count,
			    uint32_t *among_all)
{
	for (uint32_t place = 0; place < count; place++)
		among_all[place] = subset->members[own[place]];
	return among_all;
}

static double score_of(void *context, uint32_t variable, const uint32_t *parents, uint32_t count)
{
	struct subset *subset = context;
	const struct sn_score *score = &subset->asked->score;
	return score->of(score->context, subset->members[variable],
			 name(subset, parents, count, subset->parents), count);
}

static int score_with_each(void *context, uint32_t variable, const uint32_t *parents,
			   uint32_t count, const uint32_t *added, uint32_t added_count,
			   double *scores)
{
	struct subset *subset = context;
	const struct sn_score *score = &subset->asked->score;
	return score->with_each(score->context, subset->members[variable],
				name(subset, parents, count, subset->parents), count,
				name(subset, added, added_count, subset->added), added_count,
				scores);
}

static int score_without_each(void *context, uint32_t variable, const uint32_t *parents,
			      uint32_t count, double *scores)
{
	struct subset *subset = context;
	const struct sn_score *score = &subset->asked->score;
	return score->without_each(score->context, subset->members[variable],
				   name(subset, parents, count, subset->parents), count, scores);
}

static void copy_knowledge(const struct subset *subset, const struct sn_knowledge *all)
{
	size_t words = sn_bits_words(subset->count), all_words = sn_bits_words(all->count);
	for (uint32_t from = 0; from < subset->count; from++) {
		size_t row = subset->members[from] * all_words;
		subset->tiers[from] = all->tiers ? all->tiers[subset->members[from]] : 0;
		for (uint32_t to = 0; to < subset->count; to++) {
			uint32_t effect = subset->members[to];
			if (all->forbidden && sn_bits_has(all->forbidden + row, effect))
				sn_bits_add(subset->forbidden + from * words, to);
			if (all->required && sn_bits_has(all->required + row, effect))
				sn_bits_add(subset->required + from * words, to);
		}
	}
}

static int begin(struct subset *subset, const uint64_t *among)
{
	uint32_t all = subset->asked->count;
	subset->members = malloc((all + 1) * sizeof(*subset->members));
	subset->parents = malloc((all + 1) * sizeof(*subset->parents));
	subset->added = malloc((all + 1) * sizeof(*subset->added));
	if (!subset->members || !subset->parents || !subset->added)
		return SN_ERR_MEMORY;
	for (uint32_t variable = 0; variable < all; variable++)
		if (sn_bits_has(among, variable))
			subset->members[subset->count++] = variable;
	size_t bits = subset->count * sn_bits_words(subset->count) + 1;
	subset->tiers = calloc(subset->count + 1, sizeof(*subset->tiers));
	subset->forbidden = calloc(bits, sizeof(*subset->forbidden));
	subset->required = calloc(bits, sizeof(*subset->required));
	if (!subset->tiers || !subset->forbidden || !subset->required)
		return SN_ERR_MEMORY;
	if (subset->asked->knowledge)
		copy_knowledge(subset, subset->asked->knowledge);
	return 0;
}

static int search(struct subset *subset, struct sn_pdag *graph, double *score)
{
	struct sn_order_search own = *subset->asked;
	struct sn_knowledge knowledge = {subset->count, subset->tiers, subset->forbidden,
					 subset->required};
	struct sn_pdag found;
	own.count = subset->count;
	own.score = (struct sn_score){
	    score_of, subset, subset->asked->score.with_each ? score_with_each : NULL,
	    subset->asked->score.without_each ? score_without_each : NULL};
	own.knowledge = &knowledge;
	int result = sn_pdag_init(&found, subset->count);
	result = result ? result : sn_order_search(&own, &found, score);
	for (uint32_t to = 0; !result && to < subset->count; to++)
		SN_BITS_EACH(found.in + to * found.words, found.words, from)
	sn_pdag_add_directed(graph, subset->members[from], subset->members[to]);
	sn_pdag_release(&found);
	return result;
}

int sn_subset_search(const struct sn_order_search *asked, const uint64_t *among,
		     struct sn_pdag *graph, double *score)
{
	struct subset subset = {.asked = asked};
	const uint32_t none = 0;
	if (!among)
		return sn_order_search(asked, graph, score);
	int result = begin(&subset, among);
	result = result ? result : search(&subset, graph, score);
	for (uint32_t variable = 0; !result && variable < asked->count; variable++)
		if (!sn_bits_has(among, variable))
			*score += asked->score.of(asked->score.context, variable, &none, 0);
	free(subset.members);
	free(subset.parents);
	free(subset.added);
	free(subset.tiers);
	free(subset.forbidden);
	free(subset.required);
	return result;
}
