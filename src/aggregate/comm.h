/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one analysis: one alone (comm_self.c), or the ranks of an MPI job (comm_mpi.c).
 * The linker selects one of the two; no other code knows MPI.
 *
 * They communicate by the functions of struct sn_peers (base/peers/peers.h), which the
 * database's writer uses as well. The functions here follow the same rules: all but rank, size and
 * is_one_host are called by all ranks, in the same order, by one thread of each.
 */
#pragma once

#include "base/peers/peers.h"

/* Joins the other ranks; once in a program, before anything else here. Without it the process is
 * alone. */
void sn_comm_begin(void);
/* Leaves them; nothing here may be called afterwards. */
void sn_comm_end(void);
const struct sn_peers *sn_comm(void);

/* True in each of several processes that were started as one job but are not connected, as when the
 * mpirun of one MPI starts a program of another. */
bool sn_comm_is_split(void);

static inline unsigned sn_comm_rank(void)
{
	return sn_comm()->rank();
}

static inline unsigned sn_comm_size(void)
{
	return sn_comm()->size();
}

static inline int sn_comm_agree(int code, struct sn_error *error)
{
	return sn_comm()->agree(code, error);
}

/* A broadcast whose length only rank 0 knows: the others get memory of their own. */
void sn_comm_broadcast_part(struct sn_peer_part *part);
uint64_t sn_comm_sum(uint64_t value);
