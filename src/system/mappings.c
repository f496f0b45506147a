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

int sn_mapping_open(pid_t pid, const struct sn_mapping *mapping)
{
	enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
		 mapping->end);
	int file = open(path, FLAGS);
	if (file >= 0)
		return file;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, mapping->path);
	return open(path, FLAGS);
}
