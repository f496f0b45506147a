/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a trace file (trace_file.h), while it is being written or after.
 *
 * Opening reads the chunks' headers and all definitions; events then come chunk by chunk, in the
 * order in which chunks were taken, so that those of one stream come in the order in which they
 * were recorded. Files of any bytes are safe to read: a chunk is followed up to its first record
 * that makes no sense, and what was left of it is counted. Memory is one chunk and the definitions.
 *
 * Single-threaded.
 */
#pragma once

#include "base/error.h"
#include "format/measurement/measurement.h"
#include "trace_encode.h"

struct sn_trace_name {
	uint32_t frame_kind; /* enum sn_frame_kind */
	uint32_t parent;     /* a name with a lower number, or SN_ID_NONE */
	uint32_t text_length;
	const char *text; /* not ended by NUL */
};

/* A counter or an attribute. */
struct sn_trace_quantity {
	uint32_t type;
	uint32_t name_length, unit_length;
	const char *name, *unit; /* not ended by NUL */
};

/* What a file defines; numbers are positions. Lives as long as the reader. */
struct sn_trace_directory {
	struct sn_trace_file_header header;
	struct sn_trace_identity identity;
	struct sn_trace_losses losses;
	const struct sn_trace_stream *streams;
	const struct sn_trace_name *names;
	const struct sn_trace_quantity *counters, *keys;
	uint32_t stream_count, name_count, counter_count, key_count;
	/* of all chunks as they say themselves; for progress and estimates */
	uint64_t event_count;
};

struct sn_trace_reader;

/* 0 or a negative enum sn_err. *reader is set only on success; free it with sn_trace_reader_free.
 * Texts begin "cannot read 'PATH': ". */
int sn_trace_reader_open(const char *path, struct sn_trace_reader **reader, struct sn_error *error);
void sn_trace_reader_free(struct sn_trace_reader *reader);
const struct sn_trace_directory *sn_trace_reader_directory(const struct sn_trace_reader *reader);

/*
 * The next event; stream and owner are filled in whatever the record says. Streams, counters, keys,
 * and contexts that are names, are there; nodes of a measurement are not checked. A sample's or
 * instant's end is its start. Valid until the next call. 1, 0 at the end, or a negative enum
 * sn_err.
 */
int sn_trace_reader_next(struct sn_trace_reader *reader, struct sn_trace_event *event,
			 struct sn_error *error);
/* Events that chunks had but that could not be read, so far. */
uint64_t sn_trace_reader_damaged(const struct sn_trace_reader *reader);
