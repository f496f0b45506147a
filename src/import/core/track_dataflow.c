/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a dataflow graph from the operators of a sink, and their times. */
#include "track_dataflow.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "format/database/database_graph_builder.h"
#include "format/database/statistics.h"
#include "format/measurement/measurement.h"

#include <stdio.h>
#include <string.h>

/* A graph of more nodes is of no use; the operators beyond are counted. */
enum { NODES_MOST = 1 << 16 };

struct step {
	uint64_t start_ns, end_ns;
};

struct node {
	uint32_t graph_node; /* builder's */
	uint32_t forward;
	struct sonde_db_stat time, device, copy;
};

/* Numbers equal operators within one execution of their caller. */
struct counter {
	uint64_t instance;
	uint32_t count;
};

struct counter_key {
	uint32_t context, parent, forward, track;
};

struct trace {
	struct sn_execution_trace *trace;
	bool has_graph;
};

struct sn_dataflow {
	struct trace *traces;
	size_t trace_count, trace_capacity;
	uint64_t untimed, left_out;
	/* of the file being read */
	struct step *steps;
	size_t step_count, step_capacity;
	bool has_failed; /* out of memory */
	/* of the file being built */
	size_t trace; /* the execution trace of the file's process; SIZE_MAX without one */
	uint32_t model, record_key, external_key, shapes_key;
	uint64_t instances;
	struct sn_intern counter_keys;
	struct sn_table node_keys; /* a counter's number and the position among equal operators */
	struct counter *counters;
	struct node *nodes;
	struct sn_dataflow_operation *operations;
	size_t counter_capacity, node_capacity, operation_count, operation_capacity;
};

static void release_file(struct sn_dataflow *dataflow)
{
	sn_intern_release(&dataflow->counter_keys);
	sn_table_release(&dataflow->node_keys);
	dataflow->operation_count = dataflow->step_count = 0;
}

void sn_dataflow_free(struct sn_dataflow *dataflow)
{
	if (!dataflow)
		return;
	for (size_t i = 0; i < dataflow->trace_count; i++)
		sn_execution_trace_close(dataflow->traces[i].trace);
	release_file(dataflow);
	free(dataflow->traces);
	free(dataflow->steps);
	free(dataflow->counters);
	free(dataflow->nodes);
	free(dataflow->operations);
	free(dataflow);
}

int sn_track_sink_make_graph(struct sn_track_sink *sink, const struct sn_import_request *request,
			     bool *are_traces, struct sn_error *error)
{
	struct sn_dataflow *dataflow = sink->dataflow = calloc(1, sizeof(*dataflow));
	int result = dataflow ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < request->path_count && !result; i++) {
		struct sn_execution_trace *trace;
		are_traces[i] = sn_execution_trace_probe(request->paths[i]);
		if (!are_traces[i])
			continue;
		result = sn_execution_trace_open(request->paths[i], sink->builder, &trace, error);
		if (!result && sn_vec_push(&dataflow->traces, &dataflow->trace_capacity,
					   &dataflow->trace_count, (struct trace){trace, false})) {
			sn_execution_trace_close(trace);
			result = sn_fail_memory(error);
		}
	}
	return result;
}

void sn_dataflow_step(struct sn_dataflow *dataflow, uint64_t start_ns, uint64_t end_ns)
{
	if (sn_vec_push(&dataflow->steps, &dataflow->step_capacity, &dataflow->step_count,
			(struct step){start_ns, end_ns}))
		dataflow->has_failed = true;
}

/* ---- a file ---- */

SN_SORT_BY(sort_steps, struct step, const void *, SN_ORDER(a->start_ns, b->start_ns));

/* The execution trace of the file's process, if its graph has not been made yet. */
static size_t trace_of(const struct sn_track_sink *sink)
{
	const struct sn_dataflow *dataflow = sink->dataflow;
	for (size_t i = 0; i < dataflow->trace_count; i++)
		if (!dataflow->traces[i].has_graph &&
		    sn_execution_trace_pid(dataflow->traces[i].trace) == sink->pid)
			return i;
	return SIZE_MAX;
}

void sn_dataflow_begin(struct sn_track_sink *sink)
{
	struct sn_dataflow *dataflow = sink->dataflow;
	for (size_t i = 0; i < dataflow->step_count; i++) {
		struct step *step = dataflow->steps + i;
		step->start_ns = sn_sink_time(sink, step->start_ns);
		step->end_ns = sn_sink_time(sink, step->end_ns);
	}
	sort_steps(dataflow->steps, dataflow->step_count, NULL);
	dataflow->trace = trace_of(sink);
	dataflow->model = SONDE_NONE;
	dataflow->instances = 0;
	dataflow->record_key =
	    sn_track_sink_key(sink, "Record function id", 18, SONDE_ATTRIBUTE_SIGNED);
	dataflow->external_key = sn_track_sink_key(sink, "External id", 11, SONDE_ATTRIBUTE_SIGNED);
	dataflow->shapes_key = sn_track_sink_key(sink, "Input Dims", 10, SONDE_ATTRIBUTE_STRING);
}

/* ---- nodes ---- */

/* How many steps had begun at a time. */
static uint64_t step_at(const struct sn_dataflow *dataflow, uint64_t time_ns)
{
	return sn_search(i, dataflow->step_count, dataflow->steps[i].start_ns <= time_ns);
}

/* Numbers an operator among those that are equal and were called by the same execution of its
 * caller. */
static int count_like(struct sn_dataflow *dataflow, const struct counter_key *key,
		      uint64_t instance, bool are_one, uint64_t *node)
{
	uint32_t before = dataflow->counter_keys.count;
	uint32_t number = sn_intern_add(&dataflow->counter_keys, key, sizeof(*key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&dataflow->counters, &dataflow->counter_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	struct counter *counter = dataflow->counters + number;
	if (number == before || counter->instance != instance || are_one)
		*counter = (struct counter){instance, 0};
	*node = sn_table_pair(number, counter->count++);
	return 0;
}

static uint32_t make_model(struct sn_track_sink *sink)
{
	struct sn_dataflow *dataflow = sink->dataflow;
	struct sn_db_builder *builder = sink->builder;
	struct sonde_graph_model model = SN_GRAPH_MODEL;
	model.name = sn_db_builder_string(builder, sn_text_base_name(sink->path));
	model.source = sn_db_builder_string(builder, sink->source);
	model.edges_by = sn_db_builder_string(builder, "sequence numbers");
	sn_track_sink_sign(sink, &model);
	model.pid = (uint64_t)(sink->pid > 0 ? sink->pid : 0);
	if (dataflow->step_count)
		model.iterations_by = sn_db_builder_string(builder, "the profiler's steps");
	dataflow->model = sn_db_builder_graph_model(builder, &model);
	for (size_t i = 0; i < dataflow->step_count; i++)
		sn_db_builder_graph_iteration(builder, &(struct sonde_graph_iteration){
							   .model = dataflow->model,
							   .number = i,
							   .start_ns = dataflow->steps[i].start_ns,
							   .end_ns = dataflow->steps[i].end_ns});
	return dataflow->model;
}

static uint32_t make_node(struct sn_track_sink *sink, const struct sn_event *event,
			  uint32_t context, const struct sn_dataflow_place *caller)
{
	struct sn_dataflow *dataflow = sink->dataflow;
	struct sonde_graph_node node = SN_GRAPH_NODE;
	uint64_t shapes;
	node.model = dataflow->model == SONDE_NONE ? make_model(sink) : dataflow->model;
	node.name = node.type = sn_sink_name(sink, event->context).text;
	node.module = caller->module;
	node.context = context;
	node.flags = sn_sink_is(sink, event->context, SN_TRAIT_BACKWARD) ? SONDE_NODE_BACKWARD : 0;
	if (caller->node != SONDE_NONE)
		node.parent = dataflow->nodes[caller->node].graph_node;
	if (sn_sink_value(event, dataflow->shapes_key, &shapes))
		node.detail = (uint32_t)shapes;
	return sn_db_builder_graph_node(sink->builder, &node);
}

static int add_operator(struct sn_track_sink *sink, const struct sn_event *event, uint32_t track,
			uint32_t context, uint32_t forward, struct sn_dataflow_place *place)
{
	struct sn_dataflow *dataflow = sink->dataflow;
	struct counter_key key = {context, place->node, forward,
				  place->node == SONDE_NONE ? track : 0};
	bool is_outermost = place->node == SONDE_NONE;
	double time = (double)(event->end_ns - event->start_ns);
	uint64_t node_key;
	if (count_like(dataflow, &key,
		       is_outermost ? step_at(dataflow, event->start_ns) : place->instance,
		       is_outermost && !dataflow->step_count, &node_key))
		return SN_ERR_MEMORY;
	uint32_t number = sn_table_find(&dataflow->node_keys, node_key);
	if (number == SN_TABLE_NONE) {
		if (dataflow->node_keys.count >= NODES_MOST) {
			dataflow->left_out++;
			return 0;
		}
		number = sn_table_add(&dataflow->node_keys, node_key);
		if (number == SN_TABLE_NONE ||
		    sn_vec_reserve(&dataflow->nodes, &dataflow->node_capacity, number + 1ull) < 0)
			return SN_ERR_MEMORY;
		dataflow->nodes[number] =
		    (struct node){make_node(sink, event, context, place), forward, {0}, {0}, {0}};
	}
	sn_stat_add(&dataflow->nodes[number].time, time);
	place->node = number;
	place->instance = ++dataflow->instances;
	return 0;
}

/* ---- events ---- */

static int add_operation(struct sn_track_sink *sink, const struct sn_event *event, uint32_t track,
			 struct sn_dataflow_place *place)
{
	struct sn_dataflow *dataflow = sink->dataflow;
	uint64_t record = 0, external = 0;
	if (sn_vec_reserve(&dataflow->operations, &dataflow->operation_capacity,
			   dataflow->operation_count + 1) < 0)
		return SN_ERR_MEMORY;
	sn_sink_value(event, dataflow->record_key, &record);
	sn_sink_value(event, dataflow->external_key, &external);
	dataflow->operations[dataflow->operation_count] = (struct sn_dataflow_operation){
	    .record_function = (int64_t)record,
	    .external = (int64_t)external,
	    .name = sn_sink_name(sink, event->context).text,
	    .track = track,
	    .time_ns = (double)(event->end_ns - event->start_ns),
	};
	place->node = (uint32_t)dataflow->operation_count++;
	return 0;
}

int sn_dataflow_event(struct sn_track_sink *sink, const struct sn_event *event, uint32_t track,
		      uint32_t context, uint32_t forward, struct sn_dataflow_place *place)
{
	static const char module[] = "nn.Module: ";
	struct sn_track_name name = sn_sink_name(sink, event->context);
	bool has_trace = sink->dataflow->trace != SIZE_MAX;
	if (name.category == SN_ACTIVITY_PYTHON) {
		const char *text = sn_db_builder_text(sink->builder, name.text);
		if (!strncmp(text, module, sizeof(module) - 1)) {
			/* a copy, because the builder's texts move when a string is added */
			char called[256];
			snprintf(called, sizeof(called), "%s", text + sizeof(module) - 1);
			place->module = sn_db_builder_string(sink->builder, called);
		}
		return 0;
	}
	/* execution traces also contain the ranges of record_function, which are
	 * annotations here */
	if (has_trace &&
	    (name.category == SN_ACTIVITY_OPERATOR || name.category == SN_ACTIVITY_ANNOTATION))
		return add_operation(sink, event, track, place);
	if (name.category != SN_ACTIVITY_OPERATOR)
		return 0;
	return add_operator(sink, event, track, context, forward, place);
}

void sn_dataflow_device(struct sn_dataflow *dataflow, uint32_t node, uint32_t category,
			double time_ns)
{
	bool is_copy = category == SN_ACTIVITY_COPY || category == SN_ACTIVITY_FILL;
	if (node == SONDE_NONE ||
	    (!is_copy && category != SN_ACTIVITY_KERNEL && category != SN_ACTIVITY_GRAPH))
		return;
	if (dataflow->trace != SIZE_MAX)
		sn_stat_add(is_copy ? &dataflow->operations[node].copy
				    : &dataflow->operations[node].device,
			    time_ns);
	else
		sn_stat_add(is_copy ? &dataflow->nodes[node].copy : &dataflow->nodes[node].device,
			    time_ns);
}

/* ---- the end ---- */

static void put_node(struct sn_track_sink *sink, const struct node *node)
{
	struct sn_db_builder *builder = sink->builder;
	sn_db_builder_graph_stat(builder, node->graph_node, SONDE_NODE_TIME, &node->time);
	if (node->device.count > 0)
		sn_db_builder_graph_stat(builder, node->graph_node, SONDE_NODE_DEVICE_TIME,
					 &node->device);
	if (node->copy.count > 0)
		sn_db_builder_graph_stat(builder, node->graph_node, SONDE_NODE_COPY_TIME,
					 &node->copy);
	if (node->forward == SONDE_NONE)
		return;
	const struct sn_dataflow *dataflow = sink->dataflow;
	sn_db_builder_graph_edge(
	    builder, &(struct sonde_graph_edge){.from = dataflow->nodes[node->forward].graph_node,
						.to = node->graph_node,
						.index = SONDE_NONE,
						.kind = SONDE_EDGE_SEQUENCE,
						.count = (uint64_t)node->time.count});
}

int sn_dataflow_end(struct sn_track_sink *sink, struct sn_error *error)
{
	struct sn_dataflow *dataflow = sink->dataflow;
	int result = dataflow->has_failed ? sn_fail_memory(error) : 0;
	for (uint32_t i = 0; i < dataflow->node_keys.count; i++)
		put_node(sink, dataflow->nodes + i);
	if (!result && dataflow->trace != SIZE_MAX) {
		result = sn_dataflow_match(sink, dataflow->traces[dataflow->trace].trace,
					   dataflow->operations, dataflow->operation_count,
					   &dataflow->untimed, error);
		dataflow->traces[dataflow->trace].has_graph = true;
	}
	release_file(dataflow);
	return result;
}

int sn_track_sink_finish_graph(struct sn_track_sink *sink, struct sn_error *error)
{
	struct sn_dataflow *dataflow = sink->dataflow;
	int result = 0;
	for (size_t i = 0; i < dataflow->trace_count && !result; i++) {
		if (dataflow->traces[i].has_graph)
			continue;
		dataflow->traces[i].has_graph = true;
		dataflow->untimed += sn_execution_trace_count(dataflow->traces[i].trace);
		result = sn_execution_trace_make(dataflow->traces[i].trace, "execution trace", -1,
						 (uint32_t)(sink->file_count + i), error);
	}
	sn_track_sink_lost(sink, "graph-untimed",
			   "nodes of execution traces for which no trace read here has times",
			   dataflow->untimed);
	sn_track_sink_lost(sink, "graph-nodes",
			   "executions of operators beyond the limit of a graph",
			   dataflow->left_out);
	return result;
}
