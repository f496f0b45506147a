/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of PyTorch's execution traces (ExecutionTraceObserver, schemas 1.0 and 1.1). A trace has
 * each operator of a part of the program with the operators it calls and the tensors it reads and
 * makes, by number and without times.
 *
 * A file becomes a model with the file's nodes in the order in which they began. An edge leads from
 * the outermost operator that made a tensor and had ended to the outermost operator that reads it;
 * tensors passed between an operator and its callees make no edges. The numbers of nodes ascend as
 * they begin. A node has ended when the next node of its thread begins that it did not call, or the
 * next node of another thread.
 */
#include "execution_trace.h"

#include "base/intern.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/database/database_graph_builder.h"
#include "format/measurement/measurement.h"
#include "import/json/json_window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR_FIELDS = 6, DEPTH_MAX = 8, INPUTS_MAX = 4096, THREADS_MAX = 256 };

/* A tensor that a node reads or makes. */
struct tensor {
	int64_t tensor, storage, offset; /* these three identify it */
	uint64_t bytes;
	uint32_t index;
};

struct node {
	int64_t id, parent, forward, thread;
	int64_t record_function;
	uint32_t name, schema; /* builder's strings */
	bool is_backward, has_ended;
	size_t first_input, input_count, first_output, output_count;
	uint32_t graph_node; /* builder's node */
};

struct sn_execution_trace {
	struct sn_db_builder *builder;
	const char *path;
	struct sn_json_window window;
	struct node *nodes;
	struct tensor *tensors; /* inputs and outputs of all nodes */
	size_t node_count, node_capacity, tensor_count, tensor_capacity;
	int64_t pid;
	bool has_failed; /* out of memory */
};

/* Parses inside a value that was read whole. */
static struct sn_json_parse within(struct sn_execution_trace *reading,
				   const struct sn_json_value *value)
{
	return (struct sn_json_parse){&reading->window, value->text.text,
				      value->text.text + value->text.length};
}

/* ---- tensors ---- */

static void add_tensor(struct sn_execution_trace *reading, const struct sn_json_value *fields,
		       uint32_t index)
{
	uint64_t count = fields[3].integer > 0 ? (uint64_t)fields[3].integer : 0;
	uint64_t size = fields[4].integer > 0 ? (uint64_t)fields[4].integer : 0;
	uint64_t bytes = size && count < (1ull << 48) / size ? count * size : 0;
	if (sn_vec_push(&reading->tensors, &reading->tensor_capacity, &reading->tensor_count,
			(struct tensor){fields[0].integer, fields[1].integer, fields[2].integer,
					bytes, index}))
		reading->has_failed = true;
}

/* A tensor is [number, storage, offset, elements, bytes of each, "device"]; there may be
 * lists of them. */
static void parse_tensors(struct sn_execution_trace *reading, const struct sn_json_value *value,
			  uint32_t index, unsigned depth)
{
	struct sn_json_value fields[TENSOR_FIELDS], field;
	struct sn_json_parse parse = within(reading, value);
	size_t count = 0;
	if (depth == DEPTH_MAX || value->kind != SN_JSON_OTHER || sn_json_expect(&parse, '['))
		return;
	bool are_numbers = true;
	while (sn_json_peek(&parse) && sn_json_peek(&parse) != ']') {
		if ((count && sn_json_expect(&parse, ',')) || sn_json_value(&parse, &field))
			return;
		if (field.kind == SN_JSON_OTHER)
			parse_tensors(reading, &field, depth ? index : (uint32_t)count, depth + 1);
		if (count < TENSOR_FIELDS - 1)
			are_numbers &= field.kind == SN_JSON_INTEGER;
		if (count < TENSOR_FIELDS)
			fields[count] = field;
		if (++count > INPUTS_MAX)
			return;
	}
	/* at depth 0 it is the list of arguments */
	if (depth && count == TENSOR_FIELDS && are_numbers &&
	    fields[TENSOR_FIELDS - 1].kind == SN_JSON_TEXT)
		add_tensor(reading, fields, index);
}

/* In schema 1.1 arguments are an object with values, shapes and types. */
static void parse_arguments(struct sn_execution_trace *reading, const struct sn_json_value *value,
			    size_t *first, size_t *count)
{
	struct sn_json_parse parse = within(reading, value);
	*first = reading->tensor_count;
	if (value->kind == SN_JSON_OTHER && sn_json_peek(&parse) == '{') {
		struct sn_json_text name;
		struct sn_json_value member;
		bool is_first = true;
		if (sn_json_expect(&parse, '{'))
			return;
		while (!sn_json_member(&parse, &is_first, &name) && name.text &&
		       !sn_json_value(&parse, &member))
			if (sn_json_is(name, "values"))
				parse_tensors(reading, &member, 0, 0);
	} else {
		parse_tensors(reading, value, 0, 0);
	}
	*count = reading->tensor_count - *first;
}

/* ---- nodes ---- */

static void parse_member(struct sn_execution_trace *reading, struct node *node,
			 struct sn_json_text name, const struct sn_json_value *value)
{
	static const struct {
		const char *name;
		size_t number; /* the index of its value */
	} known[] = {{"id", offsetof(struct node, id)},
		     {"parent", offsetof(struct node, parent)},
		     {"ctrl_deps", offsetof(struct node, parent)},
		     {"fw_parent", offsetof(struct node, forward)},
		     {"tid", offsetof(struct node, thread)},
		     {"rf_id", offsetof(struct node, record_function)}};
	int64_t number = value->kind == SN_JSON_INTEGER ? value->integer : 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (sn_json_is(name, known[i].name))
			memcpy((char *)node + known[i].number, &number, sizeof(number));
	if (sn_json_is(name, "scope"))
		node->is_backward = number == 1;
	else if (sn_json_is(name, "name") && value->text.text)
		node->name =
		    sn_db_builder_string_n(reading->builder, value->text.text, value->text.length);
	else if (sn_json_is(name, "op_schema") && value->text.text && value->text.length)
		node->schema =
		    sn_db_builder_string_n(reading->builder, value->text.text, value->text.length);
	else if (sn_json_is(name, "inputs"))
		parse_arguments(reading, value, &node->first_input, &node->input_count);
	else if (sn_json_is(name, "outputs"))
		parse_arguments(reading, value, &node->first_output, &node->output_count);
}

/* In schema 1.1 some members are a list of {"name": ..., "value": ...}. */
static void parse_attributes(struct sn_execution_trace *reading, struct node *node,
			     const struct sn_json_value *list)
{
	struct sn_json_parse parse = within(reading, list);
	struct sn_json_value item, member;
	bool is_first_item = true;
	if (list->kind != SN_JSON_OTHER || sn_json_expect(&parse, '['))
		return;
	while (sn_json_peek(&parse) == '{' || sn_json_peek(&parse) == ',') {
		struct sn_json_text name, called = {NULL, 0};
		struct sn_json_value value = {0};
		bool is_first = true;
		if ((!is_first_item && sn_json_expect(&parse, ',')) ||
		    sn_json_value(&parse, &item) || item.kind != SN_JSON_OTHER)
			return;
		is_first_item = false;
		struct sn_json_parse inner = within(reading, &item);
		if (sn_json_expect(&inner, '{'))
			return;
		while (!sn_json_member(&inner, &is_first, &name) && name.text &&
		       !sn_json_value(&inner, &member)) {
			if (sn_json_is(name, "name"))
				called = member.text;
			else if (sn_json_is(name, "value"))
				value = member;
		}
		parse_member(reading, node, called, &value);
	}
}

static void parse_node(struct sn_execution_trace *reading, const struct sn_json_value *value)
{
	struct node node = {.name = SONDE_NONE, .schema = SONDE_NONE, .graph_node = SONDE_NONE};
	struct sn_json_parse parse = within(reading, value);
	struct sn_json_text name;
	struct sn_json_value member;
	bool is_first = true;
	if (value->kind != SN_JSON_OTHER || sn_json_expect(&parse, '{'))
		return;
	while (!sn_json_member(&parse, &is_first, &name) && name.text &&
	       !sn_json_value(&parse, &member)) {
		if (sn_json_is(name, "attrs"))
			parse_attributes(reading, &node, &member);
		else
			parse_member(reading, &node, name, &member);
	}
	if (sn_vec_push(&reading->nodes, &reading->node_capacity, &reading->node_count, node))
		reading->has_failed = true;
}

/* ---- the file ---- */

/* Parses one member of the file, or one element of "nodes". */
static enum sn_json_result step(struct sn_execution_trace *reading, struct sn_json_parse *parse,
				int *state, bool *is_first)
{
	enum { BEGIN, MEMBERS, NODES, END };
	struct sn_json_text name;
	struct sn_json_value value;
	enum sn_json_result result = SN_JSON_DONE;
	bool first = *is_first;
	if (*state == BEGIN) {
		result = sn_json_expect(parse, '{');
		*state = result ? BEGIN : MEMBERS;
		return result;
	}
	if (*state == NODES) {
		char next = sn_json_peek(parse);
		if (next == ']') {
			parse->at++;
			*state = MEMBERS;
			return SN_JSON_DONE;
		}
		if (!first && (result = sn_json_expect(parse, ',')))
			return result;
		if ((result = sn_json_value(parse, &value)))
			return result;
		parse_node(reading, &value);
		*is_first = false;
		return SN_JSON_DONE;
	}
	if (sn_json_peek(parse) == ',' && (result = sn_json_expect(parse, ',')))
		return result;
	first = true;
	if ((result = sn_json_member(parse, &first, &name)))
		return result;
	if (!name.text) {
		*state = END;
		return SN_JSON_DONE;
	}
	if (sn_json_is(name, "nodes")) {
		result = sn_json_expect(parse, '[');
		*state = result ? MEMBERS : NODES;
		*is_first = true;
		return result;
	}
	if ((result = sn_json_value(parse, &value)))
		return result;
	if (sn_json_is(name, "pid") && value.kind == SN_JSON_INTEGER)
		reading->pid = value.integer;
	return SN_JSON_DONE;
}

static int read_nodes(struct sn_execution_trace *reading, struct sn_error *error)
{
	struct sn_json_window *window = &reading->window;
	int state = 0, result = sn_json_window_open(window, reading->path, error);
	bool is_first = true;
	while (!result && state != 3 && !reading->has_failed) {
		if (sn_vec_reserve(&window->scratch, &window->scratch_capacity, window->capacity)) {
			reading->has_failed = true;
			break;
		}
		struct sn_json_parse parse = sn_json_parse_begin(window);
		enum sn_json_result found = step(reading, &parse, &state, &is_first);
		if (found == SN_JSON_DONE) {
			sn_json_parse_end(&parse);
			sn_json_window_forget(window);
		} else if (found == SN_JSON_SHORT) {
			int more = sn_json_window_more(window, error);
			if (!more)
				more =
				    sn_fail(error, SN_ERR_FORMAT,
					    "cannot read '%s': it ends too early", reading->path);
			result = more < 0 ? more : 0;
		} else {
			result = sn_fail(error, SN_ERR_FORMAT,
					 "cannot read '%s': not the JSON of an execution trace",
					 reading->path);
		}
	}
	sn_json_window_close(window);
	return reading->has_failed ? sn_fail_memory(error) : result;
}

/* ---- the graph ---- */

SN_SORT_BY(sort_nodes, struct node, const void *, SN_ORDER(a->id, b->id));

static struct node *find_node(const struct sn_execution_trace *reading, int64_t id)
{
	size_t at = sn_search(i, reading->node_count, reading->nodes[i].id < id);
	return at < reading->node_count && reading->nodes[at].id == id ? reading->nodes + at : NULL;
}

/* The open nodes of a thread, outermost first. */
struct thread {
	int64_t number;
	struct node **open;
	size_t count, capacity;
};

struct joining {
	struct sn_execution_trace *reading;
	struct thread threads[THREADS_MAX];
	unsigned thread_count;
	struct sn_intern names; /* of tensors: the first three members of struct tensor */
	uint32_t *makers;	/* the node that made each tensor last */
	size_t maker_capacity;
};

static uint32_t tensor_number(struct joining *joining, const struct tensor *tensor)
{
	int64_t key[3] = {tensor->tensor, tensor->storage, tensor->offset};
	uint32_t before = joining->names.count;
	uint32_t number = sn_intern_add(&joining->names, key, sizeof(key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&joining->makers, &joining->maker_capacity, number + 1ull) < 0) {
		joining->reading->has_failed = true;
		return SONDE_NONE;
	}
	if (number == before)
		joining->makers[number] = SONDE_NONE;
	return number;
}

static void end_node(struct joining *joining, struct node *node)
{
	if (node->has_ended)
		return;
	node->has_ended = true;
	const struct tensor *tensors = joining->reading->tensors + node->first_output;
	for (size_t i = 0; i < node->output_count && node->graph_node != SONDE_NONE; i++) {
		uint32_t number = tensor_number(joining, tensors + i);
		if (number != SONDE_NONE)
			joining->makers[number] = node->graph_node;
	}
}

static bool reads(const struct sn_execution_trace *reading, const struct node *node,
		  const struct tensor *tensor)
{
	const struct tensor *tensors = reading->tensors + node->first_input;
	for (size_t i = 0; i < node->input_count; i++)
		if (tensors[i].tensor == tensor->tensor && tensors[i].storage == tensor->storage &&
		    tensors[i].offset == tensor->offset)
			return true;
	return false;
}

static void begin_node(struct joining *joining, struct thread *thread, struct node *node)
{
	struct sn_execution_trace *reading = joining->reading;
	const struct node *caller = thread->count ? thread->open[thread->count - 1] : NULL;
	for (size_t i = 0; i < node->input_count && !reading->has_failed; i++) {
		const struct tensor *tensor = reading->tensors + node->first_input + i;
		uint32_t number = tensor_number(joining, tensor);
		uint32_t maker = number == SONDE_NONE ? SONDE_NONE : joining->makers[number];
		if (maker == SONDE_NONE || maker == node->graph_node ||
		    (caller && reads(reading, caller, tensor)))
			continue;
		sn_db_builder_graph_edge(reading->builder,
					 &(struct sonde_graph_edge){.from = maker,
								    .to = node->graph_node,
								    .index = tensor->index,
								    .kind = SONDE_EDGE_DATA,
								    .bytes = tensor->bytes,
								    .count = 1});
	}
	if (sn_vec_push(&thread->open, &thread->capacity, &thread->count, node))
		reading->has_failed = true;
}

/* When another thread continues, the nodes open on this one count as ended. */
static void hand_over(struct joining *joining, const struct thread *thread)
{
	for (size_t i = thread->count; i--;)
		end_node(joining, thread->open[i]);
}

static struct thread *thread_of(struct joining *joining, int64_t number)
{
	for (unsigned i = 0; i < joining->thread_count; i++)
		if (joining->threads[i].number == number)
			return joining->threads + i;
	if (joining->thread_count == THREADS_MAX)
		return joining->threads; /* some edges between threads will be missing */
	joining->threads[joining->thread_count].number = number;
	return joining->threads + joining->thread_count++;
}

static bool is_operator(const struct sn_execution_trace *reading, const struct node *node)
{
	return node->name != SONDE_NONE &&
	       strncmp(sn_db_builder_text(reading->builder, node->name), "[pytorch|", 9) != 0;
}

static void add_node(struct sn_execution_trace *reading, uint32_t model, struct node *node)
{
	struct sonde_graph_node created = SN_GRAPH_NODE;
	const struct node *parent = find_node(reading, node->parent);
	created.model = model;
	created.name = created.type = node->name;
	created.detail = node->schema;
	created.id = (uint64_t)node->id;
	created.flags = node->is_backward ? SONDE_NODE_BACKWARD : 0;
	/* numbers ascend, so a caller comes before its callees */
	if (parent && parent < node)
		created.parent = parent->graph_node;
	node->graph_node = sn_db_builder_graph_node(reading->builder, &created);
}

static int join(struct joining *joining)
{
	struct sn_execution_trace *reading = joining->reading;
	const struct thread *last = NULL;
	for (size_t i = 0; i < reading->node_count && !reading->has_failed; i++) {
		struct node *node = reading->nodes + i;
		struct thread *thread = thread_of(joining, node->thread);
		if (node->graph_node == SONDE_NONE)
			continue;
		if (last && last != thread)
			hand_over(joining, last);
		last = thread;
		while (thread->count && thread->open[thread->count - 1]->id != node->parent)
			end_node(joining, thread->open[--thread->count]);
		begin_node(joining, thread, node);
		const struct node *forward =
		    node->forward ? find_node(reading, node->forward) : NULL;
		if (forward && forward->graph_node != SONDE_NONE &&
		    forward->graph_node != node->graph_node)
			sn_db_builder_graph_edge(reading->builder, &(struct sonde_graph_edge){
								       .from = forward->graph_node,
								       .to = node->graph_node,
								       .index = SONDE_NONE,
								       .kind = SONDE_EDGE_SEQUENCE,
								       .count = 1});
	}
	for (unsigned i = 0; i < joining->thread_count; i++)
		free(joining->threads[i].open);
	sn_intern_release(&joining->names);
	free(joining->makers);
	return reading->has_failed ? SN_ERR_MEMORY : 0;
}

int sn_execution_trace_make(struct sn_execution_trace *reading, const char *source, int32_t rank,
			    uint32_t run, struct sn_error *error)
{
	struct sonde_graph_model model = SN_GRAPH_MODEL;
	model.name = sn_db_builder_string(reading->builder, sn_text_base_name(reading->path));
	model.source = sn_db_builder_string(reading->builder, source);
	model.edges_by = sn_db_builder_string(reading->builder, "tensors");
	model.program = sn_db_builder_string(reading->builder, "python");
	model.pid = (uint64_t)reading->pid;
	model.rank = rank;
	model.run = run;
	uint32_t model_number = sn_db_builder_graph_model(reading->builder, &model);
	for (size_t i = 0; i < reading->node_count; i++)
		if (is_operator(reading, reading->nodes + i))
			add_node(reading, model_number, reading->nodes + i);
	struct joining *joining = calloc(1, sizeof(*joining));
	if (!joining)
		return sn_fail_memory(error);
	joining->reading = reading;
	int result = join(joining);
	free(joining);
	return result ? sn_fail_memory(error) : 0;
}

int sn_execution_trace_open(const char *path, struct sn_db_builder *builder,
			    struct sn_execution_trace **trace, struct sn_error *error)
{
	struct sn_execution_trace *reading = calloc(1, sizeof(*reading));
	if (!reading)
		return sn_fail_memory(error);
	reading->builder = builder;
	reading->path = path;
	int result = read_nodes(reading, error);
	if (result) {
		sn_execution_trace_close(reading);
		return result;
	}
	sort_nodes(reading->nodes, reading->node_count, NULL);
	*trace = reading;
	return 0;
}

void sn_execution_trace_close(struct sn_execution_trace *trace)
{
	if (!trace)
		return;
	free(trace->nodes);
	free(trace->tensors);
	free(trace);
}

int64_t sn_execution_trace_pid(const struct sn_execution_trace *trace)
{
	return trace->pid;
}

size_t sn_execution_trace_count(const struct sn_execution_trace *trace)
{
	return trace->node_count;
}

struct sn_execution_node sn_execution_trace_node(const struct sn_execution_trace *trace, size_t i)
{
	const struct node *node = trace->nodes + i;
	return (struct sn_execution_node){.record_function = node->record_function,
					  .thread = node->thread,
					  .name =
					      is_operator(trace, node) ? node->name : SONDE_NONE,
					  .graph_node = node->graph_node};
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	int result = 0;
	for (size_t i = 0; i < request->path_count && !result; i++) {
		struct sn_execution_trace *trace;
		result = sn_execution_trace_open(request->paths[i], builder, &trace, error);
		if (result)
			break;
		result = sn_execution_trace_make(trace, "execution trace", -1, (uint32_t)i, error);
		sn_execution_trace_close(trace);
	}
	sn_db_builder_set_root(builder,
			       sn_db_builder_named_frame(builder, SN_FRAME_THREAD, "python"));
	sn_db_builder_property(builder, "program", "python");
	return result;
}

bool sn_execution_trace_probe(const char *path)
{
	char head[SN_IMPORT_HEAD_BYTES];
	return sn_json_window_head(path, head, sizeof(head)) > 0 &&
	       head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"schema\"") &&
	       strstr(head, "\"nodes\"") && !strstr(head, "\"traceEvents\"");
}

static bool probe(const struct sn_import_input *input)
{
	return !input->is_folder && sn_execution_trace_probe(input->path);
}

const struct sn_importer sn_importer_execution_trace = {
    .name = "execution_trace",
    .probe = probe,
    .read = read_all,
};
