/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording events over time in the process's trace file (format/trace_file/trace_file.h).
 *
 * Each thread fills a chunk of its own in memory (trace_buffer.h) and writes it to the file at most
 * every 10 ms; threads share no lock. An error of the file never ends the program. The file is
 * created when the first event is recorded, so that processes without events leave none.
 * docs/design/recording.md.
 *
 * Callers test sn_trace_wants first, which costs one load if nothing is recorded; all other
 * functions are called between sn_enter and sn_leave.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "collect/core/thread.h"

#include "format/trace_file/trace_encode.h"

enum sn_trace_source {
	SN_TRACE_SOURCE_SAMPLES = 1,
	SN_TRACE_SOURCE_OPERATORS = 2,
	SN_TRACE_SOURCE_API = 4,
	SN_TRACE_SOURCE_GPU = 8,
	SN_TRACE_SOURCE_REGIONS = 16,
	SN_TRACE_SOURCE_MEMORY = 32,
	SN_TRACE_SOURCE_MESSAGES = 64,
	SN_TRACE_SOURCE_METRICS = 128, /* of devices over time: SONDE_GPU_METRICS asks for them */
};

/* The sources being recorded at this moment; 0 while recording is stopped. */
extern _Atomic unsigned sn_trace_active;

/* MT: yes. */
static inline bool sn_trace_wants(enum sn_trace_source source)
{
	/* relaxed: an event at the moment of starting or stopping is recorded or not */
	return __builtin_expect(
	    atomic_load_explicit(&sn_trace_active, memory_order_relaxed) & source, 0);
}

enum sn_trace_key {
#define SN_TRACE_KEY(id, name, unit) SN_TRACE_KEY_##id,
#include "trace_keys.def"
#undef SN_TRACE_KEY
	SN_TRACE_KEY_COUNT
};
/* The stream of the process's own events: memory, if it is recorded. */
#define SN_TRACE_MEMORY_STREAM 0u
enum sn_trace_counter { SN_TRACE_TENSOR_MEMORY, SN_TRACE_COUNTER_COUNT };

/* Reads SONDE_TRACE and the related variables. AS-safe: no. MT: once. */
void sn_trace_init(void);
/* The requested sources, enum sn_trace_source; 0: nothing is ever recorded. MT: yes. */
unsigned sn_trace_sources(void);
/* From now on events go to a file of the measurement that begins at `now_ns`: called when a
 * process begins, and in the child of a fork. MT: the only thread. */
void sn_trace_begin(uint64_t now_ns);
/* Measuring has ended: writes all recorded events. MT: once. */
void sn_trace_end(void);
/* Writes the unwritten events of all threads. MT: yes. */
void sn_trace_write_out(void);
/* Writes the events of the calling thread, which ends, and frees its buffer. */
void sn_trace_thread_end(struct sn_thread *thread);
/* Starts or stops recording, if any sources were requested. MT: yes. */
void sn_trace_run(bool is_running);

/* Records an event of `thread`, the calling one. event->stream is set unless has_stream; contexts
 * are nodes of `thread`, or of another thread's tree if has_owner. If there is no room the event is
 * lost and counted. */
void sn_trace_add(struct sn_thread *thread, struct sn_trace_event *event);
/* The calling thread enters a call whose event will be added with this start. Does nothing where events of
 * `source` are not recorded. */
static inline void sn_trace_enters(struct sn_thread *thread, enum sn_trace_source source,
				   uint64_t start_ns)
{
	if (sn_trace_wants(source))
		sn_trace_blocked_begin(&thread->trace.blocked, start_ns);
}
/* The same for an event with these fields. */
#define SN_TRACE_ADD(thread, ...) sn_trace_add(thread, &(struct sn_trace_event){__VA_ARGS__})

/*
 * As sn_trace_add, for a message, with the attributes SN_TRACE_KEY_MESSAGE, _PEER, _TAG, _SEQUENCE
 * (its number among those with that tag) and _BYTES.
 */
void sn_trace_message(struct sn_thread *thread, struct sn_trace_event *event);

/* Short form for an interval without link and attributes. */
void sn_trace_interval(struct sn_thread *thread, uint32_t node, uint64_t start_ns, uint64_t end_ns);

/* The stream number of a device queue, for `stream` of events; SN_ID_NONE if it cannot be defined.
 * In the child of a fork numbers start again. AS-safe: no. MT: yes. */
uint32_t sn_trace_queue(uint32_t device, uint32_t queue, const char *name);
/* The number of a counter (`kind` is an enum sn_metric_kind, texts are copied), likewise. Values of SN_METRIC_RATIO are in
 * millionths. AS-safe: no. MT: yes. */
uint32_t sn_trace_counter(uint32_t kind, const char *name, const char *unit);
/* Grows with each fork: stream numbers of an earlier generation are the parent's. MT: yes. */
uint32_t sn_trace_generation(void);
