/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that processes divide among them, and what they have found put together.
 *
 * Each process takes items that follow each other, so many that they have its share of the weight. Merging goes up a binary tree to rank 0 and
 * the whole comes back by a broadcast: after it all know the same, and go on alike. As long as adding depends on no order, neither the tree nor the
 * number of processes shows in the result.
 */
#pragma once

#include "peers.h"

struct sn_peers_work {
	size_t count;
	uint64_t (*weight)(const void *context, size_t item); /* NULL: all are alike */
	/* As sn_pool_work. */
	int (*item)(void *context, unsigned worker, size_t item);
	void *context;
};

/* Does this process's share of the items by its threads. 0 or the first code that one of them returned; the others have not agreed on it. */
int sn_peers_run(const struct sn_peers *peers, unsigned threads, const struct sn_peers_work *work);

/* What a process has found: as bytes, added to what there is, or forgotten. */
struct sn_peers_merging {
	void (*pack)(const void *context, struct sn_buffer *bytes);
	int (*add)(void *context, struct sn_span bytes); /* 0 or a negative enum sn_err */
	void (*clear)(void *context); /* NULL: what is added takes the place of what there is */
	void *context;
};

/* What each has found becomes the whole on all of them. Called by all; 0 or a negative enum sn_err on which they have agreed. */
int sn_peers_merge(const struct sn_peers *peers, const struct sn_peers_merging *merging,
		   struct sn_error *error);

/* The bytes of rank 0 into the empty buffers of the others. Called by all; 0 or SN_ERR_MEMORY, on which they have agreed. */
int sn_peers_spread(const struct sn_peers *peers, struct sn_buffer *bytes, struct sn_error *error);
