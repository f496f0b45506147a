/* SPDX-License-Identifier: Apache-2.0 */
/* See mappings.h. */
#include "mappings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A line of /proc/PID/maps. False if it maps no code, as most do. */
static bool parse_mapping(char *line, struct sn_mapping *mapping)
{
	int path = 0;
	const char *rights = strchr(line, ' ');
	if (!rights || strnlen(rights, 5) < 5 || rights[3] != 'x')
		return false;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
		   &mapping->start, &mapping->end, &mapping->offset, &mapping->major,
		   &mapping->minor, &mapping->inode, &path) < 6 ||
	    !path)
		return false;
	/* as the kernel calls code that lies in no file, and one whose name is too long */
	mapping->path = !line[path]			  ? "//anon"
			: strlen(line + path) >= PATH_MAX ? "//toolong"
							  : line + path;
	return true;
}

int sn_mappings_each(pid_t pid, int (*see)(void *context, const struct sn_mapping *mapping),
		     void *context)
{
	char path[64], *line = NULL;
	size_t room = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *file = fopen(path, "re");
	int result = file ? 0 : -1;
	struct sn_mapping mapping;
	while (!result && file && getline(&line, &room, file) > 0)
		if (parse_mapping(line, &mapping))
			result = see(context, &mapping);
	free(line);
	if (file)
		fclose(file);
	return result;
}

/* Whether what a name leads to may be the file: not a device, which opening would change, nor another file of the same file system. */
static bool may_be(int place, const struct sn_mapping *mapping)
{
	struct stat status;
	return fstat(place, &status) == 0 && S_ISREG(status.st_mode) &&
	       (status.st_dev != makedev(mapping->major, mapping->minor) ||
		status.st_ino == mapping->inode);
}

int sn_mapping_open(pid_t pid, const struct sn_mapping *mapping)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
		 mapping->end);
	int place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", pid, mapping->path);
		place = open(path, O_PATH | O_CLOEXEC);
	}
	if (place < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	int file = may_be(place, mapping) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	close(place);
	return file;
}
