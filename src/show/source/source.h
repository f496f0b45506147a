/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of source files, if the files on this machine are unchanged since the measurement.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_source_file;
struct sn_source_roots;
struct sonde_db;

/* Keeps the files it has read. */
struct sn_source {
	struct sn_source_roots *roots; /* from where files may be read; NULL: from nowhere */
	uint32_t owner;		       /* of the database, a uid */
	uint64_t measured_ns; /* end of the measurement; a file changed later is not shown */
	uint64_t bytes;	      /* read so far */
	struct sn_source_file *files;
	size_t count, capacity;
};

/* Of the files that a database names, those in `roots` are shown. */
void sn_source_init(struct sn_source *source, const struct sonde_db *db,
		    struct sn_source_roots *roots, uint64_t measured_ns);
void sn_source_release(struct sn_source *source);

/* Copies line `line` of `path` without its indentation. False: there is no such file, line, or it
 * has changed since it was measured. */
bool sn_source_line(struct sn_source *source, const char *path, uint32_t line, char *text,
		    size_t size);
