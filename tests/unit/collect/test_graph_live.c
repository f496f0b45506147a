/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's graphs (collect/graph.h): what was told comes out of the section, number by
 * number. The graphs are the process's, so that each test makes models of its own. */
#include "collect/record/graph.h"
#include "format/measurement/measurement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The section as it was written. */
static unsigned char *section;
static size_t length;
static const struct sn_graph_header *header;
static const struct sn_graph_model_record *models;
static const struct sn_graph_node_record *nodes;
static const struct sn_graph_edge_record *edges;
static const struct sn_graph_iteration_record *iterations;
static const char *texts;

static void put(void *out, const void *bytes, size_t count)
{
	(void)out;
	section = realloc(section, length + count + 1);
	memcpy(section + length, bytes, count);
	length += count;
}

static void snapshot(void)
{
	length = 0;
	sn_graph_write(put, NULL);
	header = (const void *)section;
	models = (const void *)(header + 1);
	nodes = (const void *)(models + header->model_count);
	edges = (const void *)(nodes + header->node_count);
	iterations = (const void *)(edges + header->edge_count);
	texts = (const char *)(iterations + header->iteration_count);
	assert_int_equal(texts + header->text_bytes - (const char *)section, length);
}

static uint32_t model(const char *name)
{
	uint32_t made = sn_graph_model(name, strlen(name), "test", "hand");
	assert_int_not_equal(made, SN_GRAPH_NONE);
	return made;
}

static uint32_t child(uint32_t of, uint64_t key, const char *name, uint32_t parent)
{
	uint32_t made = sn_graph_node(
	    &(struct sn_graph_new){.model = of, .key = key, .name = name, .parent = parent});
	assert_int_not_equal(made, SN_GRAPH_NONE);
	return made;
}

static uint32_t node(uint32_t of, uint64_t key, const char *name)
{
	return child(of, key, name, SN_GRAPH_NONE);
}

static void assert_statistic(const struct sn_graph_statistic *found, uint64_t count, uint64_t sum,
			     uint64_t min, uint64_t max, double squares)
{
	assert_int_equal(found->count, count);
	assert_int_equal(found->sum, sum);
	assert_int_equal(found->min, min);
	assert_int_equal(found->max, max);
	assert_true(found->sum_squares == squares);
}

/* The only edge between two nodes with these numbers. */
static const struct sn_graph_edge_record *edge_of(uint32_t from, uint32_t to, uint32_t index,
						  uint32_t kind)
{
	const struct sn_graph_edge_record *found = NULL;
	for (uint32_t i = 0; i < header->edge_count; i++) {
		if (edges[i].from != from || edges[i].to != to || edges[i].index != index ||
		    edges[i].kind != kind)
			continue;
		assert_null(found);
		found = edges + i;
	}
	return found;
}

static void test_nodes_are_told_apart(void **state)
{
	(void)state;
	uint32_t one = model("one"), two = model("two");
	uint32_t first = node(one, 7, "conv"), same = node(one, 7, "conv"),
		 other = node(two, 7, "con"), inner = child(one, 8, "", first);
	assert_int_equal(first, same);
	assert_int_not_equal(first, other);
	assert_int_equal(sn_graph_find(two, 7), other);
	assert_int_equal(sn_graph_find(two, 8), SN_GRAPH_NONE);
	snapshot();
	assert_string_equal(texts + nodes[first].name, "conv");
	assert_string_equal(texts + nodes[other].name, "con");
	assert_string_equal(texts + models[nodes[other].model].name, "two");
	assert_int_equal(nodes[inner].parent, first);
	assert_int_equal(nodes[first].parent, SN_ID_NONE);
	size_t bytes;
	assert_string_equal(sn_graph_label(other, &bytes), "two/con");
	assert_int_equal(bytes, 7);
}

static void test_edges_are_told_apart(void **state)
{
	(void)state;
	uint32_t here = model("edges"), there = model("elsewhere");
	uint32_t a = node(here, 1, "a"), b = node(here, 2, "b"), c = node(there, 1, "c");
	sn_graph_edge(a, b, 0, SONDE_EDGE_DATA, 100, 1);
	sn_graph_edge(a, b, 0, SONDE_EDGE_DATA, 40, 2);
	sn_graph_edge(a, b, 1, SONDE_EDGE_DATA, 5, 1);
	sn_graph_edge(a, b, 0, SONDE_EDGE_SEQUENCE, 0, 4);
	sn_graph_edge(b, a, 0, SONDE_EDGE_DATA, 6, 1);
	sn_graph_edge(a, c, 0, SONDE_EDGE_DATA, 8, 1); /* to another model: none */
	snapshot();
	const struct sn_graph_edge_record *data = edge_of(a, b, 0, SONDE_EDGE_DATA);
	assert_non_null(data);
	assert_int_equal(data->bytes, 100);
	assert_int_equal(data->count, 3);
	assert_int_equal(edge_of(a, b, 1, SONDE_EDGE_DATA)->bytes, 5);
	assert_int_equal(edge_of(a, b, 0, SONDE_EDGE_SEQUENCE)->count, 4);
	assert_int_equal(edge_of(b, a, 0, SONDE_EDGE_DATA)->bytes, 6);
	assert_null(edge_of(a, c, 0, SONDE_EDGE_DATA));
}

/* So many that some share a place of the tables. */
static void test_many_are_told_apart(void **state)
{
	enum { MANY = 2000 };
	(void)state;
	uint32_t one = model("many nodes"), two = model("as many");
	uint32_t a = node(one, 1u << 20, "a"), b = node(one, 2u << 20, "b");
	snapshot();
	uint32_t nodes_before = header->node_count, edges_before = header->edge_count;
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_not_equal(node(one, i, ""), node(two, i, ""));
		sn_graph_edge(a, b, i, SONDE_EDGE_DATA, 1, 1);
		sn_graph_edge(a, b, i, SONDE_EDGE_CONTROL, 1, 1);
	}
	snapshot();
	assert_int_equal(header->node_count - nodes_before, 2 * MANY);
	assert_int_equal(header->edge_count - edges_before, 2 * MANY);
}

static void test_times_and_latencies(void **state)
{
	(void)state;
	uint32_t m = model("times");
	uint32_t a = node(m, 1, "a"), b = node(m, 2, "b"), c = node(m, 3, "c"), d = node(m, 4, "d");
	sn_graph_edge(a, c, 0, SONDE_EDGE_DATA, 0, 1);
	sn_graph_edge(b, c, 1, SONDE_EDGE_DATA, 0, 1);
	sn_graph_edge(d, c, 0, SONDE_EDGE_SEQUENCE, 0, 1);
	sn_graph_executed(a, 100, 110);
	sn_graph_executed(b, 100, 130);
	sn_graph_executed(d, 100, 140); /* only came before it */
	sn_graph_executed(c, 150, 150); /* 20 after b; takes no time at all */
	sn_graph_executed(c, 170, 177); /* nothing has ended since it began: no latency */
	sn_graph_executed(a, 180, 190);
	sn_graph_executed(b, 180, 300);
	sn_graph_executed(c, 195, 201); /* 5 after a; b ended later */
	snapshot();
	assert_statistic(&nodes[a].time, 2, 20, 10, 10, 200);
	assert_statistic(&nodes[c].time, 3, 13, 0, 7, 49 + 36);
	assert_statistic(&nodes[c].latency, 2, 25, 5, 20, 425);
	assert_int_equal(nodes[a].latency.count, 0);
}

static void test_marks_are_of_models_that_ran(void **state)
{
	(void)state;
	uint32_t ran = model("ran"), idle = model("idle"), own = model("own");
	uint32_t a = node(ran, 1, "a"), b = node(idle, 1, "b"), c = node(own, 1, "c");
	sn_graph_own_iterations(own);
	sn_graph_executed(b, 1000, 1010);
	for (uint64_t i = 0; i < 3; i++) {
		sn_graph_iteration_begins();
		sn_graph_executed(a, 2000 + 100 * i, 2010 + 100 * i);
		sn_graph_executed(c, 2000 + 100 * i, 2010 + 100 * i);
		sn_graph_iteration_ends(1990 + 100 * i, 2050 + 100 * i + i);
	}
	snapshot();
	assert_statistic(&models[ran].iteration_time, 3, 183, 60, 62, 60 * 60 + 61 * 61 + 62 * 62);
	assert_int_equal(models[idle].iteration_time.count, 0);
	assert_int_equal(models[own].iteration_time.count, 0);
	assert_string_equal(texts + models[ran].iterations_by, "marks of the program");
}

static void test_only_the_last_iterations_are_kept(void **state)
{
	(void)state;
	uint32_t m = model("many"), few = model("few");
	for (uint64_t i = 0; i < SN_GRAPH_ITERATIONS + 10; i++)
		sn_graph_iteration(m, 10 * i, 10 * i + 3, "hand");
	sn_graph_iteration(few, 5, 6, "hand");
	snapshot();
	assert_int_equal(models[m].iteration_time.count, SN_GRAPH_ITERATIONS + 10);
	assert_true(models[m].flags & SONDE_MODEL_ITERATIONS_CUT);
	assert_false(models[few].flags & SONDE_MODEL_ITERATIONS_CUT);
	uint64_t next = 11; /* one less than there is room for */
	for (uint32_t i = 0; i < header->iteration_count; i++) {
		if (iterations[i].model != m)
			continue;
		assert_int_equal(iterations[i].number, next);
		assert_int_equal(iterations[i].start_ns, 10 * next);
		assert_int_equal(iterations[i].end_ns, 10 * next++ + 3);
	}
	assert_int_equal(next, SN_GRAPH_ITERATIONS + 10);
}

/* What a child process has itself: the graph, with nothing counted. */
static void test_after_a_fork(void **state)
{
	(void)state;
	uint32_t m = model("forked"), a = node(m, 1, "a"), b = node(m, 2, "b");
	sn_graph_edge(a, b, 0, SONDE_EDGE_DATA, 9, 5);
	sn_graph_executed(a, 10, 20);
	sn_graph_executed(b, 30, 40);
	sn_graph_iteration(m, 10, 40, "hand");
	sn_graph_after_fork();
	snapshot();
	assert_int_equal(nodes[b].time.count, 0);
	assert_int_equal(nodes[b].latency.count, 0);
	assert_int_equal(edge_of(a, b, 0, SONDE_EDGE_DATA)->count, 0);
	assert_int_equal(models[m].iteration_time.count, 0);
	assert_int_equal(header->iteration_count, 0);
	assert_string_equal(texts + nodes[b].name, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nodes_are_told_apart),
	    cmocka_unit_test(test_edges_are_told_apart),
	    cmocka_unit_test(test_many_are_told_apart),
	    cmocka_unit_test(test_times_and_latencies),
	    cmocka_unit_test(test_marks_are_of_models_that_ran),
	    cmocka_unit_test(test_only_the_last_iterations_are_kept),
	    cmocka_unit_test(test_after_a_fork),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(section);
	return failed;
}
