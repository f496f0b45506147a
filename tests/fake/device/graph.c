/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: captured from streams or built, and run as a whole. */
#include "inside.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

struct fake_executable {
	struct fake_graph graph;
	uint64_t *ends; /* of each node, while it is run */
};

static struct fake_node *new_node(const struct fake_graph *graph, uint32_t place)
{
	struct fake_node *node = calloc(1, sizeof(*node));
	node->id = (uint64_t)graph->number << 32 | (place + 1);
	return node;
}

struct fake_graph *fake_graph_new(void)
{
	struct fake_graph *graph = calloc(1, sizeof(*graph));
	graph->number = fake_next_number();
	return graph;
}

static void free_nodes(struct fake_graph *graph)
{
	for (uint32_t place = 0; place < graph->count; place++) {
		free(graph->nodes[place]->after);
		free(graph->nodes[place]);
	}
	free(graph->nodes);
}

void fake_graph_free(struct fake_graph *graph)
{
	free_nodes(graph);
	free(graph);
}

uint32_t fake_graph_number(const struct fake_graph *graph)
{
	return graph->number;
}

uint32_t fake_graph_count(const struct fake_graph *graph)
{
	return graph->count;
}

const struct fake_node *fake_graph_node(const struct fake_graph *graph, uint32_t index)
{
	return graph->nodes[index];
}

static uint32_t add(struct fake_graph *graph, const struct fake_operation *operation,
		    const uint32_t *after, uint32_t after_count, const struct fake_node *original)
{
	uint32_t place = graph->count++;
	struct fake_node *node = new_node(graph, place);
	node->operation = *operation;
	node->after = fake_copy_places(after, after_count);
	node->after_count = after_count;
	graph->nodes = realloc(graph->nodes, graph->count * sizeof(struct fake_node *));
	graph->nodes[place] = node;
	if (fake_listener.node)
		fake_listener.node(node, original);
	return place;
}

uint32_t fake_graph_add(struct fake_graph *graph, const struct fake_operation *operation,
			const uint32_t *after, uint32_t after_count)
{
	return add(graph, operation, after, after_count, NULL);
}

/* ---- capture ---- */

bool fake_capture_begin(struct fake_stream *stream, struct fake_graph *graph)
{
	fake_lock();
	bool begins = !stream->capture;
	if (begins) {
		stream->capture = graph;
		stream->capture_id = fake_next_number();
		stream->began_capture = true;
		stream->is_spoiled = false;
		stream->last_count = 0;
	}
	fake_unlock();
	return begins;
}

struct fake_graph *fake_capture_end(struct fake_stream *stream, bool *is_spoiled)
{
	fake_lock();
	struct fake_graph *graph = stream->began_capture ? stream->capture : NULL;
	*is_spoiled = graph && stream->is_spoiled;
	for (struct fake_stream *other = fake_streams; graph && other; other = other->next)
		if (other->capture == graph) {
			other->capture = NULL;
			other->began_capture = false;
			other->last_count = 0;
		}
	fake_unlock();
	return *is_spoiled ? NULL : graph;
}

void fake_captures_spoil(int device)
{
	fake_lock();
	for (struct fake_stream *stream = fake_streams; stream; stream = stream->next)
		stream->is_spoiled |= stream->device == device && stream->began_capture;
	fake_unlock();
}

struct fake_graph *fake_capture_of(const struct fake_stream *stream, uint64_t *id, uint32_t *last)
{
	fake_lock();
	struct fake_graph *graph = stream->capture;
	if (id)
		*id = stream->capture_id;
	if (last)
		*last = stream->last_count ? stream->last[stream->last_count - 1] : UINT32_MAX;
	fake_unlock();
	return graph;
}

/* ---- executable ones ---- */

struct fake_executable *fake_executable_new(const struct fake_graph *graph)
{
	struct fake_executable *executable = calloc(1, sizeof(*executable));
	fake_lock();
	executable->graph.number = fake_next_number();
	for (uint32_t place = 0; place < graph->count; place++) {
		const struct fake_node *node = graph->nodes[place];
		add(&executable->graph, &node->operation, node->after, node->after_count, node);
	}
	fake_unlock();
	executable->ends = calloc(graph->count + 1, sizeof(uint64_t));
	return executable;
}

void fake_executable_free(struct fake_executable *executable)
{
	free_nodes(&executable->graph);
	free(executable->ends);
	free(executable);
}

static uint64_t end_of_those_before(const struct fake_executable *executable, uint32_t place,
				    uint64_t ready_ns)
{
	const struct fake_node *node = executable->graph.nodes[place];
	for (uint32_t index = 0; index < node->after_count; index++)
		if (executable->ends[node->after[index]] > ready_ns)
			ready_ns = executable->ends[node->after[index]];
	return ready_ns;
}

void fake_executable_run(struct fake_executable *executable, struct fake_stream *stream)
{
	fake_lock();
	uint64_t ready_ns = fake_ready_ns(stream), last_ns = ready_ns;
	struct fake_run whole = {.device = stream->device,
				 .stream = stream->number,
				 .correlation = fake_correlation(),
				 .graph = executable->graph.number,
				 .queued_ns = fake_now_ns()};
	for (uint32_t place = 0; place < executable->graph.count; place++) {
		const struct fake_node *node = executable->graph.nodes[place];
		uint64_t end_ns = fake_run_at(stream, &node->operation,
					      end_of_those_before(executable, place, ready_ns),
					      executable->graph.number, node->id);
		executable->ends[place] = end_ns;
		if (!place)
			whole.start_ns = end_ns - fake_plan_ns(&node->operation, stream->device);
		last_ns = end_ns > last_ns ? end_ns : last_ns;
	}
	stream->end_ns = last_ns;
	whole.end_ns = last_ns;
	fake_table_add_graph(&whole);
	if (fake_listener.graph)
		fake_listener.graph(&whole);
	fake_unlock();
	fake_serial_wait(stream->device, last_ns);
}
