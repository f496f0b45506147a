/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks of a job divide among them, and what they have found put together.
 *
 * Each rank takes items that follow each other, so many that they have its share of the weight. Merging goes up a binary tree to rank 0 and
 * the whole comes back by a broadcast: after it all ranks know the same, and go on alike. Sums are of whole numbers, so that neither
 * the tree nor the number of ranks shows in the result.
 */
#include "vary.h"

#include "base/pool.h"

struct share {
	const struct sn_vary_work *work;
	size_t first;
};

static int work_share(void *context, unsigned worker, size_t item)
{
	const struct share *share = context;
	return share->work->item(share->work->context, worker, share->first + item);
}

/* An item is of the rank in whose share of the weight its middle lies. */
static size_t find_share(const struct sn_peers *peers, const struct sn_vary_work *work,
			 struct share *share)
{
	uint64_t all = 0, before = 0;
	size_t count = 0;
	for (size_t i = 0; i < work->count; i++)
		all += work->weight(work->context, i);
	for (size_t i = 0; i < work->count; i++) {
		uint64_t weight = work->weight(work->context, i);
		unsigned __int128 middle = (unsigned __int128)(2 * before + weight) * peers->size();
		if (all && middle / (2 * all) == peers->rank()) {
			share->first = count++ ? share->first : i;
		}
		before += weight;
	}
	return count;
}

static int worker_error(const struct sn_vary *vary, int result, struct sn_error *error)
{
	for (unsigned i = 0; i < vary->threads && result; i++)
		if (*vary->workers[i].error.text)
			return sn_fail_again(error, result, &vary->workers[i].error);
	return sn_fail_code(error, result);
}

int sn_vary_run(const struct sn_vary *vary, const struct sn_vary_work *work, struct sn_error *error)
{
	struct share share = {.work = work};
	size_t count = find_share(vary->peers, work, &share);
	int result = sn_pool_run(vary->threads, count, work_share, &share);
	return sn_peers_agree(vary->peers, worker_error(vary, result, error), error);
}

/* What the ranks after this one in the tree have is added; then it is sent to the one before it. */
static int merge_up(struct sn_vary *vary, const struct sn_vary_merging *merging)
{
	const struct sn_peers *peers = vary->peers;
	unsigned rank = peers->rank(), step = 1;
	int result = 0;
	for (; step < peers->size() && !(rank & step); step *= 2) {
		struct sn_peer_part part;
		if (rank + step >= peers->size())
			continue;
		peers->receive(rank + step, &part);
		if (!result)
			result = merging->add(vary, (struct sn_span){part.bytes, part.length});
		free(part.bytes);
	}
	if (rank) {
		struct sn_buffer bytes = {0};
		merging->pack(vary, &bytes);
		peers->send(rank - step, bytes.bytes, bytes.failed ? 0 : bytes.count);
		result = bytes.failed ? SN_ERR_MEMORY : result;
		sn_buffer_release(&bytes);
	}
	return result;
}

static int spread_down(struct sn_vary *vary, const struct sn_vary_merging *merging)
{
	const struct sn_peers *peers = vary->peers;
	struct sn_buffer bytes = {0};
	int result = 0;
	if (!peers->rank())
		merging->pack(vary, &bytes);
	uint64_t length = bytes.failed ? 0 : bytes.count;
	peers->broadcast(&length, sizeof(length));
	if (peers->rank())
		sn_buffer_room(&bytes, length);
	result = bytes.failed ? SN_ERR_MEMORY : 0;
	/* all take part once rank 0 has begun, and none where one of them has no room */
	result = peers->agree(result, NULL);
	if (!result)
		peers->broadcast(bytes.bytes, length);
	if (!result && peers->rank()) {
		merging->clear(vary);
		result = merging->add(vary, (struct sn_span){bytes.bytes, length});
	}
	sn_buffer_release(&bytes);
	return result;
}

int sn_vary_merge(struct sn_vary *vary, const struct sn_vary_merging *merging,
		  struct sn_error *error)
{
	if (vary->peers->size() == 1)
		return 0;
	int result = sn_fail_code(error, merge_up(vary, merging));
	result = sn_peers_agree(vary->peers, result, error);
	if (result)
		return result;
	result = sn_fail_code(error, spread_down(vary, merging));
	return sn_peers_agree(vary->peers, result, error);
}
