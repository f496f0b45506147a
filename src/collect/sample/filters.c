/* SPDX-License-Identifier: Apache-2.0 */
/* Counts system call filters by two lines of /proc/self/status. */
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
static void look_for(const char *text, const char *key, int *number)
{
	const char *line = strstr(text, key);
	uint64_t found;
	if (!line || !strchr(line + 1, '\n'))
		return;
	sn_parse_number(line + strlen(key), 10, &found);
	*number = (int)found;
}

/* In pieces: the text is long where a process has many groups or a machine many processors. */
static long read_status(int fd, int *mode, int *filters)
{
	char text[PIECE_BYTES + 1];
	size_t kept = 0;
	long got;
	while ((got = syscall(SYS_read, fd, text + kept, PIECE_BYTES - kept)) > 0) {
		size_t bytes = kept + (size_t)got;
		text[bytes] = 0;
		look_for(text, "\nSeccomp:\t", mode);
		look_for(text, "\nSeccomp_filters:\t", filters);
		kept = bytes < LINE_BYTES ? bytes : LINE_BYTES;
		memmove(text, text + bytes - kept, kept);
	}
	return got;
}

int sn_filters_in_force(void)
{
	int mode = -1, filters = -1;
	int fd =
	    (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	long status = read_status(fd, &mode, &filters);
	syscall(SYS_close, fd);
	if (status < 0)
		return -EIO;
	if (mode < 0)
		return 0; /* a kernel without seccomp */
	return mode == 0 || filters < 0 ? mode != 0 : filters;
}
