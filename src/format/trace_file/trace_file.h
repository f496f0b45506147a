/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file: what happened when in one process, as `sonde run --trace` records it.
 *
 * It lies beside the process's measurement file, HOST-PID-START.sonde-trace, or alone if it records
 * no single process (the scheduler). A file is a header page and chunks of one size behind it. A
 * chunk belongs to the thread that fills it. It writes records, then the header that counts them: a
 * record is valid once the chunk's `used` covers it. When the file has reached its limit the oldest
 * chunk is reused for the newest events. Reasons are in docs/design/recording.md, the field tables
 * in docs/format/trace-file.md.
 *
 * Definitions (streams, names, counters, attributes) lie in chunks of their own, which are never
 * reused. A stream is one line of a timeline: a thread, a queue of a device, a processor. The
 * contexts of its events are nodes of the measured thread that the chunk or the record names, or
 * names of this file. How records are encoded is trace_encode.h's.
 *
 * This header is included by libsonde.so and therefore depends on libc alone.
 */
#pragma once

#include <stdint.h>

#define SN_TRACE_FILE_SUFFIX	    ".sonde-trace"
#define SN_TRACE_FILE_MAGIC	    "SONDETRC"
#define SN_TRACE_FILE_VERSION_MAJOR 1
#define SN_TRACE_FILE_VERSION_MINOR 2
#define SN_TRACE_FILE_PAGE_BYTES    4096u
#define SN_TRACE_CHUNK_BYTES	    65536u
/* Readers refuse other sizes, since they read a chunk as a whole. */
#define SN_TRACE_CHUNK_LEAST_BYTES  4096u
#define SN_TRACE_CHUNK_MOST_BYTES   (1u << 22)

/* The header page's fixed part. */
struct sn_trace_file_header {
	uint8_t magic[8];
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t chunk_bytes;
	uint64_t pid; /* of the process that recorded */
	/* Both clocks at one instant; all times in the file are by CLOCK_MONOTONIC. */
	uint64_t start_monotonic_ns;
	uint64_t start_realtime_ns;
	uint64_t limit_bytes; /* of the file; 0: none */
	char host[64];	      /* truncated if longer; ends with NUL */
	char program[256];    /* its path, likewise */
	uint64_t checksum;    /* XXH64, seed 0, of the preceding bytes */
};
_Static_assert(sizeof(struct sn_trace_file_header) == 376, "trace header is on disk");

/* Identifies the clock of the times: files with the same boot and time namespace share one
 * CLOCK_MONOTONIC. Zeroes if it is not known, and in files of version 1.0. Without a checksum. */
#define SN_TRACE_IDENTITY_OFFSET 512u
struct sn_trace_identity {
	uint8_t boot[16];	 /* /proc/sys/kernel/random/boot_id */
	uint64_t time_namespace; /* inode of /proc/self/ns/time; 0 where the kernel has none */
	uint64_t messages;	 /* recorded ones; grows while recording */
};
_Static_assert(sizeof(struct sn_trace_identity) == 32, "identity is on disk");

/* Events that are not in the file, by cause; written while recording, so without a checksum. */
enum sn_trace_lost {
	SN_TRACE_LOST_OVERWRITTEN, /* the limit was reached: older events made room for newer */
	SN_TRACE_LOST_SPACE,  /* no chunk could be allocated: file system full, file gone, limits */
	SN_TRACE_LOST_BUSY,   /* the recorder was interrupted by itself, or out of memory */
	SN_TRACE_LOST_SOURCE, /* lost by the source before recording (a kernel's buffer) */
	SN_TRACE_LOST_COUNT
};
#define SN_TRACE_LOST_OFFSET 1024u
struct sn_trace_losses {
	uint64_t counts[SN_TRACE_LOST_COUNT];
	uint64_t reserved[12];
};
_Static_assert(sizeof(struct sn_trace_losses) == 128, "losses are on disk");

/* Chunk number i lies at SN_TRACE_FILE_PAGE_BYTES + i * chunk_bytes. */
struct sn_trace_chunk {
	/* From 1, in the order in which chunks were taken; 0: not in use. Written last. */
	uint64_t sequence;
	uint64_t base_ns; /* the first record's time is relative to it */
	uint32_t used;	  /* bytes of whole records behind this header; grows */
	uint32_t count;	  /* of those records */
	uint32_t stream;  /* of its records; SN_ID_NONE: they are definitions */
	uint32_t thread;  /* of the measurement, whose nodes contexts are; SN_ID_NONE: names */
	uint64_t reserved[4];
};
_Static_assert(sizeof(struct sn_trace_chunk) == 64, "chunk is on disk");

enum sn_trace_stream_kind {
	SN_TRACE_STREAM_THREAD = 1, /* of a process */
	SN_TRACE_STREAM_DEVICE = 2, /* a queue of work on a device */
	SN_TRACE_STREAM_PROCESSOR = 3,
	SN_TRACE_STREAM_PROCESS = 4, /* what belongs to no thread: memory in use */
};

/* A record's first byte: what it is, and which fields it has. */
enum sn_trace_tag {
	SN_TRACE_SAMPLE = 1,   /* the call path a thread was in */
	SN_TRACE_INTERVAL = 2, /* written when it ends */
	SN_TRACE_INSTANT = 3,
	SN_TRACE_COUNTER = 4, /* its value from then on; of SN_METRIC_RATIO in millionths */
	SN_TRACE_STATE = 5,   /* as INTERVAL: a state of a thread, by the operating system */
	SN_TRACE_SYSTEM = 6,  /* as INTERVAL: what the system did for a thread */
	SN_TRACE_KIND_MASK = 7,
	SN_TRACE_HAS_STREAM = 8,    /* not the chunk's */
	SN_TRACE_HAS_OWNER = 16,    /* the context is not the chunk's thread's */
	SN_TRACE_SAME_CONTEXT = 32, /* as the record before; there is no field */
	SN_TRACE_HAS_LINK = 64,
	SN_TRACE_HAS_ATTRIBUTES = 128,
};

enum sn_trace_definition {
	SN_TRACE_DEFINE_STREAM = 1,
	SN_TRACE_DEFINE_NAME = 2,
	SN_TRACE_DEFINE_COUNTER = 3,
	SN_TRACE_DEFINE_KEY = 4,
};

/* No record, event or definition, is longer. */
#define SN_TRACE_RECORD_MAX	640u
#define SN_TRACE_TEXT_MAX	255u
#define SN_TRACE_ATTRIBUTES_MAX 16u
/* A sample's time is rounded down to 1 << 10 ns. */
#define SN_TRACE_SAMPLE_SHIFT	10u

/* Links of different things that come from one process are different numbers. */
enum sn_trace_link_space {
	SN_TRACE_LINK_CALL = 1ull << 40,     /* an API call and the operations it started */
	SN_TRACE_LINK_SEQUENCE = 2ull << 40, /* a forward operator and its backward operators */
	SN_TRACE_LINK_MESSAGE = 3ull << 40,
	SN_TRACE_LINK_WAKEUP = 4ull << 40, /* who woke a thread, and what that ended */
};
