/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the raw bytes of tracepoints mean: from the texts that describe them, which perf puts into
 * the file (the kernel's events/SYSTEM/NAME/format).
 */
#ifndef SN_IMPORT_PERF_TRACEPOINT_H
#define SN_IMPORT_PERF_TRACEPOINT_H

#include "perf_file.h"

#define SN_PERF_FIELDS_MAX 32

struct sn_perf_field {
	char name[48];
	uint32_t offset, bytes;
	bool is_signed, is_text;
	bool is_elsewhere; /* the field is where and how long the value is */
	bool is_relative;  /* ... from the end of the field */
};

struct sn_perf_tracepoint {
	uint64_t id; /* attr.config of its events */
	char system[48], name[64];
	struct sn_perf_field fields[SN_PERF_FIELDS_MAX]; /* but for those that all have */
	size_t field_count;
};

struct sn_perf_tracepoints {
	struct sn_perf_tracepoint *items;
	size_t count, capacity;
};

/* Those that the file describes; as many as can be read of a damaged list. 0 or SN_ERR_MEMORY. */
int sn_perf_tracepoints_read(struct sn_perf_tracepoints *tracepoints,
			     const struct sn_perf_file *file);
void sn_perf_tracepoints_release(struct sn_perf_tracepoints *tracepoints);
/* NULL where it is not described. */
const struct sn_perf_tracepoint *
sn_perf_tracepoint_find(const struct sn_perf_tracepoints *tracepoints, uint64_t id);

/* A field's number; false where the record ends before it or it is none. */
bool sn_perf_field_number(const struct sn_perf_field *field, struct sn_perf_bytes raw,
			  int64_t *number);
/* A field's text up to its NUL; NULL likewise. */
const char *sn_perf_field_text(const struct sn_perf_field *field, struct sn_perf_bytes raw,
			       size_t *length);
/* A field by its name, or NULL. */
const struct sn_perf_field *sn_perf_field_find(const struct sn_perf_tracepoint *tracepoint,
					       const char *name);

#endif
