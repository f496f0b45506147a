// SPDX-License-Identifier: Apache-2.0
/*
 * A disk that fails at a chosen moment: preloaded, it counts the calls that change files below a
 * folder, or read back what was put there, and lets one of them fail, or kills the process there.
 * What it is told, by environment:
 *
 *   FAIL_BELOW   the folder; calls for other files do not count
 *   FAIL_AT      the number of the call, from 1; without it nothing fails
 *   FAIL_WITH    the errno (28 is a full disk), or "kill"; 0 is the end of a file that is read
 *   FAIL_LENGTH  only calls of pwrite for as many bytes count
 *   FAIL_RANK    only in this rank of an Open MPI job
 *   FAIL_LOG     a file that gets one line for each call: its name, and the file it was for
 *   FAIL_PLAIN   files without a name cannot be made, as on NFS
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;

/* Whether this call fails; errno says why. */
static bool fails(const char *call, const char *path)
{
	const char *below = getenv("FAIL_BELOW"), *at = getenv("FAIL_AT"),
		   *with = getenv("FAIL_WITH"), *log = getenv("FAIL_LOG"),
		   *rank = getenv("FAIL_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK");
	if (!below || strncmp(path, below, strlen(below)) != 0 ||
	    (getenv("FAIL_LENGTH") && strcmp(call, "pwrite") != 0) ||
	    (rank && (!own || strcmp(rank, own) != 0)))
		return false;
	long number = atomic_fetch_add(&calls, 1) + 1;
	if (log) {
		char line[PATH_MAX + 64];
		int length = snprintf(line, sizeof(line), "%s %s\n", call, path);
		int fd = (int)syscall(SYS_open, log, O_WRONLY | O_APPEND | O_CREAT, 0666);
		syscall(SYS_write, fd, line, length);
		syscall(SYS_close, fd);
	}
	if (!at || !with || atol(at) != number)
		return false;
	if (strcmp(with, "kill") == 0)
		raise(SIGKILL);
	errno = atoi(with);
	return true;
}

/* The path of what is open as `fd`, and behind it `name`. */
static void path_of(int fd, const char *name, char path[PATH_MAX])
{
	char link[64];
	int error = errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, PATH_MAX - 1);
	length = length > 0 ? length : 0;
	snprintf(path + length, (size_t)(PATH_MAX - length), "%s", name);
	errno = error;
}

static bool fails_at(const char *call, int fd)
{
	char path[PATH_MAX];
	path_of(fd, "", path);
	return fails(call, path);
}

/* Of a name in a folder that is open, which may be a path by a descriptor itself. */
static bool fails_in(const char *call, int folder, const char *name)
{
	char path[PATH_MAX], inside[PATH_MAX];
	int fd, length;
	if (sscanf(name, "/proc/self/fd/%d%n", &fd, &length) == 1) {
		path_of(fd, name + length, path);
	} else if (*name == '/' || folder == AT_FDCWD) {
		return fails(call, name);
	} else {
		snprintf(inside, sizeof(inside), "/%s", name);
		path_of(folder, inside, path);
	}
	return fails(call, path);
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t length)
{
	return fails_at("write", fd) ? -1 : syscall(SYS_write, fd, bytes, length);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
	const char *only = getenv("FAIL_LENGTH");
	bool counts = !only || strtoul(only, NULL, 10) == length;
	return counts && fails_at("pwrite", fd) ? -1
						: syscall(SYS_pwrite64, fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
	return pwrite(fd, bytes, length, offset);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset)
{
	if (fails_at("pread", fd))
		return errno ? -1 : 0;
	return syscall(SYS_pread64, fd, bytes, length, offset);
}

ssize_t pread64(int fd, void *bytes, size_t length, off_t offset)
{
	return pread(fd, bytes, length, offset);
}

int ftruncate(int fd, off_t length)
{
	return fails_at("ftruncate", fd) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}

int ftruncate64(int fd, off_t length)
{
	return ftruncate(fd, length);
}

int fsync(int fd)
{
	return fails_at("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* The descriptor is gone even so, as it is where NFS tells of a full disk at last. */
int close(int fd)
{
	bool failed = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY && fails_at("close", fd);
	int error = errno, result = (int)syscall(SYS_close, fd);
	errno = failed ? error : errno;
	return failed ? -1 : result;
}

int rename(const char *from, const char *to)
{
	return fails("rename", to) ? -1 : (int)syscall(SYS_rename, from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	return fails_in("rename", to_folder, to)
		   ? -1
		   : (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
	return fails_in("linkat", to, name) ? -1
					    : (int)syscall(SYS_linkat, from, path, to, name, flags);
}

int mkdirat(int folder, const char *path, mode_t mode)
{
	return fails_in("mkdir", folder, path) ? -1 : (int)syscall(SYS_mkdirat, folder, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

static int open_in(int folder, const char *path, int flags, mode_t mode)
{
	if ((flags & O_TMPFILE) == O_TMPFILE && getenv("FAIL_PLAIN")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY) | O_WRONLY | O_RDWR) &&
	    fails_in("open", folder, path))
		return -1;
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE(flags, mode)                                                                          \
	va_list arguments;                                                                         \
	va_start(arguments, flags);                                                                \
	mode_t mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;             \
	va_end(arguments)

int open(const char *path, int flags, ...)
{
	MODE(flags, mode);
	return open_in(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	MODE(flags, mode);
	return open_in(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	MODE(flags, mode);
	return open_in(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
	MODE(flags, mode);
	return open_in(folder, path, flags, mode);
}

int mkostemp64(char *name, int flags)
{
	return fails("mkostemp", name) ? -1 : NEXT(mkostemp64)(name, flags);
}

int mkostemp(char *name, int flags)
{
	return fails("mkostemp", name) ? -1 : NEXT(mkostemp)(name, flags);
}
