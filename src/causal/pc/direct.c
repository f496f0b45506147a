/* SPDX-License-Identifier: Apache-2.0 */
/* Colliders, and what follows from them; see pc.h. */
#include "base/pool.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "run.h"

#include <string.h>

enum verdict { OPEN, COLLIDER, NO_COLLIDER };

struct judged {
	struct sn_triple triple;
	enum verdict verdict;
};

struct row {
	struct judged *items; /* whose ends are this variable and a later one */
	size_t capacity;
	uint32_t count;
};

struct judging {
	struct sn_pc_run *run;
	struct row *rows;      /* of each variable */
	struct judged *judged; /* of all */
	size_t judged_count;
};

/* ---- what separates the ends ---- */

static void mark_among(struct sn_pc_worker *worker, size_t words, uint32_t count)
{
	memset(worker->is_among, 0, words * sizeof(*worker->is_among));
	for (uint32_t place = 0; place < count; place++)
		sn_bits_add(worker->is_among, worker->among[place]);
}

/* Whether `given` is a set of what was marked. */
static bool was_tested(const struct sn_pc_worker *worker, uint32_t size)
{
	for (uint32_t place = 0; place < size; place++)
		if (!sn_bits_has(worker->is_among, worker->given[place]))
			return false;
	return true;
}

/* Counts the sets of worker->among that separate a and b, and for each variable those it is in. `is_second`: without those that were marked.
 * 0 or SN_ERR_MEMORY. */
static int count_sets(const struct sn_pc_run *run, struct sn_pc_worker *worker, uint32_t a,
		      uint32_t b, uint32_t count, bool is_second, uint32_t *sets)
{
	for (uint32_t size = 0; size <= run->pc->depth && size <= count; size++)
		for (bool more = sn_subset_first(worker->places, size, count); more;
		     more = sn_subset_next(worker->places, size, count)) {
			for (uint32_t place = 0; place < size; place++)
				worker->given[place] = worker->among[worker->places[place]];
			if (is_second && was_tested(worker, size))
				continue;
			double probability = sn_independence_most(
			    &worker->test, a, b, worker->given, size, size, run->options->alpha);
			if (probability < 0)
				return SN_ERR_MEMORY;
			if (probability <= run->options->alpha)
				continue;
			(*sets)++;
			for (uint32_t place = 0; place < size; place++)
				worker->holding[worker->given[place]]++;
		}
	return 0;
}

static int separate(const struct sn_pc_run *run, struct sn_pc_worker *worker, uint32_t a,
		    uint32_t b, uint32_t *sets)
{
	*sets = 0;
	memset(worker->holding, 0, run->count * sizeof(*worker->holding));
	uint32_t count = sn_pc_among(run, worker, a, b);
	int result = count_sets(run, worker, a, b, count, false, sets);
	mark_among(worker, run->pc->graph.words, count);
	count = sn_pc_among(run, worker, b, a);
	return result ? result : count_sets(run, worker, a, b, count, true, sets);
}

/* ---- verdicts ---- */

static bool may_be_collider(const struct sn_pc_run *run, uint32_t a, uint32_t middle, uint32_t b)
{
	return sn_knowledge_allows(run->options->knowledge, a, middle) &&
	       sn_knowledge_allows(run->options->knowledge, b, middle);
}

static enum verdict verdict_of(const struct sn_pc_run *run, uint32_t sets, uint32_t holding)
{
	bool is_majority = run->options->rule == SN_PC_MAJORITY;
	if (!sets)
		return OPEN;
	if (is_majority ? 2 * (uint64_t)holding < sets : !holding)
		return COLLIDER;
	if (is_majority ? 2 * (uint64_t)holding > sets : holding == sets)
		return NO_COLLIDER;
	return OPEN;
}

/* All triples with these ends, which are not adjacent. */
static int judge_ends(const struct sn_pc_run *run, struct sn_pc_worker *worker, struct row *row,
		      uint32_t a, uint32_t b)
{
	const struct sn_pdag *graph = &run->pc->graph;
	bool is_separated = false;
	uint32_t sets = 0;
	for (size_t word = 0; word < graph->words; word++) {
		uint64_t middles =
		    graph->out[a * graph->words + word] & graph->out[b * graph->words + word];
		for (; middles; middles &= middles - 1) {
			uint32_t middle = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(middles));
			struct judged judged = {{a, middle, b}, NO_COLLIDER};
			if (may_be_collider(run, a, middle, b)) {
				if (!is_separated && separate(run, worker, a, b, &sets))
					return SN_ERR_MEMORY;
				is_separated = true;
				judged.verdict = verdict_of(run, sets, worker->holding[middle]);
			}
			if (sn_vec_push(&row->items, &row->capacity, &row->count, judged))
				return SN_ERR_MEMORY;
		}
	}
	return 0;
}

static int judge_row(void *context, unsigned worker, size_t number)
{
	struct judging *judging = context;
	const struct sn_pdag *graph = &judging->run->pc->graph;
	int result = 0;
	for (uint32_t a = (uint32_t)number, b = a + 1; !result && b < graph->count; b++)
		if (!sn_pdag_is_adjacent(graph, a, b))
			result = judge_ends(judging->run, &judging->run->workers[worker],
					    &judging->rows[a], a, b);
	return result;
}

static int judge(struct judging *judging)
{
	uint32_t count = judging->run->count;
	judging->rows = calloc(count + 1, sizeof(*judging->rows));
	int result = judging->rows
			 ? sn_pool_run(judging->run->options->threads, count, judge_row, judging)
			 : SN_ERR_MEMORY;
	for (uint32_t number = 0; !result && number < count; number++)
		judging->judged_count += judging->rows[number].count;
	judging->judged =
	    result ? NULL : malloc((judging->judged_count + 1) * sizeof(*judging->judged));
	if (!judging->judged)
		return SN_ERR_MEMORY;
	judging->judged_count = 0;
	for (uint32_t number = 0; number < count; number++)
		for (uint32_t item = 0; item < judging->rows[number].count; item++)
			judging->judged[judging->judged_count++] =
			    judging->rows[number].items[item];
	return 0;
}

/* ---- directions ---- */

/* Whether an edge leads to `variable` from, or from it to, one of the set. */
static bool leads_on(const struct sn_pdag *graph, const uint64_t *set, uint32_t variable,
		     bool is_out)
{
	for (size_t word = 0; word < graph->words; word++) {
		size_t row = variable * graph->words + word;
		uint64_t others =
		    is_out ? graph->out[row] & ~graph->in[row] : graph->in[row] & ~graph->out[row];
		if (others & set[word])
			return true;
	}
	return false;
}

/*
 * Takes the direction from edges that lead in a circle, and from those between two such circles: of what is on none, one variable after another
 * has nothing before or nothing behind it. 0 or SN_ERR_MEMORY.
 */
static int open_circles(struct sn_pdag *graph)
{
	uint64_t *left = calloc(graph->words + 1, sizeof(*left));
	if (!left)
		return SN_ERR_MEMORY;
	for (uint32_t variable = 0; variable < graph->count; variable++)
		sn_bits_add(left, variable);
	for (bool has_changed = true; has_changed;) {
		has_changed = false;
		for (uint32_t variable = 0; variable < graph->count; variable++)
			if (sn_bits_has(left, variable) &&
			    !(leads_on(graph, left, variable, false) &&
			      leads_on(graph, left, variable, true))) {
				sn_bits_remove(left, variable);
				has_changed = true;
			}
	}
	for (uint32_t from = 0; from < graph->count; from++)
		for (uint32_t to = 0; to < graph->count; to++)
			if (sn_bits_has(left, from) && sn_bits_has(left, to) &&
			    sn_pdag_is_directed(graph, from, to))
				sn_pdag_add_undirected(graph, from, to);
	free(left);
	return 0;
}

/* Into `heads`, rows of bits for each variable: which colliders make a cause of it. */
static void mark_heads(const struct judging *judging, uint64_t *heads, size_t words)
{
	for (size_t number = 0; number < judging->judged_count; number++) {
		const struct judged *judged = &judging->judged[number];
		if (judged->verdict != COLLIDER)
			continue;
		sn_bits_add(heads + judged->triple.b * words, judged->triple.a);
		sn_bits_add(heads + judged->triple.b * words, judged->triple.c);
	}
}

static int direct_colliders(const struct judging *judging)
{
	struct sn_pdag *graph = &judging->run->pc->graph;
	size_t words = graph->words;
	uint64_t *heads = calloc(graph->count * words + 1, sizeof(*heads));
	if (!heads)
		return SN_ERR_MEMORY;
	mark_heads(judging, heads, words);
	for (uint32_t to = 0; to < graph->count; to++)
		SN_BITS_EACH(heads + to * words, words, from)
	if (!sn_bits_has(heads + from * words, to))
		sn_pdag_direct(graph, (uint32_t)from, to);
	free(heads);
	return open_circles(graph);
}

SN_SORT_BY(sort_triples, struct sn_triple, const void *,
	   SN_ORDER(a->b, b->b) ?: SN_ORDER(a->a, b->a) ?: SN_ORDER(a->c, b->c));

/* Those without a verdict, and colliders of which an edge could not be directed. */
static int list_open(const struct judging *judging)
{
	struct sn_pc *pc = judging->run->pc;
	size_t capacity = 0;
	for (size_t number = 0; number < judging->judged_count; number++) {
		const struct judged *judged = &judging->judged[number];
		const struct sn_triple *triple = &judged->triple;
		bool is_directed = sn_pdag_is_directed(&pc->graph, triple->a, triple->b) &&
				   sn_pdag_is_directed(&pc->graph, triple->c, triple->b);
		if (judged->verdict == NO_COLLIDER || (judged->verdict == COLLIDER && is_directed))
			continue;
		if (sn_vec_push(&pc->open, &capacity, &pc->open_count, *triple))
			return SN_ERR_MEMORY;
	}
	sort_triples(pc->open, pc->open_count, NULL);
	return 0;
}

int sn_pc_direct(struct sn_pc_run *run)
{
	struct sn_pc *pc = run->pc;
	struct judging judging = {.run = run};
	int result = judge(&judging);
	result = result ? result : direct_colliders(&judging);
	result = result ? result : list_open(&judging);
	const struct sn_triples open = {pc->open, pc->open_count};
	result = result ? result : sn_pdag_complete_but(&pc->graph, run->options->knowledge, &open);
	result = result ? result : open_circles(&pc->graph);
	for (uint32_t number = 0; judging.rows && number < run->count; number++)
		free(judging.rows[number].items);
	free(judging.rows);
	free(judging.judged);
	return result;
}
