/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of PyTorch profiler traces: from JSON to threads and streams; see recording.h.
 *
 * Times are "ts" plus the file's baseTimeNanoseconds, if it has one. Arguments become attributes
 * under their own names, but for those that only number the events of a file.
 */

#include "format/measurement/measurement.h"
#include "import/core/importer.h"
#include "import/core/activity_category.h"
#include "import/core/begin_end.h"
#include "kineto_process.h"
#include "kineto_xla.h"
#include "import/xplane/xla_details.h"
#include "import/core/recording_dataflow.h"
#include "import/core/stack_frames.h"
#include "import/json/trace_json.h"

#include <stdio.h>
#include <string.h>

/* What an argument is, by its name and type. */
struct arg {
	bool is_known;
	enum sonde_attribute_type type;
	unsigned role;
	uint32_t key;		    /* the writer's */
	enum sn_recording_key size; /* the first of three in brackets; SN_RECORDING_KEYS: none */
	uint32_t text;		    /* builder's string: its last value; or SONDE_NONE */
	size_t text_length;
};

struct known_arg {
	char name[40];
	size_t length;
	struct arg arg;
};
#define KNOWN_ARGS  256
#define KNOWN_STEPS 4

struct kineto {
	struct sn_recording recording;
	struct sn_stack_frames frames;
	bool has_frames; /* all of the file's, though they may come behind its events */
	struct sn_kineto_processes processes; /* of the file being read */
	struct known_arg args[KNOWN_ARGS];    /* those met lately, by a hash of the name */
	/* of the file being read, by where in its events an argument is; 0: it is not known */
	struct arg step_args[SN_JSON_STEPS_MAX];
	struct sn_begins pairs; /* of the file being read */
	uint64_t unpaired, unended, arrows, parts;
	bool has_traces; /* execution traces are to be matched */
};

/* ---- reading a file ---- */

static bool is_text(struct sn_json_text text, const char *other)
{
	return text.length == strlen(other) && !memcmp(text.text, other, text.length);
}

static bool is_mtia(const struct sn_json_event *event)
{
	return event->category.text && is_text(event->category, "mtia_ccp_events");
}

/* Of XLA's events, which have no category; -1. */
static int64_t gpu_of(const struct kineto *kineto, const struct sn_json_event *event)
{
	if (event->category.text || event->pid.kind != SN_JSON_INTEGER)
		return -1;
	return sn_xla_device(&kineto->processes, event->pid.integer, kineto->recording.builder);
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

/* A process or thread as one number: its own, or for a text one that no process has. */
static int64_t number_of(struct kineto *kineto, const struct sn_json_value *value)
{
	if (value->kind == SN_JSON_INTEGER)
		return value->integer;
	if (!value->text.text)
		return 0;
	uint32_t text =
	    sn_db_builder_string_n(kineto->recording.builder, value->text.text, value->text.length);
	return -2 - (int64_t)text;
}

static const struct sn_json_value *find_arg(const struct sn_json_event *event, const char *name)
{
	for (size_t i = 0; i < event->arg_count; i++)
		if (is_text(event->args[i].name, name))
			return &event->args[i].value;
	return NULL;
}

/* ---- arguments ---- */

/* What an argument is to the importer itself; most are only passed on. */
enum role {
	PASSED_ON,
	LEFT_OUT, /* it only numbers the events of one file, or is said otherwise */
	CORRELATION,
	DEVICE,
	CONTEXT,
	STREAM,
	RECORD_FUNCTION, /* left out as well, but for execution traces */
	ROLES,
};

static enum role role_of(const char *name, size_t length)
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
		if (is_text((struct sn_json_text){name, length}, known[i].name))
			return known[i].role;
	return PASSED_ON;
}

/* The attribute for an argument: its own name, but that a size of memory is "Bytes" of an
 * allocation and "bytes" of a copy. */
static uint32_t make_key(struct kineto *kineto, const char *name, size_t length,
			 enum sonde_attribute_type type)
{
	if (length == 5 && !memcmp(name, "Bytes", 5) && type == SONDE_ATTRIBUTE_SIGNED)
		name = "bytes";
	return sn_recording_attribute_key(&kineto->recording, name, length, type);
}

static enum sn_recording_key size_of(const char *name, size_t length)
{
	struct sn_json_text text = {name, length};
	return is_text(text, "grid")	? SN_RECORDING_KEY_GRID_X
	       : is_text(text, "block") ? SN_RECORDING_KEY_BLOCK_X
					: SN_RECORDING_KEYS;
}

/* What is known of an argument of that name and type. */
static struct arg arg_of(struct kineto *kineto, const char *name, size_t length,
			 enum sonde_attribute_type type)
{
	unsigned hash = (unsigned)(length * 7 + (unsigned char)name[0] +
				   3 * (unsigned char)name[length / 2] + 61 * (unsigned)type);
	struct known_arg *known = kineto->args + hash % KNOWN_ARGS;
	/* who comes to another's place goes on to the next few */
	for (unsigned i = 0; i < KNOWN_STEPS && known->arg.is_known; i++) {
		if (known->length == length && known->arg.type == type &&
		    !memcmp(known->name, name, length))
			return known->arg;
		known = kineto->args + (hash + i + 1) % KNOWN_ARGS;
	}
	struct arg made = {
	    .is_known = true,
	    .type = type,
	    .role = role_of(name, length),
	    .key = make_key(kineto, name, length, type),
	    .size = size_of(name, length),
	    .text = SONDE_NONE,
	};
	if (length && length <= sizeof(known->name)) {
		known->length = length;
		memcpy(known->name, name, length);
		known->arg = made;
	}
	return made;
}

/* The same of one that was read: most are where they were in an event before. */
static struct arg *known_arg(struct kineto *kineto, const struct sn_json_arg *read,
			     enum sonde_attribute_type type)
{
	struct arg *arg = kineto->step_args + read->step;
	if (!read->step || !arg->is_known || arg->type != type)
		*arg = arg_of(kineto, read->name.text, read->name.length, type);
	return arg;
}

/* The builder's string for a value: many arguments have the same in event after event. */
static uint32_t text_of(struct kineto *kineto, struct arg *arg, struct sn_json_text text)
{
	struct sn_db_builder *builder = kineto->recording.builder;
	if (arg->text != SONDE_NONE && arg->text_length == text.length &&
	    !memcmp(sn_db_builder_text(builder, arg->text), text.text, text.length))
		return arg->text;
	arg->text_length = text.length;
	return arg->text = sn_db_builder_string_n(builder, text.text, text.length);
}

struct attributes {
	struct sn_attribute items[3 * SN_JSON_ARGS_MAX];
	uint16_t count;
};

static void put(struct attributes *attributes, uint32_t key, uint64_t value)
{
	attributes->items[attributes->count++] = (struct sn_attribute){key, 0, value};
}

/* Three whole numbers in brackets. */
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

/* "[2400, 1, 1]" as three attributes. */
static bool put_sizes(struct kineto *kineto, struct sn_json_text text, enum sn_recording_key first,
		      struct attributes *attributes)
{
	uint64_t sizes[3];
	if (first == SN_RECORDING_KEYS || !parse_sizes(text, sizes))
		return false;
	for (unsigned i = 0; i < 3; i++)
		put(attributes, kineto->recording.keys[first + i], sizes[i]);
	return true;
}

/* What of the arguments places the event. */
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
	struct arg *arg = known_arg(kineto, read, type);
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

/* ---- events ---- */

static int64_t role(const struct roles *roles, enum role which, int64_t missing)
{
	return roles->is_there[which] ? roles->values[which] : missing;
}

/* The thread or stream an event belongs to. Where a kernel does not say its device and stream, the
 * trace's "process" and "thread" do. */
static struct sn_recording_line *line_of_event(struct kineto *kineto,
					       const struct sn_json_event *event,
					       enum sn_activity_category category,
					       const struct roles *roles)
{
	int64_t pid = number_of(kineto, &event->pid), tid = number_of(kineto, &event->tid);
	struct sn_recording_place key = {0, pid, tid, 0, 0};
	if (category >= SN_ACTIVITY_KERNEL)
		key = (struct sn_recording_place){1, role(roles, DEVICE, pid < 0 ? 0 : pid),
						  role(roles, CONTEXT, 0),
						  role(roles, STREAM, tid < 0 ? 0 : tid), 0};
	int64_t gpu = category >= SN_ACTIVITY_KERNEL ? gpu_of(kineto, event) : -1;
	if (gpu >= 0)
		key = (struct sn_recording_place){
		    1, gpu, 0, sn_xla_stream(&kineto->recording, pid, tid, tid), 0};
	return sn_recording_line(&kineto->recording, &key);
}

/* Transfers of Meta's accelerators tell direction and size apart: the name gets the direction. */
static struct sn_json_text name_transfer(struct kineto *kineto, const struct sn_json_event *read,
					 struct attributes *attributes, char *name, size_t size)
{
	const struct sn_json_value *way = find_arg(read, "direction"),
				   *bytes = find_arg(read, "size");
	int length = snprintf(name, size, "%.*s %.*s", (int)read->name.length, read->name.text,
			      way && way->text.text ? (int)way->text.length : 0,
			      way && way->text.text ? way->text.text : "");
	if (bytes && bytes->kind == SN_JSON_INTEGER)
		put(attributes, kineto->recording.keys[SN_RECORDING_KEY_BYTES],
		    (uint64_t)bytes->integer);
	return (struct sn_json_text){name, (size_t)length < size ? (size_t)length : size - 1};
}

/* An event and its line out of what was read. 1; 0: it has no valid time and is counted; or
 * SN_ERR_MEMORY. */
static int make_event(struct kineto *kineto, const struct sn_json_event *read,
		      enum sn_activity_category category, struct attributes *attributes,
		      struct sn_event *event, struct sn_recording_line **line)
{
	int64_t start = read->time_ns + SN_RECORDING_BIAS_NS;
	int64_t length = read->phase == 'X' && read->has_duration ? read->duration_ns : 0;
	struct roles roles = {{0}, {false}};
	attributes->count = 0;
	if (!read->has_time || read->time_ns < -SN_RECORDING_BIAS_NS ||
	    read->time_ns > SN_RECORDING_BIAS_NS || length < 0) {
		kineto->recording.misplaced++;
		return 0;
	}
	for (size_t i = 0; i < read->arg_count; i++)
		put_arg(kineto, read->args + i, attributes, &roles);
	*line = line_of_event(kineto, read, category, &roles);
	uint32_t name;
	char transfer[128];
	struct sn_json_text text = read->name;
	if (category == SN_ACTIVITY_COPY && is_mtia(read))
		text = name_transfer(kineto, read, attributes, transfer, sizeof(transfer));
	if (!*line || sn_recording_name_number(&kineto->recording, category,
					       text.text ? text.text : "", text.length, &name))
		return SN_ERR_MEMORY;
	int64_t correlation = role(&roles, CORRELATION, 0);
	if (!read->category.text) {
		correlation = correlation ? correlation : sn_xla_correlation(read);
		if (category >= SN_ACTIVITY_KERNEL &&
		    attributes->count + SN_XLA_DETAILS_MAX <= 3 * SN_JSON_ARGS_MAX)
			attributes->count =
			    (uint16_t)(attributes->count +
				       sn_xla_attributes(read, kineto->recording.keys,
							 attributes->items + attributes->count));
	}
	*event = (struct sn_event){
	    .start_ns = (uint64_t)start,
	    .end_ns = (uint64_t)(start + length),
	    .link = correlation > 0 ? (uint64_t)correlation : 0,
	    .context = name,
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_INTERVALS,
	    .attribute_count = attributes->count,
	    .attributes = attributes->items,
	};
	return 1;
}

static int take_event(struct kineto *kineto, const struct sn_json_event *read,
		      enum sn_activity_category category)
{
	struct attributes attributes;
	struct sn_recording_line *line;
	struct sn_event event;
	int made = make_event(kineto, read, category, &attributes, &event, &line);
	if (made > 0)
		sn_recording_add(&kineto->recording, line, &event);
	if (made > 0 && category == SN_ACTIVITY_ANNOTATION && read->name.length > 13 &&
	    !memcmp(read->name.text, "ProfilerStep#", 13) &&
	    sn_dataflow_step(kineto->recording.dataflow, event.start_ns, event.end_ns))
		return SN_ERR_MEMORY;
	return made < 0 ? made : 0;
}

/* ---- events in two parts ---- */

/* What begin and end have in common: on a thread they nest, elsewhere they have an id. */
struct pair_key {
	int64_t is_async, first, second, scope;
};

static struct pair_key pair_key(struct kineto *kineto, const struct sn_json_event *read,
				bool is_async)
{
	if (!is_async)
		return (struct pair_key){0, number_of(kineto, &read->pid),
					 number_of(kineto, &read->tid), 0};
	uint32_t category = sn_db_builder_string_n(kineto->recording.builder,
						   read->category.text ? read->category.text : "",
						   read->category.length);
	return (struct pair_key){1, number_of(kineto, &read->id), category,
				 number_of(kineto, &read->scope)};
}

static int take_begin(struct kineto *kineto, const struct sn_json_event *read, bool is_async)
{
	struct attributes attributes;
	struct sn_recording_line *line;
	struct sn_event event;
	enum sn_activity_category category =
	    is_async ? SN_ACTIVITY_RANGE : categorise(kineto, read);
	struct pair_key key = pair_key(kineto, read, is_async);
	int made = make_event(kineto, read, category, &attributes, &event, &line);
	if (made <= 0)
		return made;
	return sn_begins_begin(&kineto->pairs, &key, sizeof(key), &event,
			       (uint32_t)(line - kineto->recording.lines));
}

static void add_pair(struct kineto *kineto, struct sn_begin *pair, uint64_t end_ns)
{
	pair->event.end_ns = end_ns > pair->event.start_ns ? end_ns : pair->event.start_ns;
	sn_recording_add(&kineto->recording, kineto->recording.lines + pair->line, &pair->event);
}

/* What an end of its own id may tell of its begin. */
struct end {
	const struct kineto *kineto;
	int64_t pid;
	uint32_t name; /* builder's string; SONDE_NONE: any */
};

static bool is_begin_of(const void *context, const struct sn_begin *begin)
{
	const struct end *end = context;
	const struct sn_recording *recording = &end->kineto->recording;
	const struct sn_recording_place *place =
	    sn_intern_at(&recording->places, begin->line, NULL);
	return place->first == end->pid &&
	       (end->name == SONDE_NONE ||
		sn_recording_name(recording, begin->event.context).text == end->name);
}

/* The begin of an end. Ids are often of one process, and may be of one name, though they need not
 * be; so the last begin of both is the first choice, the last of any the last one. */
static bool find_begin(struct kineto *kineto, const struct sn_json_event *read, bool is_async,
		       struct sn_begin *pair)
{
	struct pair_key key = pair_key(kineto, read, is_async);
	if (is_async) {
		struct end end = {kineto, number_of(kineto, &read->pid), SONDE_NONE};
		if (read->name.text)
			end.name = sn_db_builder_string_n(kineto->recording.builder,
							  read->name.text, read->name.length);
		if (sn_begins_end_fitting(&kineto->pairs, &key, sizeof(key), is_begin_of, &end,
					  pair))
			return true;
		end.name = SONDE_NONE;
		if (sn_begins_end_fitting(&kineto->pairs, &key, sizeof(key), is_begin_of, &end,
					  pair))
			return true;
	}
	return sn_begins_end(&kineto->pairs, &key, sizeof(key), pair);
}

static int take_end(struct kineto *kineto, const struct sn_json_event *read, bool is_async)
{
	struct attributes attributes = {.count = 0};
	struct roles roles = {{0}, {false}};
	struct sn_begin pair;
	if (!read->has_time || read->time_ns < -SN_RECORDING_BIAS_NS ||
	    read->time_ns > SN_RECORDING_BIAS_NS) {
		kineto->recording.misplaced++;
		return 0;
	}
	if (!find_begin(kineto, read, is_async, &pair)) {
		kineto->unpaired++;
		return 0;
	}
	/* arguments may come with the end as well */
	struct sn_attribute *own = (struct sn_attribute *)pair.event.attributes;
	memcpy(attributes.items, own, pair.event.attribute_count * sizeof(*own));
	attributes.count = pair.event.attribute_count;
	for (size_t i = 0; i < read->arg_count && attributes.count + 3 <= 3 * SN_JSON_ARGS_MAX; i++)
		put_arg(kineto, read->args + i, &attributes, &roles);
	pair.event.attributes = attributes.items;
	pair.event.attribute_count = attributes.count;
	add_pair(kineto, &pair, (uint64_t)(read->time_ns + SN_RECORDING_BIAS_NS));
	free(own);
	return 0;
}

/* What has begun and not ended lasts until the end of the recording. */
static void end_pairs(struct kineto *kineto)
{
	struct sn_begin pair;
	uint64_t end_ns = 0;
	for (uint32_t i = 0; i < kineto->recording.places.count; i++)
		if (kineto->recording.lines[i].end_ns > end_ns)
			end_ns = kineto->recording.lines[i].end_ns;
	while (sn_begins_left(&kineto->pairs, &pair)) {
		add_pair(kineto, &pair, end_ns);
		free((void *)pair.event.attributes);
		kineto->unended++;
	}
	sn_begins_release(&kineto->pairs);
}

/* ---- counters ---- */

/* A counter is named by its event; where that has several series, by both. */
static uint32_t counter_metric(struct kineto *kineto, const struct sn_json_event *read,
			       struct sn_json_text series)
{
	struct sn_db_builder *builder = kineto->recording.builder;
	char name[512];
	bool is_alone = read->arg_count == 1;
	char id[64] = "";
	if (read->id.text.text) /* several of one name, told apart by it */
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
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(builder, name),
	    .unit = sn_db_builder_string(builder, "1"),
	    .source = sn_db_builder_string(builder, kineto->recording.source),
	    .kind = SN_METRIC_COUNT,
	};
	return sn_db_builder_metric(builder, &metric);
}

/* A value of a counter as a number; some programs write a text. */
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

static int take_counter(struct kineto *kineto, const struct sn_json_event *read)
{
	struct sn_recording_place place = {0, number_of(kineto, &read->pid),
					   number_of(kineto, &read->tid), 0, 0};
	if (!read->has_time || read->time_ns < -SN_RECORDING_BIAS_NS ||
	    read->time_ns > SN_RECORDING_BIAS_NS) {
		kineto->recording.misplaced++;
		return 0;
	}
	for (size_t i = 0; i < read->arg_count; i++) {
		bool is_real;
		uint64_t bits;
		if (!counter_value(&read->args[i].value, &is_real, &bits))
			continue;
		struct arg arg = arg_of(kineto, "value", 5,
					is_real ? SONDE_ATTRIBUTE_REAL : SONDE_ATTRIBUTE_SIGNED);
		struct sn_attribute attribute = {arg.key, 0, bits};
		struct sn_event event = {
		    .start_ns = (uint64_t)(read->time_ns + SN_RECORDING_BIAS_NS),
		    .end_ns = (uint64_t)(read->time_ns + SN_RECORDING_BIAS_NS),
		    .metric = counter_metric(kineto, read, read->args[i].name),
		    .kind = SONDE_TRACK_COUNTER,
		    .attribute_count = 1,
		    .attributes = &attribute,
		};
		struct sn_recording_line *line = sn_recording_line(&kineto->recording, &place);
		if (!line)
			return SN_ERR_MEMORY;
		sn_recording_add(&kineto->recording, line, &event);
	}
	return 0;
}

static int take_frames(struct kineto *kineto, const struct sn_json_member *member)
{
	if (!is_text(member->name, "stackFrames") || !member->value.text.text)
		return 0;
	int result =
	    sn_stack_frames_take(&kineto->frames, member->value.text, kineto->recording.builder);
	return result == SN_ERR_MEMORY ? result : 0;
}

/* Most programs write what samples refer to behind them: reads the file for that alone. A file
 * that is damaged says so when its events are read. */
static int seek_frames(struct kineto *kineto)
{
	struct sn_trace_json *reader;
	struct sn_json_member member;
	struct sn_error ignored;
	struct sn_json_event *event = malloc(sizeof(*event));
	int found = 1, result = event ? 0 : SN_ERR_MEMORY;
	kineto->has_frames = true;
	if (!event || sn_trace_json_open(kineto->recording.path, &reader, &ignored)) {
		free(event);
		return result;
	}
	while (!result && (found = sn_trace_json_next(reader, event, &member, &ignored)) > 0)
		if (found == SN_TRACE_JSON_MEMBER)
			result = take_frames(kineto, &member);
	sn_trace_json_close(reader);
	free(event);
	return result;
}

static int take_sample(struct kineto *kineto, const struct sn_json_event *read)
{
	struct sn_recording_place place = {0, number_of(kineto, &read->pid),
					   number_of(kineto, &read->tid), 0, 0};
	struct attributes attributes = {.count = 0};
	struct roles roles = {{0}, {false}};
	if (!read->has_time || read->time_ns < -SN_RECORDING_BIAS_NS ||
	    read->time_ns > SN_RECORDING_BIAS_NS) {
		kineto->recording.misplaced++;
		return 0;
	}
	if (!kineto->has_frames && read->stack.text.text && seek_frames(kineto))
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < read->arg_count; i++)
		put_arg(kineto, read->args + i, &attributes, &roles);
	struct sn_event event = {
	    .start_ns = (uint64_t)(read->time_ns + SN_RECORDING_BIAS_NS),
	    .end_ns = (uint64_t)(read->time_ns + SN_RECORDING_BIAS_NS),
	    .context =
		sn_stack_frames_context(&kineto->frames, &read->stack, kineto->recording.builder),
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_SAMPLES,
	    .attribute_count = attributes.count,
	    .attributes = attributes.items,
	};
	struct sn_recording_line *line = sn_recording_line(&kineto->recording, &place);
	if (!line)
		return SN_ERR_MEMORY;
	sn_recording_add(&kineto->recording, line, &event);
	return 0;
}

/* Names of processes and threads. */
static int take_metadata(struct kineto *kineto, const struct sn_json_event *read)
{
	const struct sn_json_value *name = find_arg(read, "name");
	if (!name || name->kind != SN_JSON_TEXT || !name->text.length)
		return 0;
	if (is_text(read->name, "process_name")) {
		struct sn_kineto_process *process =
		    sn_kineto_processes_add(&kineto->processes, number_of(kineto, &read->pid));
		if (!process)
			return SN_ERR_MEMORY;
		process->program = sn_db_builder_string_n(kineto->recording.builder,
							  name->text.text, name->text.length);
		/* where no process has events of threads */
		kineto->processes.has_devices |= gpu_of(kineto, read) >= 0;
		if (read->pid.kind == SN_JSON_INTEGER)
			kineto->recording.program = process->program;
	}
	if (!is_text(read->name, "thread_name"))
		return 0;
	struct sn_recording_place key = {0, number_of(kineto, &read->pid),
					 number_of(kineto, &read->tid), 0, 0};
	uint32_t text =
	    sn_db_builder_string_n(kineto->recording.builder, name->text.text, name->text.length);
	/* such records come before the events of their thread as well as after */
	struct sn_recording_line *line = sn_recording_line(&kineto->recording, &key);
	if (!line)
		return SN_ERR_MEMORY;
	line->name = text;
	return 0;
}

/* Arrows of Kineto and of Sonde say what correlation numbers say as well (recording.h); those of
 * other programs are not read. */
static void count_arrow(struct kineto *kineto, const struct sn_json_event *event)
{
	static const char *const known[] = {"ac2g", "async_cpu_to_gpu", "async_gpu", "fwdbwd",
					    "forward_backward"};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (event->category.text && is_text(event->category, known[i]))
			return;
	kineto->arrows++;
}

static int take(struct kineto *kineto, const struct sn_json_event *event)
{
	switch (event->phase) {
	case 'X':
		/* the profiler's own span over all of it */
		if (event->category.text && is_text(event->category, "Trace"))
			return 0;
		return take_event(kineto, event, categorise(kineto, event));
	case 'i':
	case 'I':
	case 'n':
		return take_event(kineto, event, SN_ACTIVITY_INSTANT);
	case 'B':
	case 'E':
		return event->phase == 'B' ? take_begin(kineto, event, false)
					   : take_end(kineto, event, false);
	case 'b':
	case 'S':
		return take_begin(kineto, event, true);
	case 'e':
	case 'F':
		return take_end(kineto, event, true);
	case 'C':
		return take_counter(kineto, event);
	case 'P':
		return take_sample(kineto, event);
	case 'M':
		return take_metadata(kineto, event);
	case 's':
		count_arrow(kineto, event);
		return 0;
	case 't':
	case 'f':
		return 0;
	case 0: /* {} after the last comma */
		kineto->recording.unread += event->name.text || event->has_time || event->arg_count;
		return 0;
	default:
		kineto->recording.unread++;
		return 0;
	}
}

/* "rank": 3 in a text of JSON. */
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

static int take_member(struct kineto *kineto, const struct sn_json_member *member)
{
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
	if (is_text(member->name, "baseTimeNanoseconds") && member->value.kind == SN_JSON_INTEGER) {
		kineto->recording.base_ns = member->value.integer;
		return 0;
	}
	if (!kineto->has_frames && is_text(member->name, "stackFrames")) {
		kineto->has_frames = true;
		if (take_frames(kineto, member))
			return SN_ERR_MEMORY;
	}
	if ((is_text(member->name, "samples") || is_text(member->name, "systemTraceEvents")) &&
	    member->value.text.length > 2)
		kineto->parts++;
	if (is_text(member->name, "distributedInfo") && member->value.text.text)
		find_rank(member->value.text, &kineto->recording.rank);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		char key[64], value[1024];
		if (!is_text(member->name, kept[i]) || !member->value.text.text)
			continue;
		snprintf(key, sizeof(key), "kineto.%s", kept[i]);
		snprintf(value, sizeof(value), "%.*s",
			 (int)(member->value.text.length < 1000 ? member->value.text.length : 1000),
			 member->value.text.text);
		for (char *at = value; *at; at++) /* one line */
			if (*at == '\n' || *at == '\t')
				*at = ' ';
		sn_db_builder_property(kineto->recording.builder, key, value);
	}
	return 0;
}

static int read_events(struct kineto *kineto, struct sn_trace_json *reader, struct sn_error *error)
{
	struct sn_json_event *event = malloc(sizeof(*event));
	struct sn_json_member member;
	int found = event ? 1 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (found > 0) {
		found = sn_trace_json_next(reader, event, &member, error);
		int result = 0;
		if (found == SN_TRACE_JSON_EVENT)
			result = take(kineto, event);
		else if (found == SN_TRACE_JSON_MEMBER)
			result = take_member(kineto, &member);
		if (result)
			found = sn_fail(error, result, "out of memory");
	}
	free(event);
	return found;
}

static int read_file(struct kineto *kineto, const char *path, size_t path_count,
		     struct sn_error *error)
{
	struct sn_trace_json *reader;
	int result = sn_trace_json_open(path, &reader, error);
	if (result)
		return result;
	memset(kineto->step_args, 0, sizeof(kineto->step_args));
	result = sn_recording_open(&kineto->recording, path, error);
	if (!result)
		result = read_events(kineto, reader, error);
	sn_trace_json_close(reader);
	end_pairs(kineto);
	sn_kineto_processes_apply(&kineto->processes, &kineto->recording);
	kineto->has_frames = false;
	sn_stack_frames_release(&kineto->frames);
	if (!result)
		result = sn_recording_build(&kineto->recording, path_count, error);
	return result;
}

static void finish(struct kineto *kineto)
{
	struct sn_db_builder *builder = kineto->recording.builder;
	sn_recording_finish(&kineto->recording);
	if (kineto->unpaired)
		sn_db_builder_drop(builder, "import-unpaired", "ends of events without a begin",
				   kineto->unpaired);
	if (kineto->arrows)
		sn_db_builder_drop(builder, "import-arrows",
				   "arrows (flow events), which are read only of torch.profiler",
				   kineto->arrows);
	if (kineto->parts)
		sn_db_builder_drop(builder, "import-parts",
				   "parts of the file beside its events: samples, system trace",
				   kineto->parts);
	if (kineto->unended)
		sn_db_builder_drop(builder, "import-unended",
				   "events without an end, taken to the end of the recording",
				   kineto->unended);
}

static int read_inputs(struct kineto *kineto, const struct sn_import_request *request,
		       struct sn_error *error)
{
	size_t files = request->path_count, traces = 0;
	bool *are_traces = calloc(files + 1, sizeof(*are_traces));
	kineto->recording.dataflow = sn_dataflow_new();
	int result = are_traces && kineto->recording.dataflow
			 ? sn_dataflow_traces(&kineto->recording, request, are_traces, error)
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < files && !result; i++)
		traces += are_traces[i];
	kineto->has_traces = traces > 0;
	for (size_t i = 0; i < files && !result; i++)
		if (!are_traces[i])
			result = read_file(kineto, request->paths[i], files - traces, error);
	if (!result)
		result = sn_dataflow_finish(&kineto->recording, error);
	free(are_traces);
	return result;
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct kineto *kineto = calloc(1, sizeof(*kineto));
	if (!kineto)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_begins_init(&kineto->pairs);
	sn_recording_begin(&kineto->recording, "kineto", builder, request->events);
	kineto->recording.program = sn_db_builder_string(builder, "python");
	int result = read_inputs(kineto, request, error);
	if (!result)
		finish(kineto);
	sn_begins_release(&kineto->pairs);
	sn_recording_release(&kineto->recording);
	sn_kineto_processes_release(&kineto->processes);
	free(kineto);
	return result;
}

static bool probe(const struct sn_import_input *input)
{
	return !input->is_folder && sn_trace_json_probe(input->path);
}

const struct sn_importer sn_importer_kineto = {
    .name = "kineto",
    .summary = "traces of torch.profiler (Kineto) and others of Chrome's JSON, plain or gzip",
    .probe = probe,
    .read = read_all,
};
