/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has been counted since the last flush, by pair and address, and what the kernel told of the pairs: whose code, and in which image.
 *
 * Its memory is bounded: by the numbers of pairs (counts.h), and by sn_ledger_is_full.
 */
#pragma once

#include "kernel/counts.h"

#include "base/intern.h"
#include "base/table.h"

#include <stdbool.h>

#define SN_NO_NAME UINT32_MAX

/* A pair that has a number. Names are those of its turn: sn_ledger_name. */
struct sn_ledger_pair {
	struct sn_pair key; /* kind 0: not told */
	uint64_t process_start_ns, image_bytes, image_mtime_ns;
	uint32_t pid, image, program, cgroup; /* the last three: names, or SN_NO_NAME */
	unsigned char build_id[20];
	uint8_t build_id_bytes;
	bool image_is_deleted;
};

struct sn_ledger_count {
	uint64_t key; /* number of the pair << 32 | address */
	uint64_t count;
};

struct sn_ledger_turn {
	struct sn_intern names;
	struct sn_table cgroups; /* to names, + 1 */
	struct sn_ledger_pair pair[SN_PAIRS_OF_TURN];
};

struct sn_ledger {
	struct sn_ledger_turn *turn[2];
	struct sn_table index;
	struct sn_ledger_count *counts;
	size_t capacity;
	uint64_t samples; /* the sum of the counts */
	uint64_t
	    lost; /* samples for which there was no memory; whoever tells of them sets it to 0 */
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_ledger_init(struct sn_ledger *ledger);
void sn_ledger_release(struct sn_ledger *ledger);

/* For struct sn_kernel_taker. */
int sn_ledger_add(void *ledger, uint32_t number, uint32_t address, uint32_t count);
int sn_ledger_tell(void *ledger, const struct sn_announced *announced);
/* Numbers of the older turn are no longer used: all that is counted must have been flushed. */
void sn_ledger_forget(struct sn_ledger *ledger, unsigned turn);

/* The counts in the order of their keys; clear afterwards. */
const struct sn_ledger_count *sn_ledger_sorted(struct sn_ledger *ledger);
void sn_ledger_clear(struct sn_ledger *ledger);
/* Whether it should be flushed now, though it is not time yet. */
bool sn_ledger_is_full(const struct sn_ledger *ledger);

/* NULL: the kernel has not told of it. */
const struct sn_ledger_pair *sn_ledger_pair(const struct sn_ledger *ledger, uint32_t number);
/* "" for SN_NO_NAME. `number`: of a pair of that turn. */
const char *sn_ledger_name(const struct sn_ledger *ledger, uint32_t number, uint32_t name);
