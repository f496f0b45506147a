/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives over ranks: arrival times, the last rank, and the waits of the others.
 *
 * A collective's parts are found on the ranks by process group and number where both are recorded
 * (PyTorch: "Process Group Ranks", "Seq"), else as the n-th of its kind and size in the group. A
 * rank arrives when its part starts; until the last has arrived the others wait, and nothing is
 * transferred. One that goes on meanwhile (MPI_Iallreduce) waits from when it calls for the end.
 *
 * That compares clocks of several processes. Parts of one collective all run at the moment when
 * the last one starts, but for those that may end before (sn_arrival.is_loose: the root of a
 * broadcast). If one collective in ten contradicts this, either the clocks differ: then ranks are
 * shifted by the median difference of the parts' ends, which differ least. Or, where that does not
 * help, recordings lack some parts, so that counting them was wrong: then those belong together
 * that overlap in time, and what overlaps with nothing is left out.
 *
 * Times do not undo what the recording says: where it names a process group's collectives, and all
 * of its ranks did the same ones of the same sizes in the same order, nothing is missing.
 */
#ifndef SN_TIMELINE_RANKS_H
#define SN_TIMELINE_RANKS_H

#include "collectives.h"
#include "timeline/intervals.h"

/* A collective of several participants; its arrivals are next to each other, in order of arrival.
 * */
struct sn_collective {
	uint32_t first, count;
	uint64_t last_ns; /* arrival of the last */
	uint64_t wait_ns; /* of all the others together */
};

struct sn_rank_sum {
	size_t count, last_count;
	uint64_t waited_ns;  /* for others */
	uint64_t delayed_ns; /* others for it, when it was last */
	uint64_t late_ns;    /* behind the one before it, when it was last */
	int64_t offset_ns;   /* added to its times */
};

struct sn_ranks {
	struct sn_arrival *arrivals; /* collectives', by collective and arrival, in one time */
	struct sn_collective *collectives;
	size_t count;
	struct sn_rank_sum *sums;   /* by participant */
	struct sn_intervals *waits; /* by participant, in its own time */
	size_t participant_count;
	size_t alone_count;    /* arrivals without a partner */
	bool is_shifted;       /* clocks were apart */
	bool is_contradictory; /* and still are: no offset satisfies the reliable ones */
	bool is_overlapped;    /* recordings lack parts: those that overlap belong together */
};

/* 0 or a negative enum sn_err; release in either case. Orders collectives->arrivals anew. */
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

#endif
