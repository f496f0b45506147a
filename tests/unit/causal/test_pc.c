/* SPDX-License-Identifier: Apache-2.0 */
/* PC on models whose correlations are known exactly, on rows simulated from them, and on answers made up to contradict each other. */
#include "causal/independence/fisher.h"
#include "causal/pc/fdr.h"
#include "causal/pc/pc.h"
#include "causal/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"

enum { MOST = 40, THREADS = 4 };

/* ---- linear models: `effects[to][from]` with from before to, and noise of variance 1 ---- */

struct model {
	uint32_t count;
	double effects[MOST][MOST];
};

static void correlate_exactly(const struct model *model, double *correlations)
{
	static double covariances[MOST][MOST];
	uint32_t count = model->count;
	for (uint32_t own = 0; own < count; own++) {
		for (uint32_t other = 0; other < own; other++) {
			double sum = 0;
			for (uint32_t cause = 0; cause < own; cause++)
				sum += model->effects[own][cause] * covariances[cause][other];
			covariances[own][other] = covariances[other][own] = sum;
		}
		covariances[own][own] = 1;
		for (uint32_t cause = 0; cause < own; cause++)
			covariances[own][own] +=
			    model->effects[own][cause] * covariances[own][cause];
	}
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++)
			correlations[a * count + b] =
			    a == b
				? 1
				: covariances[a][b] / sqrt(covariances[a][a] * covariances[b][b]);
}

static double normal(struct sn_random *random)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += (double)(sn_random_next(random) >> 11) * 0x1p-53;
	return sum;
}

/* Of `rows` drawn rows; variable v of the model is number places[v]. */
static void correlate_rows(const struct model *model, size_t rows, uint64_t seed,
			   const uint32_t *places, double *correlations)
{
	static double products[MOST][MOST];
	double means[MOST] = {0}, values[MOST];
	struct sn_random random;
	uint32_t count = model->count;
	memset(products, 0, sizeof(products));
	sn_random_begin(&random, seed, 1);
	for (size_t row = 0; row < rows; row++) {
		for (uint32_t own = 0; own < count; own++) {
			values[own] = normal(&random);
			for (uint32_t cause = 0; cause < own; cause++)
				values[own] += model->effects[own][cause] * values[cause];
			means[own] += values[own] / (double)rows;
		}
		for (uint32_t a = 0; a < count; a++)
			for (uint32_t b = 0; b < count; b++)
				products[a][b] += values[a] * values[b] / (double)rows;
	}
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++) {
			double shared = products[a][b] - means[a] * means[b];
			double own = (products[a][a] - means[a] * means[a]) *
				     (products[b][b] - means[b] * means[b]);
			correlations[places[a] * count + places[b]] =
			    a == b ? 1 : shared / sqrt(own);
		}
}

/* Each variable has each one before it as a cause with that probability. */
static void random_model(struct model *model, uint32_t count, double probability, uint64_t seed)
{
	struct sn_random random;
	*model = (struct model){.count = count};
	sn_random_begin(&random, seed, 0);
	for (uint32_t to = 0; to < count; to++)
		for (uint32_t from = 0; from < to; from++) {
			double effect = 0.4 + sn_random_below(&random, 500) / 1000.;
			if (sn_random_below(&random, 1000) < 1000 * probability)
				model->effects[to][from] =
				    sn_random_below(&random, 2) ? effect : -effect;
		}
}

/* "ab" : a causes b. */
static struct model model_of(uint32_t count, const char *edges)
{
	struct model model = {.count = count};
	for (const char *at = edges; *at; at += at[2] ? 3 : 2)
		model.effects[at[1] - 'a'][at[0] - 'a'] = 0.7;
	return model;
}

/* ---- runs ---- */

static struct sn_pc run(const double *correlations, uint32_t count, size_t rows,
			struct sn_pc_options options)
{
	static struct sn_fisher fishers[THREADS];
	static struct sn_independence tests[THREADS];
	struct sn_pc pc;
	options.threads = options.threads ? options.threads : 1;
	options.alpha = options.alpha > 0 ? options.alpha : 0.01;
	options.depth = options.depth ? options.depth : UINT32_MAX;
	options.tests = tests;
	for (unsigned thread = 0; thread < options.threads; thread++) {
		sn_fisher_init(&fishers[thread], correlations, count, rows);
		tests[thread] = sn_fisher_test(&fishers[thread]);
	}
	assert_int_equal(sn_pc(&pc, count, &options), 0);
	for (unsigned thread = 0; thread < options.threads; thread++)
		sn_fisher_release(&fishers[thread]);
	return pc;
}

static void assert_same(const struct sn_pdag *graph, const struct sn_pdag *wanted)
{
	for (uint32_t a = 0; a < graph->count; a++)
		for (uint32_t b = 0; b < graph->count; b++) {
			assert_int_equal(sn_pdag_is_directed(graph, a, b),
					 sn_pdag_is_directed(wanted, a, b));
			assert_int_equal(sn_pdag_is_undirected(graph, a, b),
					 sn_pdag_is_undirected(wanted, a, b));
		}
}

/* "a>b a-b" */
static void assert_graph(const struct sn_pdag *graph, const char *edges)
{
	struct sn_pdag wanted;
	assert_int_equal(sn_pdag_init(&wanted, graph->count), 0);
	for (const char *at = edges; *at; at += at[3] ? 4 : 3) {
		uint32_t a = (uint32_t)(at[0] - 'a'), b = (uint32_t)(at[2] - 'a');
		if (at[1] == '>')
			sn_pdag_add_directed(&wanted, a, b);
		else
			sn_pdag_add_undirected(&wanted, a, b);
	}
	assert_same(graph, &wanted);
	sn_pdag_release(&wanted);
}

static void assert_found(uint32_t count, const char *model, struct sn_pc_options options,
			 const char *wanted)
{
	double correlations[MOST * MOST];
	struct model of = model_of(count, model);
	correlate_exactly(&of, correlations);
	struct sn_pc pc = run(correlations, count, 10000, options);
	assert_graph(&pc.graph, wanted);
	sn_pc_release(&pc);
}

static void test_small_graphs(void **state)
{
	for (int rule = SN_PC_MAJORITY; rule <= SN_PC_CONSERVATIVE; rule++) {
		struct sn_pc_options options = {.rule = (enum sn_pc_rule)rule};
		assert_found(3, "ab bc", options, "a-b b-c");
		assert_found(3, "ab ac", options, "a-b a-c");
		assert_found(3, "ac bc", options, "a>c b>c");
		assert_found(3, "ab ac bc", options, "a-b a-c b-c");
		assert_found(4, "ac bc cd", options, "a>c b>c c>d");
		/* season, sprinkler, rain, wet, slippery: Pearl, "Causality", figure 1.2 */
		assert_found(5, "ab ac bd cd de", options, "a-b a-c b>d c>d d>e");
		/* an M: held, d makes its causes dependent */
		assert_found(5, "ac ad bd be", options, "a-c a>d b>d b-e");
	}
	(void)state;
}

/* With exact correlations the class of the graph itself is found. */
static void test_random_graphs(void **state)
{
	double correlations[MOST * MOST];
	struct model model;
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct sn_pc_options options = {.rule =
						    seed % 2 ? SN_PC_MAJORITY : SN_PC_CONSERVATIVE,
						.threads = 1 + seed % 3};
		struct sn_pdag truth;
		random_model(&model, 14, 0.2, seed);
		correlate_exactly(&model, correlations);
		assert_int_equal(sn_pdag_init(&truth, model.count), 0);
		for (uint32_t to = 0; to < model.count; to++)
			for (uint32_t from = 0; from < to; from++)
				if (model.effects[to][from] != 0)
					sn_pdag_add_directed(&truth, from, to);
		assert_int_equal(sn_pdag_to_class(&truth, NULL), 0);
		options.alpha = 0.5;
		struct sn_pc pc = run(correlations, model.count, 1000000000, options);
		assert_same(&pc.graph, &truth);
		assert_int_equal(pc.open_count, 0);
		assert_int_equal(pc.pairs, 14 * 13 / 2);
		sn_pc_release(&pc);
		sn_pdag_release(&truth);
	}
}

/* Few rows, so that tests err: neither the order of the columns nor the number of threads makes a difference. */
static void test_order_and_threads(void **state)
{
	enum { COUNT = 30, ROWS = 80 };
	static double correlations[COUNT * COUNT], shuffled[COUNT * COUNT];
	struct model model;
	uint32_t same[COUNT], places[COUNT];
	size_t open_count = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sn_random random;
		sn_random_begin(&random, seed, 7);
		for (uint32_t i = 0; i < COUNT; i++)
			same[i] = places[i] = i;
		for (uint32_t i = COUNT - 1; i > 0; i--) {
			uint32_t other = sn_random_below(&random, i + 1), moved = places[i];
			places[i] = places[other];
			places[other] = moved;
		}
		random_model(&model, COUNT, 0.12, seed);
		correlate_rows(&model, ROWS, seed, same, correlations);
		correlate_rows(&model, ROWS, seed, places, shuffled);
		struct sn_pc_options options = {.alpha = 0.05, .threads = 1},
				     many = {.alpha = 0.05, .threads = THREADS};
		options.rule = many.rule = seed % 2 ? SN_PC_MAJORITY : SN_PC_CONSERVATIVE;
		struct sn_pc one = run(correlations, COUNT, ROWS, options);
		struct sn_pc other = run(shuffled, COUNT, ROWS, many);
		assert_int_equal(one.edge_count, other.edge_count);
		assert_int_equal(one.open_count, other.open_count);
		open_count += one.open_count;
		for (uint32_t a = 0; a < COUNT; a++)
			for (uint32_t b = 0; b < COUNT; b++) {
				assert_int_equal(
				    sn_pdag_is_directed(&one.graph, a, b),
				    sn_pdag_is_directed(&other.graph, places[a], places[b]));
				assert_int_equal(
				    sn_pdag_is_adjacent(&one.graph, a, b),
				    sn_pdag_is_adjacent(&other.graph, places[a], places[b]));
			}
		sn_pc_release(&one);
		sn_pc_release(&other);
	}
	assert_true(open_count > 0);
}

static void test_knowledge(void **state)
{
	enum { A, B, C, D, COUNT };
	static const uint16_t tiers[COUNT] = {[B] = 1, [C] = 2, [D] = 3};
	static const uint64_t no_edge[COUNT] = {[A] = 1 << C | 1 << D, [C] = 1 << A, [D] = 1 << A};
	static const uint64_t needed[COUNT] = {[D] = 1 << A};
	struct sn_knowledge tiered = {.count = COUNT, .tiers = tiers};
	struct sn_knowledge forbidden = {.count = COUNT, .forbidden = no_edge};
	struct sn_knowledge required = {.count = COUNT, .required = needed};
	(void)state;
	/* a chain: any direction, or that of the tiers */
	assert_found(4, "ab bc cd", (struct sn_pc_options){0}, "a-b b-c c-d");
	assert_found(4, "ab bc cd", (struct sn_pc_options){.knowledge = &tiered}, "a>b b>c c>d");
	/* what depends on a may not be adjacent to it */
	assert_found(4, "ac ad", (struct sn_pc_options){.knowledge = &forbidden}, "c-d");
	/* d causes a, which no test would have said; b, which does not depend on d, then must be another cause */
	assert_found(4, "ab cd", (struct sn_pc_options){.knowledge = &required}, "d>a b>a c-d");
}

/* Of an earlier tier, b is not held for a: without that a and c would be separated by what they cause. */
static void test_later_tiers_are_not_held(void **state)
{
	enum { COUNT = 3 };
	static const uint16_t tiers[COUNT] = {0, 1, 0};
	static const struct sn_knowledge tiered = {.count = COUNT, .tiers = tiers};
	(void)state;
	assert_found(3, "ab bc", (struct sn_pc_options){0}, "a-b b-c");
	assert_found(3, "ab bc", (struct sn_pc_options){.knowledge = &tiered}, "a-c a>b c>b");
}

static void test_depth(void **state)
{
	double correlations[MOST * MOST];
	struct model model = model_of(5, "ac ad bc bd ce de");
	(void)state;
	correlate_exactly(&model, correlations);
	/* to separate c and d, a and b are needed; for e and a, c and d */
	struct sn_pc_options options = {.depth = 1};
	struct sn_pc pc = run(correlations, 5, 10000, options);
	assert_true(sn_pdag_is_adjacent(&pc.graph, 2, 3));
	assert_int_equal(pc.depth, 1);
	sn_pc_release(&pc);
	options.depth = 2;
	pc = run(correlations, 5, 10000, options);
	assert_graph(&pc.graph, "a>c a>d b>c b>d c>e d>e");
	sn_pc_release(&pc);
}

/* More columns than rows, and columns that are others' copies or sums: some graph, and no arrow in a circle. */
static void test_more_columns_than_rows(void **state)
{
	enum { ROWS = 12 };
	static double correlations[MOST * MOST];
	struct model model;
	uint32_t same[MOST];
	(void)state;
	for (uint32_t i = 0; i < MOST; i++)
		same[i] = i;
	random_model(&model, MOST, 0.1, 5);
	correlate_rows(&model, ROWS, 5, same, correlations);
	for (uint32_t i = 0; i < MOST; i++) {
		correlations[i * MOST + 1] = correlations[i * MOST];
		correlations[MOST + i] = correlations[i];
	}
	correlations[1] = correlations[MOST] = correlations[MOST + 1] = 1;
	struct sn_pc pc = run(correlations, MOST, ROWS, (struct sn_pc_options){.alpha = 0.2});
	assert_true(pc.edge_count > 0);
	assert_in_range(pc.depth, 1, ROWS - 4);
	for (uint32_t edge = 0; edge < pc.edge_count; edge++)
		assert_true(pc.edges[edge].probability <= 0.2);
	assert_true(sn_pdag_is_adjacent(&pc.graph, 0, 1));
	sn_pc_release(&pc);
}

/* ---- made-up answers ---- */

/* "ab|" or "ab|cd": they are independent so; all else depends. */
static const char *const *answers;

static double answer(void *context, uint32_t a, uint32_t b, const uint32_t *given, uint32_t count)
{
	char asked[16] = {(char)('a' + a), (char)('a' + b), '|'};
	(void)context;
	for (uint32_t held = 0; held < count; held++) {
		assert_true(given[held] != a && given[held] != b);
		asked[3 + held] = (char)('a' + given[held]);
	}
	for (const char *const *known = answers; *known; known++)
		if (!strcmp(*known, asked))
			return 0.5;
	return 0.001;
}

/* The first question with `*at` held fails. */
static double no_memory(void *context, uint32_t a, uint32_t b, const uint32_t *given,
			uint32_t count)
{
	uint32_t *at = context;
	bool fails = count == *at;
	(void)given;
	*at = fails ? UINT32_MAX : *at;
	return fails ? SN_INDEPENDENCE_MEMORY : 0.5 * (a + b == 1 && count == 1);
}

static void assert_answers(uint32_t count, const char *const *known, enum sn_pc_rule rule,
			   const char *wanted, size_t open_count)
{
	struct sn_independence test = {.of = answer, .given_most = UINT32_MAX};
	struct sn_pc_options options = {
	    .tests = &test, .threads = 1, .alpha = 0.01, .depth = UINT32_MAX, .rule = rule};
	struct sn_pc pc;
	answers = known;
	assert_int_equal(sn_pc(&pc, count, &options), 0);
	assert_graph(&pc.graph, wanted);
	assert_int_equal(pc.open_count, open_count);
	sn_pc_release(&pc);
}

static void test_rules(void **state)
{
	static const char *const tie[] = {"ac|", "ac|b", NULL};
	static const char *const most_without[] = {"ac|", "ac|d", "ac|bd", NULL};
	static const char *const most_with[] = {"ac|", "ac|b", "ac|bd", NULL};
	/* what separates a and c is no longer adjacent to either */
	static const char *const once[] = {"ac|", "ac|bd", "cd|", NULL};
	static const char *const gone[] = {"ac|d", "ad|b", "cd|b", NULL};
	(void)state;
	assert_answers(4, gone, SN_PC_MAJORITY, "a-b b-c b-d", 1);
	assert_answers(4, gone, SN_PC_CONSERVATIVE, "a-b b-c b-d", 1);
	/* d is adjacent to a alone: what both ends say of no variable held counts once */
	assert_answers(4, once, SN_PC_MAJORITY, "a-b c>b a-d d>b", 1);
	/* as often with the middle as without: nobody knows */
	assert_answers(3, tie, SN_PC_MAJORITY, "a-b b-c", 1);
	assert_answers(3, tie, SN_PC_CONSERVATIVE, "a-b b-c", 1);
	/* b and d are between a and c; d is in two of three sets */
	assert_answers(4, most_without, SN_PC_MAJORITY, "a>b c>b a-d c-d d>b", 0);
	assert_answers(4, most_without, SN_PC_CONSERVATIVE, "a-b b-c a-d c-d b-d", 2);
	assert_answers(4, most_with, SN_PC_MAJORITY, "a-b b-c a>d c>d b>d", 0);
}

/* a > b < c is a collider; of b - d it is not known whether a and d, or c and d, both cause b. */
static void test_nothing_is_concluded_from_what_is_open(void **state)
{
	static const char *const known[] = {"ac|", "ad|b", "cd|b", NULL};
	static const char *const unsure[] = {"ac|", "ad|b", "ad|", "cd|b", "cd|", NULL};
	(void)state;
	assert_answers(4, known, SN_PC_MAJORITY, "a>b c>b b>d", 0);
	assert_answers(4, unsure, SN_PC_MAJORITY, "a>b c>b b-d", 2);
}

/* a - b - c - d where both b and c seem to be colliders: b and c would cause each other. */
static void test_contradiction(void **state)
{
	static const char *const known[] = {"ac|", "bd|", "ad|", NULL};
	(void)state;
	assert_answers(4, known, SN_PC_MAJORITY, "a>b b-c d>c", 2);
}

/* Colliders that lead around. */
static void test_circle(void **state)
{
	/* the ring is a, b, c; d > a > b, e > b > c, f > c > a: at a meet d and c, at b e and a, at c f and b */
	static const char *const known[] = {"cd|", "ae|",  "bf|",  "de|",  "df|",
					    "ef|", "bd|a", "ce|b", "af|c", NULL};
	(void)state;
	assert_answers(6, known, SN_PC_MAJORITY, "a-b b-c a-c d>a e>b f>c", 3);
}

static void test_no_memory(void **state)
{
	uint32_t at;
	struct sn_independence test = {.of = no_memory, .given_most = UINT32_MAX, .context = &at};
	struct sn_pc_options options = {.tests = &test, .threads = 1, .alpha = 0.01, .depth = 9};
	struct sn_pc pc;
	(void)state;
	for (uint32_t size = 0; size < 4; size++) {
		at = size;
		assert_int_equal(sn_pc(&pc, 4, &options), size < 3 ? SN_ERR_MEMORY : 0);
		sn_pc_release(&pc);
	}
}

/* ---- false discoveries ---- */

static void assert_adjusted(double *probabilities, size_t count, uint64_t tests, enum sn_fdr rule,
			    const double *wanted)
{
	assert_int_equal(sn_fdr_adjust(probabilities, count, tests, rule), 0);
	for (size_t i = 0; i < count; i++)
		assert_true(fabs(probabilities[i] - wanted[i]) < 1e-9);
}

static void test_adjusted(void **state)
{
	double third = 1. + 1 / 2. + 1 / 3.;
	(void)state;
	/* 3 * 0.01, 3 * 0.03 / 2, 0.04; the first one is below what follows */
	assert_adjusted((double[]){0.04, 0.01, 0.03}, 3, 3, SN_FDR_INDEPENDENT,
			(const double[]){0.04, 0.03, 0.04});
	assert_adjusted((double[]){0.04, 0.01, 0.03}, 3, 3, SN_FDR_ANY,
			(const double[]){0.04 * third, 0.03 * third, 0.04 * third});
	/* of 100 tests the others were larger */
	assert_adjusted((double[]){0.0001, 0.02}, 2, 100, SN_FDR_INDEPENDENT,
			(const double[]){0.01, 1});
	assert_adjusted((double[]){1e-9}, 1, 1000000, SN_FDR_ANY,
			(const double[]){1e-3 * 14.392726722865723631});
}

/* Nothing depends on anything: at 5 % there are many edges, and with a rate of 5 % in at most 5 % of the tables any. */
static void test_rate(void **state)
{
	enum { COUNT = 30, ROWS = 100, TABLES = 200 };
	static double correlations[COUNT * COUNT];
	struct model model = {.count = COUNT};
	uint32_t same[COUNT], edges = 0, wrong = 0;
	(void)state;
	for (uint32_t i = 0; i < COUNT; i++)
		same[i] = i;
	for (uint64_t seed = 1; seed <= TABLES; seed++) {
		correlate_rows(&model, ROWS, seed, same, correlations);
		struct sn_pc pc =
		    run(correlations, COUNT, ROWS, (struct sn_pc_options){.alpha = 0.05});
		edges += pc.edge_count;
		sn_pc_release(&pc);
		pc = run(correlations, COUNT, ROWS,
			 (struct sn_pc_options){.alpha = 0.05, .rate = 0.05});
		wrong += pc.edge_count > 0;
		for (uint32_t edge = 0; edge < pc.edge_count; edge++)
			assert_true(pc.edges[edge].adjusted <= 0.05);
		sn_pc_release(&pc);
	}
	assert_true(edges > 5 * TABLES);
	assert_in_range(wrong, 0, TABLES / 20);
	/* and edges that are there stay */
	assert_found(5, "ab ac bd cd de", (struct sn_pc_options){.rate = 0.05},
		     "a-b a-c b>d c>d d>e");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_graphs),
	    cmocka_unit_test(test_random_graphs),
	    cmocka_unit_test(test_order_and_threads),
	    cmocka_unit_test(test_knowledge),
	    cmocka_unit_test(test_later_tiers_are_not_held),
	    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_more_columns_than_rows),
	    cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_nothing_is_concluded_from_what_is_open),
	    cmocka_unit_test(test_contradiction),
	    cmocka_unit_test(test_circle),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_adjusted),
	    cmocka_unit_test(test_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
