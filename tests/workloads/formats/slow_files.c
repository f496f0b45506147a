/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: a slow disk. The first open of a file whose path ends with SLOW_OPEN, and each read of
 * one that ends with SLOW_READ, take SLOW_MS.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int ends(const char *path, const char *setting)
{
	const char *ending = getenv(setting);
	size_t length = strlen(path), wanted = ending ? strlen(ending) : 0;
	return wanted && length >= wanted && !strcmp(path + length - wanted, ending);
}

static void wait_long(void)
{
	long ms = atol(getenv("SLOW_MS"));
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void opened(const char *path)
{
	static int is_done;
	if (!is_done && ends(path, "SLOW_OPEN")) {
		is_done = 1;
		wait_long();
	}
}

static int open_at(int folder, const char *path, int flags, va_list more)
{
	int (*really)(int, const char *, int, ...) =
	    (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
	mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
	opened(path);
	return really(folder, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	int fd = open_at(AT_FDCWD, path, flags, more);
	va_end(more);
	return fd;
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	int fd = open_at(folder, path, flags, more);
	va_end(more);
	return fd;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

ssize_t read(int fd, void *bytes, size_t length)
{
	char link[32], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t used = readlink(link, path, sizeof(path) - 1);
	path[used > 0 ? used : 0] = 0;
	if (ends(path, "SLOW_READ"))
		wait_long();
	return ((ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read"))(fd, bytes, length);
}
