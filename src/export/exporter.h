/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a writer of another tool's format is.
 *
 * To add `sonde export --to NAME`:
 *   1. src/export/NAME.c defines `const struct sn_exporter sn_exporter_NAME`, listed in
 * meson.build;
 *   2. exporters.def gets a line SN_EXPORTER(NAME).
 */
#ifndef SN_EXPORT_EXPORTER_H
#define SN_EXPORT_EXPORTER_H

#include "base/error.h"
#include "base/output.h"
#include "sonde/db.h"

struct sn_exporter {
	const char *name;
	const char *summary;   /* one line, no full stop */
	const char *extension; /* of the file's usual name, with its dot */
	/* 0 or a negative enum sn_err. The caller opens and commits the output. */
	int (*write)(const struct sonde_db *db, struct sn_output *output, struct sn_error *error);
};

/* All exporters, in the order of exporters.def; ends with NULL. */
extern const struct sn_exporter *const sn_exporters[];

#endif
