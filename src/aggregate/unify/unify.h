/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one worker has learned of its measurements, and how several workers' become one.
 *
 * Every thread of every rank merges its own files (merge.h) into tables of its own, without locks.
 * Then tables are taken into each other, pair by pair, as a tree: first those of a rank's threads,
 * then those of the ranks. Numbers in the one that is left depend on who came first; nothing after
 * that does, because everything is put into the canonical order of a database.
 */
#ifndef SN_AGGREGATE_UNIFY_H
#define SN_AGGREGATE_UNIFY_H

#include "merge.h"
#include "aggregate/read/provenance.h"
#include "format/writer/pack.h"

/* Which of all inputs a profile comes from: the same whoever has read it. */
struct sn_input_thread {
	uint32_t file, thread; /* position in the sorted list of files; of its threads */
};

struct sn_unified {
	struct sn_db_builder *builder; /* owned; of the merge */
	struct sn_merge merge;
	uint32_t profile_thread;  /* for merge.take: of its file, the profile that is being added */
	struct sn_pack processes; /* what provenance wants of each measurement */
	uint64_t *value_counts;	  /* [node]: values measured there, over all profiles */
	struct sn_input_thread *origins; /* [profile] */
	unsigned __int128 *totals;	 /* [metric]: all sums */
	size_t count_capacity, origin_capacity, total_capacity;
	size_t total_count;
};

/* 0 or SN_ERR_MEMORY; release in either case. All zeroes may be released as well. */
int sn_unified_init(struct sn_unified *unified);
void sn_unified_release(struct sn_unified *unified);

/* Takes in a measurement, the file-th of all. 0, SN_ERR_MEMORY or what merge.take returned. */
int sn_unified_add(struct sn_unified *unified, const struct sn_measurement *measurement,
		   uint32_t file);
/* Counts a value: how much memory the rows of a context need is known by that. */
int sn_unified_count(struct sn_unified *unified, uint32_t node, uint32_t metric, uint64_t sum);

/* Takes in all of `from`. 0 or SN_ERR_MEMORY. */
int sn_unified_absorb(struct sn_unified *into, const struct sn_unified *from);
/*
 * The number in `all` of each node of `from`, which `all` has absorbed. From malloc; NULL without
 * memory. MT: any number of threads at once, as long as nobody adds to `all`.
 */
uint32_t *sn_unified_translate(const struct sn_unified *all, const struct sn_unified *from,
			       uint32_t **metrics);

/* The same of tables that `all` may have only a part of: SONDE_NONE for what it does not have. */
uint32_t *sn_unified_find(const struct sn_unified *all, const struct sn_unified *from,
			  uint32_t **metrics);

/* To another rank; sn_unpack_unified fills in what sn_unified_init has made. */
void sn_pack_unified(struct sn_pack *pack, const struct sn_unified *unified);
void sn_unpack_unified(struct sn_unpack *unpack, struct sn_unified *unified);

/* Adds all processes to the provenance, in the order of their files. 0 or SN_ERR_MEMORY. */
int sn_unified_tell(const struct sn_unified *unified, struct sn_provenance *provenance);

/* Memory that the tables take, about. */
uint64_t sn_unified_bytes(const struct sn_unified *unified);

#endif
