/* SPDX-License-Identifier: Apache-2.0 */
/* Opening source files below allowed folders only; see source_roots.h. */
#include "source_roots.h"

#include "base/safe_path.h"
#include "base/text.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_LEVELS 64

/* ---- folders ---- */

void sn_source_roots_release(struct sn_source_roots *roots)
{
	for (size_t i = 0; i < roots->count; i++) {
		close(roots->roots[i].fd);
		free(roots->roots[i].path);
	}
	free(roots->roots);
	free(roots->first_outside);
	*roots = (struct sn_source_roots){0};
}

/* `path` is from malloc, without links, and becomes the list's. 0 or an errno. */
static int add(struct sn_source_roots *roots, char *path)
{
	char *with_slash = NULL;
	int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, why = errno;
	if (fd >= 0 && (asprintf(&with_slash, "%s%s", path, path[1] ? "/" : "") < 0 ||
			sn_vec_reserve(&roots->roots, &roots->capacity, roots->count + 1) < 0)) {
		close(fd);
		fd = -1;
		why = ENOMEM;
	}
	free(path);
	if (fd < 0) {
		free(with_slash);
		return why;
	}
	roots->roots[roots->count++] = (struct sn_source_root){fd, with_slash};
	return 0;
}

int sn_source_roots_add(struct sn_source_roots *roots, const char *folder, struct sn_error *error)
{
	int why = add(roots, realpath(folder, NULL));
	return why == ENOMEM ? sn_fail_memory(error)
	       : why ? sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(why))
		     : 0;
}

void sn_source_roots_add_list(struct sn_source_roots *roots, const char *folders)
{
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");
		char *folder = strndup(folders, length);
		if (folder && *folder == '/')
			add(roots, realpath(folder, NULL));
		free(folder);
		folders += length + (folders[length] == ':');
	}
}

/* Whether the top of a git tree is there and the user's own: another user's tree above it does not
 * count. */
static bool is_git_top(const char *path)
{
	struct stat top, git;
	char inside[PATH_MAX];
	return snprintf(inside, sizeof(inside), "%s/.git", path) < (int)sizeof(inside) &&
	       !lstat(path, &top) && !lstat(inside, &git) && sn_path_is_own(&top) &&
	       sn_path_is_own(&git) && !S_ISLNK(git.st_mode);
}

void sn_source_roots_add_working_tree(struct sn_source_roots *roots)
{
	char *path = getcwd(NULL, 0);
	const char *home = getenv("HOME");
	if (!path || *path != '/' || !path[1]) {
		free(path);
		return;
	}
	add(roots, strdup(path));
	for (char *slash; (slash = strrchr(path, '/')) > path; *slash = 0) {
		/* a home folder may be in git for its settings: it is no source tree */
		bool is_home = home && !strcmp(path, home);
		if (is_home || !is_git_top(path))
			continue;
		add(roots, path);
		return;
	}
	free(path);
}

/* ---- files ---- */

static bool has_source_ending(const char *name)
{
	static const char *const endings[] = {
	    "py",    "pyx",   "pxd",  "pyi",  "ipynb", "c",   "cc",   "cpp",  "cxx",  "c++",
	    "h",     "hh",    "hpp",  "hxx",  "h++",   "inl", "inc",  "ipp",  "tpp",  "tcc",
	    "def",   "cu",    "cuh",  "hip",  "cl",    "ocl", "m",    "mm",   "go",   "rs",
	    "f",     "for",   "f77",  "f90",  "f95",   "f03", "f08",  "ftn",  "java", "kt",
	    "scala", "js",    "mjs",  "cjs",  "jsx",   "ts",  "tsx",  "jl",   "lua",  "r",
	    "rb",    "pl",    "pm",   "php",  "swift", "d",   "nim",  "zig",  "v",    "sv",
	    "vhd",   "s",     "asm",  "cs",   "fs",    "vb",  "hs",   "ml",   "mli",  "ex",
	    "exs",   "erl",   "clj",  "lisp", "el",    "scm", "sh",   "bash", "tcl",  "mojo",
	    "sycl",  "ispc",  "y",    "l",    "yy",    "ll",  "ada",  "adb",  "ads",  "pas",
	    "cob",   "metal", "comp", "glsl", "dart",  "cr",  "chpl", "upc",  "cppm",
	};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcasecmp(dot + 1, endings[i]))
			return true;
	return false;
}

/* A program without an ending begins by naming its interpreter. */
static bool is_script(int fd)
{
	char start[2];
	return pread(fd, start, sizeof(start), 0) == sizeof(start) && !memcmp(start, "#!", 2);
}

static bool can_be_source(int fd, const char *path)
{
	const char *base = sn_text_base_name(path);
	return has_source_ending(base) || (!strchr(base, '.') && is_script(fd));
}

/* Keys, settings and what else programs keep for themselves lie in such. */
static bool has_hidden_part(const char *path)
{
	return *path == '.' || strstr(path, "/.");
}

/* One component at a time, for kernels without openat2 and where a sandbox forbids it. */
static int walk_beneath(int folder, const char *path, int flags)
{
	int at = dup(folder);
	for (;;) {
		char name[NAME_MAX + 1];
		size_t length = strcspn(path, "/");
		bool is_last = !path[length];
		if (at < 0 || !length || length > NAME_MAX)
			break;
		memcpy(name, path, length);
		name[length] = 0;
		if (!strcmp(name, ".") || !strcmp(name, ".."))
			break;
		int next = openat(
		    at, name, O_NOFOLLOW | O_CLOEXEC | (is_last ? flags : O_PATH | O_DIRECTORY));
		close(at);
		if (is_last)
			return next;
		at = next;
		path += length + 1;
	}
	if (at >= 0)
		close(at);
	return -1;
}

/* The path is without links as far as that was looked at: one that is there now was put there. */
static int open_beneath(int folder, const char *path, int flags)
{
	struct open_how how = {
	    .flags = (uint64_t)flags | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
		return walk_beneath(folder, path, flags);
	return fd;
}

static bool may(uid_t user, const struct stat *status, mode_t own, mode_t others)
{
	return status->st_mode & (status->st_uid == user ? own : others);
}

/* Whether a user, of whose groups nothing is known, can come to a folder from the root of all. */
static bool can_enter(uid_t user, int folder)
{
	bool can = true, is_root = false;
	int at = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (unsigned level = 0; can && !is_root; level++) {
		struct stat status, above;
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		can = level < MOST_LEVELS && up >= 0 && !fstat(at, &status) && !fstat(up, &above) &&
		      may(user, &status, S_IXUSR, S_IXOTH);
		is_root = can && status.st_ino == above.st_ino && status.st_dev == above.st_dev;
		close(at);
		at = up;
	}
	if (at >= 0)
		close(at);
	return can;
}

/* Whether the owner of the database could read the file himself. */
static bool owner_can_read(uid_t owner, int root, const char *path, const struct stat *status)
{
	if (owner == geteuid() || owner == 0)
		return true; /* we could, or he could read everything */
	if (!may(owner, status, S_IRUSR, S_IROTH))
		return false;
	const char *base = sn_text_base_name(path);
	char *folder = strndup(path, base > path ? (size_t)(base - path) - 1 : 0);
	int fd = folder && *folder ? open_beneath(root, folder, O_PATH | O_DIRECTORY) : dup(root);
	bool can = folder && fd >= 0 && can_enter(owner, fd);
	if (fd >= 0)
		close(fd);
	free(folder);
	return can;
}

/* `path` lies below the root, without links. */
static int open_source(const struct sn_source_root *root, const char *path, uid_t owner,
		       struct stat *status)
{
	if (has_hidden_part(path))
		return -1;
	int fd = open_beneath(root->fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (!fstat(fd, status) && S_ISREG(status->st_mode) &&
	    owner_can_read(owner, root->fd, path, status) && can_be_source(fd, path))
		return fd;
	close(fd);
	return -1;
}

static void note_outside(struct sn_source_roots *roots, const char *path)
{
	/* what would not be shown in any case is not missed */
	if (!has_source_ending(sn_text_base_name(path)) || has_hidden_part(path + 1))
		return;
	if (!roots->outside_count++)
		roots->first_outside = strdup(path);
}

int sn_source_roots_open(struct sn_source_roots *roots, const char *path, uid_t owner,
			 size_t *bytes, uint64_t *changed_ns)
{
	struct stat status;
	char *real = roots && *path == '/' ? realpath(path, NULL) : NULL;
	int fd = -1;
	bool is_inside = false;
	for (size_t i = 0; real && i < roots->count && fd < 0; i++) {
		size_t length = strlen(roots->roots[i].path);
		if (strncmp(real, roots->roots[i].path, length) != 0)
			continue;
		is_inside = true;
		fd = open_source(&roots->roots[i], real + length, owner, &status);
	}
	if (real && !is_inside)
		note_outside(roots, real);
	free(real);
	if (fd >= 0) {
		*bytes = (size_t)status.st_size;
		*changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u +
			      (uint64_t)status.st_mtim.tv_nsec;
	}
	return fd;
}
