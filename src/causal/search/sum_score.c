/* SPDX-License-Identifier: Apache-2.0 */
/* Adding scores; see sum_score.h. */
#include "sum_score.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdlib.h>

static double sum_of(void *context, uint32_t variable, const uint32_t *parents, uint32_t count)
{
	const struct sn_sum_score *sum = context;
	double score = 0;
	for (uint32_t number = 0; number < sum->count; number++)
		score += sum->of[number].of(sum->of[number].context, variable, parents, count);
	return score;
}

static void add_room(const struct sn_sum_score *sum, uint32_t number, uint32_t count,
		     double *scores)
{
	for (uint32_t place = 0; place < count; place++)
		scores[place] = sum->room[place] + (number ? scores[place] : 0);
}

static int sum_with_each(void *context, uint32_t variable, const uint32_t *parents, uint32_t count,
			 const uint32_t *added, uint32_t added_count, double *scores)
{
	struct sn_sum_score *sum = context;
	int result = sn_vec_reserve(&sum->room, &sum->capacity, added_count + 1u);
	for (uint32_t number = 0; result >= 0 && number < sum->count; number++) {
		const struct sn_score *of = &sum->of[number];
		result = of->with_each(of->context, variable, parents, count, added, added_count,
				       sum->room);
		if (!result)
			add_room(sum, number, added_count, scores);
	}
	return result < 0 ? SN_ERR_MEMORY : 0;
}

static int sum_without_each(void *context, uint32_t variable, const uint32_t *parents,
			    uint32_t count, double *scores)
{
	struct sn_sum_score *sum = context;
	int result = sn_vec_reserve(&sum->room, &sum->capacity, count + 1u);
	for (uint32_t number = 0; result >= 0 && number < sum->count; number++) {
		const struct sn_score *of = &sum->of[number];
		result = of->without_each(of->context, variable, parents, count, sum->room);
		if (!result)
			add_room(sum, number, count, scores);
	}
	return result < 0 ? SN_ERR_MEMORY : 0;
}

struct sn_score sn_sum_score(struct sn_sum_score *sum)
{
	return sum->count == 1 ? sum->of[0]
			       : (struct sn_score){sum_of, sum, sum_with_each, sum_without_each};
}

void sn_sum_score_release(struct sn_sum_score *sum)
{
	free(sum->room);
	*sum = (struct sn_sum_score){0};
}
