/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measurement file: what one process measured, as the collector writes it and analysis reads
 * it.
 *
 * A measurement folder NAME.sonde/ holds one file per process image, HOST-PID-START.sonde-process.
 * A file is a 4096-byte header page followed by space in which snapshots lie. A snapshot is a whole
 * container (container.h): everything the process has measured so far. A checkpoint writes a new
 * snapshot where the current one is not, then commits it by overwriting the older of two commit
 * slots in the header page; a reader takes the valid slot with the higher sequence number. So the
 * file is readable after a crash at any instant, and its size depends on the number of distinct
 * calling contexts, never on how long the program ran. The reasons are in
 * docs/design/measurement-file.md, the field tables in docs/format/measurement.md.
 *
 * This header is included by libsonde.so and therefore depends on libc alone.
 */
#pragma once

#include "format/container.h"

#include <stdint.h>

#define SN_MEASUREMENT_SUFFIX	     ".sonde-process"
/* What a just-in-time compiler wrote of its code, kept beside the measurement: perf-PID.map. */
#define SN_PERF_MAP_PREFIX	     "perf-"
#define SN_PERF_MAP_SUFFIX	     ".map"
#define SN_MEASUREMENT_MAGIC	     "SONDEMSR"
#define SN_MEASUREMENT_VERSION_MAJOR 1
#define SN_MEASUREMENT_VERSION_MINOR 4
#define SN_MEASUREMENT_PAGE_BYTES    4096u
#define SN_SNAPSHOT_MAGIC	     "SONDESNP"

enum sn_frame_kind {
	SN_FRAME_NONE = 0,
#define SN_FRAME_KIND(id, number, name, layer) SN_FRAME_##id = (number),
#include "format/frame_kinds.def"
#undef SN_FRAME_KIND
	SN_FRAME_KIND_COUNT
};

enum sn_frame_flags {
	/* native: the offset is a return address; its call lies before it. Symbolise offset - 1. */
	SN_FRAME_RETURN_ADDRESS = 1,
	/* native: was interrupted by a signal, whose handler's frame returns to it: not a call */
	SN_FRAME_INTERRUPTED = 2,
	/* the true callers of this frame are unknown: unwinding stopped here */
	SN_FRAME_TRUNCATED = 4,
	/* operator: runs in a backward pass; its parents are the path of its forward operator */
	SN_FRAME_BACKWARD = 8,
	/* region: an iteration of a loop the user marked (aggregated over iterations) */
	SN_FRAME_ITERATION = 16,
	/* databases only; a function: the offset is that of its entry (0: unknown), because the
	 * place inside it is not known */
	SN_FRAME_ENTRY = 32,
	/* databases only; a line or a loop: was called by its parent, and does not lie in it */
	SN_FRAME_CALLED = 64,
	/* gpu-instruction: a call that leads to the frames below, not a sample */
	SN_FRAME_CALL = 128,
};

#define SN_ID_NONE UINT32_MAX

/*
 * One level of a call path. What id and value mean depends on the kind:
 *   native             module index, or SN_ID_NONE; offset in the module (its ELF virtual address),
 *                      or the absolute address where the module is SN_ID_NONE (JIT code)
 *   gpu-instruction    module index, of a GPU binary; the address that binary/gpu/gpu_binary.h
 *                      gives the instruction: in a cubin its offset in the file
 *   python             index into the thread's code table; line number, 0 where unknown
 *   operator, region, graph-node, gpu-api, kernel, gpu-op (a copy, fill, map, ...), os, idle
 *                      string id of the thread's string table; 0
 */
struct sn_frame {
	uint8_t kind;
	uint8_t flags;
	uint16_t reserved;
	uint32_t id;
	uint64_t value;
};
_Static_assert(sizeof(struct sn_frame) == 16, "frame is on disk");

/* The header page's fixed part. Beside the slots and the losses the rest of the page is zero. */
struct sn_measurement_header {
	uint8_t magic[8];
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t page_bytes;
	uint64_t reserved;
	uint64_t checksum; /* XXH64, seed 0, of the preceding bytes */
};
_Static_assert(sizeof(struct sn_measurement_header) == 32, "measurement header is on disk");

/* The two slots are in different 512-byte sectors so that a torn write harms one of them only. */
#define SN_COMMIT_SLOT_OFFSET(i) (1024u + 512u * (i))
struct sn_commit_slot {
	uint64_t sequence; /* from 1; 0 is an empty slot */
	uint64_t offset;   /* of the snapshot in the file, bytes */
	uint64_t length;   /* of the snapshot, bytes */
	uint64_t is_final; /* 1: written when the process ended in order */
	uint64_t checksum; /* XXH64, seed 0, of the preceding bytes */
};
_Static_assert(sizeof(struct sn_commit_slot) == 40, "commit slot is on disk");

/*
 * Counts of processes without a file of their own; since 1.3. A process shares this page of its
 * file with its children, and each such process is counted at once, by itself or by its parent,
 * without a checkpoint.
 */
#define SN_LOSSES_OFFSET 2048u
enum sn_loss {
	/* children that came without fork (vfork, posix_spawn, ...) and started a program, which
	 * should have a file */
	SN_LOSS_STARTED,
	/* children of fork that could make no file: no rights, no inode, no descriptor, no path */
	SN_LOSS_UNWRITABLE,
	/* children made by a system call without the C library's fork, which start nothing */
	SN_LOSS_UNSEEN,
	SN_LOSS_COUNT = 16
};
struct sn_losses_record {
	uint32_t counts[SN_LOSS_COUNT]; /* by enum sn_loss */
};
_Static_assert(sizeof(struct sn_losses_record) == 64, "losses are on disk");

/* The record of `sonde run`, lines KEY=VALUE: measurement.md. */
#define SN_RUN_FILE_SUFFIX	   ".sonde-run"
/* Of a process HOST-PID-NUMBER: the text of each program that XLA compiled and the process called. */
#define SN_PROGRAMS_FILE_SUFFIX	   ".sonde-programs"
/* The same of plugins for XLA, as protobuf. */
#define SN_HLO_FILE_SUFFIX	   ".sonde-hlo"
/* Names of code that was made at run time, which the launcher adds to the process's map. */
#define SN_CODE_FILE_SUFFIX	   ".sonde-code"
/* Code of devices, which modules of the measurement name: CRC.sonde-cubin, NVIDIA's, and HASH.sonde-code-object, AMD's, which was a
 * .sonde-cubin before. */
#define SN_CUBIN_FILE_SUFFIX	   ".sonde-cubin"
#define SN_CODE_OBJECT_FILE_SUFFIX ".sonde-code-object"
/* INODE.sonde-start: the path of a line that asked a server to fork for it, until the child takes it. */
#define SN_START_FILE_SUFFIX	   ".sonde-start"

/* Sections of a snapshot. Those per thread carry the thread's number as their index. */
enum sn_snapshot_section {
	SN_SNAPSHOT_PROCESS = 1, /* text: KEY=VALUE, each ended by NUL; keys in measurement.md */
	SN_SNAPSHOT_STRINGS = 2, /* index SN_ID_NONE: the process's; else a thread's */
	SN_SNAPSHOT_MODULES = 3, /* struct sn_module_record[] */
	SN_SNAPSHOT_METRICS = 4, /* struct sn_metric_record[], by the metric's number */
	SN_SNAPSHOT_DROPS = 5,	 /* struct sn_drop_record[] */
	SN_SNAPSHOT_THREAD = 6,	 /* struct sn_thread_record */
	SN_SNAPSHOT_CODES = 7,	 /* struct sn_code_record[]: a thread's Python code objects */
	SN_SNAPSHOT_NODES = 8,	 /* struct sn_node_record[]: a thread's calling context tree */
	SN_SNAPSHOT_VALUES = 9,	 /* struct sn_value_record[] */
				 /* reserved: 10 events */
	SN_SNAPSHOT_GRAPH = 11,	 /* struct sn_graph_header and its tables; since 1.1 */
	SN_SNAPSHOT_STREAM = 12, /* struct sn_stream_record; since 1.1 */
};

/*
 * STRINGS: uint32_t count, uint32_t reserved, then uint32_t offset[count + 1] (relative to the
 * first byte after that array, padded to 8), then the bytes of all strings without terminators. Any
 * bytes.
 */
struct sn_strings_record {
	uint32_t count;
	uint32_t reserved;
};

enum sn_module_flags {
	SN_MODULE_MAIN = 1,	 /* the program itself */
	SN_MODULE_VDSO = 2,	 /* the kernel's shared object */
	SN_MODULE_UNLOADED = 4,	 /* no longer mapped when the snapshot was taken */
	SN_MODULE_ANONYMOUS = 8, /* executable memory without a file: JIT code */
	/* never in a file: the reader's, for a perf map; offsets in it are addresses */
	SN_MODULE_PERF_MAP = 16,
};

/* A load module: a stretch of address space and the file mapped there. */
struct sn_module_record {
	uint64_t start; /* first address mapped */
	uint64_t end;	/* one past the last */
	uint64_t bias;	/* address = bias + ELF virtual address */
	uint32_t path;	/* process string */
	uint32_t flags; /* enum sn_module_flags */
	uint32_t build_id_bytes;
	uint8_t build_id[20];
};
_Static_assert(sizeof(struct sn_module_record) == 56, "module is on disk");

enum sn_metric_kind {
	SN_METRIC_TIME = 1,
	SN_METRIC_COUNT = 2,
	SN_METRIC_BYTES = 3,
	SN_METRIC_RATIO = 4,
	/* Durations of whole calls with all that they called, for the metric of the same name
	 * without SN_METRIC_CALLS_SUFFIX. They contain each other, so they are never added up. */
	SN_METRIC_CALLS = 5,
};
#define SN_METRIC_CALLS_SUFFIX ".calls"

/* The kind, a unit and a source for people ("timer", "perf", "opencl", ...). Process strings. */
struct sn_metric_record {
	uint32_t name;
	uint32_t unit;
	uint32_t source;
	uint32_t kind;	 /* enum sn_metric_kind */
	uint64_t period; /* units between two samples; 0 where every event is measured */
};
_Static_assert(sizeof(struct sn_metric_record) == 24, "metric is on disk");

struct sn_drop_record {
	uint32_t cause; /* process string: a name of errors.def */
	uint32_t reserved;
	uint64_t count;
};
_Static_assert(sizeof(struct sn_drop_record) == 16, "drop is on disk");

enum sn_thread_flags {
	SN_THREAD_FIRST = 1,   /* the process's first thread */
	SN_THREAD_ENDED = 2,   /* had ended when the snapshot was taken */
	SN_THREAD_SEVERAL = 4, /* stands for several threads, one after the other */
};

struct sn_thread_record {
	uint64_t tid;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;   /* of the thread, or of the snapshot while it lives */
	uint64_t cpu_ns;   /* CPU time the thread had used by then */
	uint32_t name;	   /* thread string, or SN_ID_NONE */
	uint32_t flags;	   /* enum sn_thread_flags */
	uint64_t samples;  /* taken in this thread */
	uint64_t own_ns;   /* time the collector itself spent in this thread */
};
_Static_assert(sizeof(struct sn_thread_record) == 56, "thread is on disk");

/* Makes a "thread" a queue of work on a device: who did the work of its contexts. Numbers are the
 * device runtime's own; SN_ID_NONE where it has none. */
struct sn_stream_record {
	uint32_t device, device_context, stream;
	uint32_t reserved;
};
_Static_assert(sizeof(struct sn_stream_record) == 16, "stream is on disk");

/*
 * GRAPH: this, then the models, nodes, edges and iterations, then text_bytes of strings, each ended
 * by NUL, at whose beginnings the records point (SN_ID_NONE: none). What fields mean is said in
 * sonde/graph.h; times are nanoseconds, those of iterations of CLOCK_MONOTONIC.
 */
struct sn_graph_header {
	uint32_t model_count, node_count, edge_count, iteration_count;
	uint64_t text_bytes;
};
_Static_assert(sizeof(struct sn_graph_header) == 24, "graph is on disk");

/* Exact for as many values as fit; count 0: nothing else is set. */
struct sn_graph_statistic {
	uint64_t count, sum, min, max;
	double sum_squares;
};
_Static_assert(sizeof(struct sn_graph_statistic) == 40, "statistic is on disk");

struct sn_graph_model_record {
	uint32_t name, source, edges_by, iterations_by;
	uint32_t flags; /* enum sonde_model_flags */
	uint32_t reserved;
	struct sn_graph_statistic iteration_time;
};
_Static_assert(sizeof(struct sn_graph_model_record) == 64, "model is on disk");

struct sn_graph_node_record {
	uint32_t model;
	uint32_t name, type, module, device, file;
	uint32_t line;
	uint32_t parent; /* an earlier node of the model, or SN_ID_NONE */
	uint32_t flags;	 /* enum sonde_node_flags */
	uint32_t reserved;
	struct sn_graph_statistic time, latency;
};
_Static_assert(sizeof(struct sn_graph_node_record) == 120, "node is on disk");

struct sn_graph_edge_record {
	uint32_t from, to; /* nodes of one model */
	uint32_t index;
	uint32_t kind; /* enum sonde_edge_kind */
	uint64_t bytes, count;
};
_Static_assert(sizeof(struct sn_graph_edge_record) == 32, "edge is on disk");

struct sn_graph_iteration_record {
	uint32_t model;
	uint32_t reserved;
	uint64_t number, start_ns, end_ns;
};
_Static_assert(sizeof(struct sn_graph_iteration_record) == 32, "iteration is on disk");

/* A Python code object. Thread strings. */
struct sn_code_record {
	uint32_t file;
	uint32_t name; /* qualified where the interpreter tells */
	uint32_t first_line;
	uint32_t flags;
};
_Static_assert(sizeof(struct sn_code_record) == 16, "code is on disk");

/* A calling context. Record 0 is the thread itself, its own parent; else parent < own index. */
struct sn_node_record {
	uint32_t parent;
	/* since 1.2: the number by which events of the trace file name it, ascending; 0 before */
	uint32_t own;
	struct sn_frame frame;
};
_Static_assert(sizeof(struct sn_node_record) == 24, "node is on disk");

/* The exclusive value of one metric at one context. */
struct sn_value_record {
	uint32_t node;
	uint32_t metric;
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	double sum_squares;
};
_Static_assert(sizeof(struct sn_value_record) == 48, "value is on disk");
