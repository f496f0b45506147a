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

int sn_pdag_copy(const struct sn_pdag *from, struct sn_pdag *to)
{
	int result = sn_pdag_init(to, from->count);
	if (!result)
		memcpy(to->out, from->out, 2 * from->count * from->words * sizeof(*to->out));
	return result;
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

void sn_pdag_remove(struct sn_pdag *graph, uint32_t a, uint32_t b)
{
	sn_pdag_direct(graph, a, b);
	sn_pdag_direct(graph, b, a);
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

struct completing {
	struct sn_pdag *graph;
	const struct sn_knowledge *knowledge;
	const struct sn_triples *open; /* or NULL */
	uint64_t *set;		       /* a row of bits */
	uint64_t *wanted, *refused;    /* rows of bits: what is to be directed, and what can't be */
};

static bool is_before(const struct sn_triple *one, const struct sn_triple *other)
{
	if (one->b != other->b)
		return one->b < other->b;
	return one->a != other->a ? one->a < other->a : one->c < other->c;
}

/* Whether b may be caused by both. */
static bool is_open(const struct completing *completing, uint32_t a, uint32_t b, uint32_t c)
{
	const struct sn_triple wanted = {a < c ? a : c, b, a < c ? c : a};
	if (!completing->open)
		return false;
	const struct sn_triple *items = completing->open->items;
	size_t low = 0, high = completing->open->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (is_before(&items[middle], &wanted))
			low = middle + 1;
		else
			high = middle;
	}
	return low < completing->open->count && !is_before(&wanted, &items[low]);
}

/* c -> a, and c and b are not adjacent: b -> a would make a collider that is none. */
static bool makes_collider(const struct completing *completing, uint32_t a, uint32_t b)
{
	const struct sn_pdag *graph = completing->graph;
	for (size_t word = 0; word < graph->words; word++) {
		uint64_t causes = parents(graph, a, word) & ~adjacent(graph, b, word);
		for (; causes; causes &= causes - 1)
			if (!is_open(completing,
				     (uint32_t)(word * 64 + (size_t)__builtin_ctzll(causes)), a, b))
				return true;
	}
	return false;
}

/* a -> c -> b: b -> a would make a cycle. */
static bool makes_cycle(const struct sn_pdag *graph, uint32_t a, uint32_t b)
{
	uint64_t any = 0;
	for (size_t word = 0; word < graph->words; word++)
		any |= children(graph, a, word) & parents(graph, b, word);
	return any;
}

/* Whether one of the set is not adjacent to c, and a is known not to be caused by both. */
static bool has_stranger_at(const struct completing *completing, uint32_t c, uint32_t a)
{
	const struct sn_pdag *graph = completing->graph;
	for (size_t word = 0; word < graph->words; word++) {
		uint64_t others = completing->set[word] & ~adjacent(graph, c, word);
		for (; others; others &= others - 1) {
			uint32_t d = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(others));
			if (d != c && !is_open(completing, c, a, d))
				return true;
		}
	}
	return false;
}

/* a - c -> b and a - d -> b, where c and d are not adjacent. */
static bool makes_either(const struct completing *completing, uint32_t a, uint32_t b)
{
	const struct sn_pdag *graph = completing->graph;
	uint64_t *set = completing->set;
	for (size_t word = 0; word < graph->words; word++)
		set[word] = undirected(graph, a, word) & parents(graph, b, word);
	SN_BITS_EACH(set, graph->words, c)
	if (has_stranger_at(completing, (uint32_t)c, a))
		return true;
	return false;
}

/* a - d -> c -> b with a and c adjacent, where d and b are not. Only what is known makes that. */
static bool makes_either_by_knowledge(const struct completing *completing, uint32_t a, uint32_t b)
{
	const struct sn_pdag *graph = completing->graph;
	uint64_t *set = completing->set;
	for (size_t word = 0; word < graph->words; word++)
		set[word] = adjacent(graph, a, word) & parents(graph, b, word);
	SN_BITS_EACH(set, graph->words, c)
	for (size_t word = 0; word < graph->words; word++) {
		uint64_t causes = undirected(graph, a, word) & parents(graph, (uint32_t)c, word) &
				  ~adjacent(graph, b, word);
		for (; causes; causes &= causes - 1)
			if (!is_open(completing,
				     (uint32_t)(word * 64 + (size_t)__builtin_ctzll(causes)), a, b))
				return true;
	}
	return false;
}

static bool must_be(const struct completing *completing, uint32_t a, uint32_t b)
{
	return makes_collider(completing, a, b) || makes_cycle(completing->graph, a, b) ||
	       makes_either(completing, a, b) ||
	       (completing->knowledge && makes_either_by_knowledge(completing, a, b));
}

static bool is_known(const struct completing *completing, uint32_t a, uint32_t b)
{
	return !sn_knowledge_allows(completing->knowledge, b, a);
}

/* Directs all undirected edges that a rule directs; whether there was any. */
static bool direct_by(const struct completing *completing,
		      bool (*rule)(const struct completing *, uint32_t, uint32_t))
{
	struct sn_pdag *graph = completing->graph;
	bool has_changed = false;
	memset(completing->wanted, 0, graph->count * graph->words * sizeof(*completing->wanted));
	for (uint32_t a = 0; a < graph->count; a++)
		for (size_t word = 0; word < graph->words; word++) {
			size_t row = a * graph->words + word;
			uint64_t open = undirected(graph, a, word) & ~completing->refused[row];
			for (; open; open &= open - 1) {
				uint64_t bit = open & -open;
				if (rule(completing, a,
					 (uint32_t)(word * 64 + (size_t)__builtin_ctzll(open))))
					completing->wanted[row] |= bit;
			}
		}
	for (uint32_t a = 0; a < graph->count; a++)
		SN_BITS_EACH(completing->wanted + a * graph->words, graph->words, b)
		{
			if (sn_bits_has(completing->wanted + b * graph->words, a)) {
				sn_bits_add(completing->refused + a * graph->words, (uint32_t)b);
			} else {
				sn_pdag_direct(graph, a, (uint32_t)b);
				has_changed = true;
			}
		}
	return has_changed;
}

int sn_pdag_complete_but(struct sn_pdag *graph, const struct sn_knowledge *knowledge,
			 const struct sn_triples *open)
{
	size_t bits = graph->count * graph->words;
	uint64_t *room = calloc(2 * bits + graph->words + 1, sizeof(*room));
	struct completing completing = {.graph = graph,
					.knowledge = knowledge,
					.open = open && open->count ? open : NULL,
					.wanted = room,
					.refused = room + bits,
					.set = room + 2 * bits};
	if (!room)
		return SN_ERR_MEMORY;
	if (knowledge)
		direct_by(&completing, is_known);
	while (direct_by(&completing, must_be))
		;
	free(room);
	return 0;
}

int sn_pdag_complete(struct sn_pdag *graph, const struct sn_knowledge *knowledge)
{
	return sn_pdag_complete_but(graph, knowledge, NULL);
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

int sn_pdag_to_member(struct sn_pdag *graph, const struct sn_knowledge *knowledge)
{
	int result = 0;
	for (uint32_t a = 0; a < graph->count; a++)
		for (uint32_t b = 0; !result && b < graph->count; b++)
			if (sn_pdag_is_undirected(graph, a, b)) {
				sn_pdag_direct(graph, a, b);
				result = sn_pdag_complete(graph, knowledge);
			}
	return result;
}
