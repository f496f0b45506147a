/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of the traces of PyTorch's profiler and of other JSON in Chrome's format: events become
 * tracks of threads and streams.
 *
 * Times are "ts" plus the file's baseTimeNanoseconds, if it has one. Arguments become attributes of
 * the same name, except those that only number the events of a file.
 */

#include "base/pool.h"
#include "base/vec.h"
#include "import/core/importer.h"
#include "import/core/activity_category.h"
#include "import/core/stack_frames.h"
#include "import/json/trace_json.h"
#include "import/xplane/xla_details.h"
#include "kineto_process.h"
#include "kineto_xla.h"

#include <stdio.h>
#include <string.h>

/* What is known of an argument of a name and type. */
struct arg {
	bool is_known;
	enum sonde_attribute_type type;
	unsigned role;
	uint32_t key;		/* the writer's */
	enum sn_track_key size; /* of three numbers in brackets: the first's key; SN_TRACK_KEYS */
	uint32_t text;		/* the last value as a string of the builder; SONDE_NONE */
	size_t text_length;
};

struct kineto {
	struct sn_db_builder *builder;
	struct sn_track_sink *sink;
	const uint32_t *keys; /* the sink's */
	unsigned threads;     /* number of parsing threads */
	struct sn_stack_frames frames;
	bool has_frames; /* all frames are known, though they may follow the events in the file */
	struct sn_kineto_processes processes; /* of the file being read */
	struct sn_intern arg_names; /* the type, then the name; numbers index named_args */
	struct arg *named_args;
	size_t named_arg_capacity;
	/* of the file being read: arguments by step number; step 0 has none */
	struct arg *step_args;
	uint64_t arrows, parts;
	const char *path; /* of the file being read */
	bool has_traces;  /* there are execution traces to match */
};

/* ---- reading a file ---- */

static bool is_mtia(const struct sn_json_event *event)
{
	return sn_json_is(event->category, "mtia_ccp_events");
}

/* The GPU of an event of XLA's profiler, which has no category; -1 for any other. */
static int64_t gpu_of(const struct kineto *kineto, const struct sn_json_event *event)
{
	if (event->category.text || event->pid.kind != SN_JSON_INTEGER)
		return -1;
	return sn_xla_device(&kineto->processes, event->pid.integer, kineto->builder);
}

static enum sn_activity_category categorise(const struct kineto *kineto,
					    const struct sn_json_event *event)
{
	if (!event->category.text)
		return sn_xla_category(event, gpu_of(kineto, event), kineto->processes.has_devices);
	enum sn_activity_category category =
	    sn_activity_category(event->category.text, event->category.length);
	return category == SN_ACTIVITY_OTHER && is_mtia(event) && event->name.text
		   ? sn_activity_of_mtia(event->name.text, event->name.length)
		   : category;
}

/* A number for a process or thread: its id, or for a text a number below -1, which
 * no process has. */
static int64_t number_of(struct kineto *kineto, const struct sn_json_value *value)
{
	if (value->kind == SN_JSON_INTEGER)
		return value->integer;
	if (!value->text.text)
		return 0;
	uint32_t text =
	    sn_db_builder_string_n(kineto->builder, value->text.text, value->text.length);
	return -2 - (int64_t)text;
}

/* ---- arguments ---- */

/* How the importer uses an argument itself; most are only passed on. */
enum role {
	PASSED_ON,
	LEFT_OUT, /* it only numbers the file's events, or repeats other data */
	CORRELATION,
	DEVICE,
	CONTEXT,
	STREAM,
	RECORD_FUNCTION, /* left out, unless there are execution traces */
	ROLES,
};

static enum role role_of(struct sn_json_text name)
{
	static const struct {
		const char *name;
		enum role role;
	} known[] = {{"correlation", CORRELATION}, {"device", DEVICE},
		     {"context", CONTEXT},	   {"stream", STREAM},
		     {"Ev Idx", LEFT_OUT},	   {"Record function id", RECORD_FUNCTION},
		     {"Python id", LEFT_OUT},	   {"Python parent id", LEFT_OUT},
		     {"cbid", LEFT_OUT},	   {"cid", LEFT_OUT}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (sn_json_is(name, known[i].name))
			return known[i].role;
	return PASSED_ON;
}

/* Describes an argument of that name and type. Attributes keep their names, except the size
 * "Bytes", which becomes "bytes" as in other formats. */
static struct arg make_arg(struct kineto *kineto, struct sn_json_text name,
			   enum sonde_attribute_type type)
{
	bool is_size = sn_json_is(name, "Bytes") && type == SONDE_ATTRIBUTE_SIGNED;
	return (struct arg){
	    .is_known = true,
	    .type = type,
	    .role = role_of(name),
	    .key =
		sn_track_sink_key(kineto->sink, is_size ? "bytes" : name.text, name.length, type),
	    .size = sn_json_is(name, "grid")	? SN_TRACK_KEY_GRID_X
		    : sn_json_is(name, "block") ? SN_TRACK_KEY_BLOCK_X
						: SN_TRACK_KEYS,
	    .text = SONDE_NONE,
	};
}

/* The description of an argument: by its step, since most come where they did in an earlier event,
 * else by name. Valid until the next call. */
static struct arg *arg_of(struct kineto *kineto, const struct sn_json_arg *read,
			  enum sonde_attribute_type type)
{
	struct arg *arg = kineto->step_args + read->step;
	if (read->step && arg->is_known && arg->type == type)
		return arg;
	char key[64] = {(char)type};
	uint32_t before = kineto->arg_names.count, number = SN_INTERN_NONE;
	if (read->name.length < sizeof(key) &&
	    !sn_vec_reserve(&kineto->named_args, &kineto->named_arg_capacity, before + 1ull)) {
		memcpy(key + 1, read->name.text, read->name.length);
		number = sn_intern_add(&kineto->arg_names, key, read->name.length + 1);
	}
	if (number < before) {
		*arg = kineto->named_args[number];
		return arg;
	}
	*arg = make_arg(kineto, read->name, type);
	if (number == before)
		kineto->named_args[number] = *arg;
	return arg;
}

/* The builder's string for a value; successive events often have the same one. */
static uint32_t text_of(struct kineto *kineto, struct arg *arg, struct sn_json_text text)
{
	struct sn_db_builder *builder = kineto->builder;
	if (arg->text != SONDE_NONE && arg->text_length == text.length &&
	    !memcmp(sn_db_builder_text(builder, arg->text), text.text, text.length))
		return arg->text;
	arg->text_length = text.length;
	return arg->text = sn_db_builder_string_n(builder, text.text, text.length);
}

/* The attributes made from an event's arguments. */
struct attributes {
	struct sn_attribute items[3 * SN_JSON_ARGS_MAX];
	uint16_t count;
};

static void put(struct attributes *attributes, uint32_t key, uint64_t value)
{
	attributes->items[attributes->count++] = (struct sn_attribute){key, 0, value};
}

/* Parses three whole numbers in brackets. */
static bool parse_sizes(struct sn_json_text text, uint64_t *sizes)
{
	const char *at = text.text, *end = at + text.length;
	for (unsigned i = 0; i < 3; i++) {
		while (at < end && (*at == '[' || *at == ',' || *at == ' ' || *at == '\n'))
			at++;
		if (at == end || *at < '0' || *at > '9')
			return false;
		for (sizes[i] = 0; at < end && *at >= '0' && *at <= '9'; at++)
			sizes[i] = 10 * sizes[i] + (uint64_t)(*at - '0');
	}
	return true;
}

/* Adds "[2400, 1, 1]" as three attributes. */
static bool put_sizes(struct kineto *kineto, struct sn_json_text text, enum sn_track_key first,
		      struct attributes *attributes)
{
	uint64_t sizes[3];
	if (first == SN_TRACK_KEYS || !parse_sizes(text, sizes))
		return false;
	for (unsigned i = 0; i < 3; i++)
		put(attributes, kineto->keys[first + i], sizes[i]);
	return true;
}

/* The arguments that determine where an event belongs. */
struct roles {
	int64_t values[ROLES];
	bool is_there[ROLES];
};

static void put_arg(struct kineto *kineto, const struct sn_json_arg *read,
		    struct attributes *attributes, struct roles *roles)
{
	const struct sn_json_value *value = &read->value;
	uint64_t bits = (uint64_t)value->integer;
	enum sonde_attribute_type type = SONDE_ATTRIBUTE_SIGNED;
	if (value->kind == SN_JSON_NONE || !read->name.length)
		return;
	if (value->kind == SN_JSON_REAL) {
		type = SONDE_ATTRIBUTE_REAL;
		double real = sn_json_real(value->text);
		memcpy(&bits, &real, sizeof(bits));
	} else if (value->kind == SN_JSON_TEXT || value->kind == SN_JSON_OTHER) {
		type = SONDE_ATTRIBUTE_STRING;
	}
	struct arg *arg = arg_of(kineto, read, type);
	if (arg->role == RECORD_FUNCTION && kineto->has_traces)
		put(attributes, arg->key, bits);
	if (arg->role != PASSED_ON) {
		roles->is_there[arg->role] = type == SONDE_ATTRIBUTE_SIGNED;
		roles->values[arg->role] = value->integer;
		return;
	}
	if (value->kind == SN_JSON_OTHER && put_sizes(kineto, value->text, arg->size, attributes))
		return;
	if (type == SONDE_ATTRIBUTE_STRING)
		bits = text_of(kineto, arg, value->text);
	if (arg->key != SONDE_NONE && (type != SONDE_ATTRIBUTE_STRING || bits != SONDE_NONE))
		put(attributes, arg->key, bits);
}

static void put_args(struct kineto *kineto, const struct sn_json_event *read,
		     struct attributes *attributes, struct roles *roles)
{
	attributes->count = 0;
	for (size_t i = 0; i < read->arg_count; i++)
		put_arg(kineto, read->args + i, attributes, roles);
}

/* ---- events ---- */

static int64_t role(const struct roles *roles, enum role which, int64_t missing)
{
	return roles->is_there[which] ? roles->values[which] : missing;
}

/* The track of an event's thread; SONDE_NONE without memory. */
static uint32_t thread_of(struct kineto *kineto, const struct sn_json_event *event)
{
	struct sn_track_place place = {0, number_of(kineto, &event->pid),
				       number_of(kineto, &event->tid), 0, 0};
	return sn_track_sink_track(kineto->sink, &place);
}

/* The track of an event's stream. A kernel without device and stream numbers runs on the device and
 * stream that the event's "process" and "thread" are. */
static uint32_t stream_of(struct kineto *kineto, const struct sn_json_event *event,
			  const struct roles *roles)
{
	int64_t pid = number_of(kineto, &event->pid), tid = number_of(kineto, &event->tid);
	int64_t gpu = gpu_of(kineto, event);
	struct sn_track_place place = {1, role(roles, DEVICE, pid < 0 ? 0 : pid),
				       role(roles, CONTEXT, 0),
				       role(roles, STREAM, tid < 0 ? 0 : tid), 0};
	if (gpu >= 0)
		place = (struct sn_track_place){
		    1, gpu, 0, sn_xla_stream(kineto->sink, kineto->builder, pid, tid), 0};
	return sn_track_sink_track(kineto->sink, &place);
}

/* Transfers of Meta's accelerators have direction and size as arguments; the direction is
 * appended to the name. */
static struct sn_json_text name_transfer(struct kineto *kineto, const struct sn_json_event *read,
					 struct attributes *attributes, char *name, size_t size)
{
	const struct sn_json_value *direction = sn_json_find_arg(read, "direction"),
				   *bytes = sn_json_find_arg(read, "size");
	int length = snprintf(name, size, "%.*s %.*s", (int)read->name.length, read->name.text,
			      direction && direction->text.text ? (int)direction->text.length : 0,
			      direction && direction->text.text ? direction->text.text : "");
	if (bytes && bytes->kind == SN_JSON_INTEGER)
		put(attributes, kineto->keys[SN_TRACK_KEY_BYTES], (uint64_t)bytes->integer);
	return (struct sn_json_text){name, (size_t)length < size ? (size_t)length : size - 1};
}

/* Adds the attributes that XLA's profiler writes as texts. */
static void put_xla(struct kineto *kineto, const struct sn_json_event *read,
		    struct attributes *attributes)
{
	if (attributes->count + SN_XLA_DETAILS_MAX <= 3 * SN_JSON_ARGS_MAX)
		attributes->count =
		    (uint16_t)(attributes->count +
			       sn_xla_attributes(read, kineto->keys,
						 attributes->items + attributes->count));
}

/* Converts an event; its attributes are stored in `attributes`. 0 or SN_ERR_MEMORY. */
static int convert_event(struct kineto *kineto, const struct sn_json_event *read,
			 enum sn_activity_category category, struct attributes *attributes,
			 struct sn_track_event *event)
{
	struct roles roles = {{0}, {false}};
	struct sn_json_text text = read->name;
	char transfer[128];
	put_args(kineto, read, attributes, &roles);
	int64_t correlation = role(&roles, CORRELATION, 0);
	event->track = category >= SN_ACTIVITY_KERNEL ? stream_of(kineto, read, &roles)
						      : thread_of(kineto, read);
	if (category == SN_ACTIVITY_COPY && is_mtia(read))
		text = name_transfer(kineto, read, attributes, transfer, sizeof(transfer));
	if (event->track == SONDE_NONE ||
	    sn_track_sink_name(kineto->sink, category, text.text ? text.text : "", text.length,
			       &event->name))
		return SN_ERR_MEMORY;
	if (!read->category.text) {
		correlation = correlation ? correlation : sn_xla_correlation(read);
		if (category >= SN_ACTIVITY_KERNEL)
			put_xla(kineto, read, attributes);
	}
	event->start_ns = event->end_ns = read->time_ns;
	if (read->phase == 'X' && read->has_duration &&
	    __builtin_add_overflow(event->start_ns, read->duration_ns, &event->end_ns))
		event->end_ns = INT64_MAX;
	event->link = correlation > 0 ? (uint64_t)correlation : 0;
	event->attributes = attributes->items;
	event->attribute_count = attributes->count;
	return 0;
}

/* ---- events in two parts ---- */

/* Identifies the begin of an end: by thread, on which pairs nest, or for asynchronous
 * events by id. */
struct pair_key {
	int64_t is_async, first, second, scope;
};

static struct pair_key pair_key(struct kineto *kineto, const struct sn_json_event *read,
				bool is_async)
{
	if (!is_async)
		return (struct pair_key){0, number_of(kineto, &read->pid),
					 number_of(kineto, &read->tid), 0};
	uint32_t category = sn_db_builder_string_n(
	    kineto->builder, read->category.text ? read->category.text : "", read->category.length);
	return (struct pair_key){1, number_of(kineto, &read->id), category,
				 number_of(kineto, &read->scope)};
}

static int add_begin(struct kineto *kineto, const struct sn_json_event *read, bool is_async)
{
	struct attributes attributes;
	struct sn_track_event event;
	enum sn_activity_category category =
	    is_async ? SN_ACTIVITY_RANGE : categorise(kineto, read);
	struct pair_key key = pair_key(kineto, read, is_async);
	if (convert_event(kineto, read, category, &attributes, &event))
		return SN_ERR_MEMORY;
	return sn_track_sink_begin(kineto->sink, &key, sizeof(key), &event);
}

/* An asynchronous id is often unique only within one process, or one name, so begins of those
 * are preferred. */
static int add_end(struct kineto *kineto, const struct sn_json_event *read, bool is_async)
{
	struct attributes attributes;
	struct roles roles = {{0}, {false}};
	struct pair_key key = pair_key(kineto, read, is_async);
	/* ends may have arguments, too */
	put_args(kineto, read, &attributes, &roles);
	struct sn_track_end end = {
	    .key = &key,
	    .key_bytes = sizeof(key),
	    .time_ns = read->time_ns,
	    .attributes = attributes.items,
	    .attribute_count = attributes.count,
	    .is_async = is_async,
	    .pid = number_of(kineto, &read->pid),
	    .name = SONDE_NONE,
	};
	if (is_async && read->name.text)
		end.name =
		    sn_db_builder_string_n(kineto->builder, read->name.text, read->name.length);
	int result = sn_track_sink_end(kineto->sink, &end);
	return result < 0 ? result : 0;
}

/* ---- counters ---- */

/* The metric of a counter: named after the event, or, if the event has several
 * series, after both. */
static uint32_t counter_metric(struct kineto *kineto, const struct sn_json_event *read,
			       struct sn_json_text series)
{
	char name[512];
	bool is_alone = read->arg_count == 1;
	char id[64] = "";
	if (read->id.text.text) /* the id distinguishes counters of one name */
		snprintf(id, sizeof(id), "[%.*s]",
			 (int)(read->id.text.length < 60 ? read->id.text.length : 60),
			 read->id.text.text);
	snprintf(name, sizeof(name), "%.*s%s%s%.*s",
		 (int)(read->name.length < 200 ? read->name.length : 200),
		 read->name.text ? read->name.text : "", id, is_alone ? "" : ".",
		 (int)(is_alone		     ? 0
		       : series.length < 200 ? series.length
					     : 200),
		 series.text);
	return sn_track_sink_metric(kineto->sink, sn_db_builder_string(kineto->builder, name), "1");
}

/* The value of a counter; some programs write it as a text. */
static bool counter_value(const struct sn_json_value *value, bool *is_real, uint64_t *bits)
{
	char text[64], *end;
	double real;
	*is_real = value->kind != SN_JSON_INTEGER;
	*bits = (uint64_t)value->integer;
	if (value->kind == SN_JSON_INTEGER)
		return true;
	if (value->kind == SN_JSON_REAL) {
		real = sn_json_real(value->text);
	} else if (value->kind == SN_JSON_TEXT && value->text.length &&
		   value->text.length < sizeof(text)) {
		snprintf(text, sizeof(text), "%.*s", (int)value->text.length, value->text.text);
		real = strtod(text, &end);
		if (*end)
			return false;
	} else {
		return false;
	}
	memcpy(bits, &real, sizeof(real));
	return true;
}

static int add_counters(struct kineto *kineto, const struct sn_json_event *read)
{
	uint32_t track = thread_of(kineto, read);
	for (size_t i = 0; i < read->arg_count && track != SONDE_NONE; i++) {
		bool is_real;
		uint64_t bits;
		if (counter_value(&read->args[i].value, &is_real, &bits))
			sn_track_sink_counter(kineto->sink, track,
					      counter_metric(kineto, read, read->args[i].name),
					      read->time_ns, is_real, bits);
	}
	return track == SONDE_NONE ? SN_ERR_MEMORY : 0;
}

static int read_frames(void *context, const struct sn_json_member *member)
{
	struct kineto *kineto = context;
	if (!sn_json_is(member->name, "stackFrames") || !member->value.text.text)
		return 0;
	int result = sn_stack_frames_parse(&kineto->frames, member->value.text, kineto->builder);
	return result == SN_ERR_MEMORY ? result : 0;
}

/* Reads the file for its stack frames alone, because most programs write them after the samples.
 * Errors are ignored here; reading the events reports them. */
static int seek_frames(struct kineto *kineto)
{
	struct sn_trace_json_visitor visitor = {.member = read_frames, .context = kineto};
	struct sn_error ignored;
	kineto->has_frames = true;
	int result = sn_trace_json_read(kineto->path, 1, &visitor, &ignored);
	return result == SN_ERR_MEMORY ? result : 0;
}

static int add_sample(struct kineto *kineto, const struct sn_json_event *read)
{
	struct attributes attributes;
	struct roles roles = {{0}, {false}};
	if (!kineto->has_frames && read->stack.text.text && seek_frames(kineto))
		return SN_ERR_MEMORY;
	put_args(kineto, read, &attributes, &roles);
	struct sn_track_event event = {
	    .track = thread_of(kineto, read),
	    .name = sn_stack_frames_context(&kineto->frames, &read->stack, kineto->builder),
	    .start_ns = read->time_ns,
	    .end_ns = read->time_ns,
	    .attributes = attributes.items,
	    .attribute_count = attributes.count,
	};
	if (event.track == SONDE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_sample(kineto->sink, &event);
	return 0;
}

/* Reads names of processes and threads. */
static int read_metadata(struct kineto *kineto, const struct sn_json_event *read)
{
	const struct sn_json_value *name = sn_json_find_arg(read, "name");
	if (!name || name->kind != SN_JSON_TEXT || !name->text.length)
		return 0;
	if (sn_json_is(read->name, "process_name")) {
		struct sn_kineto_process *process =
		    sn_kineto_processes_add(&kineto->processes, number_of(kineto, &read->pid));
		if (!process)
			return SN_ERR_MEMORY;
		process->program =
		    sn_db_builder_string_n(kineto->builder, name->text.text, name->text.length);
		/* the file is from XLA's profiler, with devices */
		kineto->processes.has_devices |= gpu_of(kineto, read) >= 0;
		if (read->pid.kind == SN_JSON_INTEGER)
			sn_track_sink_set_program(kineto->sink, process->program);
	}
	if (!sn_json_is(read->name, "thread_name"))
		return 0;
	/* such records come before or after the events of their thread */
	uint32_t track = thread_of(kineto, read);
	if (track == SONDE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_name_track(
	    kineto->sink, track,
	    sn_db_builder_string_n(kineto->builder, name->text.text, name->text.length));
	return 0;
}

/* Counts flow events that are not read. Those of Kineto and Sonde are not needed, because
 * correlation numbers say the same. */
static void count_arrow(struct kineto *kineto, const struct sn_json_event *event)
{
	static const char *const known[] = {"ac2g", "async_cpu_to_gpu", "async_gpu", "fwdbwd",
					    "forward_backward"};
	/* the first versions of Kineto */
	if (sn_json_is(event->category, "async") && sn_json_is(event->name, "launch"))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (sn_json_is(event->category, known[i]))
			return;
	kineto->arrows++;
}

/* Whether events of this phase must have a time. */
static bool is_timed(char phase)
{
	return phase && strchr("XiInBEbSeFCP", phase);
}

static int read_event(void *context, const struct sn_json_event *event)
{
	struct kineto *kineto = context;
	enum sn_activity_category category = SN_ACTIVITY_INSTANT;
	if (!event->has_time && is_timed(event->phase)) {
		sn_track_sink_untimed(kineto->sink, 1);
		return 0;
	}
	switch (event->phase) {
	case 'X':
		/* the profiler's own event over the whole recording */
		if (sn_json_is(event->category, "Trace"))
			return 0;
		category = categorise(kineto, event);
		break;
	case 'i':
	case 'I':
	case 'n':
		break;
	case 'B':
	case 'b':
	case 'S':
		return add_begin(kineto, event, event->phase != 'B');
	case 'E':
	case 'e':
	case 'F':
		return add_end(kineto, event, event->phase != 'E');
	case 'C':
		return add_counters(kineto, event);
	case 'P':
		return add_sample(kineto, event);
	case 'M':
		return read_metadata(kineto, event);
	case 's':
		count_arrow(kineto, event);
		return 0;
	case 't':
	case 'f':
		return 0;
	case 0: /* an empty object after the last comma */
		sn_track_sink_unread(kineto->sink,
				     event->name.text || event->has_time || event->arg_count);
		return 0;
	default:
		sn_track_sink_unread(kineto->sink, 1);
		return 0;
	}
	struct attributes attributes;
	struct sn_track_event converted;
	int result = convert_event(kineto, event, category, &attributes, &converted);
	if (!result)
		sn_track_sink_event(kineto->sink, &converted);
	return result;
}

/* Finds "rank": 3 in JSON text. */
static bool find_rank(struct sn_json_text text, int32_t *rank)
{
	static const char key[] = "\"rank\"";
	const char *found = memmem(text.text, text.length, key, sizeof(key) - 1);
	if (!found)
		return false;
	const char *at = found + sizeof(key) - 1, *end = text.text + text.length;
	while (at < end && (*at == ' ' || *at == ':'))
		at++;
	*rank = 0;
	if (at == end || *at < '0' || *at > '9')
		return false;
	for (; at < end && *at >= '0' && *at <= '9' && *rank < INT32_MAX / 10; at++)
		*rank = 10 * *rank + (*at - '0');
	return true;
}

static int read_member(void *context, const struct sn_json_member *member)
{
	struct kineto *kineto = context;
	int32_t rank;
	static const char *const kept[] = {"cuda_runtime_version",
					   "cuda_driver_version",
					   "hip_runtime_version",
					   "hip_driver_version",
					   "cupti_version",
					   "roctracer_version",
					   "trace_id",
					   "schemaVersion",
					   "distributedInfo",
					   "deviceProperties"};
	if (sn_json_is(member->name, "baseTimeNanoseconds") &&
	    member->value.kind == SN_JSON_INTEGER) {
		sn_track_sink_set_base(kineto->sink, member->value.integer);
		return 0;
	}
	if (!kineto->has_frames && sn_json_is(member->name, "stackFrames")) {
		kineto->has_frames = true;
		if (read_frames(kineto, member))
			return SN_ERR_MEMORY;
	}
	if ((sn_json_is(member->name, "samples") ||
	     sn_json_is(member->name, "systemTraceEvents")) &&
	    member->value.text.length > 2)
		kineto->parts++;
	if (sn_json_is(member->name, "distributedInfo") && member->value.text.text &&
	    find_rank(member->value.text, &rank))
		sn_track_sink_set_rank(kineto->sink, rank);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		char key[64], value[1024];
		if (!sn_json_is(member->name, kept[i]) || !member->value.text.text)
			continue;
		snprintf(key, sizeof(key), "kineto.%s", kept[i]);
		snprintf(value, sizeof(value), "%.*s",
			 (int)(member->value.text.length < 1000 ? member->value.text.length : 1000),
			 member->value.text.text);
		for (char *at = value; *at; at++) /* keeps it on one line */
			if (*at == '\n' || *at == '\t')
				*at = ' ';
		sn_db_builder_property(kineto->builder, key, value);
	}
	return 0;
}

static int read_file(struct kineto *kineto, const char *path, size_t path_count,
		     struct sn_error *error)
{
	struct sn_trace_json_visitor visitor = {read_event, read_member, kineto};
	kineto->path = path;
	kineto->step_args =
	    calloc(sn_trace_json_steps(kineto->threads), sizeof(*kineto->step_args));
	int result = kineto->step_args ? sn_track_sink_open(kineto->sink, path, error)
				       : sn_fail_memory(error);
	if (!result)
		result = sn_trace_json_read(path, kineto->threads, &visitor, error);
	free(kineto->step_args);
	if (!result && sn_track_sink_close(kineto->sink))
		result = sn_fail_memory(error);
	sn_kineto_processes_apply(&kineto->processes, kineto->sink);
	kineto->has_frames = false;
	sn_stack_frames_release(&kineto->frames);
	return result ? result : sn_track_sink_build(kineto->sink, path_count, error);
}

static void finish(struct kineto *kineto)
{
	sn_track_sink_finish(kineto->sink);
	sn_track_sink_lost(kineto->sink, "import-arrows",
			   "flow events (arrows), which are read only from torch.profiler",
			   kineto->arrows);
	sn_track_sink_lost(kineto->sink, "import-parts",
			   "parts of the file beside its events: samples, system trace",
			   kineto->parts);
}

static int read_inputs(struct kineto *kineto, const struct sn_import_request *request,
		       struct sn_error *error)
{
	size_t files = request->path_count, traces = 0;
	bool *are_traces = calloc(files + 1, sizeof(*are_traces));
	int result = are_traces ? sn_track_sink_make_graph(kineto->sink, request, are_traces, error)
				: sn_fail_memory(error);
	for (size_t i = 0; i < files && !result; i++)
		traces += are_traces[i];
	kineto->has_traces = traces > 0;
	for (size_t i = 0; i < files && !result; i++)
		if (!are_traces[i])
			result = read_file(kineto, request->paths[i], files - traces, error);
	if (!result)
		result = sn_track_sink_finish_graph(kineto->sink, error);
	free(are_traces);
	return result;
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct kineto *kineto = calloc(1, sizeof(*kineto));
	if (kineto)
		kineto->sink = sn_track_sink_new("kineto", builder, request);
	if (!kineto || !kineto->sink) {
		free(kineto);
		return sn_fail_memory(error);
	}
	kineto->builder = builder;
	kineto->keys = sn_track_sink_keys(kineto->sink);
	kineto->threads = sn_pool_threads(request->jobs);
	sn_track_sink_set_program(kineto->sink, sn_db_builder_string(builder, "python"));
	int result = read_inputs(kineto, request, error);
	if (!result)
		finish(kineto);
	sn_track_sink_free(kineto->sink);
	sn_kineto_processes_release(&kineto->processes);
	sn_intern_release(&kineto->arg_names);
	free(kineto->named_args);
	free(kineto);
	return result;
}

static bool probe(const struct sn_import_input *input)
{
	return !input->is_folder && sn_trace_json_probe(input->path);
}

const struct sn_importer sn_importer_kineto = {
    .name = "kineto",
    .probe = probe,
    .read = read_all,
};
