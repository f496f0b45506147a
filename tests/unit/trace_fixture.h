/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases with events that a test makes one by one: profiles, contexts, events with what they
 * carry; then written, and opened as those are that analyses read.
 */
#ifndef SN_TESTS_TRACE_FIXTURE_H
#define SN_TESTS_TRACE_FIXTURE_H

#include "trace/writer.h"

enum trace_fixture_key {
	TRACE_FIXTURE_BYTES, /* names and types as importers give them */
	TRACE_FIXTURE_ADDRESS,
	TRACE_FIXTURE_SEQUENCE,
	TRACE_FIXTURE_WAKER,
	TRACE_FIXTURE_MESSAGE,
	TRACE_FIXTURE_PEER,
	TRACE_FIXTURE_KEYS
};

struct trace_fixture {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer; /* the builder's */
	uint32_t keys[TRACE_FIXTURE_KEYS];
	uint32_t copy_time, kernel_time; /* metrics */
	struct sonde_db *db;		 /* once it is open */
	struct sonde_trace *trace;
};

/* Aborts where it fails, as all of these do. */
void trace_fixture_init(struct trace_fixture *fixture);
void trace_fixture_release(struct trace_fixture *fixture);

uint32_t trace_fixture_thread(struct trace_fixture *fixture, int rank, unsigned pid, unsigned tid);
uint32_t trace_fixture_stream(struct trace_fixture *fixture, int rank, unsigned pid,
			      unsigned device, unsigned stream);
/* A child of `parent` of that kind (enum sn_frame_kind) and name. */
uint32_t trace_fixture_context(struct trace_fixture *fixture, uint32_t parent, unsigned kind,
			       unsigned flags, const char *name);
/* Says what a context of a device is for: so much time of that metric. */
void trace_fixture_value(struct trace_fixture *fixture, uint32_t profile, uint32_t context,
			 uint32_t metric, double value);
/* An interval; `link` ties a call to what it launched, 0 none. */
void trace_fixture_event(struct trace_fixture *fixture, uint32_t profile, uint32_t context,
			 uint64_t start_ns, uint64_t end_ns, uint64_t link);
/* Of any track, with attributes. */
void trace_fixture_any(struct trace_fixture *fixture, unsigned track_kind, uint32_t profile,
		       uint32_t context, uint64_t start_ns, uint64_t end_ns, uint64_t link,
		       const struct sn_attribute *attributes, unsigned count);

/* Writes and opens it: db and trace. Numbers of contexts and profiles are others from then on. */
void trace_fixture_open(struct trace_fixture *fixture);
/* The first context of that name in what is open, or SONDE_NONE. */
uint32_t trace_fixture_named(const struct trace_fixture *fixture, const char *name);

#endif
