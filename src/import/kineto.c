/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of PyTorch profiler traces: from JSON to threads and streams; see kineto.h.
 *
 * Times are "ts" plus the file's baseTimeNanoseconds, if it has one. Arguments become attributes
 * under their own names, but for those that only number the events of a file.
 */
#include "kineto.h"

#include "format/measurement.h"
#include "importer.h"
#include "trace_json.h"

#include <stdio.h>
#include <string.h>

/* Events of a file before they go to disk. */
#define SORTER_BYTES (128u << 20)

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} metrics[SN_KINETO_METRIC_COUNT] = {
    [SN_KINETO_REAL_TIME] = {"real-time", "ns", SN_METRIC_TIME},
    [SN_KINETO_API_TIME] = {"gpu-api-time", "ns", SN_METRIC_TIME},
    [SN_KINETO_KERNEL_TIME] = {"kernel-time", "ns", SN_METRIC_TIME},
    [SN_KINETO_COPY_TIME] = {"copy-time", "ns", SN_METRIC_TIME},
    [SN_KINETO_FILL_TIME] = {"fill-time", "ns", SN_METRIC_TIME},
    [SN_KINETO_COPY_BYTES] = {"copy-bytes", "bytes", SN_METRIC_BYTES},
    [SN_KINETO_FILL_BYTES] = {"fill-bytes", "bytes", SN_METRIC_BYTES},
    [SN_KINETO_BLOCKS] = {"kernel-blocks", "1", SN_METRIC_COUNT},
    [SN_KINETO_BLOCK_THREADS] = {"kernel-block-threads", "1", SN_METRIC_COUNT},
    [SN_KINETO_REGISTERS] = {"kernel-registers", "1", SN_METRIC_COUNT},
    [SN_KINETO_SHARED_BYTES] = {"kernel-shared-bytes", "bytes", SN_METRIC_BYTES},
    [SN_KINETO_ALLOC] = {"tensor-alloc", "bytes", SN_METRIC_BYTES},
    [SN_KINETO_FREE] = {"tensor-free", "bytes", SN_METRIC_BYTES},
    [SN_KINETO_ALLOCATED] = {"memory-allocated", "bytes", SN_METRIC_BYTES},
    [SN_KINETO_RESERVED] = {"memory-reserved", "bytes", SN_METRIC_BYTES},
};

uint32_t sn_kineto_metric(struct sn_kineto *kineto, enum sn_kineto_metric metric)
{
	uint32_t *number = kineto->metrics + metric;
	if (*number != SONDE_NONE)
		return *number;
	struct sonde_db_metric made = {
	    .name = sn_db_builder_string(kineto->builder, metrics[metric].name),
	    .unit = sn_db_builder_string(kineto->builder, metrics[metric].unit),
	    .source = sn_db_builder_string(kineto->builder, "kineto"),
	    .kind = metrics[metric].kind,
	};
	return *number = sn_db_builder_metric(kineto->builder, &made);
}

struct sn_kineto_name sn_kineto_name(const struct sn_kineto *kineto, uint32_t name)
{
	struct sn_kineto_name found;
	memcpy(&found, sn_intern_at(&kineto->names, name, NULL), sizeof(found));
	return found;
}

/* "torch/nn/modules/module.py(1501): _call_impl" in its parts; the number is where the function
 * begins. Whatever is not written so is a name as it is. */
static struct sonde_db_frame python_frame(struct sn_kineto *kineto, const char *text)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_PYTHON};
	const char *colon = strstr(text, "): ");
	const char *open = colon;
	while (open && open > text && *open != '(')
		open--;
	unsigned line;
	if (!strncmp(text, "nn.Module: ", 11))
		frame.kind = SN_FRAME_REGION;
	frame.linkage_name = frame.module = frame.file = SONDE_NONE;
	if (!colon || open == text || sscanf(open, "(%u):", &line) != 1) {
		frame.name = sn_db_builder_string(kineto->builder, text);
		return frame;
	}
	char file[4096];
	snprintf(file, sizeof(file), "%.*s", (int)(open - text), text);
	char function[4096];
	snprintf(function, sizeof(function), "%s", colon + 3);
	frame.file = sn_db_builder_string(kineto->builder, file);
	frame.name = sn_db_builder_string(kineto->builder, function);
	frame.function_line = line;
	return frame;
}

/* "ProfilerStep#7" is an iteration, of which all are one context. */
static struct sonde_db_frame annotation_frame(struct sn_kineto *kineto, const char *text)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_REGION};
	const char *number = strchr(text, '#');
	size_t length = strlen(text);
	if (number && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1)) {
		length = (size_t)(number - text);
		frame.flags = SN_FRAME_ITERATION;
	}
	char name[4096];
	snprintf(name, sizeof(name), "%.*s", (int)(length < 4095 ? length : 4095), text);
	frame.name = sn_db_builder_string(kineto->builder, name);
	return frame;
}

static struct sonde_db_frame plain_frame(struct sn_kineto *kineto, uint32_t category,
					 const char *text)
{
	static const uint8_t kinds[] = {
	    [SN_KINETO_OTHER] = SN_FRAME_REGION,	[SN_KINETO_OPERATOR] = SN_FRAME_OPERATOR,
	    [SN_KINETO_API] = SN_FRAME_GPU_API,		[SN_KINETO_OVERHEAD] = SN_FRAME_OS,
	    [SN_KINETO_INSTANT] = SN_FRAME_REGION,	[SN_KINETO_KERNEL] = SN_FRAME_KERNEL,
	    [SN_KINETO_COPY] = SN_FRAME_GPU_OP,		[SN_KINETO_FILL] = SN_FRAME_GPU_OP,
	    [SN_KINETO_DEVICE_OTHER] = SN_FRAME_GPU_OP,
	};
	struct sonde_db_frame frame = {.kind = kinds[category]};
	bool is_backward = strstr(text, "Backward") || !strncmp(text, "autograd::engine::", 18);
	if (category == SN_KINETO_OPERATOR && is_backward)
		frame.flags = SN_FRAME_BACKWARD;
	frame.name = sn_db_builder_string(kineto->builder, text);
	return frame;
}

uint32_t sn_kineto_frame(struct sn_kineto *kineto, uint32_t number)
{
	if (kineto->frames[number] != SONDE_NONE)
		return kineto->frames[number];
	struct sn_kineto_name name = sn_kineto_name(kineto, number);
	/* the builder's texts move when it gets another string */
	char *text = strdup(sn_db_builder_text(kineto->builder, name.text));
	if (!text)
		return SONDE_NONE;
	struct sonde_db_frame frame;
	if (name.category == SN_KINETO_PYTHON)
		frame = python_frame(kineto, text);
	else if (name.category == SN_KINETO_ANNOTATION ||
		 name.category == SN_KINETO_DEVICE_ANNOTATION)
		frame = annotation_frame(kineto, text);
	else
		frame = plain_frame(kineto, name.category, text);
	if (name.category != SN_KINETO_PYTHON)
		frame.linkage_name = frame.module = frame.file = SONDE_NONE;
	free(text);
	return kineto->frames[number] = sn_db_builder_frame(kineto->builder, &frame);
}

bool sn_kineto_attribute(const struct sn_kineto *kineto, const struct sn_event *event,
			 enum sn_kineto_key key, uint64_t *value)
{
	for (unsigned i = 0; i < event->attribute_count; i++) {
		if (event->attributes[i].key != kineto->keys[key])
			continue;
		*value = event->attributes[i].value;
		return true;
	}
	return false;
}

uint64_t sn_kineto_link(const struct sn_kineto *kineto, uint64_t correlation)
{
	return kineto->file_count << 40 | (correlation & ((1ull << 40) - 1));
}

uint64_t sn_kineto_time(struct sn_kineto *kineto, uint64_t raw_ns)
{
	int64_t time = (int64_t)raw_ns - SN_KINETO_BIAS_NS + kineto->base_ns;
	return time > 0 ? (uint64_t)time : 0;
}

void sn_kineto_profile(struct sn_kineto *kineto, struct sn_kineto_line *line)
{
	bool has_pid = !line->is_device && line->pid >= 0;
	line->start_ns = sn_kineto_time(kineto, line->start_ns);
	line->end_ns = sn_kineto_time(kineto, line->end_ns);
	if (line->start_ns < kineto->start_ns)
		kineto->start_ns = line->start_ns;
	if (line->end_ns > kineto->end_ns)
		kineto->end_ns = line->end_ns;
	struct sonde_db_profile profile = {
	    .host = kineto->host,
	    .program = kineto->program,
	    .thread = line->name,
	    .rank = kineto->rank,
	    .pid = (uint64_t)(has_pid		? line->pid
			      : kineto->pid > 0 ? kineto->pid
						: 0),
	    .tid = !line->is_device && line->tid >= 0 ? (uint64_t)line->tid : 0,
	    .kind = line->is_device,
	    .device = line->is_device ? line->device : SONDE_NONE,
	    .device_context = line->is_device ? line->context : SONDE_NONE,
	    .stream = line->is_device ? line->stream : SONDE_NONE,
	    .start_ns = line->start_ns,
	    .end_ns = line->end_ns,
	    .run = kineto->run,
	};
	line->profile = sn_db_builder_profile(kineto->builder, &profile);
}

/* ---- reading a file ---- */

static bool is_text(struct sn_json_text text, const char *other)
{
	return text.length == strlen(other) && !memcmp(text.text, other, text.length);
}

static enum sn_kineto_category categorise(struct sn_json_text category)
{
	static const struct {
		const char *name;
		enum sn_kineto_category category;
	} known[] = {{"cpu_op", SN_KINETO_OPERATOR},
		     {"python_function", SN_KINETO_PYTHON},
		     {"cuda_runtime", SN_KINETO_API},
		     {"kernel", SN_KINETO_KERNEL},
		     {"cuda_driver", SN_KINETO_API},
		     {"user_annotation", SN_KINETO_ANNOTATION},
		     {"gpu_memcpy", SN_KINETO_COPY},
		     {"gpu_memset", SN_KINETO_FILL},
		     {"gpu_user_annotation", SN_KINETO_DEVICE_ANNOTATION},
		     {"cpu_instant_event", SN_KINETO_INSTANT},
		     {"overhead", SN_KINETO_OVERHEAD},
		     {"xpu_runtime", SN_KINETO_API},
		     {"xpu_driver", SN_KINETO_API},
		     {"mtia_runtime", SN_KINETO_API},
		     {"privateuse1_runtime", SN_KINETO_API},
		     {"privateuse1_driver", SN_KINETO_API},
		     {"hpu_op", SN_KINETO_KERNEL},
		     {"cuda_sync", SN_KINETO_DEVICE_OTHER},
		     {"cuda_event", SN_KINETO_DEVICE_OTHER},
		     {"cuda_profiler_range", SN_KINETO_DEVICE_OTHER},
		     {"mtia_ccp_events", SN_KINETO_DEVICE_OTHER},
		     {"concurrent_kernel", SN_KINETO_KERNEL}};
	/* kernel names in capitals are of the earliest versions */
	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && category.text; i++)
		if (category.length == strlen(known[i].name) &&
		    !strncasecmp(category.text, known[i].name, category.length))
			return known[i].category;
	return SN_KINETO_OTHER;
}

/* A process or thread as one number: its own, or for a text one that no process has. */
static int64_t number_of(struct sn_kineto *kineto, const struct sn_json_value *value)
{
	if (value->kind == SN_JSON_INTEGER)
		return value->integer;
	if (!value->text.text)
		return 0;
	uint32_t text =
	    sn_db_builder_string_n(kineto->builder, value->text.text, value->text.length);
	return -2 - (int64_t)text;
}

struct line_key {
	int64_t is_device, first, second, third;
};

static struct sn_kineto_line *line_of(struct sn_kineto *kineto, const struct line_key *key)
{
	uint32_t before = kineto->line_keys.count;
	uint32_t number = sn_intern_add(&kineto->line_keys, key, sizeof(*key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&kineto->lines, &kineto->line_capacity, number + 1ull) < 0)
		return NULL;
	struct sn_kineto_line *line = kineto->lines + number;
	if (number < before)
		return line;
	*line = (struct sn_kineto_line){
	    .is_device = key->is_device,
	    .name = SONDE_NONE,
	    .pid = key->is_device ? -1 : key->first,
	    .tid = key->is_device ? -1 : key->second,
	    .device = (uint32_t)key->first,
	    .context = (uint32_t)key->second,
	    .stream = (uint32_t)key->third,
	    .start_ns = UINT64_MAX,
	};
	return line;
}

static const struct sn_json_value *find_arg(const struct sn_json_event *event, const char *name)
{
	for (size_t i = 0; i < event->arg_count; i++)
		if (is_text(event->args[i].name, name))
			return &event->args[i].value;
	return NULL;
}

/* ---- arguments ---- */

static const char *const known_keys[SN_KINETO_KEY_COUNT] = {
    [SN_KINETO_KEY_VALUE] = "value",
    [SN_KINETO_KEY_SEQUENCE] = "Sequence number",
    [SN_KINETO_KEY_FORWARD_THREAD] = "Fwd thread id",
    [SN_KINETO_KEY_BYTES] = "bytes",
    [SN_KINETO_KEY_GRID_X] = "grid.x",
    [SN_KINETO_KEY_GRID_Y] = "grid.y",
    [SN_KINETO_KEY_GRID_Z] = "grid.z",
    [SN_KINETO_KEY_BLOCK_X] = "block.x",
    [SN_KINETO_KEY_BLOCK_Y] = "block.y",
    [SN_KINETO_KEY_BLOCK_Z] = "block.z",
    [SN_KINETO_KEY_REGISTERS] = "registers per thread",
    [SN_KINETO_KEY_SHARED] = "shared memory",
    [SN_KINETO_KEY_ALLOCATED] = "Total Allocated",
    [SN_KINETO_KEY_RESERVED] = "Total Reserved",
};

/* What an argument is to the importer itself; most are only passed on. */
enum role {
	PASSED_ON,
	LEFT_OUT, /* it only numbers the events of one file, or is said otherwise */
	CORRELATION,
	DEVICE,
	CONTEXT,
	STREAM,
	ROLES,
};

static enum role role_of(const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum role role;
	} known[] = {{"correlation", CORRELATION}, {"device", DEVICE},
		     {"context", CONTEXT},	   {"stream", STREAM},
		     {"Ev Idx", LEFT_OUT},	   {"Record function id", LEFT_OUT},
		     {"Python id", LEFT_OUT},	   {"Python parent id", LEFT_OUT},
		     {"cbid", LEFT_OUT},	   {"cid", LEFT_OUT}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (is_text((struct sn_json_text){name, length}, known[i].name))
			return known[i].role;
	return PASSED_ON;
}

/* The attribute for an argument: its own name, but that a size of memory is "Bytes" of an
 * allocation and "bytes" of a copy. */
static uint32_t make_key(struct sn_kineto *kineto, const char *name, size_t length,
			 enum sonde_attribute_type type)
{
	if (length == 5 && !memcmp(name, "Bytes", 5) && type == SONDE_ATTRIBUTE_SIGNED)
		name = "bytes";
	uint32_t text = sn_db_builder_string_n(kineto->builder, name, length);
	return sn_trace_writer_key(kineto->writer, text, SONDE_NONE, type);
}

/* What is known of an argument of that name and type. */
static struct sn_kineto_arg arg_of(struct sn_kineto *kineto, const char *name, size_t length,
				   enum sonde_attribute_type type)
{
	size_t slot = (length * 7 + (unsigned char)name[0] + 3 * (unsigned char)name[length / 2] +
		       61 * (unsigned)type) %
		      SN_KINETO_ARGS;
	struct sn_kineto_arg *arg = kineto->args + slot;
	if (arg->length == length && arg->type == type && !memcmp(arg->name, name, length))
		return *arg;
	struct sn_kineto_arg made = {
	    .type = type,
	    .role = role_of(name, length),
	    .key = make_key(kineto, name, length, type),
	};
	if (length && length <= sizeof(made.name)) {
		made.length = length;
		memcpy(made.name, name, length);
		*arg = made;
	}
	return made;
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
static bool put_sizes(struct sn_kineto *kineto, const struct sn_json_arg *arg,
		      struct attributes *attributes)
{
	bool is_grid = is_text(arg->name, "grid");
	uint64_t sizes[3];
	if ((!is_grid && !is_text(arg->name, "block")) || !parse_sizes(arg->value.text, sizes))
		return false;
	enum sn_kineto_key first = is_grid ? SN_KINETO_KEY_GRID_X : SN_KINETO_KEY_BLOCK_X;
	for (unsigned i = 0; i < 3; i++)
		put(attributes, kineto->keys[first + i], sizes[i]);
	return true;
}

/* What of the arguments places the event. */
struct roles {
	int64_t values[ROLES];
	bool is_there[ROLES];
};

static void put_arg(struct sn_kineto *kineto, const struct sn_json_arg *read,
		    struct attributes *attributes, struct roles *roles)
{
	const struct sn_json_value *value = &read->value;
	uint64_t bits = (uint64_t)value->integer;
	enum sonde_attribute_type type = SONDE_ATTRIBUTE_SIGNED;
	if (value->kind == SN_JSON_NONE || !read->name.length)
		return;
	if (value->kind == SN_JSON_REAL) {
		type = SONDE_ATTRIBUTE_REAL;
		memcpy(&bits, &value->real, sizeof(bits));
	} else if (value->kind == SN_JSON_TEXT || value->kind == SN_JSON_OTHER) {
		type = SONDE_ATTRIBUTE_STRING;
	}
	struct sn_kineto_arg arg = arg_of(kineto, read->name.text, read->name.length, type);
	if (arg.role != PASSED_ON) {
		roles->is_there[arg.role] = type == SONDE_ATTRIBUTE_SIGNED;
		roles->values[arg.role] = value->integer;
		return;
	}
	if (value->kind == SN_JSON_OTHER && put_sizes(kineto, read, attributes))
		return;
	if (type == SONDE_ATTRIBUTE_STRING)
		bits =
		    sn_db_builder_string_n(kineto->builder, value->text.text, value->text.length);
	if (arg.key != SONDE_NONE && (type != SONDE_ATTRIBUTE_STRING || bits != SONDE_NONE))
		put(attributes, arg.key, bits);
}

/* ---- events ---- */

static int name_of(struct sn_kineto *kineto, enum sn_kineto_category category,
		   struct sn_json_text text, uint32_t *number)
{
	struct sn_kineto_name name = {
	    category,
	    sn_db_builder_string_n(kineto->builder, text.text ? text.text : "", text.length)};
	uint32_t before = kineto->names.count;
	*number = sn_intern_add(&kineto->names, &name, sizeof(name));
	if (*number == SN_INTERN_NONE ||
	    sn_vec_reserve(&kineto->frames, &kineto->frame_capacity, *number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (*number == before)
		kineto->frames[*number] = SONDE_NONE;
	return 0;
}

static void stretch(struct sn_kineto_line *line, uint64_t start_ns, uint64_t end_ns)
{
	line->start_ns = start_ns < line->start_ns ? start_ns : line->start_ns;
	line->end_ns = end_ns > line->end_ns ? end_ns : line->end_ns;
	line->event_count++;
}

static int64_t role(const struct roles *roles, enum role which, int64_t missing)
{
	return roles->is_there[which] ? roles->values[which] : missing;
}

/* The thread or stream an event belongs to. Where a kernel does not say its device and stream, the
 * trace's "process" and "thread" do. */
static struct sn_kineto_line *line_of_event(struct sn_kineto *kineto,
					    const struct sn_json_event *event,
					    enum sn_kineto_category category,
					    const struct roles *roles)
{
	int64_t pid = number_of(kineto, &event->pid), tid = number_of(kineto, &event->tid);
	struct line_key key = {0, pid, tid, 0};
	if (category >= SN_KINETO_KERNEL)
		key = (struct line_key){1, role(roles, DEVICE, pid < 0 ? 0 : pid),
					role(roles, CONTEXT, 0),
					role(roles, STREAM, tid < 0 ? 0 : tid)};
	return line_of(kineto, &key);
}

static bool has_key(const struct attributes *attributes, uint32_t key, uint64_t *value)
{
	for (unsigned i = 0; i < attributes->count; i++) {
		if (attributes->items[i].key != key)
			continue;
		*value = attributes->items[i].value;
		return true;
	}
	return false;
}

/* An operator of a forward pass that a backward one may refer to. */
static bool is_forward(const struct sn_kineto *kineto, const struct attributes *attributes)
{
	uint64_t value = 0;
	return has_key(attributes, kineto->keys[SN_KINETO_KEY_SEQUENCE], &value) &&
	       (!has_key(attributes, kineto->keys[SN_KINETO_KEY_FORWARD_THREAD], &value) || !value);
}

static int take_event(struct sn_kineto *kineto, const struct sn_json_event *read)
{
	enum sn_kineto_category category =
	    read->phase == 'X' ? categorise(read->category) : SN_KINETO_INSTANT;
	int64_t start = read->time_ns + SN_KINETO_BIAS_NS;
	int64_t length = read->phase == 'X' && read->has_duration ? read->duration_ns : 0;
	struct attributes attributes;
	struct roles roles = {{0}, {false}};
	attributes.count = 0;
	if (!read->has_time || read->time_ns < -SN_KINETO_BIAS_NS || length < 0) {
		kineto->misplaced++;
		return 0;
	}
	for (size_t i = 0; i < read->arg_count; i++)
		put_arg(kineto, read->args + i, &attributes, &roles);
	struct sn_kineto_line *line = line_of_event(kineto, read, category, &roles);
	uint32_t name;
	if (!line || name_of(kineto, category, read->name, &name))
		return SN_ERR_MEMORY;
	int64_t correlation = role(&roles, CORRELATION, 0);
	struct sn_event event = {
	    .start_ns = (uint64_t)start,
	    .end_ns = (uint64_t)(start + length),
	    .link = correlation > 0 ? (uint64_t)correlation : 0,
	    .profile = (uint32_t)(line - kineto->lines),
	    .context = name,
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_INTERVALS,
	    .attribute_count = attributes.count,
	    .attributes = attributes.items,
	};
	sn_sorter_add(kineto->sorter, &event);
	stretch(line, event.start_ns, event.end_ns);
	line->forward_count += category == SN_KINETO_OPERATOR && is_forward(kineto, &attributes);
	if (category == SN_KINETO_OPERATOR || category == SN_KINETO_API)
		kineto->pid = line->pid;
	return 0;
}

/* Names of processes and threads. */
static int take_metadata(struct sn_kineto *kineto, const struct sn_json_event *read)
{
	const struct sn_json_value *name = find_arg(read, "name");
	if (!name || name->kind != SN_JSON_TEXT || !name->text.length)
		return 0;
	/* streams are "threads" of processes that are devices, with the program's name */
	if (is_text(read->name, "process_name") && read->pid.kind == SN_JSON_INTEGER)
		kineto->program =
		    sn_db_builder_string_n(kineto->builder, name->text.text, name->text.length);
	if (!is_text(read->name, "thread_name"))
		return 0;
	struct line_key key = {0, number_of(kineto, &read->pid), number_of(kineto, &read->tid), 0};
	uint32_t number = sn_intern_find(&kineto->line_keys, &key, sizeof(key));
	uint32_t text = sn_db_builder_string_n(kineto->builder, name->text.text, name->text.length);
	/* such records come before the events of their thread as well as after */
	struct sn_kineto_line *line =
	    number == SN_INTERN_NONE ? line_of(kineto, &key) : kineto->lines + number;
	if (!line)
		return SN_ERR_MEMORY;
	line->name = text;
	return 0;
}

static int take(struct sn_kineto *kineto, const struct sn_json_event *event)
{
	switch (event->phase) {
	case 'X':
		/* the profiler's own span over all of it */
		if (event->category.text && is_text(event->category, "Trace"))
			return 0;
		return take_event(kineto, event);
	case 'i':
	case 'I':
		return take_event(kineto, event);
	case 'M':
		return take_metadata(kineto, event);
	case 's': /* arrows: see kineto.h */
	case 't':
	case 'f':
		return 0;
	default:
		kineto->unread++;
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

static void take_member(struct sn_kineto *kineto, const struct sn_json_member *member)
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
		kineto->base_ns = member->value.integer;
		return;
	}
	if (is_text(member->name, "distributedInfo") && member->value.text.text)
		find_rank(member->value.text, &kineto->rank);
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
		sn_db_builder_property(kineto->builder, key, value);
	}
}

static int read_events(struct sn_kineto *kineto, struct sn_trace_json *reader,
		       struct sn_error *error)
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
			take_member(kineto, &member);
		if (result)
			found = sn_fail(error, result, "out of memory");
	}
	free(event);
	return found;
}

static int compare_order(const void *left, const void *right, void *lines)
{
	const struct sn_kineto_line *a = (struct sn_kineto_line *)lines + *(const uint32_t *)left;
	const struct sn_kineto_line *b = (struct sn_kineto_line *)lines + *(const uint32_t *)right;
	if (a->is_device != b->is_device)
		return a->is_device ? 1 : -1;
	if (a->forward_count != b->forward_count)
		return a->forward_count > b->forward_count ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Threads before streams, which refer to their calls; forward passes before backward ones. */
static int build(struct sn_kineto *kineto, struct sn_error *error)
{
	uint32_t count = kineto->line_keys.count;
	uint32_t *order = malloc((count + 1ull) * sizeof(*order));
	int result = order ? sn_sorter_finish(kineto->sorter, error)
			   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < count && order; i++)
		order[i] = i;
	if (order)
		qsort_r(order, count, sizeof(*order), compare_order, kineto->lines);
	for (uint32_t i = 0; i < count && !result; i++) {
		const struct sn_kineto_line *line = kineto->lines + order[i];
		if (!line->event_count) /* only named */
			continue;
		result = line->is_device ? sn_kineto_device(kineto, order[i], error)
					 : sn_kineto_thread(kineto, order[i], error);
	}
	free(order);
	return result;
}

static void begin_file(struct sn_kineto *kineto, const char *path)
{
	kineto->path = path;
	kineto->file_count++;
	kineto->rank = -1;
	kineto->base_ns = 0;
	kineto->pid = -1;
	kineto->line_keys.count = 0;
	kineto->launch_count = kineto->forward_count = 0;
	sn_intern_release(&kineto->line_keys);
	sn_intern_release(&kineto->names);
	sn_intern_release(&kineto->sequences);
}

/* What was read of several files is told apart by rank, and where they have none by file. */
static void note_file(struct sn_kineto *kineto, size_t path_count)
{
	char key[32];
	const char *slash = strrchr(kineto->path, '/');
	kineto->run = 0;
	if (path_count == 1 || kineto->rank >= 0)
		return;
	kineto->run = (uint32_t)kineto->file_count - 1;
	snprintf(key, sizeof(key), "run.%u", kineto->run);
	sn_db_builder_property(kineto->builder, key, slash ? slash + 1 : kineto->path);
}

static int read_file(struct sn_kineto *kineto, const char *path, size_t path_count,
		     struct sn_error *error)
{
	struct sn_trace_json *reader;
	int result = sn_trace_json_open(path, &reader, error);
	if (result)
		return result;
	begin_file(kineto, path);
	kineto->sorter = sn_sorter_new(SORTER_BYTES, NULL);
	result = kineto->sorter ? read_events(kineto, reader, error)
				: sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_trace_json_close(reader);
	note_file(kineto, path_count);
	if (!result)
		result = build(kineto, error);
	sn_sorter_free(kineto->sorter);
	kineto->sorter = NULL;
	return result;
}

/* What is known of the whole: who was measured, when, and what of it could not be placed. */
static void finish(struct sn_kineto *kineto)
{
	struct sn_db_builder *builder = kineto->builder;
	char text[64];
	const char *program = sn_db_builder_text(builder, kineto->program);
	sn_db_builder_set_root(builder,
			       sn_db_builder_named_frame(builder, SN_FRAME_THREAD, program));
	sn_db_builder_property(builder, "program", program);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)kineto->file_count);
	sn_db_builder_property(builder, "imported.files", text);
	if (kineto->end_ns) {
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)(kineto->end_ns - kineto->start_ns));
		sn_db_builder_property(builder, "duration_ns", text);
	}
	if (kineto->unlaunched)
		sn_db_builder_drop(builder, "gpu-unlaunched",
				   "device operations whose launch is not in the file",
				   kineto->unlaunched);
	if (kineto->unread)
		sn_db_builder_drop(builder, "import-unread", "events of a kind that is not read",
				   kineto->unread);
	if (kineto->misplaced)
		sn_db_builder_drop(builder, "import-untimed", "events without a valid time",
				   kineto->misplaced);
}

static void release(struct sn_kineto *kineto)
{
	sn_intern_release(&kineto->line_keys);
	sn_intern_release(&kineto->names);
	sn_intern_release(&kineto->sequences);
	sn_totals_release(&kineto->totals);
	free(kineto->frames);
	free(kineto->lines);
	free(kineto->launches);
	free(kineto->forward_heads);
	free(kineto->forwards);
}

static void begin(struct sn_kineto *kineto)
{
	kineto->host = sn_db_builder_string(kineto->builder, "");
	kineto->program = sn_db_builder_string(kineto->builder, "python");
	kineto->start_ns = UINT64_MAX;
	memset(kineto->metrics, 0xff, sizeof(kineto->metrics));
	for (unsigned i = 0; i < SN_KINETO_KEY_COUNT; i++)
		kineto->keys[i] =
		    make_key(kineto, known_keys[i], strlen(known_keys[i]), SONDE_ATTRIBUTE_SIGNED);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct sn_kineto kineto = {.builder = builder, .writer = request->events};
	int result = 0;
	begin(&kineto);
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_file(&kineto, request->paths[i], request->path_count, error);
	if (!result)
		finish(&kineto);
	release(&kineto);
	return result;
}

static bool probe(const struct sn_import_input *input)
{
	return !input->is_folder && sn_trace_json_probe(input->path);
}

const struct sn_importer sn_importer_kineto = {
    .name = "kineto",
    .summary = "traces of torch.profiler (Kineto), JSON, plain or gzip",
    .probe = probe,
    .read = read_all,
};
