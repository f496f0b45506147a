/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of an XPlane file: planes, programs, names of events and statistics. */
#include "xplane.h"

#include "base/vec.h"
#include "import/core/protobuf.h"

#include <stdio.h>
#include <string.h>

/* limit for a name with its data; programs with large constants may be as large */
#define NAME_BYTES_MAX (256u << 20)
/* limit for a name's statistics, kept until the names of statistics are known */
#define KEPT_BYTES_MAX 4096u

static const struct {
	const char *name;
	enum sn_xplane_role role;
} roles[] = {
    {"correlation_id", SN_XPLANE_CORRELATION},
    {"_pt", SN_XPLANE_PRODUCER_TYPE},
    {"_p", SN_XPLANE_PRODUCER},
    {"_ct", SN_XPLANE_CONSUMER_TYPE},
    {"_c", SN_XPLANE_CONSUMER},
    {"hlo_op", SN_XPLANE_HLO_OP},
    {"hlo_module", SN_XPLANE_HLO_MODULE},
    {"program_id", SN_XPLANE_PROGRAM},
    {"run_id", SN_XPLANE_RUN},
    {"tf_op", SN_XPLANE_TF_OP},
    {"kernel_details", SN_XPLANE_DETAILS},
    {"memcpy_details", SN_XPLANE_DETAILS},
    {"memset_details", SN_XPLANE_DETAILS},
    {"MemcpyDetails", SN_XPLANE_DETAILS},
    {"step_num", SN_XPLANE_STEP},
    {"allocation_bytes", SN_XPLANE_ALLOCATION},
    {"bytes_allocated", SN_XPLANE_ALLOCATED},
    {"process_id", SN_XPLANE_PROCESS},
    {"profile_start_time", SN_XPLANE_START_TIME},
    {"id", SN_XPLANE_ID},
    {"step_id", SN_XPLANE_STEP_ID},
    {"eager_op", SN_XPLANE_FUNCTION},
    {"name", SN_XPLANE_NODE},
    {"kernel_type", SN_XPLANE_KERNEL_TYPE},
    {"requested_bytes", SN_XPLANE_REQUESTED},
    {"region_type", SN_XPLANE_REGION},
    {"_r", SN_XPLANE_LEFT_OUT},
    {"Hlo Proto", SN_XPLANE_LEFT_OUT},
    {"hlo_proto", SN_XPLANE_LEFT_OUT},
};

/* ---- statistics ---- */

static struct sn_xplane_stat_kind *kind_of_stat(struct sn_xplane_plane *plane, uint64_t id)
{
	uint32_t number = sn_table_find(&plane->stat_ids, id);
	return number == SN_TABLE_NONE ? NULL : plane->stats + number;
}

bool sn_xplane_stat(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		    struct sn_proto message, struct sn_xplane_stat *stat)
{
	static const unsigned char types[] = {[2] = SONDE_ATTRIBUTE_REAL,
					      [3] = SONDE_ATTRIBUTE_UNSIGNED,
					      [4] = SONDE_ATTRIBUTE_SIGNED,
					      [5] = SONDE_ATTRIBUTE_STRING,
					      [6] = 0,
					      [7] = SONDE_ATTRIBUTE_STRING};
	struct sn_proto_field field;
	uint64_t id = 0;
	*stat = (struct sn_xplane_stat){0};
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1)
			id = field.value;
		if (field.number < 2 || field.number > 7)
			continue;
		stat->contents = field;
		stat->type = types[field.number];
		stat->value = field.value;
	}
	stat->kind = kind_of_stat(plane, id);
	if (message.failed || !stat->kind)
		return false;
	if (stat->contents.number == 5) {
		stat->value = sn_proto_string(xplane->builder, &stat->contents);
	} else if (stat->contents.number == 7) { /* a reference to a name */
		const struct sn_xplane_stat_kind *named = kind_of_stat(plane, stat->value);
		stat->value = named ? named->name : SONDE_NONE;
	}
	/* counts that fit are signed, so that a statistic always has the same attribute type */
	if (stat->type == SONDE_ATTRIBUTE_UNSIGNED && stat->value <= INT64_MAX)
		stat->type = SONDE_ATTRIBUTE_SIGNED;
	return stat->type != SONDE_ATTRIBUTE_STRING || stat->value != SONDE_NONE;
}

static int read_stat_name(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
			  struct sn_proto entry)
{
	struct sn_proto_field fields[3], inner[3]; /* 1 id, 2 a message with the name as 2 */
	SN_PROTO_FIELDS(entry, fields);
	SN_PROTO_FIELDS(sn_proto_enter(fields + 2), inner);
	struct sn_xplane_stat_kind created = {.name = sn_proto_string(xplane->builder, inner + 2)};
	memset(created.keys, 0xff, sizeof(created.keys));
	const char *text = sn_db_builder_text(xplane->builder, created.name);
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(roles[i].name, text))
			created.role = roles[i].role;
	uint32_t number = sn_table_add(&plane->stat_ids, fields[1].value);
	if (number == SN_TABLE_NONE ||
	    sn_vec_reserve(&plane->stats, &plane->stat_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	plane->stats[number] = created;
	return 0;
}

/* ---- events ---- */

static int keep(struct sn_xplane_plane *plane, const struct sn_proto_field *stat)
{
	if (stat->length > KEPT_BYTES_MAX)
		return 0;
	unsigned char *at = sn_buffer_room(&plane->bytes, 2 + stat->length);
	if (!at)
		return SN_ERR_MEMORY;
	at[0] = (unsigned char)stat->length;
	at[1] = (unsigned char)(stat->length >> 8);
	if (stat->length)
		memcpy(at + 2, stat->bytes, stat->length);
	return 0;
}

struct sn_proto sn_xplane_kept_stat(const struct sn_xplane_plane *plane, size_t *at)
{
	const unsigned char *bytes = plane->bytes.bytes + *at;
	size_t length = bytes[0] | (size_t)bytes[1] << 8;
	*at += 2 + length;
	return sn_proto_of(bytes + 2, length);
}

static int read_event_value(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
			    struct sn_proto value, struct sn_xplane_kind *kind)
{
	struct sn_proto_field field;
	bool has_programs =
	    !strcmp(sn_db_builder_text(xplane->builder, plane->name), "/host:metadata");
	int result = 0;
	while (!result && sn_proto_next(&value, &field)) {
		if (field.number == 2)
			kind->name = sn_proto_string(xplane->builder, &field);
		else if (field.number == 4 && field.length)
			kind->display = sn_proto_string(xplane->builder, &field);
		else if (field.number == 3 && has_programs)
			result = sn_xplane_add_program(xplane, field.bytes, field.length);
		else if (field.number == 5 && has_programs) {
			struct sn_proto_field stat[7]; /* 6: bytes */
			SN_PROTO_FIELDS(sn_proto_enter(&field), stat);
			if (stat[6].length)
				result =
				    sn_xplane_add_program(xplane, stat[6].bytes, stat[6].length);
		} else if (field.number == 5) {
			result = keep(plane, &field);
		}
	}
	return result;
}

static int read_event_name(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
			   struct sn_proto entry)
{
	struct sn_xplane_kind kind = {.name = SONDE_NONE,
				      .display = SONDE_NONE,
				      .stats_at = plane->bytes.count,
				      .number = SONDE_NONE};
	struct sn_proto_field field;
	uint64_t id = 0;
	int result = 0;
	while (!result && sn_proto_next(&entry, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			result = read_event_value(xplane, plane, sn_proto_enter(&field), &kind);
	}
	if (result)
		return result;
	kind.stat_bytes = (uint32_t)(plane->bytes.count - kind.stats_at);
	if (kind.name == SONDE_NONE)
		kind.name = sn_db_builder_string(xplane->builder, "");
	kind.mark = sn_xplane_mark_kind_of(sn_db_builder_text(xplane->builder, kind.name));
	uint32_t number = sn_table_add(&plane->kind_ids, id);
	if (number == SN_TABLE_NONE ||
	    sn_vec_reserve(&plane->kinds, &plane->kind_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	plane->kinds[number] = kind;
	return 0;
}

/* ---- planes ---- */

/* Reads the numbers of device and core from a plane's name, "/device:TPU:0 SparseCore 1". */
static void name_plane(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		       const struct sn_proto_field *field)
{
	plane->name = sn_proto_string(xplane->builder, field);
	const char *name = sn_db_builder_text(xplane->builder, plane->name);
	const char *colon = strrchr(name, ':');
	plane->is_device = !strncmp(name, "/device:", 8) && colon > name + 7;
	if (!plane->is_device)
		return;
	unsigned device = 0, core = 0;
	const char *space = strrchr(colon, ' ');
	if (sscanf(colon + 1, "%u", &device) != 1)
		device = 0;
	if (space && sscanf(space + 1, "%u", &core) == 1)
		core++;
	plane->device = device;
	plane->core = core;
}

/* Notes which lines a plane has; their events are skipped. */
static int look_at_line(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
			struct sn_error *error)
{
	struct sn_proto_stream *stream = &xplane->stream;
	struct sn_proto_field field;
	int found = sn_proto_stream_enter(stream, error);
	while (!found && (found = sn_proto_stream_next(stream, &field, error)) > 0) {
		found = 0;
		if (field.number == 4)
			break;
		if (field.number != 2 || field.length > KEPT_BYTES_MAX)
			continue;
		found = sn_proto_stream_load(stream, &field, error);
		if (found)
			break;
		plane->has_streams |= field.length > 8 && !memcmp(field.bytes, "Stream #", 8);
		plane->has_operations |= field.length == 7 && !memcmp(field.bytes, "XLA Ops", 7);
	}
	return found ? found : sn_proto_stream_leave(stream, error);
}

static int read_plane_field(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
			    struct sn_proto_field *field, struct sn_error *error)
{
	if (field->wire != SN_PROTO_BYTES || field->number < 2 || field->number > 6)
		return 0;
	if (field->number == 3)
		return look_at_line(xplane, plane, error);
	if (field->length > NAME_BYTES_MAX) {
		xplane->oversized++;
		return 0;
	}
	int result = sn_proto_stream_load(&xplane->stream, field, error);
	if (result)
		return result;
	switch (field->number) {
	case 2:
		name_plane(xplane, plane, field);
		break;
	case 4:
		result = read_event_name(xplane, plane, sn_proto_enter(field));
		break;
	case 5:
		result = read_stat_name(xplane, plane, sn_proto_enter(field));
		break;
	default:
		result = keep(plane, field);
	}
	return result ? sn_fail_memory(error) : 0;
}

/* The text of one of the plane's own statistics. */
static void describe(struct sn_xplane *xplane, const struct sn_xplane_stat *stat, char *text,
		     size_t size)
{
	const struct sn_db_builder *builder = xplane->builder;
	if (stat->type == SONDE_ATTRIBUTE_STRING)
		snprintf(text, size, "%s", sn_db_builder_text(builder, (uint32_t)stat->value));
	else if (stat->type == SONDE_ATTRIBUTE_REAL)
		snprintf(text, size, "%g", sn_proto_double(stat->value));
	else
		snprintf(text, size, "%lld", (long long)stat->value);
	for (char *at = text; *at; at++) /* keeps it on one line */
		if ((unsigned char)*at < ' ')
			*at = ' ';
}

/* Reads the plane's own statistics, which begin at `first` in its bytes. */
static void read_plane_stats(struct sn_xplane *xplane, struct sn_xplane_plane *plane, size_t first)
{
	struct sn_db_builder *builder = xplane->builder;
	char device[1024] = "", name[256], value[256];
	size_t used = 0;
	for (size_t at = first; at < plane->bytes.count;) {
		struct sn_xplane_stat stat;
		if (!sn_xplane_stat(xplane, plane, sn_xplane_kept_stat(plane, &at), &stat) ||
		    !stat.type)
			continue;
		if (stat.kind->role == SN_XPLANE_PROCESS)
			xplane->pid = (int64_t)stat.value;
		if (stat.kind->role == SN_XPLANE_START_TIME)
			xplane->start_time_ns = stat.value;
		if (xplane->graphs_only)
			continue;
		describe(xplane, &stat, value, sizeof(value));
		snprintf(name, sizeof(name), "xplane.%s",
			 sn_db_builder_text(builder, stat.kind->name));
		if (plane->is_device && used < sizeof(device))
			used += (size_t)snprintf(device + used, sizeof(device) - used, "%s%s %s",
						 used ? ", " : "", name + 7, value);
		else if (!plane->is_device && stat.kind->role != SN_XPLANE_LEFT_OUT)
			sn_db_builder_property(builder, name, value);
	}
	if (!plane->is_device || xplane->graphs_only)
		return;
	snprintf(name, sizeof(name), "xplane.%s", sn_db_builder_text(builder, plane->name));
	sn_db_builder_property(builder, name, device);
}

static int look_at_plane(struct sn_xplane *xplane, struct sn_error *error)
{
	struct sn_proto_field field;
	size_t first_stat = 0;
	bool has_stats = false;
	struct sn_xplane_plane nameless = {.name = sn_db_builder_string(xplane->builder, "")};
	if (sn_vec_push(&xplane->planes, &xplane->plane_capacity, &xplane->plane_count, nameless))
		return sn_fail_memory(error);
	struct sn_xplane_plane *plane = xplane->planes + xplane->plane_count - 1;
	int found = sn_proto_stream_enter(&xplane->stream, error);
	while (!found && (found = sn_proto_stream_next(&xplane->stream, &field, error)) > 0) {
		/* fields of this number are the last of a plane */
		if (field.number == 6 && !has_stats) {
			first_stat = plane->bytes.count;
			has_stats = true;
		}
		found = read_plane_field(xplane, plane, &field, error);
	}
	if (found)
		return found;
	if (has_stats)
		read_plane_stats(xplane, plane, first_stat);
	return sn_proto_stream_leave(&xplane->stream, error);
}

static int read_host(struct sn_xplane *xplane, struct sn_proto_field *field, struct sn_error *error)
{
	int result = sn_proto_stream_load(&xplane->stream, field, error);
	if (!result && field->length)
		xplane->host = sn_proto_string(xplane->builder, field);
	return result;
}

int sn_xplane_names(struct sn_xplane *xplane, struct sn_error *error)
{
	struct sn_proto_field field;
	int found;
	while ((found = sn_proto_stream_next(&xplane->stream, &field, error)) > 0) {
		bool is_bytes = field.wire == SN_PROTO_BYTES;
		if (field.number == 1 && is_bytes)
			found = look_at_plane(xplane, error);
		else if (field.number == 4 && is_bytes && field.length <= KEPT_BYTES_MAX)
			found = read_host(xplane, &field, error);
		if (found < 0)
			break;
	}
	return found;
}

void sn_xplane_release_names(struct sn_xplane *xplane)
{
	for (size_t i = 0; i < xplane->plane_count; i++) {
		sn_table_release(&xplane->planes[i].kind_ids);
		sn_table_release(&xplane->planes[i].stat_ids);
		free(xplane->planes[i].kinds);
		free(xplane->planes[i].stats);
		sn_buffer_release(&xplane->planes[i].bytes);
	}
	xplane->plane_count = 0;
}
