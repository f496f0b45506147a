/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a kernel tracepoint's records, from its format text in tracefs
 * (events/SYSTEM/NAME/format), which perf's files contain too. Offsets of fields differ between
 * kernels, so they are only taken from there.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_TRACEPOINT_FIELDS 40
#define SN_TRACEPOINT_NAME   64

struct sn_tracepoint_field {
	char name[SN_TRACEPOINT_NAME];
	uint32_t offset, bytes;
	bool is_signed;
	bool is_text; /* characters, or a reference to a text */
	/* The field refers to a text of varying length: offset | length << 16; from the begin of
	 * the record, or if `is_relative` from the end of the field. */
	bool is_elsewhere, is_relative;
};

struct sn_tracepoint {
	char name[SN_TRACEPOINT_NAME];
	uint64_t id; /* what perf_event_open takes */
	struct sn_tracepoint_field fields[SN_TRACEPOINT_FIELDS];
	uint32_t field_count; /* further ones are left out */
};

/* Reads a format text, which need not end with a NUL. 0 or SN_ERR_FORMAT. */
int sn_tracepoint_parse(const char *text, size_t length, struct sn_tracepoint *tracepoint,
			struct sn_error *error);

/* NULL if there is none of that name. */
const struct sn_tracepoint_field *sn_tracepoint_field(const struct sn_tracepoint *tracepoint,
						      const char *name);

/* A record of that length has the field. */
bool sn_tracepoint_holds(const struct sn_tracepoint_field *field, size_t length);
/* The number in a record; of an array at most its first 8 bytes. 0 if the record ends before it.
 */
int64_t sn_tracepoint_number(const struct sn_tracepoint_field *field, const unsigned char *record,
			     size_t length);
/* The text in a record, up to its NUL; *text_length bytes, 0 if the record ends before it. */
const char *sn_tracepoint_text(const struct sn_tracepoint_field *field, const unsigned char *record,
			       size_t length, size_t *text_length);
