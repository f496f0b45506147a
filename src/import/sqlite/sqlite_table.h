/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of SQLite files that other tools export, row by row.
 *
 * Which tables and columns there are depends on the version of the tool and on what it measured, so
 * a query names the columns that it needs, and missing ones read as NULL. Files are not trusted:
 * only plain tables are read, and no code of a schema is executed.
 */
#pragma once

#include "base/error.h"
#include "import/core/importer.h"

#include "late_sqlite.h"
#include <stdbool.h>

struct sn_sqlite {
	sqlite3 *db;
	const char *path; /* not owned */
};

/* Whether a file begins as SQLite's do. */
bool sn_sqlite_is_file(const struct sn_import_input *input);

/* Before any other call of SQLite. SN_ERR_UNSUPPORTED, with a text that names `path`, if its
 * library cannot be loaded. */
int sn_sqlite_load(const char *path, struct sn_error *error);
/* Does that, and opens a file read-only. 0 or a negative enum sn_err; close it in either case. */
int sn_sqlite_open(struct sn_sqlite *file, const char *path, struct sn_error *error);
void sn_sqlite_close(struct sn_sqlite *file);

/* Whether there is a table of that name, and a column in it (NULL: any). */
bool sn_sqlite_has(const struct sn_sqlite *file, const char *table, const char *column);
/* The first table whose name begins so, into name[size]. */
bool sn_sqlite_find(const struct sn_sqlite *file, const char *prefix, char *name, size_t size);

/*
 * SELECT of the columns of a table, in that order; `rest` is what follows FROM (WHERE, ORDER BY) or
 * "". *rows is NULL if there is no such table. Free it with sqlite3_finalize.
 */
int sn_sqlite_select(const struct sn_sqlite *file, const char *table, const char *const *columns,
		     const char *rest, sqlite3_stmt **rows, struct sn_error *error);
/* 1: there is a row; 0: no more; or a negative enum sn_err with its text. */
int sn_sqlite_next(const struct sn_sqlite *file, sqlite3_stmt *rows, struct sn_error *error);

/* Each row of such a SELECT to `row`, which returns 0 or SN_ERR_MEMORY. */
int sn_sqlite_each(const struct sn_sqlite *file, const char *table, const char *const *columns,
		   const char *rest, int (*row)(void *context, sqlite3_stmt *row), void *context,
		   struct sn_error *error);

static inline bool sn_sqlite_is_null(sqlite3_stmt *rows, int column)
{
	return sqlite3_column_type(rows, column) == SQLITE_NULL;
}
/* Text, never NULL. Valid until the next row. */
static inline const char *sn_sqlite_text(sqlite3_stmt *rows, int column)
{
	const unsigned char *text = sqlite3_column_text(rows, column);
	return text ? (const char *)text : "";
}
