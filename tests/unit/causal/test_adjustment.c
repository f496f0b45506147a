/* SPDX-License-Identifier: Apache-2.0 */
/* Adjustment sets of graphs drawn by hand; and of random ones, where a set is valid if effects by it are those of the model. */
#include "causal/effect/adjustment.h"
#include "causal/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { X, Y, A, B, C, D, COUNT };

/* "x>y a-x": the variables in the order of the enum are named x y a b c d. */
static uint32_t named(char name)
{
	return (uint32_t)(strchr("xyabcd", name) - "xyabcd");
}

static struct sn_pdag graph_of(const char *edges)
{
	struct sn_pdag graph;
	assert_int_equal(sn_pdag_init(&graph, COUNT), 0);
	for (const char *at = edges; *at; at += at[3] ? 4 : 3) {
		if (at[1] == '>')
			sn_pdag_add_directed(&graph, named(at[0]), named(at[2]));
		else
			sn_pdag_add_undirected(&graph, named(at[0]), named(at[2]));
	}
	return graph;
}

static void assert_adjusts(const char *edges, enum sn_adjustment_kind kind, int wanted,
			   uint64_t set)
{
	struct sn_pdag graph = graph_of(edges);
	uint64_t held = UINT64_MAX;
	assert_int_equal(sn_adjustment_find(&graph, NULL, X, Y, kind, &held), wanted);
	assert_int_equal(held, set);
	sn_pdag_release(&graph);
}

#define BIT(of) (UINT64_C(1) << (of))

static void test_drawn(void **state)
{
	const enum sn_adjustment_kind parents = SN_ADJUSTMENT_PARENTS,
				      optimal = SN_ADJUSTMENT_OPTIMAL;
	(void)state;
	/* a common cause */
	assert_adjusts("a>x a>y x>y", parents, SN_ADJUSTMENT_FOUND, BIT(A));
	assert_adjusts("a>x a>y x>y", optimal, SN_ADJUSTMENT_FOUND, BIT(A));
	/* a mediator is not held, nor what it changes; its other cause makes the estimate better */
	assert_adjusts("x>a a>y b>a a>c", parents, SN_ADJUSTMENT_FOUND, 0);
	assert_adjusts("x>a a>y b>a a>c", optimal, SN_ADJUSTMENT_FOUND, BIT(B));
	/* what causes x alone is not held where another set is better */
	assert_adjusts("a>x x>y b>y", parents, SN_ADJUSTMENT_FOUND, BIT(A));
	assert_adjusts("a>x x>y b>y", optimal, SN_ADJUSTMENT_FOUND, BIT(B));
	/* a collider is not held */
	assert_adjusts("x>y x>a y>a", optimal, SN_ADJUSTMENT_FOUND, 0);
	/* no way to y */
	assert_adjusts("y>x", parents, SN_ADJUSTMENT_NO_EFFECT, 0);
	assert_adjusts("a>x a>y", optimal, SN_ADJUSTMENT_NO_EFFECT, 0);
	assert_adjusts("x>a y>a", parents, SN_ADJUSTMENT_NO_EFFECT, 0);
	/* x - a - y may not be directed: y would cause itself */
	assert_adjusts("y>x x-a a-y", parents, SN_ADJUSTMENT_NO_EFFECT, 0);
	/* the first edge has no direction */
	assert_adjusts("x-y", parents, SN_ADJUSTMENT_UNDETERMINED, 0);
	assert_adjusts("x-a a-y", parents, SN_ADJUSTMENT_UNDETERMINED, 0);
	assert_adjusts("x-a a>y x>y", parents, SN_ADJUSTMENT_UNDETERMINED, 0);
	/* one without direction at x that leads nowhere; later ones do not matter */
	assert_adjusts("x-a x>y b>y", parents, SN_ADJUSTMENT_FOUND, 0);
	assert_adjusts("x-a x>y b>y", optimal, SN_ADJUSTMENT_FOUND, BIT(B));
	assert_adjusts("x>a b>a a>y x>y", optimal, SN_ADJUSTMENT_FOUND, BIT(B));
	assert_adjusts("c>x x>a x>b a-b a>y b>y", optimal, SN_ADJUSTMENT_FOUND, 0);
	/* x - a - y with x and y adjacent: a shielded path says nothing that x -> y does not */
	assert_adjusts("b>x x>y", optimal, SN_ADJUSTMENT_FOUND, 0);
}

static void test_exogenous(void **state)
{
	static const uint16_t tiers[COUNT] = {[X] = 0, [Y] = 1, [A] = 1, [B] = 1, [C] = 1, [D] = 1};
	struct sn_knowledge knowledge = {.count = COUNT, .tiers = tiers};
	/* what was found contradicts: then knowledge is believed */
	struct sn_pdag graph = graph_of("a>x a>y x>y");
	uint64_t held;
	(void)state;
	assert_int_equal(sn_adjustment_find(&graph, &knowledge, X, Y, SN_ADJUSTMENT_PARENTS, &held),
			 SN_ADJUSTMENT_FOUND);
	assert_int_equal(held, 0);
	sn_pdag_release(&graph);
}

/* ---- random models ---- */

enum { MODELS = 3000 };

struct model {
	double strengths[COUNT][COUNT]; /* [from][to], from < to in `order` */
	uint32_t order[COUNT];
	double covariance[COUNT][COUNT];
};

static double between(struct sn_random *random, double low, double high)
{
	return low + (high - low) * (double)(sn_random_next(random) >> 11) * 0x1p-53;
}

/* Covariances by the order: each is the sum of its causes and noise of variance 1. */
static void make_model(struct model *model, struct sn_random *random, double density)
{
	memset(model, 0, sizeof(*model));
	for (uint32_t at = 0; at < COUNT; at++) {
		uint32_t other = sn_random_below(random, at + 1);
		model->order[at] = model->order[other];
		model->order[other] = at;
	}
	for (uint32_t to = 0; to < COUNT; to++) {
		uint32_t own = model->order[to];
		for (uint32_t from = 0; from < to; from++)
			if (between(random, 0, 1) < density)
				model->strengths[model->order[from]][own] =
				    between(random, 0.3, 1.2);
		double variance = 1;
		for (uint32_t at = 0; at < to; at++) {
			uint32_t other = model->order[at];
			double sum = 0;
			for (uint32_t from = 0; from < COUNT; from++)
				sum += model->strengths[from][own] * model->covariance[from][other];
			model->covariance[own][other] = model->covariance[other][own] = sum;
		}
		for (uint32_t from = 0; from < COUNT; from++)
			variance += model->strengths[from][own] * model->covariance[from][own];
		model->covariance[own][own] = variance;
	}
}

/* The sum over directed paths of the products of strengths. */
static double total_effect(const struct model *model, uint32_t from, uint32_t to)
{
	double sum = model->strengths[from][to];
	for (uint32_t next = 0; next < COUNT; next++)
		if (next != to && model->strengths[from][next] != 0)
			sum += model->strengths[from][next] * total_effect(model, next, to);
	return sum;
}

/* The coefficient of x in the regression of y on x and the set. */
static double adjusted(const struct model *model, uint64_t held)
{
	uint32_t chosen[COUNT], count = 0;
	double system[COUNT][COUNT + 1];
	SN_BITS_EACH(&held, 1, other)
	chosen[count++] = (uint32_t)other;
	chosen[count++] = X;
	for (uint32_t a = 0; a < count; a++) {
		for (uint32_t b = 0; b < count; b++)
			system[a][b] = model->covariance[chosen[a]][chosen[b]];
		system[a][count] = model->covariance[chosen[a]][Y];
	}
	for (uint32_t own = 0; own < count; own++)
		for (uint32_t later = own + 1; later < count; later++) {
			double factor = system[later][own] / system[own][own];
			for (uint32_t b = own; b <= count; b++)
				system[later][b] -= factor * system[own][b];
		}
	return system[count - 1][count] / system[count - 1][count - 1];
}

/* Of the class of a random model, sets are valid for the model, whichever of the class it is; and in at least some an effect is found. */
static void test_random_models(void **state)
{
	static const enum sn_adjustment_kind kinds[] = {SN_ADJUSTMENT_PARENTS,
							SN_ADJUSTMENT_OPTIMAL};
	int outcomes[3] = {0};
	(void)state;
	for (uint64_t number = 0; number < MODELS; number++) {
		struct sn_random random;
		struct model model;
		struct sn_pdag graph;
		uint64_t held;
		sn_random_begin(&random, 5, number);
		make_model(&model, &random, number % 2 ? 0.35 : 0.6);
		assert_int_equal(sn_pdag_init(&graph, COUNT), 0);
		for (uint32_t from = 0; from < COUNT; from++)
			for (uint32_t to = 0; to < COUNT; to++)
				if (model.strengths[from][to] != 0)
					sn_pdag_add_directed(&graph, from, to);
		assert_int_equal(sn_pdag_to_class(&graph, NULL), 0);
		for (int kind = 0; kind < 2; kind++) {
			int outcome = sn_adjustment_find(&graph, NULL, X, Y, kinds[kind], &held);
			assert_in_range(outcome, 0, 2);
			outcomes[outcome]++;
			double effect = total_effect(&model, X, Y);
			if (outcome == SN_ADJUSTMENT_FOUND)
				assert_true(fabs(adjusted(&model, held) - effect) < 1e-9);
			if (outcome == SN_ADJUSTMENT_NO_EFFECT)
				assert_true(effect == 0);
		}
		sn_pdag_release(&graph);
	}
	print_message("found %d, no effect %d, undetermined %d\n", outcomes[0], outcomes[1],
		      outcomes[2]);
	for (int outcome = 0; outcome < 3; outcome++)
		assert_true(outcomes[outcome] > MODELS / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_drawn),
	    cmocka_unit_test(test_exogenous),
	    cmocka_unit_test(test_random_models),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
