/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laying a database out in a file: sections are placed one after the other, then filled in any
 * order and by any number of processes, and the header is written last.
 */
#pragma once

#include "base/error.h"
#include "database_builder.h"

struct sn_db_file {
	int fd; /* not owned; must be seekable, and may be another process's for the same file */
	uint64_t next;						 /* where the next section begins */
	struct sn_section_entry table[SN_DATABASE_TYPE_END - 1]; /* by type; offset 0: not placed */
};

void sn_db_file_init(struct sn_db_file *file, int fd);

/* Places a section whose contents others write, and returns where; its checksum is that of its
 * parts (SN_SECTION_INDEXED). */
uint64_t sn_db_file_place(struct sn_db_file *file, unsigned type, uint64_t length);
/* Places a section and writes it. 0 or the errno. */
int sn_db_file_write(struct sn_db_file *file, unsigned type, const void *data, size_t length);
/* Places and writes the sections that describe: strings to properties. 0, the errno, or ENOMEM. */
int sn_db_file_describe(struct sn_db_file *file, const struct sn_db_builder *builder,
			const struct sn_db_ordered *ordered);
/* Places and writes the sections of the builder's graphs, if it has any. 0, the errno, or ENOMEM.
 */
int sn_db_file_graph(struct sn_db_file *file, const struct sn_db_builder *builder,
		     const struct sn_db_ordered *ordered);
/* Places and writes the sections of the builder's events, if it has any. The text is in `error`. */
int sn_db_file_events(struct sn_db_file *file, const struct sn_db_builder *builder,
		      const struct sn_db_ordered *ordered, struct sn_error *error);
/* Writes the header and the table of sections. 0 or the errno. */
int sn_db_file_finish(struct sn_db_file *file);
