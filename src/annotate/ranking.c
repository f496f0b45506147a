/* SPDX-License-Identifier: Apache-2.0 */
/* See ranking.h. */
#include "ranking.h"

#include "base/sort_by.h"
#include "base/vec.h"

SN_SORT_BY(sort_ranked, struct sn_ranked_instruction, const void *,
	   SN_ORDER_BY(b, a, value)
	       ?: SN_ORDER_BY(a, b, function) ?: SN_ORDER_BY(a, b, instruction));

static double value_of(const struct sn_annotated_function *function,
		       const struct sn_annotated_instruction *one, enum sn_ranking by)
{
	if (by == SN_RANKING_SAMPLES)
		return one->samples > 0 ? one->value : 0;
	if (!(function->samples > 0) || !(one->blame.waits > 0))
		return 0;
	return one->blame.waits * (1 - (double)one->blame.execution) * function->value /
	       function->samples;
}

int sn_annotate_rank(const struct sn_annotation *annotation, enum sn_ranking by,
		     struct sn_annotate_ranking *ranking)
{
	int result = 0;
	*ranking = (struct sn_annotate_ranking){0};
	for (uint32_t f = 0; f < annotation->function_count; f++) {
		const struct sn_annotated_function *function = &annotation->functions[f];
		for (uint32_t i = 0; !result && i < function->count; i++) {
			double value = value_of(function, &function->instructions[i], by);
			if (!(value > 0))
				continue;
			ranking->value += value;
			result = sn_vec_push(&ranking->items, &ranking->capacity, &ranking->count,
					     (struct sn_ranked_instruction){f, i, value});
		}
	}
	sort_ranked(ranking->items, ranking->count, NULL);
	return result;
}
