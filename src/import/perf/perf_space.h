/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address spaces of processes over time, from perf's records of mappings, forks and execs.
 *
 * Records of different processors come out of order, so all of them are added before anything is
 * looked up. An address is then looked up in what its process had mapped at that time: backwards
 * from the time to the last exec, then in the parent as it was at the fork.
 */
#pragma once

#include "aggregate/unify/merge.h"
#include "perf_file.h"
#include "perf_object.h"

/* When something happened: by time, and among equal times (there may be none) in the file's order.
 */
struct sn_perf_moment {
	uint64_t time_ns, order;
};

struct sn_perf_change {
	struct sn_perf_moment when;
	uint64_t start, end, offset; /* of a mapping */
	uint32_t object;	     /* of a mapping */
	uint32_t parent;	     /* of a fork: number of the process */
	enum { SN_PERF_MAPPED, SN_PERF_EXECED, SN_PERF_FORKED } kind;
};

#define SN_PERF_SPACE_CACHE 64

/* Answers for a page, valid between two changes. */
struct sn_perf_answer {
	uint64_t page, change_count;
	const struct sn_perf_change *change;
};

struct sn_perf_process {
	uint32_t pid;
	struct sn_perf_change *changes; /* in order, once all are known */
	size_t count, capacity;
	uint32_t jit; /* object of its perf map; SONDE_NONE not looked for, SONDE_NONE - 1 none */
	struct sn_perf_answer answers[SN_PERF_SPACE_CACHE];
};

struct sn_perf_space {
	struct sn_merge *merge;
	const struct sn_perf_file *file;
	struct sn_table pids;
	struct sn_perf_process **processes; /* by its number */
	size_t process_capacity;
	struct sn_intern paths; /* path, NUL, build id: object */
	struct sn_perf_object *objects;
	size_t object_capacity;
	uint64_t kernel_start; /* where the kernel's reference symbol was; 0 unknown */
	char kernel_symbol[64];
};

void sn_perf_space_init(struct sn_perf_space *space, struct sn_merge *merge,
			const struct sn_perf_file *file);
void sn_perf_space_release(struct sn_perf_space *space);

/* Adds what a record of the kinds that matter says of that moment; others are left. 0 or
 * SN_ERR_MEMORY. */
int sn_perf_space_add(struct sn_perf_space *space, const struct sn_perf_raw *record,
		      struct sn_perf_moment when);
/* All are there. */
void sn_perf_space_sort(struct sn_perf_space *space);

/* A user's address as a frame of the merge: module and address in it. SN_ERR_MEMORY or 0. */
int sn_perf_space_find(struct sn_perf_space *space, uint32_t pid, struct sn_perf_moment when,
		       uint64_t address, struct sn_frame *frame);

/* The mapping of an address, or NULL; valid while nothing is added. For unwinding. */
const struct sn_perf_change *sn_perf_space_mapping(struct sn_perf_space *space, uint32_t pid,
						   struct sn_perf_moment when, uint64_t address);
