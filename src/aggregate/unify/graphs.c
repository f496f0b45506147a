/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a measurement's graph to those of a database; see graphs.h. */
#include "graphs.h"

#include "base/arena.h"
#include "base/text.h"
#include "binary/symbolize.h"
#include "format/database/database_graph_builder.h"
#include "format/measurement/measurement_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS	  0x40000000u /* SN_GRAPH_ADDRESS */
#define DISCARDED 0x80000000u /* SN_GRAPH_DISCARDED of the collector */

struct adding {
	struct sn_db_builder *builder;
	const struct sn_measurement *measurement;
	struct sn_measurement_graph graph;
	uint32_t *models, *nodes; /* the builder's; SONDE_NONE: left out */
	uint32_t run;
};

static uint32_t text_of(const struct adding *adding, uint32_t string)
{
	return sn_db_builder_string(adding->builder,
				    sn_measurement_graph_string(&adding->graph, string));
}

static struct sonde_db_stat stat_of(const struct sn_graph_statistic *stat)
{
	return (struct sonde_db_stat){(double)stat->count, (double)stat->sum, (double)stat->min,
				      (double)stat->max, stat->sum_squares};
}

/* Whether a node of a model ran here, or the model was described. */
static bool is_wanted(const struct adding *adding, uint32_t model)
{
	const char *source =
	    sn_measurement_graph_string(&adding->graph, adding->graph.models[model].source);
	if (source && !strcmp(source, "sonde.h"))
		return true;
	if (adding->graph.models[model].flags & DISCARDED)
		return false;
	for (uint32_t i = 0; i < adding->graph.header->node_count; i++)
		if (adding->graph.nodes[i].model == model && adding->graph.nodes[i].time.count)
			return true;
	return false;
}

static void add_model(struct adding *adding, uint32_t number)
{
	const struct sn_graph_model_record *record = adding->graph.models + number;
	const char *rank = sn_measurement_property(adding->measurement, "rank");
	struct sonde_graph_model model = {
	    .name = text_of(adding, record->name),
	    .source = text_of(adding, record->source),
	    .edges_by = text_of(adding, record->edges_by),
	    .iterations_by = text_of(adding, record->iterations_by),
	    .host = sn_db_builder_string(adding->builder,
					 sn_measurement_property(adding->measurement, "host")),
	    .program = sn_db_builder_string(
		adding->builder, sn_measurement_property(adding->measurement, "program")),
	    .rank = rank && *rank ? atoi(rank) : -1,
	    .run = adding->run,
	    .pid = sn_measurement_number(adding->measurement, "pid"),
	    .flags = record->flags,
	    .iteration_time = stat_of(&record->iteration_time),
	};
	adding->models[number] = is_wanted(adding, number)
				     ? sn_db_builder_graph_model(adding->builder, &model)
				     : SONDE_NONE;
}

/* The line of the call that an address is the return from, and the function that makes it. */
static void name_by_address(struct adding *adding, struct sonde_graph_node *node)
{
	uint64_t address = strtoull(sn_db_builder_text(adding->builder, node->name), NULL, 16);
	/* the builder's texts move when it gets another */
	char *path = strdup(sn_db_builder_text(adding->builder, node->file)), name[1024];
	struct sn_symbolizer *symbolizer = NULL;
	struct sn_symbol_location location = {0};
	uint32_t module;
	address -= address != 0;
	bool is_known = path && !sn_symbolizer_new(NULL, &symbolizer, NULL) &&
			!sn_symbolizer_module(symbolizer, path, NULL, 0, 0, &module) &&
			!sn_symbolizer_lookup(symbolizer, module, &address, 1, &location);
	const struct sn_symbol_frame *frame =
	    is_known ? location.frames + location.depth - 1 : NULL;
	while (frame && frame > location.frames && frame->kind == SN_SYMBOL_LOOP)
		frame--;
	if (frame && frame->name && frame->line)
		snprintf(name, sizeof(name), "%s:%u", frame->name, frame->line);
	else if (frame && frame->name)
		snprintf(name, sizeof(name), "%s+0x%llx", frame->name,
			 (unsigned long long)(address + 1 - location.function_start));
	else
		snprintf(name, sizeof(name), "%s+0x%llx",
			 path && strchr(path, '/') ? sn_text_base_name(path) : "?",
			 (unsigned long long)address + 1);
	node->name = sn_db_builder_string(adding->builder, name);
	node->file = sn_db_builder_string(adding->builder, frame ? frame->file : NULL);
	node->function = sn_db_builder_string(adding->builder, frame ? frame->name : NULL);
	node->line = frame ? frame->line : 0;
	node->flags &= ~ADDRESS;
	sn_symbolizer_free(symbolizer);
	free(path);
}

static void add_node(struct adding *adding, uint32_t number)
{
	const struct sn_graph_node_record *record = adding->graph.nodes + number;
	adding->nodes[number] = SONDE_NONE;
	if (adding->models[record->model] == SONDE_NONE)
		return;
	struct sonde_graph_node node = SN_GRAPH_NODE;
	node.model = adding->models[record->model];
	node.name = text_of(adding, record->name);
	node.type = text_of(adding, record->type);
	node.module = text_of(adding, record->module);
	node.device = text_of(adding, record->device);
	node.file = text_of(adding, record->file);
	node.line = record->line;
	node.flags = record->flags;
	node.parent = record->parent == SN_ID_NONE ? SONDE_NONE : adding->nodes[record->parent];
	if (node.flags & ADDRESS)
		name_by_address(adding, &node);
	uint32_t added = adding->nodes[number] = sn_db_builder_graph_node(adding->builder, &node);
	struct sonde_db_stat time = stat_of(&record->time), latency = stat_of(&record->latency);
	if (time.count > 0 && added != SONDE_NONE)
		sn_db_builder_graph_stat(adding->builder, added, SONDE_NODE_TIME, &time);
	if (latency.count > 0 && added != SONDE_NONE)
		sn_db_builder_graph_stat(adding->builder, added, SONDE_NODE_LATENCY, &latency);
}

static void add_rest(struct adding *adding)
{
	const struct sn_graph_header *header = adding->graph.header;
	uint64_t epoch_ns = sn_measurement_number(adding->measurement, "start_realtime_ns") -
			    sn_measurement_number(adding->measurement, "start_monotonic_ns");
	for (uint32_t i = 0; i < header->edge_count; i++) {
		const struct sn_graph_edge_record *record = adding->graph.edges + i;
		struct sonde_graph_edge edge = {adding->nodes[record->from],
						adding->nodes[record->to],
						record->index,
						record->kind,
						record->bytes,
						record->count};
		if (edge.from != SONDE_NONE && edge.to != SONDE_NONE)
			sn_db_builder_graph_edge(adding->builder, &edge);
	}
	for (uint32_t i = 0; i < header->iteration_count; i++) {
		const struct sn_graph_iteration_record *record = adding->graph.iterations + i;
		struct sonde_graph_iteration iteration = {
		    .model = adding->models[record->model],
		    .number = record->number,
		    .start_ns = record->start_ns + epoch_ns,
		    .end_ns = record->end_ns + epoch_ns,
		};
		if (iteration.model != SONDE_NONE && iteration.end_ns >= iteration.start_ns)
			sn_db_builder_graph_iteration(adding->builder, &iteration);
	}
}

int sn_add_graph(struct sn_db_builder *builder, const struct sn_measurement *measurement,
		 uint32_t run)
{
	struct adding adding = {.builder = builder, .measurement = measurement, .run = run};
	if (!measurement->graph_bytes ||
	    !sn_measurement_graph_parse(measurement->graph, measurement->graph_bytes,
					&adding.graph))
		return 0;
	const struct sn_graph_header *header = adding.graph.header;
	struct sn_arena arena = {0};
	adding.models = sn_arena_array(&arena, uint32_t, header->model_count);
	adding.nodes = sn_arena_array(&arena, uint32_t, header->node_count);
	for (uint32_t i = 0; i < header->model_count && !arena.failed; i++)
		add_model(&adding, i);
	for (uint32_t i = 0; i < header->node_count && !arena.failed; i++)
		add_node(&adding, i);
	if (!arena.failed)
		add_rest(&adding);
	int result = arena.failed ? SN_ERR_MEMORY : 0;
	sn_arena_release(&arena);
	return result;
}
