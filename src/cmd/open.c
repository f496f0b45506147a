/* SPDX-License-Identifier: Apache-2.0 */
/* What a command reads or writes; see command.h. */
#include "command.h"

#include "base/output.h"
#include "show/source/source_roots.h"
#include "sonde/db.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sn_command_open(const char *path, struct sonde_db **db)
{
	struct sonde_db_error error = {""};
	if (sn_store_is(path))
		return sn_store_open(path, db);
	int status = sn_store_refuse_range(path);
	if (status || sonde_db_open(path, db, &error) == 0)
		return status;
	if (strncmp(error.text, "cannot ", 7) == 0)
		return sn_command_fail("%s", error.text);
	return sn_command_fail("cannot read '%s': %s", path, error.text);
}

int sn_command_read(const struct sn_options *options, const char *what,
		    int (*read)(void *context, struct sonde_db *db, const char *path),
		    void *context)
{
	struct sonde_db *db;
	const char *path = sn_options_operand(options, what);
	int status = path ? sn_command_open(path, &db) : SN_EXIT_USAGE;
	return status ? status : sn_command_close(db, read(context, db, path));
}

int sn_command_close(struct sonde_db *db, int status)
{
	const char *damage = sonde_db_damage(db);
	if (damage && status == SN_EXIT_DONE)
		status = sn_command_fail("%s", damage);
	sonde_db_close(db);
	return status;
}

int sn_command_write_file(const char *path,
			  int (*write)(void *context, FILE *out, struct sn_error *error),
			  void *context, struct sn_error *error)
{
	struct sn_output output;
	int result = sn_output_open(&output, path, error);
	if (result)
		return result;
	FILE *out = sn_output_stream(&output);
	result = out ? write(context, out, error) : sn_fail_memory(error);
	if (out)
		fclose(out); /* what went wrong is known to the output */
	if (!result)
		return sn_output_commit(&output, error);
	sn_output_abandon(&output);
	return result;
}

static bool is_own_pipe(const char *output)
{
	struct stat mine, status;
	return !fstat(STDOUT_FILENO, &mine) && !stat(output, &status) &&
	       (S_ISFIFO(mine.st_mode) || S_ISSOCK(mine.st_mode)) && mine.st_dev == status.st_dev &&
	       mine.st_ino == status.st_ino;
}

void sn_command_speak_beside(const char *output)
{
	if (is_own_pipe(output))
		dup2(STDERR_FILENO, STDOUT_FILENO);
}

/* ---- source files ---- */

int sn_sources_parse(void *roots, const struct sn_options *options, const char *folder)
{
	struct sn_error error = {""};
	return sn_source_roots_add(roots, folder, &error) ? sn_command_fail("%s", error.text) : 0;
}

void sn_sources_add_usual(struct sn_source_roots *roots)
{
	sn_source_roots_add_working_tree(roots);
	sn_source_roots_add_list(roots, getenv("SONDE_SOURCE"));
}

void sn_sources_tell_outside(const struct sn_source_roots *roots)
{
	if (roots->outside_count == 0 || !roots->first_outside)
		return;
	if (roots->outside_count == 1)
		sn_command_warn("lines of '%s' are not shown: it lies outside of the folder you "
				"are in (--source DIR)",
				roots->first_outside);
	else
		sn_command_warn("lines of '%s' and %zu more files are not shown: they lie outside "
				"of the folder you are in (--source DIR)",
				roots->first_outside, roots->outside_count - 1);
}
