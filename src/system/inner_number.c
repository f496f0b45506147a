/* SPDX-License-Identifier: Apache-2.0 */
/* See inner_number.h. */
#include "inner_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

pid_t sn_inner_number(pid_t pid, pid_t tid)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	FILE *file = fopen(path, "re");
	pid_t number = tid;
	while (file && fgets(line, sizeof(line), file)) {
		/* from ours inwards */
		const char *last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');
		if (last)
			number = (pid_t)strtol(last, NULL, 10);
	}
	if (file)
		fclose(file);
	return number;
}

bool sn_inner_is_apart(pid_t pid)
{
	char path[64];
	struct stat own, its;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return !stat("/proc/self/ns/pid", &own) && !stat(path, &its) && own.st_ino != its.st_ino;
}
