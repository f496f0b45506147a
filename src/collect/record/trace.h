/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording what happened when, into the process's trace file (format/trace_file/trace_file.h).
 *
 * Every thread fills a chunk of its own in memory (trace_buffer.h) and writes it to the file every
 * 10 ms at most; no lock is shared. Whatever happens to the file, the program goes on. It is made
 * when the first event is recorded, so that processes that do nothing leave none.
 * docs/design/recording.md.
 *
 * Callers ask sn_trace_wants first, which costs a load where nothing is
 * recorded; all else here is called between sn_enter and sn_leave.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#ifndef SN_COLLECT_TRACE_H
#define SN_COLLECT_TRACE_H

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
/* The stream of what belongs to the process: memory. Where memory is recorded at all. */
#define SN_TRACE_MEMORY_STREAM 0u
enum sn_trace_counter { SN_TRACE_TENSOR_MEMORY, SN_TRACE_COUNTER_COUNT };

/* Reads SONDE_TRACE and what goes with it. AS-safe: no. MT: once. */
void sn_trace_init(void);
/* What the user asked for, enum sn_trace_source; 0: nothing is ever recorded. MT: yes. */
unsigned sn_trace_sources(void);
/* From now on events go to a file of the measurement that begins at `now_ns`: called when a
 * process begins, and in the child of a fork. MT: the only thread. */
void sn_trace_begin(uint64_t now_ns);
/* Measuring has ended: what has been recorded is written. MT: once. */
void sn_trace_end(void);
/* Writes what any thread has recorded and not written yet. MT: yes. */
void sn_trace_write_out(void);
/* Writes what the calling thread has recorded, which ends, and gives back its memory. */
void sn_trace_thread_end(struct sn_thread *thread);
/* Starts or stops recording, where the user has asked for any. MT: yes. */
void sn_trace_run(bool is_running);

/* Records an event of `thread`, the calling one. event->stream is set unless has_stream; contexts
 * are nodes of `thread`, or of another thread's tree where has_owner. Lost, and counted, where
 * there is no room. */
void sn_trace_add(struct sn_thread *thread, struct sn_trace_event *event);
/* The calling thread enters a call of which an event will be added with that start; where events of
 * `source` are recorded. */
static inline void sn_trace_enters(struct sn_thread *thread, enum sn_trace_source source,
				   uint64_t start_ns)
{
	if (sn_trace_wants(source))
		sn_trace_blocked_begin(&thread->trace.blocked, start_ns);
}
/* The same of an event of these fields. */
#define SN_TRACE_ADD(thread, ...) sn_trace_add(thread, &(struct sn_trace_event){__VA_ARGS__})

/*
 * What sn_trace_add is for, for a message whose attributes SN_TRACE_KEY_MESSAGE, _PEER, _TAG,
 * _SEQUENCE (which of those with that tag) and _BYTES say who sent what to whom.
 */
void sn_trace_message(struct sn_thread *thread, struct sn_trace_event *event);

/* Shorter, for what has neither link nor attributes. */
void sn_trace_interval(struct sn_thread *thread, uint32_t node, uint64_t start_ns, uint64_t end_ns);

/* The number of a queue of a device, for events' `stream`; SN_ID_NONE where it cannot be had, then
 * its events go to no stream. In the child of a fork numbers begin anew. AS-safe: no. MT: yes. */
uint32_t sn_trace_queue(uint32_t device, uint32_t queue, const char *name);
/* Grows with each fork: numbers given before are the parent's. MT: yes. */
uint32_t sn_trace_generation(void);

#endif
