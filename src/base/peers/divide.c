/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of work, a tree of messages up, a broadcast down; see divide.h. */
#include "divide.h"

#include "base/pool.h"

#include <stdlib.h>

/* ---- work ---- */

struct share {
	const struct sn_peers_work *work;
	size_t first;
};

static int work_share(void *context, unsigned worker, size_t item)
{
	const struct share *share = context;
	return share->work->item(share->work->context, worker, share->first + item);
}

static uint64_t weight_of(const struct sn_peers_work *work, size_t item)
{
	return work->weight ? work->weight(work->context, item) : 1;
}

/* An item is of the rank in whose share of the weight its middle lies. */
static size_t find_share(const struct sn_peers *peers, const struct sn_peers_work *work,
			 struct share *share)
{
	uint64_t all = 0, before = 0;
	size_t count = 0;
	for (size_t i = 0; i < work->count; i++)
		all += weight_of(work, i);
	for (size_t i = 0; i < work->count; i++) {
		uint64_t weight = weight_of(work, i);
		unsigned __int128 middle = (unsigned __int128)(2 * before + weight) * peers->size();
		if (all && middle / (2 * all) == peers->rank()) {
			share->first = count++ ? share->first : i;
		}
		before += weight;
	}
	return count;
}

int sn_peers_run(const struct sn_peers *peers, unsigned threads, const struct sn_peers_work *work)
{
	struct share share = {.work = work};
	size_t count = find_share(peers, work, &share);
	return sn_pool_run(threads, count, work_share, &share);
}

/* ---- results ---- */

/* What the ranks after this one in the tree have is added; then it is sent to the one before it. */
static int merge_up(const struct sn_peers *peers, const struct sn_peers_merging *merging)
{
	unsigned rank = peers->rank(), step = 1;
	int result = 0;
	for (; step < peers->size() && !(rank & step); step *= 2) {
		struct sn_peer_part part;
		if (rank + step >= peers->size())
			continue;
		peers->receive(rank + step, &part);
		if (!result)
			result = merging->add(merging->context,
					      (struct sn_span){part.bytes, part.length});
		free(part.bytes);
	}
	if (rank) {
		struct sn_buffer bytes = {0};
		merging->pack(merging->context, &bytes);
		peers->send(rank - step, bytes.bytes, bytes.failed ? 0 : bytes.count);
		result = bytes.failed ? SN_ERR_MEMORY : result;
		sn_buffer_release(&bytes);
	}
	return result;
}

static int spread_down(const struct sn_peers *peers, const struct sn_peers_merging *merging,
		       struct sn_error *error)
{
	struct sn_buffer bytes = {0};
	if (!peers->rank())
		merging->pack(merging->context, &bytes);
	int result = sn_peers_spread(peers, &bytes, error);
	if (!result && peers->rank()) {
		if (merging->clear)
			merging->clear(merging->context);
		result = merging->add(merging->context, (struct sn_span){bytes.bytes, bytes.count});
		result = sn_fail_code(error, result);
	}
	sn_buffer_release(&bytes);
	return result;
}

int sn_peers_merge(const struct sn_peers *peers, const struct sn_peers_merging *merging,
		   struct sn_error *error)
{
	if (peers->size() == 1)
		return 0;
	int result = sn_fail_code(error, merge_up(peers, merging));
	result = sn_peers_agree(peers, result, error);
	if (result)
		return result;
	result = spread_down(peers, merging, error);
	return sn_peers_agree(peers, result, error);
}

int sn_peers_spread(const struct sn_peers *peers, struct sn_buffer *bytes, struct sn_error *error)
{
	uint64_t length = bytes->failed ? 0 : bytes->count;
	peers->broadcast(&length, sizeof(length));
	if (peers->rank())
		sn_buffer_room(bytes, length);
	/* all take part once rank 0 has begun, and none where one of them has no room */
	int result = sn_peers_agree(peers, bytes->failed ? sn_fail_memory(error) : 0, error);
	if (!result)
		peers->broadcast(bytes->bytes, length);
	return result;
}
