/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays of graphs as a whole. The SDK knows none: it tells of each operation, with the number of the call that replays. So these are
 * put together, from the start of the first to the end of the last. Which is the last is not told either, so a replay is given to its
 * thread when so many later ones have begun, or at the end.
 */
#include "rocm.h"

#define PENDING 256u

static struct pending {
	struct sn_gpu_operation at[PENDING]; /* by the last bits of their order */
} * replays;
static uint32_t begun, given;

static void give_oldest(void)
{
	sn_gpu_done(&replays->at[given++ % PENDING]);
}

/* Mostly the newest. */
static struct sn_gpu_operation *find(uint32_t correlation)
{
	for (uint32_t order = begun; order != given; order--)
		if (replays->at[(order - 1) % PENDING].correlation == correlation)
			return &replays->at[(order - 1) % PENDING];
	return NULL;
}

static void begin(const struct sn_gpu_operation *operation)
{
	if (begun - given == PENDING)
		give_oldest();
	struct sn_gpu_operation *replay = &replays->at[begun++ % PENDING];
	*replay = *operation;
	replay->kind = SN_GPU_GRAPH;
	replay->name = NULL;
	replay->bytes = 0;
}

static void extend(struct sn_gpu_operation *replay, const struct sn_gpu_operation *operation)
{
	if (!operation->start_ns)
		return;
	if (!replay->start_ns || operation->start_ns < replay->start_ns)
		replay->start_ns = operation->start_ns;
	if (operation->end_ns > replay->end_ns)
		replay->end_ns = operation->end_ns;
}

void sn_rocm_graph_add(struct sn_gpu_operation *operation)
{
	if (!SN_PAGES_ONCE(replays)) {
		sn_gpu_lose_operation(operation);
		return;
	}
	struct sn_gpu_operation *replay = find(operation->correlation);
	if (replay)
		extend(replay, operation);
	else
		begin(operation);
}

void sn_rocm_graphs_end(void)
{
	sn_gpu_begin_done();
	while (given != begun)
		give_oldest();
	sn_gpu_end_done();
}
