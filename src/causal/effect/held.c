/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of variables to hold, and their columns; see held.h. */
#include "held.h"

#include "adjustment.h"
#include "causal/causal.h"

#include <stdlib.h>

enum sn_do_status sn_do_status_of(enum sn_effect_status status)
{
	static const enum sn_do_status statuses[] = {[SN_EFFECT_FOUND] = SN_DO_FOUND,
						     [SN_EFFECT_FEW] = SN_DO_FEW,
						     [SN_EFFECT_CONSTANT] = SN_DO_NO_EFFECT,
						     [SN_EFFECT_DETERMINED] = SN_DO_DETERMINED,
						     [SN_EFFECT_NO_OVERLAP] = SN_DO_NO_OVERLAP};
	return statuses[status];
}

static bool leads_to_target(const struct sn_causal *causal, uint32_t variable)
{
	for (uint32_t number = 0; number < causal->found.total_count; number++)
		if (causal->found.totals[number].from == variable)
			return true;
	return false;
}

static bool is_set(const struct sn_causal *causal, const struct sn_prior *prior, uint32_t variable)
{
	return sn_prior_is_set(prior, causal->prepared.columns[variable]);
}

/* As a row of bits; and the status. */
static int find(struct sn_held *held, const struct sn_causal *causal, const struct sn_prior *prior,
		uint32_t variable, uint64_t *bits)
{
	int found = sn_adjustment_find(&causal->found.graph, &causal->knowledge, variable,
				       causal->target, SN_ADJUSTMENT_PARENTS, bits);
	if (found < 0)
		return found;
	held->status = found == SN_ADJUSTMENT_NO_EFFECT	     ? SN_DO_NO_EFFECT
		       : found == SN_ADJUSTMENT_UNDETERMINED ? SN_DO_UNDETERMINED
							     : SN_DO_FOUND;
	for (uint32_t other = 0; other < causal->prepared.count; other++)
		if (other != variable && is_set(causal, prior, variable) &&
		    is_set(causal, prior, other) && leads_to_target(causal, other))
			sn_bits_add(bits, other);
	return 0;
}

int sn_held_find(struct sn_held *held, const struct sn_causal *causal, const struct sn_prior *prior,
		 uint32_t variable)
{
	const struct sn_pdag *graph = &causal->found.graph;
	uint64_t *bits = calloc(graph->words + 1, sizeof(*bits));
	*held = (struct sn_held){.variables = malloc((graph->count + 1) * sizeof(uint32_t))};
	int result =
	    bits && held->variables ? find(held, causal, prior, variable, bits) : SN_ERR_MEMORY;
	for (uint32_t other = 0; !result && other < graph->count; other++)
		if (sn_bits_has(bits, other))
			held->variables[held->count++] = other;
	free(bits);
	return result;
}

static struct sn_effect_column take_column(const struct sn_causal *causal, uint32_t variable,
					   double *values)
{
	const struct sn_prepared *prepared = &causal->prepared;
	const struct sn_causal_column *column =
	    &causal->table->columns[prepared->columns[variable]];
	for (size_t row = 0; row < prepared->rows; row++)
		values[row] = column->values[prepared->kept_rows[row]];
	return (struct sn_effect_column){values, column->levels};
}

int sn_held_question_init(struct sn_held_question *question, const struct sn_causal *causal,
			  uint32_t variable, const struct sn_held *held)
{
	size_t rows = causal->prepared.rows;
	*question = (struct sn_held_question){
	    .values = malloc((held->count + 2) * rows * sizeof(double) + 1),
	    .held = calloc(held->count + 1, sizeof(*question->held))};
	if (!question->values || !question->held)
		return SN_ERR_MEMORY;
	for (uint32_t number = 0; number < held->count; number++)
		question->held[number] = take_column(causal, held->variables[number],
						     question->values + (number + 2) * rows);
	question->asked = (struct sn_effect_question){
	    .rows = rows,
	    .cause = take_column(causal, variable, question->values),
	    .target = take_column(causal, causal->target, question->values + rows),
	    .adjustment = question->held,
	    .adjustment_count = held->count,
	    .clusters = causal->prepared.clusters.of,
	    .seed = SN_CAUSAL_SEED};
	return 0;
}

void sn_held_question_release(struct sn_held_question *question)
{
	free(question->values);
	free(question->held);
	*question = (struct sn_held_question){0};
}
