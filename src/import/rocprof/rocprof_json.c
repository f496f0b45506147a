/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads rocprofv3's JSON: {"rocprofiler-sdk-tool": [{metadata, agents, strings, kernel_symbols,
 * ..., callback_records: {...}, buffer_records: {kernel_dispatch: [...], hip_api: [...], ...}}]}.
 *
 * Elements of arrays are read one by one through a window, so memory holds only the window and the
 * names. In every file the data to which records refer comes before them.
 */
#include "rocprof.h"

#include "base/text.h"
#include "import/json/json_window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP	       "rocprofiler-sdk-tool"
#define NAME_MAX_BYTES 64

struct symbol {
	int64_t id;
	uint32_t name; /* of symbol_names */
	int64_t vector, accumulation, scalar;
};

/* A counter of a device. */
struct counter {
	int64_t handle;
	uint32_t name; /* builder's string */
};

struct count {
	int64_t handle;
	double value;
};

struct agent {
	int64_t handle, number;
	bool is_device;
};

/* A kind of calls, and where the names of its operations begin. */
struct domain {
	uint32_t name, first, count;
};

struct reader {
	struct sn_rocprof *rocprof;
	struct sn_json_window window;
	struct symbol *symbols;
	/* Names of all kernels of the program, of which it may run few; not the builder's
	 * for that reason. */
	struct sn_intern symbol_names;
	bool keeps_names; /* texts are stored there instead of in the builder */
	struct agent *agents;
	struct counter *counters;
	struct count *counts;	  /* of the current dispatch */
	struct domain *domains;	  /* by kind */
	uint32_t *operations;	  /* builder's strings of all domains */
	struct sn_table messages; /* texts of markers, by correlation */
	size_t counter_count, counter_capacity, count_count, count_capacity;
	size_t symbol_count, symbol_capacity, agent_count, agent_capacity, domain_count,
	    domain_capacity, operation_count, operation_capacity;
	int64_t pid;
	char list[NAME_MAX_BYTES]; /* the name of the array being read */
};

/* ---- stepping through the file ---- */

typedef enum sn_json_result step_fn(struct sn_json_parse *parse, void *out);

/* Parses one step; reads more of the file if the window ends within it. */
static int step(struct reader *reader, step_fn *read, void *out, struct sn_error *error)
{
	for (;;) {
		sn_json_window_forget(&reader->window);
		struct sn_json_parse parse = sn_json_parse_begin(&reader->window);
		enum sn_json_result result = read(&parse, out);
		if (result == SN_JSON_DONE) {
			sn_json_parse_end(&parse);
			return 0;
		}
		if (result == SN_JSON_MEMORY)
			return sn_fail_memory(error);
		int more =
		    result == SN_JSON_SHORT ? sn_json_window_more(&reader->window, error) : 0;
		if (more < 0)
			return more;
		if (!more)
			return sn_fail(error, SN_ERR_FORMAT, "'%s' is %s at byte %llu",
				       reader->window.path,
				       result == SN_JSON_SHORT ? "cut off" : "damaged",
				       (unsigned long long)(reader->window.consumed));
	}
}

struct member {
	bool is_first;
	bool is_over;
	char name[NAME_MAX_BYTES];
};

static enum sn_json_result read_member(struct sn_json_parse *parse, void *out)
{
	struct member *member = out;
	struct sn_json_text text;
	bool is_first = member->is_first;
	enum sn_json_result result = sn_json_member(parse, &is_first, &text);
	if (!sn_json_peek(parse) && result == SN_JSON_DONE && text.text)
		return SN_JSON_SHORT;
	if (result)
		return result;
	member->is_first = is_first;
	member->is_over = !text.text;
	size_t length = text.text && text.length < NAME_MAX_BYTES ? text.length : 0;
	memcpy(member->name, text.text ? text.text : "", length);
	member->name[length] = 0;
	return SN_JSON_DONE;
}

static enum sn_json_result read_open(struct sn_json_parse *parse, void *out)
{
	const char *character = out;
	if (!sn_json_peek(parse))
		return parse->at >= parse->end ? SN_JSON_SHORT : SN_JSON_WRONG;
	return sn_json_expect(parse, *character);
}

static enum sn_json_result read_value(struct sn_json_parse *parse, void *out)
{
	return sn_json_value(parse, out);
}

static enum sn_json_result read_peek(struct sn_json_parse *parse, void *out)
{
	*(char *)out = sn_json_peek(parse);
	return *(char *)out ? SN_JSON_DONE
			    : (parse->at >= parse->end ? SN_JSON_SHORT : SN_JSON_WRONG);
}

struct element {
	bool is_first, is_over;
	struct sn_json_value value;
};

static enum sn_json_result read_element(struct sn_json_parse *parse, void *out)
{
	struct element *element = out;
	char next = sn_json_peek(parse);
	enum sn_json_result result;
	if (!next)
		return parse->at >= parse->end ? SN_JSON_SHORT : SN_JSON_WRONG;
	element->is_over = next == ']';
	if (element->is_over)
		return sn_json_expect(parse, ']');
	if (!element->is_first && (result = sn_json_expect(parse, ',')))
		return result;
	result = sn_json_value(parse, &element->value);
	if (!result)
		element->is_first = false;
	return result;
}

typedef int object_fn(struct reader *reader, struct member *member, struct sn_error *error);
typedef int element_fn(struct reader *reader, const struct sn_json_value *value);

/* Calls `read` for the value of each member of the object that begins here. */
static int each_member(struct reader *reader, object_fn *read, struct sn_error *error)
{
	struct member member = {.is_first = true};
	char open = '{';
	int result = step(reader, read_open, &open, error);
	while (!result && !(result = step(reader, read_member, &member, error)) && !member.is_over)
		result = read(reader, &member, error);
	return result;
}

/* Calls `add` for each element of the array that begins here; any other value is skipped. */
static int each_element(struct reader *reader, element_fn *add, struct sn_error *error)
{
	struct element element = {.is_first = true};
	struct sn_json_value other;
	char open = '[', next;
	int result = step(reader, read_peek, &next, error);
	if (!result && next != '[')
		return step(reader, read_value, &other, error);
	if (!result)
		result = step(reader, read_open, &open, error);
	while (!result && !(result = step(reader, read_element, &element, error)) &&
	       !element.is_over) {
		result = add ? add(reader, &element.value) : 0;
		if (result == SN_ERR_FORMAT)
			sn_fail(error, result, "'%s' is damaged before byte %llu",
				reader->window.path, (unsigned long long)reader->window.consumed);
		else if (result)
			sn_fail_memory(error);
	}
	return result;
}

/* ---- values of an element ---- */

/* A number within an element, with its path. */
struct wanted {
	const char *path;
	int64_t *number;
	uint32_t *text; /* or the first text of an array, as the builder's string */
};

static uint32_t keep_text(struct reader *reader, struct sn_json_text text)
{
	return reader->keeps_names
		   ? sn_intern_add(&reader->symbol_names, text.text, text.length)
		   : sn_db_builder_string_n(reader->rocprof->builder, text.text, text.length);
}

static int visit(struct reader *reader, struct sn_json_text object, const char *prefix,
		 const struct wanted *wanted);

static int read_wanted(struct reader *reader, const struct sn_json_value *value, const char *path,
		       const struct wanted *wanted)
{
	if (value->kind == SN_JSON_OTHER && *value->text.text == '{')
		return visit(reader, value->text, path, wanted);
	struct sn_json_text text = value->text;
	bool is_text = value->kind == SN_JSON_TEXT;
	if (value->kind == SN_JSON_OTHER) {
		struct sn_json_parse array = {&reader->window, text.text + 1,
					      text.text + text.length};
		is_text = sn_json_peek(&array) == '"' && !sn_json_text(&array, &text);
	}
	for (; wanted->path; wanted++) {
		if (strcmp(wanted->path, path))
			continue;
		if (wanted->number && value->kind == SN_JSON_INTEGER)
			*wanted->number = value->integer;
		if (wanted->text && is_text)
			*wanted->text = keep_text(reader, text);
	}
	return 0;
}

/* Reads the wanted members of an object. The length of paths limits the depth. */
static int visit(struct reader *reader, struct sn_json_text object, const char *prefix,
		 const struct wanted *wanted)
{
	struct sn_json_parse parse = {&reader->window, object.text, object.text + object.length};
	bool is_first = true;
	if (sn_json_expect(&parse, '{'))
		return SN_ERR_FORMAT;
	for (;;) {
		struct sn_json_text name;
		struct sn_json_value value;
		char path[128];
		if (sn_json_member(&parse, &is_first, &name))
			return SN_ERR_FORMAT;
		if (!name.text)
			return 0;
		if (sn_json_value(&parse, &value))
			return SN_ERR_FORMAT;
		int length = snprintf(path, sizeof(path), "%s%s%.*s", prefix, *prefix ? "." : "",
				      (int)(name.length < 100 ? name.length : 100), name.text);
		if ((size_t)length >= sizeof(path))
			continue;
		int result = read_wanted(reader, &value, path, wanted);
		if (result)
			return result;
	}
}

static int visit_element(struct reader *reader, const struct sn_json_value *value,
			 const struct wanted *wanted)
{
	return value->kind == SN_JSON_OTHER ? visit(reader, value->text, "", wanted)
					    : SN_ERR_FORMAT;
}

/* Starts to parse behind a member's quoted key. False if the object does not have it. */
static bool go_behind(struct reader *reader, const struct sn_json_value *object, const char *key,
		      struct sn_json_parse *parse)
{
	const char *text = object->text.text;
	const char *at = memmem(text, object->text.length, key, strlen(key));
	if (at)
		*parse = (struct sn_json_parse){&reader->window, at + strlen(key),
						text + object->text.length};
	return at && !sn_json_expect(parse, ':');
}

/* Calls `add` for each item of the array behind a quoted key, if there is one; items begin
 * with `begin`. */
static int each_inner(struct reader *reader, const struct sn_json_value *object, const char *key,
		      char begin, element_fn *add)
{
	struct sn_json_parse parse;
	struct sn_json_value item;
	int result = 0;
	if (!go_behind(reader, object, key, &parse))
		return 0;
	if (sn_json_expect(&parse, '['))
		return SN_ERR_FORMAT;
	while (!result && sn_json_peek(&parse) == begin) {
		result = sn_json_value(&parse, &item) ? SN_ERR_FORMAT : add(reader, &item);
		if (!result && sn_json_peek(&parse) == ',')
			sn_json_expect(&parse, ',');
	}
	return result;
}

/* ---- what gives meaning to records ---- */

static int add_agent(struct reader *reader, const struct sn_json_value *value)
{
	struct agent agent = {0};
	int64_t type = 0, node = 0, index = -1;
	uint32_t product = SONDE_NONE, name = SONDE_NONE;
	struct wanted wanted[] = {{"id.handle", &agent.handle, NULL},
				  {"type", &type, NULL},
				  {"node_id", &node, NULL},
				  {"logical_node_type_id", &index, NULL},
				  {"product_name", NULL, &product},
				  {"name", NULL, &name},
				  {0}};
	int result = visit_element(reader, value, wanted);
	if (result)
		return result;
	agent.is_device = type == 2;
	agent.number = index >= 0 ? index : node;
	if (sn_vec_push(&reader->agents, &reader->agent_capacity, &reader->agent_count, agent))
		return SN_ERR_MEMORY;
	if (product == SONDE_NONE)
		product = name;
	if (agent.is_device && product != SONDE_NONE) {
		char key[64], text[256];
		struct sn_db_builder *builder = reader->rocprof->builder;
		snprintf(key, sizeof(key), "rocprofv3.gpu.%lld", (long long)agent.number);
		snprintf(text, sizeof(text), "%s", sn_db_builder_text(builder, product));
		sn_db_builder_property(builder, key, text);
	}
	return 0;
}

/* An agent by its handle, or NULL if it is not listed. */
static const struct agent *agent_of(const struct reader *reader, int64_t handle)
{
	for (size_t i = 0; i < reader->agent_count; i++)
		if (reader->agents[i].handle == handle)
			return reader->agents + i;
	return NULL;
}

static int64_t device_number(const struct reader *reader, int64_t handle)
{
	const struct agent *agent = agent_of(reader, handle);
	return agent ? agent->number : handle;
}

static int add_symbol(struct reader *reader, const struct sn_json_value *value)
{
	struct symbol symbol = {.name = SONDE_NONE};
	uint32_t mangled = SONDE_NONE;
	struct wanted wanted[] = {{"kernel_id", &symbol.id, NULL},
				  {"kernel_name", NULL, &mangled},
				  {"formatted_kernel_name", NULL, &symbol.name},
				  {"arch_vgpr_count", &symbol.vector, NULL},
				  {"accum_vgpr_count", &symbol.accumulation, NULL},
				  {"sgpr_count", &symbol.scalar, NULL},
				  {0}};
	reader->keeps_names = true;
	int result = visit_element(reader, value, wanted);
	reader->keeps_names = false;
	if (result)
		return result;
	if (symbol.name == SONDE_NONE)
		symbol.name = mangled;
	return sn_vec_push(&reader->symbols, &reader->symbol_capacity, &reader->symbol_count,
			   symbol);
}

/* Kernel ids ascend, nearly always by one. */
static const struct symbol *symbol_of(const struct reader *reader, int64_t id)
{
	if (id >= 0 && (size_t)id < reader->symbol_count && reader->symbols[id].id == id)
		return reader->symbols + id;
	for (size_t i = 0; i < reader->symbol_count; i++)
		if (reader->symbols[i].id == id)
			return reader->symbols + i;
	return NULL;
}

static int add_operation(struct reader *reader, const struct sn_json_value *value)
{
	const char *text = value->text.text;
	uint32_t name =
	    sn_db_builder_string_n(reader->rocprof->builder, text ? text : "", value->text.length);
	return sn_vec_push(&reader->operations, &reader->operation_capacity,
			   &reader->operation_count, name);
}

/* {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", ...]} */
static int add_domain(struct reader *reader, const struct sn_json_value *value)
{
	struct domain domain = {.name = SONDE_NONE, .first = (uint32_t)reader->operation_count};
	struct wanted wanted[] = {{"kind", NULL, &domain.name}, {0}};
	int result = visit_element(reader, value, wanted);
	if (result)
		return result;
	result = each_inner(reader, value, "\"operations\"", '"', add_operation);
	domain.count = (uint32_t)reader->operation_count - domain.first;
	return sn_vec_push(&reader->domains, &reader->domain_capacity, &reader->domain_count,
			   domain)
		   ? SN_ERR_MEMORY
		   : result;
}

static int add_message(struct reader *reader, const struct sn_json_value *value)
{
	int64_t key = 0;
	uint32_t text = SONDE_NONE;
	struct wanted wanted[] = {{"key", &key, NULL}, {"value", NULL, &text}, {0}};
	int result = visit_element(reader, value, wanted);
	if (result || text == SONDE_NONE)
		return result;
	return sn_table_put(&reader->messages, (uint64_t)key, text) ? SN_ERR_MEMORY : 0;
}

static int read_strings(struct reader *reader, struct member *member, struct sn_error *error)
{
	if (!strcmp(member->name, "buffer_records"))
		return each_element(reader, add_domain, error);
	return each_element(reader, !strcmp(member->name, "marker_api") ? add_message : NULL,
			    error);
}

static int add_metadata(struct reader *reader, const struct sn_json_value *value)
{
	struct sn_track_sink *sink = reader->rocprof->sink;
	struct sn_db_builder *builder = reader->rocprof->builder;
	uint32_t host = SONDE_NONE, command = SONDE_NONE;
	struct wanted wanted[] = {{"pid", &reader->pid, NULL},
				  {"node.hostname", NULL, &host},
				  {"command", NULL, &command},
				  {0}};
	int result = visit_element(reader, value, wanted);
	if (result)
		return result;
	sn_track_sink_set_pid(sink, reader->pid);
	if (host != SONDE_NONE)
		sn_track_sink_set_host(sink, host);
	if (command != SONDE_NONE) {
		char name[1024];
		snprintf(name, sizeof(name), "%s",
			 sn_text_base_name(sn_db_builder_text(builder, command)));
		sn_track_sink_set_program(sink, sn_db_builder_string(builder, name));
	}
	return 0;
}

/* ---- records ---- */

/* Reads a dispatch; a dispatch with counters has most of its data below "dispatch_data". The name
 * of its kernel is stored in name[size]. */
static int read_dispatch(struct reader *reader, const struct sn_json_value *value, bool is_counted,
			 struct sn_rocprof_activity *activity, char *name, size_t size)
{
#define AT(path) (is_counted ? "dispatch_data." path : path)
	int64_t kernel = -1, stream = -1;
	*activity = (struct sn_rocprof_activity){.bytes = -1, .pid = reader->pid};
	struct wanted wanted[] = {
	    {AT("correlation_id.internal"), &activity->correlation, NULL},
	    {AT("start_timestamp"), &activity->start_ns, NULL},
	    {AT("end_timestamp"), &activity->end_ns, NULL},
	    {"thread_id", &activity->tid, NULL},
	    {"stream_id.handle", &stream, NULL},
	    {AT("dispatch_info.agent_id.handle"), &activity->agent, NULL},
	    {AT("dispatch_info.queue_id.handle"), &activity->queue, NULL},
	    {AT("dispatch_info.kernel_id"), &kernel, NULL},
	    {AT("dispatch_info.dispatch_id"), &activity->dispatch, NULL},
	    {AT("dispatch_info.private_segment_size"), &activity->scratch_bytes, NULL},
	    {AT("dispatch_info.group_segment_size"), &activity->shared_bytes, NULL},
	    {AT("dispatch_info.workgroup_size.x"), &activity->workgroup[0], NULL},
	    {AT("dispatch_info.workgroup_size.y"), &activity->workgroup[1], NULL},
	    {AT("dispatch_info.workgroup_size.z"), &activity->workgroup[2], NULL},
	    {AT("dispatch_info.grid_size.x"), &activity->grid[0], NULL},
	    {AT("dispatch_info.grid_size.y"), &activity->grid[1], NULL},
	    {AT("dispatch_info.grid_size.z"), &activity->grid[2], NULL},
	    {0}};
#undef AT
	int result = visit_element(reader, value, wanted);
	if (result)
		return result;
	const struct symbol *symbol = symbol_of(reader, kernel);
	activity->stream = stream >= 0 ? stream : activity->queue;
	activity->agent = device_number(reader, activity->agent);
	snprintf(name, size, "[unnamed kernel]");
	if (!symbol)
		return 0;
	activity->vector_registers = symbol->vector;
	activity->accumulation_registers = symbol->accumulation;
	activity->scalar_registers = symbol->scalar;
	size_t length = 0;
	const char *text = symbol->name == SONDE_NONE
			       ? NULL
			       : sn_intern_at(&reader->symbol_names, symbol->name, &length);
	if (text)
		snprintf(name, size, "%.*s", (int)length, text);
	return 0;
}

static int add_dispatch(struct reader *reader, const struct sn_json_value *value)
{
	struct sn_rocprof_activity activity;
	char name[4096];
	int result = read_dispatch(reader, value, false, &activity, name, sizeof(name));
	/* dispatches with counters were read before, with these */
	bool is_known = sn_table_find(&reader->rocprof->dispatches, (uint64_t)activity.dispatch) !=
			SN_TABLE_NONE;
	if (result || is_known)
		return result;
	return sn_rocprof_dispatch(reader->rocprof, name, &activity);
}

/* ---- counters of dispatches ---- */

static int add_counter(struct reader *reader, const struct sn_json_value *value)
{
	struct counter counter = {.name = SONDE_NONE};
	struct wanted wanted[] = {
	    {"id.handle", &counter.handle, NULL}, {"name", NULL, &counter.name}, {0}};
	int result = visit_element(reader, value, wanted);
	if (result)
		return result;
	return sn_vec_push(&reader->counters, &reader->counter_capacity, &reader->counter_count,
			   counter);
}

/* Adds {"counter_id": {"handle": 7}, "value": 12.5}, the count of one hardware instance, to the
 * counter's sum. */
static int add_count(struct reader *reader, const struct sn_json_value *value)
{
	int64_t handle = -1;
	struct wanted wanted[] = {{"counter_id.handle", &handle, NULL}, {0}};
	struct sn_json_parse parse;
	struct sn_json_value number;
	if (visit_element(reader, value, wanted) ||
	    !go_behind(reader, value, "\"value\"", &parse) || sn_json_value(&parse, &number))
		return SN_ERR_FORMAT;
	double real = number.kind == SN_JSON_INTEGER ? (double)number.integer
		      : number.kind == SN_JSON_REAL  ? sn_json_real(number.text)
						     : 0;
	for (size_t i = 0; i < reader->count_count; i++)
		if (reader->counts[i].handle == handle) {
			reader->counts[i].value += real;
			return 0;
		}
	return sn_vec_push(&reader->counts, &reader->count_capacity, &reader->count_count,
			   (struct count){handle, real});
}

static void counter_name(const struct reader *reader, int64_t handle, char *name, size_t size)
{
	snprintf(name, size, "counter %lld", (long long)handle);
	for (size_t i = 0; i < reader->counter_count; i++)
		if (reader->counters[i].handle == handle && reader->counters[i].name != SONDE_NONE)
			snprintf(
			    name, size, "%s",
			    sn_db_builder_text(reader->rocprof->builder, reader->counters[i].name));
}

/* A dispatch with its counters: {"dispatch_data": {...}, "records": [...]}. */
static int add_counted(struct reader *reader, const struct sn_json_value *value)
{
	struct sn_rocprof_activity activity;
	char kernel[4096], name[256];
	int result = read_dispatch(reader, value, true, &activity, kernel, sizeof(kernel));
	reader->count_count = 0;
	if (!result)
		result = each_inner(reader, value, "\"records\"", '{', add_count);
	for (size_t i = 0; i < reader->count_count && !result; i++) {
		counter_name(reader, reader->counts[i].handle, name, sizeof(name));
		result = sn_rocprof_counter(reader->rocprof, kernel, name, reader->counts[i].value,
					    &activity);
	}
	return result;
}

struct call {
	struct sn_rocprof_activity activity;
	int64_t kind, operation, source, target;
};

static int read_call(struct reader *reader, const struct sn_json_value *value, struct call *call)
{
	*call = (struct call){.activity = {.bytes = -1, .pid = reader->pid}};
	struct wanted wanted[] = {{"kind", &call->kind, NULL},
				  {"operation", &call->operation, NULL},
				  {"correlation_id.internal", &call->activity.correlation, NULL},
				  {"start_timestamp", &call->activity.start_ns, NULL},
				  {"end_timestamp", &call->activity.end_ns, NULL},
				  {"thread_id", &call->activity.tid, NULL},
				  {"stream_id.handle", &call->activity.stream, NULL},
				  {"src_agent_id.handle", &call->source, NULL},
				  {"dst_agent_id.handle", &call->target, NULL},
				  {"bytes", &call->activity.bytes, NULL},
				  {0}};
	return visit_element(reader, value, wanted);
}

/* Copies the names of a call's domain and operation. */
static void call_names(const struct reader *reader, const struct call *call, char *domain,
		       char *operation, size_t size)
{
	struct sn_db_builder *builder = reader->rocprof->builder;
	snprintf(domain, size, "[unknown]");
	snprintf(operation, size, "%s[%lld]", reader->list, (long long)call->operation);
	if (call->kind < 0 || (size_t)call->kind >= reader->domain_count)
		return;
	const struct domain *found = reader->domains + call->kind;
	if (found->name != SONDE_NONE)
		snprintf(domain, size, "%s", sn_db_builder_text(builder, found->name));
	if (call->operation >= 0 && call->operation < (int64_t)found->count)
		snprintf(operation, size, "%s",
			 sn_db_builder_text(builder,
					    reader->operations[found->first + call->operation]));
}

static int add_call(struct reader *reader, const struct sn_json_value *value)
{
	struct call call;
	char domain[512], operation[512];
	int result = read_call(reader, value, &call);
	if (result)
		return result;
	call_names(reader, &call, domain, operation, sizeof(domain));
	if (!strcmp(reader->list, "memory_copy")) {
		const struct agent *target = agent_of(reader, call.target);
		call.activity.agent =
		    device_number(reader, target && !target->is_device ? call.source : call.target);
		return sn_rocprof_copy(reader->rocprof, operation, &call.activity);
	}
	uint32_t message = sn_table_find(&reader->messages, (uint64_t)call.activity.correlation);
	if (!strcmp(reader->list, "marker_api") && message != SN_TABLE_NONE)
		snprintf(operation, sizeof(operation), "%s",
			 sn_db_builder_text(reader->rocprof->builder, message));
	return sn_rocprof_call(reader->rocprof, sn_rocprof_category(domain), operation,
			       &call.activity);
}

static int add_allocation(struct reader *reader, const struct sn_json_value *value)
{
	struct call call;
	char domain[512], operation[512];
	int64_t bytes = 0, address = 0, queue = 0;
	uint32_t text = SONDE_NONE;
	struct wanted wanted[] = {{"allocation_size", &bytes, NULL},
				  {"address", NULL, &text},
				  {"queue_id.handle", &queue, NULL},
				  {0}};
	int result = read_call(reader, value, &call);
	if (!result)
		result = visit_element(reader, value, wanted);
	if (result)
		return result;
	call_names(reader, &call, domain, operation, sizeof(domain));
	address = queue;
	if (text != SONDE_NONE)
		address =
		    (int64_t)strtoull(sn_db_builder_text(reader->rocprof->builder, text), NULL, 0);
	bool is_release = strstr(operation, "FREE") || strstr(operation, "RECLAIM");
	return sn_rocprof_allocation(reader->rocprof, is_release, address, bytes, &call.activity);
}

static int count_unread(struct reader *reader, const struct sn_json_value *value)
{
	sn_track_sink_unread(reader->rocprof->sink, 1);
	return 0;
}

static int read_records(struct reader *reader, struct member *member, struct sn_error *error)
{
	static const struct {
		const char *name;
		element_fn *add;
	} lists[] = {{"kernel_dispatch", add_dispatch},
		     {"counter_collection", add_counted},
		     {"memory_allocation", add_allocation},
		     {"scratch_memory", add_allocation},
		     {"memory_copy", add_call}};
	element_fn *add = sn_text_ends(member->name, "_api") ? add_call : count_unread;
	snprintf(reader->list, sizeof(reader->list), "%s", member->name);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (!strcmp(lists[i].name, member->name))
			add = lists[i].add;
	return each_element(reader, add, error);
}

static int read_metadata(struct reader *reader, struct sn_error *error)
{
	struct sn_json_value value;
	int result = step(reader, read_value, &value, error);
	return !result && add_metadata(reader, &value)
		   ? sn_fail(error, SN_ERR_FORMAT, "'%s' is damaged: its metadata",
			     reader->window.path)
		   : result;
}

static int read_part(struct reader *reader, struct member *member, struct sn_error *error)
{
	const char *name = member->name;
	if (!strcmp(name, "strings"))
		return each_member(reader, read_strings, error);
	if (!strcmp(name, "buffer_records") || !strcmp(name, "callback_records"))
		return each_member(reader, read_records, error);
	if (!strcmp(name, "metadata"))
		return read_metadata(reader, error);
	return each_element(reader,
			    !strcmp(name, "agents")	      ? add_agent
			    : !strcmp(name, "counters")	      ? add_counter
			    : !strcmp(name, "kernel_symbols") ? add_symbol
							      : NULL,
			    error);
}

static int read_top(struct reader *reader, struct member *member, struct sn_error *error)
{
	char open = '[', next;
	if (strcmp(member->name, TOP))
		return each_element(reader, NULL, error);
	int result = step(reader, read_open, &open, error);
	while (!result && !(result = step(reader, read_peek, &next, error)) && next != ']') {
		if (next == ',') {
			open = ',';
			result = step(reader, read_open, &open, error);
			continue;
		}
		reader->symbol_count = reader->agent_count = reader->domain_count = 0;
		reader->operation_count = reader->counter_count = 0;
		result = each_member(reader, read_part, error);
	}
	open = ']';
	return result ? result : step(reader, read_open, &open, error);
}

int sn_rocprof_read_json(struct sn_rocprof *rocprof, const char *path, struct sn_error *error)
{
	struct reader reader = {.rocprof = rocprof};
	int result = sn_json_window_open(&reader.window, path, error);
	if (!result)
		result = each_member(&reader, read_top, error);
	sn_json_window_close(&reader.window);
	sn_table_release(&reader.messages);
	free(reader.symbols);
	free(reader.agents);
	free(reader.counters);
	free(reader.counts);
	free(reader.domains);
	free(reader.operations);
	sn_intern_release(&reader.symbol_names);
	return result;
}

bool sn_rocprof_is_json(const char *path)
{
	char head[512];
	return sn_json_window_head(path, head, sizeof(head)) > 0 &&
	       strstr(head, "\"" TOP "\"") != NULL;
}
