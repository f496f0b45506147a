/* SPDX-License-Identifier: Apache-2.0 */
/* One effect after the other; see adjusted.h. */
#include "adjusted.h"

#include "base/pool.h"
#include "causal/causal.h"

#include <math.h>
#include <stdlib.h>

struct adjusting {
	struct sn_adjusted_cause *adjusted;
	const struct sn_causal *causal;
	const struct sn_prior *prior;
};

const struct sn_adjusted_cause sn_not_adjusted = {.status = SN_DO_NO_EFFECT,
						  .change = NAN,
						  .change_low = NAN,
						  .change_high = NAN,
						  .share = NAN,
						  .share_low = NAN,
						  .share_high = NAN,
						  .p = NAN};

static void keep(struct sn_adjusted_cause *cause, const struct sn_adjusted_effect *effect)
{
	cause->status = sn_do_status_of(effect->status);
	if (effect->status != SN_EFFECT_FOUND)
		return;
	cause->change = effect->slope.value;
	cause->change_low = effect->slope.low;
	cause->change_high = effect->slope.high;
	cause->share = effect->share.value;
	cause->share_low = effect->share.low;
	cause->share_high = effect->share.high;
	cause->p = effect->share_probability;
}

static int adjust(void *context, unsigned worker, size_t number)
{
	const struct adjusting *adjusting = context;
	const struct sn_causal *causal = adjusting->causal;
	struct sn_adjusted_cause *cause = adjusting->adjusted + number;
	uint32_t variable = causal->found.totals[number].from;
	struct sn_held held;
	(void)worker;
	*cause = sn_not_adjusted;
	int result = sn_held_find(&held, causal, adjusting->prior, variable);
	cause->status = held.status;
	if (!result && held.status == SN_DO_FOUND) {
		struct sn_held_question question;
		struct sn_adjusted_effect effect;
		struct sn_error why;
		result = sn_held_question_init(&question, causal, variable, &held);
		int refused = result ?: sn_adjusted_effect_estimate(&effect, &question.asked, &why);
		if (refused == SN_ERR_MEMORY)
			result = refused;
		else if (refused)
			cause->status = SN_DO_MANY;
		else
			keep(cause, &effect);
		sn_held_question_release(&question);
	}
	free(held.variables);
	return result;
}

/* Numbers that the effects which are estimated at a time may take: a hundred features (effect/basis.h) of all rows each. */
#define VALUES_MOST UINT64_C(100000000)

static unsigned threads_for(const struct sn_causal *causal, unsigned wanted)
{
	uint64_t most = VALUES_MOST / (100 * (causal->prepared.rows + 1));
	unsigned threads = sn_pool_threads(wanted);
	return most < 1 ? 1 : most < threads ? (unsigned)most : threads;
}

int sn_adjusted_find(struct sn_adjusted_cause **adjusted, const struct sn_causal *causal,
		     const struct sn_prior *prior, unsigned threads, struct sn_error *error)
{
	uint32_t target = causal->target, count = causal->found.total_count;
	*adjusted = NULL;
	if (target == UINT32_MAX || causal->table->columns[causal->prepared.columns[target]].levels)
		return 0;
	*adjusted = calloc(count + 1, sizeof(**adjusted));
	if (!*adjusted)
		return sn_fail_memory(error);
	struct adjusting adjusting = {*adjusted, causal, prior};
	return sn_fail_code(error,
			    sn_pool_run(threads_for(causal, threads), count, adjust, &adjusting));
}
