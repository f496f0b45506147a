/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables are adjacent; see pc.h. */
#include "base/pool.h"
#include "base/vec.h"
#include "fdr.h"
#include "run.h"

/* Edges that a thread takes at once. */
#define CHUNK 16u

uint32_t sn_pc_among(const struct sn_pc_run *run, struct sn_pc_worker *worker, uint32_t of,
		     uint32_t from)
{
	const struct sn_pdag *graph = &run->pc->graph;
	uint32_t count = 0;
	for (size_t word = 0; word < graph->words; word++) {
		size_t row = of * graph->words + word;
		for (uint64_t rest = graph->out[row] | graph->in[row]; rest; rest &= rest - 1) {
			uint32_t other = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(rest));
			if (other != from &&
			    sn_knowledge_allows(run->options->knowledge, other, of))
				worker->among[count++] = other;
		}
	}
	return count;
}

/* ---- without any variable held ---- */

struct row {
	struct sn_pc_edge *edges; /* with later variables */
	size_t capacity;
	uint32_t count;
	uint64_t pairs;
};

struct first_level {
	struct sn_pc_run *run;
	struct row *rows; /* of each variable */
};

static bool is_required(const struct sn_knowledge *knowledge, uint32_t a, uint32_t b)
{
	return sn_knowledge_requires(knowledge, a, b) || sn_knowledge_requires(knowledge, b, a);
}

static int test_row(void *context, unsigned worker, size_t number)
{
	struct first_level *level = context;
	const struct sn_pc_options *options = level->run->options;
	const struct sn_knowledge *knowledge = options->knowledge;
	const struct sn_independence *test = &level->run->workers[worker].test;
	struct row *row = &level->rows[number];
	for (uint32_t a = (uint32_t)number, b = a + 1; b < level->run->count; b++) {
		if (!sn_knowledge_allows(knowledge, a, b) && !sn_knowledge_allows(knowledge, b, a))
			continue;
		row->pairs++;
		double probability =
		    is_required(knowledge, a, b)
			? 0
			: sn_independence_most(test, a, b, NULL, 0, 0, options->alpha);
		if (probability < 0)
			return SN_ERR_MEMORY;
		if (probability > options->alpha)
			continue;
		struct sn_pc_edge edge = {a, b, probability, 0};
		if (sn_vec_push(&row->edges, &row->capacity, &row->count, edge))
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int gather_rows(struct first_level *level)
{
	struct sn_pc *pc = level->run->pc;
	size_t capacity = 0;
	for (uint32_t number = 0; number < level->run->count; number++) {
		const struct row *row = &level->rows[number];
		pc->pairs += row->pairs;
		if (sn_vec_reserve(&pc->edges, &capacity, (size_t)pc->edge_count + row->count) < 0)
			return SN_ERR_MEMORY;
		for (uint32_t edge = 0; edge < row->count; edge++) {
			pc->edges[pc->edge_count++] = row->edges[edge];
			sn_pdag_add_undirected(&pc->graph, row->edges[edge].a, row->edges[edge].b);
		}
	}
	return 0;
}

static int test_pairs(struct sn_pc_run *run)
{
	struct first_level level = {run, calloc(run->count + 1, sizeof(*level.rows))};
	int result = level.rows ? sn_pool_run(run->options->threads, run->count, test_row, &level)
				: SN_ERR_MEMORY;
	result = result ? result : gather_rows(&level);
	for (uint32_t number = 0; level.rows && number < run->count; number++)
		free(level.rows[number].edges);
	free(level.rows);
	return result;
}

/* ---- with some held ---- */

struct next_level {
	struct sn_pc_run *run;
	uint32_t depth;
};

/* The larger of the edge's probability and those of the sets for one of its ends. */
static double test_end(const struct next_level *level, struct sn_pc_worker *worker, uint32_t of,
		       uint32_t from, double probability)
{
	double alpha = level->run->options->alpha;
	if (probability < 0 || probability > alpha)
		return probability;
	uint32_t count = sn_pc_among(level->run, worker, of, from);
	double most =
	    sn_independence_most(&worker->test, of < from ? of : from, of < from ? from : of,
				 worker->among, count, level->depth, alpha);
	return most < 0 || most > probability ? most : probability;
}

static int test_edges(void *context, unsigned number, size_t chunk)
{
	struct next_level *level = context;
	struct sn_pc *pc = level->run->pc;
	struct sn_pc_worker *worker = &level->run->workers[number];
	for (size_t at = chunk * CHUNK; at < pc->edge_count && at < (chunk + 1) * CHUNK; at++) {
		struct sn_pc_edge *edge = &pc->edges[at];
		double probability = edge->probability;
		if (is_required(level->run->options->knowledge, edge->a, edge->b))
			continue;
		probability = test_end(level, worker, edge->a, edge->b, probability);
		probability = test_end(level, worker, edge->b, edge->a, probability);
		if (probability < 0)
			return SN_ERR_MEMORY;
		edge->probability = probability;
	}
	return 0;
}

/* The number of other variables that the most adjacent one has. */
static uint32_t largest_degree(const struct sn_pdag *graph)
{
	uint32_t most = 0;
	for (uint32_t variable = 0; variable < graph->count; variable++) {
		uint32_t degree = 0;
		for (size_t word = 0; word < graph->words; word++)
			degree += (uint32_t)__builtin_popcountll(
			    graph->out[variable * graph->words + word]);
		most = degree > most ? degree : most;
	}
	return most;
}

static void drop_edges(struct sn_pc *pc, bool (*is_dropped)(const struct sn_pc_edge *, double),
		       double limit)
{
	uint32_t kept = 0;
	for (uint32_t at = 0; at < pc->edge_count; at++) {
		if (is_dropped(&pc->edges[at], limit))
			sn_pdag_remove(&pc->graph, pc->edges[at].a, pc->edges[at].b);
		else
			pc->edges[kept++] = pc->edges[at];
	}
	pc->edge_count = kept;
}

static bool is_separated(const struct sn_pc_edge *edge, double alpha)
{
	return edge->probability > alpha;
}

static bool is_uncertain(const struct sn_pc_edge *edge, double rate)
{
	return edge->adjusted > rate;
}

static int find_edges(struct sn_pc_run *run)
{
	struct sn_pc *pc = run->pc;
	uint32_t most = run->options->tests->given_most;
	int result = test_pairs(run);
	most = run->options->depth < most ? run->options->depth : most;
	/* whoever has `degree` others has that many less one to hold */
	for (uint32_t depth = 1; !result && depth <= most && depth < largest_degree(&pc->graph);
	     depth++) {
		struct next_level level = {run, depth};
		pc->depth = depth;
		result = sn_pool_run(run->options->threads, (pc->edge_count + CHUNK - 1) / CHUNK,
				     test_edges, &level);
		if (!result)
			drop_edges(pc, is_separated, run->options->alpha);
	}
	return result;
}

static int adjust(struct sn_pc *pc, double rate)
{
	double *probabilities = malloc(((size_t)pc->edge_count + 1) * sizeof(*probabilities));
	if (!probabilities)
		return SN_ERR_MEMORY;
	for (uint32_t at = 0; at < pc->edge_count; at++)
		probabilities[at] = pc->edges[at].probability;
	int result = sn_fdr_adjust(probabilities, pc->edge_count, pc->pairs, SN_FDR_ANY);
	for (uint32_t at = 0; !result && at < pc->edge_count; at++)
		pc->edges[at].adjusted = probabilities[at];
	free(probabilities);
	if (!result && rate > 0)
		drop_edges(pc, is_uncertain, rate);
	return result;
}

/* ---- all of it ---- */

static void end_workers(struct sn_pc_run *run)
{
	for (unsigned worker = 0; run->workers && worker < run->options->threads; worker++) {
		free(run->workers[worker].among);
		free(run->workers[worker].is_among);
	}
	free(run->workers);
}

static int begin_workers(struct sn_pc_run *run)
{
	size_t count = (size_t)run->count + 1;
	run->workers = calloc(run->options->threads, sizeof(*run->workers));
	for (unsigned number = 0; number < run->options->threads; number++) {
		struct sn_pc_worker *worker = run->workers ? &run->workers[number] : NULL;
		if (!worker)
			return SN_ERR_MEMORY;
		worker->test = run->options->tests[number];
		worker->among = calloc(4 * count, sizeof(*worker->among));
		worker->is_among = calloc(run->pc->graph.words + 1, sizeof(*worker->is_among));
		if (!worker->among || !worker->is_among)
			return SN_ERR_MEMORY;
		worker->places = worker->among + count;
		worker->given = worker->places + count;
		worker->holding = worker->given + count;
	}
	return 0;
}

void sn_pc_release(struct sn_pc *pc)
{
	sn_pdag_release(&pc->graph);
	free(pc->edges);
	free(pc->open);
	*pc = (struct sn_pc){0};
}

int sn_pc(struct sn_pc *pc, uint32_t count, const struct sn_pc_options *options)
{
	struct sn_pc_run run = {pc, options, count, NULL};
	*pc = (struct sn_pc){0};
	int result = sn_pdag_init(&pc->graph, count);
	result = result ? result : begin_workers(&run);
	result = result ? result : find_edges(&run);
	result = result ? result : adjust(pc, options->rate);
	result = result ? result : sn_pc_direct(&run);
	end_workers(&run);
	return result;
}
