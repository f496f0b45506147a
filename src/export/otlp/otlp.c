/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP profiles (v1development), the message that collectors take: ExportProfilesServiceRequest, which has the same
 * bytes as ProfilesData. Not compressed, as whoever sends it says how it is.
 *
 * A machine's program, in one control group, is a resource; what it measured of a metric is a profile there: the sums,
 * and where the metric was sampled another one with the number of samples. Samples of different threads stay apart by their
 * attributes. The dictionary (otlp_dictionary.h) goes last: the format does not mind.
 */
#include "export/exporter.h"
#include "export/store_words.h"
#include "format/checksum.h"
#include "otlp_dictionary.h"
#include "show/tree/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REQUEST_RESOURCES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCES_RESOURCE = 1, RESOURCES_SCOPES = 2, RESOURCE_ATTRIBUTES = 1 };
enum { SCOPES_SCOPE = 1, SCOPES_PROFILES = 2, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
};
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };

/* One of the profiles: the sums of a metric, or the number of its samples. */
struct kind {
	uint32_t metric;
	bool is_count;
};

struct writer {
	const struct sn_export_request *request;
	const struct sonde_db *db;
	struct sn_otlp_dictionary dictionary;
	bool is_of_store; /* of continuous profiling */
	bool *are_done;	  /* [profile] */
	struct sn_buffer message, resources, scopes, profile, sample, packed;
	uint32_t resource_count;
};

/* ---- samples ---- */

/* The numbers of a thread's attributes, packed into writer->packed. */
static void pack_attributes(struct writer *writer, uint32_t profile)
{
	char name[512];
	struct sn_otlp_dictionary *dictionary = &writer->dictionary;
	const struct sonde_db_profile *p = sonde_db_profile(writer->db, profile);
	writer->packed.count = 0;
	if (!writer->is_of_store) { /* which knows no threads */
		sn_view_profile_name(writer->db, profile, name, sizeof(name));
		sn_buffer_varint(&writer->packed,
				 sn_otlp_attribute_text(dictionary, "thread.name", name));
	}
	if (p->pid)
		sn_buffer_varint(&writer->packed,
				 sn_otlp_attribute_number(dictionary, "process.pid", p->pid));
	if (p->tid && !writer->is_of_store)
		sn_buffer_varint(&writer->packed,
				 sn_otlp_attribute_number(dictionary, "thread.id", p->tid));
}

static void put_sample(struct writer *writer, uint32_t context, uint64_t value)
{
	struct sn_buffer *sample = &writer->sample, values = {0};
	sn_protobuf_number(sample, SAMPLE_STACK, sn_otlp_stack(&writer->dictionary, context));
	sn_buffer_varint(sample, SAMPLE_ATTRIBUTES << 3 | 2);
	sn_buffer_varint(sample, writer->packed.count);
	sn_buffer_put(sample, writer->packed.bytes, writer->packed.count);
	sn_buffer_varint(&values, value);
	sn_protobuf_message(sample, SAMPLE_VALUES, &values);
	sn_buffer_release(&values);
	sn_protobuf_message(&writer->profile, PROFILE_SAMPLES, sample);
}

static void put_samples(struct writer *writer, uint32_t profile, const struct kind *kind)
{
	struct sonde_db_plane plane = sonde_db_profile_plane(writer->db, profile, kind->metric);
	struct sonde_db_stat stat;
	if (plane.count == 0)
		return;
	pack_attributes(writer, profile);
	sn_whole_paths_begin(&writer->dictionary.paths);
	for (size_t i = 0; i < plane.count; i++) {
		sonde_db_plane_stat(&plane, i, &stat);
		long long value = llround(kind->is_count ? stat.count : stat.sum);
		if (value > 0)
			put_sample(writer, plane.ids[i], (uint64_t)value);
	}
}

/* ---- profiles ---- */

static void put_type(struct writer *writer, unsigned field, uint32_t type, uint32_t unit)
{
	sn_protobuf_number(&writer->sample, 1, type);
	sn_protobuf_number(&writer->sample, 2, unit);
	sn_protobuf_message(&writer->profile, field, &writer->sample);
}

/* Of 16 bytes, which are not all 0. */
static void put_id(struct writer *writer, const struct kind *kind)
{
	struct sn_buffer text = {0};
	if (!writer->request->identity)
		return;
	sn_buffer_print(&text, "%s/%u/%u/%d/", writer->request->identity, writer->resource_count,
			kind->metric, kind->is_count);
	for (int half = 0; half < 2; half++) {
		sn_buffer_byte(&text, (unsigned char)('a' + half));
		sn_buffer_number(&writer->sample, sn_checksum(text.bytes, text.count) | 1, 8);
	}
	writer->sample.failed |= text.failed;
	sn_buffer_release(&text);
	sn_protobuf_message(&writer->profile, PROFILE_ID, &writer->sample);
}

static void put_head(struct writer *writer, uint32_t profile, const struct kind *kind)
{
	struct sn_otlp_dictionary *dictionary = &writer->dictionary;
	const struct sonde_db_metric *metric = sonde_db_metric(writer->db, kind->metric);
	const char *duration = sonde_db_property(writer->db, "duration_ns");
	uint32_t name = sn_otlp_text(dictionary, sonde_db_string(writer->db, metric->name));
	uint32_t unit =
	    sn_otlp_text(dictionary, sn_store_unit(sonde_db_string(writer->db, metric->unit)));
	if (kind->is_count)
		put_type(writer, PROFILE_SAMPLE_TYPE, sn_otlp_text(dictionary, "samples"),
			 sn_otlp_text(dictionary, "count"));
	else
		put_type(writer, PROFILE_SAMPLE_TYPE, name, unit);
	sn_protobuf_fixed64(&writer->profile, PROFILE_TIME,
			    sonde_db_profile(writer->db, profile)->start_ns);
	sn_protobuf_number(&writer->profile, PROFILE_DURATION,
			   duration ? strtoull(duration, NULL, 10) : 0);
	if (metric->period > 0) {
		put_type(writer, PROFILE_PERIOD_TYPE, name, unit);
		sn_protobuf_number(&writer->profile, PROFILE_PERIOD, metric->period);
	}
	put_id(writer, kind);
}

/* The profile of all of that origin; nothing where there is no sample. */
static void put_profile(struct writer *writer, uint32_t first, const struct sn_store_origin *origin,
			const struct kind *kind)
{
	uint32_t count = sonde_db_profile_count(writer->db);
	put_head(writer, first, kind);
	size_t head_bytes = writer->profile.count;
	for (uint32_t p = first; p < count; p++) {
		struct sn_store_origin other = sn_store_origin_of(writer->db, p);
		if (writer->are_done[p] || !sn_store_origin_is_same(origin, &other))
			continue;
		put_samples(writer, p, kind);
	}
	if (writer->profile.count > head_bytes)
		sn_protobuf_message(&writer->scopes, SCOPES_PROFILES, &writer->profile);
	sn_buffer_cut(&writer->profile, 0);
}

/* ---- resources ---- */

static void put_attribute(struct writer *writer, const char *key, const char *text)
{
	if (*text)
		sn_otlp_put_key_value(&writer->profile, RESOURCE_ATTRIBUTES, key, text);
}

static void put_resource(struct writer *writer, const struct sn_store_origin *origin)
{
	const struct sn_export_request *request = writer->request;
	const char *command = sonde_db_property(writer->db, "command");
	put_attribute(writer, "host.name", origin->host);
	put_attribute(writer, "service.name", origin->program);
	put_attribute(writer, "process.linux.cgroup", origin->cgroup);
	put_attribute(writer, "process.command_line", command ? command : "");
	for (size_t i = 0; i < request->label_count; i++)
		put_attribute(writer, request->labels[i].key, request->labels[i].value);
	sn_protobuf_message(&writer->resources, RESOURCES_RESOURCE, &writer->profile);
}

static void put_scope(struct writer *writer)
{
	sn_protobuf_text(&writer->sample, SCOPE_NAME, "sonde");
	sn_protobuf_text(&writer->sample, SCOPE_VERSION, SN_VERSION);
	sn_protobuf_message(&writer->scopes, SCOPES_SCOPE, &writer->sample);
}

static void put_origin(struct writer *writer, uint32_t first)
{
	const struct sn_export_request *request = writer->request;
	struct sn_store_origin origin = sn_store_origin_of(writer->db, first);
	put_resource(writer, &origin);
	put_scope(writer);
	for (uint32_t m = 0; m < request->metric_count; m++) {
		struct kind kind = {request->metrics[m], false};
		put_profile(writer, first, &origin, &kind);
		kind.is_count = true;
		if (sonde_db_metric(writer->db, kind.metric)->period > 0)
			put_profile(writer, first, &origin, &kind);
	}
	sn_protobuf_message(&writer->resources, RESOURCES_SCOPES, &writer->scopes);
	sn_protobuf_message(&writer->message, REQUEST_RESOURCES, &writer->resources);
	writer->resource_count++;
	for (uint32_t p = first; p < sonde_db_profile_count(writer->db); p++) {
		struct sn_store_origin other = sn_store_origin_of(writer->db, p);
		writer->are_done[p] |= sn_store_origin_is_same(&origin, &other);
	}
}

static int write_all(struct writer *writer)
{
	uint32_t count = sonde_db_profile_count(writer->db);
	writer->are_done = calloc(count + 1ull, sizeof(*writer->are_done));
	if (!writer->are_done)
		return SN_ERR_MEMORY;
	for (uint32_t p = 0; p < count; p++)
		if (!writer->are_done[p])
			put_origin(writer, p);
	sn_otlp_dictionary_put(&writer->dictionary, &writer->profile);
	sn_protobuf_message(&writer->message, REQUEST_DICTIONARY, &writer->profile);
	bool failed = writer->dictionary.failed || writer->message.failed ||
		      writer->resources.failed || writer->scopes.failed || writer->profile.failed ||
		      writer->sample.failed || writer->packed.failed;
	return failed ? SN_ERR_MEMORY : 0;
}

static void release(struct writer *writer)
{
	sn_otlp_dictionary_release(&writer->dictionary);
	free(writer->are_done);
	sn_buffer_release(&writer->message);
	sn_buffer_release(&writer->resources);
	sn_buffer_release(&writer->scopes);
	sn_buffer_release(&writer->profile);
	sn_buffer_release(&writer->sample);
	sn_buffer_release(&writer->packed);
}

static int write_otlp(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct writer writer = {
	    .request = request, .db = request->db, .is_of_store = sn_store_is_source(request->db)};
	int code = sn_otlp_dictionary_init(&writer.dictionary, request->db, request->metrics,
					   request->metric_count);
	if (code == 0)
		code = write_all(&writer);
	if (code == 0)
		fwrite(writer.message.bytes, 1, writer.message.count, out);
	if (request->cut)
		*request->cut = writer.dictionary.paths.cut;
	release(&writer);
	return sn_fail_code(error, code);
}

const struct sn_exporter sn_exporter_otlp = {"otlp", "otlp", write_otlp};
