/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables of SQLite files row by row. */
#include "sqlite_table.h"

#include "sqlite_cut.h"

#include <inttypes.h>
#include <stdio.h>

bool sn_sqlite_is_file(const struct sn_import_input *input)
{
	return !input->is_folder && sn_sqlite_is_begin(input->head, input->head_bytes);
}

static int fail(const struct sn_sqlite *file, struct sn_error *error)
{
	int code = sqlite3_errcode(file->db);
	return sn_fail(error, code == SQLITE_NOMEM ? SN_ERR_MEMORY : SN_ERR_FORMAT,
		       "cannot read '%s': %s", file->path, sqlite3_errmsg(file->db));
}

int sn_sqlite_load(const char *path, struct sn_error *error)
{
	if (sn_late_sqlite_load())
		return 0;
	return sn_fail(error, SN_ERR_UNSUPPORTED, "cannot read '%s': libsqlite3 cannot be loaded",
		       path);
}

int sn_sqlite_open(struct sn_sqlite *file, const char *path, struct sn_error *error)
{
	uint64_t bytes, expected;
	*file = (struct sn_sqlite){NULL, path};
	int result = sn_sqlite_load(path, error);
	if (result)
		return result;
	/* SQLite reports a truncated file only when it reads a missing page */
	if (sn_sqlite_is_cut(path, &bytes, &expected))
		return sn_fail(error, SN_ERR_FORMAT,
			       "cannot read '%s': it is truncated: %" PRIu64 " of %" PRIu64
			       " bytes are there",
			       path, bytes, expected);
	if (sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return file->db ? fail(file, error) : sn_fail_memory(error);
	sqlite3_db_config(file->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(file->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(file->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(file->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(file->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	if (sqlite3_exec(file->db,
			 "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-16384;"
			 "SELECT count(*) FROM sqlite_master",
			 NULL, NULL, NULL) != SQLITE_OK)
		return fail(file, error);
	return 0;
}

void sn_sqlite_close(struct sn_sqlite *file)
{
	if (file->db)
		sqlite3_close(file->db);
	file->db = NULL;
}

/* The text that a query with two parameters returns. */
static bool ask(const struct sn_sqlite *file, const char *sql, const char *first,
		const char *second, char *answer, size_t size)
{
	sqlite3_stmt *rows = NULL;
	bool found =
	    sqlite3_prepare_v2(file->db, sql, -1, &rows, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(rows, 1, first, -1, SQLITE_STATIC) == SQLITE_OK &&
	    (!second || sqlite3_bind_text(rows, 2, second, -1, SQLITE_STATIC) == SQLITE_OK) &&
	    sqlite3_step(rows) == SQLITE_ROW;
	if (found)
		snprintf(answer, size, "%s", sn_sqlite_text(rows, 0));
	sqlite3_finalize(rows);
	return found;
}

bool sn_sqlite_has(const struct sn_sqlite *file, const char *table, const char *column)
{
	char found[4];
	if (!column)
		return ask(file,
			   "SELECT name FROM sqlite_master WHERE type='table' AND name=?1 "
			   "AND sql NOT LIKE 'CREATE VIRTUAL%'",
			   table, NULL, found, sizeof(found));
	return ask(file, "SELECT name FROM pragma_table_info(?1) WHERE name=?2", table, column,
		   found, sizeof(found));
}

bool sn_sqlite_find(const struct sn_sqlite *file, const char *prefix, char *name, size_t size)
{
	return ask(file,
		   "SELECT name FROM sqlite_master WHERE type='table' AND "
		   "substr(name, 1, length(?1))=?1 ORDER BY name",
		   prefix, NULL, name, size);
}

int sn_sqlite_select(const struct sn_sqlite *file, const char *table, const char *const *columns,
		     const char *rest, sqlite3_stmt **rows, struct sn_error *error)
{
	*rows = NULL;
	if (!sn_sqlite_has(file, table, NULL))
		return 0;
	sqlite3_str *sql = sqlite3_str_new(file->db);
	for (int i = 0; columns[i]; i++) {
		const char *between = i ? ", " : "SELECT ";
		if (sn_sqlite_has(file, table, columns[i]))
			sqlite3_str_appendf(sql, "%s\"%w\"", between, columns[i]);
		else
			sqlite3_str_appendf(sql, "%sNULL", between);
	}
	sqlite3_str_appendf(sql, " FROM \"%w\" %s", table, rest);
	char *text = sqlite3_str_finish(sql);
	int result = text && sqlite3_prepare_v2(file->db, text, -1, rows, NULL) == SQLITE_OK
			 ? 0
			 : fail(file, error);
	sqlite3_free(text);
	return result;
}

int sn_sqlite_next(const struct sn_sqlite *file, sqlite3_stmt *rows, struct sn_error *error)
{
	switch (sqlite3_step(rows)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return fail(file, error);
	}
}

int sn_sqlite_each(const struct sn_sqlite *file, const char *table, const char *const *columns,
		   const char *rest, int (*row)(void *context, sqlite3_stmt *row), void *context,
		   struct sn_error *error)
{
	sqlite3_stmt *rows;
	int found = sn_sqlite_select(file, table, columns, rest, &rows, error);
	while (!found && rows && (found = sn_sqlite_next(file, rows, error)) > 0) {
		found = row(context, rows);
		if (found)
			sn_fail_memory(error);
	}
	sqlite3_finalize(rows);
	return found;
}
