/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the JSON that Chrome's trace viewer reads, event by event: {"traceEvents": [...], ...} or
 * a bare array, plain or gzip, of any size in bounded memory.
 *
 * A parser of its own because events are small: parsing each with simdjson took twice as long where
 * the processor has AVX2 and more where it does not, and its numbers lose the digits of a time that
 * is counted from 1970 (docs/results/import.md). What an event means is the importers' business.
 */
#ifndef SN_IMPORT_TRACE_JSON_H
#define SN_IMPORT_TRACE_JSON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that ends with no NUL; valid until the next event. text is NULL where it is missing. */
struct sn_json_text {
	const char *text;
	size_t length;
};

enum sn_json_kind {
	SN_JSON_NONE, /* missing, or null */
	SN_JSON_INTEGER,
	SN_JSON_REAL,
	SN_JSON_BOOL,
	SN_JSON_TEXT,
	SN_JSON_OTHER, /* an array or object: its text as in the file */
};

struct sn_json_value {
	enum sn_json_kind kind;
	int64_t integer;	  /* of INTEGER and BOOL; of an unsigned one its bits */
	struct sn_json_text text; /* of TEXT (unescaped), OTHER, INTEGER and REAL as written */
};

#define SN_JSON_ARGS_MAX  128
#define SN_JSON_STEPS_MAX 2048

/* The value of a REAL or INTEGER, from its text. */
double sn_json_real(struct sn_json_text text);

struct sn_json_arg {
	struct sn_json_text name;
	/* Where it is not 0: all arguments of the file with this number, which is below
	 * SN_JSON_STEPS_MAX, have the same name. */
	uint16_t step;
	struct sn_json_value value;
};

/* One element of traceEvents. Members of other names are left out. */
struct sn_json_event {
	char phase; /* 'X', 'M', ...; 0 missing */
	struct sn_json_text name, category;
	struct sn_json_value pid, tid, id; /* "id2" as well, an object with "local" or "global" */
	struct sn_json_value scope;	   /* of the id */
	struct sn_json_value stack;	   /* "sf": the key of a stack frame */
	bool has_time, has_duration;
	/* "ts" and "dur" as nanoseconds, exact to the last digit written, fractions cut. */
	int64_t time_ns, duration_ns;
	size_t arg_count; /* of "args"; what is beyond SN_JSON_ARGS_MAX is counted in args_lost */
	size_t args_lost;
	struct sn_json_arg args[SN_JSON_ARGS_MAX];
};

/* A member of the file beside traceEvents. */
struct sn_json_member {
	struct sn_json_text name;
	struct sn_json_value value;
};

struct sn_trace_json;

/* Opens the file. *reader is set only on success; free it with sn_trace_json_close. */
int sn_trace_json_open(const char *path, struct sn_trace_json **reader, struct sn_error *error);
void sn_trace_json_close(struct sn_trace_json *reader);

enum sn_trace_json_found { SN_TRACE_JSON_END, SN_TRACE_JSON_EVENT, SN_TRACE_JSON_MEMBER };

/*
 * The next event or member, in the order of the file: an enum sn_trace_json_found, or a negative
 * enum sn_err with a line that says where the file is damaged. A file that ends within the events
 * (the program was killed while it wrote) is SN_ERR_FORMAT as well.
 */
int sn_trace_json_next(struct sn_trace_json *reader, struct sn_json_event *event,
		       struct sn_json_member *member, struct sn_error *error);

/* Bytes of JSON read so far. */
uint64_t sn_trace_json_bytes(const struct sn_trace_json *reader);

/* Whether the file looks like such JSON; false as well where it cannot be read. */
bool sn_trace_json_probe(const char *path);

/* A decimal number of microseconds, as written, as nanoseconds; false where it is none. */
bool sn_trace_json_time(struct sn_json_text text, int64_t *time_ns);

#endif
