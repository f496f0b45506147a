/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of what programs run on: Python, PyTorch, JAX and MPI; see doctor.h. Packages are found by their files:
 * importing them would take seconds and run their code.
 */
#include "doctor.h"

#include "base/text.h"

#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_INTERPRETERS = 24, MAX_PATH_CHARS = 2048 };

struct interpreter {
	char path[MAX_PATH_CHARS]; /* as found on PATH */
	char real[MAX_PATH_CHARS];
	int major, minor;
};

struct interpreters {
	struct interpreter items[MAX_INTERPRETERS];
	size_t count;
};

static bool is_elf(const char *path)
{
	char magic[4] = "";
	FILE *file = fopen(path, "re");
	bool is_one = file && fread(magic, 1, 4, file) == 4 && memcmp(magic, "\177ELF", 4) == 0;
	if (file)
		fclose(file);
	return is_one;
}

static bool is_python_name(const char *name)
{
	return sn_text_begins(name, "python") && !name[6 + strspn(name + 6, "0123456789.")];
}

/* The version from the real file's name, or from the interpreter itself. */
static bool find_version(struct interpreter *interpreter)
{
	const char *base = sn_text_base_name(interpreter->real);
	int *major = &interpreter->major, *minor = &interpreter->minor;
	if (sscanf(base, "python%d.%d", major, minor) == 2)
		return true;
	char command[MAX_PATH_CHARS + 32], line[128] = "";
	if (strchr(interpreter->real, '\''))
		return false;
	snprintf(command, sizeof(command), "'%s' --version 2>&1", interpreter->real);
	FILE *pipe = popen(command, "re");
	bool has_line = pipe && fgets(line, sizeof(line), pipe);
	if (pipe)
		pclose(pipe);
	return has_line && sscanf(line, "Python %d.%d", major, minor) == 2;
}

static void add_interpreter(struct interpreters *list, const char *path)
{
	struct interpreter found = {0};
	char real[PATH_MAX];
	if (list->count == MAX_INTERPRETERS || access(path, X_OK) != 0 || !realpath(path, real) ||
	    !is_elf(real))
		return;
	snprintf(found.path, sizeof(found.path), "%.2000s", path);
	snprintf(found.real, sizeof(found.real), "%.2000s", real);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].real, found.real) == 0)
			return;
	if (find_version(&found))
		list->items[list->count++] = found;
}

/* Not glob(3): a folder's name may hold what is a pattern there. */
static int wants_name(const struct dirent *entry)
{
	return is_python_name(entry->d_name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void find_interpreters(struct interpreters *list)
{
	const char *path = getenv("PATH");
	while (path && *path) {
		char folder[1024], file[1400];
		size_t length = strcspn(path, ":");
		snprintf(folder, sizeof(folder), "%.*s", (int)length, path);
		struct dirent **entries = NULL;
		int count = length > 0 ? scandir(folder, &entries, wants_name, by_name) : 0;
		for (int i = 0; i < count; i++) {
			snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
			add_interpreter(list, file);
			free(entries[i]);
		}
		free(entries);
		path += length + (path[length] == ':');
	}
}

static void check_interpreters(struct sn_diagnosis *diagnosis, const struct interpreters *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct interpreter *one = &list->items[i];
		char name[64];
		bool is_known = one->major == 3 && one->minor >= 9 && one->minor <= 14;
		snprintf(name, sizeof(name), "Python %d.%d", one->major, one->minor);
		sn_diagnose(diagnosis, name, sn_verdict_of(is_known), NULL,
			    is_known ? "%s"
				     : "%s: its frames are not known, 3.9 to 3.14 are; it shows as "
				       "C functions",
			    one->path);
	}
	if (list->count == 0)
		sn_diagnose(diagnosis, "interpreter", SN_VERDICT_NO, NULL, "none on PATH");
}

/* A Python package that is found by a file. */
struct package {
	const char *name, *file;
	const char *key; /* what the version stands behind, in quotes */
	const char *fix; /* installs it */
	void (*check)(struct sn_diagnosis *, const char *version, const char *path);
};

static void check_torch(struct sn_diagnosis *diagnosis, const char *version, const char *path)
{
	char name[96];
	int major = 0, minor = 0;
	snprintf(name, sizeof(name), "PyTorch %s", version);
	sscanf(version, "%d.%d", &major, &minor);
	bool is_known = major > 1 || (major == 1 && minor >= 13);
	sn_diagnose(diagnosis, name, sn_verdict_of(is_known), NULL,
		    is_known ? "%s" : "%s: older than 1.13, the first that is tested", path);
}

static void check_jax(struct sn_diagnosis *diagnosis, const char *version, const char *path)
{
	char name[96], folder[MAX_PATH_CHARS];
	snprintf(name, sizeof(name), "JAX %s", version);
	snprintf(folder, sizeof(folder), "%.*s", (int)(sn_text_base_name(path) - path), path);
	sn_diagnose_jax(diagnosis, name, path, folder);
}

static const struct package packages[] = {
    {"PyTorch", "torch/version.py", "__version__", "pip install torch", check_torch},
    {"JAX", "jaxlib/version.py", "_version = ", "pip install jax", check_jax},
};

/* The version in a package's version.py, or "". */
static void read_package_version(const char *path, const char *key, char *version, size_t size)
{
	char line[512];
	FILE *file = fopen(path, "re");
	version[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, key);
		at = at ? strpbrk(at, "'\"") : NULL;
		if (!at)
			continue;
		at[1 + strcspn(at + 1, "'\"")] = '\0';
		snprintf(version, size, "%s", at + 1);
		break;
	}
	if (file)
		fclose(file);
}

/* What a pattern finds, but for files that were found before; whether it finds any. */
static bool check_package_at(struct sn_diagnosis *diagnosis, const struct package *package,
			     const char *pattern)
{
	glob_t files = {0};
	bool has_any = false;
	glob(pattern, 0, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *path = files.gl_pathv[i];
		char version[64];
		bool is_seen = false;
		for (size_t j = 0; j < diagnosis->count; j++)
			is_seen |= sn_text_begins(diagnosis->checks[j].text, path);
		read_package_version(path, package->key, version, sizeof(version));
		if (is_seen || !*version)
			continue;
		has_any = true;
		package->check(diagnosis, version, path);
	}
	globfree(&files);
	return has_any;
}

static bool check_package_below(struct sn_diagnosis *diagnosis, const struct package *package,
				const char *prefix, size_t length, const char *folder)
{
	char pattern[2 * MAX_PATH_CHARS];
	snprintf(pattern, sizeof(pattern), "%.*s/lib/python3.*/%s/%s",
		 (int)(length < 2000 ? length : 2000), prefix, folder, package->file);
	return check_package_at(diagnosis, package, pattern);
}

static void check_package(struct sn_diagnosis *diagnosis, const struct package *package,
			  const struct interpreters *list)
{
	const char *home = getenv("HOME"), *environment = getenv("VIRTUAL_ENV");
	char pattern[2048], local[2048];
	snprintf(pattern, sizeof(pattern), "/usr/lib/python3/dist-packages/%s", package->file);
	bool has_any = check_package_at(diagnosis, package, pattern);
	for (size_t i = 0; i < 2 * list->count; i++) {
		/* of the link of a virtual environment, and of its target */
		const struct interpreter *one = list->items + i / 2;
		const char *path = i % 2 ? one->real : one->path;
		const char *bin = strstr(path, "/bin/python");
		if (bin)
			has_any |= check_package_below(diagnosis, package, path,
						       (size_t)(bin - path), "*-packages");
	}
	if (environment)
		has_any |=
		    check_package_below(diagnosis, package, environment, SIZE_MAX, "site-packages");
	snprintf(local, sizeof(local), "%.1990s/.local", home ? home : "");
	if (home)
		has_any |=
		    check_package_below(diagnosis, package, local, SIZE_MAX, "site-packages");
	if (!has_any)
		sn_diagnose(diagnosis, package->name, SN_VERDICT_NO, package->fix,
			    "not installed for an interpreter on PATH; "
			    "needed only to measure its programs");
}

void sn_diagnose_python(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "Python";
	struct interpreters *list = calloc(1, sizeof(*list));
	if (!list)
		return;
	find_interpreters(list);
	check_interpreters(diagnosis, list);
	for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
		check_package(diagnosis, &packages[i], list);
	free(list);
}

void sn_diagnose_ranks(struct sn_diagnosis *diagnosis)
{
	/* Debian, and who builds it himself; Open MPI 3 to 5 */
	static const char *const names[] = {"libmpich.so.12", "libmpi.so.12", "libmpi.so.40"};
	char library[512], all[1024] = "";
	diagnosis->group = "Ranks";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t used = strlen(all);
		if (sn_find_library(names[i], library, sizeof(library)))
			snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", library);
	}
	if (*all)
		sn_diagnose(diagnosis, "MPI", SN_VERDICT_OK, NULL, "%s", all);
	else if (sn_find_library("libmpi_abi.so.0", library, sizeof(library)))
		sn_diagnose(diagnosis, "MPI", SN_VERDICT_LIMITED, NULL,
			    "%s; of programs that are linked with this one calls are measured, "
			    "and no messages",
			    library);
	else
		sn_diagnose(diagnosis, "MPI", SN_VERDICT_NO, NULL,
			    "neither MPICH (or what has its interface) nor Open MPI where the "
			    "loader looks");
}
