/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what one process measured (measurement.h): the newest whole snapshot of its file.
 *
 * The snapshot is copied into memory before it is checked, because the program may still be running
 * and overwrite the file meanwhile. Everything is then checked, in linear time: all references in
 * an opened measurement are valid. A damaged snapshot is replaced by the older one; a file with no
 * valid snapshot is refused. Any file contents are safe to open.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "measurement.h"

#include <stdbool.h>
#include <stddef.h>

struct sn_measurement_strings {
	uint32_t count;
	const uint32_t *offsets; /* count + 1 */
	const char *bytes;
};

/* One thread. Ids in its records are checked against its own tables and the process's. */
struct sn_measurement_thread {
	uint32_t index;
	const struct sn_thread_record *record;
	const struct sn_stream_record *stream; /* NULL: a CPU thread */
	/* Of a trace file that lies alone: the process, where it is not the measurement's (0), and
	 * whether it is no thread but a processor. */
	uint64_t pid;
	bool is_processor;
	struct sn_measurement_strings strings;
	const struct sn_code_record *codes;
	const struct sn_node_record *nodes; /* nodes[0] is the thread itself; may be NULL if none */
	const struct sn_value_record *values;
	uint32_t code_count, node_count;
	size_t value_count;
};

struct sn_trace_reader;

struct sn_measurement {
	unsigned char *bytes; /* the snapshot; owned */
	uint64_t length;
	uint64_t sequence;
	bool is_final;	  /* the process ended in order */
	bool is_trace;	  /* a trace file that lies alone, of no process in particular */
	bool is_fallback; /* a newer snapshot is damaged: this is the one before */
	struct sn_losses_record losses; /* of the file; all 0 where it has none */
	const char *process;		/* KEY=VALUE, each ended by NUL */
	size_t process_bytes;
	struct sn_measurement_strings strings;
	const struct sn_module_record *modules;
	const struct sn_metric_record *metrics;
	const struct sn_drop_record *drops;
	const void *graph; /* the section, checked (measurement_graph.h); NULL without */
	size_t graph_bytes;
	uint32_t module_count, metric_count, drop_count;
	struct sn_measurement_thread *threads; /* by ascending index */
	uint32_t thread_count;
	struct sn_arena arena; /* of what does not lie in the snapshot as it is here */
	/* The trace file beside it, owned, or NULL; see measurement_trace.h. Its streams that are
	 * no measured thread, and its counters, are among the threads and metrics. */
	struct sn_trace_reader *trace;
	uint32_t *trace_threads; /* [stream]: position of its thread, or SN_ID_NONE */
	uint32_t trace_added;	 /* threads that were added for streams, the last ones */
	uint32_t trace_names;	 /* position of the thread whose node i + 1 is name i */
};

/* 0 or a negative enum sn_err. *measurement is set only on success; free it with
 * sn_measurement_free. Texts begin "cannot read 'PATH': ". */
int sn_measurement_open(const char *path, struct sn_measurement **measurement,
			struct sn_error *error);
void sn_measurement_free(struct sn_measurement *measurement);
/*
 * Gives the frames in memory without a file to the perf map of the process that lies beside the
 * measurement, if there is one. 0 or SN_ERR_MEMORY. sn_measurement_open does it.
 */
int sn_measurement_use_perf_map(struct sn_measurement *measurement, const char *path);
/*
 * Gives modules that are code of devices kept in the measurement folder the path at which that is now. 0 or SN_ERR_MEMORY.
 * sn_measurement_open does it.
 */
int sn_measurement_use_device_code(struct sn_measurement *measurement, const char *path);
/* The same from `length` bytes of a file in memory; `name` is for texts. Keeps no reference. */
int sn_measurement_parse(const void *bytes, size_t length, const char *name,
			 struct sn_measurement **measurement, struct sn_error *error);

/* A copy of a table in the measurement's arena, with room for `more` records; NULL without memory.
 */
#define sn_measurement_copy(measurement, table, count, more)                                       \
	sn_measurement_copy_bytes(measurement, table, (count) * sizeof(*(table)),                  \
				  (more) * sizeof(*(table)))
void *sn_measurement_copy_bytes(struct sn_measurement *measurement, const void *table, size_t bytes,
				size_t more);

/* A string's bytes, not ended by NUL; NULL and 0 for SN_ID_NONE or an id that is not there. */
const char *sn_measurement_string(const struct sn_measurement_strings *strings, uint32_t id,
				  size_t *length);
/* The value of a key of PROCESS, or NULL. */
const char *sn_measurement_property(const struct sn_measurement *measurement, const char *key);
/* The same as a number; 0 where it is not there. */
uint64_t sn_measurement_number(const struct sn_measurement *measurement, const char *key);
/* Steps through PROCESS: pass NULL first, then what was returned; NULL at the end. */
const char *sn_measurement_next_property(const struct sn_measurement *measurement,
					 const char *property);

/*
 * The measurement files of a folder, sorted by name, as an array of strings that ends with NULL;
 * or, where `path` is a file itself, that file alone. Free it with sn_measurement_free_list. A
 * folder without any is SN_ERR_MISSING.
 */
int sn_measurement_list(const char *path, char ***files, size_t *count, struct sn_error *error);
void sn_measurement_free_list(char **files);
