/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merged measurements of one worker, and merging those of several workers.
 *
 * Every thread of every rank merges its own files (merge.h) into tables of its own, without locks.
 * Then tables are merged two by two, as a tree: first those of a rank's threads, then those of the
 * ranks. Ids in the resulting table depend on the order of merging; later results do not, because
 * everything is put into the canonical order of a database.
 */
#pragma once

#include "merge.h"
#include "aggregate/read/provenance.h"
#include "format/writer/pack.h"

/* The input of a profile, independent of the thread that has read it. */
struct sn_input_thread {
	uint32_t file, thread; /* position in the sorted list of files; of its threads */
};

struct sn_unified {
	struct sn_db_builder *builder; /* owned; of the merge */
	struct sn_merge merge;
	uint32_t profile_thread;    /* for merge.on_thread: of its file, the profile being added */
	struct sn_buffer processes; /* each measurement's data for provenance, packed */
	uint64_t *value_counts;	    /* [node]: values measured there, over all profiles */
	struct sn_input_thread *origins; /* [profile] */
	unsigned __int128 *totals;	 /* [metric]: all sums */
	size_t count_capacity, origin_capacity, total_capacity;
	size_t total_count;
};

/* 0 or SN_ERR_MEMORY; release in either case. All zeroes may be released as well. */
int sn_unified_init(struct sn_unified *unified);
void sn_unified_release(struct sn_unified *unified);

/* Adds a measurement, the file-th of all. 0, SN_ERR_MEMORY or what merge.on_thread returned. */
int sn_unified_add(struct sn_unified *unified, const struct sn_measurement *measurement,
		   uint32_t file);
/* Counts a value, to compute the memory of the context's rows. 0 or SN_ERR_MEMORY. */
int sn_unified_count(struct sn_unified *unified, uint32_t node, uint32_t metric, uint64_t sum);

/* Adds all of `from`. 0 or SN_ERR_MEMORY. */
int sn_unified_absorb(struct sn_unified *into, const struct sn_unified *from);
/*
 * The id in `all` of each node and metric of `from`. `all` has absorbed `from`; with `is_partial`
 * it may lack parts, which get SONDE_NONE. From malloc; NULL without memory. MT: any number of
 * threads at once, while no thread adds to `all`.
 */
uint32_t *sn_unified_translate(const struct sn_unified *all, const struct sn_unified *from,
			       bool is_partial, uint32_t **metrics);

/* To another rank, which fills in an sn_unified_init. */
void sn_unified_pack(struct sn_pack *pack, struct sn_unified *unified);

/* Adds all processes to the provenance, and their graphs to the builder, in the order of their
 * files. 0 or SN_ERR_MEMORY. */
int sn_unified_provenance(const struct sn_unified *unified, struct sn_provenance *provenance);

/* Memory that the tables take, about. */
uint64_t sn_unified_bytes(const struct sn_unified *unified);
