/* SPDX-License-Identifier: Apache-2.0 */
/* Importing the paths that a user names: listing folders, running one importer, writing the
 * database. */
#include "import_files.h"

#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/database/database.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

SN_SORT_BY(sort_paths, char *, const void *, strverscmp(*a, *b));

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

/* All entries of a folder, sorted. */
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
	sort_paths(all->paths, all->count, NULL);
	return result ? sn_fail_memory(error) : 0;
}

static void note_folder(struct sn_import_files *files, const char *path)
{
	size_t used = strlen(files->folders);
	const char *name = sn_text_base_name(path);
	files->folder_count++;
	if (used + strlen(name) + 3 < sizeof(files->folders))
		snprintf(files->folders + used, sizeof(files->folders) - used, "%s%s",
			 used ? ", " : "", name);
}

/* Adds the files of a folder that are of a known format. */
static int add_folder(const char *folder, struct sn_import_files *files, struct sn_error *error)
{
	struct sn_import_files all = {0};
	int result = list_entries(folder, &all, error);
	for (size_t i = 0; i < all.count && !result; i++) {
		const char *path = all.paths[i];
		struct stat status;
		if (stat(path, &status) < 0)
			continue;
		if (S_ISDIR(status.st_mode))
			note_folder(files, path);
		if (!S_ISREG(status.st_mode) || sn_is_database(path))
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
			result =
			    sn_fail(error, SN_ERR_FORMAT, "%s%s%s", why.text,
				    files->folder_count ? "; folders in it: " : "", files->folders);
	}
	return result;
}

/* ---- from files to a database ---- */

/* Lists for the user the drops that importers have counted, except those that have a message of
 * their own: they say what part of the files is missing in the database. */
static void note_lost(const struct sn_db_builder *builder, struct sn_import_notes *notes)
{
	static const char *const others[] = {"import-unended", "import-summaries",
					     "import-unreadable", "import-packets", "import-cut"};
	const char *cause, *text;
	uint64_t count;
	size_t used = 0;
	for (size_t i = 0; sn_db_builder_drop_at(builder, i, &cause, &text, &count); i++) {
		bool is_told = !sn_text_begins(cause, "import-");
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
			is_told |= !strcmp(cause, others[k]);
		if (!is_told && used < sizeof(notes->lost))
			used +=
			    (size_t)snprintf(notes->lost + used, sizeof(notes->lost) - used,
					     "%s%s (%" PRIu64 ")", used ? "; " : "", text, count);
	}
}

/* An input whose events all lack a valid time, and that has no contexts, is refused: its database
 * would be empty. */
static int check_times(const struct sn_db_builder *builder, const char *path, uint64_t events,
		       struct sn_error *error)
{
	const char *cause, *text;
	uint64_t count;
	if (events || sn_db_builder_context_count(builder) > 1)
		return 0;
	for (size_t i = 0; sn_db_builder_drop_at(builder, i, &cause, &text, &count); i++)
		if (!strcmp(cause, "import-untimed"))
			return sn_fail(error, SN_ERR_FORMAT,
				       "cannot read '%s': none of its %" PRIu64
				       " events has a valid time",
				       path, count);
	return 0;
}

/* Discards what a library prints before it ends the process; the user gets Sonde's own message. */
static int silence(void)
{
	int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nothing >= 0) {
		dup2(nothing, STDERR_FILENO);
		close(nothing);
	}
	return kept;
}

static void speak(int kept)
{
	if (kept < 0)
		return;
	dup2(kept, STDERR_FILENO);
	close(kept);
}

/* The files' size, for progress; 0 (not known) where one of them is a folder. */
static uint64_t total_bytes(const struct sn_import_request *request)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < request->path_count; i++) {
		struct stat status;
		if (stat(request->paths[i], &status) || !S_ISREG(status.st_mode))
			return 0;
		bytes += (uint64_t)status.st_size;
	}
	return bytes;
}

static int read_files(const struct sn_importer *importer, const struct sn_import_request *request,
		      struct sn_db_builder *builder, struct sn_error *error)
{
	int kept = importer->library ? silence() : -1;
	sn_progress_begin("reading", total_bytes(request));
	int result = sn_importer_read(importer, request, builder, error);
	speak(kept);
	if (!result)
		result = check_times(builder, request->paths[0],
				     sn_trace_writer_count(request->events), error);
	if (!result)
		note_lost(builder, request->notes);
	return result;
}

static int import(const struct sn_importer *importer, const struct sn_import_request *request,
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
	int result = read_files(importer, &with_events, builder, error);
	*counts = (struct sn_import_counts){
	    .contexts = sn_db_builder_context_count(builder),
	    .events = sn_trace_writer_count(with_events.events),
	};
	if (counts->events) /* the builder owns the writer from here on */
		sn_trace_writer_attach(with_events.events, builder);
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

/* ---- in a process of its own ---- */

/* What the child process reports. */
struct told {
	int result;
	struct sn_import_counts counts;
	struct sn_import_notes notes;
	struct sn_error error;
};

/* A child that ends early leaves no file: the output gets its name only once it is whole. */
static void run_child(const struct sn_importer *importer, const struct sn_import_request *request,
		      const char *output, struct told *told)
{
	struct sn_import_request own = *request;
	own.notes = &told->notes;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	told->result = import(importer, &own, output, &told->counts, &told->error);
	fflush(NULL);
	_exit(0);
}

static int wait_for(pid_t child, const struct sn_importer *importer, const char *path,
		    struct sn_error *error)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return sn_fail(error, SN_ERR_IO, "cannot wait for a process: %s",
				       strerror(errno));
	if (WIFSIGNALED(status))
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s crashed on it (%s)",
			       path, importer->library, strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status)
		   ? sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s exited on it (status %d)",
			     path, importer->library, WEXITSTATUS(status))
		   : 0;
}

static int import_apart(const struct sn_importer *importer, const struct sn_import_request *request,
			const char *output, struct sn_import_counts *counts, struct sn_error *error)
{
	struct told *told =
	    mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return sn_fail_memory(error);
	fflush(NULL);
	pid_t child = fork();
	if (!child)
		run_child(importer, request, output, told);
	int result = child < 0
			 ? sn_fail(error, SN_ERR_IO, "cannot start a process: %s", strerror(errno))
			 : wait_for(child, importer, request->paths[0], error);
	if (!result) {
		result = told->result;
		*counts = told->counts;
		*request->notes = told->notes;
		*error = told->error;
	}
	munmap(told, sizeof(*told));
	return result;
}

int sn_import(const struct sn_importer *importer, const struct sn_import_request *request,
	      const char *output, struct sn_import_counts *counts, struct sn_error *error)
{
	return (importer->library ? import_apart : import)(importer, request, output, counts,
							   error);
}
