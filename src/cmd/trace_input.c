/* SPDX-License-Identifier: Apache-2.0 */
/* Importing on the way; see trace_input.h. */
#include "trace_input.h"

#include "base/vec.h"
#include "command.h"
#include "format/database_writer.h"
#include "import/importer.h"
#include "sonde/db.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct files {
	char **paths;
	size_t count, capacity;
};

static void release(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	free(files->paths);
}

static int add(struct files *files, const char *folder, const char *name)
{
	char *path = NULL;
	if (sn_vec_reserve(&files->paths, &files->capacity, files->count + 1) < 0 ||
	    asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0)
		return SN_ERR_MEMORY;
	files->paths[files->count++] = path;
	return 0;
}

static int compare(const void *left, const void *right)
{
	return strverscmp(*(char *const *)left, *(char *const *)right);
}

static bool is_database(const char *path)
{
	char head[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_one = fd >= 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
		      !memcmp(head, "SONDE", 5);
	if (fd >= 0)
		close(fd);
	return is_one;
}

/* The files of a folder that an importer with events knows; other files may lie there as well. */
static int list_folder(const char *folder, struct files *files, struct sn_error *error)
{
	struct files all = {0};
	struct dirent *entry;
	int result = 0;
	DIR *open = opendir(folder);
	if (!open)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
	while ((entry = readdir(open)) && !result)
		if (entry->d_name[0] != '.')
			result = add(&all, folder, entry->d_name);
	closedir(open);
	if (all.count)
		qsort(all.paths, all.count, sizeof(*all.paths), compare);
	for (size_t i = 0; i < all.count && !result; i++) {
		struct stat status;
		if (stat(all.paths[i], &status) < 0 || !S_ISREG(status.st_mode) ||
		    is_database(all.paths[i]))
			continue;
		const char *path = all.paths[i];
		if (sn_importer_recognise(&path, 1, NULL))
			result = add(files, "", path);
	}
	release(&all);
	if (!result && !files->count)
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': no traces in that folder",
			       folder);
	return result ? sn_fail(error, result, "out of memory") : 0;
}

/* The operands as files: a folder that is not itself of a known format is those in it. */
static int list_files(const char *const *paths, size_t count, struct files *files,
		      struct sn_error *error)
{
	int result = 0;
	for (size_t i = 0; i < count && !result; i++) {
		struct stat status;
		bool is_folder = stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode);
		if (is_folder && !sn_importer_recognise(paths + i, 1, NULL))
			result = list_folder(paths[i], files, error);
		else if (add(files, "", paths[i]))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	return result;
}

static int import(const struct files *files, const char *output, struct sn_error *error)
{
	struct sn_import_notes notes = {0};
	struct sn_import_request request = {
	    .notes = &notes,
	    .paths = (const char *const *)files->paths,
	    .path_count = files->count,
	};
	const struct sn_importer *importer =
	    sn_importer_recognise(request.paths, request.path_count, error);
	if (!importer)
		return SN_ERR_FORMAT;
	struct sn_db_builder *builder = sn_db_builder_new();
	request.events =
	    sn_trace_writer_new(sn_import_event_memory(request.paths, request.path_count), NULL);
	if (!builder || !request.events) {
		sn_db_builder_free(builder);
		sn_trace_writer_free(request.events);
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	int result = sn_importer_read(importer, &request, builder, error);
	if (sn_trace_writer_count(request.events))
		sn_trace_writer_attach(request.events, builder);
	else
		sn_trace_writer_free(request.events);
	if (!result)
		result = sn_db_builder_write(builder, output, error);
	sn_db_builder_free(builder);
	if (notes.left_out)
		sn_command_warn("%zu files were left out; the first: %s", (size_t)notes.left_out,
				notes.first.text);
	return result;
}

/* The file has no name any more once it is open, so nothing is left whatever happens. */
static int import_and_open(const struct files *files, struct sonde_db **db, struct sn_error *error)
{
	const char *folder = getenv("TMPDIR");
	char name[4096], path[4200];
	snprintf(name, sizeof(name), "%s/sonde-XXXXXX", folder && *folder ? folder : "/tmp");
	if (!mkdtemp(name))
		return sn_fail(error, SN_ERR_IO, "cannot create a folder in '%s': %s",
			       folder && *folder ? folder : "/tmp", strerror(errno));
	snprintf(path, sizeof(path), "%s/trace.sdb", name);
	int result = import(files, path, error);
	struct sonde_db_error why = {""};
	if (!result && sonde_db_open(path, db, &why))
		result = sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	unlink(path);
	rmdir(name);
	return result;
}

int sn_command_open_trace(const char *const *paths, size_t count, struct sonde_db **db)
{
	struct files files = {0};
	struct sn_error error = {""};
	struct stat status;
	/* what cannot be read, and what is of no known format, is explained as a database's */
	if (count == 1 && (stat(paths[0], &status) < 0 || is_database(paths[0]) ||
			   (S_ISREG(status.st_mode) && !sn_importer_recognise(paths, 1, NULL))))
		return sn_command_open(paths[0], db);
	int result = list_files(paths, count, &files, &error);
	if (!result)
		result = import_and_open(&files, db, &error);
	release(&files);
	return result ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}
