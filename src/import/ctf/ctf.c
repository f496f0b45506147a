/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of traces in the Common Trace Format: version 1.8, and whatever else libbabeltrace2
 * reads. That library decodes the streams of all traces of a folder and merges them in order of
 * time.
 */
#include "ctf.h"

#include "ctf_probe.h"

#include <stdio.h>

struct run {
	struct sn_ctf_any *any;
	int result; /* of adding events */
};

/* ---- the sink ---- */

static void deliver_event(struct run *run, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	int64_t time_ns;
	if (!bt_message_event_borrow_stream_class_default_clock_class_const(message) ||
	    bt_clock_snapshot_get_ns_from_origin(
		bt_message_event_borrow_default_clock_snapshot_const(message), &time_ns) !=
		BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK ||
	    time_ns < 0)
		sn_ctf_any_lose(run->any, SN_CTF_UNTIMED, 1);
	else
		run->result = sn_ctf_any_add(run->any, event, (uint64_t)time_ns);
}

/* Adds an event, or counts lost ones: at least one if the trace does not say how many. */
static void deliver(struct run *run, const bt_message *message)
{
	uint64_t count = 1;
	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		deliver_event(run, message);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		bt_message_discarded_events_get_count(message, &count);
		sn_ctf_any_lose(run->any, SN_CTF_EVENTS, count);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		bt_message_discarded_packets_get_count(message, &count);
		sn_ctf_any_lose(run->any, SN_CTF_PACKETS, count);
		break;
	default:
		break;
	}
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator,
								  void *data)
{
	struct run *run = data;
	bt_message_array_const messages;
	uint64_t count;
	switch (bt_message_iterator_next(iterator, &messages, &count)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (!run->result)
			deliver(run, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return run->result ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
			   : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- the graph ---- */

/* Reports the innermost cause of the library's last failure, in one line. */
static int library_failed(const char *path, struct sn_error *error)
{
	const bt_error *why = bt_current_thread_take_error();
	char text[256] = "not a readable trace";
	if (why && bt_error_get_cause_count(why))
		snprintf(text, sizeof(text), "%s",
			 bt_error_cause_get_message(bt_error_borrow_cause_by_index(why, 0)));
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	if (why)
		bt_error_release(why);
	return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", path, text);
}

struct graph {
	bt_graph *graph;
	const bt_plugin *ctf, *utils;
	const bt_component_filter *muxer;
};

static bool add_source(struct graph *graph, const char *path, unsigned number)
{
	const bt_component_class_source *class =
	    bt_plugin_borrow_source_component_class_by_name_const(graph->ctf, "fs");
	bt_value *parameters = bt_value_map_create(), *inputs = NULL;
	const bt_component_source *source = NULL;
	char name[32];
	snprintf(name, sizeof(name), "source%u", number);
	bool is_added = class && parameters &&
			bt_value_map_insert_empty_array_entry(parameters, "inputs", &inputs) == 0 &&
			bt_value_array_append_string_element(inputs, path) == 0 &&
			bt_graph_add_source_component(graph->graph, class, name, parameters,
						      BT_LOGGING_LEVEL_NONE, &source) == 0;
	uint64_t ports = is_added ? bt_component_source_get_output_port_count(source) : 0;
	for (uint64_t i = 0; i < ports && is_added; i++) {
		uint64_t last = bt_component_filter_get_input_port_count(graph->muxer) - 1;
		is_added =
		    bt_graph_connect_ports(
			graph->graph,
			bt_component_source_borrow_output_port_by_index_const(source, i),
			bt_component_filter_borrow_input_port_by_index_const(graph->muxer, last),
			NULL) == 0;
	}
	bt_value_put_ref(parameters);
	return is_added;
}

static bool add_sink(struct graph *graph, struct run *run)
{
	const bt_component_sink *sink = NULL;
	return bt_graph_add_simple_sink_component(graph->graph, "sink", NULL, consume, NULL, run,
						  &sink) == 0 &&
	       bt_graph_connect_ports(
		   graph->graph,
		   bt_component_filter_borrow_output_port_by_index_const(graph->muxer, 0),
		   bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) == 0;
}

static bool make_graph(struct graph *graph)
{
	*graph = (struct graph){.graph = bt_graph_create(0)};
	if (!graph->graph ||
	    bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &graph->ctf) ||
	    bt_plugin_find("utils", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &graph->utils))
		return false;
	const bt_component_class_filter *muxer =
	    bt_plugin_borrow_filter_component_class_by_name_const(graph->utils, "muxer");
	return muxer && bt_graph_add_filter_component(graph->graph, muxer, "muxer", NULL,
						      BT_LOGGING_LEVEL_NONE, &graph->muxer) == 0;
}

static int run_graph(char *const *paths, size_t count, struct sn_ctf_any *any,
		     struct sn_error *error)
{
	struct graph graph;
	struct run run = {.any = any};
	bool is_ready = make_graph(&graph);
	int result = is_ready ? 0 : library_failed(paths[0], error);
	for (size_t i = 0; i < count && !result; i++)
		if (!add_source(&graph, paths[i], (unsigned)i))
			result = library_failed(paths[i], error);
	if (!result && !add_sink(&graph, &run))
		result = library_failed(paths[0], error);
	if (!result && bt_graph_run(graph.graph) != BT_GRAPH_RUN_STATUS_OK)
		result = library_failed(paths[0], error);
	if (!result && run.result == SN_ERR_MEMORY)
		result = sn_fail_memory(error);
	else if (!result && run.result)
		result =
		    sn_fail(error, run.result,
			    "cannot read '%s': damaged (an event refers to nothing)", paths[0]);
	bt_plugin_put_ref(graph.ctf);
	bt_plugin_put_ref(graph.utils);
	bt_graph_put_ref(graph.graph);
	return result;
}

/* ---- paths ---- */

static int read_path(const struct sn_import_request *request, const char *path,
		     struct sn_ctf_any *any, struct sn_error *error)
{
	struct sn_import_files folders;
	int result = sn_fail_code(error, sn_ctf_folders_find(&folders, path));
	if (!result)
		result = sn_ctf_any_begin(any, path, error);
	if (!result)
		result = run_graph(folders.paths, folders.count, any, error);
	if (!result)
		result = sn_ctf_any_end(any, request->path_count, error);
	sn_import_files_release(&folders);
	return result;
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	if (!sn_late_babeltrace_load())
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "cannot read '%s': libbabeltrace2 cannot be loaded",
			       request->paths[0]);
	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	struct sn_ctf_any *any = sn_ctf_any_new(request, builder);
	int result = any ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_path(request, request->paths[i], any, error);
	if (!result)
		sn_ctf_any_finish(any);
	sn_ctf_any_free(any);
	return result;
}

const struct sn_importer sn_importer_ctf = {
    .name = "ctf",
    .probe = sn_ctf_probe,
    .library = "libbabeltrace2",
    .read = read_all,
};
