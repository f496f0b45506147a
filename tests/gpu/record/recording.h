/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording of CUPTI or of rocprofiler-sdk holds: docs/format/recording.md. An entry is its head, the fields of its kind, and what
 * follows them: a text that ends with zero, or bytes. The structures and the description that stands at the beginning of a recording are made from
 * the same lists. Included by the recorder (tests/gpu/record) and by what plays recordings (tests/fake/replay): C and nothing else.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdint.h>

#define RECORDING_MAGIC	  "SNRECORD"
#define RECORDING_VERSION 1

struct recording_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* where entries begin */
	uint64_t limit_bytes;
	uint64_t pointer_bytes;
};

struct recording_head {
	uint32_t bytes;	  /* of the whole entry, a multiple of 8; 0: there are no more */
	uint32_t kind;	  /* written last: 0 where the process ended before it was */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t thread;  /* from 1, in the order in which they came */
	uint32_t zero;
};

/* FIELD(type, name): without holes between them. */
#define RECORDING_NOTHING(FIELD)
#define RECORDING_FUNCTION(FIELD)                                                                  \
	FIELD(uint32_t, is_there)                                                                  \
	FIELD(uint32_t, zero)
#define RECORDING_ENABLED(FIELD)                                                                   \
	FIELD(uint32_t, kind)                                                                      \
	FIELD(int32_t, result)
#define RECORDING_DOMAIN(FIELD)                                                                    \
	FIELD(uint32_t, domain)                                                                    \
	FIELD(int32_t, result)
#define RECORDING_ATTRIBUTE(FIELD)                                                                 \
	FIELD(uint32_t, device)                                                                    \
	FIELD(uint32_t, attribute)                                                                 \
	FIELD(int64_t, value)
#define RECORDING_NAME(FIELD)                                                                      \
	FIELD(uint32_t, domain)                                                                    \
	FIELD(uint32_t, cbid)
#define RECORDING_STRING(FIELD) FIELD(uint64_t, address)
#define RECORDING_CLOCK(FIELD)                                                                     \
	FIELD(uint64_t, cupti_ns)                                                                  \
	FIELD(int64_t, result)
#define RECORDING_CALLBACK(FIELD)                                                                  \
	FIELD(uint64_t, context)                                                                   \
	FIELD(uint64_t, name)                                                                      \
	FIELD(uint64_t, symbol)                                                                    \
	FIELD(uint32_t, domain)                                                                    \
	FIELD(uint32_t, cbid)                                                                      \
	FIELD(uint32_t, site)                                                                      \
	FIELD(uint32_t, correlation)                                                               \
	FIELD(uint32_t, context_number)                                                            \
	FIELD(int32_t, result)
#define RECORDING_NODE(FIELD)                                                                      \
	FIELD(uint64_t, node)                                                                      \
	FIELD(uint64_t, original)                                                                  \
	FIELD(uint64_t, node_id)                                                                   \
	FIELD(uint64_t, original_id)                                                               \
	FIELD(uint32_t, cbid)                                                                      \
	FIELD(int32_t, result)                                                                     \
	FIELD(uint64_t, graph)
#define RECORDING_RESOURCE(FIELD)                                                                  \
	FIELD(uint64_t, context)                                                                   \
	FIELD(uint64_t, stream)                                                                    \
	FIELD(uint32_t, cbid)                                                                      \
	FIELD(uint32_t, zero)
#define RECORDING_REQUEST(FIELD)                                                                   \
	FIELD(uint64_t, address)                                                                   \
	FIELD(uint64_t, size)
#define RECORDING_BUFFER(FIELD)                                                                    \
	FIELD(uint64_t, address)                                                                   \
	FIELD(uint64_t, context)                                                                   \
	FIELD(uint64_t, size)                                                                      \
	FIELD(uint64_t, valid)                                                                     \
	FIELD(uint64_t, dropped)                                                                   \
	FIELD(uint32_t, stream)                                                                    \
	FIELD(int32_t, dropped_result)
#define RECORDING_LENGTH(FIELD)                                                                    \
	FIELD(uint32_t, kind)                                                                      \
	FIELD(uint32_t, length)
#define RECORDING_STEP(FIELD)                                                                      \
	FIELD(uint32_t, has_ended)                                                                 \
	FIELD(int32_t, result)
/* What follows is `record_bytes` for each of `count` instructions, as CUPTI wrote it, and then their reasons: an index and a number of
 * samples, u32 each. In place of the pointer to its reasons a record has where they begin in what follows; RECORDING_NOWHERE: CUPTI has
 * written over it. */
#define RECORDING_SAMPLES(FIELD)                                                                   \
	FIELD(uint64_t, context)                                                                   \
	FIELD(uint64_t, total)                                                                     \
	FIELD(uint64_t, dropped)                                                                   \
	FIELD(uint64_t, hidden)                                                                    \
	FIELD(uint64_t, left)                                                                      \
	FIELD(uint64_t, count)                                                                     \
	FIELD(uint32_t, record_bytes)                                                              \
	FIELD(uint32_t, is_put_aside)                                                              \
	FIELD(int32_t, result)                                                                     \
	FIELD(uint32_t, zero)
/* What follows is the cubin, or nothing: `held` says how much. */
#define RECORDING_MODULE(FIELD)                                                                    \
	FIELD(uint64_t, context)                                                                   \
	FIELD(uint64_t, crc)                                                                       \
	FIELD(uint64_t, size)                                                                      \
	FIELD(uint64_t, held)                                                                      \
	FIELD(uint32_t, number)                                                                    \
	FIELD(uint32_t, is_unloaded)                                                               \
	FIELD(int32_t, result)                                                                     \
	FIELD(uint32_t, zero)
/* `value`: how many reasons there are, of the function that says so. */
#define RECORDING_SAMPLING(FIELD)                                                                  \
	FIELD(uint64_t, context)                                                                   \
	FIELD(uint64_t, value)                                                                     \
	FIELD(uint32_t, has_ended)                                                                 \
	FIELD(int32_t, result)
#define RECORDING_REASON(FIELD)                                                                    \
	FIELD(uint32_t, index)                                                                     \
	FIELD(uint32_t, zero)
/* `value`: the mode, the period, for how many instructions a buffer has room, or how many reasons' indices follow. */
#define RECORDING_SETTING(FIELD)                                                                   \
	FIELD(uint64_t, context)                                                                   \
	FIELD(uint64_t, value)                                                                     \
	FIELD(uint32_t, key)                                                                       \
	FIELD(int32_t, status)
/* ---- of rocprofiler-sdk ---- */
/* A call of the recorder's. `part`: of what it configures, RECORDING_PART_...; `kind`: of callbacks or records, 0 where it has none. */
#define RECORDING_SERVICE(FIELD)                                                                   \
	FIELD(uint32_t, part)                                                                      \
	FIELD(int32_t, kind)                                                                       \
	FIELD(uint32_t, has_ended)                                                                 \
	FIELD(int32_t, result)
/* What follows is the agent as the SDK has it, as long as it says itself. */
#define RECORDING_AGENT(FIELD) FIELD(uint64_t, size)
/* What follows is the payload. Names in it are addresses of strings. */
#define RECORDING_TRACED(FIELD)                                                                    \
	FIELD(uint64_t, thread)                                                                    \
	FIELD(uint64_t, correlation)                                                               \
	FIELD(uint64_t, external)                                                                  \
	FIELD(uint64_t, ancestor)                                                                  \
	FIELD(uint32_t, kind)                                                                      \
	FIELD(int32_t, operation)                                                                  \
	FIELD(uint32_t, phase)                                                                     \
	FIELD(uint32_t, payload_bytes)
/* Before the callback that tells of its load. What follows is the code object, or nothing: `held` says how much. `hash` is the recorder's. */
#define RECORDING_CODE(FIELD)                                                                      \
	FIELD(uint64_t, id)                                                                        \
	FIELD(uint64_t, hash)                                                                      \
	FIELD(uint64_t, size)                                                                      \
	FIELD(uint64_t, held)
/* A delivery. What follows is `count` times a struct recording_record and its bytes, each at a multiple of 8. */
#define RECORDING_RECORDS(FIELD)                                                                   \
	FIELD(uint64_t, count)                                                                     \
	FIELD(uint64_t, dropped)                                                                   \
	FIELD(uint32_t, part)                                                                      \
	FIELD(uint32_t, zero)
/* What an agent offers to sample. What follows is `count` times `bytes` of it, as the SDK has it. */
#define RECORDING_OFFERS(FIELD)                                                                    \
	FIELD(uint64_t, agent)                                                                     \
	FIELD(uint64_t, count)                                                                     \
	FIELD(uint32_t, bytes)                                                                     \
	FIELD(int32_t, result)
/* What it is asked for. */
#define RECORDING_ASKED(FIELD)                                                                     \
	FIELD(uint64_t, agent)                                                                     \
	FIELD(uint64_t, interval)                                                                  \
	FIELD(int32_t, method)                                                                     \
	FIELD(int32_t, unit)                                                                       \
	FIELD(int32_t, result)                                                                     \
	FIELD(uint32_t, zero)
/* Before the callback that such a call has ended: what an argument of it points at. */
#define RECORDING_POINTED(FIELD) FIELD(uint64_t, address)
/* What it is. What follows is the counter's name; `expression` is the address of a string. Counter 0: the agent lists none. */
#define RECORDING_COUNTER(FIELD)                                                                   \
	FIELD(uint64_t, agent)                                                                     \
	FIELD(uint64_t, counter)                                                                   \
	FIELD(uint64_t, expression)                                                                \
	FIELD(int32_t, result)                                                                     \
	FIELD(uint32_t, zero)
/* Counters that an agent was asked to count together. What follows is the number of each. */
#define RECORDING_CONFIGURED(FIELD)                                                                \
	FIELD(uint64_t, agent)                                                                     \
	FIELD(uint64_t, config)                                                                    \
	FIELD(uint64_t, count)                                                                     \
	FIELD(int32_t, result)                                                                     \
	FIELD(uint32_t, zero)
/* A kernel is queued, to be counted by `config`; 0: it is not. What follows is the dispatch, as long as the adapter knows it. */
#define RECORDING_QUEUED(FIELD)	 FIELD(uint64_t, config)
/* What follows is the dispatch, `count` records, and the counter's number of each; RECORDING_NOWHERE: that is not told. */
#define RECORDING_COUNTED(FIELD) FIELD(uint64_t, count)
/* What the SDK calls an answer. */
#define RECORDING_STATUS(FIELD)                                                                    \
	FIELD(int32_t, status)                                                                     \
	FIELD(uint32_t, zero)
/* ---- of Level Zero ---- */
/* A call that has ended, by its number among the names of domain RECORDING_LEVEL_ZERO. What follows is `count` parameters, u64 each. */
#define RECORDING_CALLED(FIELD)                                                                    \
	FIELD(uint32_t, call)                                                                      \
	FIELD(int32_t, result)                                                                     \
	FIELD(uint64_t, count)
#define RECORDING_END(FIELD)                                                                       \
	FIELD(uint64_t, lost)                                                                      \
	FIELD(uint64_t, lost_bytes)

#define RECORDING_NOWHERE    UINT64_MAX
#define RECORDING_LEVEL_ZERO 6 /* a domain of names */

/* The contexts of a recorder of rocprofiler-sdk: of calls, kernels, copies and code; of samples, each with a buffer; and of counters. */
enum { RECORDING_PART_RECORDS, RECORDING_PART_SAMPLES, RECORDING_PART_COUNTERS };

/* Before each record of a delivery. */
struct recording_record {
	uint32_t category, kind; /* as the SDK's header has them */
	uint64_t bytes;
};

/* KIND(number, NAME, name, what follows the fields) */
#define RECORDING_KINDS(KIND)                                                                      \
	KIND(1, NOTHING, description, text)                                                        \
	KIND(2, NOTHING, fact, text)                                                               \
	KIND(3, FUNCTION, function, text)                                                          \
	KIND(4, ENABLED, enabled, nothing)                                                         \
	KIND(5, DOMAIN, domain, nothing)                                                           \
	KIND(6, ATTRIBUTE, attribute, nothing)                                                     \
	KIND(7, NAME, name, text)                                                                  \
	KIND(8, STRING, string, text)                                                              \
	KIND(9, CLOCK, clock, nothing)                                                             \
	KIND(10, CALLBACK, callback, nothing)                                                      \
	KIND(11, NODE, node, nothing)                                                              \
	KIND(12, RESOURCE, resource, nothing)                                                      \
	KIND(13, REQUEST, request, nothing)                                                        \
	KIND(14, BUFFER, buffer, bytes)                                                            \
	KIND(15, LENGTH, length, nothing)                                                          \
	KIND(16, STEP, step, text)                                                                 \
	KIND(17, NOTHING, thread, text)                                                            \
	KIND(18, SAMPLES, samples, bytes)                                                          \
	KIND(19, MODULE, module, bytes)                                                            \
	KIND(20, END, end, nothing)                                                                \
	KIND(21, SAMPLING, sampling, text)                                                         \
	KIND(22, REASON, reason, text)                                                             \
	KIND(23, SETTING, setting, bytes)                                                          \
	KIND(24, SERVICE, service, text)                                                           \
	KIND(25, AGENT, agent, bytes)                                                              \
	KIND(26, TRACED, traced, bytes)                                                            \
	KIND(27, CODE, code, bytes)                                                                \
	KIND(28, RECORDS, records, bytes)                                                          \
	KIND(29, OFFERS, offers, bytes)                                                            \
	KIND(30, ASKED, asked, nothing)                                                            \
	KIND(31, POINTED, pointed, bytes)                                                          \
	KIND(32, COUNTER, counter, text)                                                           \
	KIND(33, CONFIGURED, configured, bytes)                                                    \
	KIND(34, QUEUED, queued, bytes)                                                            \
	KIND(35, COUNTED, counted, bytes)                                                          \
	KIND(36, STATUS, status, text)                                                             \
	KIND(37, CALLED, called, bytes)

#define RECORDING_NUMBER(number, fields, name, follows) RECORDING_OF_##name = number,
enum { RECORDING_KINDS(RECORDING_NUMBER) };

#define RECORDING_FIELD(type, name) type name;
struct recording_function {
	RECORDING_FUNCTION(RECORDING_FIELD)
};
struct recording_enabled {
	RECORDING_ENABLED(RECORDING_FIELD)
};
struct recording_domain {
	RECORDING_DOMAIN(RECORDING_FIELD)
};
struct recording_attribute {
	RECORDING_ATTRIBUTE(RECORDING_FIELD)
};
struct recording_name {
	RECORDING_NAME(RECORDING_FIELD)
};
struct recording_string {
	RECORDING_STRING(RECORDING_FIELD)
};
struct recording_clock {
	RECORDING_CLOCK(RECORDING_FIELD)
};
struct recording_callback {
	RECORDING_CALLBACK(RECORDING_FIELD)
};
struct recording_node {
	RECORDING_NODE(RECORDING_FIELD)
};
struct recording_resource {
	RECORDING_RESOURCE(RECORDING_FIELD)
};
struct recording_request {
	RECORDING_REQUEST(RECORDING_FIELD)
};
struct recording_buffer {
	RECORDING_BUFFER(RECORDING_FIELD)
};
struct recording_length {
	RECORDING_LENGTH(RECORDING_FIELD)
};
struct recording_step {
	RECORDING_STEP(RECORDING_FIELD)
};
struct recording_samples {
	RECORDING_SAMPLES(RECORDING_FIELD)
};
struct recording_module {
	RECORDING_MODULE(RECORDING_FIELD)
};
struct recording_sampling {
	RECORDING_SAMPLING(RECORDING_FIELD)
};
struct recording_reason {
	RECORDING_REASON(RECORDING_FIELD)
};
struct recording_setting {
	RECORDING_SETTING(RECORDING_FIELD)
};
struct recording_service {
	RECORDING_SERVICE(RECORDING_FIELD)
};
struct recording_agent {
	RECORDING_AGENT(RECORDING_FIELD)
};
struct recording_traced {
	RECORDING_TRACED(RECORDING_FIELD)
};
struct recording_code {
	RECORDING_CODE(RECORDING_FIELD)
};
struct recording_records {
	RECORDING_RECORDS(RECORDING_FIELD)
};
struct recording_offers {
	RECORDING_OFFERS(RECORDING_FIELD)
};
struct recording_asked {
	RECORDING_ASKED(RECORDING_FIELD)
};
struct recording_pointed {
	RECORDING_POINTED(RECORDING_FIELD)
};
struct recording_counter {
	RECORDING_COUNTER(RECORDING_FIELD)
};
struct recording_configured {
	RECORDING_CONFIGURED(RECORDING_FIELD)
};
struct recording_queued {
	RECORDING_QUEUED(RECORDING_FIELD)
};
struct recording_counted {
	RECORDING_COUNTED(RECORDING_FIELD)
};
struct recording_status {
	RECORDING_STATUS(RECORDING_FIELD)
};
struct recording_called {
	RECORDING_CALLED(RECORDING_FIELD)
};
struct recording_end {
	RECORDING_END(RECORDING_FIELD)
};

#endif
