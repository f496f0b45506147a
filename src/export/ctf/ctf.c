/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database's events as CTF 1.8: a folder for babeltrace2 and Trace Compass.
 *
 *   sonde/definitions   what events refer to by number, and all else that a database holds, so that
 *                       an import loses nothing: contexts, metrics, profiles, values, properties
 *   sonde/profile_N     the events of a profile in order of time; intervals as begin and end, in
 * the lane that is free: nested calls come out by depth, kernels that overlap in lanes of their own
 *   kernel/             threads on processors as LTTng's kernel tracer tells it (ctf_kernel.c)
 *
 * docs/format/ctf.md lists the events.
 */
#include "ctf.h"
#include "export/exporter.h"

#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

enum shape {
	FUNC_ENTRY,
	FUNC_EXIT,
	GPU_BEGIN,
	GPU_END,
	STATE_BEGIN,
	STATE_END,
	SYSTEM_BEGIN,
	SYSTEM_END,
	SAMPLE,
	INSTANT,
	COUNTER,
	SHAPES
};
static const char *const shape_names[SHAPES] = {
    "func_entry",   "func_exit",  "gpu_begin", "gpu_end", "state_begin", "state_end",
    "system_begin", "system_end", "sample",    "instant", "counter"};

enum definition {
	DEFINE_PROPERTY,
	DEFINE_DROP,
	DEFINE_METRIC,
	DEFINE_MODULE,
	DEFINE_CONTEXT,
	DEFINE_PROFILE,
	DEFINE_KEY,
	DEFINE_VALUE,
	DEFINITIONS
};

/* Fields as TSDL has them; what they are is said in docs/format/ctf.md. */
static const struct {
	const char *name, *fields;
} definitions[DEFINITIONS] = {
    {"sonde_property", "string key; string value;"},
    {"sonde_drop", "string cause; string text; uint64_t count;"},
    {"sonde_metric",
     "uint32_t id; string name; string unit; string source; uint32_t kind; uint64_t period;"},
    {"sonde_module", "uint32_t id; uint8_t present; string path; string build_id; uint32_t flags;"},
    {"sonde_context",
     "uint32_t id; uint32_t parent; uint8_t kind; uint8_t flags; uint8_t present; string name; "
     "string linkage_name; uint32_t module; string file; uint32_t line; uint32_t function_line; "
     "uint64_t offset;"},
    {"sonde_profile",
     "uint32_t id; uint8_t present; string host; string program; string thread; int32_t rank; "
     "uint64_t pid; uint64_t tid; uint32_t kind; uint32_t device; uint32_t device_context; "
     "uint32_t queue; uint64_t start_ns; uint64_t end_ns; uint64_t cpu_ns; uint64_t samples; "
     "uint64_t own_ns; uint32_t run;"},
    {"sonde_key", "uint32_t id; uint8_t present; string name; string unit; uint32_t type; "
		  "string field;"},
    {"sonde_value",
     "uint32_t profile; uint32_t context; uint32_t metric; double count; double sum; "
     "double min; double max; double sum_squares;"},
};

/* A class of events: what kind, and which attributes. Followed by the keys' ranks. */
struct class_key {
	uint32_t shape, has_link;
};

#define CLASSES_MAX 65535u
#define KEYS_MAX    64u

/* An interval that has not ended yet. */
struct open_interval {
	uint64_t end_ns, number;
	uint32_t lane;
	uint32_t shape; /* of its end */
};

struct ctf {
	const struct sonde_db *db;
	struct sn_trace_export export;
	const char *folder;
	unsigned char uuid[16];
	struct sn_ctf_stream stream;
	struct sn_intern classes;
	uint32_t *key_ranks; /* by key: its number in the file */
	uint32_t *keys;	     /* by rank */
	char (*fields)[80];  /* by rank */
	uint32_t key_count;
	/* of the profile: a heap by end, the last begun first */
	struct open_interval *open;
	size_t open_count, open_capacity;
	uint64_t number;
	bool *taken[SHAPES]; /* lanes, by the shape of the begin */
	size_t taken_capacity[SHAPES], taken_count[SHAPES];
};

/* ---- definitions ---- */

static const char *text_of(const struct ctf *ctf, uint32_t string)
{
	return sonde_db_string(ctf->db, string);
}

/* A bit for each string that is there. */
static uint8_t presence(const uint32_t *strings, unsigned count)
{
	uint8_t bits = 0;
	for (unsigned i = 0; i < count; i++)
		bits |= (uint8_t)((strings[i] != SONDE_NONE) << i);
	return bits;
}

static struct sn_buffer *define(struct ctf *ctf, enum definition what)
{
	sn_ctf_begin(&ctf->stream, (uint16_t)what,
		     ctf->export.origin_ns ? ctf->export.origin_ns - 1 : 0);
	return &ctf->stream.event;
}

static void define_texts(struct ctf *ctf)
{
	for (uint32_t i = 0; i < sonde_db_property_count(ctf->db); i++) {
		const char *key = sonde_db_property_key(ctf->db, i);
		/* what an import of this would put there itself */
		if (!strcmp(key, "imported.from") &&
		    !strcmp(sonde_db_property_value(ctf->db, i), "ctf"))
			continue;
		struct sn_buffer *event = define(ctf, DEFINE_PROPERTY);
		sn_ctf_text(event, key);
		sn_ctf_text(event, sonde_db_property_value(ctf->db, i));
		sn_ctf_end(&ctf->stream);
	}
	for (uint32_t i = 0; i < sonde_db_drop_count(ctf->db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(ctf->db, i);
		struct sn_buffer *event = define(ctf, DEFINE_DROP);
		sn_ctf_text(event, text_of(ctf, drop->cause));
		sn_ctf_text(event, text_of(ctf, drop->text));
		sn_ctf_number(event, drop->count, 8);
		sn_ctf_end(&ctf->stream);
	}
	for (uint32_t i = 0; i < sonde_db_metric_count(ctf->db); i++) {
		const struct sonde_db_metric *metric = sonde_db_metric(ctf->db, i);
		struct sn_buffer *event = define(ctf, DEFINE_METRIC);
		sn_ctf_number(event, i, 4);
		sn_ctf_text(event, text_of(ctf, metric->name));
		sn_ctf_text(event, text_of(ctf, metric->unit));
		sn_ctf_text(event, text_of(ctf, metric->source));
		sn_ctf_number(event, metric->kind, 4);
		sn_ctf_number(event, metric->period, 8);
		sn_ctf_end(&ctf->stream);
	}
}

static void define_code(struct ctf *ctf)
{
	for (uint32_t i = 0; i < sonde_db_module_count(ctf->db); i++) {
		const struct sonde_db_module *module = sonde_db_module(ctf->db, i);
		struct sn_buffer *event = define(ctf, DEFINE_MODULE);
		sn_ctf_number(event, i, 4);
		sn_ctf_number(event, presence((uint32_t[]){module->path, module->build_id}, 2), 1);
		sn_ctf_text(event, text_of(ctf, module->path));
		sn_ctf_text(event, text_of(ctf, module->build_id));
		sn_ctf_number(event, module->flags, 4);
		sn_ctf_end(&ctf->stream);
	}
	for (uint32_t i = 0; i < sonde_db_context_count(ctf->db); i++) {
		const struct sonde_db_context *context = sonde_db_context(ctf->db, i);
		const struct sonde_db_frame *frame = sonde_db_frame(ctf->db, context->frame);
		struct sn_buffer *event = define(ctf, DEFINE_CONTEXT);
		sn_ctf_number(event, i, 4);
		sn_ctf_number(event, context->parent, 4);
		sn_ctf_number(event, frame->kind, 1);
		sn_ctf_number(event, frame->flags, 1);
		sn_ctf_number(
		    event, presence((uint32_t[]){frame->name, frame->linkage_name, frame->file}, 3),
		    1);
		sn_ctf_text(event, text_of(ctf, frame->name));
		sn_ctf_text(event, text_of(ctf, frame->linkage_name));
		sn_ctf_number(event, frame->module, 4);
		sn_ctf_text(event, text_of(ctf, frame->file));
		sn_ctf_number(event, frame->line, 4);
		sn_ctf_number(event, frame->function_line, 4);
		sn_ctf_number(event, frame->offset, 8);
		sn_ctf_end(&ctf->stream);
	}
}

static void define_profile(struct ctf *ctf, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(ctf->db, number);
	struct sn_buffer *event = define(ctf, DEFINE_PROFILE);
	sn_ctf_number(event, number, 4);
	sn_ctf_number(
	    event, presence((uint32_t[]){profile->host, profile->program, profile->thread}, 3), 1);
	sn_ctf_text(event, text_of(ctf, profile->host));
	sn_ctf_text(event, text_of(ctf, profile->program));
	sn_ctf_text(event, text_of(ctf, profile->thread));
	sn_ctf_number(event, (uint32_t)profile->rank, 4);
	sn_ctf_number(event, profile->pid, 8);
	sn_ctf_number(event, profile->tid, 8);
	sn_ctf_number(event, profile->kind, 4);
	sn_ctf_number(event, profile->device, 4);
	sn_ctf_number(event, profile->device_context, 4);
	sn_ctf_number(event, profile->stream, 4);
	sn_ctf_number(event, profile->start_ns, 8);
	sn_ctf_number(event, profile->end_ns, 8);
	sn_ctf_number(event, profile->cpu_ns, 8);
	sn_ctf_number(event, profile->samples, 8);
	sn_ctf_number(event, profile->own_ns, 8);
	sn_ctf_number(event, profile->run, 4);
	sn_ctf_end(&ctf->stream);
}

static void define_keys(struct ctf *ctf)
{
	for (uint32_t rank = 0; rank < ctf->key_count; rank++) {
		const struct sonde_attribute_key *key =
		    sonde_trace_key(ctf->export.trace, ctf->keys[rank]);
		struct sn_buffer *event = define(ctf, DEFINE_KEY);
		sn_ctf_number(event, rank, 4);
		sn_ctf_number(event, presence((uint32_t[]){key->name, key->unit}, 2), 1);
		sn_ctf_text(event, text_of(ctf, key->name));
		sn_ctf_text(event, text_of(ctf, key->unit));
		sn_ctf_number(event, key->type, 4);
		sn_ctf_text(event, ctf->fields[rank]);
		sn_ctf_end(&ctf->stream);
	}
}

static void define_values(struct ctf *ctf, uint32_t profile, uint32_t metric)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(ctf->db, profile, metric);
	for (size_t i = 0; i < plane.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_plane_stat(&plane, i, &stat);
		struct sn_buffer *event = define(ctf, DEFINE_VALUE);
		sn_ctf_number(event, profile, 4);
		sn_ctf_number(event, plane.ids[i], 4);
		sn_ctf_number(event, metric, 4);
		sn_ctf_real(event, stat.count);
		sn_ctf_real(event, stat.sum);
		sn_ctf_real(event, stat.min);
		sn_ctf_real(event, stat.max);
		sn_ctf_real(event, stat.sum_squares);
		sn_ctf_end(&ctf->stream);
	}
}

static int write_definitions(struct ctf *ctf, struct sn_error *error)
{
	int result = sn_ctf_open(&ctf->stream, ctf->folder, "definitions", ctf->uuid, 0, error);
	if (result)
		return result;
	define_texts(ctf);
	define_code(ctf);
	define_keys(ctf);
	for (uint32_t i = 0; i < sonde_db_profile_count(ctf->db); i++)
		define_profile(ctf, i);
	for (uint32_t i = 0; i < sonde_db_profile_count(ctf->db); i++)
		for (uint32_t m = 0; m < sonde_db_metric_count(ctf->db); m++)
			define_values(ctf, i, m);
	return sn_ctf_close(&ctf->stream, error);
}

/* ---- events ---- */

/* The number of the class of events of that shape with those attributes; -1 where there are too
 * many of them, or no memory. */
static int class_of(struct ctf *ctf, enum shape shape, const struct sn_walk_event *event)
{
	uint32_t key[2 + KEYS_MAX] = {shape, event && event->link};
	uint32_t count = 2;
	for (uint32_t i = 0; event && i < event->attribute_count && i < KEYS_MAX; i++)
		key[count++] = ctf->key_ranks[event->attributes[i].key];
	uint32_t number = sn_intern_add(&ctf->classes, key, count * sizeof(*key));
	return number < CLASSES_MAX ? (int)number : -1;
}

static const char *name_of(const struct ctf *ctf, uint32_t context)
{
	return text_of(ctf,
		       sonde_db_frame(ctf->db, sonde_db_context(ctf->db, context)->frame)->name);
}

static void put_attributes(struct ctf *ctf, const struct sn_walk_event *event)
{
	struct sn_buffer *buffer = &ctf->stream.event;
	if (event->link)
		sn_ctf_number(buffer, event->link, 8);
	for (uint32_t i = 0; i < event->attribute_count && i < KEYS_MAX; i++) {
		const struct sn_walk_attribute *attribute = event->attributes + i;
		if (sonde_trace_key(ctf->export.trace, attribute->key)->type ==
		    SONDE_ATTRIBUTE_STRING)
			sn_ctf_text(buffer, text_of(ctf, (uint32_t)attribute->value));
		else
			sn_ctf_number(buffer, attribute->value, 8);
	}
}

/* Of two intervals that end together the one that began last is over first. */
static bool ends_before(const struct open_interval *a, const struct open_interval *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->number > b->number;
}

static int push(struct ctf *ctf, struct open_interval interval)
{
	if (sn_vec_reserve(&ctf->open, &ctf->open_capacity, ctf->open_count + 1) < 0)
		return SN_ERR_MEMORY;
	size_t place = ctf->open_count++;
	for (; place && ends_before(&interval, ctf->open + (place - 1) / 2);
	     place = (place - 1) / 2)
		ctf->open[place] = ctf->open[(place - 1) / 2];
	ctf->open[place] = interval;
	return 0;
}

static struct open_interval pop(struct ctf *ctf)
{
	struct open_interval first = ctf->open[0], last = ctf->open[--ctf->open_count];
	size_t place = 0;
	for (;;) {
		size_t child = 2 * place + 1;
		if (child >= ctf->open_count)
			break;
		if (child + 1 < ctf->open_count &&
		    ends_before(ctf->open + child + 1, ctf->open + child))
			child++;
		if (!ends_before(ctf->open + child, &last))
			break;
		ctf->open[place] = ctf->open[child];
		place = child;
	}
	ctf->open[place] = last;
	return first;
}

/* The lowest lane that is free; UINT32_MAX without memory. */
static uint32_t take_lane(struct ctf *ctf, enum shape shape)
{
	size_t lane = 0;
	while (lane < ctf->taken_count[shape] && ctf->taken[shape][lane])
		lane++;
	if (sn_vec_reserve(&ctf->taken[shape], &ctf->taken_capacity[shape], lane + 1) < 0)
		return UINT32_MAX;
	if (lane == ctf->taken_count[shape])
		ctf->taken_count[shape]++;
	ctf->taken[shape][lane] = true;
	return (uint32_t)lane;
}

/* Ends all that ends until then. */
static int end_until(struct ctf *ctf, uint64_t time_ns)
{
	while (ctf->open_count && ctf->open[0].end_ns <= time_ns) {
		struct open_interval ended = pop(ctf);
		int number = class_of(ctf, ended.shape, NULL);
		if (number < 0)
			return SN_ERR_MEMORY;
		sn_ctf_begin(&ctf->stream, (uint16_t)number, ended.end_ns);
		sn_ctf_number(&ctf->stream.event, ended.lane, 4);
		sn_ctf_end(&ctf->stream);
		ctf->taken[ended.shape - 1][ended.lane] = false;
	}
	return 0;
}

static enum shape shape_of(const struct sn_walk_event *event, bool is_device)
{
	switch (event->kind) {
	case SONDE_TRACK_INTERVALS:
		return is_device ? GPU_BEGIN : FUNC_ENTRY;
	case SONDE_TRACK_STATES:
		return STATE_BEGIN;
	case SONDE_TRACK_SYSTEM:
		return SYSTEM_BEGIN;
	case SONDE_TRACK_SAMPLES:
		return SAMPLE;
	case SONDE_TRACK_COUNTER:
		return COUNTER;
	default:
		return INSTANT;
	}
}

static int write_event(struct ctf *ctf, const struct sn_walk_event *event, bool is_device)
{
	enum shape shape = shape_of(event, is_device);
	struct sn_buffer *buffer = &ctf->stream.event;
	int number = class_of(ctf, shape, event);
	if (number < 0 || end_until(ctf, event->start_ns))
		return SN_ERR_MEMORY;
	sn_ctf_begin(&ctf->stream, (uint16_t)number, event->start_ns);
	sn_ctf_number(buffer, event->context, 4);
	if (sonde_track_lasts(event->kind)) {
		uint32_t lane = take_lane(ctf, shape);
		if (lane == UINT32_MAX ||
		    push(ctf,
			 (struct open_interval){event->end_ns, ctf->number++, lane, shape + 1}))
			return SN_ERR_MEMORY;
		sn_ctf_number(buffer, lane, 4);
	} else if (shape == COUNTER) {
		sn_ctf_number(buffer, event->metric, 4);
	}
	sn_ctf_text(buffer, shape == COUNTER
				? text_of(ctf, sonde_db_metric(ctf->db, event->metric)->name)
				: name_of(ctf, event->context));
	put_attributes(ctf, event);
	sn_ctf_end(&ctf->stream);
	return 0;
}

/* Whose events these are: with each event, because Trace Compass does not look at packets. */
static void put_profile(struct ctf *ctf, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(ctf->db, number);
	struct sn_ctf_stream *stream = &ctf->stream;
	uint32_t each[] = {number, (uint32_t)profile->pid, (uint32_t)profile->tid};
	sn_ctf_number(&stream->context, profile->kind, 4);
	sn_ctf_text(&stream->context, profile->thread == SONDE_NONE
					  ? text_of(ctf, profile->program)
					  : text_of(ctf, profile->thread));
	memcpy(stream->event_context, each, sizeof(each));
	stream->event_context_bytes = sizeof(each);
}
#define PROFILE_FIELDS "\t\tuint32_t _kind;\n\t\tstring _thread;\n"
#define EVENT_FIELDS   "\t\tuint32_t _profile;\n\t\tuint32_t _pid;\n\t\tuint32_t _tid;\n"

static int write_events(struct ctf *ctf, struct sn_event_walk *walk, bool is_device,
			struct sn_error *error)
{
	struct sn_walk_event event;
	int result;
	ctf->open_count = 0;
	memset(ctf->taken_count, 0, sizeof(ctf->taken_count));
	while ((result = sn_event_walk_next(walk, &event, error)) > 0)
		if (write_event(ctf, &event, is_device))
			return sn_fail(error, SN_ERR_MEMORY,
				       ctf->classes.count >= CLASSES_MAX
					   ? "events have too many different sets of attributes"
					   : "out of memory");
	if (!result && end_until(ctf, UINT64_MAX))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return result;
}

static int write_profile(struct ctf *ctf, uint32_t number, struct sn_error *error)
{
	char name[32];
	snprintf(name, sizeof(name), "profile_%06u", number);
	struct sn_event_walk *walk = sn_event_walk_new(&ctf->export, number);
	if (!walk)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	int result = sn_ctf_open(&ctf->stream, ctf->folder, name, ctf->uuid, 1, error);
	if (!result) {
		put_profile(ctf, number);
		result = write_events(
		    ctf, walk, sonde_db_profile(ctf->db, number)->kind == SONDE_PROFILE_STREAM,
		    error);
		if (result)
			sn_ctf_abandon(&ctf->stream);
		else
			result = sn_ctf_close(&ctf->stream, error);
	}
	sn_event_walk_free(walk);
	return result;
}

/* ---- metadata ---- */

/* A name for a field, unlike the fields that all events have and unlike other keys'. */
static void name_field(struct ctf *ctf, uint32_t rank)
{
	static const char *const own[] = {"context", "lane", "name", "link", "metric"};
	char *field = ctf->fields[rank];
	const char *text = text_of(ctf, sonde_trace_key(ctf->export.trace, ctf->keys[rank])->name);
	size_t length = 0;
	for (; *text && length < 60; text++)
		field[length++] = isalnum((unsigned char)*text) ? *text : '_';
	field[length] = 0;
	bool is_taken = !length;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		is_taken |= !strcmp(own[i], field);
	for (uint32_t i = 0; i < rank; i++)
		is_taken |= !strcmp(ctf->fields[i], field);
	if (is_taken)
		snprintf(field + length, 20, "_%u", rank);
}

static int number_keys(struct ctf *ctf, struct sn_error *error)
{
	ctf->key_count = sonde_trace_key_count(ctf->export.trace);
	ctf->keys = sn_trace_keys_by_name(ctf->db, ctf->export.trace);
	ctf->key_ranks = malloc((ctf->key_count + 1) * sizeof(*ctf->key_ranks));
	ctf->fields = calloc(ctf->key_count + 1, sizeof(*ctf->fields));
	if (!ctf->keys || !ctf->key_ranks || !ctf->fields)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t rank = 0; rank < ctf->key_count; rank++) {
		ctf->key_ranks[ctf->keys[rank]] = rank;
		name_field(ctf, rank);
	}
	return 0;
}

static void declare_class(const struct ctf *ctf, struct sn_buffer *text, uint32_t number)
{
	static const char *const types[] = {"uint64_t", "uint64_t", "int64_t", "double", "string"};
	size_t bytes;
	const uint32_t *key = sn_intern_at(&ctf->classes, number, &bytes);
	uint32_t shape = key[0];
	sn_ctf_print(text, "event {\n\tid = %u;\n\tname = \"%s\";\n\tstream_id = 1;\n", number,
		     shape_names[shape]);
	sn_ctf_print(text, "\tfields := struct {\n");
	bool is_end = shape < SAMPLE && shape & 1;
	if (!is_end)
		sn_ctf_print(text, "\t\tuint32_t _context;\n");
	if (shape < SAMPLE)
		sn_ctf_print(text, "\t\tuint32_t _lane;\n");
	if (shape == COUNTER)
		sn_ctf_print(text, "\t\tuint32_t _metric;\n");
	if (!is_end)
		sn_ctf_print(text, "\t\tstring _name;\n");
	if (key[1])
		sn_ctf_print(text, "\t\tuint64_t _link;\n");
	for (size_t i = 2; i < bytes / sizeof(*key); i++) {
		uint32_t type = sonde_trace_key(ctf->export.trace, ctf->keys[key[i]])->type;
		/* the first underscore is not part of the name: it keeps keywords apart */
		sn_ctf_print(text, "\t\t%s _%s;\n", types[type <= 4 ? type : 0],
			     ctf->fields[key[i]]);
	}
	sn_ctf_print(text, "\t};\n};\n\n");
}

static void declare_definitions(struct sn_buffer *text)
{
	for (unsigned i = 0; i < DEFINITIONS; i++) {
		sn_ctf_print(text,
			     "event {\n\tid = %u;\n\tname = \"%s\";\n\tstream_id = 0;\n"
			     "\tfields := struct {\n",
			     i, definitions[i].name);
		for (const char *at = definitions[i].fields; *at;) {
			size_t type = strcspn(at, " "), name = strcspn(at + type + 1, ";");
			sn_ctf_print(text, "\t\t%.*s _%.*s;\n", (int)type, at, (int)name,
				     at + type + 1);
			at += type + name + 2;
			at += strspn(at, " ");
		}
		sn_ctf_print(text, "\t};\n};\n\n");
	}
}

static int write_metadata(const struct ctf *ctf, struct sn_error *error)
{
	struct sn_buffer text = {0};
	const char *host = sonde_db_property(ctf->db, "host");
	sn_ctf_head(&text, ctf->uuid);
	sn_ctf_print(&text, "env {\n\tdomain = \"sonde\";\n\ttracer_name = \"sonde\";\n"
			    "\tsonde_format = 1;\n\thostname = ");
	sn_ctf_quote(&text, host ? host : "");
	sn_ctf_print(&text, ";\n};\n\n");
	sn_ctf_declare_stream(&text, 0, "", "");
	sn_ctf_declare_stream(&text, 1, PROFILE_FIELDS, EVENT_FIELDS);
	declare_definitions(&text);
	for (uint32_t i = 0; i < ctf->classes.count; i++)
		declare_class(ctf, &text, i);
	return sn_ctf_save(&text, ctf->folder, error);
}

static int write_all(struct ctf *ctf, struct sn_error *error)
{
	int result = number_keys(ctf, error);
	if (!result)
		result = write_definitions(ctf, error);
	for (uint32_t i = 0; i < sonde_db_profile_count(ctf->db) && !result; i++)
		if (sonde_trace_first_track(ctf->export.trace, i) != SONDE_NONE)
			result = write_profile(ctf, i, error);
	return result ? result : write_metadata(ctf, error);
}

static int write_folder(const struct sn_export_request *request, const char *folder,
			struct sn_error *error)
{
	char path[PATH_MAX];
	struct ctf ctf = {.db = request->db, .folder = path};
	int result = sn_trace_export_open(&ctf.export, request->db, request->path, error);
	if (result)
		return result;
	snprintf(path, sizeof(path), "%s/sonde", folder);
	if (mkdir(path, 0777) < 0)
		result = sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path, strerror(errno));
	sn_ctf_uuid(&ctf.export, 0, ctf.uuid);
	if (!result)
		result = write_all(&ctf, error);
	if (!result)
		result = sn_ctf_write_kernel(&ctf.export, folder, error);
	for (unsigned i = 0; i < SHAPES; i++)
		free(ctf.taken[i]);
	free(ctf.open);
	free(ctf.keys);
	free(ctf.key_ranks);
	free(ctf.fields);
	sn_intern_release(&ctf.classes);
	sn_trace_export_close(&ctf.export);
	return result;
}

static const char *const own[] = {"sonde", "kernel", NULL};

const struct sn_exporter sn_exporter_ctf = {
    .name = "ctf",
    .summary = "events for babeltrace2 and Trace Compass (a folder)",
    .extension = "ctf",
    .write_folder = write_folder,
    .own = own,
    .has_events = true,
};
