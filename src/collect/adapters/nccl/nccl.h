/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL, and RCCL, which has the same functions: collectives as calls with sizes, and the kernels that they launch as parts of one
 * collective of all ranks. Stubs of adapters/configured stand in front of the library's functions. docs/design/nccl.md gives
 * reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/adapters/configured/configured.h"

/* The program looks a function of NCCL's up by name: its library may be new. AS-safe: no. */
void sn_nccl_noticed(void);

/* ---- communicator.c ---- */

/* One rank's handle of a communicator. */
struct sn_nccl_communicator {
	_Atomic uintptr_t handle;     /* 0: none; 1: is being written */
	uint64_t group;		      /* the same number in all its ranks; not 0 */
	_Atomic uint64_t collectives; /* so far */
	_Atomic uint32_t splits;      /* so far */
	_Atomic int32_t ranks;	      /* how many; 0: not known */
	_Atomic int32_t rank;	      /* -1: not known */
};

/* NULL where it was made unseen, or there is no room. */
struct sn_nccl_communicator *sn_nccl_communicator(uintptr_t handle);
void sn_nccl_communicator_made(uintptr_t handle, uint64_t group, int32_t ranks, int32_t rank);
void sn_nccl_communicator_ended(uintptr_t handle);
/* How many ranks it has, which NCCL is asked where it is not known; 1 where it does not say. */
uint64_t sn_nccl_ranks(struct sn_nccl_communicator *communicator);
/* Its own among them, asked likewise; -1 where NCCL does not say. */
int32_t sn_nccl_rank(struct sn_nccl_communicator *communicator);
