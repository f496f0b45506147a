// SPDX-License-Identifier: Apache-2.0
/*
 * What the ranks of an MPI job tell each other (src/aggregate/comm.h), with lengths from nothing to
 * several parts, and with answers that are known. Each rank checks its own; one that is wrong says
 * so and ends with 1.
 */
#include "aggregate/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned rank, size;
static int wrong;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "rank %u, line %d: %s\n", rank, __LINE__, #condition);     \
			wrong = 1;                                                                 \
		}                                                                                  \
	} while (0)

/* The bytes that rank `from` has for rank `to`, other ones at every position. */
static struct sn_peer_part made(unsigned from, unsigned to, size_t length)
{
	unsigned char *bytes = malloc(length + 1);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)(i * 7 + from * 31 + to * 101 + 1);
	return (struct sn_peer_part){bytes, length};
}

static int is_same(struct sn_peer_part part, unsigned from, unsigned to, size_t length)
{
	struct sn_peer_part known = made(from, to, length);
	int same = part.length == length && (!length || !memcmp(part.bytes, known.bytes, length));
	free(known.bytes);
	return same;
}

static void check_broadcast(size_t length)
{
	struct sn_peer_part part = made(rank, 0, length);
	sn_comm()->broadcast(part.bytes, length);
	CHECK(is_same(part, 0, 0, length));
	free(part.bytes);
	part = rank ? (struct sn_peer_part){0} : made(0, 1, length);
	sn_comm_broadcast_part(&part);
	CHECK(is_same(part, 0, 1, length));
	free(part.bytes);
}

/* Each rank has a length of its own, one of them none at all. */
static size_t length_of(unsigned from, unsigned to)
{
	return (from + 2 * to) % 3 * 13;
}

static void check_gather(void)
{
	struct sn_peer_part mine = made(rank, 9, length_of(rank, 0));
	struct sn_peer_part *parts = sn_comm()->gather(mine.bytes, mine.length);
	CHECK(!parts == (rank != 0));
	for (unsigned r = 0; parts && r < size; r++)
		CHECK(is_same(parts[r], r, 9, length_of(r, 0)));
	sn_peers_free_parts(parts, size);
	free(mine.bytes);
}

static void check_exchange(void)
{
	struct sn_peer_part out[16], in[16];
	for (unsigned r = 0; r < size; r++)
		out[r] = made(rank, r, length_of(rank, r));
	sn_comm()->exchange(out, in);
	for (unsigned r = 0; r < size; r++) {
		CHECK(is_same(in[r], r, rank, length_of(r, rank)));
		free(out[r].bytes);
		free(in[r].bytes);
	}
}

static void check_send(void)
{
	if (rank + 1 < size) {
		struct sn_peer_part part = made(rank, rank + 1, 40);
		sn_comm()->send(rank + 1, part.bytes, part.length);
		free(part.bytes);
	}
	if (rank) {
		struct sn_peer_part part;
		sn_comm()->receive(rank - 1, &part);
		CHECK(is_same(part, rank - 1, rank, 40));
		free(part.bytes);
	}
}

static void check_reductions(void)
{
	CHECK(sn_comm_sum(UINT64_C(1) << 40 | rank) ==
	      ((uint64_t)size << 40 | size * (size - 1) / 2));
	/* a bit that all have, one that each has, a word beyond a part */
	uint64_t words[5] = {1, UINT64_C(1) << (63 - rank), 0, 0, UINT64_C(8) << rank};
	sn_comm()->merge_bits(words, 5);
	CHECK(words[0] == 1 && words[2] == 0);
	CHECK(words[1] == ~UINT64_C(0) << (64 - size) &&
	      words[4] == ((UINT64_C(1) << size) - 1) * 8);
}

/* Ranks from `first` on have failed, each with its own code and words. */
static void check_agreement(unsigned first)
{
	struct sn_error error = {"nothing"};
	char expected[32];
	if (rank >= first)
		snprintf(error.text, sizeof(error.text), "rank %u failed", rank);
	int code = sn_comm_agree(rank >= first ? -10 - (int)rank : 0, &error);
	snprintf(expected, sizeof(expected), "rank %u failed", first);
	CHECK(code == (first < size ? -10 - (int)first : 0));
	CHECK(!strcmp(error.text, first < size ? expected : "nothing"));
	CHECK(sn_comm_agree(rank >= first ? -1 : 0, NULL) == (first < size ? -1 : 0));
}

int main(void)
{
	sn_comm_begin();
	rank = sn_comm_rank();
	size = sn_comm_size();
	for (size_t length = 0; length < 20; length++)
		check_broadcast(length);
	check_gather();
	check_exchange();
	check_send();
	check_reductions();
	for (unsigned first = 0; first <= size; first++)
		check_agreement(first);
	if (!rank)
		printf("%u ranks, %s\n", size,
		       sn_comm()->is_one_host() ? "one host" : "many hosts");
	sn_comm_end();
	return wrong;
}
