/* SPDX-License-Identifier: Apache-2.0 */
/* Dataflow graphs into a database and back, and what a damaged one does. */
#include "../db_fixture.h"
#include "format/checksum.h"
#include "format/database/database_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PATH "test_graph.sdb"

static struct sonde_db *open_db(const char *path)
{
	struct sonde_db *db = NULL;
	struct sonde_db_error error = {""};
	if (sonde_db_open(path, &db, &error))
		fail_msg("%s", error.text);
	return db;
}

static void check_second(const struct sonde_db *db, const struct sonde_graph *graph)
{
	const struct sonde_graph_model *model = sonde_graph_model(graph, 1);
	assert_string_equal(sonde_db_string(db, model->name), "second");
	assert_int_equal(model->first_node, 2);
	assert_int_equal(model->node_count, 3);
	assert_int_equal(model->first_edge, 1);
	assert_int_equal(model->edge_count, 3);
	assert_int_equal(model->iteration_count, 3);
	assert_float_equal(model->iteration_time.sum, 150, 0);
	assert_float_equal(model->iteration_time.max, 60, 0);
	const char *names[] = {"a", "b", "c"};
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(sonde_db_string(db, sonde_graph_node(graph, 2 + i)->name),
				    names[i]);
	assert_int_equal(sonde_graph_node(graph, 3)->parent, 2);
	uint32_t count;
	const struct sonde_graph_edge *edges = sonde_graph_inputs(graph, 4, &count);
	assert_int_equal(count, 2);
	assert_int_equal(edges[0].from, 2);
	assert_int_equal(edges[1].from, 3);
	edges = sonde_graph_inputs(graph, 3, &count);
	assert_int_equal(count, 1);
	assert_int_equal(edges->count, 2);
	assert_int_equal(edges->bytes, 32);
	/* of no node */
	assert_null(sonde_graph_inputs(graph, sonde_graph_node_count(graph), &count));
	assert_int_equal(count, 0);
	assert_null(sonde_graph_inputs(graph, SONDE_NONE, &count));
	assert_int_equal(count, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sonde_graph_iteration(graph, i)->number, i);
}

static void graphs_come_back(void **unused)
{
	struct sn_db_builder *builder = db_fixture_graph();
	struct sn_error error = {""};
	assert_int_equal(sn_db_builder_write(builder, PATH, &error), 0);
	sn_db_builder_free(builder);
	struct sonde_db *db = open_db(PATH);
	struct sonde_graph *graph;
	struct sonde_db_stat stat;
	assert_int_equal(sonde_graph_open(db, &graph, NULL), 0);
	assert_int_equal(sonde_graph_model_count(graph), 2);
	assert_int_equal(sonde_graph_node_count(graph), 5);
	assert_string_equal(sonde_db_string(db, sonde_graph_node(graph, 1)->name), "y");
	check_second(db, graph);
	assert_true(sonde_graph_stat(graph, 3, SONDE_NODE_TIME, &stat));
	assert_float_equal(stat.count, 2, 0);
	assert_float_equal(stat.sum, 40, 0);
	assert_float_equal(stat.sum_squares, 1000, 0);
	assert_true(sonde_graph_stat(graph, 3, SONDE_NODE_LATENCY, &stat));
	assert_float_equal(stat.max, 5, 0);
	assert_false(sonde_graph_stat(graph, 3, SONDE_NODE_DEVICE_TIME, &stat));
	assert_false(sonde_graph_stat(graph, 2, SONDE_NODE_TIME, &stat));
	assert_null(sonde_graph_node(graph, 5));
	sonde_graph_close(graph);
	sonde_db_close(db);
	unlink(PATH);
}

enum damage {
	PARENT_BEHIND,
	EDGE_OUTSIDE,
	EDGE_ORDER,
	STAT_TWICE,
	NOT_FINITE,
	COUNT,
	ITERATION,
	NODE_MODEL,
	CONTEXT,
	NOTHING
};

static void harm(uint8_t *bytes, size_t length, enum damage damage)
{
	struct sn_container_header *header = (void *)bytes;
	struct sn_section_entry *table = (void *)(bytes + header->table_offset);
	struct sn_section_entry *at[SN_DATABASE_TYPE_END] = {0};
	for (uint32_t i = 0; i < header->section_count; i++)
		at[table[i].type] = table + i;
	struct sonde_graph_model *models = (void *)(bytes + at[SN_DATABASE_GRAPH_MODELS]->offset);
	struct sonde_graph_node *nodes = (void *)(bytes + at[SN_DATABASE_GRAPH_NODES]->offset);
	struct sonde_graph_edge *edges = (void *)(bytes + at[SN_DATABASE_GRAPH_EDGES]->offset);
	struct sonde_graph_stat *stats = (void *)(bytes + at[SN_DATABASE_GRAPH_STATS]->offset);
	struct sonde_graph_iteration *iterations =
	    (void *)(bytes + at[SN_DATABASE_GRAPH_ITERATIONS]->offset);
	switch (damage) {
	case PARENT_BEHIND:
		nodes[2].parent = 3;
		break;
	case EDGE_OUTSIDE:
		edges[1].from = 0;
		break;
	case EDGE_ORDER:
		edges[2].to = 2;
		break;
	case STAT_TWICE:
		stats[2].kind = stats[1].kind;
		break;
	case NOT_FINITE:
		stats[0].stat.sum = 0.0 / 0.0;
		break;
	case COUNT:
		models[0].node_count = 3;
		break;
	case ITERATION:
		iterations[0].end_ns = 0;
		iterations[0].start_ns = 1;
		break;
	case NODE_MODEL:
		nodes[4].model = 0;
		break;
	case CONTEXT:
		nodes[0].context = 1u << 30;
		break;
	case NOTHING:
		break;
	}
	for (unsigned type = SN_DATABASE_GRAPH_MODELS; type < SN_DATABASE_TYPE_END; type++)
		if (at[type])
			at[type]->checksum =
			    sn_checksum(bytes + at[type]->offset, at[type]->length);
	header->table_checksum = sn_checksum(table, header->section_count * sizeof(*table));
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	assert_true(length >= header->length);
}

static void damaged_graphs_are_refused(void **unused)
{
	for (enum damage damage = 0; damage <= NOTHING; damage++) {
		struct sn_db_builder *builder = db_fixture_graph();
		static uint8_t bytes[1 << 16];
		assert_int_equal(sn_db_builder_write(builder, PATH, NULL), 0);
		sn_db_builder_free(builder);
		FILE *file = fopen(PATH, "r+b");
		size_t length = fread(bytes, 1, sizeof(bytes), file);
		harm(bytes, length, damage);
		rewind(file);
		assert_int_equal(fwrite(bytes, 1, length, file), length);
		fclose(file);
		struct sonde_db *db = open_db(PATH);
		struct sonde_graph *graph = NULL;
		struct sonde_db_error error = {""};
		int result = sonde_graph_open(db, &graph, &error);
		if (damage == NOTHING) {
			assert_int_equal(result, 0);
			sonde_graph_close(graph);
		} else if (result != SN_ERR_FORMAT) {
			fail_msg("damage %u was not seen", damage);
		}
		sonde_db_close(db);
	}
	unlink(PATH);
}

static void wrong_parts_are_refused(void **unused)
{
	struct sn_db_builder *builder = db_fixture_graph();
	struct sn_error error = {""};
	struct sonde_graph_edge of_two_models = {.from = 0, .to = 1};
	sn_db_builder_graph_edge(builder, &of_two_models);
	assert_int_equal(sn_db_builder_write(builder, PATH, &error), SN_ERR_ARGUMENT);
	sn_db_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(graphs_come_back),
	    cmocka_unit_test(damaged_graphs_are_refused),
	    cmocka_unit_test(wrong_parts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
