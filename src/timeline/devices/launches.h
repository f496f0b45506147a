/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launching calls of threads by their link. A small number is kept in memory; a large one is sorted
 * in an unnamed file with a cache of recently used parts, since consecutive operations are mostly
 * launched by consecutive calls.
 *
 * A read error is remembered: nothing is found any more, and sn_launches_check returns it.
 */
#pragma once

#include "base/external_sort.h"
#include "sonde/trace.h"

/* Of equal links the call that begins first, or of the lowest track. */
struct sn_launch {
	uint64_t link, start_ns, end_ns;
	uint32_t profile;
};

struct sn_launch_page;

struct sn_launches {
	struct sn_external_sort sorted; /* while they are added */
	struct sn_spill file;		/* all of them, where they are not in memory */
	struct sn_launch *items;
	uint64_t *firsts; /* the first link of each page */
	size_t count, capacity, page_count, page_capacity;
	struct sn_launch_page *cache;
	size_t memory_bytes, last_page;
	int failed;
	struct sn_error why;
};

/* About so much is used; nothing is found before sn_launches_finish. */
void sn_launches_init(struct sn_launches *launches, size_t memory_bytes);
void sn_launches_release(struct sn_launches *launches);
/* The calls of a block of a thread's track that have links. 0 or a negative enum sn_err. */
int sn_launches_add(struct sn_launches *launches, uint32_t profile,
		    const struct sonde_event_block *block, struct sn_error *error);
int sn_launches_finish(struct sn_launches *launches, struct sn_error *error);

/* The launch with that link; NULL for 0, or if it is not recorded. Valid until the next call. */
const struct sn_launch *sn_launches_find(struct sn_launches *launches, uint64_t link);
/* 0, or the first failure. */
int sn_launches_check(const struct sn_launches *launches, struct sn_error *error);
