/* SPDX-License-Identifier: Apache-2.0 */
/* Partially directed graphs and Meek's rules; see pdag.h. */
#include "pdag.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int sn_pdag_init(struct sn_pdag *graph, uint32_t count)
{
	*graph = (struct sn_pdag){.count = count, .words = sn_bits_words(count)};
	graph->out = calloc(2 * (size_t)count * graph->words + 1, sizeof(*graph->out));
	graph->in = graph->out ? graph->out + count * graph->words : NULL;
	return graph->out ? 0 : SN_ERR_MEMORY;
}

void sn_pdag_release(struct sn_pdag *graph)
{
	free(graph->out);
	*graph = (struct sn_pdag){0};
}

void sn_pdag_clear(struct sn_pdag *graph)
{
	memset(graph->out, 0, 2 * graph->count * graph->words * sizeof(*graph->out));
}

void sn_pdag_add_directed(struct sn_pdag *graph, uint32_t from, uint32_t to)
{
	sn_bits_add(graph->out + from * graph->words, to);
	sn_bits_add(graph->in + to * graph->words, from);
}

void sn_pdag_add_undirected(struct sn_pdag *graph, uint32_t a, uint32_t b)
{
	sn_pdag_add_directed(graph, a, b);
	sn_pdag_add_directed(graph, b, a);
}

void sn_pdag_direct(struct sn_pdag *graph, uint32_t from, uint32_t to)
{
	sn_bits_remove(graph->out + to * graph->words, from);
	sn_bits_remove(graph->in + from * graph->words, to);
}

/* ---- rows of bits ---- */

static uint64_t parents(const struct sn_pdag *graph, uint32_t of, size_t word)
{
	size_t place = of * graph->words + word;
	return graph->in[place] & ~graph->out[place];
}

static uint64_t children(const struct sn_pdag *graph, uint32_t of, size_t word)
{
	size_t place = of * graph->words + word;
	return graph->out[place] & ~graph->in[place];
}

static uint64_t undirected(const struct sn_pdag *graph, uint32_t of, size_t word)
{
	size_t place = of * graph->words + word;
	return graph->out[place] & graph->in[place];
}

static uint64_t adjacent(const struct sn_pdag *graph, uint32_t of, size_t word)
{
	size_t place = of * graph->words + word;
	return graph->out[place] | graph->in[place];
}

/* ---- Meek's rules, for an undirected edge a - b: whether it is a -> b ---- */

/* c -> a, and c and b are not adjacent: b -> a would make a collider that is none. */
static bool makes_collider(const struct sn_pdag *graph, uint32_t a, uint32_t b)
{
	uint64_t any = 0;
	for (size_t word = 0; word < graph->words; word++)
		any |= parents(graph, a, word) & ~adjacent(graph, b, word);
	return any;
}

/* a -> c -> b: b -> a would make a cycle. */
static bool makes_cycle(const struct sn_pdag *graph, uint32_t a, uint32_t b)
{
	uint64_t any = 0;
	for (size_t word = 0; word < graph->words; word++)
		any |= children(graph, a, word) & parents(graph, b, word);
	return any;
}

/* Whether one of the set of `graph->words` words is not adjacent to `to`, which is not counted. */
static bool has_stranger(const struct sn_pdag *graph, const uint64_t *set, uint32_t to)
{
	for (size_t word = 0; word < graph->words; word++) {
		uint64_t others = set[word] & ~adjacent(graph, to, word);
		if (word == to / 64)
			others &= ~(UINT64_C(1) << to % 64);
		if (others)
			return true;
	}
	return false;
}

/* a - c -> b and a - d -> b, where c and d are not adjacent. */
static bool makes_either(const struct sn_pdag *graph, uint32_t a, uint32_t b, uint64_t *set)
{
	for (size_t word = 0; word < graph->words; word++)
		set[word] = undirected(graph, a, word) & parents(graph, b, word);
	SN_BITS_EACH(set, graph->words, c)
	if (has_stranger(graph, set, (uint32_t)c))
		return true;
	return false;
}

/* a - d -> c -> b with a and c adjacent, where d and b are not. Only what is known makes that. */
static bool makes_either_by_knowledge(const struct sn_pdag *graph, uint32_t a, uint32_t b,
				      uint64_t *set)
{
	for (size_t word = 0; word < graph->words; word++)
		set[word] = adjacent(graph, a, word) & parents(graph, b, word);
	SN_BITS_EACH(set, graph->words, c)
	for (size_t word = 0; word < graph->words; word++)
		if (undirected(graph, a, word) & parents(graph, (uint32_t)c, word) &
		    ~adjacent(graph, b, word))
			return true;
	return false;
}

static bool must_be(const struct sn_pdag *graph, const struct sn_knowledge *knowledge, uint32_t a,
		    uint32_t b, uint64_t *set)
{
	return !sn_knowledge_allows(knowledge, b, a) || makes_collider(graph, a, b) ||
	       makes_cycle(graph, a, b) || makes_either(graph, a, b, set) ||
	       (knowledge && makes_either_by_knowledge(graph, a, b, set));
}

int sn_pdag_complete(struct sn_pdag *graph, const struct sn_knowledge *knowledge)
{
	uint64_t *set = malloc((graph->words + 1) * sizeof(*set));
	if (!set)
		return SN_ERR_MEMORY;
	for (bool has_changed = true; has_changed;) {
		has_changed = false;
		for (uint32_t a = 0; a < graph->count; a++)
			for (uint32_t b = 0; b < graph->count; b++)
				if (sn_pdag_is_undirected(graph, a, b) &&
				    must_be(graph, knowledge, a, b, set)) {
					sn_pdag_direct(graph, a, b);
					has_changed = true;
				}
	}
	free(set);
	return 0;
}

/* ---- the class of a directed graph ---- */

/* Whether `to` has another cause that is not adjacent to this one. */
static bool is_of_collider(const struct sn_pdag *graph, uint32_t from, uint32_t to)
{
	return has_stranger(graph, graph->in + to * graph->words, from);
}

int sn_pdag_to_class(struct sn_pdag *graph, const struct sn_knowledge *knowledge)
{
	struct sn_pdag class;
	int result = sn_pdag_init(&class, graph->count);
	for (uint32_t to = 0; !result && to < graph->count; to++)
		SN_BITS_EACH(graph->in + to * graph->words, graph->words, from)
		{
			if (is_of_collider(graph, (uint32_t)from, to))
				sn_pdag_add_directed(&class, (uint32_t)from, to);
			else
				sn_pdag_add_undirected(&class, (uint32_t)from, to);
		}
	result = result ? result : sn_pdag_complete(&class, knowledge);
	if (result) {
		sn_pdag_release(&class);
		return result;
	}
	sn_pdag_release(graph);
	*graph = class;
	return 0;
}
