/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of communicators, by their handles. Programs have few; each is claimed by compare-and-swap. */
#include "nccl.h"

#include "collect/intercept/real_symbol.h"

#define COMMUNICATORS 1024u
#define PROBES	      32u
#define BEING_WRITTEN 1u

static struct sn_nccl_communicator communicators[COMMUNICATORS];

static struct sn_nccl_communicator *place(uintptr_t handle, unsigned probe)
{
	uint64_t mixed = (uint64_t)handle * 0x9e3779b97f4a7c15u;
	return &communicators[((mixed >> 40) + probe) % COMMUNICATORS];
}

struct sn_nccl_communicator *sn_nccl_communicator(uintptr_t handle)
{
	for (unsigned probe = 0; handle > BEING_WRITTEN && probe < PROBES; probe++) {
		struct sn_nccl_communicator *found = place(handle, probe);
		/* acquire: what was written before it */
		if (atomic_load_explicit(&found->handle, memory_order_acquire) == handle)
			return found;
	}
	return NULL;
}

void sn_nccl_communicator_ended(uintptr_t handle)
{
	struct sn_nccl_communicator *found = sn_nccl_communicator(handle);
	if (found)
		atomic_store_explicit(&found->handle, 0, memory_order_release);
}

static struct sn_nccl_communicator *claim(uintptr_t handle)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct sn_nccl_communicator *vacant = place(handle, probe);
		uintptr_t expected = 0;
		if (atomic_compare_exchange_strong_explicit(&vacant->handle, &expected,
							    BEING_WRITTEN, memory_order_acquire,
							    memory_order_relaxed))
			return vacant;
	}
	return NULL;
}

void sn_nccl_communicator_made(uintptr_t handle, uint64_t group, int32_t ranks, int32_t rank)
{
	if (handle <= BEING_WRITTEN)
		return;
	/* one at this address may have ended unseen */
	sn_nccl_communicator_ended(handle);
	struct sn_nccl_communicator *made = claim(handle);
	if (!made)
		return;
	made->group = group ? group : 1;
	atomic_store_explicit(&made->rank, rank, memory_order_relaxed);
	atomic_store_explicit(&made->ranks, ranks, memory_order_relaxed);
	atomic_store_explicit(&made->collectives, 0, memory_order_relaxed);
	atomic_store_explicit(&made->splits, 0, memory_order_relaxed);
	/* release: complete before it is found */
	atomic_store_explicit(&made->handle, handle, memory_order_release);
}

/* A question of NCCL's about a communicator; -1 where it does not say. */
typedef int question(uintptr_t communicator, int *told);

static int32_t ask(question *of, uintptr_t handle)
{
	int told;
	return of && !of(handle, &told) && told >= 0 ? told : -1;
}

uint64_t sn_nccl_ranks(struct sn_nccl_communicator *communicator)
{
	int32_t ranks = atomic_load_explicit(&communicator->ranks, memory_order_relaxed);
	if (!ranks) {
		ranks = ask((question *)SN_REAL_SYMBOL("ncclCommCount"), communicator->handle);
		if (ranks > 0)
			atomic_store_explicit(&communicator->ranks, ranks, memory_order_relaxed);
	}
	return ranks > 0 ? (uint64_t)ranks : 1;
}

int32_t sn_nccl_rank(struct sn_nccl_communicator *communicator)
{
	int32_t rank = atomic_load_explicit(&communicator->rank, memory_order_relaxed);
	if (rank < 0) {
		rank = ask((question *)SN_REAL_SYMBOL("ncclCommUserRank"), communicator->handle);
		atomic_store_explicit(&communicator->rank, rank, memory_order_relaxed);
	}
	return rank;
}
