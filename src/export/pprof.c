/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's profile.proto, compressed by gzip where the build has zlib (pprof reads both).
 *
 * A frame becomes a location, a module a mapping. Modules that were loaded in several processes
 * have no one address, so every mapping gets an address range of its own and a location lies in its
 * mapping at its ELF virtual address: with the build id that is what symbolisers need. A sample is
 * what one thread measured at one context; the thread is in its labels. Values are all metrics, and
 * first the count of the first metric's samples. Strings go last: the format does not mind.
 */
#include "exporter.h"

#include "base/arena.h"
#include "base/escape.h"
#include "base/table.h"
#include "protobuf.h"
#include "whole_paths.h"
#include "stack.h"
#include "store_words.h"
#include "format/measurement/measurement.h"
#include "frame/group.h"
#include "show/tree/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#endif

/* Fields of profile.proto, https://github.com/google/pprof/blob/main/proto/profile.proto */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

/* Modules lie this far apart; no ELF file's virtual addresses reach so far. */
#define MAPPING_BYTES (UINT64_C(1) << 40)

/* Where the bytes go: straight to the stream, or through deflate. */
struct sink {
	FILE *out;
#ifdef SN_HAVE_ZLIB
	z_stream stream;
#endif
};

struct writer {
	const struct sn_export_request *request;
	const struct sonde_db *db;
	struct sink sink;
	struct sn_buffer message, part, packed;
	struct sn_buffer strings; /* the string table's fields as they will be written */
	uint32_t string_count;
	struct sn_table string_ids; /* strings of the database: number in the table */
	struct sn_arena arena;
	struct sn_groups functions;
	struct sn_whole_paths paths;
};

/* Numbers of strings. */
struct label_keys {
	uint32_t thread, pid, tid, host, program, cgroup;
	uint32_t *own; /* of the request's labels */
};

#ifdef SN_HAVE_ZLIB
static void sink_deflate(struct sink *sink, const void *bytes, size_t length, int flush)
{
	unsigned char chunk[65536];
	sink->stream.next_in = (unsigned char *)bytes;
	sink->stream.avail_in = (unsigned)length;
	do {
		sink->stream.next_out = chunk;
		sink->stream.avail_out = sizeof(chunk);
		if (deflate(&sink->stream, flush) == Z_STREAM_ERROR)
			return;
		fwrite(chunk, 1, sizeof(chunk) - sink->stream.avail_out, sink->out);
	} while (sink->stream.avail_out == 0);
}

static int sink_open(struct sink *sink)
{
	enum { GZIP = 16, LEVEL = 5, MEMORY = 8 };
	return deflateInit2(&sink->stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY,
			    Z_DEFAULT_STRATEGY) == Z_OK
		   ? 0
		   : -1;
}

static void sink_write(struct sink *sink, const void *bytes, size_t length)
{
	sink_deflate(sink, bytes, length, Z_NO_FLUSH);
}

static void sink_close(struct sink *sink)
{
	sink_deflate(sink, "", 0, Z_FINISH);
	deflateEnd(&sink->stream);
}
#else
static int sink_open(struct sink *sink)
{
	return 0;
}

static void sink_write(struct sink *sink, const void *bytes, size_t length)
{
	fwrite(bytes, 1, length, sink->out);
}

static void sink_close(struct sink *sink)
{
}
#endif

static uint32_t add_text(struct writer *writer, const char *text)
{
	sn_escape_put(&writer->packed, SN_ESCAPE_SHOWN, text);
	sn_protobuf_message(&writer->strings, PROFILE_STRING_TABLE, &writer->packed);
	return writer->string_count++;
}

/* The table's number of a string of the database. */
static uint32_t add_string(struct writer *writer, uint32_t id)
{
	const char *text = sonde_db_string(writer->db, id);
	if (*text == '\0')
		return 0;
	uint32_t number = sn_table_find(&writer->string_ids, id);
	if (number == SN_TABLE_NONE) {
		number = add_text(writer, text);
		writer->strings.failed |= sn_table_put(&writer->string_ids, id, number) < 0;
	}
	return number;
}

static void put_part(struct writer *writer)
{
	sink_write(&writer->sink, writer->part.bytes, writer->part.count);
	writer->part.count = 0;
}

/* Writes writer->message as a field of the profile and empties it. */
static void put_message(struct writer *writer, unsigned field)
{
	sn_protobuf_message(&writer->part, field, &writer->message);
	put_part(writer);
}

static void put_value_type(struct writer *writer, unsigned field, uint32_t type, uint32_t unit)
{
	sn_protobuf_number(&writer->message, 1, type);
	sn_protobuf_number(&writer->message, 2, unit);
	put_message(writer, field);
}

static void put_number(struct writer *writer, unsigned field, uint64_t value)
{
	sn_protobuf_number(&writer->part, field, value);
	put_part(writer);
}

static uint32_t unit_of(struct writer *writer, const struct sonde_db_metric *metric)
{
	return add_text(writer, sn_store_unit(sonde_db_string(writer->db, metric->unit)));
}

static uint64_t start_of(const struct sonde_db *db)
{
	uint64_t start = 0;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++) {
		uint64_t start_ns = sonde_db_profile(db, i)->start_ns;
		if (start == 0 || start_ns < start)
			start = start_ns;
	}
	return start;
}

static void put_head(struct writer *writer)
{
	const struct sn_export_request *request = writer->request;
	const char *duration = sonde_db_property(writer->db, "duration_ns");
	const char *command = sonde_db_property(writer->db, "command");
	put_value_type(writer, PROFILE_SAMPLE_TYPE, add_text(writer, "samples"),
		       add_text(writer, "count"));
	for (uint32_t m = 0; m < request->metric_count; m++) {
		const struct sonde_db_metric *metric =
		    sonde_db_metric(writer->db, request->metrics[m]);
		uint32_t name = add_string(writer, metric->name), unit = unit_of(writer, metric);
		put_value_type(writer, PROFILE_SAMPLE_TYPE, name, unit);
		if (m > 0)
			continue;
		put_number(writer, PROFILE_DEFAULT_SAMPLE_TYPE, name);
		if (metric->period > 0) {
			put_value_type(writer, PROFILE_PERIOD_TYPE, name, unit);
			put_number(writer, PROFILE_PERIOD, metric->period);
		}
	}
	put_number(writer, PROFILE_TIME_NANOS, start_of(writer->db));
	put_number(writer, PROFILE_DURATION_NANOS, duration ? strtoull(duration, NULL, 10) : 0);
	if (command)
		put_number(writer, PROFILE_COMMENT, add_text(writer, command));
}

static void put_mapping(struct writer *writer, uint32_t id)
{
	const struct sonde_db_module *module = sonde_db_module(writer->db, id);
	sn_protobuf_number(&writer->message, 1, id + 1);
	sn_protobuf_number(&writer->message, 2, (id + 1) * MAPPING_BYTES);
	sn_protobuf_number(&writer->message, 3, (id + 2) * MAPPING_BYTES);
	sn_protobuf_number(&writer->message, 5, add_string(writer, module->path));
	sn_protobuf_number(&writer->message, 6, add_string(writer, module->build_id));
	for (unsigned has = 7; has <= 10; has++) /* functions, files, lines, inlining */
		sn_protobuf_number(&writer->message, has, 1);
	put_message(writer, PROFILE_MAPPING);
}

/* pprof takes the first mapping for the program. */
static void put_mappings(struct writer *writer)
{
	uint32_t count = sonde_db_module_count(writer->db);
	for (int is_main = 1; is_main >= 0; is_main--)
		for (uint32_t i = 0; i < count; i++)
			if (!!(sonde_db_module(writer->db, i)->flags & SN_MODULE_MAIN) == is_main)
				put_mapping(writer, i);
}

static void put_functions(struct writer *writer)
{
	char name[4096];
	for (uint32_t i = 0; i < writer->functions.count; i++) {
		const struct sonde_db_frame *frame =
		    sonde_db_frame(writer->db, writer->functions.frame[i]);
		uint32_t plain = add_string(writer, frame->name);
		if (plain == 0) {
			sn_stack_name(writer->db, writer->functions.frame[i], name, sizeof(name));
			plain = add_text(writer, name);
		}
		/* A system name equal to the name would have pprof demangle it: <module> is no C++.
		 */
		sn_protobuf_number(&writer->message, 1, i + 1);
		sn_protobuf_number(&writer->message, 2, plain);
		sn_protobuf_number(&writer->message, 3, add_string(writer, frame->linkage_name));
		sn_protobuf_number(&writer->message, 4, add_string(writer, frame->file));
		sn_protobuf_number(&writer->message, 5, frame->function_line);
		put_message(writer, PROFILE_FUNCTION);
	}
	if (writer->paths.cut.limit > 0) {
		sn_protobuf_number(&writer->message, 1, writer->functions.count + 1);
		sn_protobuf_number(&writer->message, 2, add_text(writer, SN_STACK_CUT_NAME));
		put_message(writer, PROFILE_FUNCTION);
	}
}

/* Loops are none: what was measured in one belongs to the function around it. */
static bool is_function(const struct writer *writer, uint32_t frame)
{
	return writer->functions.of_frame[frame] != SONDE_NONE;
}

static void put_locations(struct writer *writer)
{
	uint32_t count = sonde_db_frame_count(writer->db);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_db_frame *frame = sonde_db_frame(writer->db, i);
		if (!is_function(writer, i))
			continue;
		bool is_mapped = frame->module != SONDE_NONE && frame->offset > 0 &&
				 frame->offset < MAPPING_BYTES;
		sn_protobuf_number(&writer->message, 1, i + 1);
		if (frame->module != SONDE_NONE)
			sn_protobuf_number(&writer->message, 2, frame->module + 1);
		if (is_mapped)
			sn_protobuf_number(&writer->message, 3,
					   (frame->module + 1) * MAPPING_BYTES + frame->offset);
		sn_protobuf_number(&writer->packed, 1, writer->functions.of_frame[i] + 1);
		sn_protobuf_number(&writer->packed, 2, frame->line);
		sn_protobuf_message(&writer->message, 4, &writer->packed);
		put_message(writer, PROFILE_LOCATION);
	}
	if (writer->paths.cut.limit > 0) {
		sn_protobuf_number(&writer->message, 1, count + 1);
		sn_protobuf_number(&writer->packed, 1, writer->functions.count + 1);
		sn_protobuf_message(&writer->message, 4, &writer->packed);
		put_message(writer, PROFILE_LOCATION);
	}
}

static void encode_label(struct writer *writer, uint32_t key, const char *text,
			 struct sn_buffer *labels)
{
	uint32_t number = *text ? add_text(writer, text) : 0;
	if (!number)
		return;
	sn_protobuf_number(&writer->packed, 1, key);
	sn_protobuf_number(&writer->packed, 2, number);
	sn_protobuf_message(labels, 3, &writer->packed);
}

/* Whose they are, for stores that hold many machines. */
static void encode_origin(struct writer *writer, uint32_t profile, const struct label_keys *keys,
			  struct sn_buffer *labels)
{
	const struct sn_export_request *request = writer->request;
	struct sn_store_origin origin = sn_store_origin_of(writer->db, profile);
	if (!request->tells_origin)
		return;
	encode_label(writer, keys->host, origin.host, labels);
	encode_label(writer, keys->program, origin.program, labels);
	encode_label(writer, keys->cgroup, origin.cgroup, labels);
	for (size_t i = 0; i < request->label_count; i++)
		encode_label(writer, keys->own[i], request->labels[i].value, labels);
}

/* What stays the same for all samples of a thread: its labels, as they will be written. */
static void encode_labels(struct writer *writer, uint32_t profile, const struct label_keys *keys,
			  struct sn_buffer *labels)
{
	char name[512];
	const struct sonde_db_profile *p = sonde_db_profile(writer->db, profile);
	sn_view_profile_name(writer->db, profile, name, sizeof(name));
	labels->count = 0;
	encode_label(writer, keys->thread, name, labels);
	const uint64_t numbers[] = {p->pid, p->tid};
	for (int i = 0; i < 2; i++) {
		sn_protobuf_number(&writer->packed, 1, i ? keys->tid : keys->pid);
		sn_protobuf_number(&writer->packed, 3, numbers[i]);
		sn_protobuf_message(labels, 3, &writer->packed);
	}
	encode_origin(writer, profile, keys, labels);
}

static void pack_path(struct writer *writer, uint32_t context)
{
	uint32_t length = sn_whole_paths_go(&writer->paths, context), frame;
	for (uint32_t depth = length;
	     sn_whole_paths_next(&writer->paths, length, &depth, &frame);) {
		uint32_t location = frame == SONDE_NONE ? sonde_db_frame_count(writer->db) : frame;
		sn_buffer_varint(&writer->packed, location + 1);
	}
}

static void put_sample(struct writer *writer, uint32_t context, const struct sonde_db_stat *stats,
		       const struct sn_buffer *labels)
{
	pack_path(writer, context);
	sn_protobuf_message(&writer->message, 1, &writer->packed);
	sn_buffer_varint(&writer->packed, (uint64_t)llround(stats[0].count));
	for (uint32_t m = 0; m < writer->request->metric_count; m++)
		sn_buffer_varint(&writer->packed, (uint64_t)llround(stats[m].sum));
	sn_protobuf_message(&writer->message, 2, &writer->packed);
	/* The labels are encoded already. */
	sn_buffer_varint(&writer->part, PROFILE_SAMPLE << 3 | 2);
	sn_buffer_varint(&writer->part, writer->message.count + labels->count);
	put_part(writer);
	sink_write(&writer->sink, writer->message.bytes, writer->message.count);
	sink_write(&writer->sink, labels->bytes, labels->count);
	writer->message.count = 0;
}

/* A metric's values of one profile, and where in them we are. */
struct values {
	struct sonde_db_plane plane;
	size_t at;
};

/* Goes through the metrics' values of one profile side by side, by ascending context. */
static void put_profile(struct writer *writer, uint32_t profile, struct values *values,
			struct sonde_db_stat *stats, const struct sn_buffer *labels)
{
	uint32_t metrics = writer->request->metric_count;
	sn_whole_paths_begin(&writer->paths);
	for (uint32_t m = 0; m < metrics; m++)
		values[m] = (struct values){
		    sonde_db_profile_plane(writer->db, profile, writer->request->metrics[m]), 0};
	for (;;) {
		uint32_t context = SONDE_NONE;
		for (struct values *one = values; one < values + metrics; one++)
			if (one->at < one->plane.count && one->plane.ids[one->at] < context)
				context = one->plane.ids[one->at];
		if (context == SONDE_NONE)
			return;
		for (uint32_t m = 0; m < metrics; m++) {
			struct values *one = values + m;
			stats[m] = (struct sonde_db_stat){0};
			if (one->at < one->plane.count && one->plane.ids[one->at] == context)
				sonde_db_plane_stat(&one->plane, one->at++, stats + m);
		}
		put_sample(writer, context, stats, labels);
	}
}

/* False without memory. */
static bool add_keys(struct writer *writer, struct label_keys *keys)
{
	const struct sn_export_request *request = writer->request;
	*keys = (struct label_keys){.thread = add_text(writer, "thread"),
				    .pid = add_text(writer, "pid"),
				    .tid = add_text(writer, "tid")};
	if (!request->tells_origin)
		return true;
	keys->host = add_text(writer, "host");
	keys->program = add_text(writer, "program");
	keys->cgroup = add_text(writer, "cgroup");
	keys->own = sn_arena_array(&writer->arena, uint32_t, request->label_count + 1);
	for (size_t i = 0; keys->own && i < request->label_count; i++)
		keys->own[i] = add_text(writer, request->labels[i].key);
	return keys->own != NULL;
}

static void put_samples(struct writer *writer)
{
	uint32_t metrics = writer->request->metric_count;
	struct label_keys keys;
	bool has_keys = add_keys(writer, &keys);
	struct values *values = sn_arena_array(&writer->arena, struct values, metrics);
	struct sonde_db_stat *stats = sn_arena_array(&writer->arena, struct sonde_db_stat, metrics);
	struct sn_buffer labels = {0};
	for (uint32_t p = 0; has_keys && values && stats && p < sonde_db_profile_count(writer->db);
	     p++) {
		encode_labels(writer, p, &keys, &labels);
		put_profile(writer, p, values, stats, &labels);
	}
	writer->strings.failed |= labels.failed;
	sn_buffer_release(&labels);
}

static int write_all(struct writer *writer)
{
	const struct sn_export_request *request = writer->request;
	if (sn_whole_paths_init(&writer->paths, request->db, &writer->functions, request->metrics,
				request->metric_count) != 0 ||
	    sink_open(&writer->sink) != 0)
		return SN_ERR_MEMORY;
	add_text(writer, "");
	put_head(writer);
	put_mappings(writer);
	put_functions(writer);
	put_locations(writer);
	put_samples(writer);
	sink_write(&writer->sink, writer->strings.bytes, writer->strings.count);
	sink_close(&writer->sink);
	bool failed = writer->strings.failed || writer->message.failed || writer->part.failed ||
		      writer->packed.failed || writer->arena.failed;
	return failed ? SN_ERR_MEMORY : 0;
}

static int write_pprof(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct writer writer = {.request = request, .db = request->db, .sink = {.out = out}};
	int code = sn_groups_init(&writer.functions, request->db, SN_GROUP_FUNCTION, error);
	if (code != 0)
		return code;
	code = write_all(&writer);
	sn_buffer_release(&writer.message);
	sn_buffer_release(&writer.part);
	sn_buffer_release(&writer.packed);
	sn_buffer_release(&writer.strings);
	sn_table_release(&writer.string_ids);
	sn_arena_release(&writer.arena);
	if (request->cut)
		*request->cut = writer.paths.cut;
	sn_whole_paths_release(&writer.paths);
	sn_groups_release(&writer.functions);
	return sn_fail_code(error, code);
}

const struct sn_exporter sn_exporter_pprof = {"pprof", "pb.gz", write_pprof};
