/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an exporter is. To add the format NAME:
 *   1. src/export/NAME.c defines `const struct sn_exporter sn_exporter_NAME` and is listed in
 *      meson.build;
 *   2. exporters.def gets a line SN_EXPORTER(NAME);
 *   3. tests/cli/export/test_export.py gets its golden case, docs/man/sonde-export.1 its paragraph.
 * A test fails until all of these are there.
 *
 * An exporter writes to a stream; the command names, creates and renames files. It must cope with
 * 100,000 contexts in about a second.
 */
#pragma once

#include "base/error.h"
#include "stack.h"
#include "lib/db/formula.h"
#include "sonde/db.h"

#include <stdio.h>

struct sn_source_roots;

/* What a format cannot hold, for the user; `count` is 0 if there is nothing. */
struct sn_export_loss {
	uint32_t count;	 /* formulas of the database */
	char first[120]; /* the first one's name */
	struct sn_error why;
};

/* What a user says of all samples: "region", "eu-1". */
struct sn_export_label {
	const char *key, *value;
};

struct sn_export_request {
	const struct sonde_db *db;
	const char *path; /* of the database, as the user gave it */
	/* What to export, the most important first; at least one. Formats with one metric use the
	 * first. */
	const uint32_t *metrics;
	uint32_t metric_count;
	/* For exporters that take them (has_formulas); metrics that they need besides follow in
	 * `metrics`. */
	const struct sn_formula *const *formulas;
	uint32_t formula_count, hidden_count;
	/* Where lines of source may be read, for exporters that include them; NULL: nowhere. */
	struct sn_source_roots *sources;
	/* The executable or library that is wanted, a pattern; NULL: the exporter's choice. For exporters of one (has_image). */
	const char *image;
	bool collapse_recursion; /* for exporters that have it (collapses) */
	/* What formats of whole stacks had to cut; see stack.h. */
	struct sn_stack_cut *cut;
	struct sn_export_loss *loss; /* never NULL */
	/* For stores that hold many machines (pprof, otlp): whether samples say whose they are, and what else they say. */
	bool tells_origin;
	const struct sn_export_label *labels;
	size_t label_count;
	/* Profiles with equal texts have equal ids (otlp); NULL: none has an id. */
	const char *identity;
	/* All named formulas of the database, for exporters whose readers choose. */
	const struct sn_formulas *known;
};

struct sn_exporter {
	const char *name;
	const char *extension; /* "pb.gz" */
	/* Write errors are found in the stream by the caller; returns 0 or a negative enum sn_err.
	 */
	int (*write)(const struct sn_export_request *request, FILE *out, struct sn_error *error);
	bool has_formulas; /* holds values that its readers do not add up */
	bool has_sources;  /* holds lines of source files */
	bool has_events;   /* holds the trace, and no metrics */
	bool has_image;	   /* is about one executable or library */
	bool collapses;	   /* writes each path, where asked for with no function twice in it */
	/* Of formats that are a folder of files, in place of the other: fills an empty folder. */
	int (*write_folder)(const struct sn_export_request *request, const char *folder,
			    struct sn_error *error);
	const char *const *own; /* of those: see sn_folder_open */
};

/* In the order of exporters.def; ends with NULL. */
extern const struct sn_exporter *const sn_exporters[];
