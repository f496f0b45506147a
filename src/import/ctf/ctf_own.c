/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Sonde exported as CTF, back into a database: docs/format/ctf.md. Definitions come before
 * what refers to them, because they are earlier.
 */
#include "ctf.h"

#include "base/vec.h"
#include "import/core/begin_end.h"

#include <string.h>

/* Numbers of the trace to the builder's. */
struct table {
	uint32_t *numbers;
	size_t count, capacity;
};

struct key {
	uint32_t key, type; /* the writer's; enum sonde_attribute_type */
};

enum { PLACES = 4 }; /* func, gpu, state, system */

struct sn_ctf_own {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	uint32_t run;
	struct table metrics, modules, contexts, profiles;
	struct sn_intern fields; /* name of a field: place in keys */
	struct key *keys;
	size_t key_capacity;
	struct sn_begins begins;
};

#define ATTRIBUTES_MAX 64

/* ---- reading fields ---- */

struct fields {
	const bt_field *structure;
	bool failed;
};

static uint64_t number(struct fields *fields, const char *name)
{
	uint64_t value = 0;
	fields->failed |= !sn_ctf_integer(sn_ctf_member(fields->structure, name), &value);
	return value;
}

static double real(struct fields *fields, const char *name)
{
	const bt_field *field = sn_ctf_member(fields->structure, name);
	if (field && bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		return bt_field_real_double_precision_get_value(field);
	fields->failed = true;
	return 0;
}

static const char *text(struct fields *fields, const char *name)
{
	const char *value = sn_ctf_string(sn_ctf_member(fields->structure, name));
	fields->failed |= !value;
	return value ? value : "";
}

/* The builder's string, SONDE_NONE where its bit says that there is none. */
static uint32_t string(struct sn_ctf_own *own, struct fields *fields, const char *name,
		       uint64_t present, unsigned bit)
{
	const char *value = text(fields, name);
	return present >> bit & 1 ? sn_db_builder_string(own->builder, value) : SONDE_NONE;
}

/* ---- tables ---- */

/* Ids count from 0. */
static int put(struct table *table, uint64_t id, uint32_t number_of_builder)
{
	if (id != table->count)
		return SN_ERR_FORMAT;
	if (sn_vec_reserve(&table->numbers, &table->capacity, table->count + 1) < 0)
		return SN_ERR_MEMORY;
	table->numbers[table->count++] = number_of_builder;
	return 0;
}

static uint32_t get(const struct table *table, uint64_t id, struct fields *fields)
{
	if (id < table->count)
		return table->numbers[id];
	fields->failed = true;
	return 0;
}

/* ---- definitions ---- */

static int take_property(struct sn_ctf_own *own, struct fields *fields)
{
	const char *key = text(fields, "key"), *value = text(fields, "value");
	if (!fields->failed)
		sn_db_builder_property(own->builder, key, value);
	return 0;
}

static int take_drop(struct sn_ctf_own *own, struct fields *fields)
{
	const char *cause = text(fields, "cause"), *what = text(fields, "text");
	uint64_t count = number(fields, "count");
	if (!fields->failed)
		sn_db_builder_drop(own->builder, cause, what, count);
	return 0;
}

static int take_metric(struct sn_ctf_own *own, struct fields *fields)
{
	struct sonde_db_metric metric = {
	    .name = string(own, fields, "name", 1, 0),
	    .unit = string(own, fields, "unit", 1, 0),
	    .source = string(own, fields, "source", 1, 0),
	    .kind = (uint32_t)number(fields, "kind"),
	    .period = number(fields, "period"),
	};
	return put(&own->metrics, number(fields, "id"),
		   sn_db_builder_metric(own->builder, &metric));
}

static int take_module(struct sn_ctf_own *own, struct fields *fields)
{
	uint64_t present = number(fields, "present");
	struct sonde_db_module module = {
	    .path = string(own, fields, "path", present, 0),
	    .build_id = string(own, fields, "build_id", present, 1),
	    .flags = (uint32_t)number(fields, "flags"),
	};
	return put(&own->modules, number(fields, "id"),
		   sn_db_builder_module(own->builder, &module));
}

static int take_key(struct sn_ctf_own *own, struct fields *fields)
{
	uint64_t present = number(fields, "present"), type = number(fields, "type");
	uint32_t name = string(own, fields, "name", present, 0);
	uint32_t unit = string(own, fields, "unit", present, 1);
	const char *field = text(fields, "field");
	if (fields->failed || name == SONDE_NONE || type < SONDE_ATTRIBUTE_UNSIGNED ||
	    type > SONDE_ATTRIBUTE_STRING)
		return SN_ERR_FORMAT;
	uint32_t at = sn_intern_add(&own->fields, field, strlen(field));
	if (at == SN_INTERN_NONE || sn_vec_reserve(&own->keys, &own->key_capacity, at + 1ull) < 0)
		return SN_ERR_MEMORY;
	own->keys[at] = (struct key){
	    sn_trace_writer_key(own->writer, name, unit, (enum sonde_attribute_type)type),
	    (uint32_t)type};
	return 0;
}

static int take_context(struct sn_ctf_own *own, struct fields *fields)
{
	uint64_t present = number(fields, "present"), id = number(fields, "id");
	uint64_t module = number(fields, "module"), parent = number(fields, "parent");
	struct sonde_db_frame frame = {
	    .kind = (uint8_t)number(fields, "kind"),
	    .flags = (uint8_t)number(fields, "flags"),
	    .name = string(own, fields, "name", present, 0),
	    .linkage_name = string(own, fields, "linkage_name", present, 1),
	    .module = module == SONDE_NONE ? SONDE_NONE : get(&own->modules, module, fields),
	    .file = string(own, fields, "file", present, 2),
	    .line = (uint32_t)number(fields, "line"),
	    .function_line = (uint32_t)number(fields, "function_line"),
	    .offset = number(fields, "offset"),
	};
	uint32_t made = sn_db_builder_frame(own->builder, &frame);
	if (!id) {
		sn_db_builder_set_root(own->builder, made);
		return put(&own->contexts, id, 0);
	}
	uint32_t above = get(&own->contexts, parent, fields);
	return fields->failed
		   ? SN_ERR_FORMAT
		   : put(&own->contexts, id, sn_db_builder_context(own->builder, above, made));
}

static int take_profile(struct sn_ctf_own *own, struct fields *fields)
{
	uint64_t present = number(fields, "present");
	struct sonde_db_profile profile = {
	    .host = string(own, fields, "host", present, 0),
	    .program = string(own, fields, "program", present, 1),
	    .thread = string(own, fields, "thread", present, 2),
	    .rank = (int32_t)number(fields, "rank"),
	    .pid = number(fields, "pid"),
	    .tid = number(fields, "tid"),
	    .kind = (uint32_t)number(fields, "kind"),
	    .device = (uint32_t)number(fields, "device"),
	    .device_context = (uint32_t)number(fields, "device_context"),
	    .stream = (uint32_t)number(fields, "queue"),
	    .start_ns = number(fields, "start_ns"),
	    .end_ns = number(fields, "end_ns"),
	    .cpu_ns = number(fields, "cpu_ns"),
	    .samples = number(fields, "samples"),
	    .own_ns = number(fields, "own_ns"),
	    .run = (uint32_t)number(fields, "run") + own->run,
	};
	return put(&own->profiles, number(fields, "id"),
		   sn_db_builder_profile(own->builder, &profile));
}

static int take_value(struct sn_ctf_own *own, struct fields *fields)
{
	struct sonde_db_stat stat = {
	    .count = real(fields, "count"),
	    .sum = real(fields, "sum"),
	    .min = real(fields, "min"),
	    .max = real(fields, "max"),
	    .sum_squares = real(fields, "sum_squares"),
	};
	uint32_t profile = get(&own->profiles, number(fields, "profile"), fields);
	uint32_t context = get(&own->contexts, number(fields, "context"), fields);
	uint32_t metric = get(&own->metrics, number(fields, "metric"), fields);
	if (!fields->failed)
		sn_db_builder_value(own->builder, profile, context, metric, &stat);
	return 0;
}

static int take_definition(struct sn_ctf_own *own, const char *name, struct fields *fields)
{
	static const struct {
		const char *name;
		int (*take)(struct sn_ctf_own *own, struct fields *fields);
	} known[] = {{"property", take_property}, {"drop", take_drop},	{"metric", take_metric},
		     {"module", take_module},	  {"key", take_key},	{"context", take_context},
		     {"profile", take_profile},	  {"value", take_value}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		int result = known[i].take(own, fields);
		return fields->failed ? SN_ERR_FORMAT : result;
	}
	return 0; /* of a later version */
}

/* ---- events ---- */

/* Which kind of track an event is of, and what it is of an interval. */
struct shape {
	const char *name;
	uint16_t kind;
	uint8_t place;
	enum { ALONE, BEGIN, END } part;
};
static const struct shape shapes[] = {
    {"func_entry", SONDE_TRACK_INTERVALS, 0, BEGIN}, {"func_exit", SONDE_TRACK_INTERVALS, 0, END},
    {"gpu_begin", SONDE_TRACK_INTERVALS, 1, BEGIN},  {"gpu_end", SONDE_TRACK_INTERVALS, 1, END},
    {"state_begin", SONDE_TRACK_STATES, 2, BEGIN},   {"state_end", SONDE_TRACK_STATES, 2, END},
    {"system_begin", SONDE_TRACK_SYSTEM, 3, BEGIN},  {"system_end", SONDE_TRACK_SYSTEM, 3, END},
    {"sample", SONDE_TRACK_SAMPLES, 0, ALONE},	     {"instant", SONDE_TRACK_INSTANTS, 0, ALONE},
    {"counter", SONDE_TRACK_COUNTER, 0, ALONE},
};

static const struct shape *shape_of(const char *name)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (!strcmp(shapes[i].name, name))
			return shapes + i;
	return NULL;
}

/* Members that are known as attributes. */
static uint16_t take_attributes(struct sn_ctf_own *own, const bt_field *structure,
				struct sn_attribute *attributes)
{
	const bt_field_class *class = bt_field_borrow_class_const(structure);
	uint64_t count = bt_field_class_structure_get_member_count(class);
	uint16_t used = 0;
	for (uint64_t i = 0; i < count && used < ATTRIBUTES_MAX; i++) {
		const char *name = bt_field_class_structure_member_get_name(
		    bt_field_class_structure_borrow_member_by_index_const(class, i));
		uint32_t at = sn_intern_find(&own->fields, name, strlen(name));
		enum sonde_attribute_type type;
		uint64_t value;
		if (at != SN_INTERN_NONE &&
		    sn_ctf_scalar(
			own->builder,
			bt_field_structure_borrow_member_field_by_index_const(structure, i), &type,
			&value) &&
		    (type == SONDE_ATTRIBUTE_STRING) ==
			(own->keys[at].type == SONDE_ATTRIBUTE_STRING))
			attributes[used++] = (struct sn_attribute){own->keys[at].key, 0, value};
	}
	return used;
}

static int end_interval(struct sn_ctf_own *own, const uint32_t *key, uint64_t time_ns)
{
	struct sn_begin begin;
	if (!sn_begins_end(&own->begins, key, 3 * sizeof(*key), &begin))
		return SN_ERR_FORMAT;
	begin.event.end_ns = time_ns;
	sn_trace_writer_add(own->writer, &begin.event);
	free((void *)begin.event.attributes);
	return 0;
}

static int take_event(struct sn_ctf_own *own, const struct shape *shape, uint32_t profile,
		      struct fields *fields, uint64_t time_ns)
{
	struct sn_attribute attributes[ATTRIBUTES_MAX];
	uint32_t key[3] = {profile, shape->place, 0};
	if (shape->part != ALONE)
		key[2] = (uint32_t)number(fields, "lane");
	if (shape->part == END)
		return fields->failed ? SN_ERR_FORMAT : end_interval(own, key, time_ns);
	struct sn_event event = {
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .profile = profile,
	    .context = get(&own->contexts, number(fields, "context"), fields),
	    .link = sn_ctf_integer_or(fields->structure, "link", 0),
	    .metric = SONDE_NONE,
	    .kind = shape->kind,
	};
	if (shape->kind == SONDE_TRACK_COUNTER)
		event.metric = get(&own->metrics, number(fields, "metric"), fields);
	if (fields->failed)
		return SN_ERR_FORMAT;
	event.attribute_count = take_attributes(own, fields->structure, attributes);
	event.attributes = attributes;
	if (shape->part == BEGIN)
		return sn_begins_begin(&own->begins, key, sizeof(key), &event, 0);
	sn_trace_writer_add(own->writer, &event);
	return 0;
}

int sn_ctf_own_take(void *context, const bt_event *event, uint64_t time_ns)
{
	struct sn_ctf_own *own = context;
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(event));
	struct fields fields = {bt_event_borrow_payload_field_const(event), false};
	const bt_field *about = bt_event_borrow_common_context_field_const(event);
	if (!name || !fields.structure)
		return 0;
	if (!strncmp(name, "sonde_", 6))
		return take_definition(own, name + 6, &fields);
	const struct shape *shape = shape_of(name);
	if (!shape)
		return 0;
	uint32_t profile =
	    get(&own->profiles, sn_ctf_integer_or(about, "profile", UINT64_MAX), &fields);
	return fields.failed ? SN_ERR_FORMAT : take_event(own, shape, profile, &fields, time_ns);
}

/* ---- the whole ---- */

struct sn_ctf_own *sn_ctf_own_new(const struct sn_import_request *request,
				  struct sn_db_builder *builder, uint32_t run)
{
	struct sn_ctf_own *own = calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	own->builder = builder;
	own->writer = request->events;
	own->run = run;
	sn_begins_init(&own->begins);
	return own;
}

void sn_ctf_own_free(struct sn_ctf_own *own)
{
	if (!own)
		return;
	free(own->metrics.numbers);
	free(own->modules.numbers);
	free(own->contexts.numbers);
	free(own->profiles.numbers);
	free(own->keys);
	sn_intern_release(&own->fields);
	sn_begins_release(&own->begins);
	free(own);
}

int sn_ctf_own_finish(struct sn_ctf_own *own, const char *path, struct sn_error *error)
{
	if (own->contexts.count)
		return 0;
	return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': it has no contexts", path);
}
