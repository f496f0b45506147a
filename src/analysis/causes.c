/* SPDX-License-Identifier: Apache-2.0 */
/* What is found in a table, for a program; see sonde/analysis.h. */
#include "observations.h"

#include "show/causal/causal_answer.h"

#include <stdlib.h>

struct sonde_causes {
	struct sn_prior prior;
	struct sn_causal causal;
	char *json;
};

/* ---- the search ---- */

/* Kept, since what is asked afterwards may come from several threads. */
static int write_json(struct sonde_causes *causes, struct sn_error *error)
{
	size_t length;
	struct sn_page page = {0};
	struct sn_json json = {.out = open_memstream(&causes->json, &length)};
	if (!json.out)
		return sn_fail_memory(error);
	sn_causal_show(&causes->causal, &page);
	sn_causal_json_object(&causes->causal, NULL, 0, &page, &json);
	bool has_failed = fclose(json.out) || page.has_failed;
	sn_page_release(&page);
	return has_failed ? sn_fail_memory(error) : 0;
}

static int find(struct sonde_causes *causes, const struct sonde_table *table,
		const struct sonde_causes_options *options, struct sn_error *error)
{
	const struct sn_discovery_options search = {
	    .samples = options->samples ? options->samples : SN_CAUSAL_SAMPLES,
	    .threads = options->threads,
	    .seed = options->seed ? options->seed : SN_CAUSAL_SEED};
	const struct sn_prior_texts texts = {options->target,
					     {options->tiers.items, options->tiers.count},
					     {options->forbidden.items, options->forbidden.count},
					     {options->required.items, options->required.count},
					     options->cluster};
	if (search.samples < SN_CAUSAL_SAMPLES_LEAST || search.samples > SN_CAUSAL_SAMPLES_MOST)
		return sn_fail(error, SN_ERR_ARGUMENT, "samples is %u, and must be %d to %d",
			       search.samples, SN_CAUSAL_SAMPLES_LEAST, SN_CAUSAL_SAMPLES_MOST);
	int result = sn_prior_read(&causes->prior, &table->table, &texts, error);
	result = result ? result : sn_causal(&causes->causal, &causes->prior, search, error);
	if (!result)
		result =
		    sn_fail_code(error, sn_repeats_find(&causes->causal.repeats, &causes->prior));
	return result ? result : write_json(causes, error);
}

int sonde_causes_find(const struct sonde_table *table, const struct sonde_causes_options *options,
		      struct sonde_causes **causes, struct sonde_analysis_error *error)
{
	struct sonde_causes *found = calloc(1, sizeof(*found));
	if (!found)
		return sn_fail_memory((struct sn_error *)error);
	int result = find(found, table, options, (struct sn_error *)error);
	if (result)
		sonde_causes_free(found);
	else
		*causes = found;
	return result;
}

void sonde_causes_free(struct sonde_causes *causes)
{
	if (!causes)
		return;
	free(causes->json);
	sn_causal_release(&causes->causal);
	sn_prior_release(&causes->prior);
	free(causes);
}

/* ---- what was found ---- */

static const char *name_of(const struct sn_causal *causal, uint32_t variable)
{
	return causal->table->columns[causal->prepared.columns[variable]].name;
}

static struct sonde_effect public_effect(const struct sn_effect *effect)
{
	return (struct sonde_effect){effect->value,	effect->low,   effect->high,
				     effect->same_sign, effect->share, effect->turning};
}

uint32_t sonde_causes_edge_count(const struct sonde_causes *causes)
{
	return causes->causal.found.edge_count;
}

bool sonde_causes_edge(const struct sonde_causes *causes, uint32_t number,
		       struct sonde_causal_edge *edge)
{
	const struct sn_causal *causal = &causes->causal;
	*edge = (struct sonde_causal_edge){0};
	if (number >= causal->found.edge_count)
		return false;
	const struct sn_causal_edge *found = &causal->found.edges[number];
	*edge = (struct sonde_causal_edge){.from = name_of(causal, found->from),
					   .to = name_of(causal, found->to),
					   .is_directed = found->is_directed,
					   .frequency = found->frequency,
					   .direction_frequency = found->directed,
					   .reverse_frequency = found->reversed,
					   .effect = public_effect(&found->effect)};
	return true;
}

uint32_t sonde_causes_target_count(const struct sonde_causes *causes)
{
	return causes->causal.found.total_count;
}

bool sonde_causes_target(const struct sonde_causes *causes, uint32_t number,
			 struct sonde_target_cause *cause)
{
	const struct sn_causal *causal = &causes->causal;
	*cause = (struct sonde_target_cause){0};
	if (number >= causal->found.total_count)
		return false;
	const struct sn_target_cause *found = &causal->found.totals[number];
	const struct sn_adjusted_cause *adjusted =
	    causal->adjusted ? causal->adjusted + number : &sn_not_adjusted;
	*cause = (struct sonde_target_cause){name_of(causal, found->from),  found->frequency,
					     public_effect(&found->effect), adjusted->change,
					     adjusted->change_low,	    adjusted->change_high};
	return true;
}

uint32_t sonde_causes_main_effect_count(const struct sonde_causes *causes)
{
	return causes->causal.found.main_effect_count;
}

bool sonde_causes_main_effect(const struct sonde_causes *causes, uint32_t number,
			      struct sonde_main_effect *effect)
{
	const struct sn_causal *causal = &causes->causal;
	*effect = (struct sonde_main_effect){0};
	if (number >= causal->found.main_effect_count)
		return false;
	const struct sn_target_cause *found = &causal->found.main_effects[number];
	*effect = (struct sonde_main_effect){name_of(causal, found->from), found->frequency,
					     public_effect(&found->effect)};
	return true;
}

const char *sonde_causes_json(const struct sonde_causes *causes)
{
	return causes->json;
}

/* ---- what if ---- */

int sonde_causes_expect(const struct sonde_causes *causes, const char *setting,
			struct sonde_expectation *expectation, struct sonde_analysis_error *error)
{
	struct sn_do asked;
	int result = sn_causal_do(&asked, &causes->causal, &causes->prior, setting,
				  (struct sn_error *)error);
	const char **held = result ? NULL : calloc(asked.held_count + 1u, sizeof(*held));
	if (!result && !held)
		result = sn_fail_memory((struct sn_error *)error);
	for (uint32_t number = 0; !result && number < asked.held_count; number++)
		held[number] = name_of(&causes->causal, asked.held[number]);
	if (!result)
		*expectation = (struct sonde_expectation){sn_causal_do_status(asked.status),
							  asked.mean,
							  asked.change,
							  asked.change_low,
							  asked.change_high,
							  held,
							  asked.held_count};
	sn_do_release(&asked);
	return result;
}

void sonde_expectation_release(struct sonde_expectation *expectation)
{
	free(expectation->held);
	*expectation = (struct sonde_expectation){0};
}
