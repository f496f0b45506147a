/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/self/status, by which filters of system calls are counted; see filters.h. */
#include "filters.h"

#include "collect/core/line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE_BYTES 768u
#define LINE_BYTES  64u /* a line that is looked for is shorter */

/* The number of a line that is there whole. */
static void look_for(const char *text, struct sn_status_line *wanted)
{
	const char *line = strstr(text, wanted->key);
	if (!line || !strchr(line + 1, '\n'))
		return;
	sn_parse_number(line + strlen(wanted->key), wanted->base, &wanted->number);
	wanted->is_there = true;
}

/* In pieces: the text is long where a process has many groups or a machine many processors. */
static long read_lines(int fd, struct sn_status_line *lines, size_t count)
{
	char text[PIECE_BYTES + 1];
	size_t kept = 0;
	long got;
	while ((got = syscall(SYS_read, fd, text + kept, PIECE_BYTES - kept)) > 0) {
		size_t bytes = kept + (size_t)got;
		text[bytes] = 0;
		for (size_t i = 0; i < count; i++)
			look_for(text, lines + i);
		kept = bytes < LINE_BYTES ? bytes : LINE_BYTES;
		memmove(text, text + bytes - kept, kept);
	}
	return got;
}

int sn_status_read(const char *path, struct sn_status_line *lines, size_t count)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	long got = read_lines(fd, lines, count);
	syscall(SYS_close, fd);
	return got < 0 ? -EIO : 0;
}

int sn_filters_in_force(void)
{
	struct sn_status_line lines[] = {{"\nSeccomp:\t", 10}, {"\nSeccomp_filters:\t", 10}};
	const struct sn_status_line *mode = lines, *filters = lines + 1;
	int result = sn_status_read("/proc/thread-self/status", lines, 2);
	if (result)
		return result;
	if (!mode->is_there)
		return 0; /* a kernel without seccomp */
	return mode->number && filters->is_there ? (int)filters->number : mode->number != 0;
}
