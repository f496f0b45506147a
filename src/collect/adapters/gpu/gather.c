/* SPDX-License-Identifier: Apache-2.0 */
/* A table of operations by their places; see gather.h. */
#include "gather.h"
#include "state.h"

#include "collect/record/trace.h"

#include <string.h>

#define PLACES 4096u

struct place {
	struct sn_gpu_thread *state; /* NULL: nothing is here */
	struct sn_gpu_operation all;
};

static struct place *places; /* NULL before the first, and without memory */
static uint16_t used[PLACES];
static uint32_t used_count;

static void put(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation)
{
	if (!sn_gpu_queue_put(&state->queue, operation) && !sn_gpu_is_of_host(operation))
		sn_drop(NULL, SN_DROP_GPU_LOST, operation->count);
}

/* What has no times is counted where it is added; allocations have sizes of their own. */
static bool can_be_gathered(const struct sn_gpu_operation *operation)
{
	return operation->kind <= SN_GPU_OVERHEAD && operation->start_ns &&
	       operation->end_ns >= operation->start_ns &&
	       !sn_trace_wants(SN_TRACE_SOURCE_GPU | SN_TRACE_SOURCE_MESSAGES);
}

static bool are_alike(const struct sn_gpu_operation *one, const struct sn_gpu_operation *other)
{
	return one->call == other->call && one->name == other->name &&
	       one->graph_node == other->graph_node && one->kind == other->kind &&
	       one->interface == other->interface && one->bytes == other->bytes &&
	       (one->kind != SN_GPU_WAIT || one->stream == other->stream) &&
	       !memcmp(&one->shape, &other->shape, sizeof(one->shape));
}

/* Threads that do the same at the same time do not displace each other. */
static struct place *place_of(const struct sn_gpu_thread *state,
			      const struct sn_gpu_operation *operation)
{
	uint32_t at = (sn_gpu_spread(operation) + 1021 * state->thread->index) % PLACES;
	if (!places[at].state)
		used[used_count++] = (uint16_t)at;
	return &places[at];
}

static void add(struct sn_gpu_operation *all, const struct sn_gpu_operation *operation)
{
	all->end_ns += operation->end_ns - operation->start_ns;
	all->count += operation->count;
	all->squares += operation->squares;
	if (operation->least_ns < all->least_ns)
		all->least_ns = operation->least_ns;
	if (operation->most_ns > all->most_ns)
		all->most_ns = operation->most_ns;
}

void sn_gpu_gather(struct sn_gpu_thread *state, struct sn_gpu_operation *operation)
{
	uint64_t took_ns = operation->end_ns - operation->start_ns;
	operation->count = 1;
	operation->least_ns = operation->most_ns = took_ns;
	operation->squares = (double)took_ns * (double)took_ns;
	if (!places)
		places = sn_pages_map(PLACES * sizeof(*places));
	if (!places || !can_be_gathered(operation)) {
		put(state, operation);
		return;
	}
	struct place *place = place_of(state, operation);
	if (place->state == state && are_alike(&place->all, operation)) {
		add(&place->all, operation);
		return;
	}
	if (place->state)
		put(place->state, &place->all);
	place->state = state;
	place->all = *operation;
}

void sn_gpu_gather_flush(void)
{
	for (uint32_t index = 0; index < used_count; index++) {
		struct place *place = &places[used[index]];
		put(place->state, &place->all);
		place->state = NULL;
	}
	used_count = 0;
}

void sn_gpu_gather_forget(void)
{
	for (uint32_t index = 0; index < used_count; index++)
		places[used[index]].state = NULL;
	used_count = 0;
}
