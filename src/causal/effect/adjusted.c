/* SPDX-License-Identifier: Apache-2.0 */
/* One effect after the other; see adjusted.h. */
#include "adjusted.h"

#include "base/peers/divide.h"
#include "base/pool.h"
#include "causal/causal.h"

#include <math.h>
#include <stdlib.h>

struct adjusting {
	struct sn_adjusted_cause *adjusted;
	uint32_t count;
	bool *is_known; /* of each: it was estimated, here or elsewhere */
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
	struct adjusting *adjusting = context;
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
	adjusting->is_known[number] = true;
	return result;
}

/* ---- of all processes ---- */

struct packed_cause {
	uint64_t number;
	struct sn_adjusted_cause cause;
};

static void pack(const void *context, struct sn_buffer *bytes)
{
	const struct adjusting *adjusting = context;
	for (uint32_t number = 0; number < adjusting->count; number++) {
		struct packed_cause packed = {number, adjusting->adjusted[number]};
		if (adjusting->is_known[number])
			sn_buffer_put(bytes, &packed, sizeof(packed));
	}
}

static int add(void *context, struct sn_span bytes)
{
	struct adjusting *adjusting = context;
	struct packed_cause packed;
	while (sn_span_get(&bytes, &packed, sizeof(packed))) {
		adjusting->adjusted[packed.number] = packed.cause;
		adjusting->is_known[packed.number] = true;
	}
	return bytes.count ? SN_ERR_MEMORY : 0; /* of the sender */
}

static int adjust_all(struct adjusting *adjusting, const struct sn_peers *peers, unsigned threads,
		      struct sn_error *error)
{
	const struct sn_peers_work work = {adjusting->count, NULL, adjust, adjusting};
	const struct sn_peers_merging merging = {.pack = pack, .add = add, .context = adjusting};
	bool has_room = adjusting->adjusted && adjusting->is_known;
	int result = has_room ? sn_peers_run(peers, threads, &work) : SN_ERR_MEMORY;
	result = sn_peers_agree(peers, sn_fail_code(error, result), error);
	return result ? result : sn_peers_merge(peers, &merging, error);
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
		     const struct sn_prior *prior, const struct sn_peers *peers, unsigned threads,
		     struct sn_error *error)
{
	uint32_t target = causal->target, count = causal->found.total_count;
	*adjusted = NULL;
	if (target == UINT32_MAX || causal->table->columns[causal->prepared.columns[target]].levels)
		return 0;
	*adjusted = calloc(count + 1, sizeof(**adjusted));
	struct adjusting adjusting = {.adjusted = *adjusted,
				      .count = count,
				      .is_known = calloc(count + 1, sizeof(bool)),
				      .causal = causal,
				      .prior = prior};
	int result = adjust_all(&adjusting, peers, threads_for(causal, threads), error);
	free(adjusting.is_known);
	return result;
}
