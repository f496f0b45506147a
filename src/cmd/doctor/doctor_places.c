/* SPDX-License-Identifier: Apache-2.0 */
/* Where checks of devices look: folders of libraries, device nodes, and what the kernel tells. With SONDE_DOCTOR_ROOT all of it
 * is below that folder, but for folders that the environment names. */
#include "doctor.h"

#include "base/text.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *sn_doctor_path(char *path, size_t size, const char *below)
{
	const char *root = getenv("SONDE_DOCTOR_ROOT");
	snprintf(path, size, "%s%s", root ? root : "", below);
	return path;
}

/* As the loader does: of those that LD_LIBRARY_PATH names. */
static bool find_library_by_path(const char *name, char *path, size_t size)
{
	const char *folder = getenv("LD_LIBRARY_PATH");
	while (folder && *folder) {
		size_t length = strcspn(folder, ":");
		snprintf(path, size, "%.*s/%s", (int)length, folder, name);
		if (length && access(path, R_OK) == 0)
			return true;
		folder += length + (folder[length] == ':');
	}
	return false;
}

bool sn_find_library(const char *name, char *path, size_t size)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu",
					      "/usr/lib64",
					      "/usr/lib",
					      "/lib64",
					      "/usr/local/lib",
					      "/opt/rocm/lib"};
	if (find_library_by_path(name, path, size))
		return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char below[256];
		snprintf(below, sizeof(below), "%s/%s", folders[i], name);
		if (access(sn_doctor_path(path, size, below), R_OK) == 0)
			return true;
	}
	return false;
}

bool sn_find_first(const char *const *names, char *path, size_t size)
{
	for (; *names; names++)
		if (sn_find_library(*names, path, size))
			return true;
	return false;
}

bool sn_read_first_line(const char *below, char *text, size_t size)
{
	char path[1024];
	FILE *file = fopen(sn_doctor_path(path, sizeof(path), below), "re");
	bool has_line = file && fgets(text, (int)size, file);
	if (file)
		fclose(file);
	if (!has_line)
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	return has_line;
}

bool sn_may_use(const char *path)
{
	return access(path, R_OK | W_OK) == 0;
}

void sn_diagnose_refused(struct sn_diagnosis *diagnosis, const char *name, const char *path)
{
	struct stat status;
	bool is_there = stat(path, &status) == 0;
	struct group *group = is_there ? getgrgid(status.st_gid) : NULL;
	char fix[200];
	/* root's group is no one's to join */
	if (group && status.st_gid && (status.st_mode & 060) == 060) {
		snprintf(fix, sizeof(fix), "sudo usermod -aG %s $USER, and log in again",
			 group->gr_name);
		sn_diagnose(diagnosis, name, SN_VERDICT_NO, fix,
			    "a device (%s) that you may not use; its group is %s", path,
			    group->gr_name);
	} else {
		sn_diagnose(diagnosis, name, SN_VERDICT_NO, NULL,
			    "a device (%s) that you may not use; its mode is %04o", path,
			    is_there ? status.st_mode & 07777 : 0);
	}
}

const char *sn_library_version(const char *path, char *real)
{
	const char *base = sn_text_base_name(realpath(path, real) ? real : path);
	const char *version = strstr(base, ".so.");
	return version ? version + 4 : "of unknown version";
}
