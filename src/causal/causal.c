/* SPDX-License-Identifier: Apache-2.0 */
/* The steps from a table to causes, in their order; see causal.h. */
#include "causal.h"

#include <stdlib.h>

void sn_causal_release(struct sn_causal *causal)
{
	sn_pc_release(&causal->second);
	sn_non_normal_release(&causal->non_normal);
	sn_discovery_release(&causal->found);
	sn_prior_free_knowledge(&causal->knowledge);
	sn_prepared_release(&causal->prepared);
	*causal = (struct sn_causal){0};
}

int sn_causal(struct sn_causal *causal, const struct sn_prior *prior,
	      struct sn_discovery_options options, struct sn_error *error)
{
	const struct sn_prepare_options preparing = {prior->target, prior->tiers};
	*causal = (struct sn_causal){
	    .table = prior->table, .target = UINT32_MAX, .samples = options.samples};
	int result = sn_prepare(&causal->prepared, prior->table, &preparing, error);
	result = result ? result
			: sn_prior_knowledge(prior, &causal->prepared, &causal->knowledge, error);
	if (result)
		return result;
	if (prior->target != UINT32_MAX)
		causal->target = sn_prepared_find(&causal->prepared, prior->target);
	bool *is_set = calloc(causal->prepared.count + 1, sizeof(*is_set));
	if (!is_set)
		return sn_fail_memory(error);
	for (uint32_t variable = 0; variable < causal->prepared.count; variable++)
		is_set[variable] = sn_prior_is_set(prior, causal->prepared.columns[variable]);
	options.is_set = is_set;
	options.knowledge = &causal->knowledge;
	options.target = causal->target;
	options.non_normal = &causal->non_normal;
	result = sn_fail_code(error, sn_non_normal_init(&causal->non_normal, &causal->prepared,
							prior->table, &causal->knowledge,
							options.threads));
	if (!result)
		result = sn_discover(&causal->found, &causal->prepared, &options, error);
	free(is_set);
	if (!result)
		result =
		    sn_fail_code(error, sn_second_opinion(&causal->second, &causal->prepared,
							  &causal->knowledge, options.threads));
	return result ? result
		      : sn_fail_code(error, sn_baselines(causal->baselines, &causal->prepared,
							 prior->table, &causal->knowledge,
							 &causal->found));
}
