/* SPDX-License-Identifier: Apache-2.0 */
/* The steps from a table to causes, in their order; see causal.h. */
#include "causal.h"

#include "screen/screen.h"
#include "columns/squares.h"

#include <stdlib.h>

void sn_causal_release(struct sn_causal *causal)
{
	free(causal->adjusted);
	sn_pc_release(&causal->second);
	sn_non_normal_release(&causal->non_normal);
	sn_discovery_release(&causal->found);
	sn_prior_free_knowledge(&causal->knowledge);
	sn_prepared_release(&causal->prepared);
	sn_repeats_release(&causal->repeats);
	*causal = (struct sn_causal){0};
}

static int refuse_many(uint32_t dimensions, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_ARGUMENT,
		       "%u columns, counting the levels of text, are too many to compare all with "
		       "each other, which is done up to %u: say by --target which one to explain",
		       dimensions, SN_SEARCHED_MOST);
}

static int know(struct sn_causal *causal, const struct sn_prior *prior,
		struct sn_discovery_options *options, bool *is_set, struct sn_error *error)
{
	causal->target = prior->target == UINT32_MAX
			     ? UINT32_MAX
			     : sn_prepared_find(&causal->prepared, prior->target);
	for (uint32_t variable = 0; variable < causal->prepared.count; variable++)
		is_set[variable] = sn_prior_is_set(prior, causal->prepared.columns[variable]);
	options->is_set = is_set;
	options->knowledge = &causal->knowledge;
	options->target = causal->target;
	sn_prior_free_knowledge(&causal->knowledge);
	return sn_prior_knowledge(prior, &causal->prepared, &causal->knowledge, error);
}

/* Which variables there are, and what is known of them. `chosen`: of all rows and each sample those that are compared in it, the caller's to free; NULL: all. */
static int choose(struct sn_causal *causal, const struct sn_prior *prior,
		  struct sn_discovery_options *options, bool *is_set, uint64_t **chosen,
		  struct sn_error *error)
{
	uint32_t dimensions = causal->prepared.first[causal->prepared.count];
	if (prior->target == UINT32_MAX && dimensions > SN_SEARCHED_MOST)
		return refuse_many(dimensions, error);
	int result = know(causal, prior, options, is_set, error);
	if (!result && causal->target != UINT32_MAX && dimensions > SN_SCREEN_ABOVE) {
		result = sn_squares_add_of(&causal->prepared, causal->target);
		result = result ? result : sn_prepared_stratify(&causal->prepared);
		result = sn_fail_code(error, result);
		if (!result)
			result = sn_fail_code(error, sn_screen(&causal->prepared, options, chosen));
		result = result ? result : know(causal, prior, options, is_set, error);
		options->chosen = *chosen;
	}
	if (!result)
		result = sn_fail_code(error, sn_squares_add(&causal->prepared, SN_SCREEN_ABOVE));
	if (!result)
		result = sn_fail_code(error, sn_prepared_stratify(&causal->prepared));
	if (!result)
		result = sn_fail_code(
		    error, sn_non_normal_init(&causal->non_normal, &causal->prepared, prior->table,
					      &causal->knowledge, options->threads));
	options->non_normal = &causal->non_normal;
	return result;
}

static int prepare(struct sn_causal *causal, const struct sn_prior *prior,
		   struct sn_discovery_options *options, bool **is_set, uint64_t **chosen,
		   struct sn_error *error)
{
	double *configurations;
	int result = sn_fail_code(error, sn_configurations_find(&configurations, prior));
	const struct sn_prepare_options preparing = {.target = prior->target,
						     .cluster = prior->cluster,
						     .are_stretches = prior->are_stretches,
						     .configurations = configurations,
						     .identity = prior->tier_count ? prior->identity
										   : UINT32_MAX,
						     .tiers = prior->tiers};
	result = result ? result : sn_prepare(&causal->prepared, prior->table, &preparing, error);
	free(configurations);
	if (result)
		return result;
	*is_set = calloc(causal->prepared.count + 1, sizeof(**is_set));
	return *is_set ? choose(causal, prior, options, *is_set, chosen, error)
		       : sn_fail_memory(error);
}

/* The second opinion and the baselines, which take little time: rank 0 computes them alone. */
static int compare(struct sn_causal *causal, const struct sn_prior *prior, unsigned threads)
{
	int result =
	    sn_second_opinion(&causal->second, &causal->prepared, &causal->knowledge, threads);
	return result ? result
		      : sn_baselines(causal->baselines, &causal->prepared, prior->table,
				     &causal->knowledge, &causal->found);
}

int sn_causal(struct sn_causal *causal, const struct sn_prior *prior,
	      struct sn_discovery_options options, struct sn_error *error)
{
	const struct sn_peers *peers = options.peers ? options.peers : &sn_peers_alone;
	bool *is_set = NULL;
	uint64_t *chosen = NULL;
	*causal = (struct sn_causal){.table = prior->table,
				     .target = UINT32_MAX,
				     .cluster = prior->cluster,
				     .samples = options.samples};
	int result = prepare(causal, prior, &options, &is_set, &chosen, error);
	result = sn_peers_agree(peers, result, error);
	if (!result)
		result = sn_discover(&causal->found, &causal->prepared, &options, error);
	free(chosen);
	free(is_set);
	if (!result)
		result = sn_adjusted_find(&causal->adjusted, causal, prior, peers, options.threads,
					  error);
	if (!result && !peers->rank())
		result = sn_fail_code(error, compare(causal, prior, options.threads));
	return result;
}
