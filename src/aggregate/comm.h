/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one analysis: one alone (comm_self.c), or the ranks of an MPI job (comm_mpi.c).
 * Which of the two a program has is decided when it is linked; nothing else knows of MPI.
 *
 * Every function but rank, size and is_one_host is called by all ranks, in the same order, by one
 * thread of each. A rank that has no memory for what it is sent ends the job, as one that dies
 * does: the others wait for it and cannot be told otherwise. Errors of analysis itself are agreed
 * on (sn_comm_agree) before anybody goes on.
 */
#ifndef SN_AGGREGATE_COMM_H
#define SN_AGGREGATE_COMM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Joins the others; once in a program, before anything else here. A program that does not is alone.
 */
void sn_comm_begin(void);
/* Leaves them; nothing here may be called afterwards. */
void sn_comm_end(void);

/* True in each of several processes that were started as one job but do not know of each other: the
 * mpirun of one MPI starts programs of another like that. */
bool sn_comm_is_split(void);

unsigned sn_comm_rank(void);
unsigned sn_comm_size(void);
/* All of them run on one machine, so that one may use the /proc of another. The same answer on all.
 * SONDE_MPI_HOSTS=many in the environment of any makes it false, for tests. */
bool sn_comm_is_one_host(void);

/* Bytes that lie in memory, from malloc. */
struct sn_comm_part {
	void *bytes;
	size_t length;
};

/* `bytes` of rank 0 to all the others' `bytes`, which have the same length. */
void sn_comm_broadcast(void *bytes, size_t length);
/* The same for a length that only rank 0 knows: the others get memory of their own. */
void sn_comm_broadcast_part(struct sn_comm_part *part);
/* To rank 0, which gets an array of size() parts, its own among them. The array and the parts are
 * from malloc; others get NULL. */
struct sn_comm_part *sn_comm_gather(const void *bytes, size_t length);
void sn_comm_free_parts(struct sn_comm_part *parts, unsigned count);
/* Part i goes to rank i; what comes from rank i is in[i], whose bytes are from malloc. */
void sn_comm_exchange(const struct sn_comm_part *out, struct sn_comm_part *in);
/* One sends to the other; the receiver gets memory of its own. */
void sn_comm_send(unsigned rank, const void *bytes, size_t length);
void sn_comm_receive(unsigned rank, struct sn_comm_part *part);

uint64_t sn_comm_sum(uint64_t value);
/* The bits that any rank has set, on all of them. */
void sn_comm_or(uint64_t *words, size_t count);

/*
 * What went wrong anywhere: 0 where nothing did, else the code and text of the lowest rank that
 * failed, on all of them.
 */
int sn_comm_agree(int code, struct sn_error *error);

#endif
