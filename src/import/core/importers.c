/* SPDX-License-Identifier: Apache-2.0 */
/* The list of importers, and which of them an input is for. */
#include "importer.h"

#include "import/sqlite/sqlite_cut.h"

#include "format/database/database.h"
#include "format/measurement/measurement.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SN_IMPORTER(name) extern const struct sn_importer sn_importer_##name;
#include "importers.def"
#undef SN_IMPORTER

const struct sn_importer *const sn_importers[] = {
#define SN_IMPORTER(name) &sn_importer_##name,
#include "importers.def"
#undef SN_IMPORTER
    NULL};

static const struct sn_importer *find(const char *name)
{
	for (int i = 0; sn_importers[i]; i++)
		if (strcmp(sn_importers[i]->name, name) == 0)
			return sn_importers[i];
	return NULL;
}

/* The share of the inputs' size that events may use before they are spilled. Two sorters hold
 * events, the sink's for one file and the writer's for the database. */
#define EVENT_MEMORY_SHARE 32
#define EVENT_MEMORY_MIN   ((uint64_t)2 << 20)
#define EVENT_MEMORY_MAX   ((uint64_t)64 << 20)

int sn_importer_read(const struct sn_importer *importer, const struct sn_import_request *request,
		     struct sn_db_builder *builder, struct sn_error *error)
{
	int result = importer->read(request, builder, error);
	/* an importer that fails without a text has a defect; fuzzers call read() directly and stop
	 * there */
	if (result && !*error->text)
		sn_fail(error, result, "cannot read '%s': it is damaged", request->paths[0]);
	return result;
}

size_t sn_import_event_memory(const char *const *paths, size_t count)
{
	uint64_t bytes = 0;
	struct stat status;
	for (size_t i = 0; i < count; i++)
		if (!stat(paths[i], &status))
			bytes += S_ISREG(status.st_mode) ? (uint64_t)status.st_size
							 : EVENT_MEMORY_SHARE * EVENT_MEMORY_MAX;
	bytes /= EVENT_MEMORY_SHARE;
	if (bytes < EVENT_MEMORY_MIN)
		return EVENT_MEMORY_MIN;
	return bytes < EVENT_MEMORY_MAX ? bytes : EVENT_MEMORY_MAX;
}

static size_t read_head(int fd, unsigned char *head)
{
	size_t used = 0;
	while (used < SN_IMPORT_HEAD_BYTES) {
		ssize_t got = pread(fd, head + used, SN_IMPORT_HEAD_BYTES - used, (off_t)used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	return used;
}

/* Fills in what is known of an input; `head` has SN_IMPORT_HEAD_BYTES. 0 or SN_ERR_IO. */
static int look(const char *path, unsigned char *head, struct sn_import_input *input,
		struct sn_error *error)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0) {
		int reason = errno;
		if (fd >= 0)
			close(fd);
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(reason));
	}
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		close(fd);
		return sn_fail(error, SN_ERR_IO, "cannot read '%s': not a file or folder", path);
	}
	*input = (struct sn_import_input){path, S_ISDIR(status.st_mode), head, 0};
	if (S_ISREG(status.st_mode))
		input->head_bytes = read_head(fd, head);
	close(fd);
	return 0;
}

bool sn_importer_accepts(const struct sn_importer *importer, const char *path)
{
	unsigned char head[SN_IMPORT_HEAD_BYTES];
	struct sn_import_input input;
	return look(path, head, &input, NULL) == 0 && importer->probe(&input);
}

static void list_names(char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (int i = 0; sn_importers[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 sn_importers[i]->name);
}

/* The message for an input that Sonde wrote itself, with the command that reads it; NULL for any
 * other input. */
static const char *own_format(const struct sn_import_input *input)
{
	static const char suffix[] = ".sonde";
	size_t length = strlen(input->path);
	while (length > 1 && input->path[length - 1] == '/')
		length--;
	if (input->is_folder)
		return length >= strlen(suffix) && memcmp(input->path + length - strlen(suffix),
							  suffix, strlen(suffix)) == 0
			   ? "a measurement of Sonde's own: 'sonde analyze' makes a database of it"
			   : NULL;
	if (input->head_bytes < 8)
		return NULL;
	if (memcmp(input->head, SN_DATABASE_MAGIC, 8) == 0)
		return "a Sonde database already: 'sonde report' reads it";
	if (memcmp(input->head, SN_MEASUREMENT_MAGIC, 8) == 0)
		return "a measurement of Sonde's own: 'sonde analyze' makes a database of it";
	return NULL;
}

/* Whether a file is part of an HPCToolkit folder: in that folder itself, or one level deeper. */
static bool is_in_hpctoolkit(const char *path, char folder[PATH_MAX])
{
	if (snprintf(folder, PATH_MAX, "%s", path) >= PATH_MAX)
		return false;
	for (unsigned level = 0; level < 2; level++) {
		char *slash = strrchr(folder, '/');
		if (slash)
			*slash = '\0';
		else
			snprintf(folder, PATH_MAX, "%s", level == 0 ? "." : "..");
		if (sn_importer_accepts(find("hpctoolkit"), folder))
			return true;
	}
	return false;
}

/* The message for an SQLite file that no importer accepts: it is truncated, so that its tables
 * cannot be recognised, or another program wrote it. */
static void refuse_sqlite(const char *path, struct sn_error *error)
{
	uint64_t bytes, expected;
	if (sn_sqlite_is_cut(path, &bytes, &expected))
		sn_fail(error, SN_ERR_FORMAT,
			"cannot import '%s': it is truncated: %" PRIu64 " of %" PRIu64
			" bytes are there",
			path, bytes, expected);
	else
		sn_fail(error, SN_ERR_FORMAT,
			"cannot import '%s': not of a known format: an SQLite file, but of neither "
			"Nsight Systems nor rocprofv3",
			path);
}

static const struct sn_importer *recognise(const char *path, struct sn_error *error)
{
	unsigned char head[SN_IMPORT_HEAD_BYTES];
	struct sn_import_input input;
	if (look(path, head, &input, error) != 0)
		return NULL;
	for (int i = 0; sn_importers[i]; i++)
		if (sn_importers[i]->probe(&input))
			return sn_importers[i];
	if (sn_sqlite_is_begin(input.head, input.head_bytes)) {
		refuse_sqlite(path, error);
		return NULL;
	}
	const char *own = own_format(&input);
	if (own) {
		sn_fail(error, SN_ERR_FORMAT, "cannot import '%s': %s", path, own);
		return NULL;
	}
	char folder[PATH_MAX];
	if (!input.is_folder && is_in_hpctoolkit(path, folder)) {
		sn_fail(error, SN_ERR_FORMAT,
			"cannot import '%s': it is part of the HPCToolkit folder '%s': import that "
			"folder",
			path, folder);
		return NULL;
	}
	char names[256];
	list_names(names, sizeof(names));
	sn_fail(error, SN_ERR_FORMAT, "cannot import '%s': %s of a known format (%s)", path,
		input.is_folder ? "nothing in that folder is" : "not", names);
	return NULL;
}

/* Whether `second` also reads files that `first` recognises, so that both may be given together. */
static bool goes_along(const struct sn_importer *first, const struct sn_importer *second)
{
	return first == find("execution_trace") && second == find("kineto");
}

const struct sn_importer *sn_importer_recognise(const char *const *paths, size_t count,
						struct sn_error *error)
{
	const struct sn_importer *found = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct sn_importer *importer = recognise(paths[i], error);
		if (!importer)
			return NULL;
		/* an execution trace is read together with a profile of the same program */
		if (found && goes_along(importer, found))
			continue;
		if (found && importer != found && !goes_along(found, importer)) {
			sn_fail(
			    error, SN_ERR_ARGUMENT,
			    "'%s' is of format %s but '%s' is of format %s: import them separately",
			    paths[0], found->name, paths[i], importer->name);
			return NULL;
		}
		found = importer;
	}
	return found;
}
