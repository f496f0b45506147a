/* SPDX-License-Identifier: Apache-2.0 */
/* A table of graphs' nodes, and the paths of replayed ones; see capture.h. */
#include "capture.h"
#include "state.h"

#define REPLAYED "[as captured]" /* as importers of traces have it */
/* A node is in one of so many places. */
#define WAYS	 16u
#define UNKNOWN	 UINT64_MAX
#define WRITTEN	 1u

/* ---- the table ---- */

static struct sn_gpu_capture *places_of(struct sn_gpu_interface *interface, uint64_t node)
{
	uint64_t mixed = (node ^ node >> 29) * 0x9e3779b97f4a7c15u;
	return interface->captures + (mixed >> 32) % (SN_GPU_CAPTURES / WAYS) * WAYS;
}

static uint64_t node_at(const struct sn_gpu_capture *place)
{
	return atomic_load_explicit(&place->node, memory_order_acquire);
}

static struct sn_gpu_capture *find(struct sn_gpu_interface *interface, uint64_t node)
{
	struct sn_gpu_capture *places = places_of(interface, node);
	for (uint32_t way = 0; way < WAYS; way++)
		if (node_at(&places[way]) == node)
			return &places[way];
	return NULL;
}

/* A place that is free, or else that of a node made long before: numbers grow. NULL where threads write all of them. */
static struct sn_gpu_capture *place_for(struct sn_gpu_interface *interface, uint64_t node)
{
	struct sn_gpu_capture *places = places_of(interface, node), *oldest = NULL;
	for (uint32_t way = 0; way < WAYS; way++) {
		uint64_t other = node_at(&places[way]);
		if (other != WRITTEN && (!oldest || other < node_at(oldest)))
			oldest = &places[way];
	}
	return oldest;
}

/* False where another thread has written there meanwhile. */
static bool write_at(struct sn_gpu_capture *place, uint64_t node, uint64_t path)
{
	uint64_t before = node_at(place);
	if (before == WRITTEN ||
	    !atomic_compare_exchange_strong_explicit(&place->node, &before, WRITTEN,
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	/* release: a reader that sees the path sees that it is being written */
	atomic_store_explicit(&place->path, path, memory_order_release);
	atomic_store_explicit(&place->node, node, memory_order_release);
	return true;
}

/* A node is written by one thread at a time. */
static void put(struct sn_gpu_interface *interface, uint64_t node, uint64_t path)
{
	struct sn_gpu_capture *place = find(interface, node);
	for (uint32_t tries = 0; tries < WAYS; tries++) {
		if (!place)
			place = place_for(interface, node);
		if (!place || write_at(place, node, path))
			return;
		place = NULL;
	}
}

void sn_gpu_capture_made(struct sn_gpu_interface *interface, uint64_t node)
{
	struct sn_gpu_thread *state;
	uint32_t call;
	if (sn_gpu_call_place(&state, &call) && state && interface->captures && node > WRITTEN &&
	    !find(interface, node))
		put(interface, node, (uint64_t)state->thread->index << 32 | call);
}

/* UNKNOWN where another node has its place now, too. */
static uint64_t path_of(struct sn_gpu_interface *interface, uint64_t node)
{
	struct sn_gpu_capture *place = interface->captures ? find(interface, node) : NULL;
	if (!place)
		return UNKNOWN;
	uint64_t path = atomic_load_explicit(&place->path, memory_order_acquire);
	/* the same node before and after: the path is its */
	return atomic_load_explicit(&place->node, memory_order_relaxed) == node ? path : UNKNOWN;
}

void sn_gpu_capture_copied(struct sn_gpu_interface *interface, uint64_t node, uint64_t original)
{
	uint64_t path = path_of(interface, original);
	if (path != UNKNOWN && node > WRITTEN)
		put(interface, node, path);
}

/* ---- paths ---- */

static uint32_t parent_of(const struct sn_cct *cct, uint32_t node)
{
	return ((const struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.parent;
}

/* The deepest node that is above both, or one of them. A node's number is greater than its parent's. */
static uint32_t common(const struct sn_cct *cct, uint32_t one, uint32_t other)
{
	while (one != other)
		if (one > other)
			one = parent_of(cct, one);
		else
			other = parent_of(cct, other);
	return one;
}

/* A path of the table, as a node of `state`'s tree. */
static uint32_t own_node(struct sn_gpu_thread *state, uint64_t path)
{
	uint32_t index = (uint32_t)(path >> 32), node = (uint32_t)path;
	struct sn_thread *thread = state->thread;
	if (index == thread->index)
		return node;
	if (index >= sn_thread_count())
		return SN_NODE_NONE;
	return sn_cct_copy_path(&thread->cct, &sn_thread_at(index)->cct, node, SN_COPY_ALL,
				&state->copied);
}

uint32_t sn_gpu_capture_path(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	struct sn_cct *cct = &state->thread->cct;
	uint64_t path = path_of(operation->interface, operation->graph_node);
	if (path == UNKNOWN)
		return operation->call;
	uint32_t captured = own_node(state, path);
	uint32_t below = sn_cct_named_child(cct, operation->call, SN_FRAME_REGION, REPLAYED,
					    sizeof(REPLAYED) - 1);
	if (captured == SN_NODE_NONE || below == SN_NODE_NONE)
		return SN_NODE_NONE;
	return sn_cct_repeat_path(cct, captured, common(cct, captured, operation->call), below,
				  &state->copied);
}
