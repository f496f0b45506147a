/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the JSON that Chrome's trace viewer reads, event by event: {"traceEvents": [...], ...} or
 * a bare array, plain or gzip, of any size in bounded memory, parsed by several threads.
 *
 * A parser of its own because events are small: parsing each with simdjson took twice as long where
 * the processor has AVX2 and more where it does not, and its numbers lose the digits of a time that
 * is counted from 1970 (docs/results/import.md). Importers interpret the events.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Text without a NUL; valid as long as its event or member. text is NULL if it is missing.
 */
struct sn_json_text {
	const char *text;
	uint32_t length; /* a value has at most SN_JSON_VALUE_BYTES_MAX */
} __attribute__((packed, aligned(4)));

static inline bool sn_json_is(struct sn_json_text text, const char *other)
{
	return text.length == strlen(other) && text.text && !memcmp(text.text, other, text.length);
}

enum sn_json_kind {
	SN_JSON_NONE, /* missing, or null */
	SN_JSON_INTEGER,
	SN_JSON_REAL,
	SN_JSON_BOOL,
	SN_JSON_TEXT,
	SN_JSON_OTHER, /* an array or object: its text as in the file */
};

struct sn_json_value {
	int64_t integer;	  /* of INTEGER and BOOL; of an unsigned one its bits */
	struct sn_json_text text; /* of TEXT (unescaped), OTHER, INTEGER and REAL as written */
	enum sn_json_kind kind;
};
_Static_assert(sizeof(struct sn_json_value) == 24, "events are many");

#define SN_JSON_ARGS_MAX  128
#define SN_JSON_STEPS_MAX 2048

/* The value of a REAL or INTEGER, from its text. */
double sn_json_real(struct sn_json_text text);

struct sn_json_arg {
	struct sn_json_text name;
	/* If not 0: all arguments of the file with this number, which is below sn_trace_json_steps,
	 * have the same name. */
	uint32_t step;
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
	const struct sn_json_arg *args;
};

/* The argument of that name, or NULL. */
const struct sn_json_value *sn_json_find_arg(const struct sn_json_event *event, const char *name);

/* A member of the file beside traceEvents. */
struct sn_json_member {
	struct sn_json_text name;
	struct sn_json_value value;
};

/* Called with a file's events and members, in the order of the file and one at a time, but by
 * several threads. Either may be NULL. They return 0, or a negative enum sn_err that ends the
 * reading. Their arguments are valid until they return. */
struct sn_trace_json_visitor {
	int (*event)(void *context, const struct sn_json_event *event);
	int (*member)(void *context, const struct sn_json_member *member);
	void *context;
};

/*
 * Reads a file, by up to `threads` threads. 0; SN_ERR_FORMAT or SN_ERR_IO with a line that says
 * where the file is damaged, after the events before that place; or the result of a visitor, which
 * sets its text unless it is SN_ERR_MEMORY. A file that ends within the events (the program was
 * killed while it wrote) is damaged as well, except for an array without an object around it, which
 * may end after any event.
 */
int sn_trace_json_read(const char *path, unsigned threads,
		       const struct sn_trace_json_visitor *visitor, struct sn_error *error);
/* The numbers of steps that so many threads use. */
size_t sn_trace_json_steps(unsigned threads);

/* Whether the file looks like such JSON; false also if it cannot be read. */
bool sn_trace_json_probe(const char *path);
