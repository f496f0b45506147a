/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container that `perf record` writes: its header, the events it was told to record, what it
 * says of the machine, and the records one after the other, whether they were written to a file or
 * into a pipe, compressed or not. What records mean is perf_sample.h's business and that of perf.c.
 *
 * The layout is that of tools/perf/Documentation/perf.data-file-format.txt of Linux. Files are
 * those of a little-endian machine; those of another are refused with a line that says so.
 */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/table.h"
#include "system/perf_data.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An event that was recorded. */
struct sn_perf_event {
	struct perf_event_attr attr; /* as much as the file has; else zeroes */
	const char *name;	     /* never NULL */
};

/* The file that has a build id. */
struct sn_perf_build_id {
	const char *path;
	uint8_t bytes[20];
	uint32_t length;
};

struct sn_perf_file {
	const char *path; /* not owned */
	struct sn_bytes bytes;
	struct sn_arena texts;
	bool is_pipe, is_short; /* is_short: records are missing at the end */
	size_t data, data_end;
	uint64_t data_length; /* as the header says; 0: it does not, perf was killed */
	/* further records beside the file, of `perf record --threads`: data.0, data.1, ... */
	struct sn_bytes *parts;
	size_t part_count, part_capacity;
	struct sn_perf_event *events;
	size_t event_count, event_capacity;
	struct sn_table ids; /* of events */
	struct sn_perf_build_id *build_ids;
	size_t build_id_count, build_id_capacity;
	const char *host, *release, *command, *processor, *version; /* NULL not said */
	struct sn_bytes tracing; /* formats of tracepoints: perf_tracepoint.h */
	/* What to add to times to make them of the Unix epoch; 0 where the file does not say. */
	int64_t epoch_ns;
};

/* Reads all but the records. 0 or a negative enum sn_err; close it in either case. */
int sn_perf_file_open(struct sn_perf_file *file, const char *path, struct sn_error *error);
void sn_perf_file_close(struct sn_perf_file *file);

/* What a file begins with. */
bool sn_perf_is_file(const unsigned char *head, size_t length);

/* A record: the header and what follows it, aligned to nothing. */
struct sn_perf_raw {
	struct perf_event_header header;
	const unsigned char *bytes; /* behind the header */
	size_t length;		    /* of these */
};

static inline struct sn_cursor sn_perf_cursor(const struct sn_perf_raw *record, size_t place)
{
	return sn_cursor_at((struct sn_bytes){record->bytes, record->length}, place);
}

/*
 * Gives each record of the data to `read`, in the order of the file, unpacked; `read` returns 0 or
 * a negative enum sn_err, which ends it. Records that hold what sn_perf_file_open has read already
 * are left out. A file that ends within a record (perf was killed) is read up to there: *is_cut.
 */
int sn_perf_file_each(const struct sn_perf_file *file, bool *is_cut,
		      int (*read)(void *context, const struct sn_perf_raw *record), void *context,
		      struct sn_error *error);

/* The build id of the file at that path, or NULL. */
const struct sn_perf_build_id *sn_perf_file_build_id(const struct sn_perf_file *file,
						     const char *path);
/* The event of an id, or UINT32_MAX. */
uint32_t sn_perf_file_event(const struct sn_perf_file *file, uint64_t id);
