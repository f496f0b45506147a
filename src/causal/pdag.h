/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partially directed acyclic graphs: of two adjacent variables one causes the other (directed), or it is not known which
 * (undirected). All graphs that no data can tell apart are one such graph, the completed one (CPDAG).
 */
#pragma once

#include "knowledge.h"

struct sn_pdag {
	uint32_t count;
	size_t words;
	/* A row of bits for each variable: what it may cause, and what may cause it. An undirected edge is in both. */
	uint64_t *out, *in;
};

/* Without edges. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_pdag_init(struct sn_pdag *graph, uint32_t count);
void sn_pdag_release(struct sn_pdag *graph);
/* As sn_pdag_init, with the same edges. */
int sn_pdag_copy(const struct sn_pdag *from, struct sn_pdag *to);

static inline bool sn_pdag_is_adjacent(const struct sn_pdag *graph, uint32_t a, uint32_t b)
{
	return sn_bits_has(graph->out + a * graph->words, b) ||
	       sn_bits_has(graph->in + a * graph->words, b);
}

static inline bool sn_pdag_is_directed(const struct sn_pdag *graph, uint32_t from, uint32_t to)
{
	return sn_bits_has(graph->out + from * graph->words, to) &&
	       !sn_bits_has(graph->in + from * graph->words, to);
}

static inline bool sn_pdag_is_undirected(const struct sn_pdag *graph, uint32_t a, uint32_t b)
{
	return sn_bits_has(graph->out + a * graph->words, b) &&
	       sn_bits_has(graph->in + a * graph->words, b);
}

void sn_pdag_add_directed(struct sn_pdag *graph, uint32_t from, uint32_t to);
void sn_pdag_add_undirected(struct sn_pdag *graph, uint32_t a, uint32_t b);
void sn_pdag_remove(struct sn_pdag *graph, uint32_t a, uint32_t b);
/* Directs an edge. */
void sn_pdag_direct(struct sn_pdag *graph, uint32_t from, uint32_t to);

/* a and c are adjacent to b, and not to each other; a < c. */
struct sn_triple {
	uint32_t a, b, c;
};

/* Those of which it is not known whether a and c both cause b; ascending by b, a, c. */
struct sn_triples {
	const struct sn_triple *items;
	size_t count;
};

/*
 * Directs what must be, of what is directed and known (`knowledge` may be NULL): what is known, then the rules 1 to 4 of Meek, "Causal
 * inference and causal explanation with background knowledge" (1995), section 2, until none applies. The order of the
 * variables makes no difference: all edges are looked at before any of them is directed, and one that would have to be
 * directed both ways stays as it is. 0 or SN_ERR_MEMORY.
 */
int sn_pdag_complete(struct sn_pdag *graph, const struct sn_knowledge *knowledge);
/* The same, where nothing is concluded from `open` triples, which may be NULL (Colombo and Maathuis, "Order-independent constraint-based
 * causal structure learning", 2014, section 3). */
int sn_pdag_complete_but(struct sn_pdag *graph, const struct sn_knowledge *knowledge,
			 const struct sn_triples *open);

/* Directs the edges of a completed graph that have no direction, so that it is a directed graph of its class: one after the other, with what
 * follows from each. 0 or SN_ERR_MEMORY. */
int sn_pdag_to_member(struct sn_pdag *graph, const struct sn_knowledge *knowledge);

/* Makes a directed graph the completed one of its class: only colliders, what is known and what follows stays directed. 0 or
 * SN_ERR_MEMORY, then it is as it was. */
int sn_pdag_to_class(struct sn_pdag *graph, const struct sn_knowledge *knowledge);
