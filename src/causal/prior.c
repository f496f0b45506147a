/* SPDX-License-Identifier: Apache-2.0 */
/* A user's knowledge, from texts to sets of variables; see prior.h. */
#include "prior.h"

#include "base/vec.h"

#include <fnmatch.h>

int sn_prior_init(struct sn_prior *prior, const struct sn_causal_table *table, const char *target,
		  struct sn_error *error)
{
	*prior = (struct sn_prior){
	    .table = table, .target = UINT32_MAX, .cluster = UINT32_MAX, .identity = UINT32_MAX};
	prior->tiers = malloc((table->column_count + 1) * sizeof(*prior->tiers));
	if (!prior->tiers)
		return sn_fail_memory(error);
	for (uint32_t column = 0; column < table->column_count; column++)
		prior->tiers[column] = SN_PRIOR_UNNAMED;
	if (!target)
		return 0;
	prior->target = sn_causal_table_find(table, target);
	if (prior->target == UINT32_MAX)
		return sn_fail(error, SN_ERR_ARGUMENT, "there is no column '%s'", target);
	return 0;
}

void sn_prior_release(struct sn_prior *prior)
{
	free(prior->tiers);
	free(prior->pairs);
	*prior = (struct sn_prior){0};
}

int sn_prior_set_cluster(struct sn_prior *prior, const char *name, struct sn_error *error)
{
	prior->cluster = sn_causal_table_find(prior->table, name);
	if (prior->cluster == UINT32_MAX)
		return sn_fail(error, SN_ERR_ARGUMENT, "there is no column '%s'", name);
	if (prior->cluster == prior->target)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%s' is what is to be explained, and cannot tell which rows belong "
			       "together",
			       name);
	return 0;
}

/* ---- texts ---- */

static bool fits(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

static int name_column(struct sn_prior *prior, uint32_t column, uint16_t tier,
		       struct sn_error *error)
{
	uint16_t *own = &prior->tiers[column];
	if (*own != SN_PRIOR_UNNAMED && *own != tier)
		return sn_fail(error, SN_ERR_ARGUMENT, "column '%s' is in two tiers",
			       prior->table->columns[column].name);
	*own = tier;
	return 0;
}

static int name_columns(struct sn_prior *prior, const char *pattern, struct sn_error *error)
{
	bool is_found = false;
	int result = 0;
	for (uint32_t column = 0; !result && column < prior->table->column_count; column++)
		if (fits(pattern, prior->table->columns[column].name)) {
			is_found = true;
			result = name_column(prior, column, prior->tier_count, error);
		}
	if (!result && !is_found)
		result = sn_fail(error, SN_ERR_ARGUMENT, "no column fits '%s'", pattern);
	return result;
}

int sn_prior_add_tier(struct sn_prior *prior, const char *text, struct sn_error *error)
{
	char *copy = strdup(text), *rest = copy, *pattern;
	int result = copy ? 0 : sn_fail_memory(error);
	/* a name may have commas in it */
	if (!result && sn_causal_table_find(prior->table, text) != UINT32_MAX)
		result = name_columns(prior, text, error);
	else
		while (!result && (pattern = strsep(&rest, ",")))
			result = name_columns(prior, pattern, error);
	free(copy);
	prior->tier_count++;
	return result;
}

static int add_pair(struct sn_prior *prior, uint32_t from, uint32_t to, bool is_required)
{
	return sn_vec_push(&prior->pairs, &prior->pair_capacity, &prior->pair_count,
			   (struct sn_prior_pair){from, to, is_required});
}

int sn_prior_add_pair(struct sn_prior *prior, const char *text, bool is_required,
		      struct sn_error *error)
{
	const struct sn_causal_table *table = prior->table;
	const char *arrow = strstr(text, "->");
	size_t before = prior->pair_count;
	int result = 0;
	if (!arrow || arrow == text || !arrow[2])
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s' is not of the form FROM->TO", text);
	char *left = strndup(text, (size_t)(arrow - text));
	if (!left)
		return sn_fail_memory(error);
	for (uint32_t from = 0; !result && from < table->column_count; from++)
		for (uint32_t to = 0; !result && to < table->column_count; to++)
			if (from != to && fits(left, table->columns[from].name) &&
			    fits(arrow + 2, table->columns[to].name))
				result = add_pair(prior, from, to, is_required);
	free(left);
	if (!result && prior->pair_count == before)
		return sn_fail(error, SN_ERR_ARGUMENT, "no columns fit '%s'", text);
	return sn_fail_code(error, result);
}

void sn_prior_finish(struct sn_prior *prior)
{
	for (uint32_t column = 0; column < prior->table->column_count; column++)
		if (prior->tiers[column] == SN_PRIOR_UNNAMED)
			prior->tiers[column] =
			    (uint16_t)(prior->tier_count + (column == prior->target));
}

static int add_pairs(struct sn_prior *prior, const struct sn_prior_list *pairs, bool is_required,
		     struct sn_error *error)
{
	int result = 0;
	for (size_t pair = 0; !result && pair < pairs->count; pair++)
		result = sn_prior_add_pair(prior, pairs->items[pair], is_required, error);
	return result;
}

int sn_prior_read(struct sn_prior *prior, const struct sn_causal_table *table,
		  const struct sn_prior_texts *texts, struct sn_error *error)
{
	int result = sn_prior_init(prior, table, texts->target, error);
	if (!result && texts->cluster)
		result = sn_prior_set_cluster(prior, texts->cluster, error);
	for (size_t tier = 0; !result && tier < texts->tiers.count; tier++)
		result = sn_prior_add_tier(prior, texts->tiers.items[tier], error);
	result = result ? result : add_pairs(prior, &texts->forbidden, false, error);
	result = result ? result : add_pairs(prior, &texts->required, true, error);
	if (!result)
		sn_prior_finish(prior);
	return result;
}

bool sn_prior_is_set(const struct sn_prior *prior, uint32_t column)
{
	return prior->tier_count && !prior->tiers[column];
}

/* ---- knowledge of variables ---- */

void sn_prior_free_knowledge(struct sn_knowledge *knowledge)
{
	free((void *)knowledge->tiers);
	free((void *)knowledge->forbidden);
	free((void *)knowledge->required);
	*knowledge = (struct sn_knowledge){0};
}

/* The variable that stands for a column, or UINT32_MAX: it says nothing. */
static uint32_t variable_for(const struct sn_prepared *prepared, uint32_t column)
{
	for (uint32_t number = 0; number < prepared->left_count; number++)
		if (prepared->left[number].column == column &&
		    prepared->left[number].why == SN_LEFT_SAME)
			column = prepared->left[number].same_as;
	return sn_prepared_find(prepared, column);
}

/* What is set from outside has no cause among its like. */
static void forbid_first_tier(const struct sn_prior *prior, const struct sn_prepared *prepared,
			      uint64_t *forbidden)
{
	size_t words = sn_bits_words(prepared->count);
	for (uint32_t from = 0; from < prepared->count; from++)
		for (uint32_t to = 0; to < prepared->count; to++)
			if (sn_prior_is_set(prior, prepared->columns[from]) &&
			    sn_prior_is_set(prior, prepared->columns[to]))
				sn_bits_add(forbidden + from * words, to);
}

static int refuse_pair(const struct sn_prior *prior, const struct sn_prior_pair *pair,
		       const char *why, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_ARGUMENT, "'%s->%s' is required, but %s",
		       prior->table->columns[pair->from].name, prior->table->columns[pair->to].name,
		       why);
}

/* Whether `to` leads to `from` by what is required. */
static bool closes_circle(const struct sn_knowledge *knowledge, uint64_t *reached, uint32_t from,
			  uint32_t to)
{
	size_t words = sn_bits_words(knowledge->count);
	bool has_grown = true;
	memset(reached, 0, words * sizeof(*reached));
	sn_bits_add(reached, to);
	while (has_grown && !sn_bits_has(reached, from)) {
		has_grown = false;
		for (uint32_t item = 0; item < knowledge->count; item++)
			for (size_t word = 0; sn_bits_has(reached, item) && word < words; word++) {
				uint64_t added =
				    knowledge->required[item * words + word] & ~reached[word];
				reached[word] |= added;
				has_grown |= added != 0;
			}
	}
	return sn_bits_has(reached, from);
}

static int add_known_pair(const struct sn_prior *prior, const struct sn_prepared *prepared,
			  const struct sn_prior_pair *pair, const struct sn_knowledge *knowledge,
			  uint64_t *room, struct sn_error *error)
{
	size_t words = sn_bits_words(prepared->count);
	uint32_t from = variable_for(prepared, pair->from), to = variable_for(prepared, pair->to);
	if (from == UINT32_MAX || to == UINT32_MAX || from == to)
		return 0;
	if (!pair->is_required) {
		sn_bits_add((uint64_t *)knowledge->forbidden + from * words, to);
		return 0;
	}
	if (closes_circle(knowledge, room, from, to))
		return refuse_pair(prior, pair, "so is the other way round", error);
	sn_bits_add((uint64_t *)knowledge->required + from * words, to);
	return 0;
}

static int check_required(const struct sn_prior *prior, const struct sn_prepared *prepared,
			  const struct sn_knowledge *knowledge, struct sn_error *error)
{
	for (size_t number = 0; number < prior->pair_count; number++) {
		const struct sn_prior_pair *pair = &prior->pairs[number];
		uint32_t from = variable_for(prepared, pair->from),
			 to = variable_for(prepared, pair->to);
		if (pair->is_required && from != UINT32_MAX && to != UINT32_MAX && from != to &&
		    !sn_knowledge_allows(knowledge, from, to))
			return refuse_pair(prior, pair, "forbidden or against the tiers", error);
	}
	return 0;
}

int sn_prior_knowledge(const struct sn_prior *prior, const struct sn_prepared *prepared,
		       struct sn_knowledge *knowledge, struct sn_error *error)
{
	uint32_t count = prepared->count;
	size_t words = sn_bits_words(count);
	uint16_t *tiers = calloc(count + 1, sizeof(*tiers));
	uint64_t *forbidden = calloc(count * words + 1, sizeof(*forbidden)),
		 *required = calloc(count * words + 1, sizeof(*required)),
		 *room = calloc(words + 1, sizeof(*room));
	int result = 0;
	*knowledge = (struct sn_knowledge){count, tiers, forbidden, required};
	if (!tiers || !forbidden || !required || !room) {
		free(room);
		return sn_fail_memory(error);
	}
	for (uint32_t variable = 0; variable < count; variable++)
		tiers[variable] = prior->tiers[prepared->columns[variable]];
	forbid_first_tier(prior, prepared, forbidden);
	for (size_t number = 0; !result && number < prior->pair_count; number++)
		result =
		    add_known_pair(prior, prepared, &prior->pairs[number], knowledge, room, error);
	free(room);
	return result ? result : check_required(prior, prepared, knowledge, error);
}
