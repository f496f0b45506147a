/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adjustment sets; see adjustment.h.
 *
 * A possibly directed path has a subsequence that is one too and in which no three neighbours are adjacent (a shortest one), and of such a
 * path only the edges between neighbours count (Perkovic et al. 2017, lemmas 3.5 and 3.6). So paths are followed by pairs of neighbours: from
 * (a, b) to (b, c) where b may cause c and a is not adjacent to c.
 */
#include "adjustment.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

struct searching {
	const struct sn_pdag *graph;
	uint64_t *seen;	 /* a row of bits for each variable: pairs that were met */
	uint32_t *stack; /* pairs of variables */
	size_t height;
	uint32_t avoided; /* a variable that paths do not go through; UINT32_MAX: none */
};

static void push(struct searching *searching, uint32_t a, uint32_t b)
{
	uint64_t *row = searching->seen + a * searching->graph->words;
	if (b == searching->avoided || sn_bits_has(row, b))
		return;
	sn_bits_add(row, b);
	searching->stack[2 * searching->height] = a;
	searching->stack[2 * searching->height++ + 1] = b;
}

/* Adds to `reached` what may be reached from there. */
static void follow(struct searching *searching, uint32_t from, uint64_t *reached)
{
	const struct sn_pdag *graph = searching->graph;
	memset(searching->seen, 0, graph->count * graph->words * sizeof(*searching->seen));
	SN_BITS_EACH(graph->out + from * graph->words, graph->words, first)
	push(searching, from, (uint32_t)first);
	while (searching->height) {
		uint32_t a = searching->stack[2 * --searching->height],
			 b = searching->stack[2 * searching->height + 1];
		sn_bits_add(reached, b);
		SN_BITS_EACH(graph->out + b * graph->words, graph->words, next)
		{
			uint32_t c = (uint32_t)next;
			if (c != a && c != from && !sn_pdag_is_adjacent(graph, a, c))
				push(searching, b, c);
		}
	}
}

/* A path to the target may begin with an edge of no direction. Then what is next may be adjacent to the cause. */
static bool is_open(struct searching *searching, uint32_t cause, uint32_t target, uint64_t *room)
{
	const struct sn_pdag *graph = searching->graph;
	memset(room, 0, graph->words * sizeof(*room));
	searching->avoided = cause;
	for (uint32_t next = 0; next < graph->count; next++)
		if (sn_pdag_is_undirected(graph, cause, next)) {
			sn_bits_add(room, next);
			follow(searching, next, room);
		}
	searching->avoided = UINT32_MAX;
	return sn_bits_has(room, target);
}

/* What is on directed paths to the target, with it: may be reached from the cause, and reaches the target without it. */
static void find_between(struct searching *searching, uint32_t cause, uint32_t target,
			 const uint64_t *after_cause, uint64_t *room, uint64_t *between)
{
	const struct sn_pdag *graph = searching->graph;
	sn_bits_add(between, target);
	searching->avoided = cause;
	SN_BITS_EACH(after_cause, graph->words, on_path)
	{
		if (on_path == cause || on_path == target)
			continue;
		memset(room, 0, graph->words * sizeof(*room));
		follow(searching, (uint32_t)on_path, room);
		if (sn_bits_has(room, target))
			sn_bits_add(between, (uint32_t)on_path);
	}
	searching->avoided = UINT32_MAX;
}

static void add_parents(const struct sn_pdag *graph, uint32_t variable, uint64_t *parents)
{
	for (uint32_t parent = 0; parent < graph->count; parent++)
		if (sn_pdag_is_directed(graph, parent, variable))
			sn_bits_add(parents, parent);
}

static void find_optimal(struct searching *searching, uint32_t cause, uint32_t target,
			 const uint64_t *after_cause, uint64_t *between, uint64_t *changed,
			 uint64_t *held)
{
	size_t words = searching->graph->words;
	find_between(searching, cause, target, after_cause, changed, between);
	memset(changed, 0, words * sizeof(*changed));
	sn_bits_add(changed, cause);
	SN_BITS_EACH(between, words, on_path)
	{
		sn_bits_add(changed, (uint32_t)on_path);
		follow(searching, (uint32_t)on_path, changed);
		add_parents(searching->graph, (uint32_t)on_path, held);
	}
	for (size_t word = 0; word < words; word++)
		held[word] &= ~changed[word];
}

static bool is_exogenous(const struct sn_knowledge *knowledge, uint32_t cause)
{
	for (uint32_t other = 0; knowledge && other < knowledge->count; other++)
		if (other != cause && sn_knowledge_allows(knowledge, other, cause))
			return false;
	return knowledge;
}

static int find(struct searching *searching, const struct sn_knowledge *knowledge, uint32_t cause,
		uint32_t target, enum sn_adjustment_kind kind, uint64_t *sets, uint64_t *held)
{
	const struct sn_pdag *graph = searching->graph;
	size_t words = graph->words;
	uint64_t *reached = sets;
	follow(searching, cause, reached);
	if (!sn_bits_has(reached, target))
		return SN_ADJUSTMENT_NO_EFFECT;
	if (is_open(searching, cause, target, sets + words))
		return SN_ADJUSTMENT_UNDETERMINED;
	if (kind == SN_ADJUSTMENT_OPTIMAL)
		find_optimal(searching, cause, target, reached, sets + 2 * words, sets + 3 * words,
			     held);
	else if (!is_exogenous(knowledge, cause))
		add_parents(graph, cause, held);
	return SN_ADJUSTMENT_FOUND;
}

int sn_adjustment_find(const struct sn_pdag *graph, const struct sn_knowledge *knowledge,
		       uint32_t cause, uint32_t target, enum sn_adjustment_kind kind,
		       uint64_t *held)
{
	size_t words = graph->words, edges = 0;
	for (size_t word = 0; word < graph->count * words; word++)
		edges += (size_t)__builtin_popcountll(graph->out[word]);
	struct searching searching = {.graph = graph, .avoided = UINT32_MAX};
	searching.seen = malloc(graph->count * words * sizeof(*searching.seen) + 1);
	searching.stack = malloc(2 * edges * sizeof(*searching.stack) + 1);
	uint64_t *sets = calloc(4 * words + 1, sizeof(*sets));
	memset(held, 0, words * sizeof(*held));
	int result = searching.seen && searching.stack && sets
			 ? find(&searching, knowledge, cause, target, kind, sets, held)
			 : SN_ERR_MEMORY;
	free(searching.seen);
	free(searching.stack);
	free(sets);
	return result;
}
