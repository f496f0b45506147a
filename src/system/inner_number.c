/* SPDX-License-Identifier: Apache-2.0 */
/* See inner_number.h. */
#include "inner_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
