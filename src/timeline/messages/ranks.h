/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives over ranks: arrival times, the last rank, and the waits of the others.
 *
 * The parts of a collective on its ranks are matched by process group and number if both are
 * recorded (PyTorch: "Process Group Ranks", "Seq"), else by counting: the n-th of a kind and size
 * in the group. A rank arrives when its part starts; until the last one has arrived the others
 * wait, and nothing is transferred. A rank that does other work meanwhile (MPI_Iallreduce) waits
 * only from the call that waits for the end.
 *
 * This compares clocks of several processes. When the last part of a collective starts, all other
 * parts still run, except those that may end earlier (sn_arrival.is_loose: the root of a
 * broadcast). If one collective in ten contradicts this, the first assumption is that the clocks
 * differ: ranks are shifted by the median difference of the parts' ends, since ends differ less
 * than starts. If that does not help, recordings lack some parts and counting was wrong: then parts
 * that overlap in time are matched, and parts that overlap with no other are left out.
 *
 * Parts that the recording itself matches keep their match: if it names a process group's
 * collectives, and all its ranks did the same ones with the same sizes in the same order, no part
 * is missing.
 */
#pragma once

#include "collectives.h"
#include "timeline/intervals.h"

/* A collective of several participants. Its arrivals are consecutive, in order of time. */
struct sn_collective {
	uint32_t first, count;
	uint64_t last_ns; /* arrival of the last */
	uint64_t wait_ns; /* sum over the others */
};

struct sn_rank_sum {
	size_t count, last_count;
	uint64_t waited_ns;  /* for others */
	uint64_t delayed_ns; /* others waited for it when it was last */
	uint64_t late_ns;    /* after the one before it, when it was last */
	int64_t offset_ns;   /* added to its times */
};

struct sn_ranks {
	struct sn_arrival *arrivals; /* `collectives`', by collective and time, in one clock */
	struct sn_collective *collectives;
	size_t count;
	struct sn_rank_sum *sums;   /* by participant */
	struct sn_intervals *waits; /* by participant, in its own time */
	size_t participant_count;
	size_t alone_count;    /* arrivals without a partner */
	bool is_shifted;       /* clocks differed */
	bool is_contradictory; /* and still do: no offset fits the reliable collectives */
	bool is_overlapped;    /* recordings lack parts: matched by overlap */
};

/* 0 or a negative enum sn_err; release in either case. Reorders collectives->arrivals. */
int sn_ranks(struct sn_collectives *collectives, struct sn_ranks *ranks, struct sn_error *error);
void sn_ranks_release(struct sn_ranks *ranks);

/* How long the call waited for the last to arrive. */
static inline uint64_t sn_arrival_wait_ns(const struct sn_arrival *arrival, uint64_t last_ns)
{
	uint64_t until = last_ns < arrival->end_ns ? last_ns : arrival->end_ns;
	return until > arrival->called_ns ? until - arrival->called_ns : 0;
}
/* The last to arrive. */
static inline const struct sn_arrival *sn_collective_last(const struct sn_ranks *ranks,
							  const struct sn_collective *collective)
{
	return ranks->arrivals + collective->first + collective->count - 1;
}
