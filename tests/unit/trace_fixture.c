/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_fixture.h. */
#include "trace_fixture.h"

#include "format/measurement/measurement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t time_metric(struct sn_db_builder *builder, const char *name)
{
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(builder, name),
	    .unit = sn_db_builder_string(builder, "ns"),
	    .source = sn_db_builder_string(builder, "test"),
	    .kind = SN_METRIC_TIME,
	};
	return sn_db_builder_metric(builder, &metric);
}

void trace_fixture_init(struct trace_fixture *fixture)
{
	static const struct {
		const char *name;
		enum sonde_attribute_type type;
	} keys[TRACE_FIXTURE_KEYS] = {
	    [TRACE_FIXTURE_BYTES] = {"bytes", SONDE_ATTRIBUTE_SIGNED},
	    [TRACE_FIXTURE_ADDRESS] = {"Addr", SONDE_ATTRIBUTE_SIGNED},
	    [TRACE_FIXTURE_SEQUENCE] = {"Seq", SONDE_ATTRIBUTE_SIGNED},
	    [TRACE_FIXTURE_WAKER] = {"waker", SONDE_ATTRIBUTE_UNSIGNED},
	    [TRACE_FIXTURE_MESSAGE] = {"message", SONDE_ATTRIBUTE_UNSIGNED},
	    [TRACE_FIXTURE_PEER] = {"peer", SONDE_ATTRIBUTE_UNSIGNED},
	};
	*fixture = (struct trace_fixture){.builder = sn_db_builder_new(),
					  .writer = sn_trace_writer_new(1 << 20, NULL)};
	if (!fixture->builder || !fixture->writer)
		abort();
	sn_trace_writer_attach(fixture->writer, fixture->builder);
	for (unsigned i = 0; i < TRACE_FIXTURE_KEYS; i++)
		fixture->keys[i] = sn_trace_writer_key(
		    fixture->writer, sn_db_builder_string(fixture->builder, keys[i].name),
		    SONDE_NONE, keys[i].type);
	fixture->copy_time = time_metric(fixture->builder, "copy-time");
	fixture->kernel_time = time_metric(fixture->builder, "kernel-time");
}

void trace_fixture_release(struct trace_fixture *fixture)
{
	if (fixture->trace)
		sonde_trace_close(fixture->trace);
	if (fixture->db)
		sonde_db_close(fixture->db);
	sn_db_builder_free(fixture->builder);
	*fixture = (struct trace_fixture){.builder = NULL};
}

static uint32_t add_profile(struct trace_fixture *fixture, struct sonde_db_profile profile)
{
	profile.host = sn_db_builder_string(fixture->builder, "host");
	profile.program = sn_db_builder_string(fixture->builder, "program");
	profile.thread = SONDE_NONE;
	profile.device_context = SONDE_NONE;
	return sn_db_builder_profile(fixture->builder, &profile);
}

uint32_t trace_fixture_thread(struct trace_fixture *fixture, int rank, unsigned pid, unsigned tid)
{
	return add_profile(
	    fixture,
	    (struct sonde_db_profile){
		.rank = rank, .pid = pid, .tid = tid, .device = SONDE_NONE, .stream = SONDE_NONE});
}

uint32_t trace_fixture_stream(struct trace_fixture *fixture, int rank, unsigned pid,
			      unsigned device, unsigned stream)
{
	return add_profile(fixture, (struct sonde_db_profile){.rank = rank,
							      .pid = pid,
							      .kind = SONDE_PROFILE_STREAM,
							      .device = device,
							      .stream = stream});
}

uint32_t trace_fixture_context(struct trace_fixture *fixture, uint32_t parent, unsigned kind,
			       unsigned flags, const char *name)
{
	struct sonde_db_frame frame = {
	    .kind = (uint8_t)kind,
	    .flags = (uint8_t)flags,
	    .name = sn_db_builder_string(fixture->builder, name),
	    .linkage_name = SONDE_NONE,
	    .module = SONDE_NONE,
	    .file = SONDE_NONE,
	};
	return sn_db_builder_context(fixture->builder, parent,
				     sn_db_builder_frame(fixture->builder, &frame));
}

void trace_fixture_value(struct trace_fixture *fixture, uint32_t profile, uint32_t context,
			 uint32_t metric, double value)
{
	struct sonde_db_stat stat = {1, value, value, value, value * value};
	sn_db_builder_value(fixture->builder, profile, context, metric, &stat);
}

void trace_fixture_any(struct trace_fixture *fixture, unsigned track_kind, uint32_t profile,
		       uint32_t context, uint64_t start_ns, uint64_t end_ns, uint64_t link,
		       const struct sn_attribute *attributes, unsigned count)
{
	struct sn_event event = {
	    .start_ns = start_ns,
	    .end_ns = end_ns,
	    .link = link,
	    .profile = profile,
	    .context = context,
	    .metric = SONDE_NONE,
	    .kind = (uint16_t)track_kind,
	    .attribute_count = (uint16_t)count,
	    .attributes = attributes,
	};
	sn_trace_writer_add(fixture->writer, &event);
}

void trace_fixture_event(struct trace_fixture *fixture, uint32_t profile, uint32_t context,
			 uint64_t start_ns, uint64_t end_ns, uint64_t link)
{
	trace_fixture_any(fixture, SONDE_TRACK_INTERVALS, profile, context, start_ns, end_ns, link,
			  NULL, 0);
}

void trace_fixture_open(struct trace_fixture *fixture)
{
	char path[] = "/tmp/sonde-trace-XXXXXX";
	struct sn_error error = {""};
	struct sonde_db_error why = {""};
	int file = mkstemp(path);
	if (file < 0)
		abort();
	close(file);
	bool is_open = !sn_db_builder_write(fixture->builder, path, &error) &&
		       !sonde_db_open(path, &fixture->db, &why) &&
		       !sonde_trace_open(fixture->db, &fixture->trace, &why);
	unlink(path);
	if (!is_open) {
		fprintf(stderr, "%s%s\n", error.text, why.text);
		abort();
	}
}

uint32_t trace_fixture_named(const struct trace_fixture *fixture, const char *name)
{
	for (uint32_t i = 0; i < sonde_db_context_count(fixture->db); i++) {
		const struct sonde_db_frame *frame =
		    sonde_db_frame(fixture->db, sonde_db_context(fixture->db, i)->frame);
		if (!strcmp(sonde_db_string(fixture->db, frame->name), name))
			return i;
	}
	return SONDE_NONE;
}
