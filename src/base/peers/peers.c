/* SPDX-License-Identifier: Apache-2.0 */
/* One process alone; see peers.h. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned rank(void)
{
	return 0;
}

static unsigned size(void)
{
	return 1;
}

static bool is_one_host(void)
{
	return true;
}

static void broadcast(void *bytes, size_t length)
{
}

static void merge_bits(uint64_t *words, size_t count)
{
}

static int agree(int code, struct sn_error *error)
{
	return code;
}

const struct sn_peers sn_peers_alone = {
    .rank = rank,
    .size = size,
    .is_one_host = is_one_host,
    .broadcast = broadcast,
    .merge_bits = merge_bits,
    .agree = agree,
};

int sn_peers_agree(const struct sn_peers *peers, int code, struct sn_error *error)
{
	enum { FAILED = 1, DONE = 2 };
	uint64_t all = code ? FAILED : DONE;
	peers->merge_bits(&all, 1);
	if (code && error && all == (FAILED | DONE)) {
		struct sn_error text = *error;
		snprintf(error->text, sizeof(error->text), "rank %u: %.480s", peers->rank(),
			 text.text);
	}
	return peers->agree(code, error);
}

void sn_peers_free_parts(struct sn_peer_part *parts, unsigned count)
{
	for (unsigned i = 0; parts && i < count; i++)
		free(parts[i].bytes);
	free(parts);
}

void sn_peers_collect(const struct sn_peers *peers, const struct sn_buffer *bytes,
		      void (*store)(void *context, struct sn_span part), void *context)
{
	if (peers->size() == 1) {
		store(context, (struct sn_span){bytes->bytes, bytes->failed ? 0 : bytes->count});
		return;
	}
	struct sn_peer_part *parts = peers->gather(bytes->bytes, bytes->failed ? 0 : bytes->count);
	for (unsigned r = 0; parts && r < peers->size(); r++)
		store(context, (struct sn_span){parts[r].bytes, parts[r].length});
	sn_peers_free_parts(parts, parts ? peers->size() : 0);
}
