/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that do one piece of work together: one alone, or the ranks of an MPI job, which
 * aggregate/comm.h knows and hands to the work like this.
 *
 * Every function but rank, size and is_one_host is called by all of them, in the same order, by one
 * thread of each. A rank without memory for a message ends the job, as a dying rank does, because
 * the others wait for it and have no other notice. Ranks agree on errors of the work itself before
 * any of them continues. The functions that send parts are NULL for a single process.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that lie in memory, from malloc. */
struct sn_peer_part {
	void *bytes;
	size_t length;
};

struct sn_peers {
	unsigned (*rank)(void);
	unsigned (*size)(void);
	/* All of them run on one machine, so that one may use the /proc of another. The same answer
	 * on all. */
	bool (*is_one_host)(void);
	/* `bytes` of rank 0 to all the others' `bytes`, which have the same length. */
	void (*broadcast)(void *bytes, size_t length);
	/* To rank 0, which gets an array of size() parts, its own among them. The array and the
	 * parts are from malloc; others get NULL. */
	struct sn_peer_part *(*gather)(const void *bytes, size_t length);
	/* Part i goes to rank i; what comes from rank i is in[i], whose bytes are from malloc. */
	void (*exchange)(const struct sn_peer_part *out, struct sn_peer_part *in);
	/* One sends to the other; the receiver gets memory of its own. */
	void (*send)(unsigned rank, const void *bytes, size_t length);
	void (*receive)(unsigned rank, struct sn_peer_part *part);
	/* The bits that any rank has set, on all of them. */
	void (*merge_bits)(uint64_t *words, size_t count);
	/* What went wrong anywhere: 0 where nothing did, else the code and text of the lowest rank
	 * that failed, on all of them. */
	int (*agree)(int code, struct sn_error *error);
};

/* A process that has no others. */
extern const struct sn_peers sn_peers_alone;

/* As agree; the text says which rank it was, unless all have failed. */
int sn_peers_agree(const struct sn_peers *peers, int code, struct sn_error *error);
void sn_peers_free_parts(struct sn_peer_part *parts, unsigned count);
/* On rank 0 `store` is called for the bytes of each rank, its own among them; none of a buffer that
 * has failed. */
void sn_peers_collect(const struct sn_peers *peers, const struct sn_buffer *bytes,
		      void (*store)(void *context, struct sn_span part), void *context);
