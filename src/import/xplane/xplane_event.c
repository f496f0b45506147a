/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of an XPlane file: the category, track, name and node of each.
 *
 * Streams of GPUs have kernels, copies and fills. The other lines of a GPU's plane ("XLA Ops",
 * "Steps", "Source code", ...) are derived from these; their events are kept, but as annotations,
 * not as time in which something ran. On a device without streams, the line "XLA Ops" has the
 * operations that ran, nested; those of "Async XLA Ops" overlap with them.
 */
#include "xla_details.h"
#include "xplane.h"

#include "base/text.h"
#include "base/vec.h"
#include "import/core/track_sink.h"
#include "format/measurement/measurement.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define EVENT_BYTES_MAX (16u << 20)
/* links of contexts passed between threads; correlation numbers are smaller */
#define CONTEXT_LINK	(1ull << 47)
/* larger "thread ids" are hashes */
#define THREAD_ID_MAX	(1ll << 31)

/* How the events of a line are read. */
enum manner {
	HOST,	    /* calls of a thread */
	STREAM,	    /* operations that calls launched */
	OPERATIONS, /* nested operations that no call launched */
	DERIVED,    /* annotations derived from other lines */
	OVERLAPPING /* other activities of a device */
};

/* The begin of a wait for an array, whose end has not been read. */
struct await {
	bool is_there;
	struct sn_track_event event;
	struct sn_track_attributes attributes;
};

struct line {
	struct sn_xplane_plane *plane;
	struct await *await;
	bool is_open;
	uint32_t number; /* the sink's */
	enum manner manner;
	bool has_copies_alone; /* a stream's "MemcpyOther": everything on it is a copy */
	int64_t start_ns;
	uint32_t device; /* builder's string; SONDE_NONE on the host */
};

/* The data of an event, from its statistics. */
struct facts {
	struct sn_track_attributes attributes;
	bool is_there[SN_XPLANE_ROLES];
	unsigned char types[SN_XPLANE_ROLES]; /* enum sonde_attribute_type */
	uint64_t values[SN_XPLANE_ROLES];
	struct sn_proto_field details;
	char details_text[256]; /* a copy of details that are stored by reference */
	int64_t start_ns, end_ns;
	bool has_time;
};

/* ---- statistics of an event ---- */

static void put(struct facts *facts, uint32_t key, uint64_t value)
{
	if (key != SONDE_NONE)
		sn_track_attributes_put(&facts->attributes, key, value);
}

static uint32_t key_of(struct sn_xplane *xplane, struct sn_xplane_stat_kind *kind,
		       enum sonde_attribute_type type)
{
	if (kind->keys[type] == SONDE_NONE)
		kind->keys[type] =
		    sn_trace_writer_key(xplane->writer, kind->name, SONDE_NONE, type);
	return kind->keys[type];
}

static bool is_attribute(enum sn_xplane_role role)
{
	return role == SN_XPLANE_PASSED_ON || role == SN_XPLANE_STEP || role == SN_XPLANE_RUN ||
	       role == SN_XPLANE_PROCESS || role == SN_XPLANE_START_TIME ||
	       role == SN_XPLANE_ALLOCATED || role >= SN_XPLANE_ID;
}

/* Stores the details. Details by reference are a text of the builder, so they are copied, because
 * the builder's texts move when a string is added. */
static void set_details(const struct sn_xplane *xplane, const struct sn_xplane_stat *stat,
			struct facts *facts)
{
	facts->details = stat->contents;
	if (stat->contents.number != 7 || stat->type != SONDE_ATTRIBUTE_STRING)
		return;
	snprintf(facts->details_text, sizeof(facts->details_text), "%s",
		 sn_xplane_text(xplane, (uint32_t)stat->value));
	facts->details.bytes = (const void *)facts->details_text;
	facts->details.length = strlen(facts->details_text);
}

static void read_stat(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		      struct sn_proto message, struct facts *facts)
{
	struct sn_xplane_stat stat;
	if (!sn_xplane_stat(xplane, plane, message, &stat) || !stat.type)
		return;
	facts->is_there[stat.kind->role] = true;
	facts->types[stat.kind->role] = (unsigned char)stat.type;
	facts->values[stat.kind->role] = stat.value;
	if (stat.kind->role == SN_XPLANE_DETAILS)
		set_details(xplane, &stat, facts);
	if (is_attribute(stat.kind->role))
		put(facts, key_of(xplane, stat.kind, stat.type), stat.value);
}

/* Reads the statistics common to all events of a name. The event's own are read later and
 * override them. */
static void read_common_stats(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
			      const struct sn_xplane_kind *kind, struct facts *facts)
{
	for (size_t at = kind->stats_at; at < kind->stats_at + kind->stat_bytes;)
		read_stat(xplane, plane, sn_xplane_kept_stat(plane, &at), facts);
}

static void read_details(struct sn_xplane *xplane, struct facts *facts)
{
	struct sn_attribute found[SN_XLA_DETAILS_MAX];
	unsigned count = sn_xla_details((const char *)facts->details.bytes, facts->details.length,
					sn_track_sink_keys(xplane->sink), found);
	for (unsigned i = 0; i < count; i++)
		put(facts, found[i].key, found[i].value);
}

/* ---- categories and names ---- */

static bool is_tensorflow_type(const char *text)
{
	if (*text != '_' && !isupper((unsigned char)*text))
		return false;
	while (*text == '_' || isalnum((unsigned char)*text))
		text++;
	return !*text;
}

/* The type in a node's name, "gradient_tape/mul/Mul:Mul"; NULL if it is not such a name. */
static const char *tensorflow_type(const char *text)
{
	const char *colon = strchr(text, ':');
	if (!colon || colon == text || !is_tensorflow_type(colon + 1))
		return NULL;
	for (const char *at = text; at < colon; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._/->", *at))
			return NULL;
	return colon + 1;
}

static uint32_t tensorflow_node(struct sn_xplane *xplane, uint32_t string)
{
	char name[1024], type_text[256];
	const char *text = sn_xplane_text(xplane, string), *type = tensorflow_type(text);
	if (!type || strlen(text) >= sizeof(name) || strlen(type) >= sizeof(type_text))
		return SONDE_NONE;
	snprintf(name, sizeof(name), "%.*s", (int)(type - 1 - text), text);
	snprintf(type_text, sizeof(type_text), "%s", type);
	struct sn_db_builder *builder = xplane->builder;
	return sn_xplane_tensorflow_node(xplane, sn_db_builder_string(builder, name),
					 sn_db_builder_string(builder, type_text));
}

static enum sn_activity_category host_category(const struct sn_xplane *xplane,
					       const struct sn_xplane_kind *kind,
					       const struct facts *facts)
{
	const char *name = sn_xplane_text(xplane, kind->name);
	if (facts->is_there[SN_XPLANE_CORRELATION])
		return SN_ACTIVITY_API;
	if (facts->is_there[SN_XPLANE_HLO_OP])
		return SN_ACTIVITY_OPERATOR;
	if (*name == '$')
		return SN_ACTIVITY_PYTHON;
	if (facts->is_there[SN_XPLANE_ALLOCATION] && !strncmp(name, "Memory", 6))
		return SN_ACTIVITY_INSTANT;
	if (facts->is_there[SN_XPLANE_STEP])
		return SN_ACTIVITY_ANNOTATION;
	if (tensorflow_type(name))
		return SN_ACTIVITY_OPERATOR;
	return facts->end_ns == facts->start_ns ? SN_ACTIVITY_INSTANT : SN_ACTIVITY_OTHER;
}

/* AMD's runtime names copies "CopyDeviceToDevice". */
static bool is_copy_name(const char *name)
{
	return !strncasecmp(name, "memcpy", 6) ||
	       (!strncmp(name, "Copy", 4) && strstr(name + 4, "To"));
}

/* Whether a stream's line has only copies: its name lists the kinds, "Stream #8(MemcpyOther)". */
static bool are_copies(const char *line)
{
	const char *kinds = strchr(line, '(');
	return kinds && !strncmp(kinds + 1, "Memcpy", 6) && !strstr(kinds, "Kernel") &&
	       !strstr(kinds, "Compute") && !strstr(kinds, "Memset");
}

static enum sn_activity_category stream_category(const struct sn_xplane *xplane,
						 const struct line *line,
						 const struct sn_xplane_kind *kind,
						 const struct facts *facts)
{
	const char *name = sn_xplane_text(xplane, kind->name);
	uint64_t numbers[3];
	if (!strncasecmp(name, "memset", 6))
		return SN_ACTIVITY_FILL;
	if (line->has_copies_alone || is_copy_name(name) ||
	    sn_xla_numbers((const char *)facts->details.bytes, facts->details.length,
			   "size:", numbers))
		return SN_ACTIVITY_COPY;
	return SN_ACTIVITY_KERNEL;
}

static enum sn_activity_category category_of(const struct sn_xplane *xplane,
					     const struct line *line,
					     const struct sn_xplane_kind *kind,
					     const struct facts *facts)
{
	switch (line->manner) {
	case HOST:
		return host_category(xplane, kind, facts);
	case STREAM:
		return stream_category(xplane, line, kind, facts);
	case OPERATIONS:
		return SN_ACTIVITY_KERNEL;
	case DERIVED:
		return SN_ACTIVITY_DEVICE_ANNOTATION;
	default:
		return SN_ACTIVITY_DEVICE_OTHER;
	}
}

/* Writes names of Python frames as other tracers do: "$array.py:268 sharding" as "array.py(268):
 * sharding", "$builtins isinstance" as "builtins.isinstance". */
static void python_name(const char *text, char *name, size_t size)
{
	const char *space = strchr(text, ' ');
	const char *colon = strchr(text, ':');
	if (!space)
		snprintf(name, size, "%s", text + 1);
	else if (colon && colon < space && isdigit((unsigned char)colon[1]))
		snprintf(name, size, "%.*s(%.*s): %s", (int)(colon - text - 1), text + 1,
			 (int)(space - colon - 1), colon + 1, space + 1);
	else
		snprintf(name, size, "%.*s.%s", (int)(space - text - 1), text + 1, space + 1);
}

/* The sink's number for the name of a kind of event, in a category. */
static int plain_name(struct sn_xplane *xplane, struct sn_xplane_kind *kind,
		      enum sn_activity_category category, uint32_t *number)
{
	char name[4096];
	uint32_t string = category == SN_ACTIVITY_KERNEL && kind->display != SONDE_NONE
			      ? kind->display
			      : kind->name;
	if (kind->number != SONDE_NONE && kind->category == (uint32_t)category) {
		*number = kind->number;
		return 0;
	}
	const char *text = sn_xplane_text(xplane, string);
	if (category == SN_ACTIVITY_PYTHON)
		python_name(text, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s", text);
	size_t length = strlen(name);
	/* a kernel's descriptor in AMD's code objects has this ending */
	if (category == SN_ACTIVITY_KERNEL && length > 3 && !strcmp(name + length - 3, ".kd"))
		length -= 3;
	int result = sn_track_sink_name(xplane->sink, category, name, length, number);
	kind->category = category;
	kind->number = *number;
	return result;
}

/* The sink's name of a node, with the node's frame. */
static int node_name(struct sn_xplane *xplane, enum sn_activity_category category, uint32_t node,
		     uint32_t *number)
{
	uint32_t frame = sn_xplane_node_frame(xplane, node);
	int result =
	    frame == SONDE_NONE
		? SN_ERR_MEMORY
		: sn_track_sink_name_string(xplane->sink, category,
					    xplane->programs.nodes[node].frame_name, number);
	if (!result)
		sn_track_sink_set_frame(xplane->sink, *number, frame);
	return result;
}

/* Makes an annotation that has a step number an iteration. */
static void step_name(struct sn_xplane *xplane, uint32_t name)
{
	struct sonde_db_frame frame = {
	    .kind = SN_FRAME_REGION,
	    .flags = SN_FRAME_ITERATION,
	    .name = sn_track_sink_text(xplane->sink, name),
	    .linkage_name = SONDE_NONE,
	    .module = SONDE_NONE,
	    .file = SONDE_NONE,
	};
	sn_track_sink_set_frame(xplane->sink, name, sn_db_builder_frame(xplane->builder, &frame));
}

/* The name of a program whose code the file may not have: that of the event of the whole program,
 * "jit_step(77)". */
static uint32_t program_name(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
			     uint64_t program)
{
	char tail[32];
	int tail_length = snprintf(tail, sizeof(tail), "(%llu)", (unsigned long long)program);
	if (plane->program_name && plane->named_program == program)
		return plane->program_name;
	plane->named_program = program;
	plane->program_name = sn_db_builder_string(xplane->builder, "XLA");
	for (uint32_t i = 0; i < plane->kind_ids.count; i++) {
		const char *name = sn_xplane_text(xplane, plane->kinds[i].name);
		size_t length = strlen(name), cut = length - (size_t)tail_length;
		if (length > (size_t)tail_length && !strcmp(name + cut, tail)) {
			plane->program_name = sn_db_builder_string_n(xplane->builder, name, cut);
			break;
		}
	}
	return plane->program_name;
}

/* The node for which an event ran, or SONDE_NONE. */
static uint32_t find_node(struct sn_xplane *xplane, const struct line *line,
			  const struct sn_xplane_kind *kind, const struct facts *facts)
{
	bool is_operation = line->manner == OPERATIONS && facts->is_there[SN_XPLANE_PROGRAM];
	if (line->manner != HOST && line->manner != STREAM && !is_operation)
		return SONDE_NONE;
	if (facts->is_there[SN_XPLANE_HLO_OP] || is_operation) {
		uint64_t program = facts->values[SN_XPLANE_PROGRAM];
		uint32_t name = facts->is_there[SN_XPLANE_HLO_OP]
				    ? (uint32_t)facts->values[SN_XPLANE_HLO_OP]
				: kind->display != SONDE_NONE ? kind->display
							      : kind->name;
		return sn_xplane_node(xplane, facts->is_there[SN_XPLANE_PROGRAM], program,
				      facts->is_there[SN_XPLANE_HLO_MODULE]
					  ? (uint32_t)facts->values[SN_XPLANE_HLO_MODULE]
					  : program_name(xplane, line->plane, program),
				      name);
	}
	if (line->manner == HOST && !facts->is_there[SN_XPLANE_CORRELATION])
		return tensorflow_node(xplane, kind->name);
	return facts->is_there[SN_XPLANE_TF_OP]
		   ? tensorflow_node(xplane, (uint32_t)facts->values[SN_XPLANE_TF_OP])
		   : SONDE_NONE;
}

/* ---- adding events ---- */

static uint64_t link_of(struct sn_xplane *xplane, const struct facts *facts)
{
	if (facts->is_there[SN_XPLANE_CORRELATION])
		return facts->values[SN_XPLANE_CORRELATION];
	bool is_consumer = facts->is_there[SN_XPLANE_CONSUMER];
	if (!is_consumer && !facts->is_there[SN_XPLANE_PRODUCER])
		return 0;
	uint64_t key[2] = {
	    facts->values[is_consumer ? SN_XPLANE_CONSUMER_TYPE : SN_XPLANE_PRODUCER_TYPE],
	    facts->values[is_consumer ? SN_XPLANE_CONSUMER : SN_XPLANE_PRODUCER]};
	uint32_t number = sn_intern_add(&xplane->contexts, key, sizeof(key));
	return number == SN_INTERN_NONE ? 0 : CONTEXT_LINK | number;
}

/* Adds an allocation or release as in other recordings: bytes, negative if released. */
static void put_allocation(struct sn_xplane *xplane, const struct sn_xplane_kind *kind,
			   struct facts *facts)
{
	int64_t bytes = (int64_t)facts->values[SN_XPLANE_ALLOCATION];
	const uint32_t *keys = sn_track_sink_keys(xplane->sink);
	bool is_release = strstr(sn_xplane_text(xplane, kind->name), "Dealloc") != NULL;
	put(facts, keys[SN_TRACK_KEY_BYTES], (uint64_t)(is_release ? -bytes : bytes));
	if (facts->is_there[SN_XPLANE_ALLOCATED])
		put(facts, keys[SN_TRACK_KEY_ALLOCATED], facts->values[SN_XPLANE_ALLOCATED]);
}

static int note_step(struct sn_xplane *xplane, const struct facts *facts)
{
	struct sn_xplane_run step = {(uint64_t)(facts->start_ns + SN_TRACK_TIME_MAX),
				     (uint64_t)(facts->end_ns + SN_TRACK_TIME_MAX)};
	return sn_vec_push(&xplane->steps, &xplane->step_capacity, &xplane->step_count, step);
}

/* ---- TensorFlow's executor ---- */

static uint32_t text_in(const struct facts *facts, enum sn_xplane_role role)
{
	return facts->is_there[role] && facts->types[role] == SONDE_ATTRIBUTE_STRING
		   ? (uint32_t)facts->values[role]
		   : SONDE_NONE;
}

static enum sn_xplane_region region_of(const struct sn_xplane *xplane, const struct facts *facts)
{
	const char *text = sn_xplane_text(xplane, text_in(facts, SN_XPLANE_REGION));
	return !strncmp(text, "temp", 4)      ? SN_XPLANE_TEMPORARY
	       : !strncmp(text, "persist", 7) ? SN_XPLANE_PERSISTENT
					      : SN_XPLANE_OUTPUT;
}

/* Stores a mark: an event that tells how operations were run, without being one. */
static void add_mark(struct sn_xplane *xplane, const struct line *line,
		     const struct sn_xplane_kind *kind, const struct facts *facts)
{
	static const enum sn_xplane_role numbers[] = {
	    [SN_XPLANE_MARK_SCHEDULED] = SN_XPLANE_PRODUCER,
	    [SN_XPLANE_MARK_STARTED] = SN_XPLANE_CONSUMER,
	    [SN_XPLANE_MARK_CALL] = SN_XPLANE_ID,
	    [SN_XPLANE_MARK_EXECUTION] = SN_XPLANE_ID,
	    [SN_XPLANE_MARK_PROCESS] = SN_XPLANE_ID,
	    [SN_XPLANE_MARK_ASYNC_BEGIN] = SN_XPLANE_PRODUCER,
	    [SN_XPLANE_MARK_ASYNC_END] = SN_XPLANE_CONSUMER,
	    [SN_XPLANE_MARK_ALLOCATION] = SN_XPLANE_ALLOCATION,
	};
	enum sn_xplane_role number = numbers[kind->mark];
	struct sn_xplane_mark mark = {
	    .start_ns = (uint64_t)(facts->start_ns + SN_TRACK_TIME_MAX),
	    .end_ns = (uint64_t)(facts->end_ns + SN_TRACK_TIME_MAX),
	    .line = line->number,
	    .name = SONDE_NONE,
	    .node = SONDE_NONE,
	    .kind = (uint8_t)kind->mark,
	};
	if (kind->mark == SN_XPLANE_MARK_CALL) {
		mark.name = text_in(facts, SN_XPLANE_FUNCTION);
	} else if (!facts->is_there[number]) {
		return;
	}
	mark.number = facts->values[number];
	if (kind->mark == SN_XPLANE_MARK_ALLOCATION) {
		mark.name = text_in(facts, SN_XPLANE_TF_OP);
		mark.end_ns = facts->values[SN_XPLANE_REQUESTED];
		mark.region = region_of(xplane, facts);
	}
	if (kind->mark == SN_XPLANE_MARK_ASYNC_BEGIN) {
		uint32_t name = text_in(facts, SN_XPLANE_NODE);
		uint32_t type = text_in(facts, SN_XPLANE_KERNEL_TYPE);
		if (name == SONDE_NONE || type == SONDE_NONE)
			return;
		mark.node = sn_xplane_tensorflow_node(xplane, name, type);
	}
	enum sn_xplane_role of =
	    kind->mark == SN_XPLANE_MARK_ALLOCATION ? SN_XPLANE_ID : SN_XPLANE_STEP_ID;
	mark.has_execution = facts->is_there[of];
	mark.execution = facts->values[of];
	if (mark.name != SONDE_NONE || mark.node != SONDE_NONE ||
	    (kind->mark != SN_XPLANE_MARK_ALLOCATION && kind->mark != SN_XPLANE_MARK_CALL &&
	     kind->mark != SN_XPLANE_MARK_ASYNC_BEGIN))
		sn_xplane_add_mark(xplane, &mark);
}

/* Stores an operation of TensorFlow on the host as a mark; false if it is not one, or not kept. */
static bool add_operation_mark(struct sn_xplane *xplane, const struct facts *facts,
			       const struct sn_xplane_ran *ran)
{
	uint32_t module = xplane->programs.nodes[ran->node].module;
	struct sn_xplane_mark mark = {
	    .start_ns = ran->start_ns,
	    .end_ns = ran->end_ns,
	    .execution = facts->values[SN_XPLANE_STEP_ID],
	    .line = ran->line,
	    .node = ran->node,
	    .name = ran->name,
	    .kind = SN_XPLANE_MARK_OPERATION,
	    .has_execution = facts->is_there[SN_XPLANE_STEP_ID],
	};
	return ran->device == SONDE_NONE && xplane->programs.modules[module].is_tensorflow &&
	       sn_xplane_add_mark(xplane, &mark);
}

static int note_ran(struct sn_xplane *xplane, const struct line *line, const struct facts *facts,
		    uint32_t node, uint32_t name)
{
	struct sn_xplane_ran ran = {
	    .node = node,
	    .name = name,
	    .line = line->number,
	    .device = line->device,
	    .has_run = facts->is_there[SN_XPLANE_RUN],
	    .run = facts->values[SN_XPLANE_RUN],
	    .start_ns = (uint64_t)(facts->start_ns + SN_TRACK_TIME_MAX),
	    .end_ns = (uint64_t)(facts->end_ns + SN_TRACK_TIME_MAX),
	};
	return add_operation_mark(xplane, facts, &ran) ? 0 : sn_xplane_ran(xplane, &ran);
}

/* Determines the name under which an event is recorded, and notes what ran for a node. */
static int name_event(struct sn_xplane *xplane, const struct line *line,
		      struct sn_xplane_kind *kind, enum sn_activity_category category,
		      const struct facts *facts, uint32_t *name)
{
	uint32_t node = find_node(xplane, line, kind, facts), outer;
	int result;
	if (category == SN_ACTIVITY_INSTANT && facts->is_there[SN_XPLANE_ALLOCATION]) {
		*name = xplane->memory_name;
		return 0;
	}
	/* an operator on the host, or an operation of a device without streams, is
	 * the node itself */
	if (node != SONDE_NONE &&
	    (category == SN_ACTIVITY_OPERATOR || line->manner == OPERATIONS)) {
		result = node_name(xplane, category, node, name);
		return result ? result : note_ran(xplane, line, facts, node, *name);
	}
	result = plain_name(xplane, kind, category, name);
	if (!result && category == SN_ACTIVITY_ANNOTATION)
		step_name(xplane, *name);
	if (!result && category == SN_ACTIVITY_ANNOTATION)
		result = note_step(xplane, facts);
	if (result || node == SONDE_NONE)
		return result;
	result = node_name(xplane,
			   line->manner == HOST ? SN_ACTIVITY_OTHER : SN_ACTIVITY_DEVICE_ANNOTATION,
			   node, &outer);
	if (!result)
		result = sn_track_sink_name_within(
		    xplane->sink, category, sn_track_sink_text(xplane->sink, *name), outer, name);
	/* what calls started counts as the node's time, not the calls */
	return result || line->manner == HOST ? result : note_ran(xplane, line, facts, node, *name);
}

/* Passes an event to the graphs only. */
static int add_to_graph(struct sn_xplane *xplane, const struct line *line,
			struct sn_xplane_kind *kind, enum sn_activity_category category,
			const struct facts *facts)
{
	uint32_t node, name;
	if (category == SN_ACTIVITY_ANNOTATION)
		return note_step(xplane, facts);
	node = find_node(xplane, line, kind, facts);
	if (node == SONDE_NONE || (line->manner == HOST && category != SN_ACTIVITY_OPERATOR))
		return 0;
	int result = plain_name(xplane, kind, category, &name);
	return result ? result : note_ran(xplane, line, facts, node, name);
}

static void end_await(struct sn_xplane *xplane, struct await *begun)
{
	if (begun->is_there)
		sn_track_sink_event(xplane->sink, &begun->event);
	begun->is_there = false;
}

/* XLA records a thread's wait for an array as two moments, its begin and its end, of one context. So
 * the begin lasts until the end. */
static void add_await(struct sn_xplane *xplane, const struct line *line, const struct facts *facts,
		      const struct sn_track_event *event)
{
	struct await *begun = line->await;
	bool is_end = facts->is_there[SN_XPLANE_CONSUMER];
	if (is_end && begun->is_there && begun->event.link == event->link &&
	    event->start_ns > begun->event.end_ns)
		begun->event.end_ns = event->start_ns;
	end_await(xplane, begun);
	if (is_end) {
		sn_track_sink_event(xplane->sink, event);
		return;
	}
	*begun = (struct await){true, *event, facts->attributes};
	begun->event.attributes = begun->attributes.items;
}

static int add(struct sn_xplane *xplane, const struct line *line, struct sn_xplane_kind *kind,
	       struct facts *facts)
{
	enum sn_activity_category category = category_of(xplane, line, kind, facts);
	uint32_t name;
	if (!facts->has_time || facts->start_ns < -SN_TRACK_TIME_MAX ||
	    facts->end_ns > SN_TRACK_TIME_MAX || facts->end_ns < facts->start_ns) {
		sn_track_sink_untimed(xplane->sink, 1);
		return 0;
	}
	if (kind->mark && line->manner == HOST)
		add_mark(xplane, line, kind, facts);
	if (xplane->graphs_only)
		return add_to_graph(xplane, line, kind, category, facts);
	if (facts->details.length)
		read_details(xplane, facts);
	int result = name_event(xplane, line, kind, category, facts, &name);
	if (result)
		return result;
	if (category == SN_ACTIVITY_INSTANT && facts->is_there[SN_XPLANE_ALLOCATION])
		put_allocation(xplane, kind, facts);
	struct sn_track_event event = {
	    .track = line->number,
	    .name = name,
	    .start_ns = facts->start_ns,
	    .end_ns = facts->end_ns,
	    .link = link_of(xplane, facts),
	    .attributes = facts->attributes.items,
	    .attribute_count = facts->attributes.count,
	};
	if (line->manner == HOST && event.link &&
	    sn_text_ends(sn_xplane_text(xplane, kind->name), "Buffer::Await"))
		add_await(xplane, line, facts, &event);
	else
		sn_track_sink_event(xplane->sink, &event);
	return 0;
}

/* Converts picoseconds to nanoseconds, rounding down. */
static int64_t to_ns(int64_t ps)
{
	return ps / 1000 - (ps % 1000 < 0);
}

static int read_event_message(struct sn_xplane *xplane, const struct line *line,
			      struct sn_proto message)
{
	struct sn_xplane_plane *plane = line->plane;
	struct sn_proto again = message;
	struct sn_proto_field field;
	struct facts facts;
	uint64_t id = 0, offset_ps = 0, duration_ps = 0;
	bool has_offset = true;
	facts.attributes.count = 0;
	facts.details = (struct sn_proto_field){0};
	memset(facts.is_there, 0, sizeof(facts.is_there));
	memset(facts.values, 0, sizeof(facts.values));
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			offset_ps = field.value;
		else if (field.number == 3)
			duration_ps = field.value;
		else if (field.number == 5) /* a sum of several occurrences, without a time */
			has_offset = false;
	}
	uint32_t number = sn_table_find(&plane->kind_ids, id);
	if (message.failed || number == SN_TABLE_NONE) {
		sn_track_sink_unread(xplane->sink, 1);
		return 0;
	}
	int64_t end_ps;
	facts.has_time =
	    has_offset &&
	    !__builtin_add_overflow((int64_t)offset_ps, (int64_t)duration_ps, &end_ps) &&
	    (int64_t)duration_ps >= 0;
	facts.start_ns = facts.end_ns = line->start_ns;
	if (facts.has_time &&
	    (__builtin_add_overflow(line->start_ns, to_ns((int64_t)offset_ps), &facts.start_ns) ||
	     __builtin_add_overflow(line->start_ns, to_ns(end_ps), &facts.end_ns)))
		facts.has_time = false;
	read_common_stats(xplane, plane, plane->kinds + number, &facts);
	while (sn_proto_next(&again, &field))
		if (field.number == 4)
			read_stat(xplane, plane, sn_proto_enter(&field), &facts);
	return add(xplane, line, plane->kinds + number, &facts);
}

/* ---- lines ---- */

static enum manner manner_of(const struct sn_xplane_plane *plane, const char *name)
{
	if (!plane->is_device)
		return HOST;
	if (!strncmp(name, "Stream #", 8))
		return STREAM;
	if (plane->has_streams)
		return DERIVED;
	if (!strcmp(name, "XLA Ops"))
		return OPERATIONS;
	if (!strcmp(name, "Async XLA Ops") || !strcmp(name, "XLA TraceMe"))
		return OVERLAPPING;
	static const char *const derived[] = {
	    "Steps",	   "XLA Modules",      "Framework Ops", "Framework Name Scope",
	    "Source code", "TensorFlow Ops",   "Launch Stats",	"TensorFlow Name Scope",
	    "Source",	   "Host Offload Ops", "_counters_",	"Scope range id tree"};
	for (size_t i = 0; i < sizeof(derived) / sizeof(*derived); i++)
		if (!strcmp(name, derived[i]))
			return DERIVED;
	return plane->has_operations ? DERIVED : OPERATIONS;
}

/* The fields of a line before its first event. */
struct head {
	int64_t id, start_ns;
	char name[256];
};

static uint32_t line_name(struct sn_xplane *xplane, const struct head *head)
{
	char id[32];
	snprintf(id, sizeof(id), "/%lld", (long long)head->id);
	size_t length = strlen(head->name), tail = strlen(id);
	if (length > tail && !strcmp(head->name + length - tail, id))
		length -= tail;
	return length ? sn_db_builder_string_n(xplane->builder, head->name, length) : SONDE_NONE;
}

static int open_line(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		     const struct head *head, struct line *line)
{
	struct sn_track_sink *sink = xplane->sink;
	unsigned stream;
	*line = (struct line){
	    .plane = plane,
	    .await = line->await,
	    .manner = manner_of(plane, head->name),
	    .start_ns = head->start_ns,
	    .device = plane->is_device ? plane->name : SONDE_NONE,
	};
	/* old profiles have times since the epoch, newer ones since the profile's begin */
	if (head->start_ns >= 0 && (uint64_t)head->start_ns < xplane->start_time_ns / 2)
		line->start_ns += (int64_t)xplane->start_time_ns;
	line->has_copies_alone = line->manner == STREAM && are_copies(head->name);
	bool is_stream = sscanf(head->name, "Stream #%u", &stream) == 1;
	struct sn_track_place place = {0, xplane->pid, head->id, 0, 0};
	if (plane->is_device)
		place = (struct sn_track_place){1, plane->device, plane->core,
						is_stream ? (int64_t)stream : head->id, !is_stream};
	line->number = sn_track_sink_track(sink, &place);
	if (line->number == SONDE_NONE)
		return SN_ERR_MEMORY;
	line->is_open = true;
	sn_track_sink_name_track(sink, line->number, line_name(xplane, head));
	sn_track_sink_nest_track(sink, line->number,
				 line->manner == OPERATIONS || line->manner == DERIVED);
	/* a thread whose id is a hash gets a number of its own */
	if (!plane->is_device && (head->id < 0 || head->id > THREAD_ID_MAX))
		sn_track_sink_set_track_tid(sink, line->number, line->number + 1);
	if (plane->is_device)
		sn_track_sink_set_track_pid(sink, line->number, xplane->pid);
	return 0;
}

static int read_head(struct sn_xplane *xplane, struct sn_proto_field *field, struct head *head,
		     struct sn_error *error)
{
	if (field->number == 1)
		head->id = (int64_t)field->value;
	if (field->number == 3)
		head->start_ns = (int64_t)field->value;
	if (field->number != 2 || field->wire != SN_PROTO_BYTES || field->length > EVENT_BYTES_MAX)
		return 0;
	int result = sn_proto_stream_load(&xplane->stream, field, error);
	if (!result)
		snprintf(head->name, sizeof(head->name), "%.*s",
			 (int)(field->length < sizeof(head->name) ? field->length
								  : sizeof(head->name) - 1),
			 (const char *)field->bytes);
	return result;
}

static int read_event(struct sn_xplane *xplane, const struct line *line,
		      struct sn_proto_field *field, struct sn_error *error)
{
	if (field->length > EVENT_BYTES_MAX) {
		xplane->oversized++;
		return 0;
	}
	int result = sn_proto_stream_load(&xplane->stream, field, error);
	if (result)
		return result;
	result = read_event_message(xplane, line, sn_proto_enter(field));
	return result ? sn_fail_memory(error) : 0;
}

static int read_line(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		     struct sn_error *error)
{
	struct head head = {0};
	struct await await = {0};
	struct line line = {.await = &await};
	struct sn_proto_field field;
	int found = sn_proto_stream_enter(&xplane->stream, error);
	while (!found && (found = sn_proto_stream_next(&xplane->stream, &field, error)) > 0) {
		found = 0;
		if (field.number == 4 && field.wire == SN_PROTO_BYTES) {
			if (!line.is_open && open_line(xplane, plane, &head, &line))
				found = sn_fail_memory(error);
			if (!found)
				found = read_event(xplane, &line, &field, error);
		} else if (!line.is_open) {
			found = read_head(xplane, &field, &head, error);
		}
	}
	end_await(xplane, &await);
	return found ? found : sn_proto_stream_leave(&xplane->stream, error);
}

static int read_plane(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		      struct sn_error *error)
{
	struct sn_proto_field field;
	int found = sn_proto_stream_enter(&xplane->stream, error);
	while (!found && (found = sn_proto_stream_next(&xplane->stream, &field, error)) > 0)
		found = field.number == 3 && field.wire == SN_PROTO_BYTES
			    ? read_line(xplane, plane, error)
			    : 0;
	return found ? found : sn_proto_stream_leave(&xplane->stream, error);
}

int sn_xplane_events(struct sn_xplane *xplane, struct sn_error *error)
{
	struct sn_proto_field field;
	size_t plane = 0;
	int found = sn_track_sink_name(xplane->sink, SN_ACTIVITY_INSTANT, "[memory]", 8,
				       &xplane->memory_name);
	if (found)
		return sn_fail_memory(error);
	while (!found && (found = sn_proto_stream_next(&xplane->stream, &field, error)) > 0) {
		found = 0;
		/* if the file changed between the passes, its planes may differ */
		if (field.number == 1 && field.wire == SN_PROTO_BYTES &&
		    plane < xplane->plane_count)
			found = read_plane(xplane, xplane->planes + plane++, error);
	}
	return found;
}
