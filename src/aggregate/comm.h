/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one analysis: one alone (comm_self.c), or the ranks of an MPI job (comm_mpi.c).
 * Which of the two a program has is decided when it is linked; nothing else knows of MPI.
 *
 * They exchange what struct sn_peers has (format/writer/peers.h), which the database's writer uses
 * as well. What is here besides keeps its rules: called by all ranks, in the same order, by one
 * thread of each, but for rank, size and is_one_host.
 */
#ifndef SN_AGGREGATE_COMM_H
#define SN_AGGREGATE_COMM_H

#include "format/writer/peers.h"

/* Joins the others; once in a program, before anything else here. A program that does not is alone.
 */
void sn_comm_begin(void);
/* Leaves them; nothing here may be called afterwards. */
void sn_comm_end(void);
const struct sn_peers *sn_comm(void);

/* True in each of several processes that were started as one job but do not know of each other: the
 * mpirun of one MPI starts programs of another like that. */
bool sn_comm_is_split(void);

/* SONDE_MPI_HOSTS=many in the environment of any makes it false, for tests. */
static inline bool sn_comm_is_one_host(void)
{
	return sn_comm()->is_one_host();
}

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

/* As broadcast for a length that only rank 0 knows: the others get memory of their own. */
void sn_comm_broadcast_part(struct sn_peer_part *part);
uint64_t sn_comm_sum(uint64_t value);

#endif
