/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: captured from streams or built, and run as a whole. */
#include "inside.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

struct fake_executable {
	struct fake_graph graph;
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
		struct fake_node *node = graph->nodes[place];
		if (node->child)
			fake_graph_free(node->child);
		for (uint32_t body = 0; body < node->body_count; body++)
			fake_graph_free(node->bodies[body]);
		free(node->bodies);
		free(node->after);
		free(node);
	}
	free(graph->nodes);
	free(graph->ends);
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
	node->original = original;
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

uint32_t fake_node_place(const struct fake_node *node)
{
	return (uint32_t)node->id - 1;
}

void fake_node_set(const struct fake_node *node, const struct fake_operation *operation)
{
	fake_lock();
	((struct fake_node *)node)->operation = *operation;
	fake_unlock();
}

void fake_graph_connect(struct fake_graph *graph, uint32_t from, uint32_t to)
{
	struct fake_node *node = graph->nodes[to];
	fake_lock();
	node->after = realloc(node->after, (node->after_count + 1) * sizeof(*node->after));
	node->after[node->after_count++] = from;
	fake_unlock();
}

/* Where the node is the graph's last one; `of` makes a body. */
static void copy_bodies(struct fake_graph *graph, const struct fake_node *from,
			struct fake_graph *(*of)(const struct fake_graph *body))
{
	struct fake_node *node = graph->nodes[graph->count - 1];
	if (!from->condition)
		return;
	node->condition = from->condition;
	node->choice = from->choice;
	node->body_count = from->body_count;
	node->bodies = calloc(from->body_count, sizeof(*node->bodies));
	for (uint32_t body = 0; body < from->body_count; body++)
		node->bodies[body] = of(from->bodies[body]);
	graph->has_conditions = true;
}

static struct fake_graph *copy_of(const struct fake_graph *graph)
{
	struct fake_graph *copy = fake_graph_new();
	for (uint32_t place = 0; place < graph->count; place++) {
		const struct fake_node *node = graph->nodes[place];
		add(copy, &node->operation, node->after, node->after_count, node);
		if (node->child)
			copy->nodes[place]->child = copy_of(node->child);
		copy_bodies(copy, node, copy_of);
	}
	return copy;
}

struct fake_graph *fake_graph_copy(const struct fake_graph *graph)
{
	fake_lock();
	struct fake_graph *copy = copy_of(graph);
	fake_unlock();
	return copy;
}

uint32_t fake_graph_add_child(struct fake_graph *graph, const struct fake_graph *child,
			      const uint32_t *after, uint32_t after_count)
{
	struct fake_operation nothing = {.kind = FAKE_EMPTY, .peer = -1};
	fake_lock();
	struct fake_graph *copy = copy_of(child);
	uint32_t place = add(graph, &nothing, after, after_count, NULL);
	graph->nodes[place]->child = copy;
	fake_unlock();
	return place;
}

struct fake_condition *fake_condition_new(uint32_t initial, bool is_reset)
{
	struct fake_condition *condition = calloc(1, sizeof(*condition));
	*condition = (struct fake_condition){initial, initial, is_reset};
	return condition;
}

static struct fake_graph *empty(const struct fake_graph *body)
{
	(void)body;
	return fake_graph_new();
}

uint32_t fake_graph_add_conditional(struct fake_graph *graph, struct fake_condition *condition,
				    enum fake_choice choice, uint32_t bodies, const uint32_t *after,
				    uint32_t after_count)
{
	struct fake_operation nothing = {.kind = FAKE_EMPTY, .peer = -1};
	struct fake_graph *none[bodies];
	struct fake_node like = {
	    .condition = condition, .choice = choice, .bodies = none, .body_count = bodies};
	fake_lock();
	uint32_t place = add(graph, &nothing, after, after_count, NULL);
	copy_bodies(graph, &like, empty);
	fake_unlock();
	return place;
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

/* Each node after those that it depends on. `places` are those in the executable graph, of a child that of the node which ends it. */
static void flatten(struct fake_graph *into, const struct fake_graph *graph, uint32_t *places,
		    uint32_t place, uint32_t begin);

static void flatten_all(struct fake_graph *into, const struct fake_graph *graph, uint32_t *places,
			uint32_t begin)
{
	memset(places, 0xff, graph->count * sizeof(*places));
	for (uint32_t place = 0; place < graph->count; place++)
		flatten(into, graph, places, place, begin);
}

/* Between a node that waits for what is before the child, and one that waits for all of it. */
static void flatten_child(struct fake_graph *into, const struct fake_node *node)
{
	uint32_t *inner = calloc(node->child->count + 1, sizeof(*inner)), begin = into->count - 1;
	struct fake_operation nothing = {.kind = FAKE_EMPTY, .peer = -1};
	flatten_all(into, node->child, inner, begin);
	inner[node->child->count] = begin;
	add(into, &nothing, inner, node->child->count + 1, node);
	free(inner);
}

/* A body stays a graph, which is run when its turn comes. */
static struct fake_graph *instantiated(const struct fake_graph *body);

static void flatten(struct fake_graph *into, const struct fake_graph *graph, uint32_t *places,
		    uint32_t place, uint32_t begin)
{
	const struct fake_node *node = graph->nodes[place];
	if (places[place] != UINT32_MAX)
		return;
	uint32_t *after = malloc((node->after_count + 1) * sizeof(*after)), count = 0;
	for (uint32_t index = 0; index < node->after_count; index++) {
		flatten(into, graph, places, node->after[index], begin);
		after[count++] = places[node->after[index]];
	}
	if (!count && begin != UINT32_MAX)
		after[count++] = begin;
	add(into, &node->operation, after, count, node);
	copy_bodies(into, node, instantiated);
	if (node->child)
		flatten_child(into, node);
	places[place] = into->count - 1;
	free(after);
}

static void instantiate(struct fake_graph *into, const struct fake_graph *graph)
{
	uint32_t *places = malloc((graph->count + 1) * sizeof(*places));
	flatten_all(into, graph, places, UINT32_MAX);
	into->ends = calloc(into->count + 1, sizeof(*into->ends));
	free(places);
}

static struct fake_graph *instantiated(const struct fake_graph *body)
{
	struct fake_graph *into = fake_graph_new();
	instantiate(into, body);
	return into;
}

struct fake_executable *fake_executable_new(const struct fake_graph *graph)
{
	struct fake_executable *executable = calloc(1, sizeof(*executable));
	fake_lock();
	executable->graph.number = fake_next_number();
	instantiate(&executable->graph, graph);
	fake_unlock();
	return executable;
}

static bool is_alike(const struct fake_node *one, const struct fake_node *other)
{
	return !one->condition && !other->condition &&
	       one->operation.kind == other->operation.kind &&
	       one->after_count == other->after_count &&
	       !memcmp(one->after, other->after, one->after_count * sizeof(*one->after));
}

/* Nobody is told of the nodes of the graph that it is compared with: they are no longer there when it is. */
static struct fake_graph *instantiated_unseen(const struct fake_graph *graph)
{
	struct fake_graph *whole = calloc(1, sizeof(*whole));
	void (*node)(const struct fake_node *, const struct fake_node *) = fake_listener.node;
	fake_listener.node = NULL;
	instantiate(whole, graph);
	fake_listener.node = node;
	return whole;
}

bool fake_executable_update(struct fake_executable *executable, const struct fake_graph *graph)
{
	fake_lock();
	struct fake_graph *whole = instantiated_unseen(graph);
	bool is_same = whole->count == executable->graph.count;
	for (uint32_t place = 0; is_same && place < whole->count; place++)
		is_same = is_alike(whole->nodes[place], executable->graph.nodes[place]);
	for (uint32_t place = 0; is_same && place < whole->count; place++)
		executable->graph.nodes[place]->operation = whole->nodes[place]->operation;
	fake_unlock();
	fake_graph_free(whole);
	return is_same;
}

struct fake_node *fake_executable_node(struct fake_executable *executable,
				       const struct fake_node *original)
{
	for (uint32_t place = 0; place < executable->graph.count; place++)
		if (executable->graph.nodes[place]->original == original)
			return executable->graph.nodes[place];
	return NULL;
}

void fake_executable_free(struct fake_executable *executable)
{
	free_nodes(&executable->graph);
	free(executable);
}

static uint64_t end_of_those_before(const struct fake_graph *graph, uint32_t place,
				    uint64_t ready_ns)
{
	const struct fake_node *node = graph->nodes[place];
	for (uint32_t index = 0; index < node->after_count; index++)
		if (graph->ends[node->after[index]] > ready_ns)
			ready_ns = graph->ends[node->after[index]];
	return ready_ns;
}

static uint64_t run_nodes(const struct fake_graph *graph, struct fake_run *whole,
			  struct fake_stream *stream, uint64_t ready_ns);

static uint64_t run_bodies(const struct fake_node *node, struct fake_run *whole,
			   struct fake_stream *stream, uint64_t ready_ns)
{
	struct fake_condition *condition = node->condition;
	uint32_t body = node->choice == FAKE_SWITCH ? condition->value : !condition->value;
	if (node->choice == FAKE_WHILE)
		for (; condition->value; condition->value--)
			ready_ns = run_nodes(node->bodies[0], whole, stream, ready_ns);
	else if (body < node->body_count)
		ready_ns = run_nodes(node->bodies[body], whole, stream, ready_ns);
	return ready_ns;
}

static uint64_t run_node(const struct fake_node *node, struct fake_run *whole,
			 struct fake_stream *stream, uint64_t ready_ns)
{
	const struct fake_operation nothing = {.kind = FAKE_EMPTY, .peer = -1};
	const struct fake_operation *operation = node->is_disabled ? &nothing : &node->operation;
	if (node->condition)
		return run_bodies(node, whole, stream, ready_ns);
	uint64_t end_ns = fake_run_at(stream, operation, ready_ns, whole->graph, node->id);
	if (!whole->start_ns)
		whole->start_ns = end_ns - fake_plan_ns(operation, stream->device);
	return end_ns;
}

/* When all are done. */
static uint64_t run_nodes(const struct fake_graph *graph, struct fake_run *whole,
			  struct fake_stream *stream, uint64_t ready_ns)
{
	uint64_t last_ns = ready_ns;
	for (uint32_t place = 0; place < graph->count; place++) {
		uint64_t end_ns = run_node(graph->nodes[place], whole, stream,
					   end_of_those_before(graph, place, ready_ns));
		graph->ends[place] = end_ns;
		last_ns = end_ns > last_ns ? end_ns : last_ns;
	}
	return last_ns;
}

static void reset_conditions(const struct fake_graph *graph)
{
	for (uint32_t place = 0; graph->has_conditions && place < graph->count; place++) {
		const struct fake_node *node = graph->nodes[place];
		if (node->condition && node->condition->is_reset)
			node->condition->value = node->condition->initial;
		for (uint32_t body = 0; body < node->body_count; body++)
			reset_conditions(node->bodies[body]);
	}
}

void fake_executable_run(struct fake_executable *executable, struct fake_stream *stream)
{
	fake_lock();
	uint64_t ready_ns = fake_ready_ns(stream);
	struct fake_run whole = {.device = stream->device,
				 .stream = stream->number,
				 .correlation = fake_correlation(),
				 .graph = executable->graph.number,
				 .queued_ns = fake_now_ns()};
	reset_conditions(&executable->graph);
	whole.end_ns = run_nodes(&executable->graph, &whole, stream, ready_ns);
	whole.start_ns = whole.start_ns ? whole.start_ns : ready_ns;
	stream->end_ns = whole.end_ns;
	fake_table_add_graph(&whole);
	if (fake_listener.graph)
		fake_listener.graph(&whole);
	fake_unlock();
	fake_serial_wait(stream->device, whole.end_ns);
}
