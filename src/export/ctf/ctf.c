/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database's events as CTF 1.8: a folder for babeltrace2 and Trace Compass.
 *
 *   sonde/definitions   what events refer to by number, and all else that a database holds, so that
 *                       an import loses nothing: contexts, metrics, profiles, values, properties
 *   sonde/profile_N     the events of a profile in order of time; intervals as begin and end, in
 * the lane that is free: nested calls come out by depth, kernels that overlap in lanes of their own
 *   kernel/             threads on processors as LTTng's kernel tracer records them (ctf_kernel.c)
 *
 * docs/format/ctf.md lists the events.
 */
#include "ctf.h"
#include "export/exporter.h"

#include "base/escape.h"
#include "base/heap.h"
#include "base/intern.h"
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

/* Fields as TSDL has them; docs/format/ctf.md explains them. */
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

#define CLASSES_MAX 65535u
#define KEYS_MAX    64u

/* An interval that has not ended yet. */
struct open_interval {
	uint64_t end_ns, number;
	uint32_t lane;
	uint32_t shape; /* of its end */
};

/* How fields of definitions are written: bytes of a number, or these; 0 ends them. */
enum { FIELDS_MAX = 24, TEXT_FIELD = 's', REAL_FIELD = 'd' };

struct ctf {
	const struct sonde_db *db;
	struct sn_trace_export export;
	const char *folder;
	unsigned char uuid[16];
	struct sn_ctf_stream stream;
	struct sn_intern classes;
	unsigned char forms[DEFINITIONS][FIELDS_MAX]; /* how fields of definitions are written */
	char (*fields)[80]; /* of keys, by rank: their place by name, and number in the file */
	uint32_t key_count;
	/* of the profile: a heap by end, the last begun first */
	struct open_interval *open;
	size_t open_count, open_capacity;
	uint64_t number;
	bool is_device;
	bool *occupied[SHAPES]; /* lanes, by the shape of the begin */
	size_t lane_capacity[SHAPES], lane_count[SHAPES];
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

/* A field's value: as its declaration says, one of these. */
struct field {
	uint64_t number;
	double real;
	const char *text;
};

static struct field whole(uint64_t number)
{
	return (struct field){.number = number};
}

static struct field real(double number)
{
	return (struct field){.real = number};
}

static struct field text(const char *value)
{
	return (struct field){.text = value};
}

static struct field string(const struct ctf *ctf, uint32_t string)
{
	return text(text_of(ctf, string));
}

static void read_declarations(struct ctf *ctf)
{
	for (unsigned i = 0; i < DEFINITIONS; i++) {
		unsigned char *form = ctf->forms[i];
		for (const char *at = definitions[i].fields; *at; at += strspn(at, "; ")) {
			bool is_number = strcspn(at, "0123456789") < strcspn(at, " ");
			*form++ = is_number ? (unsigned char)(atoi(strpbrk(at, "1368")) / 8)
				  : *at == TEXT_FIELD ? TEXT_FIELD
						      : REAL_FIELD;
			at += strcspn(at, ";");
		}
	}
}

/* Writes a definition, each field as its declaration says. */
static void define(struct ctf *ctf, enum definition what, const struct field *field)
{
	struct sn_buffer *event = &ctf->stream.event;
	sn_ctf_begin(&ctf->stream, (uint16_t)what,
		     ctf->export.origin_ns ? ctf->export.origin_ns - 1 : 0);
	for (const unsigned char *form = ctf->forms[what]; *form; form++, field++) {
		if (*form == TEXT_FIELD)
			sn_ctf_text(event, field->text);
		else if (*form == REAL_FIELD)
			sn_buffer_put(event, &field->real, sizeof(field->real));
		else
			sn_buffer_number(event, field->number, *form);
	}
	sn_ctf_end(&ctf->stream);
}
#define DEFINE(ctf, what, ...) define(ctf, what, (const struct field[]){__VA_ARGS__})

static void define_texts(struct ctf *ctf)
{
	const struct sonde_db *db = ctf->db;
	for (uint32_t i = 0; i < sonde_db_property_count(db); i++) {
		const char *key = sonde_db_property_key(db, i);
		const char *value = sonde_db_property_value(db, i);
		/* what an import of this would put there itself */
		if (strcmp(key, "imported.from") != 0 || strcmp(value, "ctf") != 0)
			DEFINE(ctf, DEFINE_PROPERTY, text(key), text(value));
	}
	for (uint32_t i = 0; i < sonde_db_drop_count(db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		DEFINE(ctf, DEFINE_DROP, string(ctf, drop->cause), string(ctf, drop->text),
		       whole(drop->count));
	}
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++) {
		const struct sonde_db_metric *metric = sonde_db_metric(db, i);
		DEFINE(ctf, DEFINE_METRIC, whole(i), string(ctf, metric->name),
		       string(ctf, metric->unit), string(ctf, metric->source), whole(metric->kind),
		       whole(metric->period));
	}
}

static void define_code(struct ctf *ctf)
{
	for (uint32_t i = 0; i < sonde_db_module_count(ctf->db); i++) {
		const struct sonde_db_module *module = sonde_db_module(ctf->db, i);
		const uint32_t strings[] = {module->path, module->build_id};
		DEFINE(ctf, DEFINE_MODULE, whole(i), whole(presence(strings, 2)),
		       string(ctf, module->path), string(ctf, module->build_id),
		       whole(module->flags));
	}
	for (uint32_t i = 0; i < sonde_db_context_count(ctf->db); i++) {
		const struct sonde_db_context *context = sonde_db_context(ctf->db, i);
		const struct sonde_db_frame *frame = sonde_db_frame(ctf->db, context->frame);
		const uint32_t strings[] = {frame->name, frame->linkage_name, frame->file};
		DEFINE(ctf, DEFINE_CONTEXT, whole(i), whole(context->parent), whole(frame->kind),
		       whole(frame->flags), whole(presence(strings, 3)), string(ctf, frame->name),
		       string(ctf, frame->linkage_name), whole(frame->module),
		       string(ctf, frame->file), whole(frame->line), whole(frame->function_line),
		       whole(frame->offset));
	}
}

static void define_profile(struct ctf *ctf, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(ctf->db, number);
	const uint32_t strings[] = {profile->host, profile->program, profile->thread};
	DEFINE(ctf, DEFINE_PROFILE, whole(number), whole(presence(strings, 3)),
	       string(ctf, profile->host), string(ctf, profile->program),
	       string(ctf, profile->thread), whole((uint64_t)profile->rank), whole(profile->pid),
	       whole(profile->tid), whole(profile->kind), whole(profile->device),
	       whole(profile->device_context), whole(profile->stream), whole(profile->start_ns),
	       whole(profile->end_ns), whole(profile->cpu_ns), whole(profile->samples),
	       whole(profile->own_ns), whole(profile->run));
}

static void define_keys(struct ctf *ctf)
{
	for (uint32_t rank = 0; rank < ctf->key_count; rank++) {
		const struct sonde_attribute_key *key =
		    sonde_trace_key(ctf->export.trace, ctf->export.keys[rank]);
		const uint32_t strings[] = {key->name, key->unit};
		DEFINE(ctf, DEFINE_KEY, whole(rank), whole(presence(strings, 2)),
		       string(ctf, key->name), string(ctf, key->unit), whole(key->type),
		       text(ctf->fields[rank]));
	}
}

static void define_values(struct ctf *ctf, uint32_t profile, uint32_t metric)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(ctf->db, profile, metric);
	for (size_t i = 0; i < plane.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_plane_stat(&plane, i, &stat);
		DEFINE(ctf, DEFINE_VALUE, whole(profile), whole(plane.ids[i]), whole(metric),
		       real(stat.count), real(stat.sum), real(stat.min), real(stat.max),
		       real(stat.sum_squares));
	}
}

static int write_definitions(struct ctf *ctf, struct sn_error *error)
{
	int result = sn_ctf_open(&ctf->stream, ctf->folder, "definitions", ctf->uuid, 0, error);
	if (result)
		return result;
	read_declarations(ctf);
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
		key[count++] = ctf->export.key_places[event->attributes[i].key];
	uint32_t number = sn_intern_add(&ctf->classes, key, count * sizeof(*key));
	return number < CLASSES_MAX ? (int)number : -1;
}

static const char *name_of(const struct ctf *ctf, uint32_t context)
{
	return text_of(ctf, sn_trace_export_frame(&ctf->export, context)->name);
}

static void put_attributes(struct ctf *ctf, const struct sn_walk_event *event)
{
	struct sn_buffer *buffer = &ctf->stream.event;
	if (event->link)
		sn_buffer_number(buffer, event->link, 8);
	for (uint32_t i = 0; i < event->attribute_count && i < KEYS_MAX; i++) {
		const struct sn_walk_attribute *attribute = event->attributes + i;
		if (sonde_trace_key(ctf->export.trace, attribute->key)->type ==
		    SONDE_ATTRIBUTE_STRING)
			sn_ctf_text(buffer, text_of(ctf, (uint32_t)attribute->value));
		else
			sn_buffer_number(buffer, attribute->value, 8);
	}
}

/* Of two intervals that end together the one that began last is over first. */
static bool ends_before(const struct open_interval *a, const struct open_interval *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->number > b->number;
}

SN_HEAP(ends, struct open_interval, const void *, ends_before(a, b));

/* The lowest lane that is free; UINT32_MAX without memory. */
static uint32_t occupy_lane(struct ctf *ctf, enum shape shape)
{
	size_t lane = 0;
	while (lane < ctf->lane_count[shape] && ctf->occupied[shape][lane])
		lane++;
	if (sn_vec_reserve(&ctf->occupied[shape], &ctf->lane_capacity[shape], lane + 1) < 0)
		return UINT32_MAX;
	if (lane == ctf->lane_count[shape])
		ctf->lane_count[shape]++;
	ctf->occupied[shape][lane] = true;
	return (uint32_t)lane;
}

/* Ends all that ends until then. */
static int end_until(struct ctf *ctf, uint64_t time_ns)
{
	while (ctf->open_count && ctf->open[0].end_ns <= time_ns) {
		struct open_interval ended = ctf->open[0];
		ends_pop(ctf->open, &ctf->open_count, NULL);
		int number = class_of(ctf, ended.shape, NULL);
		if (number < 0)
			return SN_ERR_MEMORY;
		sn_ctf_begin(&ctf->stream, (uint16_t)number, ended.end_ns);
		sn_buffer_number(&ctf->stream.event, ended.lane, 4);
		sn_ctf_end(&ctf->stream);
		ctf->occupied[ended.shape - 1][ended.lane] = false;
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

static int write_event(void *context, const struct sn_walk_event *event)
{
	struct ctf *ctf = context;
	enum shape shape = shape_of(event, ctf->is_device);
	struct sn_buffer *buffer = &ctf->stream.event;
	int number = class_of(ctf, shape, event);
	if (number < 0 || end_until(ctf, event->start_ns))
		return SN_ERR_MEMORY;
	sn_ctf_begin(&ctf->stream, (uint16_t)number, event->start_ns);
	sn_buffer_number(buffer, event->context, 4);
	if (sonde_track_lasts(event->kind)) {
		uint32_t lane = occupy_lane(ctf, shape);
		if (lane == UINT32_MAX ||
		    sn_vec_reserve(&ctf->open, &ctf->open_capacity, ctf->open_count + 1) < 0)
			return SN_ERR_MEMORY;
		struct open_interval open = {event->end_ns, ctf->number++, lane, shape + 1};
		ends_push(ctf->open, &ctf->open_count, open, NULL);
		sn_buffer_number(buffer, lane, 4);
	} else if (shape == COUNTER) {
		sn_buffer_number(buffer, event->metric, 4);
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
	sn_buffer_number(&stream->context, profile->kind, 4);
	sn_ctf_text(&stream->context, profile->thread == SONDE_NONE
					  ? text_of(ctf, profile->program)
					  : text_of(ctf, profile->thread));
	memcpy(stream->event_context, each, sizeof(each));
	stream->event_context_bytes = sizeof(each);
}
#define PROFILE_FIELDS "\t\tuint32_t _kind;\n\t\tstring _thread;\n"
#define EVENT_FIELDS   "\t\tuint32_t _profile;\n\t\tuint32_t _pid;\n\t\tuint32_t _tid;\n"

static int write_profile(struct ctf *ctf, uint32_t number, struct sn_error *error)
{
	char name[32];
	snprintf(name, sizeof(name), "profile_%06u", number);
	int result = sn_ctf_open(&ctf->stream, ctf->folder, name, ctf->uuid, 1, error);
	if (result)
		return result;
	put_profile(ctf, number);
	ctf->is_device = sn_trace_export_is_device(&ctf->export, number);
	ctf->open_count = 0;
	memset(ctf->lane_count, 0, sizeof(ctf->lane_count));
	result = sn_event_walk(&ctf->export, number, write_event, ctf, error);
	if (!result)
		result = sn_fail_code(error, end_until(ctf, UINT64_MAX));
	if (!result)
		return sn_ctf_close(&ctf->stream, error);
	sn_ctf_abandon(&ctf->stream);
	return ctf->classes.count < CLASSES_MAX
		   ? result
		   : sn_fail(error, SN_ERR_UNSUPPORTED,
			     "events have too many different sets of attributes");
}

/* ---- metadata ---- */

/* A name for a field, unlike the fields that all events have and unlike other keys'. */
static void name_field(struct ctf *ctf, uint32_t rank)
{
	static const char *const own[] = {"context", "lane", "name", "link", "metric"};
	char *field = ctf->fields[rank];
	const char *text =
	    text_of(ctf, sonde_trace_key(ctf->export.trace, ctf->export.keys[rank])->name);
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

static int name_fields(struct ctf *ctf, struct sn_error *error)
{
	ctf->key_count = sonde_trace_key_count(ctf->export.trace);
	ctf->fields = sn_arena_allocate_array(&ctf->export.arena, ctf->key_count + 1ull,
					      sizeof(*ctf->fields));
	if (!ctf->fields)
		return sn_fail_memory(error);
	for (uint32_t rank = 0; rank < ctf->key_count; rank++)
		name_field(ctf, rank);
	return 0;
}

static void declare_class(const struct ctf *ctf, struct sn_buffer *text, uint32_t number)
{
	static const char *const types[] = {"uint64_t", "uint64_t", "int64_t", "double", "string"};
	size_t bytes;
	const uint32_t *key = sn_intern_at(&ctf->classes, number, &bytes);
	uint32_t shape = key[0];
	sn_buffer_print(text, "event {\n\tid = %u;\n\tname = \"%s\";\n\tstream_id = 1;\n", number,
			shape_names[shape]);
	sn_buffer_print(text, "\tfields := struct {\n");
	bool is_end = shape < SAMPLE && shape & 1;
	if (!is_end)
		sn_buffer_print(text, "\t\tuint32_t _context;\n");
	if (shape < SAMPLE)
		sn_buffer_print(text, "\t\tuint32_t _lane;\n");
	if (shape == COUNTER)
		sn_buffer_print(text, "\t\tuint32_t _metric;\n");
	if (!is_end)
		sn_buffer_print(text, "\t\tstring _name;\n");
	if (key[1])
		sn_buffer_print(text, "\t\tuint64_t _link;\n");
	for (size_t i = 2; i < bytes / sizeof(*key); i++) {
		uint32_t type = sonde_trace_key(ctf->export.trace, ctf->export.keys[key[i]])->type;
		/* the first underscore is not part of the name: it keeps keywords apart */
		sn_buffer_print(text, "\t\t%s _%s;\n", types[type <= 4 ? type : 0],
				ctf->fields[key[i]]);
	}
	sn_buffer_print(text, "\t};\n};\n\n");
}

static void declare_definitions(struct sn_buffer *text)
{
	for (unsigned i = 0; i < DEFINITIONS; i++) {
		sn_buffer_print(text,
				"event {\n\tid = %u;\n\tname = \"%s\";\n\tstream_id = 0;\n"
				"\tfields := struct {\n",
				i, definitions[i].name);
		for (const char *at = definitions[i].fields; *at;) {
			size_t type = strcspn(at, " "), name = strcspn(at + type + 1, ";");
			sn_buffer_print(text, "\t\t%.*s _%.*s;\n", (int)type, at, (int)name,
					at + type + 1);
			at += type + name + 2;
			at += strspn(at, " ");
		}
		sn_buffer_print(text, "\t};\n};\n\n");
	}
}

static int write_metadata(const struct ctf *ctf, struct sn_error *error)
{
	struct sn_buffer text = {0};
	const char *host = sonde_db_property(ctf->db, "host");
	sn_ctf_head(&text, ctf->uuid);
	sn_buffer_print(&text, "env {\n\tdomain = \"sonde\";\n\ttracer_name = \"sonde\";\n"
			       "\tsonde_format = 1;\n\thostname = ");
	sn_quote_put(&text, SN_ESCAPE_QUOTED, host ? host : "");
	sn_buffer_print(&text, ";\n};\n\n");
	sn_ctf_declare_stream(&text, 0, "", "");
	sn_ctf_declare_stream(&text, 1, PROFILE_FIELDS, EVENT_FIELDS);
	declare_definitions(&text);
	for (uint32_t i = 0; i < ctf->classes.count; i++)
		declare_class(ctf, &text, i);
	return sn_ctf_save(&text, ctf->folder, error);
}

static int write_all(struct ctf *ctf, struct sn_error *error)
{
	int result = name_fields(ctf, error);
	if (!result)
		result = write_definitions(ctf, error);
	for (uint32_t i = 0; i < sonde_db_profile_count(ctf->db) && !result; i++)
		if (sn_trace_export_has(&ctf->export, i))
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
		free(ctf.occupied[i]);
	free(ctf.open);
	sn_intern_release(&ctf.classes);
	sn_trace_export_close(&ctf.export);
	return result;
}

static const char *const own[] = {"sonde", "kernel", NULL};

const struct sn_exporter sn_exporter_ctf = {
    .name = "ctf",
    .extension = "ctf",
    .write_folder = write_folder,
    .own = own,
    .has_events = true,
};
