/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of graphs, and what each of Meek's rules directs: drawn by hand, as in the figures of his paper. */
#include "causal/pdag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { A, B, C, D, COUNT };

static struct sn_pdag graph_of(const char *edges)
{
	struct sn_pdag graph;
	assert_int_equal(sn_pdag_init(&graph, COUNT), 0);
	for (const char *at = edges; *at; at += at[3] ? 4 : 3) {
		if (at[1] == '>')
			sn_pdag_add_directed(&graph, (uint32_t)(at[0] - 'a'),
					     (uint32_t)(at[2] - 'a'));
		else
			sn_pdag_add_undirected(&graph, (uint32_t)(at[0] - 'a'),
					       (uint32_t)(at[2] - 'a'));
	}
	return graph;
}

static void assert_same(const struct sn_pdag *graph, const char *edges)
{
	struct sn_pdag wanted = graph_of(edges);
	for (uint32_t a = 0; a < COUNT; a++)
		for (uint32_t b = 0; b < COUNT; b++) {
			assert_int_equal(sn_pdag_is_directed(graph, a, b),
					 sn_pdag_is_directed(&wanted, a, b));
			assert_int_equal(sn_pdag_is_undirected(graph, a, b),
					 sn_pdag_is_undirected(&wanted, a, b));
		}
	sn_pdag_release(&wanted);
}

static void assert_completes(const char *edges, const char *completed)
{
	struct sn_pdag graph = graph_of(edges);
	assert_int_equal(sn_pdag_complete(&graph, NULL), 0);
	assert_same(&graph, completed);
	sn_pdag_release(&graph);
}

static void assert_class(const char *edges, const char *class)
{
	struct sn_pdag graph = graph_of(edges);
	assert_int_equal(sn_pdag_to_class(&graph, NULL), 0);
	assert_same(&graph, class);
	sn_pdag_release(&graph);
}

static void test_classes(void **state)
{
	(void)state;
	assert_class("", "");
	assert_class("a>b b>c c>d", "a-b b-c c-d"); /* a chain, as each of its directions */
	assert_class("b>a b>c b>d", "a-b b-c b-d"); /* a fork */
	assert_class("a>c b>c", "a>c b>c");	    /* a collider is seen */
	assert_class("a>c b>c c>d", "a>c b>c c>d"); /* and what follows it */
	assert_class("a>c b>c a>b", "a-b a-c b-c"); /* its causes are adjacent: none is seen */
}

static void test_rules(void **state)
{
	(void)state;
	assert_completes("c>a a-b", "c>a a>b");
	assert_completes("a>c c>b a-b", "a>c c>b a>b");
	assert_completes("a-c a-d c>b d>b a-b", "a-c a-d c>b d>b a>b");
	/* c and d are adjacent: the third rule says nothing */
	assert_completes("a-c a-d c-d c>b d>b a-b", "a-c a-d c-d c>b d>b a-b");
	assert_completes("a-b b-c", "a-b b-c");
}

/* a - d -> c -> b, a - c, d and b not adjacent: only knowledge directs c -> b first. */
static void test_fourth_rule(void **state)
{
	static const struct sn_knowledge nothing = {.count = COUNT};
	struct sn_pdag graph = graph_of("a-b a-c a-d d>c c>b");
	(void)state;
	assert_int_equal(sn_pdag_complete(&graph, &nothing), 0);
	assert_true(sn_pdag_is_directed(&graph, A, B));
	assert_true(sn_pdag_is_undirected(&graph, A, D));
	sn_pdag_release(&graph);
}

/* Of these three, a in the middle, it is not known whether both others cause it. */
static void assert_concludes_nothing(const char *edges, uint32_t one, uint32_t other)
{
	static const struct sn_knowledge nothing = {.count = COUNT};
	const struct sn_triple triple = {one, A, other};
	const struct sn_triples open = {&triple, 1};
	struct sn_pdag graph = graph_of(edges);
	assert_int_equal(sn_pdag_complete_but(&graph, &nothing, &open), 0);
	assert_same(&graph, edges);
	assert_int_equal(sn_pdag_complete(&graph, &nothing), 0);
	assert_true(sn_pdag_is_directed(&graph, A, B));
	sn_pdag_release(&graph);
}

static void test_open_triples(void **state)
{
	(void)state;
	assert_concludes_nothing("c>a a-b", B, C);
	assert_concludes_nothing("a-c a-d c>b d>b a-b", C, D);
	assert_concludes_nothing("a-b a-c a-d d>c c>b", B, D);
}

/* c > a - b < d: either direction makes a collider that is none, so none is chosen, whichever comes first. */
static void test_contradiction(void **state)
{
	(void)state;
	assert_completes("c>a a-b d>b", "c>a a-b d>b");
	assert_completes("c>b a-b d>a", "c>b a-b d>a");
}

static void test_knowledge(void **state)
{
	static const uint16_t tiers[COUNT] = {[A] = 1};
	static const uint64_t required[COUNT] = {[C] = 1 << D};
	static const uint64_t forbidden[COUNT] = {[B] = 1 << A};
	struct sn_knowledge tiered = {.count = COUNT, .tiers = tiers};
	struct sn_knowledge single = {.count = COUNT, .forbidden = forbidden, .required = required};
	(void)state;
	/* b, c and d do not come after a: what is undirected at a goes to it, and b-c would then make a collider */
	struct sn_pdag graph = graph_of("a-b b-c");
	assert_int_equal(sn_pdag_complete(&graph, &tiered), 0);
	assert_same(&graph, "b>a b-c");
	sn_pdag_release(&graph);
	graph = graph_of("a-b c-d b-c");
	assert_int_equal(sn_pdag_complete(&graph, &single), 0);
	assert_same(&graph, "a>b b>c c>d");
	sn_pdag_release(&graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_classes),	  cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_fourth_rule),	  cmocka_unit_test(test_open_triples),
	    cmocka_unit_test(test_contradiction), cmocka_unit_test(test_knowledge),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
