/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of JAX and TensorFlow; see frameworks.h. */
#include "frameworks.h"

#include "cmd/command.h"

#include "base/text.h"
#include "format/measurement/measurement.h"
#include "import/xplane/xplane_graphs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOOK "xla-hook"

/* frameworks.py, as a C array by show/page/embed.py */
extern const char sn_frameworks_python[];

bool sn_frameworks_owns(const char *name)
{
	return !strncmp(name, "xla-", 4) &&
	       (!strcmp(name, HOOK) || (name[4] && !name[4 + strspn(name + 4, "0123456789")]));
}

/* The ranks of one run write the same, and each finds it whole. */
static int write_hook(const struct sn_launch_request *launch, struct sn_error *error)
{
	char name[NAME_MAX + 1];
	mode_t folder_mode = launch->is_shared ? 0777 : 0700;
	int at = -1, fd = -1;
	if (!mkdirat(launch->directory, HOOK, folder_mode) || errno == EEXIST)
		at = openat(launch->directory, HOOK,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at >= 0 && sn_path_make_name(name, "new-"))
		fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    launch->is_shared ? 0666 : 0600);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool is_written = file && fputs(sn_frameworks_python, file) >= 0;
	is_written &= file && !fclose(file);
	is_written = is_written && !renameat(at, name, at, "sitecustomize.py");
	int result = is_written ? 0
				: sn_fail(error, SN_ERR_IO,
					  "cannot write '" HOOK "' into the measurement: %s",
					  strerror(errno));
	if (at >= 0)
		close(at);
	return result;
}

int sn_frameworks_begin(const struct sn_launch_request *launch, struct sn_error *error)
{
	const char *before = getenv("PYTHONPATH"), *folder = launch->folder;
	if (!sn_path_is_guarded(folder)) {
		sn_command_warn("graphs of JAX and TensorFlow are not captured: others can change "
				"what '%s' leads to, and so what Python would run",
				folder);
		return 0;
	}
	int result = write_hook(launch, error);
	if (result)
		return result;
	char *path;
	if (asprintf(&path, "%s/" HOOK "%s%s", folder, before && *before ? ":" : "",
		     before ? before : "") < 0)
		return sn_fail_memory(error);
	bool failed = setenv("PYTHONPATH", path, 1) || setenv("SONDE_FRAMEWORKS", folder, 1);
	free(path);
	return failed ? sn_fail_memory(error) : 0;
}

void sn_frameworks_end(const struct sn_launch_request *launch)
{
	sn_path_remove_tree(launch->directory, HOOK);
}

/* The profiles of one process, in its folder of the measurement. */
static int extend_by_process(struct sn_db_builder *builder, const char *folder, const char *name,
			     struct sn_error *error)
{
	static const char *const frameworks[] = {"jax", "tensorflow"};
	for (int i = 0; i < 2; i++) {
		char path[4096];
		if (snprintf(path, sizeof(path), "%s/%s/%s", folder, name, frameworks[i]) >=
		    (int)sizeof(path))
			continue;
		int result = sn_xplane_add_graphs(path, builder, error);
		if (result == SN_ERR_MEMORY)
			return result;
		if (result)
			sn_db_builder_drop(builder, "graph-unread",
					   "profiles of JAX or TensorFlow that could not be read",
					   1);
	}
	return 0;
}

static int is_process(const struct dirent *entry)
{
	return sn_frameworks_owns(entry->d_name) && strcmp(entry->d_name, HOOK) != 0;
}

static int is_programs(const struct dirent *entry)
{
	return sn_text_ends(entry->d_name, SN_PROGRAMS_FILE_SUFFIX) ||
	       sn_text_ends(entry->d_name, SN_HLO_FILE_SUFFIX);
}

/* The programs of one process, in a file HOST-PID-NUMBER. */
static int extend_by_programs(struct sn_db_builder *builder, const char *folder, const char *name,
			      struct sn_error *error)
{
	char path[4096], profile[4096], host[NAME_MAX + 1];
	struct stat status;
	bool is_hlo = sn_text_ends(name, SN_HLO_FILE_SUFFIX);
	const char *suffix = is_hlo ? SN_HLO_FILE_SUFFIX : SN_PROGRAMS_FILE_SUFFIX;
	snprintf(host, sizeof(host), "%.*s", (int)(strlen(name) - strlen(suffix)), name);
	struct sn_xplane_programs_file file = {
	    .path = path, .host = host, .pid = -1, .is_hlo = is_hlo};
	for (int i = 0; i < 2; i++) { /* off with the number, then with the pid */
		char *dash = strrchr(host, '-');
		if (!dash)
			return 0;
		*dash = 0;
		file.pid = strtol(dash + 1, NULL, 10);
	}
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path) ||
	    snprintf(profile, sizeof(profile), "%s/xla-%lld/jax", folder, (long long)file.pid) >=
		(int)sizeof(profile))
		return 0;
	file.has_profile = !stat(profile, &status);
	int result = sn_xplane_add_programs(&file, builder, error);
	if (result && result != SN_ERR_MEMORY) {
		sn_db_builder_drop(builder, "graph-unread",
				   "profiles of JAX or TensorFlow that could not be read", 1);
		result = 0;
	}
	return result;
}

typedef int extend_by(struct sn_db_builder *builder, const char *folder, const char *name,
		      struct sn_error *error);

/* Each entry of a folder that is of a kind, by name. */
static int extend_by_each(struct sn_db_builder *builder, const char *folder,
			  int (*is_wanted)(const struct dirent *), extend_by *extend,
			  struct sn_error *error)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_wanted, alphasort), result = 0;
	for (int k = 0; k < count; k++) {
		if (!result)
			result = extend(builder, folder, entries[k]->d_name, error);
		free(entries[k]);
	}
	if (count >= 0)
		free(entries);
	return result;
}

int sn_frameworks_extend(void *context, struct sn_db_builder *builder, struct sn_error *error)
{
	const struct sn_frameworks *frameworks = context;
	int result = 0;
	for (size_t i = 0; i < frameworks->count && !result; i++) {
		const char *folder = frameworks->folders[i];
		result = extend_by_each(builder, folder, is_process, extend_by_process, error);
		if (!result)
			result =
			    extend_by_each(builder, folder, is_programs, extend_by_programs, error);
	}
	return result;
}
