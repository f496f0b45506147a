/* SPDX-License-Identifier: Apache-2.0 */
/* One process alone; see peers.h. */
#include "peers.h"

#include <stdlib.h>
#include <string.h>

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
	(void)bytes;
	(void)length;
}

static struct sn_peer_part copy(const void *bytes, size_t length)
{
	struct sn_peer_part part = {malloc(length + 1), length};
	if (!part.bytes)
		abort(); /* as peers.h says: there is nobody to tell */
	if (length)
		memcpy(part.bytes, bytes, length);
	return part;
}

static struct sn_peer_part *gather(const void *bytes, size_t length)
{
	struct sn_peer_part *parts = malloc(sizeof(*parts));
	if (!parts)
		abort();
	*parts = copy(bytes, length);
	return parts;
}

static void exchange(const struct sn_peer_part *out, struct sn_peer_part *in)
{
	*in = copy(out->bytes, out->length);
}

static void send(unsigned to, const void *bytes, size_t length)
{
	(void)to;
	(void)bytes;
	(void)length;
}

static void receive(unsigned from, struct sn_peer_part *part)
{
	(void)from;
	*part = (struct sn_peer_part){0};
}

static void merge_bits(uint64_t *words, size_t count)
{
	(void)words;
	(void)count;
}

static int agree(int code, struct sn_error *error)
{
	(void)error;
	return code;
}

const struct sn_peers sn_peers_alone = {
    .rank = rank,
    .size = size,
    .is_one_host = is_one_host,
    .broadcast = broadcast,
    .gather = gather,
    .exchange = exchange,
    .send = send,
    .receive = receive,
    .merge_bits = merge_bits,
    .agree = agree,
};

void sn_peers_free_parts(struct sn_peer_part *parts, unsigned count)
{
	for (unsigned i = 0; parts && i < count; i++)
		free(parts[i].bytes);
	free(parts);
}
