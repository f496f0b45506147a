/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of events, groups of groups; see pyramid.h. */
#include "pyramid.h"

#include "base/error.h"
#include "base/fixed_table.h"
#include "base/vec.h"

#define LEAF_EVENTS 32u

unsigned sn_pyramid_leaf_events(unsigned kind)
{
	return kind == SONDE_TRACK_SAMPLES ? SN_PYRAMID_LEAF_MAX : LEAF_EVENTS;
}

void sn_pyramid_shape(unsigned kind, uint64_t event_count, struct sn_pyramid_shape *shape)
{
	uint64_t below = event_count, group = sn_pyramid_leaf_events(kind);
	*shape = (struct sn_pyramid_shape){0};
	while (below && shape->level_count < SN_PYRAMID_LEVELS) {
		uint64_t count = below / group + (below % group != 0);
		shape->firsts[shape->level_count] = shape->total;
		shape->counts[shape->level_count++] = count;
		shape->total += count;
		if (count == 1)
			return;
		below = count;
		group = SN_PYRAMID_FANOUT;
	}
}

SN_FIXED_TABLE(contexts, uint32_t, uint8_t, 6);
_Static_assert(SN_PYRAMID_LEAF_MAX <= 1 << 6, "a group's contexts fit");

/* Time by context within a group. */
struct shares {
	struct contexts contexts;
	double weights[SN_PYRAMID_LEAF_MAX];
	double busy;
};

static void shares_begin(struct shares *shares)
{
	contexts_clear(&shares->contexts);
	shares->busy = 0;
}

static void weigh(struct shares *shares, uint32_t context, double weight)
{
	uint32_t before = shares->contexts.count;
	uint32_t number = contexts_add(&shares->contexts, context);
	shares->weights[number] = weight + (number == before ? 0 : shares->weights[number]);
	shares->busy += weight;
}

static uint16_t share_of(double part, double whole)
{
	if (whole <= 0)
		return 0;
	double share = part / whole * SN_PYRAMID_ONE + 0.5;
	return share < SN_PYRAMID_ONE ? (uint16_t)share : SN_PYRAMID_ONE;
}

static int push(struct sn_pyramid *pyramid, struct sn_summary *summary, const struct shares *shares)
{
	unsigned best = 0;
	for (unsigned i = 1; i < shares->contexts.count; i++)
		if (shares->weights[i] > shares->weights[best])
			best = i;
	summary->context = shares->contexts.keys[best];
	summary->busy_share = share_of(shares->busy, (double)(summary->end_ns - summary->start_ns));
	summary->context_share = share_of(shares->weights[best], shares->busy);
	return sn_vec_push(&pyramid->summaries, &pyramid->capacity, &pyramid->count, *summary)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* The first `count` of the events pending as one summary. */
static int end_group(struct sn_pyramid *pyramid, unsigned count)
{
	struct shares shares;
	struct sn_summary summary = {pyramid->starts_ns[0], pyramid->ends_ns[0]};
	shares_begin(&shares);
	for (unsigned i = 0; i < count; i++) {
		weigh(&shares, pyramid->contexts[i],
		      (double)(pyramid->ends_ns[i] - pyramid->starts_ns[i]));
		if (pyramid->ends_ns[i] > summary.end_ns)
			summary.end_ns = pyramid->ends_ns[i];
	}
	return push(pyramid, &summary, &shares);
}

int sn_pyramid_add(struct sn_pyramid *pyramid, uint64_t start_ns, uint64_t end_ns, uint32_t context)
{
	unsigned pending = pyramid->pending, group = sn_pyramid_leaf_events(pyramid->kind);
	bool lasts = pyramid->kind == SONDE_TRACK_SAMPLES || pyramid->kind == SONDE_TRACK_COUNTER;
	if (lasts && pending)
		pyramid->ends_ns[pending - 1] = start_ns;
	if (pending == group) {
		int result = end_group(pyramid, group);
		if (result)
			return result;
		pending = 0;
	}
	pyramid->starts_ns[pending] = start_ns;
	pyramid->ends_ns[pending] = end_ns;
	pyramid->contexts[pending] = context;
	pyramid->pending = pending + 1;
	return 0;
}

/* The summaries first .. first + count - 1 as one. */
static int end_upper_group(struct sn_pyramid *pyramid, size_t first, size_t count)
{
	struct shares shares;
	struct sn_summary summary = pyramid->summaries[first];
	shares_begin(&shares);
	for (size_t i = first; i < first + count; i++) {
		const struct sn_summary *below = pyramid->summaries + i;
		double busy =
		    (double)(below->end_ns - below->start_ns) * below->busy_share / SN_PYRAMID_ONE;
		double weight = busy * below->context_share / SN_PYRAMID_ONE;
		weigh(&shares, below->context, weight);
		shares.busy += busy - weight;
		if (below->end_ns > summary.end_ns)
			summary.end_ns = below->end_ns;
	}
	return push(pyramid, &summary, &shares);
}

int sn_pyramid_finish(struct sn_pyramid *pyramid)
{
	int result = pyramid->pending ? end_group(pyramid, pyramid->pending) : 0;
	pyramid->pending = 0;
	for (size_t first = 0, end = pyramid->count; end - first > 1 && !result;) {
		for (size_t i = first; i < end && !result; i += SN_PYRAMID_FANOUT)
			result = end_upper_group(
			    pyramid, i, end - i < SN_PYRAMID_FANOUT ? end - i : SN_PYRAMID_FANOUT);
		first = end;
		end = pyramid->count;
	}
	return result;
}
