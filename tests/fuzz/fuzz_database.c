/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a database: opened, and if it opens, read from end to end through the
 * interface that reports use. Checksums are made right first (fuzz_file.h). See
 * run.sh.
 */
#include "fuzz_file.h"

#include "sonde/db.h"
#include "sonde/graph.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte in a way that is not optimised away. */
static volatile uint64_t sink;

static void touch(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < length; i++)
		sink += at[i];
}

static void touch_string(const struct sonde_db *db, uint32_t string)
{
	const char *text = sonde_db_string(db, string);
	size_t length = sonde_db_string_length(db, string);
	touch(text, length + 1);
	if (text[length])
		abort();
}

static void read_tables(const struct sonde_db *db)
{
	for (uint32_t i = 0; i < sonde_db_module_count(db); i++)
		touch_string(db, sonde_db_module(db, i)->path);
	for (uint32_t i = 0; i < sonde_db_frame_count(db); i++) {
		const struct sonde_db_frame *frame = sonde_db_frame(db, i);
		touch_string(db, frame->name);
		touch_string(db, frame->file);
		touch_string(db, frame->linkage_name);
		if (frame->module != SONDE_NONE && !sonde_db_module(db, frame->module))
			abort();
		touch(sonde_frame_kind_layer(frame->kind), 1);
	}
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++)
		touch_string(db, sonde_db_profile(db, i)->thread);
	for (uint32_t i = 0; i < sonde_db_drop_count(db); i++)
		touch_string(db, sonde_db_drop(db, i)->text);
	for (uint32_t i = 0; i < sonde_db_property_count(db); i++)
		if (!sonde_db_property(db, sonde_db_property_key(db, i)))
			abort();
}

static void read_findings(const struct sonde_db *db)
{
	struct sonde_db_finding finding;
	struct sonde_db_evidence evidence;
	for (uint32_t i = 0; i < sonde_db_finding_count(db); i++) {
		if (!sonde_db_finding(db, i, &finding) || !sonde_db_finding_rules(db))
			abort();
		touch(finding.rule, strlen(finding.rule));
		if (finding.suggestion)
			touch(finding.suggestion, strlen(finding.suggestion));
		for (uint32_t e = 0; e < finding.evidence_count; e++) {
			if (!sonde_db_evidence(db, i, e, &evidence) || !isfinite(evidence.value))
				abort();
			touch(evidence.name, strlen(evidence.name));
			if (!strcmp(evidence.unit, "context") &&
			    !sonde_db_context(db, (uint32_t)evidence.value))
				abort();
		}
	}
}

/* Walks the tree by its ends, as readers do: every context is met once. */
static void read_tree(const struct sonde_db *db)
{
	uint32_t count = sonde_db_context_count(db), children = 0;
	for (uint32_t c = 0; c < count; c++) {
		const struct sonde_db_context *context = sonde_db_context(db, c);
		if (!sonde_db_frame(db, context->frame) || !sonde_db_context(db, context->parent))
			abort();
		for (uint32_t child = c + 1; child < context->end;
		     child = sonde_db_context(db, child)->end) {
			if (sonde_db_context(db, child)->parent != c)
				abort();
			children++;
		}
	}
	if (children != count - 1)
		abort();
}

static void read_plane(const struct sonde_db_plane *plane, uint32_t id_count)
{
	for (size_t i = 0; i < plane->count; i++) {
		struct sonde_db_stat stat;
		sonde_db_plane_stat(plane, i, &stat);
		double sum;
		sonde_db_plane_numbers(plane, SONDE_DB_SUM, i, 1, &sum);
		if (plane->ids[i] >= id_count || sonde_db_plane_find(plane, plane->ids[i]) != i ||
		    !isfinite(stat.sum_squares) || sum != stat.sum ||
		    sonde_db_plane_sum(plane, i) != sum)
			abort();
	}
}

static void read_values(const struct sonde_db *db)
{
	uint32_t profiles = sonde_db_profile_count(db), contexts = sonde_db_context_count(db);
	for (uint32_t m = 0; m < sonde_db_metric_count(db) && m < 64; m++) {
		for (uint32_t p = 0; p < profiles; p++) {
			struct sonde_db_plane plane = sonde_db_profile_plane(db, p, m);
			read_plane(&plane, contexts);
		}
		for (uint32_t c = 0; c < contexts; c++) {
			struct sonde_db_plane row = sonde_db_context_row(db, c, m);
			struct sonde_db_summary summary;
			read_plane(&row, profiles);
			if (sonde_db_summary(db, c, m, &summary))
				sink += (uint64_t)(sonde_db_stat_deviation(&summary.inclusive) > 0);
		}
	}
	struct sonde_db_error error = {"cannot read '"};
	int result = sonde_db_verify(db, &error);
	if (strncmp(error.text, "cannot read '", 13) || (!result && sonde_db_damage(db)))
		abort();
}

/* Follows every number that a graph gives out. */
static void read_graph(const struct sonde_db *db)
{
	struct sonde_graph *graph;
	struct sonde_db_stat stat;
	uint32_t count;
	if (sonde_graph_open(db, &graph, NULL))
		return;
	for (uint32_t i = 0; i < sonde_graph_node_count(graph); i++) {
		const struct sonde_graph_node *node = sonde_graph_node(graph, i);
		touch_string(db, node->name);
		touch_string(db, node->module);
		if (!sonde_graph_model(graph, node->model) ||
		    (node->parent != SONDE_NONE && !sonde_graph_node(graph, node->parent)))
			abort();
		const struct sonde_graph_edge *edges = sonde_graph_inputs(graph, i, &count);
		for (uint32_t e = 0; e < count; e++)
			if (edges[e].to != i || !sonde_graph_node(graph, edges[e].from))
				abort();
		for (unsigned kind = 1; kind < SONDE_NODE_STAT_END; kind++)
			if (sonde_graph_stat(graph, i, kind, &stat) && !isfinite(stat.sum))
				abort();
	}
	for (uint32_t i = 0; i < sonde_graph_iteration_count(graph); i++)
		if (!sonde_graph_model(graph, sonde_graph_iteration(graph, i)->model))
			abort();
	sonde_graph_close(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH_MAX];
	struct sonde_db *db;
	struct sonde_db_error error;
	int file = fuzz_database_file(data, size, NULL, path);
	if (sonde_db_open(path, &db, &error)) {
		if (strchr(error.text, '\n') || strncmp(error.text, "cannot read '", 13))
			abort();
	} else {
		read_tables(db);
		read_tree(db);
		read_findings(db);
		read_values(db);
		read_graph(db);
		sonde_db_close(db);
	}
	close(file);
	return 0;
}
