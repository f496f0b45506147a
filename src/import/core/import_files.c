/* SPDX-License-Identifier: Apache-2.0 */
/* From names of files to a database; see import_files.h. */
#include "import_files.h"

#include "base/pool.h"
#include "base/vec.h"
#include "format/database/database.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sn_import_files_release(struct sn_import_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	free(files->paths);
	*files = (struct sn_import_files){0};
}

int sn_import_files_add(struct sn_import_files *files, const char *folder, const char *name)
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

bool sn_is_database(const char *path)
{
	char head[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_one = fd >= 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
		      !memcmp(head, SN_DATABASE_MAGIC, sizeof(head));
	if (fd >= 0)
		close(fd);
	return is_one;
}

/* All that lies in a folder, sorted. */
static int list_entries(const char *folder, struct sn_import_files *all, struct sn_error *error)
{
	DIR *open = opendir(folder);
	if (!open)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
	int result = 0;
	for (struct dirent *entry; !result && (entry = readdir(open));)
		if (entry->d_name[0] != '.')
			result = sn_import_files_add(all, folder, entry->d_name);
	closedir(open);
	if (all->count)
		qsort(all->paths, all->count, sizeof(*all->paths), compare);
	return result ? sn_fail_memory(error) : 0;
}

/* Adds what is of a known format in a folder. */
static int add_folder(const char *folder, struct sn_import_files *files, struct sn_error *error)
{
	struct sn_import_files all = {0};
	int result = list_entries(folder, &all, error);
	for (size_t i = 0; i < all.count && !result; i++) {
		const char *path = all.paths[i];
		struct stat status;
		if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || sn_is_database(path))
			continue;
		if (sn_importer_recognise(&path, 1, NULL) && sn_import_files_add(files, "", path))
			result = sn_fail_memory(error);
	}
	sn_import_files_release(&all);
	return result;
}

int sn_import_files_list(struct sn_import_files *files, const char *const *paths, size_t count,
			 struct sn_error *error)
{
	int result = 0;
	for (size_t i = 0; i < count && !result; i++) {
		struct sn_error why = {""};
		struct stat status;
		size_t before = files->count;
		bool is_folder = stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode);
		if (!is_folder || sn_importer_recognise(paths + i, 1, &why)) {
			if (sn_import_files_add(files, "", paths[i]))
				result = sn_fail_memory(error);
			continue;
		}
		result = add_folder(paths[i], files, error);
		if (!result && files->count == before)
			result = sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	}
	return result;
}

int sn_import(const struct sn_importer *importer, const struct sn_import_request *request,
	      const char *output, struct sn_import_counts *counts, struct sn_error *error)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sn_import_request with_events = *request;
	with_events.events =
	    sn_trace_writer_new(sn_import_event_memory(request->paths, request->path_count), NULL);
	if (!builder || !with_events.events) {
		sn_db_builder_free(builder);
		sn_trace_writer_free(with_events.events);
		return sn_fail_memory(error);
	}
	sn_db_builder_property(builder, "imported.from", importer->name);
	sn_db_builder_property(builder, "sonde.version", SN_VERSION);
	int result = sn_importer_read(importer, &with_events, builder, error);
	*counts = (struct sn_import_counts){
	    .contexts = sn_db_builder_context_count(builder),
	    .events = sn_trace_writer_count(with_events.events),
	};
	if (counts->events)
		sn_trace_writer_attach(with_events.events, builder); /* whose they are then */
	else
		sn_trace_writer_free(with_events.events);
	if (counts->events)
		sn_db_builder_set_complete(builder, request->complete, request->complete_context);
	sn_db_builder_set_threads(builder, sn_pool_threads(request->jobs));
	if (request->is_shared)
		sn_db_builder_share(builder);
	if (!result)
		result = sn_db_builder_write(builder, output, error);
	sn_db_builder_free(builder);
	return result;
}
