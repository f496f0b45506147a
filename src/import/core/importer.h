/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an importer is. To add the format NAME:
 *   1. a file in a folder of src/import defines `const struct sn_importer sn_importer_NAME` and is
 *      listed in meson.build;
 *   2. importers.def gets a line SN_IMPORTER(NAME);
 *   3. tests/cli/import/test_import.py gets its case, docs/man/sonde-import.1 its paragraph.
 * A test fails until all of these are there.
 *
 * An importer recognises its inputs by their contents and adds their data to a database builder
 * (format/database/database_writer.h), several inputs to one. It neither names nor writes the
 * output. It gets one kind of input at a time and reads it in one pass if possible; it counts
 * records that it cannot use as drops (sn_db_builder_drop).
 */
#pragma once

#include "base/error.h"
#include "format/database/database_writer.h"
#include "trace/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of an input before it is read. */
struct sn_import_input {
	const char *path;
	bool is_folder;
	const unsigned char *head; /* the first bytes of a file */
	size_t head_bytes;
};

#define SN_IMPORT_HEAD_BYTES 4096

/* What an importer could not read while it read the rest; for the user. */
struct sn_import_notes {
	uint64_t left_out;     /* files */
	struct sn_error first; /* why the first of them could not be read */
	char unread[512];      /* kinds of records that it does not know, with counts; "" none */
	char cut[512];	       /* if a file is truncated: how much of it there is; "" none */
	char lost[1024];       /* what else was lost; sn_import fills it in. "" nothing */
};

struct sn_import_request {
	struct sn_import_notes *notes; /* never NULL */
	const char *const *paths;
	size_t path_count;
	/* Of importers that map code addresses: files or folders with program structure beside what
	 * the inputs themselves hold. */
	const char *const *structures;
	size_t structure_count;
	bool no_structure; /* do not use any */
	bool is_shared;	   /* others may read the database if the umask lets them */
	unsigned jobs;	   /* threads; 0: one for each processor */
	/* Of databases with events; see sn_db_builder_set_complete. */
	int (*complete)(void *context, const char *path);
	void *complete_context;
	const void *own;		/* of an importer that is in no list, by whoever calls it */
	struct sn_trace_writer *events; /* where events go; attached to the builder by the caller */
};

struct sn_importer {
	const char *name;
	/* Whether this input has its format. Must be cheap; it may look into a folder. */
	bool (*probe)(const struct sn_import_input *input);
	/* All inputs have its format. 0 or a negative enum sn_err, with a line that names the input. */
	int (*read)(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error);
	/* The library that it reads with, if that may end the process on damaged inputs: sn_import then
	 * runs the importer in a child process. NULL: none. */
	const char *library;
};

/* In the order of importers.def; ends with NULL. */
extern const struct sn_importer *const sn_importers[];

/* The importer that reads all these inputs. NULL and an error if one cannot be opened or has no
 * known format, or if two have different formats. */
const struct sn_importer *sn_importer_recognise(const char *const *paths, size_t count,
						struct sn_error *error);

/* Calls importer->read. If an importer fails without a text, which is a defect, the error names the
 * input. */
int sn_importer_read(const struct sn_importer *importer, const struct sn_import_request *request,
		     struct sn_db_builder *builder, struct sn_error *error);

/* Memory for events of these inputs before they are spilled: a small share of the inputs' size. */
size_t sn_import_event_memory(const char *const *paths, size_t count);

/* Whether that importer accepts the input at `path`; false also if it cannot be opened. */
bool sn_importer_accepts(const struct sn_importer *importer, const char *path);
