/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of a PyTorch program's graph: the operators that the program calls, without the operators
 * that these call, and autograd nodes, which own the operators that run in them.
 *
 * PyTorch announces each operator with its inputs and outputs to a callback. A node is identified
 * by its module, its operator, and how many of these the iteration has had there, so that it is the
 * same in each iteration; a backward node is identified by its forward node. Edges lead from the
 * operators that wrote the tensors an operator reads (graph_tensor.c), and from a forward node to
 * its backward nodes, by the sequence number.
 */
#include "graph.h"

#include "collect/core/hash.h"
#include "collect/unwind/own_stack.h"

#include <errno.h>
#include <string.h>

enum { DEPTH = 64, COUNTERS = 1 << 14, SEQUENCES = 1 << 16 };
enum { READ_MAX = 12 };
/* Tensors are read in the first iterations, and then in pairs of iterations at this distance. */
enum { WHOLE_FIRST = 32, PAIR_EVERY = 64 };

enum entry_kind { OPERATOR, INNER, BACKWARD };

/* The running operators and backward nodes, outermost first. */
struct entry {
	uintptr_t function; /* an operator's announcement; the stack address of a backward node */
	enum entry_kind kind;
	uint32_t node; /* SN_GRAPH_NONE: no node */
	uint64_t start_ns;
	bool has_tensors;
	uint32_t group;
	uintptr_t read[READ_MAX]; /* storages of its inputs; an output in one of these is a view */
	uint32_t read_count;
};

struct sn_torch_graph {
	uint32_t depth; /* entries beyond DEPTH are only counted */
	struct entry entries[DEPTH];
	struct sn_torch_tensor tensors[SN_TORCH_TENSORS];
};

struct counter {
	_Atomic uint64_t key, iteration_and_count;
};
struct sequence {
	_Atomic uint64_t key;
	_Atomic uint32_t node;
};

static const char *(*name_of)(const void *function);
static struct counter *counters;
static struct sequence *sequences;
static bool is_on, has_tensors;
static _Atomic uint32_t sampled_model = SN_GRAPH_NONE;
static const char *lack;

bool sn_torch_graph_on(void)
{
	return is_on;
}

const char *sn_torch_graph_lack(void)
{
	if (lack)
		return lack;
	return has_tensors && sn_torch_tensors_readable() ? NULL : "edges by sequence number only";
}

/* ---- iterations whose tensors are read ---- */

/* Whether tensors are read in this iteration. Successive iterations form a group. */
static bool is_whole(uint64_t iteration, uint32_t *group)
{
	*group = iteration <= WHOLE_FIRST ? 0 : (uint32_t)(iteration / PAIR_EVERY);
	return sn_config.graph == SN_GRAPH_ALL || iteration <= WHOLE_FIRST ||
	       iteration % PAIR_EVERY < 2;
}

enum sn_torch_wish sn_torch_graph_wish(const struct sn_torch_thread *self, uintptr_t stack)
{
	const struct sn_torch_graph *graph = self ? self->graph : NULL;
	uint32_t depth = graph ? graph->depth : 0, group;
	uint64_t iteration;
	if (!is_on || depth > DEPTH)
		return SN_TORCH_WISH_NOTHING;
	/* a backward node that was left by an exception has a stack address that others use now */
	while (depth && graph->entries[depth - 1].kind == BACKWARD &&
	       graph->entries[depth - 1].function <= stack)
		depth--;
	if (depth && graph->entries[depth - 1].kind != BACKWARD)
		return SN_TORCH_WISH_NOTHING;
	bool is_in_iteration = sn_torch_iteration_now(&iteration);
	/* this operator may begin the next iteration */
	bool wants = (is_in_iteration && is_whole(iteration, &group)) ||
		     (!depth && is_whole(iteration + 1, &group));
	if (has_tensors && wants)
		return SN_TORCH_WISH_TENSORS;
	return depth ? SN_TORCH_WISH_NOTHING : SN_TORCH_WISH_EVENT;
}

/* Decides whether the tensors of a node that runs are read. */
static void choose(struct entry *entry, uint64_t iteration)
{
	uint32_t model = sn_graph_model_of(entry->node);
	entry->has_tensors = is_whole(iteration, &entry->group) || !sn_torch_callbacks_known();
	if (entry->has_tensors ||
	    atomic_load_explicit(&sampled_model, memory_order_relaxed) == model)
		return;
	sn_graph_model_flag(model, SONDE_MODEL_EDGES_SAMPLED);
	atomic_store_explicit(&sampled_model, model, memory_order_relaxed);
}

/* How many operators with this key the iteration has had before. Two keys may share a counter;
 * then, rarely, equal nodes are distinguished. */
static uint32_t count_in_iteration(uint64_t key, uint64_t iteration)
{
	struct counter *counter = counters + key % COUNTERS;
	uint64_t now = atomic_load_explicit(&counter->iteration_and_count, memory_order_relaxed),
		 next;
	do {
		bool is_same = atomic_load_explicit(&counter->key, memory_order_relaxed) == key &&
			       now >> 24 == (iteration & ((1ull << 40) - 1));
		next = is_same ? now + 1 : (iteration << 24) + 1;
	} while (!atomic_compare_exchange_weak_explicit(
	    &counter->iteration_and_count, &now, next, memory_order_relaxed, memory_order_relaxed));
	atomic_store_explicit(&counter->key, key, memory_order_relaxed);
	return (uint32_t)(next & 0xffffff) - 1;
}

static struct entry *top_of(struct sn_torch_graph *graph)
{
	return graph->depth && graph->depth <= DEPTH ? graph->entries + graph->depth - 1 : NULL;
}

static struct entry *push(struct sn_torch_graph *graph, uintptr_t function, enum entry_kind kind)
{
	if (graph->depth++ >= DEPTH)
		return NULL;
	struct entry *entry = graph->entries + graph->depth - 1;
	*entry = (struct entry){.function = function, .kind = kind, .node = SN_GRAPH_NONE};
	return entry;
}

/* ---- edges ---- */

static void add_inputs(struct sn_torch_graph *graph, const void *function, const char *name,
		       struct entry *entry)
{
	uint32_t node = entry->node;
	uint32_t count = sn_torch_inputs(function, name, graph->tensors);
	uint32_t own = sn_graph_model_of(node);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t writer = sn_torch_writer(graph->tensors + i, entry->group);
		if (entry->read_count < READ_MAX)
			entry->read[entry->read_count++] = graph->tensors[i].storage;
		if (writer != SN_GRAPH_NONE && writer != node && sn_graph_model_of(writer) == own)
			sn_graph_edge(writer, node, graph->tensors[i].index, SONDE_EDGE_DATA,
				      graph->tensors[i].bytes, 1);
	}
	/* aten::add_ and its like write their first argument; the lists of aten::_foreach_add_ are
	 * not among the outputs */
	size_t length = strlen(name);
	for (uint32_t i = 0; i < count && length && name[length - 1] == '_'; i++)
		if (graph->tensors[i].index == 0)
			sn_torch_written(graph->tensors + i, node, entry->group, false);
}

static bool is_view(const struct entry *entry, const struct sn_torch_tensor *tensor)
{
	for (uint32_t i = 0; i < entry->read_count; i++)
		if (entry->read[i] == tensor->storage)
			return true;
	return false;
}

static void add_outputs(struct sn_torch_graph *graph, const void *function,
			const struct entry *entry)
{
	uint32_t node = entry->node;
	uint32_t count = sn_torch_outputs(function, graph->tensors);
	for (uint32_t i = 0; i < count; i++)
		sn_torch_written(graph->tensors + i, node, entry->group,
				 is_view(entry, graph->tensors + i));
	if (count)
		sn_graph_set_edges_by(sn_graph_model_of(node), "tensors");
}

/* ---- operators ---- */

/* A separate function, because the file name needs much of the stack, and so does the
 * walk before it. */
static uint32_t __attribute__((noinline))
new_operator(uint32_t model, uint64_t key, const char *name, const struct sn_torch_where *where)
{
	char file[512];
	size_t length = where->file_length < sizeof(file) ? where->file_length : sizeof(file) - 1;
	memcpy(file, where->file, where->file ? length : 0);
	file[length] = 0;
	return sn_graph_node(&(struct sn_graph_new){
	    .model = model,
	    .key = key,
	    .name = name,
	    .type = name,
	    .module = where->module,
	    .file = where->file ? file : NULL,
	    .line = where->line,
	    .parent = SN_GRAPH_NONE,
	});
}

static uint32_t node_of_operator(struct sn_torch_thread *self, const char *name, uint64_t now_ns,
				 uint64_t *iteration)
{
	struct sn_torch_where where;
	uint64_t hash = sn_hash_text(name, strlen(name));
	sn_torch_where(self, &where);
	hash = sn_hash_mix(hash, where.module_hash);
	if (!sn_torch_iteration(self, sn_hash_mix(hash, where.line_hash), now_ns, iteration))
		return SN_GRAPH_NONE;
	uint32_t model = sn_torch_graph_model();
	uint64_t key = sn_hash_mix(hash, count_in_iteration(hash, *iteration));
	uint32_t known = sn_graph_find(model, key);
	return known != SN_GRAPH_NONE || model == SN_GRAPH_NONE
		   ? known
		   : new_operator(model, key, name, &where);
}

static void begin(struct sn_torch_thread *self, const void *function, const char *name)
{
	struct sn_torch_graph *graph = SN_PAGES_ONCE(self->graph);
	if (!graph)
		return;
	struct entry *outer = top_of(graph);
	bool is_inner = graph->depth > DEPTH || (outer && outer->kind != BACKWARD);
	struct entry *entry =
	    push(graph, (uintptr_t)function, is_inner || outer ? INNER : OPERATOR);
	if (!entry || is_inner)
		return;
	uint64_t iteration;
	entry->start_ns = sn_now_ns();
	if (outer) { /* operators in a backward node belong to it */
		entry->node = outer->node;
		entry->has_tensors = outer->has_tensors;
		entry->group = outer->group;
	} else {
		entry->node = node_of_operator(self, name, entry->start_ns, &iteration);
		if (entry->node != SN_GRAPH_NONE)
			choose(entry, iteration);
	}
	if (entry->node != SN_GRAPH_NONE && entry->has_tensors && has_tensors)
		add_inputs(graph, function, name, entry);
}

static void *on_start(void **context, const void *function)
{
	*context = NULL;
	const char *name = name_of(function);
	/* backward.c handles backward nodes */
	if (!name || !strncmp(name, "autograd::engine::", 18))
		return context;
	struct sn_thread *thread = sn_enter();
	struct sn_torch_thread *self = thread ? sn_torch_thread(thread) : NULL;
	if (self)
		begin(self, function, name);
	if (thread)
		sn_leave(thread);
	return context;
}

static void end(struct sn_torch_graph *graph, const void *function)
{
	uint32_t depth = graph->depth < DEPTH ? graph->depth : DEPTH;
	if (graph->depth > DEPTH) {
		graph->depth--;
		return;
	}
	while (depth && graph->entries[depth - 1].function != (uintptr_t)function)
		depth--;
	if (!depth) /* it began before, or in another thread */
		return;
	struct entry *entry = graph->entries + depth - 1;
	if (entry->node != SN_GRAPH_NONE) {
		uint64_t now_ns = entry->kind == OPERATOR ? sn_now_ns() : 0;
		if (entry->has_tensors && has_tensors)
			add_outputs(graph, function, entry);
		if (now_ns)
			sn_graph_executed(entry->node, entry->start_ns, now_ns);
	}
	graph->depth = depth - 1;
}

static void on_end(const void *function, void *context)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	if (self && self->graph)
		end(self->graph, function);
	sn_leave(thread);
}

/* ---- backward nodes ---- */

static uint64_t sequence_key(uint64_t torch_id, uint64_t sequence)
{
	return torch_id << 44 ^ (sequence + 1);
}

void sn_torch_graph_forward(struct sn_torch_thread *self, uint64_t sequence)
{
	struct sn_torch_graph *graph = SN_PAGES_ONCE(self->graph);
	uint32_t depth = graph ? graph->depth : 0;
	if (!depth || !self->torch_id)
		return;
	/* the outermost owner: a node that a checkpoint creates in the backward pass belongs to the
	 * backward node */
	depth = depth < DEPTH ? depth : DEPTH;
	uint32_t node = SN_GRAPH_NONE;
	while (depth-- && node == SN_GRAPH_NONE)
		node = graph->entries[depth].node;
	uint64_t key = sequence_key(self->torch_id, sequence);
	struct sequence *entry =
	    sequences + key * 0x9E3779B97F4A7C15ull / ((~0ull) / SEQUENCES + 1);
	atomic_store_explicit(&entry->key, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->node, node, memory_order_release);
	atomic_store_explicit(&entry->key, key, memory_order_release);
}

static uint32_t forward_of(const struct sn_torch_node *node)
{
	uint64_t key = sequence_key(node->torch_id, node->sequence);
	struct sequence *entry =
	    sequences + key * 0x9E3779B97F4A7C15ull / ((~0ull) / SEQUENCES + 1);
	if (node->sequence == SN_TORCH_NO_SEQUENCE ||
	    atomic_load_explicit(&entry->key, memory_order_acquire) != key)
		return SN_GRAPH_NONE;
	return atomic_load_explicit(&entry->node, memory_order_relaxed);
}

enum { BACKWARD_NAME_BYTES = 256 };

static size_t backward_name_length(const struct sn_torch_node *read)
{
	return read->name_length < BACKWARD_NAME_BYTES ? read->name_length
						       : BACKWARD_NAME_BYTES - 1;
}

struct new_backward {
	const struct sn_torch_node *read;
	uint64_t key;
	uint32_t model, forward;
	uint32_t number; /* the result */
};

static void make_backward(void *argument)
{
	struct new_backward *it = argument;
	char name[BACKWARD_NAME_BYTES], module[512];
	size_t length = backward_name_length(it->read);
	memcpy(name, it->read->name, length);
	name[length] = 0;
	it->number = sn_graph_node(&(struct sn_graph_new){
	    .model = it->model,
	    .key = it->key,
	    .name = name,
	    .type = name,
	    .module = sn_graph_module(it->forward, module, sizeof(module)),
	    .flags = SONDE_NODE_BACKWARD,
	    .parent = SN_GRAPH_NONE,
	});
}

static uint32_t node_of_backward(const struct sn_torch_node *read, uint64_t *iteration)
{
	uint32_t forward = forward_of(read);
	if (!sn_torch_iteration_now(iteration))
		return SN_GRAPH_NONE;
	uint64_t key =
	    sn_hash_mix(sn_hash_text(read->name, backward_name_length(read)), forward + 1ull);
	key = sn_hash_mix(key, count_in_iteration(key, *iteration));
	uint32_t model = sn_torch_graph_model(), known = sn_graph_find(model, key);
	if (known == SN_GRAPH_NONE && model != SN_GRAPH_NONE) {
		struct new_backward fresh = {read, key, model, forward, SN_GRAPH_NONE};
		sn_on_own_stack(make_backward, &fresh);
		known = fresh.number;
	}
	if (known != SN_GRAPH_NONE && forward != SN_GRAPH_NONE &&
	    sn_graph_model_of(forward) == model)
		sn_graph_edge(forward, known, SN_GRAPH_NONE, SONDE_EDGE_SEQUENCE, 0, 1);
	return known;
}

/* Drops nodes that were left by an exception, whose stack is gone. */
static void drop_stale(struct sn_torch_graph *graph, uintptr_t stack)
{
	for (struct entry *top;
	     (top = top_of(graph)) && top->kind == BACKWARD && top->function <= stack;)
		graph->depth--;
}

void sn_torch_graph_backward(struct sn_torch_thread *self, const struct sn_torch_node *node,
			     uintptr_t stack)
{
	struct sn_torch_graph *graph = SN_PAGES_ONCE(self->graph);
	if (!graph)
		return;
	drop_stale(graph, stack);
	struct entry *entry = push(graph, stack, BACKWARD);
	if (!entry)
		return;
	uint64_t iteration;
	entry->node = node_of_backward(node, &iteration);
	if (entry->node != SN_GRAPH_NONE)
		choose(entry, iteration);
	entry->start_ns = sn_now_ns();
}

void sn_torch_graph_backward_end(struct sn_torch_thread *self, uintptr_t stack)
{
	struct sn_torch_graph *graph = self->graph;
	if (!graph)
		return;
	if (graph->depth > DEPTH) {
		graph->depth--;
		return;
	}
	while (graph->depth) {
		const struct entry *top = top_of(graph);
		graph->depth--;
		if (top->kind != BACKWARD || top->function != stack)
			continue;
		if (top->node != SN_GRAPH_NONE)
			sn_graph_executed(top->node, top->start_ns, sn_now_ns());
		return;
	}
}

/* ---- start ---- */

int sn_torch_graph_start(void)
{
	name_of = (const char *(*)(const void *))sn_torch_symbol("_ZNK2at14RecordFunction4nameEv");
	counters = sn_pages_map(COUNTERS * sizeof(*counters));
	sequences = sn_pages_map(SEQUENCES * sizeof(*sequences));
	has_tensors = sn_torch_tensor_init();
	struct sn_torch_callback callback = {.start = on_start,
					     .end = on_end,
					     .sampling_probability = 1.0,
					     .needs_inputs = has_tensors,
					     .needs_outputs = has_tensors};
	callback.scopes[SN_TORCH_SCOPE_FUNCTION] = 1;
	lack = !counters || !sequences			      ? "no memory for a graph"
	       : !name_of || sn_torch_callbacks_add(callback) ? "no graph: it has no callback"
							      : NULL;
	if (lack)
		return -ENOTSUP;
	sn_torch_module_init();
	is_on = true;
	return 0;
}
