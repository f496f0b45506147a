/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of what TensorFlow's sessions record of a run on request: RunMetadata or StepStats
 * (tensorflow/core/protobuf/config.proto, framework/step_stats.proto) as serialised by the program,
 * and event files (*tfevents*) with such messages, plain or gzip.
 *
 * A run is an iteration. Each execution of a node has the times when it was scheduled, began and
 * ended, its device and its allocations; its label ("NAME = TYPE(INPUT, INPUT:1, ^CONTROL)") has
 * type and inputs of the node. All files are one file to the sink. The recorder does not tell
 * threads apart, so executions of a device that overlap are on separate rows. A GPU's "stream:all"
 * repeats its streams and is left out.
 */
#include "import/core/importer.h"

#include "base/sort_by.h"
#include "base/table.h"
#include "base/vec.h"
#include "format/database/database_graph_builder.h"
#include "format/database/statistics.h"
#include "format/measurement/measurement.h"
#include "import/core/packed_file.h"
#include "import/core/protobuf.h"
#include "import/core/track_sink.h"
#include "trace/lanes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* of a run, or of a record of an event file; the limit of protobuf */
#define RECORD_BYTES_MAX (2ull << 30)
#define RECORD_HEAD	 12 /* u64 length, u32 checksum; a second checksum follows the data */
#define LANES_A_DEVICE	 1024
#define MODEL		 "TensorFlow"

struct node {
	uint32_t name, type, device; /* builder's strings */
	uint32_t label;		     /* the same, if not "NAME = TYPE"; SONDE_NONE */
	uint32_t number;	     /* of the sink; SONDE_NONE */
	uint32_t graph_node;
	size_t first_input, input_count;
	struct sonde_db_stat time, latency, queue, memory, peak, temporary, persistent;
	uint64_t last_run, last_end_ns; /* the run's number from 1; 0 none */
};

struct input {
	uint32_t name; /* builder's string */
	uint32_t index;
	bool is_control;
};

struct execution {
	uint64_t scheduled_ns, start_ns, end_ns; /* since the epoch; scheduled_ns 0 unknown */
	uint32_t node, device, run;		 /* run: from 1; device: index in `devices` */
};

struct device {
	uint32_t name; /* builder's string */
	bool is_stream;
	unsigned number, stream; /* of a GPU */
	struct sn_lanes lanes;
};

struct reading {
	struct sn_track_sink *sink;
	struct sn_db_builder *builder;
	struct sn_table node_ids; /* by name and device */
	struct sn_table by_name;  /* nodes */
	struct sn_table device_ids;
	struct node *nodes;
	struct input *inputs;
	struct execution *executions;
	struct device *devices;
	size_t node_capacity, input_count, input_capacity, execution_count, execution_capacity,
	    device_capacity;
	uint32_t run_count;
};

/* ---- nodes and devices ---- */

/* Reads an input of a node: "_SOURCE", "^name" (control) or "name:1" (output 1 of name). */
static int read_input(struct reading *reading, struct node *node, const char *text, size_t length)
{
	struct input input = {.is_control = length && *text == '^'};
	if (input.is_control)
		text++, length--;
	const char *colon = length ? memrchr(text, ':', length) : NULL;
	if (colon)
		length = (size_t)(colon - text);
	if (!length)
		return 0;
	input.name = sn_db_builder_string_n(reading->builder, text, length);
	input.index = (uint32_t)node->input_count;
	if (!node->input_count++)
		node->first_input = reading->input_count;
	return sn_vec_push(&reading->inputs, &reading->input_capacity, &reading->input_count,
			   input);
}

/* Reads type and inputs from "[cpu 0.3MB 0.3MB] NAME = TYPE(INPUT, INPUT)". */
static int read_label(struct reading *reading, struct node *node, const char *text, size_t length)
{
	const char *end = text + length, *type = length ? memmem(text, length, " = ", 3) : NULL;
	const char *open = type ? memchr(type, '(', (size_t)(end - type)) : NULL;
	const char *close = open ? memrchr(open, ')', (size_t)(end - open)) : NULL;
	int result = 0;
	if (!close) {
		if (length)
			node->label = sn_db_builder_string_n(reading->builder, text, length);
		return 0;
	}
	node->type = sn_db_builder_string_n(reading->builder, type + 3, (size_t)(open - type - 3));
	for (const char *at = open + 1; at < close && !result;) {
		const char *comma = memchr(at, ',', (size_t)(close - at));
		const char *stop = comma ? comma : close;
		while (at < stop && *at == ' ')
			at++;
		result = read_input(reading, node, at, (size_t)(stop - at));
		at = stop + 1;
	}
	return result;
}

/* SONDE_NONE if there is none. */
static uint32_t find_by_name(const struct reading *reading, uint32_t name)
{
	return sn_table_find(&reading->by_name, name);
}

/* The node of a name and device, new if it is unknown; SONDE_NONE without memory. */
static uint32_t node_of(struct reading *reading, uint32_t name, uint32_t device,
			const struct sn_proto_field *label)
{
	uint32_t before = reading->node_ids.count;
	uint32_t number = sn_table_add(&reading->node_ids, sn_table_pair(name, device));
	if (number < before)
		return number;
	if (number == SN_TABLE_NONE || sn_table_put(&reading->by_name, name, number) ||
	    sn_vec_reserve(&reading->nodes, &reading->node_capacity, number + 1ull) < 0)
		return SONDE_NONE;
	struct node created = {.name = name,
			       .type = SONDE_NONE,
			       .device = device,
			       .label = SONDE_NONE,
			       .number = SONDE_NONE,
			       .graph_node = SONDE_NONE};
	int result = label->bytes
			 ? read_label(reading, &created, (const char *)label->bytes, label->length)
			 : 0;
	reading->nodes[number] = created;
	return result ? SONDE_NONE : number;
}

/* Reads the numbers of GPU and stream: "/job:localhost/replica:0/task:0/device:GPU:0/stream:7". */
static void place_device(struct device *device, const char *name)
{
	const char *stream = strstr(name, "/stream:"), *gpu = strrchr(name, '/');
	if (!stream || sscanf(stream, "/stream:%u", &device->stream) != 1)
		return;
	device->is_stream = true;
	gpu = strcasestr(name, "gpu:");
	if (gpu)
		sscanf(gpu + 4, "%u", &device->number);
}

static uint32_t device_of(struct reading *reading, uint32_t name)
{
	uint32_t before = reading->device_ids.count;
	uint32_t number = sn_table_add(&reading->device_ids, name);
	if (number == SN_TABLE_NONE ||
	    sn_vec_reserve(&reading->devices, &reading->device_capacity, number + 1ull) < 0)
		return SONDE_NONE;
	if (number == before) {
		reading->devices[number] = (struct device){.name = name};
		place_device(reading->devices + number, sn_db_builder_text(reading->builder, name));
	}
	return number;
}

/* ---- executions ---- */

/* Times in us and ns; recorders from before 2018 wrote only us. */
struct times {
	uint64_t scheduled[2], start[2], end[2]; /* us, ns; the end is relative to the start */
};

static uint64_t either(const uint64_t *values)
{
	uint64_t scaled;
	if (values[1])
		return values[1];
	return __builtin_mul_overflow(values[0], 1000, &scaled) ? 0 : scaled;
}

struct memory {
	uint64_t total, peak, temporary, persistent;
};

/* Fields of AllocatorMemoryUsed or of MemoryStats. */
static void read_memory(struct sn_proto message, bool is_allocator, struct memory *memory)
{
	struct sn_proto_field field;
	while (sn_proto_next(&message, &field)) {
		if ((int64_t)field.value < 0)
			continue;
		if (is_allocator && field.number == 2)
			memory->total += field.value;
		else if (is_allocator && field.number == 3)
			memory->peak += field.value;
		else if (!is_allocator && field.number == 1)
			memory->temporary += field.value;
		else if (!is_allocator && field.number == 3)
			memory->persistent += field.value;
	}
}

static void add_memory(struct node *node, const struct memory *memory)
{
	if (memory->total)
		sn_stat_add(&node->memory, (double)memory->total);
	if (memory->peak)
		sn_stat_add(&node->peak, (double)memory->peak);
	if (memory->temporary)
		sn_stat_add(&node->temporary, (double)memory->temporary);
	if (memory->persistent)
		sn_stat_add(&node->persistent, (double)memory->persistent);
}

/* Reads a field of NodeExecStats: a time or memory. */
static void read_node_field(const struct sn_proto_field *field, struct times *times,
			    struct memory *memory)
{
	uint64_t *const places[] = {
	    [2] = times->start,	     [5] = times->end,	    [9] = times->scheduled,
	    [13] = times->start + 1, [16] = times->end + 1, [17] = times->scheduled + 1};
	if (field->number == 6 || field->number == 12)
		read_memory(sn_proto_enter(field), field->number == 6, memory);
	else if (field->number < sizeof(places) / sizeof(*places) && places[field->number])
		*places[field->number] = field->value;
}

/* NodeExecStats */
static int read_execution(struct reading *reading, uint32_t device, struct sn_proto message)
{
	struct sn_proto_field field, label = {0};
	struct times times = {{0}, {0}, {0}};
	struct memory memory = {0};
	uint32_t name = SONDE_NONE;
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1 && field.wire == SN_PROTO_BYTES)
			name = sn_proto_string(reading->builder, &field);
		else if (field.number == 8 && field.wire == SN_PROTO_BYTES)
			label = field;
		else
			read_node_field(&field, &times, &memory);
	}
	struct execution created = {.scheduled_ns = either(times.scheduled),
				    .start_ns = either(times.start),
				    .device = device,
				    .run = reading->run_count};
	if (message.failed || name == SONDE_NONE || !created.start_ns ||
	    __builtin_add_overflow(created.start_ns, either(times.end), &created.end_ns) ||
	    created.end_ns > SN_TRACK_TIME_MAX) {
		sn_track_sink_unread(reading->sink, 1);
		return 0;
	}
	created.node = node_of(reading, name, reading->devices[device].name, &label);
	if (created.node == SONDE_NONE ||
	    sn_vec_push(&reading->executions, &reading->execution_capacity,
			&reading->execution_count, created))
		return SN_ERR_MEMORY;
	add_memory(reading->nodes + created.node, &memory);
	return 0;
}

/* DeviceStepStats */
static int read_device(struct reading *reading, struct sn_proto message)
{
	struct sn_proto_field field;
	struct sn_proto again = message;
	uint32_t device = SONDE_NONE;
	int result = 0;
	while (sn_proto_next(&again, &field))
		if (field.number == 1 && field.wire == SN_PROTO_BYTES)
			device = sn_proto_string(reading->builder, &field);
	if (device == SONDE_NONE)
		device = sn_db_builder_string(reading->builder, "");
	if (strstr(sn_db_builder_text(reading->builder, device), "/stream:all"))
		return 0;
	device = device_of(reading, device);
	if (device == SONDE_NONE)
		return SN_ERR_MEMORY;
	while (!result && sn_proto_next(&message, &field))
		if (field.number == 2 && field.wire == SN_PROTO_BYTES)
			result = read_execution(reading, device, sn_proto_enter(&field));
	sn_track_sink_unread(reading->sink, message.failed);
	return result;
}

static int read_step_stats(struct reading *reading, struct sn_proto message)
{
	struct sn_proto_field field;
	int result = 0;
	reading->run_count++;
	while (!result && sn_proto_next(&message, &field))
		if (field.number == 1 && field.wire == SN_PROTO_BYTES)
			result = read_device(reading, sn_proto_enter(&field));
	sn_track_sink_unread(reading->sink, message.failed);
	return result;
}

static int read_run_metadata(struct reading *reading, struct sn_proto message)
{
	struct sn_proto_field field;
	int result = 0;
	while (!result && sn_proto_next(&message, &field))
		if (field.number == 1 && field.wire == SN_PROTO_BYTES)
			result = read_step_stats(reading, sn_proto_enter(&field));
	sn_track_sink_unread(reading->sink, message.failed);
	return result;
}

/* An event of an event file; most contain no run. */
static int read_event(struct reading *reading, struct sn_proto message)
{
	enum { TAGGED_RUN_METADATA = 8, RUN_METADATA = 2 };
	struct sn_proto_field field, inner;
	int result = 0;
	while (!result && sn_proto_next(&message, &field)) {
		struct sn_proto tagged = sn_proto_enter(&field);
		while (field.number == TAGGED_RUN_METADATA && !result &&
		       sn_proto_next(&tagged, &inner))
			if (inner.number == RUN_METADATA && inner.wire == SN_PROTO_BYTES)
				result = read_run_metadata(reading, sn_proto_enter(&inner));
	}
	sn_track_sink_unread(reading->sink, message.failed);
	return result;
}

/* ---- files ---- */

enum form { NONE, STEP_STATS, RUN_METADATA, EVENTS };

/* Enters the message that the first field is, with as much of it as is in the head; false if the
 * first field is another one. */
static bool enter(const unsigned char **at, const unsigned char *end, unsigned tag)
{
	if (*at >= end || *(*at)++ != tag)
		return false;
	for (int i = 0; i < 10 && *at < end; i++)
		if (*(*at)++ < 0x80)
			return true;
	return false;
}

static bool is_device(const unsigned char *at, const unsigned char *end)
{
	return enter(&at, end, 1 << 3 | SN_PROTO_BYTES) && end - at > 2 && at[0] == '/' &&
	       at[1] >= 'a' && at[1] <= 'z';
}

static enum form form_of(const unsigned char *head, size_t length)
{
	const unsigned char *at = head, *end = head + length;
	if (length > RECORD_HEAD && head[RECORD_HEAD] == (1 << 3 | SN_PROTO_FIXED64) &&
	    memmem(head, length < 64 ? length : 64, "brain.Event:", 12))
		return EVENTS;
	if (!enter(&at, end, 1 << 3 | SN_PROTO_BYTES))
		return NONE;
	if (is_device(at, end))
		return STEP_STATS;
	return enter(&at, end, 1 << 3 | SN_PROTO_BYTES) && is_device(at, end) ? RUN_METADATA : NONE;
}

static bool probe(const struct sn_import_input *input)
{
	unsigned char head[256];
	const char *why;
	void *file = input->is_folder ? NULL : sn_packed_file_open(input->path);
	int64_t length = file ? sn_packed_file_read(file, head, sizeof(head), &why) : 0;
	bool is_one = length > 0 && form_of(head, (size_t)length) != NONE;
	sn_packed_file_close(file);
	return is_one;
}

struct source {
	const char *path;
	void *file;
	unsigned char *bytes;
	size_t length, capacity;
};

static int fail_reading(const struct source *source, const char *why, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", source->path, why);
}

/* Reads that many bytes more, or all that are left. */
static int read_more(struct source *source, uint64_t wanted, struct sn_error *error)
{
	const char *why = "";
	while (wanted) {
		size_t part = wanted < 1 << 16 ? (size_t)wanted : 1 << 16;
		if (sn_vec_reserve(&source->bytes, &source->capacity, source->length + part) < 0)
			return sn_fail_memory(error);
		int64_t got =
		    sn_packed_file_read(source->file, source->bytes + source->length, part, &why);
		if (got < 0)
			return fail_reading(source, why, error);
		if (!got)
			return 0;
		source->length += (size_t)got;
		wanted -= (uint64_t)got;
	}
	return 0;
}

static int read_events(struct reading *reading, struct source *source, struct sn_error *error)
{
	int result;
	for (;;) {
		uint64_t length;
		source->length = 0;
		result = read_more(source, RECORD_HEAD, error);
		if (result || !source->length)
			return result;
		if (source->length < RECORD_HEAD)
			return sn_fail(error, SN_ERR_FORMAT,
				       "cannot read '%s': it ends in the middle", source->path);
		memcpy(&length, source->bytes, sizeof(length));
		if (length > RECORD_BYTES_MAX)
			return sn_fail(error, SN_ERR_FORMAT,
				       "cannot read '%s': a record of %llu bytes", source->path,
				       (unsigned long long)length);
		source->length = 0;
		result = read_more(source, length + 4, error);
		if (result)
			return result;
		if (source->length < length)
			return sn_fail(error, SN_ERR_FORMAT,
				       "cannot read '%s': it ends in the middle", source->path);
		if (read_event(reading, sn_proto_of(source->bytes, (size_t)length)))
			return sn_fail_memory(error);
	}
}

static int read_run(struct reading *reading, struct source *source, enum form form,
		    struct sn_error *error)
{
	uint64_t before = sn_track_sink_unread_count(reading->sink);
	int result = read_more(source, RECORD_BYTES_MAX, error);
	if (result)
		return result;
	struct sn_proto message = sn_proto_of(source->bytes, source->length);
	result = form == STEP_STATS ? read_step_stats(reading, message)
				    : read_run_metadata(reading, message);
	if (result)
		return sn_fail_memory(error);
	return sn_track_sink_unread_count(reading->sink) == before
		   ? 0
		   : sn_fail(error, SN_ERR_FORMAT,
			     "cannot read '%s': it is damaged or ends in the middle", source->path);
}

static int read_file(struct reading *reading, const char *path, struct sn_error *error)
{
	struct source source = {.path = path};
	unsigned char head[256];
	const char *why = "";
	errno = 0;
	source.file = sn_packed_file_open(path);
	if (!source.file)
		return fail_reading(&source, strerror(errno ? errno : ENOMEM), error);
	int64_t length = sn_packed_file_read(source.file, head, sizeof(head), &why);
	enum form form = length > 0 ? form_of(head, (size_t)length) : NONE;
	sn_packed_file_close(source.file);
	source.file = sn_packed_file_open(path);
	int result = !source.file     ? fail_reading(&source, strerror(ENOMEM), error)
		     : form == EVENTS ? read_events(reading, &source, error)
		     : form == NONE   ? fail_reading(&source, "no run of TensorFlow", error)
				      : read_run(reading, &source, form, error);
	sn_packed_file_close(source.file);
	free(source.bytes);
	return result;
}

/* ---- results ---- */

SN_SORT_BY(sort_executions, struct execution, const void *,
	   SN_ORDER(a->start_ns, b->start_ns)
	       ?: SN_ORDER(b->end_ns, a->end_ns)
	       ?: SN_ORDER(a->node, b->node));

static void add_up(struct reading *reading)
{
	for (size_t i = 0; i < reading->execution_count; i++) {
		const struct execution *one = reading->executions + i;
		struct node *node = reading->nodes + one->node;
		uint64_t ready_ns = 0;
		for (size_t k = 0; k < node->input_count; k++) {
			const struct input *input = reading->inputs + node->first_input + k;
			uint32_t from = find_by_name(reading, input->name);
			if (from != SONDE_NONE && reading->nodes[from].last_run == one->run &&
			    reading->nodes[from].last_end_ns > ready_ns)
				ready_ns = reading->nodes[from].last_end_ns;
		}
		sn_stat_add(&node->time, (double)(one->end_ns - one->start_ns));
		if (ready_ns && ready_ns <= one->start_ns)
			sn_stat_add(&node->latency, (double)(one->start_ns - ready_ns));
		if (one->scheduled_ns && one->scheduled_ns <= one->start_ns)
			sn_stat_add(&node->queue, (double)(one->start_ns - one->scheduled_ns));
		node->last_run = one->run;
		node->last_end_ns = one->end_ns;
	}
}

/* Names a node in the sink, with its frame. */
static int name_node(struct reading *reading, struct node *node, bool is_stream)
{
	char name[1024];
	if (node->number != SONDE_NONE)
		return 0;
	snprintf(name, sizeof(name), "%s/%s", MODEL,
		 sn_db_builder_text(reading->builder, node->name));
	uint32_t text = sn_db_builder_string(reading->builder, name);
	int result = sn_track_sink_name_string(
	    reading->sink, is_stream ? SN_ACTIVITY_KERNEL : SN_ACTIVITY_OPERATOR, text,
	    &node->number);
	if (result)
		return result;
	sn_track_sink_set_frame(
	    reading->sink, node->number,
	    sn_db_builder_named_frame(reading->builder, SN_FRAME_GRAPH_NODE, name));
	return 0;
}

static uint32_t track_of(struct reading *reading, const struct execution *one)
{
	struct device *device = reading->devices + one->device;
	uint32_t lane = sn_lanes_place(&device->lanes, one->start_ns, one->end_ns);
	struct sn_track_place place = {0, -1, one->device * LANES_A_DEVICE + lane + 1, 0, 0};
	if (device->is_stream)
		place = (struct sn_track_place){1, device->number, 0, device->stream, 0};
	uint32_t track = sn_track_sink_track(reading->sink, &place);
	if (track == SONDE_NONE)
		return track;
	sn_track_sink_name_track(reading->sink, track, device->name);
	sn_track_sink_nest_track(reading->sink, track, device->is_stream);
	return track;
}

static int add_events(struct reading *reading)
{
	for (size_t i = 0; i < reading->execution_count; i++) {
		const struct execution *one = reading->executions + i;
		struct node *node = reading->nodes + one->node;
		struct sn_track_event event = {.track = track_of(reading, one),
					       .start_ns = (int64_t)one->start_ns,
					       .end_ns = (int64_t)one->end_ns};
		if (event.track == SONDE_NONE ||
		    name_node(reading, node, reading->devices[one->device].is_stream))
			return SN_ERR_MEMORY;
		event.name = node->number;
		sn_track_sink_event(reading->sink, &event);
	}
	return 0;
}

/* The device without the prefix "/job:localhost/replica:0/task:0". */
static uint32_t short_device(const struct reading *reading, uint32_t device)
{
	const char *text = sn_db_builder_text(reading->builder, device);
	const char *at = strstr(text, "/device:");
	return strstr(text, "/job:") && !strstr(text, "/job:localhost") ? device
	       : at ? sn_db_builder_string(reading->builder, at + strlen("/device:"))
		    : device;
}

static void add_node(struct reading *reading, uint32_t model, struct node *node)
{
	const struct {
		enum sonde_node_stat kind;
		const struct sonde_db_stat *stat;
	} stats[] = {{SONDE_NODE_TIME, &node->time},
		     {SONDE_NODE_LATENCY, &node->latency},
		     {SONDE_NODE_QUEUE_TIME, &node->queue},
		     {SONDE_NODE_MEMORY, &node->memory},
		     {SONDE_NODE_PEAK, &node->peak},
		     {SONDE_NODE_TEMPORARY, &node->temporary},
		     {SONDE_NODE_PERSISTENT, &node->persistent}};
	struct sonde_graph_node created = SN_GRAPH_NODE;
	created.model = model;
	created.name = node->name;
	created.type = node->type;
	created.device = short_device(reading, node->device);
	created.detail = node->label;
	created.flags = SONDE_NODE_HAS_CONTEXTS;
	node->graph_node = sn_db_builder_graph_node(reading->builder, &created);
	for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++)
		if (stats[i].stat->count > 0)
			sn_db_builder_graph_stat(reading->builder, node->graph_node, stats[i].kind,
						 stats[i].stat);
}

static void add_edges(struct reading *reading, const struct node *node)
{
	for (size_t i = 0; i < node->input_count; i++) {
		const struct input *input = reading->inputs + node->first_input + i;
		uint32_t from = find_by_name(reading, input->name);
		if (from == SONDE_NONE)
			continue;
		struct sonde_graph_edge edge = {
		    .from = reading->nodes[from].graph_node,
		    .to = node->graph_node,
		    .index = input->index,
		    .kind = input->is_control ? SONDE_EDGE_CONTROL : SONDE_EDGE_DATA,
		    .count = (uint64_t)node->time.count,
		};
		sn_db_builder_graph_edge(reading->builder, &edge);
	}
}

/* Numbers runs by their first start; executions are sorted by start. */
static int add_iterations(struct reading *reading, uint32_t model)
{
	struct sonde_graph_iteration *runs = calloc(reading->run_count + 1ull, sizeof(*runs));
	uint64_t number = 0;
	if (!runs)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < reading->execution_count; i++) {
		const struct execution *one = reading->executions + i;
		struct sonde_graph_iteration *run = runs + one->run;
		if (!run->end_ns) {
			run->number = number++;
			run->start_ns = one->start_ns;
		}
		run->end_ns = one->end_ns > run->end_ns ? one->end_ns : run->end_ns;
	}
	for (uint32_t i = 1; i <= reading->run_count; i++) {
		runs[i].model = model;
		if (runs[i].end_ns)
			sn_db_builder_graph_iteration(reading->builder, runs + i);
	}
	free(runs);
	return 0;
}

static int add_graph(struct reading *reading)
{
	struct sonde_graph_model model = SN_GRAPH_MODEL;
	model.name = sn_db_builder_string(reading->builder, MODEL);
	model.source = sn_db_builder_string(reading->builder, "TensorFlow session");
	model.edges_by = sn_db_builder_string(reading->builder, "the session's graph");
	model.iterations_by = sn_db_builder_string(reading->builder, "runs");
	sn_track_sink_sign(reading->sink, &model);
	uint32_t created = sn_db_builder_graph_model(reading->builder, &model);
	for (uint32_t i = 0; i < reading->node_ids.count; i++)
		add_node(reading, created, reading->nodes + i);
	for (uint32_t i = 0; i < reading->node_ids.count; i++)
		add_edges(reading, reading->nodes + i);
	return add_iterations(reading, created);
}

static int make(struct reading *reading, const struct sn_import_request *request,
		struct sn_error *error)
{
	if (!reading->execution_count)
		return sn_fail(error, SN_ERR_FORMAT,
			       "'%s' has no run of TensorFlow with recorded operations",
			       request->paths[0]);
	sort_executions(reading->executions, reading->execution_count, NULL);
	add_up(reading);
	if (add_events(reading))
		return sn_fail_memory(error);
	int result = sn_track_sink_build(reading->sink, 1, error);
	if (!result && add_graph(reading))
		result = sn_fail_memory(error);
	if (!result)
		sn_track_sink_finish(reading->sink);
	return result;
}

static void release(struct reading *reading)
{
	sn_track_sink_free(reading->sink);
	sn_table_release(&reading->node_ids);
	sn_table_release(&reading->by_name);
	sn_table_release(&reading->device_ids);
	free(reading->nodes);
	free(reading->inputs);
	free(reading->executions);
	free(reading->devices);
	free(reading);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	if (!reading)
		return sn_fail_memory(error);
	reading->builder = builder;
	reading->sink = sn_track_sink_new("step_stats", builder, request);
	int result = reading->sink ? sn_track_sink_open(reading->sink, request->paths[0], error)
				   : sn_fail_memory(error);
	if (!result)
		sn_track_sink_set_program(reading->sink, sn_db_builder_string(builder, "python"));
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_file(reading, request->paths[i], error);
	if (!result)
		result = make(reading, request, error);
	release(reading);
	return result;
}

const struct sn_importer sn_importer_step_stats = {
    .name = "step_stats",
    .probe = probe,
    .read = read_all,
};
